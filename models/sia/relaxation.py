"""The linear relaxation of the time-indexed model, by column and row generation.

A slot's capacity row enters when a solution breaks it, a column when its reduced cost is negative. The bound is not
the solver's figure but the Lagrangian one of its prices, in integers (see `Columns.lagrangian`).
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from instances import Options, Stopwatch
from models.highs import solver
from models.sia.arrays import IntArray
from models.sia.columns import SCALE, Columns, ceiling, whole

NEW_COLUMNS = 3  # at most so many new columns of a job in a round
NEW_ROWS = 12  # and of a stretch of overfull slots
ROUNDS = 400
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Relaxed:
    """The best bound found, in whole slots, the prices that prove it (horizon,), SCALE times, and the LP's value."""

    bound: int
    prices: IntArray
    value: float
    finished: bool


def relax(columns: Columns, starts: IntArray, clock: Stopwatch, *, close_enough: float = 0.0) -> Relaxed:
    """Solve the relaxation from the feasible schedule `starts` (J,); `clock` ends it early, with what it has.

    It also ends when the bound is within `close_enough` of the value, as a share of the distance to `starts`' delay.
    """
    master = _Master(columns)
    first_open = np.minimum.reduceat(np.where(columns.open, columns.delay, FAR), columns.offset[:-1])
    master.add_columns(
        np.union1d(columns.of(starts), columns.offset[:-1] + np.minimum(first_open, columns.delay.max()))
    )
    best, best_prices, value = -1, np.zeros(columns.arrays.horizon, dtype=np.int64), 0.0
    incumbent = columns.arrays.delay(starts)
    for _ in range(ROUNDS):
        if not master.solve(clock.remaining_s):
            return Relaxed(max(0, ceiling(best)), best_prices, value, False)
        value, prices = master.value, whole(master.prices())
        bound, _ = columns.lagrangian(prices)
        if bound > best:
            best, best_prices = bound, prices
        new_columns, new_rows = master.negative_columns(), master.broken_rows()
        if not len(new_columns) and not len(new_rows):
            return Relaxed(ceiling(best), best_prices, value, True)
        if not len(new_rows) and value - best / SCALE <= close_enough * (incumbent - value):
            break
        master.add_columns(new_columns)
        master.add_rows(new_rows)
    return Relaxed(max(0, ceiling(best)), best_prices, value, True)


FAR = np.iinfo(np.int64).max // 8


class _Master:
    """The restricted linear program: a row for each job, then rows of the slots met so far."""

    def __init__(self, columns: Columns) -> None:
        self.columns, self.jobs = columns, len(columns.arrays.submit)
        self.highs = solver(Options(), {"solver": "simplex"})
        self.highs.addRows(self.jobs, np.ones(self.jobs), np.ones(self.jobs), 0, _NONE, _NONE, np.zeros(0))
        self.slots: list[int] = []
        self.row_of = np.full(columns.arrays.horizon, -1, dtype=np.int64)
        self.chosen: IntArray = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(len(columns.job), dtype=bool)
        self.value = 0.0
        self._x: NDArray[np.float64] = np.zeros(0)
        self._duals: NDArray[np.float64] = np.zeros(0)

    def solve(self, limit_s: float) -> bool:
        """Whether the linear program is solved; no longer than `limit_s` wall seconds."""
        if limit_s <= 0:
            return False
        self.highs.setOptionValue("time_limit", float(min(limit_s, 1e7)) + self.highs.getRunTime())
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return False
        found = self.highs.getSolution()
        self._x, self._duals = np.array(found.col_value), np.array(found.row_dual)
        self.value = float(self.highs.getInfo().objective_function_value)
        return True

    def prices(self) -> NDArray[np.float64]:
        """Price of a GPU at each slot, (horizon,)."""
        prices = np.zeros(self.columns.arrays.horizon)
        prices[self.slots] = np.maximum(0.0, -self._duals[self.jobs :])
        return prices

    def negative_columns(self) -> IntArray:
        """Open columns of negative reduced cost, the most negative of each job and not too close to each other."""
        columns = self.columns
        total = np.concatenate([[0.0], np.cumsum(self.prices())])
        reduced = columns.delay + columns.gpus * (total[columns.end] - total[columns.start])
        reduced = reduced - self._duals[columns.job]
        found = np.flatnonzero((reduced < -TOLERANCE) & columns.open & ~self.inside)
        taken: dict[int, list[int]] = {}
        for k in found[np.argsort(reduced[found], kind="stable")]:
            starts = taken.setdefault(int(columns.job[k]), [])
            if len(starts) < NEW_COLUMNS and all(abs(int(columns.start[k]) - t) > NEW_COLUMNS for t in starts):
                starts.append(int(columns.start[k]))
        jobs = [j for j, starts in taken.items() for _ in starts]
        starts_of = [t for starts in taken.values() for t in starts]
        return columns.offset[:-1][jobs] + np.array(starts_of, dtype=np.int64) - columns.arrays.submit[jobs]

    def broken_rows(self) -> IntArray:
        """Slots over capacity in the fractional schedule: of each overfull stretch those where the use changes."""
        arrays, columns = self.columns.arrays, self.columns
        changes = np.zeros(arrays.horizon + 1)
        np.add.at(changes, columns.start[self.chosen], self._x * columns.gpus[self.chosen])
        np.add.at(changes, columns.end[self.chosen], -self._x * columns.gpus[self.chosen])
        use = np.cumsum(changes)
        over = np.flatnonzero(use > arrays.capacity + 1e-6)
        found: list[int] = []
        for stretch in np.split(over, np.flatnonzero(np.diff(over) > 1) + 1):
            if len(stretch):
                changed = stretch[np.concatenate([[True], np.abs(np.diff(use[stretch])) > 1e-9])]
                found += changed[np.argsort(-use[changed], kind="stable")[:NEW_ROWS]].tolist()
        return np.array([t for t in found if self.row_of[t] < 0], dtype=np.int64)

    def add_columns(self, new: IntArray) -> None:
        """Add columns by their number."""
        new = new[~self.inside[new]]
        if not len(new):
            return
        columns = self.columns
        begin: list[int] = []
        index: list[int] = []
        value: list[float] = []
        for k in new:
            rows = self.row_of[columns.start[k] : columns.end[k]]
            rows = rows[rows >= 0]
            begin.append(len(index))
            index += [int(columns.job[k]), *(rows + self.jobs).tolist()]
            value += [1.0, *[float(columns.gpus[k])] * len(rows)]
        cost, count = columns.delay[new].astype(float), len(new)
        infinite = np.full(count, highspy.kHighsInf)
        starts, indices = np.array(begin, dtype=np.int32), np.array(index, dtype=np.int32)
        self.highs.addCols(count, cost, np.zeros(count), infinite, len(index), starts, indices, np.array(value))
        self.chosen = np.concatenate([self.chosen, new])
        self.inside[new] = True

    def add_rows(self, slots: IntArray) -> None:
        """Add the capacity rows (12) of `slots`."""
        columns = self.columns
        for t in slots:
            here = np.flatnonzero((columns.start[self.chosen] <= t) & (columns.end[self.chosen] > t))
            self.row_of[t] = len(self.slots)
            self.slots.append(int(t))
            value = columns.gpus[self.chosen[here]].astype(float)
            self.highs.addRow(
                -highspy.kHighsInf, float(columns.arrays.capacity), len(here), here.astype(np.int32), value
            )


_NONE = np.zeros(0, dtype=np.int32)
