"""Columns and rows of the time-indexed model without Y: a column for each job and each start in the job's window.

Rows Σ_j w_j (share of job j that holds an interval of slots) <= limit are capacity rows, and cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray, IntArray
from instances.sia.arrays import OracleArrays

SCALE = 1 << 20  # Prices are rounded to multiples of 1/SCALE, so that bounds are evaluated in integers.
FIXED = np.iinfo(np.int64).max // 8  # The charge of a closed column, which is above that of any other.


class StartColumns:
    """The columns k = (job, start) in order of job, then start; arrays of shape (K,).

    `open` tells which columns are not yet excluded. Without Y of Figure 19 no value changes, because Y is a sum of X.
    `fine`: the problem, where `arrays` are coarser.
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

    def of(self, starts: IntArray) -> IntArray:
        """The column of each job in a schedule (J,)."""
        return self.offset[:-1] + starts - self.arrays.submit

    def first_open(self) -> IntArray:
        """The column of each job's first open start, (J,); the job's last column if none is open."""
        delay = np.where(self.open, self.delay, FIXED)
        return self.offset[:-1] + np.minimum(np.minimum.reduceat(delay, self.offset[:-1]), np.diff(self.offset) - 1)

    def every_job_open(self) -> bool:
        """Whether each job has a start left."""
        return bool(np.logical_or.reduceat(self.open, self.offset[:-1]).all())


def whole(prices: NDArray[np.float64]) -> IntArray:
    """Prices rounded to multiples of 1/SCALE, times SCALE, none negative."""
    return np.rint(np.maximum(prices, 0.0) * SCALE).astype(np.int64)


def ceiling(bound: int) -> int:
    """The least whole number of slots not below `bound` / SCALE."""
    return -(-bound // SCALE)


NOBODY = -1  # The touching job of a row that has none.


@dataclass(frozen=True, eq=False)
class IntervalRow:
    """Σ_j weight_j z_j <= limit, where z_j sums X_jt over the starts with which j runs at all slots first..last.

    For job `touching` (NOBODY: for none) z_j sums the starts with which it runs at one of these slots at least. A row
    that is rounded has a `divisor` and `members`, the jobs that are complemented.
    """

    first: int
    last: int
    weight: IntArray  # (J,), none negative
    limit: int
    touching: int = NOBODY
    divisor: int = 0
    members: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[int, int, int, int, bytes]:
        """Identity of a row: equal rows have equal keys."""
        return self.first, self.last, self.touching, self.limit, self.weight.tobytes()

    def starts(self, arrays: OracleArrays) -> tuple[IntArray, IntArray]:
        """First and last start of each job that counts, (J,) each; none where the first is behind the last."""
        low, high = starts_counted(arrays, [self])
        return low[0], high[0]


def starts_counted(arrays: OracleArrays, rows: list[IntervalRow]) -> tuple[IntArray, IntArray]:
    """First and last start of each job that counts in each row, (R, J); none where the first is behind the last."""
    first, last, job = np.array([(row.first, row.last, row.touching) for row in rows], dtype=np.int64).T
    low = last[:, None] - arrays.duration + 1
    high = np.repeat(first[:, None], len(arrays.submit), axis=1)
    row = np.flatnonzero(job != NOBODY)
    low[row, job[row]] = first[row] - arrays.duration[job[row]] + 1
    high[row, job[row]] = last[row]
    return np.maximum(low, arrays.submit), np.minimum(high, arrays.cutoff)


def capacity_row(arrays: OracleArrays, slot: int) -> IntervalRow:
    """Constraint (12) at `slot`."""
    return IntervalRow(slot, slot, arrays.gpus, arrays.capacity)


def cover_row(arrays: OracleArrays, starts: IntArray, slot: int) -> IntervalRow:
    """The extended cover inequality of jobs that `starts` run at `slot` and that are too wide together.

    One of these jobs has to stay away, and so has one of as many jobs that are all as wide as the widest of these.
    """
    running = np.flatnonzero((starts <= slot) & (slot < starts + arrays.duration))
    running = running[np.argsort(-arrays.gpus[running], kind="stable")]
    size = int(np.searchsorted(np.cumsum(arrays.gpus[running]), arrays.capacity, side="right")) + 1
    weight = (arrays.gpus >= arrays.gpus[running[0]]).astype(np.int64)
    weight[running[:size]] = 1
    return IntervalRow(slot, slot, weight, size - 1)


class Rows:
    """A table of rows in the order of addition, and the starts that each row counts.

    Arrays of shape (R, J): first and last start of a job that counts, and the job's `weight`, 0 where no start counts.
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
        """Limits of the rows, (R,)."""
        return np.array([row.limit for row in self.rows], dtype=np.int64)

    def add(self, new: list[IntervalRow]) -> None:
        """Append rows at the end of the table."""
        if not new:
            return
        low, high = starts_counted(self.columns.arrays, new)
        weight = np.where(low <= high, np.array([row.weight for row in new]), 0)
        self.rows += new
        self.low, self.high = np.vstack([self.low, low]), np.vstack([self.high, high])
        self.weight = np.vstack([self.weight, weight])

    def keep(self, which: BoolArray) -> None:
        """Drop all rows but `which`, (R,)."""
        self.rows = [row for row, kept in zip(self.rows, which, strict=True) if kept]
        self.low, self.high, self.weight = self.low[which], self.high[which], self.weight[which]

    def along(self, row: int, chosen: IntArray) -> IntArray:
        """Coefficients of the columns `chosen` (N,) in a row."""
        job, start = self.columns.job[chosen], self.columns.start[chosen]
        inside = (self.low[row][job] <= start) & (start <= self.high[row][job])
        return np.where(inside, self.weight[row][job], 0)

    def down(self, column: int) -> IntArray:
        """Coefficients of a column in all rows, (R,)."""
        job, start = self.columns.job[column], self.columns.start[column]
        inside = (self.low[:, job] <= start) & (start <= self.high[:, job])
        return np.where(inside, self.weight[:, job], 0)

    def charge(self, prices: IntArray) -> IntArray:
        """Delay plus price of the rows, SCALE times, of each column (K,); `prices` (R,), SCALE times."""
        columns = self.columns
        priced = np.flatnonzero(prices)
        row, job = np.nonzero(self.weight[priced])
        row = priced[row]
        shift = columns.offset[:-1][job] - columns.arrays.submit[job]
        cost = prices[row] * self.weight[row, job]
        change = np.zeros(len(columns.job) + 1, dtype=np.int64)
        np.add.at(change, self.low[row, job] + shift, cost)
        np.add.at(change, self.high[row, job] + shift + 1, -cost)
        return SCALE * columns.delay + np.cumsum(change)[:-1]

    def lagrangian(self, prices: IntArray) -> tuple[int, IntArray, IntArray]:
        """The Lagrangian bound of `prices` (R,), the charge of each column (K,) and the least charge of each job (J,).

        Any prices >= 0 of valid rows prove a bound: Σ_j min_t charge(j, t) less the price of all limits. A closed
        column's charge is FIXED. All figures are SCALE times and integers, so that no rounding of a solver's can spoil
        the bound.
        """
        columns = self.columns
        charge = np.where(columns.open, self.charge(prices), FIXED)
        least = np.minimum.reduceat(charge, columns.offset[:-1])
        bound = sum(int(v) for v in least) - sum(int(p) * row.limit for p, row in zip(prices, self.rows, strict=True))
        return bound, charge, least
