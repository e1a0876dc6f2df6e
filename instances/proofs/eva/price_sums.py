"""The amounts that prices of instances can add up to."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache

MOST = 200_000  # remainders by the lowest price


def least_sum(prices: Sequence[int], amount: int) -> int:
    """The least sum of `prices`, each as often as one likes, that is at least `amount`.

    Of each remainder by the lowest price the least sum is a shortest path. Where there are too many remainders it is
    the amount itself.
    """
    if amount <= 0:
        return 0
    if min(prices) > MOST:
        return amount
    return _paths(tuple(sorted(set(prices)))).at_least(amount)


class _Paths:
    """The least sum of each remainder by the lowest price, as far as amounts have been asked for."""

    def __init__(self, prices: tuple[int, ...]) -> None:
        self.prices, self.low = prices, prices[0]
        self.reached = {0: 0}
        self.heap = [0]

    def at_least(self, amount: int) -> int:
        low, reached = self.low, self.reached
        while self.heap and self.heap[0] < amount:
            total = heapq.heappop(self.heap)
            if total > reached[total % low]:
                continue
            for price in self.prices:
                more = total + price
                if more < reached.get(more % low, more + 1):
                    reached[more % low] = more
                    heapq.heappush(self.heap, more)
        return min(
            total if total >= amount else total + -(-(amount - total) // low) * low for total in reached.values()
        )


@lru_cache(maxsize=8)
def _paths(prices: tuple[int, ...]) -> _Paths:
    """The paths of these prices: a proof asks for many amounts."""
    return _Paths(prices)
