"""The restricted master problem in HiGHS: cover all tasks by the columns at hand, as a linear or an integer program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from models.eva.column_generation.packing import Column, Packing
from models.eva.column_generation.spending import Cut, Purses


@dataclass(frozen=True)
class Relaxed:
    """Optimum of the linear master: ``value`` (price units), class duals (n,), prices of the types (K,), column
    values."""

    value: float
    duals: NDArray[np.float64]
    prices: NDArray[np.float64]
    amounts: NDArray[np.float64]


class Master:
    """Variables: ``z_f`` and ``s_f``, what purse f pays within and beyond a grant, and ``x_p`` for each column.

    minimise ``sum_f g_f s_f`` subject to ``sum_p a_cp x_p >= n_c`` and ``z_f + s_f >= sum_{p in f} (C_p / g_f) x_p``,
    ``0 <= z_f <= grant_f``. Without a grant this is the cost; with one it is what the grant falls short by. The dual of
    the second row is what a unit of the purse costs: g_f without a grant, less where the grant does not bind.
    """

    def __init__(self, packing: Packing, purses: Purses) -> None:
        self.packing, self.purses = packing, purses
        self.columns: list[Column] = []
        self._known: set[Column] = set()
        self._highs = quiet_highs()
        self._classes = len(packing.counts)
        self.granted = [0.0] * len(purses.units)
        for count in packing.counts:
            self._highs.addRow(float(count), highspy.kHighsInf, 0, [], [])
        for _ in purses.units:
            self._highs.addRow(0.0, highspy.kHighsInf, 0, [], [])
        for cost, most in ((0.0, 0.0), (1.0, highspy.kHighsInf)):
            for f, unit in enumerate(purses.units):
                self._highs.addCol(cost * unit, 0.0, most, 1, [self._classes + f], [1.0])

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new; how many were."""
        fresh = [c for c in dict.fromkeys(columns) if c not in self._known]
        starts: list[int] = []
        rows: list[int] = []
        entries: list[float] = []
        for column in fresh:
            starts.append(len(rows))
            purse = self.purses.of[column.type]
            for c, q in column.pattern:
                rows.append(c)
                entries.append(float(q))
            rows.append(self._classes + purse)
            entries.append(-self.packing.prices[column.type] / self.purses.units[purse])
        if fresh:
            size = len(fresh)
            self._highs.addCols(
                size,
                np.zeros(size),
                np.zeros(size),
                np.full(size, highspy.kHighsInf),
                len(rows),
                np.array(starts, dtype=np.int32),
                np.array(rows, dtype=np.int32),
                np.array(entries),
            )
        self.columns.extend(fresh)
        self._known.update(fresh)
        return len(fresh)

    def grant(self, units: Sequence[float]) -> None:
        """Set how many units of each purse cost nothing."""
        self.granted = [float(u) for u in units]
        for f, most in enumerate(units):
            self._highs.changeColBounds(f, 0.0, float(most))

    def promise(self, cut: Cut) -> float:
        """How much a cut alone proves: that the cost, beyond the grant, is at least so much (price units)."""
        scale = [
            max(
                (cut.worth[k] * unit / self.packing.prices[k] for k, g in enumerate(self.purses.of) if g == f),
                default=0.0,
            )
            for f, unit in enumerate(self.purses.units)
        ]
        left = cut.demand - sum(w * most for w, most in zip(scale, self.granted, strict=True))
        return min((left * unit / w for w, unit in zip(scale, self.purses.units, strict=True) if w), default=0.0)

    def solve(self) -> Relaxed:
        """Solve the linear master (warm started from the last basis)."""
        self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            self._highs.clearSolver()
            self._highs.run()
            status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the linear master ended as {self._highs.modelStatusToString(status)}")
        solution = self._highs.getSolution()
        duals = np.maximum(np.asarray(solution.row_dual), 0.0)
        return Relaxed(
            float(self._highs.getInfo().objective_function_value),
            duals[: self._classes],
            np.array(
                [
                    duals[self._classes + f] * price / self.purses.units[f] if f >= 0 else 0.0
                    for f, price in zip(self.purses.of, self.packing.prices, strict=True)
                ]
            ),
            np.asarray(solution.col_value)[2 * len(self.purses.units) :],
        )


def quiet_highs(**more: float | int | str) -> highspy.Highs:
    """A silent, single-threaded HiGHS without presolve, and with the options ``more``."""
    highs = highspy.Highs()
    options = {"output_flag": False, "log_to_console": False, "threads": 1, "presolve": "off"} | more
    for option, value in options.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS does not know the option {option}")
    return highs
