"""Sets of partial policies of which none is both faster and cheaper than another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.boa.rescaling.network import FloatArray, IntArray


@dataclass(frozen=True)
class Front:
    """n partial policies by rising cost: reduced costs `excess` (n,), whole units of `cost` and `time` (n,).

    `left` and `right` (n,) are the positions of the two they are put together from.
    """

    excess: FloatArray
    cost: IntArray
    time: IntArray
    left: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, chosen: IntArray) -> Front:
        """The front of the chosen positions."""
        return Front(self.excess[chosen], self.cost[chosen], self.time[chosen], self.left[chosen], self.right[chosen])


NOTHING = Front(np.zeros(1), *(np.zeros(1, dtype=np.int64) for _ in range(4)))
"""The front of no class at all."""


def nondominated(group: IntArray, cost: IntArray, time: IntArray, bits: int) -> IntArray:
    """Positions that no other of the same group matches in cost and time, sorted by group, then cost.

    Costs and times are below 2^(bits + 1); group, cost and time fit into 63 bits together.
    """
    order = np.argsort((group << (bits + 1)) | cost, kind="stable")
    # a running minimum over all groups at once: each group lies below the one before
    height = time[order] - (group[order] << (bits + 2))
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = height[1:] < np.minimum.accumulate(height)[:-1]
    return order[keep]


def thin(excess: FloatArray, most: int) -> IntArray:
    """About `most` positions, in order: half of them those of least excess, half spread evenly."""
    keep = np.zeros(len(excess), dtype=bool)
    keep[np.argpartition(excess, most // 2)[: most // 2]] = True
    keep[np.linspace(0, len(excess) - 1, most // 2).astype(np.int64)] = True
    return np.flatnonzero(keep)


@dataclass(frozen=True)
class Window:
    """What a merged front may hold: excess at most `excess`, cost at most `highest`, and where the cost falls short
    of `lowest` the budget left over counts as excess at `mu` a unit."""

    excess: float
    lowest: int
    highest: int
    mu: float


def merge(a: Front, b: Front, window: Window, bits: int) -> Front:
    """Every pair of a policy of `a` and one of `b` inside the window, without the dominated."""
    cost = (a.cost[:, None] + b.cost).ravel()
    excess = (a.excess[:, None] + b.excess).ravel()
    short = np.maximum(window.lowest - cost, 0) * window.mu
    inside = np.flatnonzero((cost <= window.highest) & (excess + short <= window.excess))
    left, right = inside // len(b), inside % len(b)
    cost, time = cost[inside], a.time[left] + b.time[right]
    kept = nondominated(np.zeros(len(inside), dtype=np.int64), cost, time, bits)
    return Front(excess[inside][kept], cost[kept], time[kept], left[kept], right[kept])
