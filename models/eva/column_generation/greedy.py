"""Greedy packing by duals: instances are filled in turn with the tasks of most value at given duals."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.pricing import Pricer
from models.eva.configuration import Configuration


def pack_greedily(arrays: PackingArrays, pricer: Pricer, duals: FloatArray, counts: IntArray) -> Configuration:
    """A configuration that holds `counts` (N,) tasks, each pattern of high value per price.

    The task of the highest dual that is left goes first, into the type and with the companions that the tables find
    most valuable per price. The tables know how many tasks were left when they were filled; they are filled again when
    their bound is more than the tasks that are left can give.
    """
    left, parameters = counts.copy(), pricer.parameters
    scale = pricer.scale(duals)
    values = np.rint(np.maximum(duals, 1e-6 * float(duals.max(initial=1.0))) * scale).astype(np.int64)
    order = [int(c) for c in np.lexsort((np.arange(len(left)), -values))]
    configuration: Configuration = {}
    filled: set[int] = set()
    at = 0
    while at < len(order):
        first = order[at]
        if left[first] == 0:
            at += 1
            continue
        for i, table in enumerate(pricer.tables):
            if i not in filled and first in table.classes:
                table.fill(values, scale, 0, left)
                filled.add(i)
        i, kind = _best_type(arrays, pricer, first)
        table = pricer.tables[i]
        position = int(np.flatnonzero(table.classes == first)[0])
        bound = int(table.bound_with_each(kind)[position])
        available = np.minimum(left[table.classes], table.most)
        found = table.search(kind, 0, parameters.greedy_nodes, available, position)
        value, packed = found.packings[-1] if found.packings else (0, {position: 1})  # The class may have no value.
        stale = not np.array_equal(table.limit, available)
        if stale and value < (1 - parameters.greedy_slack) * bound:
            filled.discard(i)
            continue
        column = table.column(kind, packed)
        times = min(int(left[c]) // q for c, q in column.pattern)
        configuration[column] = configuration.get(column, 0) + times
        for c, q in column.pattern:
            left[c] -= q * times
    return configuration


def task_sizes(arrays: PackingArrays) -> FloatArray:
    """Size (N,) of a task of each class: the largest share of a resource of the largest instance of a family.

    The family is the one where the share is largest; a size is at most 1.
    """
    families = range(len(arrays.demand))
    room = np.array([arrays.capacity[arrays.family == f].max(axis=0) for f in families])[:, None, :]
    share = np.where(arrays.demand > 0, arrays.demand / np.maximum(room, 1), 0.0)
    return np.asarray(np.minimum(share.max(axis=(0, 2)), 1.0))


def _best_type(arrays: PackingArrays, pricer: Pricer, first: int) -> tuple[int, int]:
    """The best table and type for a pattern with a task of class `first`, by the bound on value per price.

    Among near equals the dearest type is the best.
    """
    price = arrays.price.tolist()
    bounds: list[tuple[float, int, int]] = []
    for i, table in enumerate(pricer.tables):
        positions = np.flatnonzero(table.classes == first)
        for kind in table.kinds if len(positions) else []:
            bounds.append((int(table.bound_with_each(kind)[positions[0]]) / price[kind], i, kind))
    best = max(bound for bound, _, _ in bounds)
    near = [(i, kind) for bound, i, kind in bounds if bound >= (1 - pricer.parameters.greedy_slack) * best]
    return max(near, key=lambda choice: (price[choice[1]], -choice[1]))
