"""Find the pattern of maximum value of an instance type by exact search in integers.

The search is depth first over the classes. The residual capacity bounds the further value of a partial pattern. For
each resource alone, the bound uses the best ratio of value to demand among the remaining classes. For a mix of the
resources, classes are sorted by this ratio and fill the capacity in that order, the last task fractionally (Dantzig,
1957). For the bounds, resources are rounded down to a coarse unit; feasibility always uses the exact amounts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import gcd

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compile_lazily
from instances.proofs.certificate import NoCertificate

IntArray = NDArray[np.int64]
COARSE = 1 << 16  # steps of a resource in a bound
PARTS = 4  # of a mix
LARGEST = 1 << 62
STEPS = 200_000_000  # steps of one search


@dataclass(frozen=True)
class Room:
    """A type of `capacity` (R,) and its n classes, with `count` (n,) tasks each of `demand` (n, R)."""

    demand: list[list[int]]
    capacity: list[int]
    count: list[int]


@dataclass(frozen=True)
class Best:
    """The best `pattern` and its value `worth` if it exceeds the target, otherwise no pattern and the target.

    `complete`: whether the search ended; if not, a better pattern may exist.
    """

    worth: int
    pattern: list[int]
    complete: bool = True


def find_best_pattern(room: Room, value: list[int], target: int, steps: int = STEPS) -> Best:
    """Find the best pattern with a value over `target`, in at most `steps` search steps.

    - `room`: the type and its classes.
    - `value`: the value of a task of each class, at least 0.
    - `target`: at least 0.

    The search counts values in multiples of their greatest common divisor. Raises NoCertificate if these multiples are
    too large for 64 bits.
    """
    demand = np.array(room.demand, dtype=object).reshape(len(value), len(room.capacity))  # numbers of any size
    fits = np.logical_and.reduce(demand <= np.array(room.capacity, dtype=object), axis=1)
    usable = [i for i, (fit, v) in enumerate(zip(fits, value, strict=True)) if fit and v > 0 and room.count[i]]
    if target < 0:
        raise ValueError("the empty pattern is worth more than a target below 0")
    if not usable:
        return Best(target, [])
    coarse = [max(1, -(-q // COARSE)) for q in room.capacity]
    small = (demand[usable] // np.array(coarse, dtype=object)).tolist()
    rooms = [q // g for q, g in zip(room.capacity, coarse, strict=True)]
    unit = gcd(*(value[i] for i in usable))
    worth, over = [value[i] // unit for i in usable], target // unit
    copies = [
        min([room.count[i], *(q // d for d, q in zip(room.demand[i], room.capacity, strict=True) if d)]) for i in usable
    ]
    weight = _mix(small, rooms, worth, copies)
    mixed = (np.array(small, dtype=object) @ np.array(weight, dtype=object)).tolist()
    mix = sum(w * q for w, q in zip(weight, rooms, strict=True))
    order = sorted(range(len(usable)), key=lambda k: -worth[k] / mixed[k] if mixed[k] else -math.inf)
    if any(worth[a] * mixed[b] < worth[b] * mixed[a] for a, b in pairwise(order)):  # a quotient was rounded
        order.sort(key=lambda k: Fraction(-worth[k], mixed[k]) if mixed[k] else -LARGEST)
    exact = np.array([room.demand[usable[k]] for k in order], dtype=np.int64)
    bounding = np.array([[*small[k], mixed[k]] for k in order], dtype=np.int64)
    count = np.array([copies[k] for k in order], dtype=np.int64)
    values = np.array([worth[k] for k in order], dtype=object)
    total = sum(int(v) * int(n) for v, n in zip(values, count, strict=True))
    if over >= total:
        return Best(target, [])
    if max(total, mix * sum(copies)) >= LARGEST or max(*rooms, mix) * int(max(values)) >= LARGEST:
        raise NoCertificate("duals are too large for an exact search")
    found = np.zeros(len(order), dtype=np.int64)
    best, complete = _search(
        exact,
        np.array(room.capacity, dtype=np.int64),
        bounding,
        np.array([*rooms, mix], dtype=np.int64),
        count,
        values.astype(np.int64),
        over,
        steps,
        found,
    )
    if best <= over:
        return Best(target, [], bool(complete))
    pattern = [0] * len(value)
    for k, n in zip(order, found.tolist(), strict=True):
        pattern[usable[k]] = n
    return Best(int(best) * unit, pattern, bool(complete))


def _mix(demand: list[list[int]], rooms: list[int], worth: list[int], count: list[int]) -> list[int]:
    """Return the weights of the resources that give the lowest bound among a few mixes."""
    needs, values, copies = np.array(demand, dtype=float), np.array(worth, dtype=float), np.array(count, dtype=float)
    shares = [c for c in product(range(PARTS + 1), repeat=len(rooms)) if sum(c) == PARTS] if len(rooms) <= 4 else []
    shares.append((1,) * len(rooms))
    mixes = [[a * (COARSE // q) if q else 0 for a, q in zip(share, rooms, strict=True)] for share in shares]
    weights = np.array(mixes, dtype=float)
    mixed = needs @ weights.T
    order = np.argsort(-values[:, None] / np.maximum(mixed, 0.5), axis=0, kind="stable")
    mixed, copies, values = np.take_along_axis(mixed, order, axis=0), copies[order], values[order]
    before = np.cumsum(mixed * copies, axis=0) - mixed * copies
    taken = np.clip((weights @ np.array(rooms, dtype=float) - before) / np.maximum(mixed, 0.5), 0, copies)
    total = (np.where(mixed > 0, taken, copies) * values).sum(axis=0)
    return mixes[int(total.argmin())]


@compile_lazily
def _search(
    demand: IntArray,
    capacity: IntArray,
    bounding: IntArray,
    bounds: IntArray,
    count: IntArray,
    value: IntArray,
    target: int,
    steps: int,
    found: IntArray,
) -> tuple[int, bool]:
    """Return the maximum value over `target` and whether the search ended within `steps`; `found` gets the pattern."""
    n, resources = demand.shape
    extra = bounding.shape[1]
    dense = np.zeros((n + 1, extra), dtype=np.int64)  # the remaining class with the best ratio of value to demand
    free = np.zeros((n + 1, extra), dtype=np.int64)  # the value of the remaining classes without demand
    all_of = np.zeros(n + 1, dtype=np.int64)
    for r in range(extra):
        dense[n, r] = -1
    for i in range(n - 1, -1, -1):
        all_of[i] = all_of[i + 1] + count[i] * value[i]
        for r in range(extra):
            dense[i, r], free[i, r] = dense[i + 1, r], free[i + 1, r]
            if bounding[i, r] == 0:
                free[i, r] += count[i] * value[i]
            else:
                b = dense[i, r]
                if b < 0 or value[i] * bounding[b, r] > value[b] * bounding[i, r]:
                    dense[i, r] = i
    filled = np.zeros(n + 1, dtype=np.int64)  # demand in the mix, and value, of all classes before
    valued = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        filled[i + 1] = filled[i] + count[i] * bounding[i, extra - 1]
        valued[i + 1] = valued[i] + count[i] * value[i]
    left = np.zeros((n + 1, resources), dtype=np.int64)
    rest = np.zeros((n + 1, extra), dtype=np.int64)
    gained = np.zeros(n + 1, dtype=np.int64)
    taken = np.zeros(n, dtype=np.int64)
    left[0], rest[0] = capacity, bounds
    best, depth, done = target, 0, 0
    entering = True
    while depth >= 0:
        done += 1
        if done > steps:
            return best, False
        if entering:
            if gained[depth] > best:
                best = gained[depth]
                found[:depth] = taken[:depth]
                found[depth:] = 0
            more = all_of[depth]
            for r in range(extra):
                b = dense[depth, r]
                gain = free[depth, r]
                if b >= 0:
                    gain += rest[depth, r] * value[b] // bounding[b, r]
                more = min(more, gain)
            end = filled[depth] + rest[depth, extra - 1]
            j, beyond = depth, n + 1  # the last class before which all classes fit
            while beyond - j > 1:
                middle = (j + beyond) // 2
                if filled[middle] <= end:
                    j = middle
                else:
                    beyond = middle
            gain = valued[j] - valued[depth]
            if j < n:
                gain += (end - filled[j]) * value[j] // bounding[j, extra - 1]
            more = min(more, gain)
            if depth == n or gained[depth] + more <= best:
                depth -= 1
                entering = False
                continue
            most = count[depth]
            for r in range(resources):
                if demand[depth, r] > 0:
                    most = min(most, left[depth, r] // demand[depth, r])
            taken[depth] = most
        else:
            if taken[depth] == 0:
                depth -= 1
                continue
            taken[depth] -= 1
        for r in range(resources):
            left[depth + 1, r] = left[depth, r] - taken[depth] * demand[depth, r]
        for r in range(extra):
            rest[depth + 1, r] = rest[depth, r] - taken[depth] * bounding[depth, r]
        gained[depth + 1] = gained[depth] + taken[depth] * value[depth]
        depth += 1
        entering = True
    return best, True
