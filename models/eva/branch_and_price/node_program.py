"""The linear program of a node: all tasks covered by the columns at hand, under the decisions of the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, inf

import highspy
import numpy as np

from instances import Options
from instances.eva.arrays import FloatArray, PackingArrays
from models.eva.branch_and_price.pricer import Holding
from models.eva.branch_and_price.proof import Decision, Kind
from models.eva.configuration import Column
from models.highs import LinearModel, rerun, solver

DEAR = 10.0  # A task, or a unit of a decision, that is left out costs so many times the ceiling at first.
Aggregate = tuple[Kind, tuple[int, ...]]
"""What a decision is about: its kind and what it is of."""


class ProgramFailed(RuntimeError):
    """Failure of HiGHS to solve the linear program of a node."""


@dataclass(frozen=True)
class Relaxed:
    """Optimum of a node's linear program over its columns.

    `value` (price units), `cover` (N,) duals of the classes, `duals` of the aggregates, positive for "at least",
    negative for "at most"; `x` of the columns, `short`: how much of all rows is left out.
    """

    value: float
    cover: FloatArray
    duals: Mapping[Aggregate, float]
    x: FloatArray
    short: float


class NodeProgram:
    """The linear program, kept in one HiGHS for all nodes; a row for an aggregate is added when it is first asked for.

    minimise `sum_p C_p x_p` subject to `sum_p a_cp x_p >= n_c`, and for each aggregate `low <= sum_p g_p x_p <= high`,
    where `g_p` is 1 for "instances", the price in units of the family for "spend", `a_cp` for "placed". Each row that
    asks for something has a column of its own that gives it at a high price, so that the program is always feasible.
    """

    def __init__(self, arrays: PackingArrays, options: Options, ceiling: int) -> None:
        self.arrays = arrays
        self.columns: list[Column] = []
        self.known: set[Column] = set()
        self.rows: dict[Aggregate, int] = {}
        families = range(len(arrays.demand))
        prices, family = arrays.price.tolist(), arrays.family.tolist()
        self.unit = [gcd(*(p for p, g in zip(prices, family, strict=True) if g == f)) or 1 for f in families]
        self._family, self._price = family, prices
        self._dear = DEAR * max(1, ceiling)
        self._shorts: list[int] = []  # the places of columns that stand for what is left out
        self._places: list[int] = []  # the places of `columns`
        self._bounds: dict[Aggregate, tuple[float, float]] = {}
        self._fixed: dict[int, int] = {}
        self._highs = solver(Options(threads=options.threads), {"presolve": "off", "parallel": "off"})
        n = arrays.classes
        self._highs.passModel(
            LinearModel(np.full(n, self._dear), np.eye(n), row_lower=arrays.count, row_upper=inf).lp()
        )
        self._shorts = list(range(n))

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new, and give the number of new columns."""
        fresh = [c for c in dict.fromkeys(columns) if c not in self.known]
        if not fresh:
            return 0
        start: list[int] = []
        index: list[int] = []
        value: list[float] = []
        aggregates = list(self.rows.items())
        for column in fresh:
            start.append(len(index))
            for c, q in column.pattern:
                index.append(c)
                value.append(float(q))
            for aggregate, row in aggregates:
                entry = self.entry(aggregate, column)
                if entry:
                    index.append(row)
                    value.append(entry)
        cost = np.array([float(self._price[c.type]) for c in fresh])
        n = len(fresh)
        first = self._highs.getNumCol()
        self._highs.addCols(
            n,
            cost,
            np.zeros(n),
            np.full(n, inf),
            len(index),
            np.array(start, dtype=np.int32),
            np.array(index, dtype=np.int32),
            np.array(value),
        )
        self._places += range(first, first + n)
        self.columns += fresh
        self.known.update(fresh)
        return n

    def entry(self, aggregate: Aggregate, column: Column) -> float:
        """The entry of a column in the row of an aggregate."""
        kind, of = aggregate
        if kind == "instances":
            return float(column.type == of[0])
        family = self._family[column.type]
        if kind == "spend":
            return self._price[column.type] / self.unit[family] if family == of[0] else 0.0
        if kind == "placed":
            return float(dict(column.pattern).get(of[0], 0)) if family in of[1:] else 0.0
        return float(holding(of).of(column))

    def per_unit(self, aggregate: Aggregate) -> int:
        """What one unit of an aggregate's row is in a decision: price units of spending, otherwise 1."""
        return self.unit[aggregate[1][0]] if aggregate[0] == "spend" else 1

    def set(self, decisions: Sequence[Decision]) -> None:
        """Set the bounds of the rows to these decisions, and to these alone."""
        wanted: dict[Aggregate, tuple[float, float]] = {}
        for d in decisions:
            if d.kind in ("together", "apart"):
                continue
            aggregate: Aggregate = (d.kind, d.of)
            low, high = wanted.get(aggregate, (-inf, inf))
            amount = d.amount / self.per_unit(aggregate)
            wanted[aggregate] = (max(low, amount), high) if d.sense == "at least" else (low, min(high, amount))
        for aggregate in [a for a in self._bounds if a not in wanted]:
            self._highs.changeRowBounds(self.rows[aggregate], -inf, inf)
            del self._bounds[aggregate]
        for aggregate, bounds in wanted.items():
            if self._bounds.get(aggregate) != bounds:
                self._highs.changeRowBounds(self._row(aggregate), *bounds)
                self._bounds[aggregate] = bounds

    def _row(self, aggregate: Aggregate) -> int:
        if aggregate not in self.rows:
            entries = [(p, self.entry(aggregate, c)) for p, c in zip(self._places, self.columns, strict=True)]
            entries = [(p, v) for p, v in entries if v]
            self.rows[aggregate] = row = self._highs.getNumRow()
            places = np.array([p for p, _ in entries], dtype=np.int32)
            values = np.array([v for _, v in entries])
            self._highs.addRow(-inf, inf, len(entries), places, values)
            short = self._highs.getNumCol()
            self._highs.addCol(self._dear, 0.0, inf, 1, np.array([row], dtype=np.int32), np.ones(1))
            self._shorts.append(short)
        return self.rows[aggregate]

    def fix(self, copies: Mapping[int, int]) -> None:
        """At least so many instances of the columns at these places; of all others at least 0."""
        for i in [i for i in self._fixed if i not in copies]:
            self._highs.changeColBounds(self._places[i], 0.0, inf)
        for i, n in copies.items():
            if self._fixed.get(i) != n:
                self._highs.changeColBounds(self._places[i], float(n), inf)
        self._fixed = dict(copies)

    def basis(self) -> highspy.HighsBasis:
        """The present basis."""
        return self._highs.getBasis()

    def restore(self, basis: highspy.HighsBasis) -> None:
        """Go back to a basis."""
        self._highs.setBasis(basis)

    def value(self) -> float:
        """Solve the linear program from the last basis and give its value alone."""
        self._run()
        return float(self._highs.getInfo().objective_function_value)

    def solve(self) -> Relaxed:
        """Solve the linear program from the last basis. Raises ProgramFailed where HiGHS cannot."""
        self._run()
        solution = self._highs.getSolution()
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        return Relaxed(
            float(self._highs.getInfo().objective_function_value),
            np.maximum(duals[: self.arrays.classes], 0.0),
            {aggregate: float(duals[self.rows[aggregate]]) for aggregate in self._bounds},
            values[self._places],
            float(values[self._shorts].sum()),
        )

    def dearer(self) -> None:
        """Raise the price of what is left out."""
        self._dear *= 1e3
        for p in self._shorts:
            self._highs.changeColCost(p, self._dear)

    def _run(self) -> None:
        status = rerun(self._highs)
        if status != highspy.HighsModelStatus.kOptimal:
            self._highs.clearSolver()
            status = rerun(self._highs)
        if status != highspy.HighsModelStatus.kOptimal:
            raise ProgramFailed(f"the linear program ended as {self._highs.modelStatusToString(status)}")


def holding(of: Sequence[int]) -> Holding:
    """The holding of a decision."""
    return Holding(of[0], tuple(zip(of[1::2], of[2::2], strict=True)))
