"""Neighbours of the node set of a plan: one or two nodes are kept, drained, rented or not rented in addition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.kubernetes.arrays import ClusterArrays
from instances.kubernetes.node_consolidation import LARGEST

NodeSet = tuple[BoolArray, IntArray]
"""The nodes of a plan: which existing ones are kept (M,), and how many of each type are rented (K,)."""


class Neighbourhood:
    """The costs and the neighbours of the node sets of a cluster."""

    def __init__(self, arrays: ClusterArrays) -> None:
        self.arrays = a = arrays
        self.keep_cost = a.held_price - a.eviction_price * a.on_node  # a kept node saves the evictions of its pods

    def compute_cost(self, kept: BoolArray, number: IntArray) -> int:
        """Compute the cost of all nodes of the set, and of the evictions from all other nodes, in price units."""
        a = self.arrays
        rented = sum(n * p for n, p in zip(number.tolist(), a.price.tolist(), strict=True))  # may exceed 64 bits
        return int(self.keep_cost[kept].sum()) + rented + a.eviction_price * int(a.on_node.sum())

    def generate(self, kept: BoolArray, number: IntArray, min_cost: int, below: int | None) -> Iterator[NodeSet]:
        """Generate the neighbours that cost at least `min_cost` and less than `below`.

        All of them are within the limit of evictions and have the total capacity that all pods need.
        """
        a = self.arrays
        nodes, types = np.flatnonzero(a.leaves), np.arange(len(a.price))
        rentable = types[(a.most_new < 0) | (number < a.most_new)]
        rented = np.flatnonzero(number)
        sign = np.where(kept[nodes], -1, 1)
        cost = np.concatenate([sign * self.keep_cost[nodes], a.price[rentable], -a.price[rented]])
        evictions = np.concatenate([-sign * a.on_node[nodes], np.zeros(len(rentable) + len(rented), dtype=np.int64)])
        capacity = np.concatenate([sign[:, None] * a.room[nodes], a.capacity[rentable], -a.capacity[rented]])
        spare = a.room[kept].sum(axis=0) + number @ a.capacity - a.count @ a.need
        cost_now, evictions_now = min(self.compute_cost(kept, number), LARGEST), int(a.on_node[~kept].sum())
        i, j = np.triu_indices(len(cost))  # changes i and j; i = j is a single change
        new_cost = cost_now + cost[i] + np.where(i == j, 0, cost[j])
        new_evictions = evictions_now + evictions[i] + np.where(i == j, 0, evictions[j])
        allowed = (new_cost >= min_cost) & (new_evictions <= a.most_evictions)
        if below is not None:
            allowed &= new_cost < below
        i, j = i[allowed], j[allowed]
        slack = spare + capacity[i] + np.where((i == j)[:, None], 0, capacity[j])
        fits = (slack >= 0).all(axis=1)
        for one, other in zip(i[fits].tolist(), j[fits].tolist(), strict=True):
            new_kept, new_number = kept.copy(), number.copy()
            for change in {one, other}:
                if change < len(nodes):
                    new_kept[nodes[change]] ^= True
                elif change < len(nodes) + len(rentable):
                    new_number[rentable[change - len(nodes)]] += 1
                else:
                    new_number[rented[change - len(nodes) - len(rentable)]] -= 1
            yield new_kept, new_number
