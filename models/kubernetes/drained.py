"""The sets of nodes that a plan cheaper than the best one may drain, where few evictions leave few of them.

A plan saves what its drained nodes cost, and pays for new ones: their rooms, with what is free on the nodes that are
kept, cover the pods that have to move. The least that this costs, in whole numbers, bounds all plans that drain the
same nodes. Nodes whose loss saves nothing are kept: with its pods back on such a node no plan is dearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.compiled import compiled
from instances.kubernetes.consolidation_arrays import ClusterArrays

MOST_STEPS = 500_000  # of the search for sets
MOST_SETS = 2_000
MOST_COVERS = 10_000  # sets of new nodes, none of which is as dear as another that has more room
MOST_PRODUCT = 500_000_000  # covers that are looked at, for all sets together
LARGEST = 1 << 62  # of what is summed or multiplied


@dataclass(frozen=True)
class DrainedSet:
    """A set of nodes that is drained, all but those `kept` (M,), what its plans cost at `least`, and by which totals:
    how many of each type are rented (K,)."""

    least: int
    kept: BoolArray
    number: IntArray


def drained_sets(arrays: ClusterArrays, best: int) -> list[DrainedSet] | None:
    """All sets whose plans may cost less than `best`, the cheapest first; `None` where there are too many to tell.

    For nodes that are drained whole.
    """
    a = arrays
    saved = a.held_price - a.eviction_price * a.on_node

    def worth(m: int) -> tuple[bool, Fraction]:
        return bool(a.on_node[m]), Fraction(-int(saved[m]), max(1, int(a.on_node[m])))

    nodes = np.array(sorted(np.flatnonzero(a.leaves & (saved > 0)).tolist(), key=worth), dtype=np.int64)
    taken = max((a.count @ a.need).tolist(), default=0)
    if max(int(saved.max(initial=0)) * (int(a.on_node.sum()) + 1), taken * (len(saved) + 2)) >= LARGEST:
        return None
    over = int(a.held_price.sum()) - best  # what has to be saved, and more
    most = int(_most_saved(saved[nodes], a.on_node[nodes], a.most_evictions))
    if most <= over:
        return []
    takes = a.now @ a.need
    none = np.zeros((0, a.need.shape[1]), dtype=np.int64)
    if not _sets(
        saved[nodes], a.on_node[nodes], takes[nodes], none.sum(axis=0), a.most_evictions, over, none[:, 0], none,
        MOST_STEPS, MOST_SETS, MOST_PRODUCT,
    )[3]:  # fmt: skip
        return None  # without a look at any cover: there are too many of them
    covers = _covers(a, takes[nodes].sum(axis=0) + a.pending @ a.need, most - over)
    if covers is None:
        return None
    price, held, numbers = covers
    short = a.pending @ a.need - a.free.sum(axis=0)
    found, least, cover, complete = _sets(
        saved[nodes], a.on_node[nodes], (takes + a.free)[nodes], short, a.most_evictions, over, price, held,
        MOST_STEPS, MOST_SETS, MOST_PRODUCT,
    )  # fmt: skip
    if not complete:
        return None
    sets = []
    for drained, cost, z in zip(found, least.tolist(), cover.tolist(), strict=True):
        kept = np.ones(len(a.leaves), dtype=bool)
        kept[nodes[drained]] = False
        sets.append(DrainedSet(best + cost, kept, numbers[z]))
    return sorted(sets, key=lambda found: found.least)


def _covers(a: ClusterArrays, wanted: IntArray, below: int) -> tuple[IntArray, IntArray, list[IntArray]] | None:
    """Sets of new nodes that cost less than `below`: prices, rooms, of which more than is `wanted` is none, and the
    numbers of each type; the cheapest first, and none with no more room than one that is as cheap."""
    prices, held = np.zeros(1, dtype=np.int64), np.zeros((1, len(wanted)), dtype=np.int64)
    numbers = np.zeros((1, len(a.price)), dtype=np.int64)
    for k, price in enumerate(a.price.tolist()):
        last, n = np.arange(len(prices)), 0
        while len(last) and (a.most_new[k] < 0 or n < a.most_new[k]):
            n += 1
            fuller = np.minimum(wanted, held[last] + a.capacity[k])
            pays = (prices[last] + price < below) & (fuller > held[last]).any(axis=1)
            begin = len(prices)
            number = numbers[last[pays]]
            number[:, k] += 1
            prices = np.append(prices, prices[last[pays]] + price)
            held, numbers = np.vstack([held, fuller[pays]]), np.vstack([numbers, number])
            last = np.arange(begin, len(prices))
            if len(prices) > MOST_COVERS:
                return None
        order = np.lexsort((-held.sum(axis=1), prices))
        order = order[_undominated(held[order])]
        prices, held, numbers = prices[order], held[order], numbers[order]
    return prices, held, list(numbers)


@compiled
def _undominated(held):  # type: ignore[no-untyped-def]
    """Whether none before has as much of everything (n,)."""
    n, resources = held.shape
    found = np.ones(n, dtype=np.bool_)
    for i in range(n):
        for j in range(i):
            if found[j]:
                less = True
                for r in range(resources):
                    if held[i, r] > held[j, r]:
                        less = False
                        break
                if less:
                    found[i] = False
                    break
    return found


@compiled
def _most_saved(saved, evicted, most):  # type: ignore[no-untyped-def]
    """The most that nodes save, in the order of what they save for each pod, the last one in part."""
    total = 0
    for i in range(len(saved)):
        if evicted[i] > most:
            return total + saved[i] * most // evicted[i]
        total += saved[i]
        most -= evicted[i]
    return total


@compiled
def _sets(saved, evicted, takes, short, most, over, price, held, steps, sets, product):  # type: ignore[no-untyped-def]
    """The sets, by node (S, n), less what they save over the `price` of the cheapest cover, that cover, and whether
    all of them were looked at."""
    n, resources = takes.shape
    found = np.zeros((sets, n), dtype=np.bool_)
    least, cover = np.zeros(sets, dtype=np.int64), np.zeros(sets, dtype=np.int64)
    number, done, looked = 0, 0, 0
    drained = np.zeros(n, dtype=np.bool_)
    gained, left = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    missing = np.zeros((n + 1, resources), dtype=np.int64)
    left[0], missing[0] = most, short
    depth, entering = 0, True
    while depth >= 0:
        done += 1
        if done > steps or looked > product:
            return found[:number], least[:number], cover[:number], False
        if entering:
            more, room = gained[depth], left[depth]  # what all sets from here on save at most
            for i in range(depth, n):
                if evicted[i] > room:
                    more += saved[i] * room // evicted[i]
                    break
                more += saved[i]
                room -= evicted[i]
            if more <= over:
                depth -= 1
                entering = False
                continue
            if depth == n:
                for z in range(len(price)):
                    looked += 1
                    if price[z] >= gained[n] - over:
                        break
                    fits = True
                    for r in range(resources):
                        if held[z, r] < missing[n, r]:
                            fits = False
                            break
                    if fits:
                        if number == sets:
                            return found, least, cover, False
                        found[number] = drained
                        least[number], cover[number] = over - gained[n] + price[z], z
                        number += 1
                        break
                depth -= 1
                entering = False
                continue
            drained[depth] = evicted[depth] <= left[depth]
        elif drained[depth]:
            drained[depth] = False
        else:
            depth -= 1
            continue
        take = drained[depth]
        gained[depth + 1] = gained[depth] + (saved[depth] if take else 0)
        left[depth + 1] = left[depth] - (evicted[depth] if take else 0)
        for r in range(resources):
            missing[depth + 1, r] = missing[depth, r] + (takes[depth, r] if take else 0)
        depth += 1
        entering = True
    return found[:number], least[:number], cover[:number], True
