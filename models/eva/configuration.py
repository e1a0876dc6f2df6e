"""Columns of a master problem over patterns, and configurations: how many instances there are of each column.

A cover holds each task at least once; trimmed, it is a configuration that holds each once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from instances.arrays import IntArray
from instances.eva.arrays import Group, PackingArrays

WHOLE = 2.0**53  # Sums of whole numbers below this are exact in floating point.
MOST_SURPLUS = -(2**62)  # A surplus is cut off here: a larger one would leave 64-bit integers.


class Column(NamedTuple):
    """A column: an instance type and the pattern of an instance of the type, as sorted (class, copies)."""

    type: int
    pattern: tuple[tuple[int, int], ...]

    @staticmethod
    def of(instance_type: int, tasks: Iterable[tuple[int, int]]) -> Column:
        """A column from (class, copies) pairs in any order; zeros are left out."""
        return Column(instance_type, tuple(sorted((int(c), int(q)) for c, q in tasks if q > 0)))


Configuration = dict[Column, int]
"""How many instances there are of each column."""


def groups(configuration: Configuration) -> list[Group]:
    """The instances of a configuration, in the form of `PackingArrays`."""
    return [(column.type, dict(column.pattern), copies) for column, copies in configuration.items()]


def configuration(instances: Iterable[Group]) -> Configuration:
    """The configuration of instances in the form of `PackingArrays`; instances without tasks are left out."""
    found: Configuration = {}
    for kind, pattern, copies in instances:
        column = Column.of(kind, pattern.items())
        if column.pattern and copies:
            found[column] = found.get(column, 0) + copies
    return found


def alone(arrays: PackingArrays) -> Configuration:
    """Every task alone on its cheapest type."""
    found: Configuration = {}
    for c in np.flatnonzero(arrays.count):
        found[Column.of(int(arrays.cheapest_type[c]), ((int(c), 1),))] = int(arrays.count[c])
    return found


def price(arrays: PackingArrays, configuration: Configuration) -> int:
    """The price of a configuration, in price units."""
    prices = arrays.price.tolist()
    return sum(prices[column.type] * copies for column, copies in configuration.items())


def dearest(arrays: PackingArrays) -> int:
    """A cost, in price units, that no packing exceeds: each task alone on the dearest type that it fits."""
    price = np.where(arrays.fits, arrays.price[:, None], 0).max(axis=0).tolist()
    return sum(n * p for n, p in zip(arrays.count.tolist(), price, strict=True))


def missing(arrays: PackingArrays, configuration: Configuration) -> IntArray:
    """Tasks (N,) that a configuration does not hold; negative where the configuration holds tasks too often."""
    left = arrays.count.tolist()
    for column, copies in configuration.items():
        for c, q in column.pattern:
            left[c] -= q * copies
    return np.array([max(n, MOST_SURPLUS) for n in left], dtype=np.int64)


def within_limits(arrays: PackingArrays, configuration: Configuration) -> bool:
    """Whether a configuration has no more instances than there may be."""
    used = [0] * len(arrays.most)
    for column, copies in configuration.items():
        used[column.type] += copies
    return arrays.allows(used)


def holders(arrays: PackingArrays, column: Column) -> IntArray:
    """The types on which the tasks of a column fit together, whatever the size of the numbers."""
    classes, copies = [c for c, _ in column.pattern], [q for _, q in column.pattern]
    load = np.array(copies, dtype=float) @ arrays.demand[:, classes].astype(float)
    if load.max(initial=0.0) >= WHOLE:  # floating point would round
        load = (np.array(copies, dtype=object)[:, None] * arrays.demand[:, classes].astype(object)).sum(axis=1)
    return np.flatnonzero((load[arrays.family] <= arrays.capacity).all(axis=1).astype(bool))


def holds(arrays: PackingArrays, column: Column) -> bool:
    """Whether a column is feasible: the tasks of the pattern fit on the type together."""
    return column.type in holders(arrays, column)


def most_copies(arrays: PackingArrays) -> IntArray:
    """Most tasks (K, N) of each class alone on an instance of each type, never more than there are."""
    demand = arrays.demand_of_type
    room = np.where(demand > 0, arrays.capacity[:, None, :] // np.maximum(demand, 1), np.iinfo(np.int64).max)
    return np.asarray(np.minimum(room.min(axis=2), arrays.count))


def single_class_columns(arrays: PackingArrays) -> list[Column]:
    """For each class, the column of tasks of the class alone with the least price per task."""
    copies = most_copies(arrays)
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
    """The column of the same pattern on the cheapest type; among equals the present type, or the first."""
    kinds = holders(arrays, column)
    if arrays.limited:
        kinds = np.array([k for k in kinds if arrays.most[k] is None or k == column.type], dtype=np.int64)
    if not len(kinds):
        return column
    best = np.lexsort((kinds, kinds != column.type, arrays.price[kinds]))[0]
    return Column(int(kinds[best]), column.pattern)
