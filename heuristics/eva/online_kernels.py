"""Compiled loops of Eva's rounds (numba): what is believed of throughput, and the worth of sets of tasks.

Tasks, classes, types and instances go by their places. Sums and products are in the order of the authors' artifact, so
that ties are decided as there: equal worths differ in their last digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray as Bool
from instances.arrays import FloatArray as Float
from instances.arrays import IntArray as Int
from instances.compiled import compiled

Hash = NDArray[np.uint64]

NOBODY = -1


class Types(NamedTuple):
    """What can be rented: `demand` (K, C, R), `capacity` (K, R), `price` (K,); types by falling and by rising price."""

    demand: Int
    capacity: Int
    price: Float
    falling: Int
    rising: Int


class Table(NamedTuple):
    """What is learned of throughput.

    `pair` (C, C) of a class beside one other; `known` (C,) whether anything was observed of a class; `power` (L,) the
    default of so many others, for a class of which nothing was. `keys` and `values` are a hash table of larger sets:
    the key of a class beside others is made of the sum of their random numbers `weight` (C,), 0 is no key.
    """

    pair: Float
    known: Bool
    power: Float
    weight: Hash
    keys: Hash
    values: Float


class Tasks(NamedTuple):
    """Tasks of a round (n,): class, reservation price, tasks of the job, instance that each is on, cheapest type."""

    kind: Int
    price: Float
    size: Int
    on: Int
    cheapest: Int


@compiled
def key_of(weight: Hash, kind: int, others: np.uint64) -> np.uint64:
    """The key of a class beside others whose weights add up to `others`."""
    x = weight[kind] * np.uint64(0x9E3779B97F4A7C15) + others
    x ^= x >> np.uint64(31)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(29)
    return x if x != np.uint64(0) else np.uint64(1)


@compiled
def slot_of(keys: Hash, key: np.uint64) -> np.uint64:
    """The slot of a key in the hash table, or the free one where it belongs."""
    mask = np.uint64(len(keys) - 1)
    slot = key & mask
    while keys[slot] != np.uint64(0) and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled
def store(table: Table, kind: int, beside: Int, mean: float) -> bool:
    """Enter what is known of a class beside a set of others; whether the set is new."""
    others = np.uint64(0)
    for other in beside:
        others += table.weight[other]
    key = key_of(table.weight, kind, others)
    slot = slot_of(table.keys, key)
    new = table.keys[slot] == np.uint64(0)
    table.keys[slot], table.values[slot] = key, mean
    return new


@compiled
def copy_sets(old: Table, new: Table) -> None:
    """Enter all sets of one table in another."""
    for i in range(len(old.keys)):
        if old.keys[i] != np.uint64(0):
            slot = slot_of(new.keys, old.keys[i])
            new.keys[slot], new.values[slot] = old.keys[i], old.values[i]


@compiled
def _rate(table: Table, classes: Int, length: int, kind: int, total: np.uint64) -> float:
    """What is believed of a class in a set: `classes` in order, with weights adding up to `total`."""
    if length == 1:
        return 1.0
    if not table.known[kind]:
        return table.power[length - 1]
    if length > 2:
        key = key_of(table.weight, kind, total - table.weight[kind])
        slot = slot_of(table.keys, key)
        if table.keys[slot] == key:
            return table.values[slot]
    rate, skipped = 1.0, False
    for i in range(length):
        if classes[i] == kind and not skipped:
            skipped = True
        else:
            rate *= table.pair[kind, classes[i]]
    return rate


@compiled
def worth(tasks: Tasks, table: Table, members: Int, count: int, extra: int, whole_jobs: bool) -> float:
    """TNRP of some tasks on one instance, and of `extra` unless NOBODY.

    With `whole_jobs` a task that is slowed down counts as often as its job has tasks, and not below 0.
    """
    length = count + (extra != NOBODY)
    classes = np.empty(length, dtype=np.int64)
    total = np.uint64(0)
    for i in range(length):
        kind = tasks.kind[members[i] if i < count else extra]
        total += table.weight[kind]
        j = i
        while j > 0 and classes[j - 1] > kind:
            classes[j] = classes[j - 1]
            j -= 1
        classes[j] = kind
    rates = np.empty(length)
    for i in range(length):
        same = i > 0 and classes[i] == classes[i - 1]
        rates[i] = rates[i - 1] if same else _rate(table, classes, length, classes[i], total)
    value = 0.0
    for i in range(length):
        task = members[i] if i < count else extra
        kind, low, high = tasks.kind[task], 0, length - 1
        while low < high:
            middle = (low + high) // 2
            if classes[middle] < kind:
                low = middle + 1
            else:
                high = middle
        rate = rates[low]
        if whole_jobs:
            rate = max(0.0, 1 - (1 - rate) * tasks.size[task])
        value += tasks.price[task] * rate
    return value
