"""Greedy choice and simulated annealing for the least union of k sets: a start for the proof, seeded, deterministic."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence

WARM, COLD = 1.0, 0.1  # preempted jobs


def greedy_union(sets: Sequence[Sequence[int]], n_jobs: int, k: int) -> list[int]:
    """`k` of `sets`, one at a time, by the least sum over jobs not yet hit of 1 / sets the job is in."""
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
            continue  # an entry from before its jobs were hit
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


def anneal_union(sets: Sequence[Sequence[int]], n_jobs: int, start: Sequence[int], seed: int, moves: int) -> list[int]:
    """The best choice of len(start) of `sets` seen while swapping one chosen for one that is not, `moves` times."""
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
    temperature, cooling = WARM, (COLD / WARM) ** (1 / moves)
    draw = rng.random
    for _ in range(moves):
        temperature *= cooling
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
    sets: Sequence[Sequence[int]], size: Sequence[int], n_jobs: int, start: set[int], need: int, seed: int, moves: int
) -> set[int]:
    """The fewest jobs seen that free `need` servers, while swapping one job hit for one that is not, `moves` times.

    `sets[g]` are the jobs of servers of kind g, `size[g]` their number. Whenever the jobs in hand free enough servers,
    the one that frees the fewest is dropped. Jobs move many servers at once, which swaps of servers do not.
    """
    rng = random.Random(seed)
    kinds: list[list[int]] = [[] for _ in range(n_jobs)]
    for g, jobs in enumerate(sets):
        for j in jobs:
            kinds[j].append(g)
    hit, others, kept = sorted(start), [j for j in range(n_jobs) if j not in start and kinds[j]], set(start)
    missing = [sum(1 for j in jobs if j not in start) for jobs in sets]
    freed = sum(n for n, lacking in zip(size, missing, strict=True) if not lacking)

    def drop() -> int:
        """Drop the cheapest job; how many servers it takes along."""
        costs = [sum(size[g] for g in kinds[j] if not missing[g]) for j in hit]
        cheapest = min(range(len(hit)), key=costs.__getitem__)
        others.append(hit.pop(cheapest))
        for g in kinds[others[-1]]:
            missing[g] += 1
        return costs[cheapest]

    while freed >= need and hit:
        kept = set(hit)
        freed -= drop()
    temperature, cooling = WARM, (COLD / WARM) ** (1 / moves)
    draw = rng.random
    for _ in range(moves):
        if not hit or not others:
            break
        temperature *= cooling
        a, b = int(draw() * len(hit)), int(draw() * len(others))
        out, into = hit[a], others[b]
        change = 0
        for g in kinds[out]:
            if not missing[g]:
                change -= size[g]
            missing[g] += 1
        for g in kinds[into]:
            missing[g] -= 1
            if not missing[g]:
                change += size[g]
        if change >= 0 or draw() < math.exp(change / temperature):
            hit[a], others[b] = into, out
            freed += change
            while freed >= need and hit:
                kept = set(hit)
                freed -= drop()
        else:
            for g in kinds[into]:
                missing[g] += 1
            for g in kinds[out]:
                missing[g] -= 1
    return kept
