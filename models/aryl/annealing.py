"""Greedy choice and simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) for the least union of k sets.

They give the proof a start. Annealing is seeded and deterministic.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator, Sequence

from models.aryl.parameters import DEFAULTS, AnnealingParameters

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


def anneal_union(
    sets: Sequence[Sequence[int]],
    n_jobs: int,
    start: Sequence[int],
    seed: int,
    parameters: AnnealingParameters = LONG,
) -> list[int]:
    """The choice of len(start) of `sets` with the smallest union seen while swapping chosen sets for others.

    - `sets`: the jobs of each server.
    - `n_jobs`: number of jobs in all.
    - `start`: indices of the sets to begin with.
    - `seed`: seed of the swaps.
    - `parameters`: number of swaps, and temperatures in jobs.
    """
    rng = random.Random(seed)
    chosen, inside = list(start), set(start)
    others = [s for s in range(len(sets)) if s not in inside]
    if not chosen or not others:
        return chosen
    hits = [0] * n_jobs
    for s in chosen:
        for j in sets[s]:
            hits[j] += 1
    current = best = sum(1 for h in hits if h)
    kept = list(chosen)
    draw = rng.random
    for temperature in _temperatures(parameters):
        a, b = int(draw() * len(chosen)), int(draw() * len(others))
        out, into = chosen[a], others[b]
        change = 0
        for j in sets[out]:
            hits[j] -= 1
            if not hits[j]:
                change -= 1
        for j in sets[into]:
            if not hits[j]:
                change += 1
            hits[j] += 1
        if change <= 0 or draw() < math.exp(-change / temperature):
            chosen[a], others[b] = into, out
            current += change
            if current < best:
                best, kept = current, list(chosen)
        else:
            for j in sets[into]:
                hits[j] -= 1
            for j in sets[out]:
                hits[j] += 1
    return kept


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
    rng = random.Random(seed)
    swaps = _JobSwaps(sets, size, n_jobs, start)
    kept = swaps.dropped(need) or set(start)
    draw = rng.random
    for temperature in _temperatures(parameters):
        if not swaps.hit or not swaps.others:
            break
        a, b = int(draw() * len(swaps.hit)), int(draw() * len(swaps.others))
        change = swaps.swap(a, b)
        if change >= 0 or draw() < math.exp(change / temperature):
            kept = swaps.dropped(need) or kept
        else:
            swaps.swap(a, b)
    return kept


class _JobSwaps:
    """Jobs that are `hit`, the `others`, and how many servers the former free."""

    def __init__(self, sets: Sequence[Sequence[int]], size: Sequence[int], n_jobs: int, start: set[int]) -> None:
        self.size = size
        self.groups: list[list[int]] = [[] for _ in range(n_jobs)]
        for g, jobs in enumerate(sets):
            for j in jobs:
                self.groups[j].append(g)
        self.hit = sorted(start)
        self.others = [j for j in range(n_jobs) if j not in start and self.groups[j]]
        self.missing = [sum(1 for j in jobs if j not in start) for jobs in sets]  # Jobs that are not hit, by group.
        self.freed = sum(n for n, lacking in zip(size, self.missing, strict=True) if not lacking)

    def swap(self, a: int, b: int) -> int:
        """Swap the a-th job that is hit for the b-th other job; the change in servers that are free."""
        out, into = self.hit[a], self.others[b]
        self.hit[a], self.others[b] = into, out
        change = self._leave(out) + self._enter(into)
        self.freed += change
        return change

    def dropped(self, need: int) -> set[int] | None:
        """The last jobs that free `need` servers as the cheapest job is dropped in turn; `None`: there are none."""
        kept = None
        while self.freed >= need and self.hit:
            kept = set(self.hit)
            costs = [sum(self.size[g] for g in self.groups[j] if not self.missing[g]) for j in self.hit]
            cheapest = min(range(len(self.hit)), key=costs.__getitem__)
            self.others.append(self.hit.pop(cheapest))
            self.freed += self._leave(self.others[-1])
        return kept

    def _leave(self, job: int) -> int:
        change, missing = 0, self.missing
        for g in self.groups[job]:
            if not missing[g]:
                change -= self.size[g]
            missing[g] += 1
        return change

    def _enter(self, job: int) -> int:
        change, missing = 0, self.missing
        for g in self.groups[job]:
            missing[g] -= 1
            if not missing[g]:
                change += self.size[g]
        return change


def _temperatures(parameters: AnnealingParameters) -> Iterator[float]:
    """A temperature for each move, falling geometrically."""
    temperature, cooling = parameters.warm, (parameters.cold / parameters.warm) ** (1 / parameters.moves)
    for _ in range(parameters.moves):
        temperature *= cooling
        yield temperature
