"""Compute the amounts that are sums of instance prices."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache

MOST = 200_000  # remainders by the lowest price


def least_sum(prices: Sequence[int], amount: int) -> int:
    """Return the smallest sum of `prices`, each used any number of times, that is at least `amount`.

    The smallest sum for each remainder modulo the lowest price is a shortest path. If there are more than `MOST`
    remainders, the function returns the amount itself, which is a valid lower bound.
    """
    if amount <= 0:
        return 0
    if min(prices) > MOST:
        return amount
    return _paths(tuple(sorted(set(prices)))).at_least(amount)


class _Paths:
    """The smallest sum for each remainder modulo the lowest price, computed up to the largest amount requested."""

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
    """Return the cached paths of these prices, because a proof requests many amounts."""
    return _Paths(prices)
