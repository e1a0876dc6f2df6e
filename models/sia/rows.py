"""Columns and rows of the time-indexed model without Y: one column for each job and each start in the job's window.

A row is Σ_j w_j z_j <= limit, where z_j is the share of job j that occupies an interval of steps. Rows are capacity
rows and cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray, IntArray
from instances.sia.arrays import OracleArrays

SCALE = 1 << 20  # multipliers are multiples of 1/SCALE, so that bounds are evaluated in integers
FIXED = np.iinfo(np.int64).max // 8  # cost of a closed column, which exceeds the cost of every open column
NO_JOB = -1  # the overlapping job of a row that has none


class StartColumns:
    """Columns k = (job, start), ordered by job and start; arrays of shape (K,).

    `open` marks the columns that are not excluded. Y of Figure 19 is a sum of X, so omitting it changes no value.
    `fine` is the problem with exact GPUs, if the rows of `arrays` count them in larger units.
    """

    def __init__(self, arrays: OracleArrays, fine: OracleArrays | None = None) -> None:
        self.arrays, self.fine = arrays, arrays if fine is None else fine
        counts = arrays.cutoff - arrays.submit + 1
        self.offset: IntArray = np.concatenate([[0], np.cumsum(counts)])
        self.job: IntArray = np.repeat(np.arange(len(counts)), counts)
        self.delay: IntArray = np.arange(self.offset[-1]) - self.offset[self.job]
        self.start: IntArray = self.delay + arrays.submit[self.job]
        self.end: IntArray = self.start + arrays.duration[self.job]
        self.gpus: IntArray = arrays.gpus[self.job]
        self.open: BoolArray = np.ones(len(self.job), dtype=bool)

    def find_columns(self, starts: IntArray) -> IntArray:
        """Return the column of each job in a schedule (J,)."""
        return self.offset[:-1] + starts - self.arrays.submit

    def find_first_open(self) -> IntArray:
        """Return the first open column of each job, (J,); the job's last column if all are closed."""
        delay = np.where(self.open, self.delay, FIXED)
        return self.offset[:-1] + np.minimum(np.minimum.reduceat(delay, self.offset[:-1]), np.diff(self.offset) - 1)

    def has_open_starts(self) -> bool:
        """Return whether every job has an open column."""
        return bool(np.logical_or.reduceat(self.open, self.offset[:-1]).all())


def round_multipliers(multipliers: NDArray[np.float64]) -> IntArray:
    """Return the multipliers, negative ones replaced by 0, in units of 1/SCALE and rounded to integers."""
    return np.rint(np.maximum(multipliers, 0.0) * SCALE).astype(np.int64)


def round_up(bound: int) -> int:
    """Return the smallest integer number of steps that is at least `bound` / SCALE."""
    return -(-bound // SCALE)


@dataclass(frozen=True, eq=False)
class IntervalRow:
    """The row Σ_j weight_j z_j <= limit; z_j sums X_jt over the starts with which j runs at all steps first..last.

    For the job `overlapping` (NO_JOB if there is none), z_j sums the starts with which it runs at any of these steps.
    A rounded row has a `divisor` and `members`, the complemented jobs. `weight` (J,) is non-negative.
    """

    first: int
    last: int
    weight: IntArray
    limit: int
    overlapping: int = NO_JOB
    divisor: int = 0
    members: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[int, int, int, int, bytes]:
        """Identity of the row: equal rows have equal keys."""
        return self.first, self.last, self.overlapping, self.limit, self.weight.tobytes()


Multipliers = list[tuple[IntervalRow, int]]
"""Rows with positive multipliers, in units of 1/SCALE."""


def find_counted_starts(arrays: OracleArrays, rows: list[IntervalRow]) -> tuple[IntArray, IntArray]:
    """Return the first and the last start of each job that each row counts, (R, J); none if first > last."""
    first, last, job = np.array([(row.first, row.last, row.overlapping) for row in rows], dtype=np.int64).T
    low = last[:, None] - arrays.duration + 1
    high = np.repeat(first[:, None], len(arrays.submit), axis=1)
    row = np.flatnonzero(job != NO_JOB)
    low[row, job[row]] = first[row] - arrays.duration[job[row]] + 1
    high[row, job[row]] = last[row]
    return np.maximum(low, arrays.submit), np.minimum(high, arrays.cutoff)


def build_capacity_row(arrays: OracleArrays, step: int) -> IntervalRow:
    """Return constraint (12) at `step`."""
    return IntervalRow(step, step, arrays.gpus, arrays.capacity)


def build_cover_row(arrays: OracleArrays, starts: IntArray, step: int) -> IntervalRow:
    """Return an extended cover inequality for a schedule `starts` (J,) that exceeds the capacity at `step`.

    The widest jobs that run at the step form the cover. Jobs at least as wide as the widest of them extend it.
    """
    running = np.flatnonzero((starts <= step) & (step < starts + arrays.duration))
    running = running[np.argsort(-arrays.gpus[running], kind="stable")]
    size = int(np.searchsorted(np.cumsum(arrays.gpus[running]), arrays.capacity, side="right")) + 1
    weight = (arrays.gpus >= arrays.gpus[running[0]]).astype(np.int64)
    weight[running[:size]] = 1
    return IntervalRow(step, step, weight, size - 1)


class Rows:
    """A table of rows in order of insertion, with the starts that each row counts.

    Arrays of shape (R, J): first and last counted start (`low`, `high`), and `weight`, 0 if the row counts no start.
    """

    def __init__(self, columns: StartColumns, rows: list[IntervalRow] | None = None) -> None:
        self.columns = columns
        self.rows: list[IntervalRow] = []
        self.low: IntArray = np.zeros((0, len(columns.arrays.submit)), dtype=np.int64)
        self.high, self.weight = self.low.copy(), self.low.copy()
        self.add(rows or [])

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def limits(self) -> IntArray:
        """Right-hand sides, (R,)."""
        return np.array([row.limit for row in self.rows], dtype=np.int64)

    def add(self, new: list[IntervalRow]) -> None:
        """Append rows."""
        if not new:
            return
        low, high = find_counted_starts(self.columns.arrays, new)
        weight = np.where(low <= high, np.array([row.weight for row in new]), 0)
        self.rows += new
        self.low, self.high = np.vstack([self.low, low]), np.vstack([self.high, high])
        self.weight = np.vstack([self.weight, weight])

    def keep(self, chosen: BoolArray) -> None:
        """Keep the rows marked in `chosen` (R,) and drop all others."""
        self.rows = [row for row, is_chosen in zip(self.rows, chosen, strict=True) if is_chosen]
        self.low, self.high, self.weight = self.low[chosen], self.high[chosen], self.weight[chosen]

    def evaluate_row(self, row: int, columns: IntArray) -> IntArray:
        """Return the coefficients of `columns` (N,) in one row."""
        job, start = self.columns.job[columns], self.columns.start[columns]
        counts = (self.low[row][job] <= start) & (start <= self.high[row][job])
        return np.where(counts, self.weight[row][job], 0)

    def evaluate_column(self, column: int) -> IntArray:
        """Return the coefficients of one column in all rows, (R,)."""
        job, start = self.columns.job[column], self.columns.start[column]
        counts = (self.low[:, job] <= start) & (start <= self.high[:, job])
        return np.where(counts, self.weight[:, job], 0)

    def evaluate_lagrangian(self, multipliers: IntArray) -> tuple[int, IntArray, IntArray]:
        """Return the Lagrangian bound, the cost of each column (K,), and the minimum cost of each job (J,).

        Any non-negative multipliers (R,) of valid rows prove the bound Σ_j min_t cost(j, t) - Σ_r multiplier_r limit_r,
        where a column costs its delay plus the multipliers of its coefficients. Closed columns cost FIXED. All values
        are integers in units of 1/SCALE, so that no rounding error of a solver affects the bound.
        """
        columns = self.columns
        positive = np.flatnonzero(multipliers)
        row, job = np.nonzero(self.weight[positive])
        row = positive[row]
        shift = columns.offset[:-1][job] - columns.arrays.submit[job]
        cost = multipliers[row] * self.weight[row, job]
        change = np.zeros(len(columns.job) + 1, dtype=np.int64)
        np.add.at(change, self.low[row, job] + shift, cost)
        np.add.at(change, self.high[row, job] + shift + 1, -cost)
        cost = np.where(columns.open, SCALE * columns.delay + np.cumsum(change)[:-1], FIXED)
        minimum = np.minimum.reduceat(cost, columns.offset[:-1])
        limits = sum(int(p) * row.limit for p, row in zip(multipliers, self.rows, strict=True))
        return sum(int(v) for v in minimum) - limits, cost, minimum
