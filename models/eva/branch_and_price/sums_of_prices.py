"""The least sum of prices that is not below a bound."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

MOST = 20_000_000  # marks of a table of sums


class SumsOfPrices:
    """The sums `sum_k C_k X_k` over whole numbers X_k >= 0 up to a limit, as a table of marks."""

    def __init__(self, prices: Sequence[int], limit: int) -> None:
        useful = sorted({p for p in prices if p > 0})
        self.unit = gcd(*useful) or 1
        self._reached: np.ndarray | None = None
        size = limit // self.unit + 1
        # A price that is a sum of others reaches nothing new; the rest are few where prices are linear in a family.
        if useful and size * len(useful) <= MOST:
            reached = np.zeros(size, dtype=bool)
            reached[0] = True
            for price in useful:
                step = price // self.unit
                if step < size and not reached[step]:
                    rows = -(-size // step)
                    padded = np.zeros(rows * step, dtype=bool)
                    padded[:size] = reached
                    reached = np.logical_or.accumulate(padded.reshape(rows, step), axis=0).ravel()[:size]
            self._reached = reached

    def at_least(self, bound: int) -> int:
        """The least sum that is at least `bound`; beyond the limit, the next multiple of the common unit."""
        first = -(-bound // self.unit)
        if self._reached is not None and first < len(self._reached):
            place = int(np.argmax(self._reached[first:]))
            return self.unit * (first + place if self._reached[first + place] else len(self._reached))
        return first * self.unit
