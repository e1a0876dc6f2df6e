"""Compiled loops of pricing over items (numba): completion tables, branch and bound, surrogate multipliers.

m items of R resources, in order of decreasing value per weight; Q relaxations to a single weight. All arrays are int64
unless stated otherwise. Every bound is an integer that no packing exceeds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compile_lazily

Int = NDArray[np.int64]
Float = NDArray[np.float64]


class Items(NamedTuple):
    """Items and capacity of one search, in the form for compiled code.

    - `size` (m, R), `value` (m,): size and value of each item.
    - `room` (R,): capacity.
    - `weight` (Q, m), `weight_room` (Q,): weights of the items and the capacity in each relaxation, as integer
      combinations of the resources.
    - `shift` (Q,), `tables` (Q, m + 1, G): `tables[q, j, s]` is the maximum value of the items from the j-th on, if
      their weights, shifted right, add up to at most s.
    - `conflict_from` (m + 1,), `conflicts`: the items that item j cannot be packed with, as compressed rows.
    """

    size: Int
    value: Int
    room: Int
    weight: Int
    weight_room: Int
    shift: Int
    tables: Int
    conflict_from: Int
    conflicts: Int


@compile_lazily
def complete(weight: Int, value: Int, room: int, table: Int) -> None:
    """Fill a completion table (m + 1, G): the maximum value of items from the j-th on, at capacities up to `room`."""
    m = len(value)
    for s in range(room + 1):
        table[m, s] = 0
    for j in range(m - 1, -1, -1):
        w, v = weight[j], value[j]
        last = min(w, room + 1)
        for s in range(last):
            table[j, s] = table[j + 1, s]
        for s in range(last, room + 1):
            table[j, s] = max(table[j + 1, s], v + table[j + 1, s - w])


@compile_lazily
def fractional(value: Float, share: Float, multiplier: Float) -> float:
    """Return the value of the fractional knapsack (Dantzig, 1957) with the surrogate weight `share` @ `multiplier`.

    - `value` (m,): values of the items.
    - `share` (m, R): sizes as shares of the capacity.
    - `multiplier` (R,): surrogate multipliers.
    """
    m = len(value)
    weight = np.empty(m)
    ratio = np.empty(m)
    for i in range(m):
        weight[i] = 0.0
        for r in range(len(multiplier)):
            weight[i] += share[i, r] * multiplier[r]
        ratio[i] = -value[i] / max(weight[i], 1e-12)
    left, total = 1.0, 0.0
    for i in np.argsort(ratio):
        if weight[i] <= left:
            left -= weight[i]
            total += value[i]
        else:
            return total + value[i] * left / weight[i]
    return total


@compile_lazily
def multipliers(value: Float, share: Float, rounds: int) -> Float:
    """Minimise the fractional surrogate knapsack over multipliers (R,) of sum 1, by line searches over pairs.

    - `value` (m,), `share` (m, R): see `fractional`.
    - `rounds`: steps of a line search.
    """
    resources = share.shape[1]
    best = np.full(resources, 1.0 / resources)
    if resources == 1:
        return best
    for _ in range(1 if resources == 2 else 2):
        for a in range(resources - 1):
            for b in range(a + 1, resources):
                both = best[a] + best[b]
                low, high = 0.0, 1.0
                trial = best.copy()
                for _ in range(rounds):
                    one, two = low + 0.382 * (high - low), low + 0.618 * (high - low)
                    trial[a], trial[b] = both * one, both * (1.0 - one)
                    left = fractional(value, share, trial)
                    trial[a], trial[b] = both * two, both * (1.0 - two)
                    if left <= fractional(value, share, trial):
                        high = two
                    else:
                        low = one
                best[a], best[b] = both * (low + high) / 2, both * (1.0 - (low + high) / 2)
    return best


@compile_lazily
def search(
    items: Items, first: int, threshold: int, raising: bool, nodes: int, packed: Int, length: Int, values: Int
) -> tuple[int, bool, int]:
    """Find packings of value above a threshold by depth-first branch and bound.

    Return the number of packings, whether the search is complete, and the number of nodes.

    - `first`: an item that every packing holds, or -1.
    - `threshold`: the value to exceed.
    - `raising`: whether each packing found raises the threshold to its value, so that only better ones follow.
    - `nodes`: node limit.
    - `packed` (P, L), `length` (P,), `values` (P,): filled with the packings found, the best last if `raising`. A
      packing of more than L items ends the search, and so do more than P packings if not `raising`.
    """
    m, resources, relaxations = items.size.shape[0], items.size.shape[1], items.weight.shape[0]
    most, longest = packed.shape
    left = items.room.copy()
    weight_left = items.weight_room.copy()
    stack = np.empty(m + 1, dtype=np.int64)
    blocked = np.zeros(m, dtype=np.int64)
    depth, value, found, used = 0, 0, 0, 0
    bottom = 0
    j = first
    going_down = first >= 0
    if not going_down:
        j = 0
    while True:
        if not going_down:
            # Look for the next item to pack; stop if no completion can exceed the threshold.
            while j < m:
                ended = False
                for q in range(relaxations):
                    if value + items.tables[q, j, weight_left[q] >> items.shift[q]] <= threshold:
                        ended = True
                        break
                if ended:
                    j = m + 1
                    break
                if blocked[j] == 0 and j != first:
                    fits = True
                    for r in range(resources):
                        if items.size[j, r] > left[r]:
                            fits = False
                            break
                    if fits:
                        break
                j += 1
            going_down = j < m
        if going_down:
            used += 1
            if used > nodes:
                return found, False, used
            for r in range(resources):
                left[r] -= items.size[j, r]
            for q in range(relaxations):
                weight_left[q] -= items.weight[q, j]
            for e in range(items.conflict_from[j], items.conflict_from[j + 1]):
                blocked[items.conflicts[e]] += 1
            value += items.value[j]
            stack[depth] = j
            depth += 1
            if j == first:
                bottom = 1
                j = 0
            else:
                j += 1
            going_down = False
            continue
        if value > threshold:
            if raising and found == most:
                found -= 1
            if found == most or depth > longest:
                return found, False, used
            for d in range(depth):
                packed[found, d] = stack[d]
            length[found], values[found] = depth, value
            found += 1
            if raising:
                threshold = value
        if depth <= bottom:
            return found, True, used
        depth -= 1
        j = stack[depth]
        for r in range(resources):
            left[r] += items.size[j, r]
        for q in range(relaxations):
            weight_left[q] += items.weight[q, j]
        for e in range(items.conflict_from[j], items.conflict_from[j + 1]):
            blocked[items.conflicts[e]] -= 1
        value -= items.value[j]
        j += 1


@compile_lazily
def search_each(items: Items, threshold: int, nodes: int, packed: Int, length: Int, values: Int) -> None:
    """Find for each item a good packing that contains it, of value above the threshold, within `nodes` nodes each.

    - `packed` (m, L), `length` (m,): filled with the packings.
    - `values` (m,): filled with their values, or with the threshold if no packing was found.
    """
    m = len(items.value)
    some = np.empty((64, packed.shape[1]), dtype=np.int64)
    lengths = np.empty(64, dtype=np.int64)
    worth = np.empty(64, dtype=np.int64)
    for i in range(m):
        values[i], length[i] = threshold, 0
        found, _, _ = search(items, i, threshold, True, nodes, some, lengths, worth)
        if found > 0:
            values[i], length[i] = worth[found - 1], lengths[found - 1]
            for d in range(lengths[found - 1]):
                packed[i, d] = some[found - 1, d]
