"""Compiled loops of the branch and bound over closures (numba); see `models/aryl/closure_tree.py` for the mathematics.

All numbers are whole: costs and prices are in units of 1 / UNIT of a job, so that a bound is proved without rounding.
Arrays are int64 unless said otherwise. G groups of alike servers, J jobs, E pairs of a group and a job on it. A job is
`fixed` to 1 (preempted), to 0 (kept), or -1; a group is alive while no job on it is kept and one is not fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray, FloatArray, IntArray

UNIT = 1 << 20
FAR = 1 << 60
"""A bound on a node that has no solution."""
DEPTH, TRAIL, FEWEST, NEED, NODES, PRICE, BOUND = range(7)
"""Places in `Search.state`."""


class Network(NamedTuple):
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


class Search(NamedTuple):
    """Memory of a branch and bound; between two calls of `search` it says all that the next one needs.

    - `state` (7,): see `DEPTH` and what follows; FEWEST jobs, `best` (J,), are known to free NEED servers.
    - `fixed` (J,) int8; `trail` (J,): jobs in the order in which they were fixed.
    - `mark`, `branch`, `other`, `price`, `low` (J + 1,), by depth: length of the trail before the branching, its job,
      the value not tried yet (-1: none), the price, and a bound on what is not tried yet.
    - `flow`, `kept` (E,): cost of a job that pays for servers of a group, and the flow of the best bound.
    - `spare` (G,): what the price of a group's servers exceeds the flow by. `room` (J,): cost that pays for nothing.
    - `alive` (G,) bool. `level`, `arc`, `queue`, `path` (G + J,): of the search for augmenting paths.
    - `left`, `right`, `reached` (J,) bool: jobs that free too few servers, enough, and those of the last minimum cut.
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
    left: BoolArray
    right: BoolArray
    reached: BoolArray
    gain: FloatArray
    tried: IntArray


@numba.njit(cache=True)
def copy(source: IntArray | BoolArray, target: IntArray | BoolArray) -> None:
    """Copy an array into another; slices of one assigned to the other take seconds to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@numba.njit(cache=True)
def _layers(net: Network, s: Search) -> bool:
    """Levels of groups and jobs by distance from groups with a spare price; whether a job with room is reached."""
    groups, head, tail, last = len(net.servers), 0, 0, len(s.level)
    s.level[:] = -1
    for g in range(groups):
        if s.spare[g] > 0:
            s.level[g] = 0
            s.queue[tail] = g
            tail += 1
    while head < tail:
        u = s.queue[head]
        head += 1
        if s.level[u] >= last:
            break
        if u < groups:
            for e in range(net.first[u], net.first[u + 1]):
                v = groups + net.job[e]
                if s.level[v] < 0 and s.fixed[net.job[e]] < 0:
                    s.level[v] = s.level[u] + 1
                    s.queue[tail] = v
                    tail += 1
                    if s.room[net.job[e]] > 0:
                        last = s.level[v]
        else:
            for k in range(net.begin[u - groups], net.begin[u - groups + 1]):
                e = net.pair[k]
                v = net.group[e]
                if s.level[v] < 0 and s.flow[e] > 0:
                    s.level[v] = s.level[u] + 1
                    s.queue[tail] = v
                    tail += 1
    return last < len(s.level)


@numba.njit(cache=True)
def _augment(net: Network, s: Search, source: int) -> None:
    """Send the spare price of a group along shortest paths, as much as goes (Dinitz, 1970)."""
    groups, u, depth = len(net.servers), source, 0
    while s.spare[source] > 0:
        if u >= groups and s.room[u - groups] > 0:
            amount = min(s.spare[source], s.room[u - groups])
            for k in range(1, depth, 2):
                amount = min(amount, s.flow[s.path[k]])
            for k in range(depth):
                s.flow[s.path[k]] += amount if k % 2 == 0 else -amount
            s.spare[source] -= amount
            s.room[u - groups] -= amount
            u, depth = source, 0
            continue
        forward = u < groups
        end = net.first[u + 1] if forward else net.begin[u - groups + 1]
        found = False
        while s.arc[u] < end:
            e = s.arc[u] if forward else net.pair[s.arc[u]]
            v = groups + net.job[e] if forward else net.group[e]
            usable = s.fixed[net.job[e]] < 0 if forward else s.flow[e] > 0
            if usable and s.level[v] == s.level[u] + 1:
                found = True
                break
            s.arc[u] += 1
        if found:
            s.path[depth] = e
            depth += 1
            u = v
        elif depth == 0:
            break
        else:
            depth -= 1
            e = s.path[depth]
            u = net.group[e] if depth % 2 == 0 else groups + net.job[e]
            s.arc[u] += 1


@numba.njit(cache=True)
def _maximum_flow(net: Network, s: Search) -> None:
    """Augment the flow to a maximum; `reached` become the jobs on the side of the groups of a minimum cut."""
    groups, jobs = len(net.servers), len(s.fixed)
    while _layers(net, s):
        for j in range(jobs):
            s.arc[groups + j] = net.begin[j]
        for g in range(groups):
            s.arc[g] = net.first[g]
        for g in range(groups):
            if s.spare[g] > 0:
                _augment(net, s, g)
    for j in range(jobs):
        s.reached[j] = s.level[groups + j] >= 0


@numba.njit(cache=True)
def _line(net: Network, s: Search, chosen: BoolArray) -> tuple[int, int]:
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


@numba.njit(cache=True)
def _offer(s: Search, size: int, chosen: BoolArray) -> None:
    """Take the jobs that are preempted and the `chosen` ones, `size` in all, if they are fewer than the best."""
    if size < s.state[FEWEST]:
        s.state[FEWEST] = size
        for j in range(len(chosen)):
            s.best[j] = chosen[j] or s.fixed[j] == 1


@numba.njit(cache=True)
def _restrict(net: Network, s: Search, price: int) -> None:
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


@numba.njit(cache=True)
def evaluate(net: Network, s: Search, price: int, rounds: int) -> tuple[int, int]:
    """The largest Lagrangian bound that `rounds` prices of a server give, with its price; at best that of the LP.

    Leaves the flow of that bound behind, and closures left and right of the servers needed.
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
    best, best_price = -FAR, price
    for _ in range(rounds):
        _restrict(net, s, price)
        _maximum_flow(net, s)
        bound = ones * UNIT + price * need - s.spare.sum()
        if bound > best:
            best, best_price = bound, price
            copy(s.flow, s.kept)
        if best > (s.state[FEWEST] - 1) * UNIT:
            break
        cost, freed = _line(net, s, s.reached)
        if freed >= need:
            _offer(s, ones + cost, s.reached)
            right_cost, right_freed = cost, freed
            copy(s.reached, s.right)
        else:
            left_cost, left_freed = cost, freed
            copy(s.reached, s.left)
        crossing = max(0, (right_cost - left_cost) * UNIT // (right_freed - left_freed))
        if crossing in (price, best_price):
            break
        price = crossing
    copy(s.kept, s.flow)
    return best, best_price


@numba.njit(cache=True)
def fix_by_reduced_costs(net: Network, s: Search, bound: int, price: int) -> bool:
    """Fix jobs of which the other value costs more than the best solution allows; `flow` is that of `bound`."""
    _restrict(net, s, price)
    most = (s.state[FEWEST] - 1) * UNIT
    found = False
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        lost = 0
        for k in range(net.begin[j], net.begin[j + 1]):
            lost += s.spare[net.group[net.pair[k]]]
        if bound + s.room[j] > most:
            fix(s, j, 0)
            found = True
        elif bound + lost > most:
            fix(s, j, 1)
            found = True
    return found


@numba.njit(cache=True)
def fix(s: Search, job: int, value: int) -> None:
    """Fix a job."""
    s.fixed[job] = value
    s.trail[s.state[TRAIL]] = job
    s.state[TRAIL] += 1
