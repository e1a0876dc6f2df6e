"""Loaned servers as sets of jobs: groups of alike servers, connected components, trade-offs of small components.

Servers with the same base workers are interchangeable. A set of jobs frees the servers whose jobs are all in it, so the
least union of k sets is the least number of jobs that frees k servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.arrays import IntArray
from instances.aryl import ArylReclaim
from instances.clock import uncounted
from models.aryl.parameters import DEFAULTS


@dataclass(frozen=True)
class ServerGroups:
    """Groups of servers with the same base workers: `jobs[g]` indices of the jobs on group g, `members[g]` the servers.

    Servers without base workers are in `idle`: they go back first and preempt nobody.
    """

    jobs: list[tuple[int, ...]]
    members: list[list[str]]
    idle: list[str]
    n_jobs: int

    @staticmethod
    def of(data: ArylReclaim) -> ServerGroups:
        """The groups of `data`; among idle servers those that host flexible workers of the fewest jobs come first."""
        index = {job.id: j for j, job in enumerate(data.jobs)}
        alike: dict[tuple[int, ...], list[str]] = {}
        for server, on in data.jobs_on().items():
            alike.setdefault(tuple(sorted(index[job] for job in on)), []).append(server)
        idle = alike.pop((), [])
        flexible = dict.fromkeys(idle, 0)
        for job in data.jobs:
            for server in job.flexible_servers:
                if server in flexible:
                    flexible[server] += 1
        idle.sort(key=lambda server: flexible[server])
        return ServerGroups(list(alike), list(alike.values()), idle, len(data.jobs))

    @cached_property
    def count(self) -> IntArray:
        """Number of servers of each group (groups,)."""
        return np.array([len(members) for members in self.members], dtype=np.int64)

    def components(self) -> list[list[int]]:
        """Groups in each connected component of the graph of jobs and servers, the smallest component first."""
        with uncounted():
            import networkx as nx
        graph: nx.Graph = nx.Graph()
        for g, jobs in enumerate(self.jobs):
            graph.add_edges_from((("group", g), ("job", j)) for j in jobs)
        found = [sorted(g for what, g in part if what == "group") for part in nx.connected_components(graph)]
        return sorted(found, key=lambda members: (len(members), members))

    def preempted(self, chosen: Iterable[int]) -> set[int]:
        """Jobs on servers of the groups `chosen`."""
        return {j for g in chosen for j in self.jobs[g]}

    def servers(self, jobs: set[int], need: int) -> list[str]:
        """`need` servers without base workers of jobs other than `jobs`, idle ones first."""
        freed = [s for g, on in enumerate(self.jobs) if jobs.issuperset(on) for s in self.members[g]]
        return (self.idle + freed)[:need]


@dataclass(frozen=True)
class TradeOff:
    """Jobs against servers: `least[k]` is the fewest jobs that free k servers, `jobs(k)` a set of so many."""

    least: IntArray
    jobs: Callable[[int], frozenset[int]]


def is_small(groups: ServerGroups, component: Sequence[int], few: int = DEFAULTS.reclaim.few) -> bool:
    """Whether a component has at most `few` jobs or at most `few` groups, whose subsets can be listed."""
    return min(len(component), len(groups.preempted(component))) <= few


def small_trade_off(groups: ServerGroups, component: Sequence[int]) -> TradeOff:
    """The trade-off of a small component by listing every subset of the jobs or of the groups in the component."""
    jobs = sorted(groups.preempted(component))
    place = {j: i for i, j in enumerate(jobs)}
    count = groups.count[list(component)]
    by_jobs = len(jobs) <= len(component)
    bits = len(jobs) if by_jobs else len(component)
    subsets = (np.arange(2**bits)[:, None] >> np.arange(bits)) & 1
    if by_jobs:
        cost = subsets.sum(axis=1)
        freed = _inside([sum(1 << place[j] for j in groups.jobs[g]) for g in component], count, bits)
    else:
        on = [0] * len(jobs)
        for i, g in enumerate(component):
            for j in groups.jobs[g]:
                on[place[j]] |= 1 << i
        cost = (
            len(jobs) - _inside(on, np.ones(len(jobs), dtype=np.int64), bits)[::-1]
        )  # Jobs only on groups that stay are spared.
        freed = subsets @ count
    best = np.lexsort((np.arange(len(cost)), cost))
    least = np.zeros(int(count.sum()) + 1, dtype=np.int64)
    chosen = np.zeros_like(least)
    filled = 0
    for s in best:
        if freed[s] >= filled:
            least[filled : freed[s] + 1], chosen[filled : freed[s] + 1] = cost[s], s
            filled = int(freed[s]) + 1
    sets = []
    for s in chosen:
        picked = np.flatnonzero(subsets[s])
        hit = [jobs[i] for i in picked] if by_jobs else groups.preempted([component[int(i)] for i in picked])
        sets.append(frozenset(hit))
    return TradeOff(least, sets.__getitem__)


def _inside(masks: Sequence[int], weight: IntArray, bits: int) -> IntArray:
    """The weight of the `masks` that lie in each subset of `bits` elements (2^bits,)."""
    total = np.zeros(2**bits, dtype=np.int64)
    np.add.at(total, np.array(masks, dtype=np.int64), weight)
    for bit in range(bits):
        halves = total.reshape(-1, 2, 2**bit)
        halves[:, 1] += halves[:, 0]
    return total


def combine(components: Sequence[TradeOff], need: int) -> TradeOff:
    """The trade-off of all components together, up to `need` servers, by dynamic programming over the components."""
    least, gives = np.zeros(1, dtype=np.int64), []
    for component in components:
        size = min(len(least) + len(component.least) - 1, need + 1)
        best = np.full(size, np.iinfo(np.int64).max)
        give = np.zeros(size, dtype=np.int64)
        for k, cost in enumerate(component.least[:size]):
            candidate = least[: size - k] + cost
            better = candidate < best[k : k + len(candidate)]
            best[k : k + len(candidate)][better] = candidate[better]
            give[k : k + len(candidate)][better] = k
        least = best
        gives.append(give)

    def jobs(k: int) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        for component, give in zip(reversed(components), reversed(gives), strict=True):
            found |= component.jobs(int(give[k]))
            k -= int(give[k])
        return found

    return TradeOff(least, jobs)
