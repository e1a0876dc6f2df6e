"""The amounts that prices of instances can add up to."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

MOST = 200_000  # remainders by the lowest price


def least_sum(prices: Sequence[int], amount: int) -> int:
    """The least sum of `prices`, each as often as one likes, that is at least `amount`.

    Of each remainder by the lowest price the least sum is a shortest path. Where there are too many remainders it is
    the amount itself.
    """
    low = min(prices)
    if amount <= 0:
        return 0
    if low > MOST:
        return amount
    reached = {0: 0}
    heap = [0]
    while heap:
        total = heapq.heappop(heap)
        if total > reached[total % low] or total >= amount:
            continue
        for price in prices:
            more = total + price
            if more < reached.get(more % low, more + 1):
                reached[more % low] = more
                heapq.heappush(heap, more)
    return min(total if total >= amount else total + -(-(amount - total) // low) * low for total in reached.values())
