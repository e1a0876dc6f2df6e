"""Compiled loops (numba): the maximal patterns of a type, their values, and the test for dominated patterns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compile_lazily
from instances.eva.arrays import FloatArray, IntArray

BLOCK = 1024


@compile_lazily
def maximal_patterns(
    capacity: IntArray, demand: IntArray, most: IntArray, order: IntArray, limit: int, steps: int, kept_as: IntArray
) -> tuple[bool, IntArray]:  # pragma: no cover - compiled
    """Find all maximal patterns by depth-first search; return whether the search ended, and the patterns (N, P).

    - `capacity` (R,), `demand` (N, R): capacity of the type, and demand of a task of each class.
    - `most` (N,): most tasks of each class, 0 if the class does not fit.
    - `order` (N,): the classes in the order of the search.
    - `limit`: most patterns.
    - `steps`: most steps of the search.
    - `kept_as` (N, 0): an empty array with the data type of the patterns.

    A branch with fewer tasks of a class is cut if all later tasks together leave enough capacity for one more.
    """
    classes, resources = demand.shape
    demand, most = demand[order], most[order]
    rest = np.zeros((classes + 1, resources), dtype=np.int64)  # demand of all tasks of the classes from this one on
    for c in range(classes - 1, -1, -1):
        for r in range(resources):
            rest[c, r] = rest[c + 1, r] + most[c] * demand[c, r]
    found = np.zeros((classes, min(limit, 256)), dtype=kept_as.dtype)
    number = 0
    left = np.zeros((classes + 1, resources), dtype=np.int64)
    left[0] = capacity
    pattern = np.zeros(classes, dtype=np.int64)
    at, down = 0, True
    while at >= 0:
        if down:
            steps -= 1
            if steps < 0:
                return False, kept_as
            if at < classes:
                room = most[at]
                for r in range(resources):
                    if demand[at, r] > 0:
                        room = min(room, left[at, r] // demand[at, r])
                pattern[at] = room
                for r in range(resources):
                    left[at + 1, r] = left[at, r] - room * demand[at, r]
                at += 1
                continue
            full = True
            for c in range(classes):
                if pattern[c] < most[c]:
                    fits = True
                    for r in range(resources):
                        if demand[c, r] > left[classes, r]:
                            fits = False
                            break
                    if fits:
                        full = False
                        break
            if full:
                if number == limit:
                    return False, kept_as
                if number == found.shape[1]:
                    larger = np.zeros((classes, min(limit, 2 * number)), dtype=kept_as.dtype)
                    larger[:, :number] = found
                    found = larger
                for c in range(classes):
                    found[order[c], number] = pattern[c]
                number += 1
            at -= 1
            down = False
            continue
        # Back at class `at`: remove one task, if the later classes can use the freed capacity.
        if pattern[at] == 0:
            at -= 1
            continue
        pattern[at] -= 1
        fills = False
        for r in range(resources):
            left[at + 1, r] += demand[at, r]
            if left[at + 1, r] - rest[at + 1, r] < demand[at, r]:
                fills = True
        if fills:
            at += 1
            down = True
        else:
            pattern[at] = 0
            at -= 1
    return True, found[:, :number]


@compile_lazily
def has_more_patterns(
    limit: int, capacity: IntArray, demand: IntArray, most: IntArray
) -> bool:  # pragma: no cover - compiled
    """Return whether more than `limit` patterns fit in `capacity` (R,).

    A depth-first search counts the patterns, and counts all numbers of tasks of the last class at once.

    - `demand` (N, R): demand of a task of each class.
    - `most` (N,): most tasks of each class.
    """
    classes, resources = demand.shape
    left = np.zeros((classes + 1, resources), dtype=np.int64)
    left[0] = capacity
    pattern = np.zeros(classes, dtype=np.int64)
    number, at, down = 0, 0, True
    while at >= 0:
        if down:
            room = most[at]
            for r in range(resources):
                if demand[at, r] > 0:
                    room = min(room, left[at, r] // demand[at, r])
            if at == classes - 1:
                number += room + 1
                if number > limit:
                    return True
                at -= 1
                down = False
                continue
            pattern[at] = room
            for r in range(resources):
                left[at + 1, r] = left[at, r] - room * demand[at, r]
            at += 1
        elif pattern[at] == 0:
            at -= 1
        else:
            pattern[at] -= 1
            for r in range(resources):
                left[at + 1, r] += demand[at, r]
            at += 1
            down = True
    return number > limit


@compile_lazily
def worth_of(
    held: IntArray, value: FloatArray, begin: int, end: int, worth: FloatArray
) -> None:  # pragma: no cover - compiled
    """Write the values of the patterns `held` (N, P) from `begin` to `end` into `worth` (P,).

    A task of each class has the `value` (N,). Integers below 2^52 are exact in floating point. Patterns are processed
    in blocks, so that the sums stay in the cache.
    """
    for first in range(begin, end, BLOCK):
        last = min(end, first + BLOCK)
        block = worth[first:last]
        block[:] = 0.0
        for c in range(len(value)):
            each = value[c]
            if each != 0.0:
                tasks = held[c, first:last]
                for p in range(len(block)):
                    block[p] += each * tasks[p]


@compile_lazily
def best_places(
    worth: FloatArray, begin: int, end: int, target: float, limit: int, state: NDArray[np.int8], left_out: int
) -> tuple[float, IntArray]:  # pragma: no cover - compiled
    """Return the largest value from `begin` to `end`, and the indices of the best patterns above the target.

    There are at most `limit` indices, the best first, and among equals the first. Patterns of the state `left_out`
    count for the largest value only.
    """
    most, number = worth[begin], 0
    places = np.zeros(limit, dtype=np.int64)
    for p in range(begin, end):
        w = worth[p]
        most = max(most, w)
        if w <= target or state[p] == left_out:
            continue
        if number == limit and w <= worth[places[limit - 1]]:
            continue
        number = min(number + 1, limit)
        i = number - 1
        while i > 0 and worth[places[i - 1]] < w:
            places[i] = places[i - 1]
            i -= 1
        places[i] = p
    return most, places[:number]


@compile_lazily
def cheapest_price(
    load: IntArray, family: IntArray, capacity: IntArray, price: IntArray, upto: int
) -> int:  # pragma: no cover - compiled
    """Return the lowest price of the first `upto` types that hold `load` (F, R), or -1; `price` (K,) is sorted."""
    for k in range(upto):
        holds = True
        for r in range(capacity.shape[1]):
            if load[family[k], r] > capacity[k, r]:
                holds = False
                break
        if holds:
            return price[k]
    return -1


@compile_lazily
def replaceable(
    patterns: IntArray,
    kind: int,
    family: IntArray,
    demand: IntArray,
    capacity: IntArray,
    price: IntArray,
    cheaper: int,
    splits: int,
) -> IntArray:  # pragma: no cover - compiled
    """Return which patterns (P,) of type `kind` are dominated, as 0 or 1.

    A pattern is dominated if one of the first `kind` types holds it, or two instances of the first `cheaper` types at
    no higher price. Types are in increasing order of price.

    - `patterns` (P, N): the patterns.
    - `family` (K,), `demand` (F, N, R), `capacity` (K, R), `price` (K,): the types and the demands.
    - `splits`: most splits of a pattern in two that are tested.
    """
    found = np.zeros(len(patterns), dtype=np.int64)
    families, classes, resources = demand.shape
    used = np.zeros(classes, dtype=np.int64)
    part = np.zeros(classes, dtype=np.int64)
    load = np.zeros((families, resources), dtype=np.int64)
    rest = np.zeros((families, resources), dtype=np.int64)
    for p in range(len(patterns)):
        pattern = patterns[p]
        many = 0
        load[:] = 0
        rest[:] = 0
        for c in range(classes):
            if pattern[c]:
                used[many] = c
                part[many] = 0
                many += 1
                for f in range(families):
                    for r in range(resources):
                        rest[f, r] += pattern[c] * demand[f, c, r]
        if cheapest_price(rest, family, capacity, price, kind) >= 0:
            found[p] = 1
            continue
        if cheaper == 0:
            continue
        for _ in range(splits):
            # The next part, in the order of a counter whose digits run up to the numbers of tasks.
            i = 0
            while i < many:
                c = used[i]
                step = 1 if part[i] < pattern[c] else -pattern[c]
                part[i] += step
                for f in range(families):
                    for r in range(resources):
                        load[f, r] += step * demand[f, c, r]
                        rest[f, r] -= step * demand[f, c, r]
                if step > 0:
                    break
                i += 1
            if i == many:
                break
            one = cheapest_price(load, family, capacity, price, cheaper)
            if one < 0 or one >= price[kind]:
                continue
            two = cheapest_price(rest, family, capacity, price, cheaper)
            if two >= 0 and one + two <= price[kind]:
                found[p] = 1
                break
    return found
