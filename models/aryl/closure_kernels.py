"""Compiled branch and bound over closures (numba): maximum flow, the bound of a node, and the depth-first search.

See `models/aryl/closure_tree.py` for the mathematics. The search is depth first with strong branching.

Costs and prices are integers in units of 1 / UNIT of a job, so bounds have no rounding errors. Arrays are int64 unless
stated otherwise. There are G groups of interchangeable servers, J jobs, and E pairs of a group and a job on it. A job
is `fixed` to 1 (preempted) or to 0 (kept), or is free (-1). A group is alive if no job on it is kept and one is free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.compiled import compile_lazily

UNIT = 1 << 20  # of costs: fine enough for bounds close to the linear relaxation, and far from 64-bit overflow
FAR = 1 << 60  # the bound of an infeasible node
SAVED = 64  # depths at which the search restores the flow when it backtracks; deeper nodes are rare
DEPTH, TRAIL, MIN_JOBS, NEED, NODES, PRICE, BOUND = range(7)  # indices of `TreeMemory.state`


class ClosureNetwork(NamedTuple):
    """Pairs of a group and a job on it, by group and by job.

    - `first` (G + 1,): the pairs of group g are first[g] to first[g + 1] - 1.
    - `job`, `group` (E,): the job and the group of each pair.
    - `begin` (J + 1,), `pair` (E,): the pairs of job j are pair[begin[j]] to pair[begin[j + 1] - 1].
    - `servers` (G,): number of servers of each group.
    """

    first: IntArray
    job: IntArray
    group: IntArray
    begin: IntArray
    pair: IntArray
    servers: IntArray


class TreeMemory(NamedTuple):
    """The complete state of a branch and bound between two calls of `search`.

    - `state` (7,): numbers at the indices DEPTH to BOUND; the incumbent `best` (J,) bool has MIN_JOBS jobs, which free
      NEED servers.
    - `fixed` (J,) int8; `trail` (J,): jobs in the order in which they were fixed.
    - `mark`, `branch`, `other`, `price`, `low` (J + 1,), by depth: length of the trail before the branching, its job,
      the open value (-1: none), and the price and the bound of the open value.
    - `flow`, `best_flow` (E,): flow from groups to jobs, now and at the best bound of the node.
    - `spare` (G,): price of a group's servers that does not flow. `residual` (J,): residual capacity of a job.
    - `alive` (G,) bool. `level`, `arc`, `queue`, `path` (G + J,), `on_level` (G + J + 2,): for augmenting paths.
    - `left`, `right`, `reached` (J,) bool: closures that free too few servers and enough; the last minimum cut.
    - `flows` (SAVED, E), `sides` (SAVED, 2, J) bool: flow, left and right of a branching, by depth.
    - `gain` (2, J) float, `tried` (2, J): total increase of the bound by the values of a job, and number of trials.
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
    best_flow: IntArray
    spare: IntArray
    residual: IntArray
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


@compile_lazily
def copy_array(source: IntArray | BoolArray, target: IntArray | BoolArray) -> None:
    """Copy an array into another; numba compiles slice assignments slowly."""
    for i in range(len(source)):
        target[i] = source[i]


@compile_lazily
def _set_levels(net: ClosureNetwork, s: TreeMemory) -> int:
    """Set the levels of groups and jobs: the number of arcs to the nearest job with residual capacity.

    Without such a job, the level exceeds the number of groups and jobs. The groups and jobs that reach one are the
    first entries of `queue`, by level. Returns their number.
    """
    groups, head, tail = len(net.servers), 0, 0
    far = groups + len(s.fixed) + 1
    s.on_level[:] = 0
    for g in range(groups):
        s.level[g], s.arc[g] = far, net.first[g]
    for j in range(len(s.fixed)):
        v = groups + j
        s.level[v], s.arc[v] = far, net.begin[j]
        if s.fixed[j] < 0 and s.residual[j] > 0:
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


@compile_lazily
def augment_flow(net: ClosureNetwork, s: TreeMemory, enough: int) -> None:
    """Augment the flow to a maximum along shortest paths, with increasing levels (Ahuja and Orlin, 1991).

    Stops early and marks no cut if less than `enough` of the prices remains spare. The code is a single loop, because a
    call with a `TreeMemory` takes longer than a step.
    """
    first, job, begin, pair, group = net.first, net.job, net.begin, net.pair, net.group
    level, arc, path, on_level, flow, residual, spare = s.level, s.arc, s.path, s.on_level, s.flow, s.residual, s.spare
    groups, far = len(net.servers), len(level) + 1
    reach, left = _set_levels(net, s), spare.sum()
    for source in s.queue[:reach]:
        if source >= groups:
            continue
        u, depth = source, 0
        while spare[source] > 0 and level[source] < far:
            if u >= groups and residual[u - groups] > 0:
                amount = min(spare[source], residual[u - groups])
                for k in range(1, depth, 2):
                    amount = min(amount, flow[path[k]])
                full = depth - 1  # continue from the first saturated pair of the path, else from its last group
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
                residual[u - groups] -= amount
                depth = full
            else:
                below, next_pair, low = level[u] - 1, -1, far
                if u < groups:
                    while arc[u] < first[u + 1]:
                        if level[groups + job[arc[u]]] == below:
                            next_pair = arc[u]
                            break
                        arc[u] += 1
                else:
                    while arc[u] < begin[u - groups + 1]:
                        if flow[pair[arc[u]]] > 0 and level[group[pair[arc[u]]]] == below:
                            next_pair = pair[arc[u]]
                            break
                        arc[u] += 1
                if next_pair >= 0:
                    path[depth] = next_pair
                    depth += 1
                    u = groups + job[next_pair] if u < groups else group[next_pair]
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
                if on_level[old] == 0:  # an empty level separates higher levels from residual capacity
                    for v in range(len(level)):
                        if old < level[v] < far:
                            on_level[level[v]] -= 1
                            level[v] = far
                if depth == 0:
                    continue
                depth -= 1
            u = group[path[depth]] if depth % 2 == 0 else groups + job[path[depth]]
    _mark_cut(net, s)


@compile_lazily
def _mark_cut(net: ClosureNetwork, s: TreeMemory) -> None:
    """Mark as `reached` the jobs that groups with a spare price reach: their side of a minimum cut."""
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


@compile_lazily
def restrict_flow(net: ClosureNetwork, s: TreeMemory, price: int) -> None:
    """Restrict the flow to the price of each group that is alive, and set `spare` and `residual`."""
    s.residual[:] = UNIT
    for g in range(len(net.servers)):
        left = price * net.servers[g] if s.alive[g] else 0
        for e in range(net.first[g], net.first[g + 1]):
            if s.fixed[net.job[e]] >= 0:
                s.flow[e] = 0
            s.flow[e] = min(s.flow[e], left)
            left -= s.flow[e]
            s.residual[net.job[e]] -= s.flow[e]
        s.spare[g] = left


@compile_lazily
def _count_freed(net: ClosureNetwork, s: TreeMemory, chosen: BoolArray) -> tuple[int, int]:
    """Count the free jobs of `chosen`, and the servers of the groups alive that they free; fixed jobs are removed."""
    cost, freed = 0, 0
    for j in range(len(chosen)):
        chosen[j] = chosen[j] and s.fixed[j] < 0
        cost += chosen[j]
    for g in range(len(net.servers)):
        if s.alive[g]:
            is_freed = True
            for e in range(net.first[g], net.first[g + 1]):
                if s.fixed[net.job[e]] < 0 and not chosen[net.job[e]]:
                    is_freed = False
                    break
            if is_freed:
                freed += net.servers[g]
    return cost, freed


@compile_lazily
def _offer(s: TreeMemory, size: int, chosen: BoolArray) -> None:
    """Use the preempted and the `chosen` jobs, `size` in total, as the incumbent if they are fewer."""
    if size < s.state[MIN_JOBS]:
        s.state[MIN_JOBS] = size
        for j in range(len(chosen)):
            s.best[j] = chosen[j] or s.fixed[j] == 1


@compile_lazily
def _find_crossing(left_cost: int, left_freed: int, right_cost: int, right_freed: int, need: int) -> tuple[int, int]:
    """Return the price at which the lines of two closures cross, rounded down, and their height, rounded up."""
    cost, freed = (right_cost - left_cost) * UNIT, right_freed - left_freed
    return max(0, cost // freed), left_cost * UNIT - (left_freed - need) * cost // freed + 1


@compile_lazily
def evaluate(net: ClosureNetwork, s: TreeMemory, price: int, rounds: int, stops_early: bool) -> tuple[int, int]:
    """Return the largest Lagrangian bound of `rounds` prices of a server, and its price.

    The bound is at cutoff that of the linear relaxation. The next price is at the crossing of the lines of two
    closures, because no price gives a larger bound. Stores the flow of the bound, and the closures to the left and to
    the right of the servers needed. If `stops_early`, the evaluation stops if the crossing shows that the node stays
    open; the bound is -FAR if no price was tried.
    """
    ones, total, need = 0, 0, s.state[NEED]
    for j in range(len(s.fixed)):
        ones += s.fixed[j] == 1
    for g in range(len(net.servers)):
        has_kept, is_free = False, True
        for e in range(net.first[g], net.first[g + 1]):
            has_kept = has_kept or s.fixed[net.job[e]] == 0
            is_free = is_free and s.fixed[net.job[e]] == 1
        s.alive[g] = not has_kept and not is_free
        total += net.servers[g] if s.alive[g] else 0
        need -= net.servers[g] if is_free else 0
    s.reached[:] = False
    if need <= 0:
        _offer(s, ones, s.reached)
        return FAR, price
    if total < need:
        return FAR, price
    left_cost, left_freed = _count_freed(net, s, s.left)
    if left_freed >= need:
        _offer(s, ones + left_cost, s.left)
        s.left[:] = False
        left_cost, left_freed = 0, 0
    right_cost, right_freed = _count_freed(net, s, s.right)
    if right_freed < need:
        s.right[:] = True
        right_cost, right_freed = _count_freed(net, s, s.right)
    best, best_price, cutoff = -FAR, price, (s.state[MIN_JOBS] - 1) * UNIT
    price, above = _find_crossing(left_cost, left_freed, right_cost, right_freed, need)
    for _ in range(rounds):
        if stops_early and ones * UNIT + above <= cutoff:
            break
        restrict_flow(net, s, price)
        augment_flow(net, s, ones * UNIT + price * need - cutoff)
        bound = ones * UNIT + price * need - s.spare.sum()
        if bound > best:
            best, best_price = bound, price
            copy_array(s.flow, s.best_flow)
        if best > cutoff:
            break
        cost, freed = _count_freed(net, s, s.reached)
        if freed >= need:
            _offer(s, ones + cost, s.reached)
            right_cost, right_freed = cost, freed
            copy_array(s.reached, s.right)
        else:
            left_cost, left_freed = cost, freed
            copy_array(s.reached, s.left)
        crossing, above = _find_crossing(left_cost, left_freed, right_cost, right_freed, need)
        if crossing in (price, best_price):
            break
        price = crossing
    if best > -FAR:
        copy_array(s.best_flow, s.flow)
    return best, best_price


@compile_lazily
def fix_by_reduced_costs(net: ClosureNetwork, s: TreeMemory, bound: int, price: int) -> None:
    """Fix jobs to a value if the reduced cost of the other value exceeds the gap; `flow` must be that of `bound`.

    The bound of the linear relaxation remains the same.
    """
    restrict_flow(net, s, price)
    cutoff = (s.state[MIN_JOBS] - 1) * UNIT
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        lost = 0
        for k in range(net.begin[j], net.begin[j + 1]):
            lost += s.spare[net.group[net.pair[k]]]
        if bound + s.residual[j] > cutoff:
            fix(s, j, 0)
        elif bound + lost > cutoff:
            fix(s, j, 1)


@compile_lazily
def fix(s: TreeMemory, job: int, value: int) -> None:
    """Fix a job to a value, and record it on the trail."""
    s.fixed[job] = value
    s.trail[s.state[TRAIL]] = job
    s.state[TRAIL] += 1


class BranchingRule(NamedTuple):
    """Parameters of the choice of the branching job; see `ClosureParameters`."""

    tries: int
    rounds: int
    reliable: int
    hope: float


@compile_lazily
def _score_job(net: ClosureNetwork, s: TreeMemory, job: int, mean: float) -> float:
    """Return the product of the increases of the bound that are expected from the two values of `job`.

    The estimate is the mean increase so far or, before the first trial, `mean` for each server alive.
    """
    score, alive = 1.0, 0
    for k in range(net.begin[job], net.begin[job + 1]):
        g = net.group[net.pair[k]]
        alive += net.servers[g] if s.alive[g] else 0
    for value in range(2):
        tried = s.tried[value, job]
        score *= s.gain[value, job] / tried if tried else mean * alive
    return score + 1e-9 * alive


@compile_lazily
def _list_candidates(net: ClosureNetwork, s: TreeMemory, max_count: int) -> IntArray:
    """List at max_count `max_count` free jobs by score; jobs on which the two closures differ come first."""
    gain, servers = 1e-6, 1.0
    for j in range(len(s.fixed)):
        for value in range(2):
            if s.tried[value, j]:
                gain += s.gain[value, j] / s.tried[value, j]
                for k in range(net.begin[j], net.begin[j + 1]):
                    servers += net.servers[net.group[net.pair[k]]]
    candidates, scores, n = np.zeros(max_count, np.int64), np.zeros(max_count), 0
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        score = _score_job(net, s, j, gain / servers)
        if s.right[j] and not s.left[j]:
            score += 1e12
        if n == max_count and score <= scores[n - 1]:
            continue
        n = min(n + 1, max_count)
        i = n - 1
        while i > 0 and scores[i - 1] < score:
            candidates[i], scores[i] = candidates[i - 1], scores[i - 1]
            i -= 1
        candidates[i], scores[i] = j, score
    return candidates[:n]


@compile_lazily
def _record_gain(s: TreeMemory, job: int, value: int, gain: float) -> None:
    """Record by how many jobs a value raised the bound."""
    s.gain[value, job] += max(gain, 0.001)
    s.tried[value, job] += 1


@compile_lazily
def _branch(net: ClosureNetwork, s: TreeMemory, bound: int, price: int, rule: BranchingRule) -> bool:
    """Branch on the candidate with the largest product of increases of the bound.

    Values are tried, or judged by their mean gain (reliability branching; Achterberg, Koch and Martin, 2005). If a
    value is infeasible, the job is fixed to the other one and the result is `False`: the caller evaluates the node
    again.
    """
    flow, left, right = s.flow.copy(), s.left.copy(), s.right.copy()
    chosen, best, lows, prices = -1, -1.0, np.zeros(2, np.int64), np.zeros(2, np.int64)
    for j in _list_candidates(net, s, rule.tries):
        score, low, low_price = 1.0, np.full(2, bound), np.full(2, price)
        for value in range(2):
            hoped = rule.hope * s.gain[value, j] / max(1, s.tried[value, j])
            if s.tried[value, j] < rule.reliable or bound + hoped * UNIT > (s.state[MIN_JOBS] - 1) * UNIT:
                s.fixed[j] = value
                stops_early = s.tried[value, j] >= rule.reliable
                low[value], low_price[value] = evaluate(net, s, price, rule.rounds, stops_early)
                s.fixed[j] = -1
                copy_array(flow, s.flow)
                copy_array(left, s.left)
                copy_array(right, s.right)
                if low[value] > (s.state[MIN_JOBS] - 1) * UNIT:
                    fix(s, j, 1 - value)
                    return False
                if low[value] > -FAR:
                    gain = (low[value] - bound) / UNIT
                    _record_gain(s, j, value, gain)
                    score *= max(gain, 0.001)
                    continue
                low[value] = bound
            score *= s.gain[value, j] / s.tried[value, j]
        if score > best:
            chosen, best, lows, prices = j, score, low, low_price
    depth, value = s.state[DEPTH], 0 if lows[0] <= lows[1] else 1
    if depth < SAVED:
        copy_array(s.flow, s.flows[depth])
        copy_array(s.left, s.sides[depth, 0])
        copy_array(s.right, s.sides[depth, 1])
    s.mark[depth], s.branch[depth], s.other[depth] = s.state[TRAIL], chosen, 1 - value
    s.price[depth], s.low[depth] = prices[1 - value], max(bound, lows[1 - value])
    s.state[DEPTH] += 1
    s.state[PRICE], s.state[BOUND] = prices[value], max(bound, lows[value])
    fix(s, chosen, value)
    return True


@compile_lazily
def _backtrack(s: TreeMemory) -> bool:
    """Continue with the deepest open value; return `False` if there is none."""
    while s.state[DEPTH] > 0:
        depth = s.state[DEPTH] - 1
        while s.state[TRAIL] > s.mark[depth]:
            s.state[TRAIL] -= 1
            s.fixed[s.trail[s.state[TRAIL]]] = -1
        if s.other[depth] >= 0 and s.low[depth] <= (s.state[MIN_JOBS] - 1) * UNIT:
            s.state[PRICE], s.state[BOUND] = s.price[depth], s.low[depth]
            if depth < SAVED:
                copy_array(s.flows[depth], s.flow)
                copy_array(s.sides[depth, 0], s.left)
                copy_array(s.sides[depth, 1], s.right)
            fix(s, s.branch[depth], s.other[depth])
            s.other[depth] = -1
            return True
        s.state[DEPTH] = depth
    return False


@compile_lazily
def search(net: ClosureNetwork, s: TreeMemory, nodes: int, rounds: int, rule: BranchingRule) -> bool:
    """Search `nodes` more nodes; return whether the tree is complete, so that `best` is optimal.

    - `rounds`: maximum number of prices for the bound of a node.
    - `rule`: parameters of the choice of the branching job.
    """
    for _ in range(nodes):
        s.state[NODES] += 1
        while True:
            bound, price = evaluate(net, s, s.state[PRICE], rounds, False)
            s.state[BOUND] = max(s.state[BOUND], min(bound, FAR))
            if s.state[BOUND] > (s.state[MIN_JOBS] - 1) * UNIT:
                if not _backtrack(s):
                    return True
                break
            s.state[PRICE] = price
            fix_by_reduced_costs(net, s, bound, price)
            if _branch(net, s, bound, price, rule):
                break
    return False
