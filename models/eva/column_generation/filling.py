"""A constructive heuristic: fill one instance after another with the tasks that are worth most at given duals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.eva.column_generation.packing import Configuration, Ints, Packing
from models.eva.column_generation.pricing import Pricer

NODE_LIMIT = 60
SLACK = 0.002
"""A share of value that is not fought for: patterns from stale tables may miss it, and a larger type is preferred to
it."""


def fill(packing: Packing, pricer: Pricer, duals: NDArray[np.float64], counts: Ints) -> Configuration:
    """A configuration that holds ``counts`` (n,) tasks, each pattern of high value per price.

    The task of the highest dual that is left goes first, into the type and with the companions that the tables find
    most valuable per price. The tables know how many tasks were left when they were filled; they are filled again when
    they promise more than the tasks that are left can give.
    """
    left = counts.copy()
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
        i, kind = _most_promising(packing, pricer, first)
        table = pricer.tables[i]
        position = int(np.flatnonzero(table.classes == first)[0])
        promise = int(table.bound_with_each(kind)[position])
        available = np.minimum(left[table.classes], table.most)
        found = table.search(kind, 0, NODE_LIMIT, available, position)
        value, packed = found.packings[-1] if found.packings else (0, {position: 1})  # the class is worth nothing
        stale = not np.array_equal(table.limit, available)
        if stale and value < (1 - SLACK) * promise:
            filled.discard(i)
            continue
        column = table.column(kind, packed)
        times = min(int(left[c]) // q for c, q in column.pattern)
        configuration[column] = configuration.get(column, 0) + times
        for c, q in column.pattern:
            left[c] -= q * times
    return configuration


def _most_promising(packing: Packing, pricer: Pricer, first: int) -> tuple[int, int]:
    """The table and type whose best pattern with a task of class ``first`` promises most value per price; the largest
    among near equals."""
    promises: list[tuple[float, int, int]] = []
    for i, table in enumerate(pricer.tables):
        positions = np.flatnonzero(table.classes == first)
        for kind in table.kinds if len(positions) else []:
            promises.append((int(table.bound_with_each(kind)[positions[0]]) / packing.prices[kind], i, kind))
    best = max(promise for promise, _, _ in promises)
    near = [(i, kind) for promise, i, kind in promises if promise >= (1 - SLACK) * best]
    return max(near, key=lambda choice: (packing.prices[choice[1]], -choice[1]))
