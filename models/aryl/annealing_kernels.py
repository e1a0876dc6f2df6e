"""Compiled loops of simulated annealing (numba); see `models/aryl/annealing.py`.

Arrays are int64 unless said otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compiled

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
Random = np.random.Generator


class Pairs(NamedTuple):
    """Pairs of a set and a job in it.

    - `first` (sets + 1,), `job` (pairs,): the jobs of set s are job[first[s]:first[s + 1]].
    - `begin` (jobs + 1,), `sets` (pairs,): the sets of job j are sets[begin[j]:begin[j + 1]].
    """

    first: Int
    job: Int
    begin: Int
    sets: Int


@compiled
def _hit(pairs: Pairs, size: Int, missing: Int, job: int, step: int) -> int:
    """Take `job` out of what its sets miss (`step` -1) or put it back (1); the change in sets that miss nothing."""
    change = 0
    for k in range(pairs.begin[job], pairs.begin[job + 1]):
        s = pairs.sets[k]
        if step > 0 and missing[s] == 0:
            change -= size[s]
        missing[s] += step
        if step < 0 and missing[s] == 0:
            change += size[s]
    return change


@compiled
def swap_jobs(rng: Random, pairs: Pairs, size: Int, hit: Bool, need: int, moves: int, warm: float, cold: float) -> Bool:
    """The fewest jobs seen that free `need` servers, while jobs `hit` (jobs,) are swapped for others.

    `size` (sets,) counts the servers of a set. Whenever enough are free, the job that frees the fewest is dropped.
    """
    n = len(hit)
    order, where = np.empty(n, np.int64), 0  # Jobs that are hit first, `where` of them.
    for j in range(n):
        if hit[j]:
            order[where] = j
            where += 1
    end = where
    for j in range(n):
        if not hit[j] and pairs.begin[j + 1] > pairs.begin[j]:
            order[end] = j
            end += 1
    missing, freed = np.zeros(len(size), np.int64), 0
    for s in range(len(size)):
        for e in range(pairs.first[s], pairs.first[s + 1]):
            missing[s] += not hit[pairs.job[e]]
        if missing[s] == 0:
            freed += size[s]
    kept = hit.copy()
    temperature, cooling, accepted = warm, (cold / warm) ** (1 / moves), True
    for _ in range(moves):
        while accepted and freed >= need and where > 0:
            kept[:] = False
            cheapest, least = 0, size.sum() + 1
            for a in range(where):
                kept[order[a]] = True
                cost = 0
                for k in range(pairs.begin[order[a]], pairs.begin[order[a] + 1]):
                    cost += size[pairs.sets[k]] * (missing[pairs.sets[k]] == 0)
                if cost < least:
                    cheapest, least = a, cost
            where -= 1
            order[cheapest], order[where] = order[where], order[cheapest]
            freed += _hit(pairs, size, missing, order[where], 1)
        if where == 0 or where == end:
            break
        temperature *= cooling
        a, b = int(rng.random() * where), where + int(rng.random() * (end - where))
        change = _hit(pairs, size, missing, order[a], 1) + _hit(pairs, size, missing, order[b], -1)
        order[a], order[b] = order[b], order[a]
        accepted = change >= 0 or rng.random() < np.exp(change / temperature)
        if not accepted:
            change += _hit(pairs, size, missing, order[a], 1) + _hit(pairs, size, missing, order[b], -1)
            order[a], order[b] = order[b], order[a]
        freed += change
    return kept
