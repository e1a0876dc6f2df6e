"""Columns of a master problem over patterns, and configurations: numbers of instances of each column.

A cover holds each task at least once. A trimmed cover is a configuration that holds each task once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from instances.arrays import IntArray
from instances.eva.arrays import Group, PackingArrays

WHOLE = 2.0**53  # sums of integers below this are exact in floating point
MOST_SURPLUS = -(2**62)  # limit on a surplus, which must fit in 64-bit integers


class Column(NamedTuple):
    """A column: an instance type and the pattern of an instance of the type, as sorted (class, copies)."""

    type: int
    pattern: tuple[tuple[int, int], ...]

    @staticmethod
    def of(instance_type: int, tasks: Iterable[tuple[int, int]]) -> Column:
        """Return a column from (class, copies) pairs in any order; zeros are omitted."""
        return Column(instance_type, tuple(sorted((int(c), int(q)) for c, q in tasks if q > 0)))


Configuration = dict[Column, int]
"""The number of instances of each column."""


def groups(configuration: Configuration) -> list[Group]:
    """Return the instances of a configuration, in the form of `PackingArrays`."""
    return [(column.type, dict(column.pattern), copies) for column, copies in configuration.items()]


def configuration(instances: Iterable[Group]) -> Configuration:
    """Return the configuration of instances in the form of `PackingArrays`; instances without tasks are omitted."""
    found: Configuration = {}
    for kind, pattern, copies in instances:
        column = Column.of(kind, pattern.items())
        if column.pattern and copies:
            found[column] = found.get(column, 0) + copies
    return found


def pack_alone(arrays: PackingArrays) -> Configuration:
    """Return the configuration with every task alone on its cheapest type."""
    found: Configuration = {}
    for c in np.flatnonzero(arrays.count):
        found[Column.of(int(arrays.cheapest_type[c]), ((int(c), 1),))] = int(arrays.count[c])
    return found


def price(arrays: PackingArrays, configuration: Configuration) -> int:
    """Return the price of a configuration, in price units."""
    prices = arrays.price.tolist()
    return sum(prices[column.type] * copies for column, copies in configuration.items())


def dearest(arrays: PackingArrays) -> int:
    """Return an upper bound on the cost of a packing, in price units: each task alone on its most expensive type."""
    price = np.where(arrays.fits, arrays.price[:, None], 0).max(axis=0).tolist()
    return sum(n * p for n, p in zip(arrays.count.tolist(), price, strict=True))


def missing(arrays: PackingArrays, configuration: Configuration) -> IntArray:
    """Return the tasks (N,) that a configuration does not hold; negative for tasks that it holds too often."""
    left = arrays.count.tolist()
    for column, copies in configuration.items():
        for c, q in column.pattern:
            left[c] -= q * copies
    return np.array([max(n, MOST_SURPLUS) for n in left], dtype=np.int64)


def is_within_limits(arrays: PackingArrays, configuration: Configuration) -> bool:
    """Return whether a configuration satisfies the limits of instances."""
    used = [0] * len(arrays.most)
    for column, copies in configuration.items():
        used[column.type] += copies
    return arrays.allows(used)


def holders(arrays: PackingArrays, column: Column) -> IntArray:
    """Return the types on which the tasks of a column fit together, for numbers of any size."""
    classes, copies = [c for c, _ in column.pattern], [q for _, q in column.pattern]
    load = np.array(copies, dtype=float) @ arrays.demand[:, classes].astype(float)
    if load.max(initial=0.0) >= WHOLE:  # floating point would round
        load = (np.array(copies, dtype=object)[:, None] * arrays.demand[:, classes].astype(object)).sum(axis=1)
    return np.flatnonzero((load[arrays.family] <= arrays.capacity).all(axis=1).astype(bool))


def holds(arrays: PackingArrays, column: Column) -> bool:
    """Return whether a column is feasible: the tasks of the pattern fit on the type together."""
    return column.type in holders(arrays, column)


def count_most_copies(arrays: PackingArrays) -> IntArray:
    """Return the most tasks (K, N) of each class alone on an instance of each type, at most the existing tasks."""
    demand = arrays.demand_of_type
    room = np.where(demand > 0, arrays.capacity[:, None, :] // np.maximum(demand, 1), np.iinfo(np.int64).max)
    return np.asarray(np.minimum(room.min(axis=2), arrays.count))


def single_class_columns(arrays: PackingArrays) -> list[Column]:
    """Return for each class the column of tasks of this class alone with the lowest price per task."""
    copies = count_most_copies(arrays)
    each = np.where(copies > 0, arrays.price[:, None] / np.maximum(copies, 1), np.inf)
    return [Column(int(k), ((c, int(copies[k, c])),)) for c, k in enumerate(each.argmin(axis=0))]


def trim(arrays: PackingArrays, cover: Configuration) -> Configuration:
    """Trim a cover: drop tasks held too often, then move each pattern to the cheapest type that holds the pattern.

    No pattern moves to a type with a limit.
    """
    surplus = -missing(arrays, cover)
    trimmed: Configuration = {}
    prices = arrays.price.tolist()
    for column, count in sorted(cover.items(), key=lambda item: (prices[item[0].type], item[0].type, item[0].pattern)):
        while count > 0:
            drop = {c: min(q, int(surplus[c])) for c, q in column.pattern if surplus[c] > 0}
            times = min([count] + [int(surplus[c]) // q for c, q in drop.items()])
            for c, q in drop.items():
                surplus[c] -= q * times
            kept = Column.of(column.type, ((c, q - drop.get(c, 0)) for c, q in column.pattern))
            if kept.pattern:
                kept = on_cheapest_type(arrays, kept)
                trimmed[kept] = trimmed.get(kept, 0) + times
            count -= times
    return trimmed


def on_cheapest_type(arrays: PackingArrays, column: Column) -> Column:
    """Return the column of the same pattern on the cheapest type; among equals on the present type, or the first."""
    kinds = holders(arrays, column)
    if arrays.has_limits:
        kinds = np.array([k for k in kinds if arrays.most[k] is None or k == column.type], dtype=np.int64)
    if not len(kinds):
        return column
    best = np.lexsort((kinds, kinds != column.type, arrays.price[kinds]))[0]
    return Column(int(kinds[best]), column.pattern)
