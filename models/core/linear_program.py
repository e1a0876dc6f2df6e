"""A linear program that grows by columns and rows, kept in one HiGHS and solved from its last basis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from types import MappingProxyType
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike

from instances import Options
from instances.arrays import BoolArray, FloatArray
from models.core.highs import LinearModel, load_model, reoptimize, set_options, solver

Basis = highspy.HighsBasis
Bounds = tuple[float, float]
FREE: Bounds = (-math.inf, math.inf)
MOST_ITERATIONS, ITERATIONS_EACH = 10_000, 20  # HiGHS may cycle: limit, and increase per row and column


@dataclass(frozen=True)
class Optimum:
    """An optimum of a linear program.

    - `value`: the objective.
    - `x`: values of the columns.
    - `duals`: duals of the rows.
    - `short`: values of the artificial columns.
    """

    value: float
    x: FloatArray
    duals: FloatArray
    short: FloatArray


class LinearProgram:
    """A growing linear program. Columns are named by index: those of the first model, then the added ones.

    Artificial columns have no index.

    - `model`: the first model.
    - `options`: threads and seed.
    - `extra`: further options of HiGHS.
    - `short`: number of artificial columns, which are the last columns of the model.

    Raises SolveFailed if HiGHS cannot hold the model as it is.
    """

    def __init__(
        self, model: LinearModel, options: Options, extra: Mapping[str, Any] | None = None, short: int = 0
    ) -> None:
        kept = Options(threads=options.threads, seed=options.seed)
        self._highs = solver(kept, {"presolve": "off", "parallel": "off", **(extra or {})})
        load_model(self._highs, model)
        first = self._highs.getNumCol()
        self._short = list(range(first - short, first))
        self._places = np.arange(first - short, dtype=np.int32)
        self._rows: dict[int, Bounds] = {}

    def add(self, cost: ArrayLike, begin: ArrayLike, rows: ArrayLike, entries: ArrayLike) -> None:
        """Add a column for each position in `begin`, at which its `rows` and `entries` begin."""
        start, index = np.asarray(begin, dtype=np.int32), np.asarray(rows, dtype=np.int32)
        n, first = len(start), self._highs.getNumCol()
        status = self._highs.addCols(
            n,
            np.array(np.broadcast_to(np.asarray(cost, dtype=float), (n,))),
            np.zeros(n),
            np.full(n, math.inf),
            len(index),
            start,
            index,
            np.asarray(entries, dtype=float),
        )
        if status == highspy.HighsStatus.kError:
            raise ValueError("HiGHS refuses the columns")
        self._places = np.append(self._places, np.arange(first, first + n, dtype=np.int32))

    def add_row(
        self,
        columns: ArrayLike,
        entries: ArrayLike,
        dear: Mapping[float, float] = MappingProxyType({}),
        bounds: Bounds = FREE,
    ) -> int:
        """Add a row and return its index.

        - `columns`, `entries`: indices of columns, and their entries in the row.
        - `dear`: the entry of each artificial column of the row, with its cost.
        - `bounds`: lower and upper bound of the row.
        """
        row, index = self._highs.getNumRow(), self._places[np.asarray(columns, dtype=np.int64)]
        status = self._highs.addRow(*bounds, len(index), index, np.asarray(entries, dtype=float))
        if status == highspy.HighsStatus.kError:
            raise ValueError("HiGHS refuses the row")
        for entry, price in dear.items():
            self._short.append(self._highs.getNumCol())
            self._highs.addCol(price, 0.0, math.inf, 1, np.array([row], dtype=np.int32), np.array([entry]))
        return row

    def bound_row(self, row: int, low: float, high: float) -> None:
        """Set the bounds of a row."""
        if self._rows.get(row) != (low, high):
            self._highs.changeRowBounds(row, low, high)
            self._rows[row] = low, high

    def bound(self, columns: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        """Set the bounds of columns."""
        places = self._places[np.asarray(columns, dtype=np.int64)]
        n = len(places)
        lower, upper = (np.array(np.broadcast_to(np.asarray(end, dtype=float), (n,))) for end in (low, high))
        if n:
            self._highs.changeColsBounds(n, places, lower, upper)

    def price(self, columns: ArrayLike, cost: ArrayLike) -> None:
        """Set the cost of columns."""
        places = self._places[np.asarray(columns, dtype=np.int64)]
        self._highs.changeColsCost(len(places), places, np.asarray(cost, dtype=float))

    def idle(self) -> tuple[BoolArray, BoolArray]:
        """Return which columns are nonbasic, and which rows have a basic slack. The basis does not need them."""
        basis, basic = self._highs.getBasis(), highspy.HighsBasisStatus.kBasic
        columns = np.array([status != basic for status in basis.col_status], dtype=bool)
        return columns[self._places], np.array([status == basic for status in basis.row_status], dtype=bool)

    def drop(self, columns: BoolArray, rows: BoolArray) -> None:
        """Remove columns and rows; the others move up, and keep their status in the basis."""
        left, going = self._highs.getBasis(), np.zeros(self._highs.getNumCol(), dtype=bool)
        going[self._places[columns]] = True
        left.col_status = list(compress(left.col_status, ~going))
        left.row_status = list(compress(left.row_status, ~rows))
        for gone, delete in ((rows, self._highs.deleteRows), (going, self._highs.deleteCols)):
            if gone.any():
                delete(int(gone.sum()), np.flatnonzero(gone).astype(np.int32))
        column, row = np.cumsum(~going, dtype=np.int32) - 1, np.cumsum(~rows) - 1
        self._places, self._short = column[self._places[~columns]], column[self._short].tolist()
        self._rows = {int(row[at]): bounds for at, bounds in self._rows.items() if not rows[at]}
        self._highs.setBasis(left)

    def activity(self) -> FloatArray:
        """Return the value of each row in the last solution."""
        return np.array(self._highs.getSolution().row_value)

    def price_short(self, price: float) -> None:
        """Set the cost of the artificial columns."""
        for place in self._short:
            self._highs.changeColCost(place, price)

    def basis(self) -> Basis:
        """Return the present basis."""
        return self._highs.getBasis()

    def restore(self, basis: Basis) -> None:
        """Restore a basis."""
        self._highs.setBasis(basis)

    def value(self, seconds: float = math.inf) -> float:
        """Solve the program and return its value alone. Raises the same exceptions as `solve`."""
        self._limit_iterations()
        reoptimize(self._highs, seconds)
        return float(self._highs.getInfo().objective_function_value)

    def solve(self, seconds: float = math.inf) -> Optimum:
        """Solve the program. Raises OutOfTime after `seconds`, and SolveFailed if HiGHS cannot solve it."""
        value = self.value(seconds)
        return self._optimum(value)

    def solve_or_refute(self, seconds: float = math.inf) -> Optimum | FloatArray | None:
        """Solve the program as `solve` does; if it is infeasible, return its dual ray, or `None` if HiGHS has none."""
        self._limit_iterations()
        if reoptimize(self._highs, seconds, empty=True):
            return self._optimum(float(self._highs.getInfo().objective_function_value))
        _, known, values = self._highs.getDualRay()
        return np.array(values) if known else None

    def _limit_iterations(self) -> None:
        size = self._highs.getNumCol() + self._highs.getNumRow()
        set_options(self._highs, {"simplex_iteration_limit": MOST_ITERATIONS + ITERATIONS_EACH * size})

    def _optimum(self, value: float) -> Optimum:
        solution = self._highs.getSolution()
        x, duals = np.array(solution.col_value), np.array(solution.row_dual)
        return Optimum(value, x[self._places], duals, x[self._short])
