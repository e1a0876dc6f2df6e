"""Nondominated sets of partial policies: none is both faster and cheaper than another (Pareto sets)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class ParetoSet:
    """A set of n nondominated partial policies by rising cost.

    - `reduced_cost` (n,): length over the shortest, in units of time.
    - `cost`, `time` (n,): whole units.
    - `left`, `right` (n,): positions of the two partial policies that a policy is put together from.
    """

    reduced_cost: FloatArray
    cost: IntArray
    time: IntArray
    left: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, chosen: IntArray) -> ParetoSet:
        """The subset at the positions `chosen`."""
        return ParetoSet(
            self.reduced_cost[chosen], self.cost[chosen], self.time[chosen], self.left[chosen], self.right[chosen]
        )


EMPTY = ParetoSet(np.zeros(1), *(np.zeros(1, dtype=np.int64) for _ in range(4)))
"""The set of the empty policy alone, for no class: a neutral element of `merge`."""


def nondominated(group: IntArray, cost: IntArray, time: IntArray, bits: int) -> IntArray:
    """Positions whose cost and time no other of the same group matches, sorted by group, then cost.

    Costs and times are below 2^(bits + 1); group, cost and time fit into 63 bits together.
    """
    order = np.argsort((group << (bits + 1)) | cost, kind="stable")
    # Each group lies below the group before, so that a running minimum serves all groups at once.
    height = time[order] - (group[order] << (bits + 2))
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = height[1:] < np.minimum.accumulate(height)[:-1]
    return order[keep]


def truncate(reduced_cost: FloatArray, most: int) -> IntArray:
    """About `most` positions, in order: half of least reduced cost, half spread evenly."""
    keep = np.zeros(len(reduced_cost), dtype=bool)
    keep[np.argpartition(reduced_cost, most // 2)[: most // 2]] = True
    keep[np.linspace(0, len(reduced_cost) - 1, most // 2).astype(np.int64)] = True
    return np.flatnonzero(keep)


@dataclass(frozen=True)
class Window:
    """The limits of a merged set.

    - `reduced_cost`: most reduced cost.
    - `lowest`, `highest`: least and most cost, units. A cost may fall short of the least, and every unit left over is
      then priced at `mu` in the reduced cost.
    - `mu`: the multiplier.
    """

    reduced_cost: float
    lowest: int
    highest: int
    mu: float


def merge(a: ParetoSet, b: ParetoSet, window: Window, bits: int) -> ParetoSet:
    """Every pair of a policy of `a` and a policy of `b` inside the window, without the dominated."""
    cost = (a.cost[:, None] + b.cost).ravel()
    reduced_cost = (a.reduced_cost[:, None] + b.reduced_cost).ravel()
    short = np.maximum(window.lowest - cost, 0) * window.mu
    inside = np.flatnonzero((cost <= window.highest) & (reduced_cost + short <= window.reduced_cost))
    left, right = inside // len(b), inside % len(b)
    cost, time = cost[inside], a.time[left] + b.time[right]
    kept = nondominated(np.zeros(len(inside), dtype=np.int64), cost, time, bits)
    return ParetoSet(reduced_cost[inside][kept], cost[kept], time[kept], left[kept], right[kept])
