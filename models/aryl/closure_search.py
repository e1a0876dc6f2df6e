"""The compiled branch and bound over closures: strong branching on the jobs that most servers hang on, depth first.

See `models/aryl/closure_tree.py` for the mathematics and `models/aryl/closure_kernels.py` for the bound of a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.arrays import IntArray
from instances.compiled import compiled
from models.aryl.closure_flow import BOUND, DEPTH, FAR, FEWEST, NODES, PRICE, SAVED, TRAIL, UNIT, Network, Search, copy
from models.aryl.closure_kernels import evaluate, fix, fix_by_reduced_costs


class Choice(NamedTuple):
    """How a job is chosen to branch on; see `ClosureParameters`."""

    tries: int
    rounds: int
    reliable: int
    hope: float


@compiled
def _score(net: Network, s: Search, job: int, mean: float) -> float:
    """The product of what the two values of `job` are expected to raise the bound by.

    By what they have raised it by on average, or by `mean` a server alive.
    """
    score, alive = 1.0, 0
    for k in range(net.begin[job], net.begin[job + 1]):
        g = net.group[net.pair[k]]
        alive += net.servers[g] if s.alive[g] else 0
    for value in range(2):
        tried = s.tried[value, job]
        score *= s.gain[value, job] / tried if tried else mean * alive
    return score + 1e-9 * alive


@compiled
def _candidates(net: Network, s: Search, most: int) -> IntArray:
    """At most `most` jobs that are not fixed, by score, but first those on which the two closures differ."""
    gain, servers = 1e-6, 1.0
    for j in range(len(s.fixed)):
        for value in range(2):
            if s.tried[value, j]:
                gain += s.gain[value, j] / s.tried[value, j]
                for k in range(net.begin[j], net.begin[j + 1]):
                    servers += net.servers[net.group[net.pair[k]]]
    found, scores, n = np.zeros(most, np.int64), np.zeros(most), 0
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        score = _score(net, s, j, gain / servers)
        if s.right[j] and not s.left[j]:
            score += 1e12
        if n == most and score <= scores[n - 1]:
            continue
        n = min(n + 1, most)
        i = n - 1
        while i > 0 and scores[i - 1] < score:
            found[i], scores[i] = found[i - 1], scores[i - 1]
            i -= 1
        found[i], scores[i] = j, score
    return found[:n]


@compiled
def _note(s: Search, job: int, value: int, gain: float) -> None:
    """Remember by how many jobs a value raised the bound."""
    s.gain[value, job] += max(gain, 0.001)
    s.tried[value, job] += 1


@compiled
def _branch(net: Network, s: Search, bound: int, price: int, choice: Choice) -> bool:
    """Branch on the candidate of which both values raise the bound most (product); `False` where one rules itself out.

    Values are tried or judged by their mean gain (reliability branching: Achterberg, Koch and Martin, 2005). A value
    that is ruled out fixes the job, and the node is to be evaluated again.
    """
    flow, left, right = s.flow.copy(), s.left.copy(), s.right.copy()
    chosen, best, lows, prices = -1, -1.0, np.zeros(2, np.int64), np.zeros(2, np.int64)
    for j in _candidates(net, s, choice.tries):
        score, low, low_price = 1.0, np.full(2, bound), np.full(2, price)
        for value in range(2):
            hoped = choice.hope * s.gain[value, j] / max(1, s.tried[value, j])
            if s.tried[value, j] < choice.reliable or bound + hoped * UNIT > (s.state[FEWEST] - 1) * UNIT:
                s.fixed[j] = value
                cutting = s.tried[value, j] >= choice.reliable
                low[value], low_price[value] = evaluate(net, s, price, choice.rounds, cutting)
                s.fixed[j] = -1
                copy(flow, s.flow)
                copy(left, s.left)
                copy(right, s.right)
                if low[value] > (s.state[FEWEST] - 1) * UNIT:
                    fix(s, j, 1 - value)
                    return False
                if low[value] > -FAR:
                    gain = (low[value] - bound) / UNIT
                    _note(s, j, value, gain)
                    score *= max(gain, 0.001)
                    continue
                low[value] = bound
            score *= s.gain[value, j] / s.tried[value, j]
        if score > best:
            chosen, best, lows, prices = j, score, low, low_price
    depth, value = s.state[DEPTH], 0 if lows[0] <= lows[1] else 1
    if depth < SAVED:
        copy(s.flow, s.flows[depth])
        copy(s.left, s.sides[depth, 0])
        copy(s.right, s.sides[depth, 1])
    s.mark[depth], s.branch[depth], s.other[depth] = s.state[TRAIL], chosen, 1 - value
    s.price[depth], s.low[depth] = prices[1 - value], max(bound, lows[1 - value])
    s.state[DEPTH] += 1
    s.state[PRICE], s.state[BOUND] = prices[value], max(bound, lows[value])
    fix(s, chosen, value)
    return True


@compiled
def _backtrack(s: Search) -> bool:
    """Go on to the deepest value that has not been tried; `False` where there is none."""
    while s.state[DEPTH] > 0:
        depth = s.state[DEPTH] - 1
        while s.state[TRAIL] > s.mark[depth]:
            s.state[TRAIL] -= 1
            s.fixed[s.trail[s.state[TRAIL]]] = -1
        if s.other[depth] >= 0 and s.low[depth] <= (s.state[FEWEST] - 1) * UNIT:
            s.state[PRICE], s.state[BOUND] = s.price[depth], s.low[depth]
            if depth < SAVED:
                copy(s.flows[depth], s.flow)
                copy(s.sides[depth, 0], s.left)
                copy(s.sides[depth, 1], s.right)
            fix(s, s.branch[depth], s.other[depth])
            s.other[depth] = -1
            return True
        s.state[DEPTH] = depth
    return False


@compiled
def search(net: Network, s: Search, nodes: int, rounds: int, choice: Choice) -> bool:
    """Go on for `nodes` nodes; whether the tree is done, so that `best` is proved.

    - `rounds`: the most prices of a server that a node is evaluated at.
    - `choice`: how a job is chosen to branch on.
    """
    for _ in range(nodes):
        s.state[NODES] += 1
        while True:
            bound, price = evaluate(net, s, s.state[PRICE], rounds, False)
            s.state[BOUND] = max(s.state[BOUND], min(bound, FAR))
            if s.state[BOUND] > (s.state[FEWEST] - 1) * UNIT:
                if not _backtrack(s):
                    return True
                break
            s.state[PRICE] = price
            fix_by_reduced_costs(net, s, bound, price)
            if _branch(net, s, bound, price, choice):
                break
    return False
