"""Loaned servers as sets of jobs: alike servers merged, connected components, curves of small components.

Servers with the same base workers are interchangeable. A set of jobs frees the servers whose jobs are all in it, so the
least union of k sets is the least number of jobs that frees k servers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from instances.aryl import ArylReclaim

IntArray = NDArray[np.int64]
FEW = 12  # jobs or kinds of servers of a component whose subsets are listed


@dataclass(frozen=True)
class Pool:
    """Kinds of servers: `jobs[g]` are the indices of the jobs on a server of kind g, `members[g]` such servers.

    Servers without base workers are in `idle`: they go back first and preempt nobody.
    """

    jobs: list[tuple[int, ...]]
    members: list[list[str]]
    idle: list[str]
    n_jobs: int

    @staticmethod
    def of(data: ArylReclaim) -> Pool:
        """The pool of `data`; among idle servers those that host flexible workers of the fewest jobs come first."""
        index = {job.id: j for j, job in enumerate(data.jobs)}
        kinds: dict[tuple[int, ...], list[str]] = {}
        for server, on in data.jobs_on().items():
            kinds.setdefault(tuple(sorted(index[job] for job in on)), []).append(server)
        idle = kinds.pop((), [])
        flexible = dict.fromkeys(idle, 0)
        for job in data.jobs:
            for server in job.flexible_servers:
                if server in flexible:
                    flexible[server] += 1
        idle.sort(key=lambda server: flexible[server])
        return Pool(list(kinds), list(kinds.values()), idle, len(data.jobs))

    @cached_property
    def count(self) -> IntArray:
        """Number of servers of each kind (kinds,)."""
        return np.array([len(members) for members in self.members], dtype=np.int64)

    def components(self) -> list[list[int]]:
        """Kinds of servers in each connected component of the graph of jobs and servers, the smallest first."""
        graph: nx.Graph = nx.Graph()
        for g, jobs in enumerate(self.jobs):
            graph.add_edges_from((("kind", g), ("job", j)) for j in jobs)
        found = [sorted(g for what, g in part if what == "kind") for part in nx.connected_components(graph)]
        return sorted(found, key=lambda kinds: (len(kinds), kinds))

    def preempted(self, kinds: Sequence[int]) -> set[int]:
        """Jobs on servers of these kinds."""
        return {j for g in kinds for j in self.jobs[g]}

    def servers(self, jobs: set[int], need: int) -> list[str]:
        """`need` servers without base workers of jobs other than `jobs`, idle ones first."""
        freed = [s for g, on in enumerate(self.jobs) if jobs.issuperset(on) for s in self.members[g]]
        return (self.idle + freed)[:need]


@dataclass(frozen=True)
class Curve:
    """`least[k]`: least number of jobs that frees k servers, k = 0 ... ; `jobs(k)`: such jobs."""

    least: IntArray
    jobs: Callable[[int], frozenset[int]]


def is_small(pool: Pool, kinds: Sequence[int]) -> bool:
    """Whether the subsets of a component's jobs, or of its kinds of servers, are few enough to list."""
    return min(len(kinds), len(pool.preempted(kinds))) <= FEW


def small_curve(pool: Pool, kinds: Sequence[int]) -> Curve:
    """The curve of a small component by listing every subset of its jobs or of its kinds of servers."""
    jobs = sorted(pool.preempted(kinds))
    place = {j: i for i, j in enumerate(jobs)}
    count = pool.count[list(kinds)]
    by_jobs = len(jobs) <= len(kinds)
    bits = len(jobs) if by_jobs else len(kinds)
    subsets = (np.arange(2**bits)[:, None] >> np.arange(bits)) & 1
    if by_jobs:
        cost = subsets.sum(axis=1)
        freed = _inside([sum(1 << place[j] for j in pool.jobs[g]) for g in kinds], count, bits)
    else:
        on = [0] * len(jobs)
        for i, g in enumerate(kinds):
            for j in pool.jobs[g]:
                on[place[j]] |= 1 << i
        cost = len(jobs) - _inside(on, np.ones(len(jobs), dtype=np.int64), bits)[::-1]  # all but those on others only
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
        hit = [jobs[i] for i in picked] if by_jobs else pool.preempted([kinds[int(i)] for i in picked])
        sets.append(frozenset(hit))
    return Curve(least, sets.__getitem__)


def _inside(masks: Sequence[int], weight: IntArray, bits: int) -> IntArray:
    """For each subset of `bits` things (2^bits,): the weight of the `masks` that lie in it."""
    total = np.zeros(2**bits, dtype=np.int64)
    np.add.at(total, np.array(masks, dtype=np.int64), weight)
    for bit in range(bits):
        halves = total.reshape(-1, 2, 2**bit)
        halves[:, 1] += halves[:, 0]
    return total


def combine(curves: Sequence[Curve], need: int) -> Curve:
    """The curve of all components together, up to `need` servers: dynamic programming over what each one gives."""
    least, gives = np.zeros(1, dtype=np.int64), []
    for curve in curves:
        size = min(len(least) + len(curve.least) - 1, need + 1)
        best = np.full(size, np.iinfo(np.int64).max)
        give = np.zeros(size, dtype=np.int64)
        for k, cost in enumerate(curve.least[:size]):
            candidate = least[: size - k] + cost
            better = candidate < best[k : k + len(candidate)]
            best[k : k + len(candidate)][better] = candidate[better]
            give[k : k + len(candidate)][better] = k
        least = best
        gives.append(give)

    def jobs(k: int) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        for curve, give in zip(reversed(curves), reversed(gives), strict=True):
            found |= curve.jobs(int(give[k]))
            k -= int(give[k])
        return found

    return Curve(least, jobs)
