"""Greedy heuristic and simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) for the minimum k-union problem."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.compiled import compile_lazily
from models.aryl.parameters import DEFAULTS, AnnealingParameters

LONG = DEFAULTS.reclaim.long


def choose_greedily(sets: Sequence[Sequence[int]], n_jobs: int, k: int) -> list[int]:
    """Choose `k` of the `sets` of jobs, each time one with the smallest cost.

    A job costs 1 / (number of sets with the job) in each of its sets, until a chosen set hits it.
    """
    holders: list[list[int]] = [[] for _ in range(n_jobs)]
    for s, jobs in enumerate(sets):
        for j in jobs:
            holders[j].append(s)
    cost = [sum(1 / len(holders[j]) for j in jobs) for jobs in sets]
    new = [len(jobs) for jobs in sets]
    queue = [(round(cost[s], 9), new[s], s) for s in range(len(sets))]
    heapq.heapify(queue)
    hit, chosen, is_chosen = set[int](), list[int](), [False] * len(sets)
    while len(chosen) < k:
        price, jobs_left, best = heapq.heappop(queue)
        if is_chosen[best] or (price, jobs_left) != (round(cost[best], 9), new[best]):
            continue  # the entry is older than the last hit on a job of the set
        is_chosen[best] = True
        chosen.append(best)
        for j in sets[best]:
            if j not in hit:
                hit.add(j)
                for s in holders[j]:
                    cost[s] -= 1 / len(holders[j])
                    new[s] -= 1
                    if not is_chosen[s]:
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
    """Swap hit jobs for other jobs and return the smallest set of jobs found that frees `need` servers.

    If the hit jobs free enough servers, the job that frees the fewest servers is removed. A swap of jobs changes many
    servers at once, unlike a swap of servers.

    - `sets`, `size`: the jobs of each group of servers, and the number of its servers.
    - `n_jobs`: number of jobs.
    - `start`: initial jobs, which free `need` servers.
    - `seed`: seed of the swaps.
    - `parameters`: number of swaps, and temperatures in servers.
    """
    hit = np.zeros(n_jobs, dtype=np.bool_)
    hit[list(start)] = True
    job = np.array([j for jobs in sets for j in jobs], dtype=np.int64)
    sizes = [len(jobs) for jobs in sets]
    pairs = Pairs(
        first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        job=job,
        begin=np.concatenate([[0], np.cumsum(np.bincount(job, minlength=n_jobs))]).astype(np.int64),
        sets=np.repeat(np.arange(len(sizes)), sizes)[np.argsort(job, kind="stable")],
    )
    draw, p = np.random.default_rng(seed), parameters
    best = swap_jobs(draw, pairs, np.array(size, dtype=np.int64), hit, need, p.moves, p.warm, p.cold)
    return {int(j) for j in np.flatnonzero(best)}


class Pairs(NamedTuple):
    """Pairs of a set and a job in it.

    - `first` (sets + 1,), `job` (pairs,): the jobs of set s are job[first[s]:first[s + 1]].
    - `begin` (jobs + 1,), `sets` (pairs,): the sets of job j are sets[begin[j]:begin[j + 1]].
    """

    first: IntArray
    job: IntArray
    begin: IntArray
    sets: IntArray


@compile_lazily
def _change_job(pairs: Pairs, size: IntArray, missing: IntArray, job: int, step: int) -> int:
    """Hit `job` (`step` -1) or release it (1); return the change in the number of freed servers."""
    change = 0
    for k in range(pairs.begin[job], pairs.begin[job + 1]):
        s = pairs.sets[k]
        if step > 0 and missing[s] == 0:
            change -= size[s]
        missing[s] += step
        if step < 0 and missing[s] == 0:
            change += size[s]
    return change


@compile_lazily
def swap_jobs(
    draw: np.random.Generator,
    pairs: Pairs,
    size: IntArray,
    hit: BoolArray,
    need: int,
    moves: int,
    warm: float,
    cold: float,
) -> BoolArray:
    """Run simulated annealing and return the smallest set of jobs (jobs,) found that frees `need` servers.

    - `size`: number of servers of each set (sets,).
    - `hit`: initial jobs (jobs,).
    - `moves`: number of swaps; `warm`, `cold`: first and last temperature, in servers.
    """
    n = len(hit)
    order, number = np.empty(n, np.int64), 0  # the hit jobs come first; `number` counts them
    for j in range(n):
        if hit[j]:
            order[number] = j
            number += 1
    end = number
    for j in range(n):
        if not hit[j] and pairs.begin[j + 1] > pairs.begin[j]:
            order[end] = j
            end += 1
    missing, freed = np.zeros(len(size), np.int64), 0  # jobs of each set that are not hit
    for s in range(len(size)):
        for e in range(pairs.first[s], pairs.first[s + 1]):
            missing[s] += not hit[pairs.job[e]]
        if missing[s] == 0:
            freed += size[s]
    best = hit.copy()
    temperature, cooling, is_accepted = warm, (cold / warm) ** (1 / moves), True
    for _ in range(moves):
        while is_accepted and freed >= need and number > 0:
            best[:] = False
            cheapest, min_cost = 0, size.sum() + 1
            for a in range(number):
                best[order[a]] = True
                cost = 0
                for k in range(pairs.begin[order[a]], pairs.begin[order[a] + 1]):
                    cost += size[pairs.sets[k]] * (missing[pairs.sets[k]] == 0)
                if cost < min_cost:
                    cheapest, min_cost = a, cost
            number -= 1
            order[cheapest], order[number] = order[number], order[cheapest]
            freed += _change_job(pairs, size, missing, order[number], 1)
        if number == 0 or number == end:
            break
        temperature *= cooling
        a, b = int(draw.random() * number), number + int(draw.random() * (end - number))
        change = _change_job(pairs, size, missing, order[a], 1) + _change_job(pairs, size, missing, order[b], -1)
        order[a], order[b] = order[b], order[a]
        is_accepted = change >= 0 or draw.random() < np.exp(change / temperature)
        if not is_accepted:
            change += _change_job(pairs, size, missing, order[a], 1) + _change_job(pairs, size, missing, order[b], -1)
            order[a], order[b] = order[b], order[a]
        freed += change
    return best
