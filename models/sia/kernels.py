"""Compiled loops of the neighbourhood search (numba): 100,000 tries take a second or two.

All arrays are int64 unless said otherwise: `start` and `best` of shape (J,), `use` of shape (horizon,). `pace` is a
typical duration in steps: distances in time are drawn in proportion to the pace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.compiled import compiled

Random = np.random.Generator


class Jobs(NamedTuple):
    """Jobs and capacity of `OracleArrays`, arrays of shape (J,), as compiled code takes them."""

    submit: IntArray
    duration: IntArray
    gpus: IntArray
    cutoff: IntArray
    capacity: int


class Moves(NamedTuple):
    """How a try chooses jobs; see `ExactParameters`."""

    sizes: tuple[int, ...]
    elsewhere: float
    most_between: int
    repairs: int


@compiled
def _hold(use: IntArray, start: int, length: int, gpus: int) -> None:
    for t in range(start, start + length):
        use[t] += gpus


@compiled
def _earliest(use: IntArray, begin: int, length: int, limit: int, last: int) -> int:
    """The earliest start in begin..last with no more than `limit` in use for `length` steps; past `last` if none.

    Steps are looked at from the last one of a place backwards, so that a full step there rules out all places before.
    """
    start = clear = begin
    while start <= last:
        slot = start + length - 1
        while slot >= clear and use[slot] <= limit:
            slot -= 1
        if slot < clear:
            return start
        clear = start + length  # The steps between the full one and this one are not full.
        start = slot + 1
    return last + 1


@compiled
def _near(
    rng: Random, pace: float, job: int, jobs: Jobs, sizes: tuple[int, ...], start: IntArray, chosen: IntArray
) -> int:
    """The number of jobs taken out: some that run while `job` waits, and `job` last, all listed in `chosen`."""
    begin = jobs.submit[job] - 0.4 * pace * rng.random()
    end = start[job] + 1 + 0.8 * pace * rng.random()
    count = 0
    for i in range(len(start)):
        if i != job and start[i] <= end and start[i] + jobs.duration[i] >= begin:
            chosen[count] = i
            count += 1
    size = min(count, sizes[rng.integers(0, len(sizes))])
    for q in range(size):
        r = q + rng.integers(0, count - q)
        chosen[q], chosen[r] = chosen[r], chosen[q]
    chosen[size] = job
    return size + 1


@compiled
def _order(
    rng: Random, pace: float, jobs: Jobs, start: IntArray, chosen: IntArray, count: int, key: FloatArray
) -> None:
    """Fill `key` with a disturbed order of the chosen jobs: by start, by GPU time, by submission, or at random."""
    way = rng.random()
    for q in range(count):
        i = chosen[q]
        if way < 0.4:
            key[q] = start[i] + 0.13 * pace * rng.standard_normal()
        elif way < 0.7:
            key[q] = jobs.duration[i] * jobs.gpus[i] * np.exp(0.5 * rng.standard_normal())
        elif way < 0.85:
            key[q] = jobs.submit[i] + 0.2 * pace * rng.standard_normal()
        else:
            key[q] = rng.random()
    if way < 0.2:
        key[count - 1] = jobs.submit[chosen[count - 1]] - 1


@compiled
def _elsewhere(
    rng: Random, pace: float, job: int, jobs: Jobs, most: int, start: IntArray, chosen: IntArray, key: FloatArray
) -> int:
    """The number of jobs taken out: `job`, with another place in the order of starts, and the jobs that start between.

    0 where these are more than `most`.
    """
    submit, cutoff = jobs.submit, jobs.cutoff
    if rng.random() < 0.5:
        target = start[job] + 1.3 * pace * rng.standard_normal()
    else:
        target = submit[job] + (cutoff[job] - submit[job]) * rng.random() * rng.random()
    target = min(max(target, submit[job]), cutoff[job])
    begin = min(start[job], target)
    end = max(start[job], target) + jobs.duration[job] * rng.random()
    noise = 0.07 * pace if rng.random() < 0.5 else 0.0
    count = 0
    for i in range(len(start)):
        if i != job and begin <= start[i] <= end and (start[i] > submit[i] or rng.random() < 0.7):
            if count == most:
                return 0
            chosen[count] = i
            key[count] = start[i] + noise * rng.standard_normal()
            count += 1
    chosen[count] = job
    key[count] = target
    return count + 1


@compiled
def insert(
    use: IntArray,
    jobs: Jobs,
    chosen: IntArray,
    count: int,
    key: FloatArray,
    most: float,
    repairs: int,
    step: float,
    new: IntArray,
) -> bool:
    """Start jobs in order of `key`, each as early as possible; whether all keep the cut-offs and Σ start <= `most`.

    If all attempts fail, none of the jobs holds GPUs.

    Parameters:

    - `use`: GPUs in use at each step by the jobs that are not inserted; changed.
    - `jobs`: all jobs.
    - `chosen`, `count`: the first `count` entries are the numbers of the jobs to insert.
    - `key`: order of these jobs, float64, (count,); changed.
    - `most`: most that the starts may add up to.
    - `repairs`, `step`: for so many more attempts the key of a job past its cut-off is made less by `step`.
    - `new`: starts found, (count,); changed.
    """
    submit, duration, gpus, cutoff = jobs.submit, jobs.duration, jobs.gpus, jobs.cutoff
    least, limitless = 0, float(len(use))
    for q in range(count):
        least += submit[chosen[q]]
    for _ in range(repairs + 1):
        order = np.argsort(key[:count])
        total, done, late = least, 0, -1
        for q in order:
            i = chosen[q]
            last = min(cutoff[i], int(min(most - total, limitless)) + submit[i])
            t = _earliest(use, submit[i], duration[i], jobs.capacity - gpus[i], last)
            total += t - submit[i]
            if t > cutoff[i]:
                late = q
                break
            if t > last:
                break
            _hold(use, t, duration[i], gpus[i])
            new[q] = t
            done += 1
        if done == count:
            return True
        for q in order[:done]:
            _hold(use, new[q], duration[chosen[q]], -gpus[chosen[q]])
        if late < 0:
            return False
        key[late] -= step
    return False


@compiled
def anneal(
    rng: Random,
    jobs: Jobs,
    moves: Moves,
    among: IntArray,
    start: IntArray,
    best: IntArray,
    lead: int,
    tries: int,
    pace: float,
    warm: float,
    cold: float,
) -> int:
    """Annealed large-neighbourhood search from a feasible schedule; the final delay of `start` less that of `best`.

    A try takes out some jobs and inserts them in another order. A schedule worse by Δ steps is accepted with
    probability exp(-Δ/T), where T falls from `warm` to `cold`.

    Parameters:

    - `rng`: source of all that is random.
    - `jobs`: all jobs.
    - `moves`: how jobs are chosen.
    - `among`: the jobs that tries begin with; others are taken out beside them.
    - `start`: feasible schedule, (J,); changed.
    - `best`: best schedule met, (J,); changed.
    - `lead`: delay of `start` less that of `best`, in steps.
    - `tries`: number of tries.
    - `pace`: typical duration, in steps.
    - `warm`, `cold`: first and last temperature, in steps.
    """
    submit, duration, gpus = jobs.submit, jobs.duration, jobs.gpus
    count = len(submit)
    use = np.zeros((jobs.cutoff + duration).max() + 1, dtype=np.int64)
    for i in range(count):
        _hold(use, start[i], duration[i], gpus[i])
    work = np.cumsum((duration[among] * gpus[among]).astype(np.float64))
    chosen, old, new = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    key = np.empty(count, np.float64)
    for k in range(tries):
        if rng.random() < moves.elsewhere:
            job = among[min(len(among) - 1, int(np.searchsorted(work, rng.random() * work[-1])))]
            size = _elsewhere(rng, pace, job, jobs, moves.most_between, start, chosen, key)
        else:
            job = among[rng.integers(0, len(among))]
            for _ in range(50):
                if start[job] > submit[job]:
                    break
                job = among[rng.integers(0, len(among))]
            if start[job] == submit[job]:
                continue
            size = _near(rng, pace, job, jobs, moves.sizes, start, chosen)
            _order(rng, pace, jobs, start, chosen, size, key)
        before = 0
        for q in range(size):
            i = chosen[q]
            old[q] = start[i]
            before += start[i]
            _hold(use, start[i], duration[i], -gpus[i])
        warmth = warm * (cold / warm) ** (k / tries)
        most = before - warmth * np.log(max(rng.random(), 1e-12))
        if not insert(use, jobs, chosen, size, key, most, moves.repairs, np.inf, new):
            for q in range(size):
                _hold(use, old[q], duration[chosen[q]], gpus[chosen[q]])
            continue
        for q in range(size):
            start[chosen[q]] = new[q]
            lead += new[q] - old[q]
        if lead < 0:
            lead = 0
            best[:] = start
    return lead
