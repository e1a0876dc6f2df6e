"""Enumeration of the sets of nodes that a plan cheaper than the best one may drain, for a small limit of evictions.

A plan saves the price of its drained nodes and pays for new ones. The new nodes and the residual capacity of the kept
nodes must have the total capacity that the moving pods need (a surrogate relaxation). The minimum cost of such new
nodes bounds all plans with this drain set. Nodes that save nothing stay: a plan that keeps one costs no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.compiled import compile_lazily
from instances.kubernetes.arrays import ClusterArrays

MAX_STEPS = 500_000  # of the search for drain sets: well below a second
MAX_SETS = 2_000  # the bound needs the minimum over all sets, so it is useless if some are missing
MAX_MIXES = 10_000  # instance mixes: their dominance test compares all pairs
MAX_LOOKUPS = 500_000_000  # tests of a mix for a drain set: about a second
MAX_SUM = 1 << 62  # of sums and products in 64-bit integers


@dataclass(frozen=True)
class DrainSet:
    """A set of drained nodes, and a lower bound on the cost of its plans.

    - `min_cost`: the bound in price units.
    - `kept`: the nodes (M,) that are not drained.
    - `number`: the new nodes of each type (K,) that attain the bound.
    """

    min_cost: int
    kept: BoolArray
    number: IntArray


def enumerate_drain_sets(arrays: ClusterArrays, best: int) -> list[DrainSet] | None:
    """Enumerate all drain sets whose bound is less than `best`, in the order of their bounds.

    Returns `None` if the search reaches a limit. Valid for plans that drain nodes completely.
    """
    a = arrays
    saved = a.held_price - a.eviction_price * a.on_node

    def sort_key(m: int) -> tuple[bool, Fraction]:
        return bool(a.on_node[m]), Fraction(-int(saved[m]), max(1, int(a.on_node[m])))

    nodes = np.array(sorted(np.flatnonzero(a.leaves & (saved > 0)).tolist(), key=sort_key), dtype=np.int64)
    demand = max((a.count @ a.need).tolist(), default=0)
    if max(int(saved.max(initial=0)) * (int(a.on_node.sum()) + 1), demand * (len(saved) + 2)) >= MAX_SUM:
        return None
    excess = int(a.held_price.sum()) - best  # a plan with new nodes must save more than this and their price
    max_saved = int(_bound_savings(saved[nodes], a.on_node[nodes], 0, a.most_evictions))
    if max_saved <= excess:
        return []
    moved = a.now @ a.need

    def search(demands: IntArray, missing: IntArray, price: IntArray, capacity: IntArray) -> tuple[IntArray, ...]:
        limits = (MAX_STEPS, MAX_SETS, MAX_LOOKUPS)
        return _search_sets(saved[nodes], a.on_node[nodes], demands, missing, a.most_evictions, excess, price,
                            capacity, *limits)  # fmt: skip

    no_mix = np.zeros((0, a.need.shape[1]), dtype=np.int64)
    if not search(moved[nodes], no_mix.sum(axis=0), no_mix[:, 0], no_mix)[3]:
        return None  # there are too many sets, even without a test of their mixes
    mixes = _enumerate_mixes(a, moved[nodes].sum(axis=0) + a.pending @ a.need, max_saved - excess)
    if mixes is None:
        return None
    price, capacity, numbers = mixes
    missing = a.pending @ a.need - a.free.sum(axis=0)
    drained, costs, mix, is_complete = search((moved + a.free)[nodes], missing, price, capacity)
    if not is_complete:
        return None
    sets = []
    for chosen, cost, x in zip(drained, costs.tolist(), mix.tolist(), strict=True):
        kept = np.ones(len(a.leaves), dtype=bool)
        kept[nodes[chosen]] = False
        sets.append(DrainSet(best + cost, kept, numbers[x]))
    return sorted(sets, key=lambda drain_set: drain_set.min_cost)


def _enumerate_mixes(
    a: ClusterArrays, demand: IntArray, below: int
) -> tuple[IntArray, IntArray, list[IntArray]] | None:
    """Enumerate the undominated mixes of new nodes that cost less than `below`, in the order of price.

    Returns their prices (X,), their capacities (X, R), cut off at `demand` (R,), and the numbers of each type; `None`
    if there are too many mixes.
    """
    prices, capacity = np.zeros(1, dtype=np.int64), np.zeros((1, len(demand)), dtype=np.int64)
    numbers = np.zeros((1, len(a.price)), dtype=np.int64)
    for k, price in enumerate(a.price.tolist()):
        last, n = np.arange(len(prices)), 0
        while len(last) and (a.most_new[k] < 0 or n < a.most_new[k]):
            n += 1
            larger = np.minimum(demand, capacity[last] + a.capacity[k])
            is_useful = (prices[last] + price < below) & (larger > capacity[last]).any(axis=1)
            begin = len(prices)
            number = numbers[last[is_useful]]
            number[:, k] += 1
            prices = np.append(prices, prices[last[is_useful]] + price)
            capacity, numbers = np.vstack([capacity, larger[is_useful]]), np.vstack([numbers, number])
            last = np.arange(begin, len(prices))
            if len(prices) > MAX_MIXES:
                return None
        order = np.lexsort((-capacity.sum(axis=1), prices))
        order = order[_find_undominated(capacity[order])]
        prices, capacity, numbers = prices[order], capacity[order], numbers[order]
    return prices, capacity, list(numbers)


@compile_lazily
def _find_undominated(capacity):  # type: ignore[no-untyped-def]
    """Return which rows of `capacity` (X, R) exceed each earlier row that is not dominated in some resource."""
    n = len(capacity)
    is_undominated = np.ones(n, dtype=np.bool_)
    for i in range(n):
        for j in range(i):
            if is_undominated[j] and not _exceeds(capacity[i], capacity[j]):
                is_undominated[i] = False
                break
    return is_undominated


@compile_lazily
def _exceeds(amount, other):  # type: ignore[no-untyped-def]
    """Return whether `amount` (R,) is larger than `other` (R,) in some resource."""
    for r in range(len(amount)):  # noqa: SIM110 - numba compiles no generators in `any`
        if amount[r] > other[r]:
            return True
    return False


@compile_lazily
def _bound_savings(saved, evicted, first, max_evictions):  # type: ignore[no-untyped-def]
    """Bound the savings of the nodes from `first` on by their fractional knapsack problem.

    Nodes are sorted by their savings per eviction.
    """
    total = 0
    for i in range(first, len(saved)):
        if evicted[i] > max_evictions:
            return total + saved[i] * max_evictions // evicted[i]
        total += saved[i]
        max_evictions -= evicted[i]
    return total


@compile_lazily
def _search_sets(  # type: ignore[no-untyped-def]
    saved, evicted, moved, missing, max_evictions, excess, price, capacity, max_steps, max_sets, max_lookups
):
    """Search depth-first for drain sets of n nodes whose savings exceed `excess` and the price of a sufficient mix.

    - `saved`, `evicted`: savings and evictions (n,) of each node; `moved`: capacity (n, R) that its loss takes away.
    - `missing`: capacity (R,) that new nodes must have if no node is drained.
    - `price`, `capacity`: the mixes of new nodes (X,), (X, R), in the order of price.

    Returns the sets (S, n), `excess` less their savings plus the price of their cheapest mix (S,), the index of this
    mix (S,), and whether the search ended within its limits.
    """
    n, resources = moved.shape
    sets = np.zeros((max_sets, n), dtype=np.bool_)
    costs, mixes = np.zeros(max_sets, dtype=np.int64), np.zeros(max_sets, dtype=np.int64)
    number, done, lookups = 0, 0, 0
    drained = np.zeros(n, dtype=np.bool_)
    gained, left = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    short = np.zeros((n + 1, resources), dtype=np.int64)
    left[0], short[0] = max_evictions, missing
    depth, entering = 0, True
    while depth >= 0:
        done += 1
        if done > max_steps or lookups > max_lookups:
            return sets[:number], costs[:number], mixes[:number], False
        if entering:
            is_pruned = gained[depth] + _bound_savings(saved, evicted, depth, left[depth]) <= excess
            if is_pruned or depth == n:
                if not is_pruned:
                    for x in range(len(price)):
                        lookups += 1
                        if price[x] >= gained[n] - excess:
                            break
                        if not _exceeds(short[n], capacity[x]):
                            if number == max_sets:
                                return sets, costs, mixes, False
                            sets[number] = drained
                            costs[number], mixes[number] = excess - gained[n] + price[x], x
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
            short[depth + 1, r] = short[depth, r] + (moved[depth, r] if take else 0)
        depth += 1
        entering = True
    return sets[:number], costs[:number], mixes[:number], True
