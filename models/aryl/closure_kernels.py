"""The compiled branch and bound over closures (numba): network and maximum flow, the bound of a node, the search.

See `models/aryl/closure_tree.py` for the mathematics. Depth first, with strong branching on the jobs that most servers
hang on.

All numbers are whole: costs and prices are in units of 1 / UNIT of a job, so that a bound is proved without rounding.
Arrays are int64 unless said otherwise. G groups of alike servers, J jobs, E pairs of a group and a job on it. A job is
`fixed` to 1 (preempted), to 0 (kept), or -1; a group is alive while no job on it is kept and one is not fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.compiled import compiled

UNIT = 1 << 20
FAR = 1 << 60
"""A bound on a node that has no solution."""
SAVED = 64
"""Branchings to which the search comes back with the flow that it left them with; deeper ones are rare."""
DEPTH, TRAIL, FEWEST, NEED, NODES, PRICE, BOUND = range(7)
"""Places in `TreeMemory.state`."""


class ClosureNetwork(NamedTuple):
    """Pairs of a group and a job on it, by group and by job.

    - `first` (G + 1,): the pairs of group g are first[g] to first[g + 1] - 1; `job`, `group` (E,): those of a pair.
    - `begin` (J + 1,), `pair` (E,): the pairs of job j are pair[begin[j]] to pair[begin[j + 1] - 1].
    - `servers` (G,): servers of a group.
    """

    first: IntArray
    job: IntArray
    group: IntArray
    begin: IntArray
    pair: IntArray
    servers: IntArray


class TreeMemory(NamedTuple):
    """Memory of a branch and bound; between two calls of `search` it says all that the next one needs.

    - `state` (7,): see `DEPTH` and what follows; FEWEST jobs, `best` (J,), are known to free NEED servers.
    - `fixed` (J,) int8; `trail` (J,): jobs in the order in which they were fixed.
    - `mark`, `branch`, `other`, `price`, `low` (J + 1,), by depth: length of the trail before the branching, its job,
      the value not tried yet (-1: none), the price, and a bound on what is not tried yet.
    - `flow`, `kept` (E,): cost of a job that pays for servers of a group, and the flow of the best bound.
    - `spare` (G,): what the price of a group's servers exceeds the flow by. `room` (J,): cost that pays for nothing.
    - `alive` (G,) bool. `level`, `arc`, `queue`, `path` (G + J,), `on_level` (G + J + 2,): of the search for augmenting
      paths.
    - `left`, `right`, `reached` (J,) bool: jobs that free too few servers, enough, and those of the last minimum cut.
    - `flows` (SAVED, E), `sides` (SAVED, 2, J) bool: flow, left and right of a branching, by depth.
    - `gain` (2, J) float, `tried` (2, J): what values of a job raised the bound by in all, and how often tried.
    """

    state: IntArray
    fixed: NDArray[np.int8]
    best: BoolArray
    trail: IntArray
    mark: IntArray
    branch: IntArray
    other: IntArray
    price: IntArray
    low: IntArray
    flow: IntArray
    kept: IntArray
    spare: IntArray
    room: IntArray
    alive: BoolArray
    level: IntArray
    arc: IntArray
    queue: IntArray
    path: IntArray
    on_level: IntArray
    left: BoolArray
    right: BoolArray
    reached: BoolArray
    flows: IntArray
    sides: BoolArray
    gain: FloatArray
    tried: IntArray


@compiled
def copy(source: IntArray | BoolArray, target: IntArray | BoolArray) -> None:
    """Copy an array into another; slices of one assigned to the other take seconds to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled
def _distances(net: ClosureNetwork, s: TreeMemory) -> int:
    """Levels of groups and jobs: arcs to the nearest job with room; more than there are nodes where none is reached.

    Those that reach one are the first of `queue`, by level; how many there are.
    """
    groups, head, tail = len(net.servers), 0, 0
    far = groups + len(s.fixed) + 1
    s.on_level[:] = 0
    for g in range(groups):
        s.level[g], s.arc[g] = far, net.first[g]
    for j in range(len(s.fixed)):
        v = groups + j
        s.level[v], s.arc[v] = far, net.begin[j]
        if s.fixed[j] < 0 and s.room[j] > 0:
            s.level[v] = 0
            s.queue[tail] = v
            tail += 1
    while head < tail:
        u = s.queue[head]
        head += 1
        s.on_level[s.level[u]] += 1
        if u >= groups:
            for k in range(net.begin[u - groups], net.begin[u - groups + 1]):
                v = net.group[net.pair[k]]
                if s.level[v] == far and s.alive[v]:
                    s.level[v] = s.level[u] + 1
                    s.queue[tail] = v
                    tail += 1
        else:
            for e in range(net.first[u], net.first[u + 1]):
                v = groups + net.job[e]
                if s.flow[e] > 0 and s.level[v] == far:
                    s.level[v] = s.level[u] + 1
                    s.queue[tail] = v
                    tail += 1
    return tail


@compiled
def maximum_flow(net: ClosureNetwork, s: TreeMemory, enough: int) -> None:
    """Augment the flow to a maximum along shortest paths, by levels that only rise (Ahuja and Orlin, 1991).

    It ends early, and without a cut, once less than `enough` of the prices is spare.
    One loop, for a call that hands over a `TreeMemory` costs more than a step of it.
    """
    first, job, begin, pair, group = net.first, net.job, net.begin, net.pair, net.group
    level, arc, path, on_level, flow, room, spare = s.level, s.arc, s.path, s.on_level, s.flow, s.room, s.spare
    groups, far = len(net.servers), len(level) + 1
    reach, left = _distances(net, s), spare.sum()
    for source in s.queue[:reach]:
        if source >= groups:
            continue
        u, depth = source, 0
        while spare[source] > 0 and level[source] < far:
            if u >= groups and room[u - groups] > 0:
                amount = min(spare[source], room[u - groups])
                for k in range(1, depth, 2):
                    amount = min(amount, flow[path[k]])
                full = depth - 1  # Go on from the first pair of the path that is used up, else from its last group.
                for k in range(depth - 2, 0, -2):
                    flow[path[k]] -= amount
                    if flow[path[k]] == 0:
                        full = k
                for k in range(0, depth, 2):
                    flow[path[k]] += amount
                spare[source] -= amount
                left -= amount
                if left < enough:
                    return
                room[u - groups] -= amount
                depth = full
            else:
                below, found, low = level[u] - 1, -1, far
                if u < groups:
                    while arc[u] < first[u + 1]:
                        if level[groups + job[arc[u]]] == below:
                            found = arc[u]
                            break
                        arc[u] += 1
                else:
                    while arc[u] < begin[u - groups + 1]:
                        if flow[pair[arc[u]]] > 0 and level[group[pair[arc[u]]]] == below:
                            found = pair[arc[u]]
                            break
                        arc[u] += 1
                if found >= 0:
                    path[depth] = found
                    depth += 1
                    u = groups + job[found] if u < groups else group[found]
                    continue
                if u < groups:
                    for e in range(first[u], first[u + 1]):
                        if level[groups + job[e]] < low:
                            low, arc[u] = level[groups + job[e]], e
                else:
                    for k in range(begin[u - groups], begin[u - groups + 1]):
                        if flow[pair[k]] > 0 and level[group[pair[k]]] < low:
                            low, arc[u] = level[group[pair[k]]], k
                old = level[u]
                level[u] = min(low + 1, far)
                on_level[old] -= 1
                if level[u] < far:
                    on_level[level[u]] += 1
                if on_level[old] == 0:  # Nothing above a level without groups and jobs comes down to a job with room.
                    for v in range(len(level)):
                        if old < level[v] < far:
                            on_level[level[v]] -= 1
                            level[v] = far
                if depth == 0:
                    continue
                depth -= 1
            u = group[path[depth]] if depth % 2 == 0 else groups + job[path[depth]]
    _cut(net, s)


@compiled
def _cut(net: ClosureNetwork, s: TreeMemory) -> None:
    """`reached` become the jobs that groups with a spare price reach, on their side of a minimum cut."""
    head, tail = 0, 0
    s.reached[:] = False
    for g in range(len(net.servers)):
        s.level[g] = 0
        if s.spare[g] > 0:
            s.level[g] = 1
            s.queue[tail] = g
            tail += 1
    while head < tail:
        g = s.queue[head]
        head += 1
        for e in range(net.first[g], net.first[g + 1]):
            j = net.job[e]
            if s.fixed[j] >= 0 or s.reached[j]:
                continue
            s.reached[j] = True
            for k in range(net.begin[j], net.begin[j + 1]):
                v = net.group[net.pair[k]]
                if s.flow[net.pair[k]] > 0 and s.level[v] == 0:
                    s.level[v] = 1
                    s.queue[tail] = v
                    tail += 1


@compiled
def restrict(net: ClosureNetwork, s: TreeMemory, price: int) -> None:
    """Cut the flow down to the price of each group alive, which sets `spare` and `room`."""
    s.room[:] = UNIT
    for g in range(len(net.servers)):
        left = price * net.servers[g] if s.alive[g] else 0
        for e in range(net.first[g], net.first[g + 1]):
            if s.fixed[net.job[e]] >= 0:
                s.flow[e] = 0
            s.flow[e] = min(s.flow[e], left)
            left -= s.flow[e]
            s.room[net.job[e]] -= s.flow[e]
        s.spare[g] = left


@compiled
def _line(net: ClosureNetwork, s: TreeMemory, chosen: BoolArray) -> tuple[int, int]:
    """Jobs of `chosen` that are not fixed, and the servers of groups alive that they free."""
    cost, freed = 0, 0
    for j in range(len(chosen)):
        chosen[j] = chosen[j] and s.fixed[j] < 0
        cost += chosen[j]
    for g in range(len(net.servers)):
        if s.alive[g]:
            every = True
            for e in range(net.first[g], net.first[g + 1]):
                if s.fixed[net.job[e]] < 0 and not chosen[net.job[e]]:
                    every = False
                    break
            if every:
                freed += net.servers[g]
    return cost, freed


@compiled
def _offer(s: TreeMemory, size: int, chosen: BoolArray) -> None:
    """Take the jobs that are preempted and the `chosen` ones, `size` in all, if they are fewer than the best."""
    if size < s.state[FEWEST]:
        s.state[FEWEST] = size
        for j in range(len(chosen)):
            s.best[j] = chosen[j] or s.fixed[j] == 1


@compiled
def _crossing(left_cost: int, left_freed: int, right_cost: int, right_freed: int, need: int) -> tuple[int, int]:
    """The price at which the lines of two closures cross, rounded down, and their height there, rounded up."""
    cost, freed = (right_cost - left_cost) * UNIT, right_freed - left_freed
    return max(0, cost // freed), left_cost * UNIT - (left_freed - need) * cost // freed + 1


@compiled
def evaluate(net: ClosureNetwork, s: TreeMemory, price: int, rounds: int, cutting: bool) -> tuple[int, int]:
    """The largest Lagrangian bound that `rounds` prices of a server give, with its price; at best that of the LP.

    Leaves the flow of that bound behind, and closures left and right of the servers needed. No price gives more than
    where the lines of two closures cross, so that is where to look next; evaluated only for `cutting` it off, a node
    that this says stays open is left (a bound of -FAR where no price was tried).
    """
    ones, total, need = 0, 0, s.state[NEED]
    for j in range(len(s.fixed)):
        ones += s.fixed[j] == 1
    for g in range(len(net.servers)):
        kept, free = False, True
        for e in range(net.first[g], net.first[g + 1]):
            kept = kept or s.fixed[net.job[e]] == 0
            free = free and s.fixed[net.job[e]] == 1
        s.alive[g] = not kept and not free
        total += net.servers[g] if s.alive[g] else 0
        need -= net.servers[g] if free else 0
    s.reached[:] = False
    if need <= 0:
        _offer(s, ones, s.reached)
        return FAR, price
    if total < need:
        return FAR, price
    left_cost, left_freed = _line(net, s, s.left)
    if left_freed >= need:
        _offer(s, ones + left_cost, s.left)
        s.left[:] = False
        left_cost, left_freed = 0, 0
    right_cost, right_freed = _line(net, s, s.right)
    if right_freed < need:
        s.right[:] = True
        right_cost, right_freed = _line(net, s, s.right)
    best, best_price, most = -FAR, price, (s.state[FEWEST] - 1) * UNIT
    price, above = _crossing(left_cost, left_freed, right_cost, right_freed, need)
    for _ in range(rounds):
        if cutting and ones * UNIT + above <= most:
            break
        restrict(net, s, price)
        maximum_flow(net, s, ones * UNIT + price * need - most)
        bound = ones * UNIT + price * need - s.spare.sum()
        if bound > best:
            best, best_price = bound, price
            copy(s.flow, s.kept)
        if best > most:
            break
        cost, freed = _line(net, s, s.reached)
        if freed >= need:
            _offer(s, ones + cost, s.reached)
            right_cost, right_freed = cost, freed
            copy(s.reached, s.right)
        else:
            left_cost, left_freed = cost, freed
            copy(s.reached, s.left)
        crossing, above = _crossing(left_cost, left_freed, right_cost, right_freed, need)
        if crossing in (price, best_price):
            break
        price = crossing
    if best > -FAR:
        copy(s.kept, s.flow)
    return best, best_price


@compiled
def fix_by_reduced_costs(net: ClosureNetwork, s: TreeMemory, bound: int, price: int) -> None:
    """Fix jobs of which the other value costs more than the best solution allows; `flow` is that of `bound`.

    No best solution of the linear relaxation has the other value either, so its bound stays.
    """
    restrict(net, s, price)
    most = (s.state[FEWEST] - 1) * UNIT
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        lost = 0
        for k in range(net.begin[j], net.begin[j + 1]):
            lost += s.spare[net.group[net.pair[k]]]
        if bound + s.room[j] > most:
            fix(s, j, 0)
        elif bound + lost > most:
            fix(s, j, 1)


@compiled
def fix(s: TreeMemory, job: int, value: int) -> None:
    """Fix a job."""
    s.fixed[job] = value
    s.trail[s.state[TRAIL]] = job
    s.state[TRAIL] += 1


class BranchingRule(NamedTuple):
    """How a job is chosen to branch on; see `ClosureParameters`."""

    tries: int
    rounds: int
    reliable: int
    hope: float


@compiled
def _score(net: ClosureNetwork, s: TreeMemory, job: int, mean: float) -> float:
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
def _candidates(net: ClosureNetwork, s: TreeMemory, most: int) -> IntArray:
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
def _note(s: TreeMemory, job: int, value: int, gain: float) -> None:
    """Remember by how many jobs a value raised the bound."""
    s.gain[value, job] += max(gain, 0.001)
    s.tried[value, job] += 1


@compiled
def _branch(net: ClosureNetwork, s: TreeMemory, bound: int, price: int, choice: BranchingRule) -> bool:
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
def _backtrack(s: TreeMemory) -> bool:
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
def search(net: ClosureNetwork, s: TreeMemory, nodes: int, rounds: int, choice: BranchingRule) -> bool:
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
