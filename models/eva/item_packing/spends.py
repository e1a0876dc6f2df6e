"""Spends: how many instances there may be of each type, cheapest first, as far as no cut rules them out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from instances.eva.arrays import PackingArrays
from models.eva.column_generation.price_groups import PriceGroups
from models.eva.column_generation.type_cuts import TypeCut

Counts = tuple[int, ...]
STEPS = 20  # So many steps of the listing are taken for each of the numbers that it may find.


class Spends:
    """All numbers of instances of each type that cost at least `low` and less than `high`, sorted by cost.

    Those that no optimal configuration needs are left out (see `PriceGroups.by_type`). `complete` says whether there
    are at most about `limit` of them; otherwise there are none here.
    """

    def __init__(self, arrays: PackingArrays, low: int, high: int, limit: int) -> None:
        groups = PriceGroups.by_type(arrays)
        self.price = arrays.price.tolist()
        self.order = sorted((k for k, g in enumerate(groups.group_of) if g >= 0), key=lambda k: (-self.price[k], k))
        self.upper = [groups.upper[groups.group_of[k]] for k in self.order]
        self.limit, self.high = limit, high
        self.complete = True
        self._steps = 0
        self._found: list[Counts] = []
        self._list(0, low, high, [0] * len(self.price))
        if not self.complete:
            self._found = []
        self._found.sort(key=lambda counts: (self.cost(counts), counts))
        self._counts = np.array(self._found, dtype=object).reshape(len(self._found), len(self.price))
        self._open = np.ones(len(self._found), dtype=bool)

    def cost(self, counts: Sequence[int]) -> int:
        """The price of so many instances."""
        return sum(p * n for p, n in zip(self.price, counts, strict=True))

    def cut(self, cut: TypeCut) -> None:
        """Rule out what a cut rules out."""
        if len(self._found):
            worth = self._counts @ np.array(cut.value, dtype=object)
            self._open &= (worth >= cut.rhs).astype(bool)

    def exclude(self, counts: Counts) -> None:
        """Rule out some numbers of instances that were proved to be too few."""
        self._open[self._found.index(counts)] = False

    def below(self, high: int) -> list[Counts]:
        """What is left that costs less than `high`."""
        return [
            counts for counts, left in zip(self._found, self._open, strict=True) if left and self.cost(counts) < high
        ]

    def _list(self, place: int, low: int, high: int, counts: list[int]) -> None:
        self._steps += 1
        self.complete = self.complete and self._steps <= STEPS * self.limit
        if not self.complete:
            return
        if place == len(self.order):
            if low <= 0 < high:
                self._found.append(tuple(counts))
                self.complete = len(self._found) <= self.limit
            return
        k, most = self.order[place], self.upper[place]
        p = self.price[k]
        last = (high - 1) // p if most is None else min(most, (high - 1) // p)
        first = 0
        if place == len(self.order) - 1:
            first = max(0, -(-low // p))
        for n in range(last, first - 1, -1):
            counts[k] = n
            self._list(place + 1, low - n * p, high - n * p, counts)
        counts[k] = 0
