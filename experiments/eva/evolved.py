"""A packing heuristic whose weights `gapwise study eva-evolution` has found: a program that the judge takes as it is.

Until all tasks have an instance, each type is filled greedily, by the task whose reservation price is high for the
share of the free room that it takes, and the fill is kept whose tasks' prices are highest for the type's own price; it
goes on the cheapest type that has room for it, as often as tasks are left for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva import EvaPacking, PackingArrays, packing_arrays

WEIGHTS = (1.3935, 1.1202, 1.7281, 0.8159, 0.8584)
"""Exponents of a task's price and of its share of the room; weights of CPUs and RAM beside GPUs; a type's exponent."""
NONE = 1e-9  # stands for a share of 0, and for a room of 0


def solve(data: EvaPacking) -> dict[str, Any]:
    """Return the instances to rent. Raises ValueError for a net saving and for types with a limited number."""
    return pack(data, WEIGHTS)


def pack(data: EvaPacking, weights: Sequence[float]) -> dict[str, Any]:
    """Return the instances to rent with other weights."""
    if data.objective != "cost" or data.limits:
        raise ValueError("is for the least cost, with any number of instances of a type")
    arrays = packing_arrays(data)
    of_resource = {"cpu": weights[2], "ram_gb": weights[3]}
    share = np.array([of_resource.get(resource, 1.0) for resource in data.resources])
    left, groups = arrays.count.copy(), []
    while left.any():
        fills = [_fill_instance(arrays, kind, left, weights, share) for kind in range(len(arrays.price))]
        worth = np.array(fills) @ arrays.reservation_price / arrays.price ** weights[4]
        fill = fills[int(worth.argmax())]
        takes = (arrays.demand_of_type * fill[:, None]).sum(axis=1)
        holds = (takes <= arrays.capacity).all(axis=1)
        kind = int(np.where(holds, arrays.price, np.iinfo(np.int64).max).argmin())
        copies = int((left[fill > 0] // fill[fill > 0]).min())
        left -= copies * fill
        groups.append((kind, {int(c): int(fill[c]) for c in np.flatnonzero(fill)}, copies))
    return arrays.solution(groups)


def _fill_instance(
    arrays: PackingArrays, kind: int, left: IntArray, weights: Sequence[float], share: FloatArray
) -> IntArray:
    """Return the number of tasks of each class for an instance of a type."""
    need, free, fill = arrays.demand_of_type[kind], arrays.capacity[kind].copy(), np.zeros_like(left)
    while len(fitting := np.flatnonzero((need <= free).all(axis=1) & (left > fill))):
        takes = (share * need[fitting] / np.maximum(free, NONE)).sum(axis=1) + NONE
        score = weights[0] * np.log(arrays.reservation_price[fitting]) - weights[1] * np.log(takes)
        best = fitting[score.argmax()]
        fill[best] += 1
        free -= need[best]
    return fill
