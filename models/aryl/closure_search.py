"""The compiled branch and bound over closures: strong branching on the jobs that most servers hang on, depth first.

See `models/aryl/closure_tree.py` for the mathematics and `models/aryl/closure_kernels.py` for the bound of a node.
"""

from __future__ import annotations

import numba
import numpy as np

from models.aryl.closure_kernels import (
    BOUND,
    DEPTH,
    FAR,
    FEWEST,
    NODES,
    PRICE,
    TRAIL,
    UNIT,
    Int,
    Network,
    Search,
    copy,
    evaluate,
    fix,
    fix_by_reduced_costs,
)


@numba.njit(cache=True)
def _candidates(net: Network, s: Search, most: int) -> Int:
    """At most `most` jobs that are not fixed: first those on which the two closures differ, then by servers alive."""
    every = 1
    for g in range(len(net.servers)):
        every += net.servers[g]
    found, weights, n = np.zeros(most, np.int64), np.zeros(most, np.int64), 0
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        weight = every if s.right[j] and not s.left[j] else 0
        for k in range(net.begin[j], net.begin[j + 1]):
            g = net.group[net.pair[k]]
            weight += net.servers[g] if s.alive[g] else 0
        if n == most and weight <= weights[n - 1]:
            continue
        n = min(n + 1, most)
        i = n - 1
        while i > 0 and weights[i - 1] < weight:
            found[i], weights[i] = found[i - 1], weights[i - 1]
            i -= 1
        found[i], weights[i] = j, weight
    return found[:n]


@numba.njit(cache=True)
def _branch(net: Network, s: Search, bound: int, price: int, tries: int, rounds: int) -> bool:
    """Branch on the candidate of which both values raise the bound most (product); `False` where one rules itself out.

    A value that is ruled out fixes the job, and the node is to be evaluated again.
    """
    flow, left, right = s.flow.copy(), s.left.copy(), s.right.copy()
    chosen, best, lows, prices = -1, -1.0, np.zeros(2, np.int64), np.zeros(2, np.int64)
    tried, tried_prices = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for j in _candidates(net, s, tries):
        score, out = 1.0, -1
        for value in range(2):
            s.fixed[j] = value
            tried[value], tried_prices[value] = evaluate(net, s, price, rounds)
            s.fixed[j] = -1
            copy(flow, s.flow)
            copy(left, s.left)
            copy(right, s.right)
            if tried[value] > (s.state[FEWEST] - 1) * UNIT:
                out = value
                break
            score *= max(tried[value] - bound, UNIT // 1000) / UNIT
        if out >= 0:
            fix(s, j, 1 - out)
            return False
        if score > best:
            chosen, best = j, score
            copy(tried, lows)
            copy(tried_prices, prices)
    depth, value = s.state[DEPTH], 0 if lows[0] <= lows[1] else 1
    s.mark[depth], s.branch[depth], s.other[depth] = s.state[TRAIL], chosen, 1 - value
    s.price[depth], s.low[depth] = prices[1 - value], max(bound, lows[1 - value])
    s.state[DEPTH] += 1
    s.state[PRICE], s.state[BOUND] = prices[value], max(bound, lows[value])
    fix(s, chosen, value)
    return True


@numba.njit(cache=True)
def _backtrack(s: Search) -> bool:
    """Go on to the deepest value that has not been tried; `False` where there is none."""
    while s.state[DEPTH] > 0:
        depth = s.state[DEPTH] - 1
        while s.state[TRAIL] > s.mark[depth]:
            s.state[TRAIL] -= 1
            s.fixed[s.trail[s.state[TRAIL]]] = -1
        if s.other[depth] >= 0 and s.low[depth] <= (s.state[FEWEST] - 1) * UNIT:
            s.state[PRICE], s.state[BOUND] = s.price[depth], s.low[depth]
            fix(s, s.branch[depth], s.other[depth])
            s.other[depth] = -1
            return True
        s.state[DEPTH] = depth
    return False


@numba.njit(cache=True)
def search(net: Network, s: Search, nodes: int, tries: int, rounds: int, rounds_tried: int) -> bool:
    """Go on for `nodes` nodes; whether the tree is done, so that `best` is proved.

    - `tries`: candidates of strong branching.
    - `rounds`, `rounds_tried`: the most prices of a node, and of a value that strong branching tries.
    """
    for _ in range(nodes):
        s.state[NODES] += 1
        while True:
            bound, price = evaluate(net, s, s.state[PRICE], rounds)
            s.state[BOUND] = max(s.state[BOUND], min(bound, FAR))
            if s.state[BOUND] > (s.state[FEWEST] - 1) * UNIT:
                if not _backtrack(s):
                    return True
                break
            s.state[PRICE] = price
            if fix_by_reduced_costs(net, s, bound, price):
                continue
            if _branch(net, s, bound, price, tries, rounds_tried):
                break
    return False
