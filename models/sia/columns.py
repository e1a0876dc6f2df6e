"""The columns of the time-indexed model without Y: one for each job and each start in the job's window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray, IntArray
from instances.sia.arrays import OracleArrays

SCALE = 1 << 20  # Prices are rounded to multiples of 1/SCALE, so that bounds are evaluated in integers.
FIXED = np.iinfo(np.int64).max // 8  # The charge of a closed column, which is above that of any other.


class Columns:
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
