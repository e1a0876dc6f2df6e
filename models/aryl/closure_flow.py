"""The network of groups and jobs of the branch and bound over closures, and its maximum flow (numba).

See `models/aryl/closure_tree.py` for the mathematics.

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
def _distances(net: Network, s: Search) -> int:
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
def maximum_flow(net: Network, s: Search, enough: int) -> None:
    """Augment the flow to a maximum along shortest paths, by levels that only rise (Ahuja and Orlin, 1991).

    It ends early, and without a cut, once less than `enough` of the prices is spare.
    One loop, for a call that hands over a `Search` costs more than a step of it.
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
def _cut(net: Network, s: Search) -> None:
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
def restrict(net: Network, s: Search, price: int) -> None:
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
