"""The columns of the time-indexed model without Y: one for each job and each start in its window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.sia.arrays import BoolArray, IntArray, OracleArrays

SCALE = 1 << 20  # prices are rounded to multiples of 1/SCALE: bounds are then evaluated in integers
FIXED = np.iinfo(np.int64).max // 8


class Columns:
    """Columns k = (job, start) in order of job, then start; arrays of shape (K,).

    `open` tells which of them are not yet excluded. Leaving Y out of Figure 19 changes no value: it is a sum of X.
    """

    def __init__(self, arrays: OracleArrays) -> None:
        self.arrays = arrays
        counts = arrays.cutoff - arrays.submit + 1
        self.offset: IntArray = np.concatenate([[0], np.cumsum(counts)])
        self.job: IntArray = np.repeat(np.arange(len(counts)), counts)
        self.delay: IntArray = np.arange(self.offset[-1]) - self.offset[self.job]
        self.start: IntArray = self.delay + arrays.submit[self.job]
        self.end: IntArray = self.start + arrays.duration[self.job]
        self.gpus: IntArray = arrays.gpus[self.job]
        self.open: BoolArray = np.ones(len(self.job), dtype=bool)

    def of(self, starts: IntArray) -> IntArray:
        """The column of each job in a schedule."""
        return self.offset[:-1] + starts - self.arrays.submit

    def charge(self, prices: IntArray) -> IntArray:
        """Delay plus price of the GPUs held, SCALE times, of each column; `prices` (horizon,), SCALE times."""
        total = np.concatenate([[0], np.cumsum(prices)])
        return SCALE * self.delay + self.gpus * (total[self.end] - total[self.start])

    def lagrangian(self, prices: IntArray) -> tuple[int, IntArray]:
        """The bound that `prices` prove, SCALE times, and what each column adds to it, shape (K,), FIXED if closed.

        Any prices >= 0 of a GPU at a slot prove a bound: Σ_j min_t charge(j, t) less the price of all GPUs. All of it
        is integer arithmetic, so that no rounding of a solver's can spoil the bound.
        """
        charge = np.where(self.open, self.charge(prices), FIXED)
        least = np.minimum.reduceat(charge, self.offset[:-1])
        bound = sum(int(v) for v in least) - self.arrays.capacity * int(prices.sum())
        return bound, charge - least[self.job]


def whole(prices: NDArray[np.float64]) -> IntArray:
    """Prices rounded to multiples of 1/SCALE, times SCALE, none negative."""
    return np.rint(np.maximum(prices, 0.0) * SCALE).astype(np.int64)


def ceiling(bound: int) -> int:
    """The least whole number of slots not below `bound` / SCALE."""
    return -(-bound // SCALE)
