"""Greedy choice and simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) for the least union of k sets.

They give the proof a start. Annealing is seeded and deterministic; it is compiled at first use, which takes seconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from models.aryl.parameters import DEFAULTS, AnnealingParameters

if TYPE_CHECKING:
    from models.aryl.annealing_kernels import Pairs

LONG = DEFAULTS.reclaim.long


def greedy_union(sets: Sequence[Sequence[int]], n_jobs: int, k: int) -> list[int]:
    """`k` of `sets`, one at a time, by the least sum over jobs not yet hit of 1 / (number of sets with the job)."""
    holders: list[list[int]] = [[] for _ in range(n_jobs)]
    for s, jobs in enumerate(sets):
        for j in jobs:
            holders[j].append(s)
    cost = [sum(1 / len(holders[j]) for j in jobs) for jobs in sets]
    new = [len(jobs) for jobs in sets]
    queue = [(round(cost[s], 9), new[s], s) for s in range(len(sets))]
    heapq.heapify(queue)
    hit, chosen, taken = set[int](), list[int](), [False] * len(sets)
    while len(chosen) < k:
        price, jobs_left, best = heapq.heappop(queue)
        if taken[best] or (price, jobs_left) != (round(cost[best], 9), new[best]):
            continue  # The entry is older than the last hit on a job of the set.
        taken[best] = True
        chosen.append(best)
        for j in sets[best]:
            if j not in hit:
                hit.add(j)
                for s in holders[j]:
                    cost[s] -= 1 / len(holders[j])
                    new[s] -= 1
                    if not taken[s]:
                        heapq.heappush(queue, (round(cost[s], 9), new[s], s))
    return chosen


def anneal_jobs(
    sets: Sequence[Sequence[int]],
    size: Sequence[int],
    n_jobs: int,
    start: set[int],
    need: int,
    seed: int,
    parameters: AnnealingParameters = LONG,
) -> set[int]:
    """The fewest jobs seen that free `need` servers, while swapping jobs that are hit for jobs that are not.

    Whenever the jobs that are hit free enough servers, the job that frees the fewest is dropped. Jobs move many servers
    at once, which swaps of servers do not.

    - `sets`, `size`: the jobs of each group of servers, and the number of its servers.
    - `n_jobs`: number of jobs in all.
    - `start`: jobs to begin with, which free `need` servers.
    - `seed`: seed of the swaps.
    - `parameters`: number of swaps, and temperatures in servers.
    """
    from models.aryl.annealing_kernels import swap_jobs

    hit = np.zeros(n_jobs, dtype=np.bool_)
    hit[list(start)] = True
    rng, p = np.random.default_rng(seed), parameters
    servers = np.array(size, dtype=np.int64)
    kept = swap_jobs(rng, _pairs(sets, n_jobs), servers, hit, need, p.moves, p.warm, p.cold)
    return {int(j) for j in np.flatnonzero(kept)}


def _pairs(sets: Sequence[Sequence[int]], n_jobs: int) -> Pairs:
    """`sets` as arrays."""
    from models.aryl.annealing_kernels import Pairs

    sizes = [len(jobs) for jobs in sets]
    job = np.array([j for jobs in sets for j in jobs], dtype=np.int64)
    begin = np.concatenate([[0], np.cumsum(np.bincount(job, minlength=n_jobs))]).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Pairs(first, job, begin, np.repeat(np.arange(len(sizes)), sizes)[np.argsort(job, kind="stable")])
