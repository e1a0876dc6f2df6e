"""The inner loop of the search for schedules, compiled: 100,000 tries take a second or two.

All arrays are int64: jobs' `submit`, `duration`, `gpus`, `cutoff` and `start` of shape (J,), `use` of shape (horizon,).
`pace` is a typical duration in slots: distances in time are drawn in proportion to it.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Float = NDArray[np.float64]
Random = np.random.Generator

SIZES = (2, 4, 8, 12)  # jobs taken out together, beside the one that waits
MOST = 150  # and at most so many beside one that goes somewhere else
ELSEWHERE = 0.15  # share of tries that send a job somewhere else
REPAIRS = 3  # times that a job past its cut-off is put first


@numba.njit(cache=True)
def _hold(use: Int, start: int, length: int, gpus: int) -> None:
    for t in range(start, start + length):
        use[t] += gpus


@numba.njit(cache=True)
def earliest(use: Int, begin: int, length: int, limit: int, last: int) -> int:
    """The earliest start in begin..last with no more than `limit` in use for `length` slots; past `last` if none."""
    start = slot = begin
    while start <= last:
        while slot < start + length and use[slot] <= limit:
            slot += 1
        if slot == start + length:
            return start
        while slot < len(use) and use[slot] > limit:
            slot += 1
        start = slot
    return last + 1


@numba.njit(cache=True)
def _near(rng: Random, pace: float, job: int, submit: Int, duration: Int, start: Int, chosen: Int) -> int:
    """Some jobs that run while `job` waits, and it last, in `chosen`; how many."""
    begin = submit[job] - 0.4 * pace * rng.random()
    end = start[job] + 1 + 0.8 * pace * rng.random()
    count = 0
    for i in range(len(start)):
        if i != job and start[i] <= end and start[i] + duration[i] >= begin:
            chosen[count] = i
            count += 1
    size = min(count, SIZES[rng.integers(0, len(SIZES))])
    for q in range(size):
        r = q + rng.integers(0, count - q)
        chosen[q], chosen[r] = chosen[r], chosen[q]
    chosen[size] = job
    return size + 1


@numba.njit(cache=True)
def _order(
    rng: Random, pace: float, submit: Int, duration: Int, gpus: Int, start: Int, chosen: Int, count: int, key: Float
) -> None:
    """Keys: as they start now, by GPU time, by submission, or at random, none of it exactly."""
    way = rng.random()
    for q in range(count):
        i = chosen[q]
        if way < 0.4:
            key[q] = start[i] + 0.13 * pace * rng.standard_normal()
        elif way < 0.7:
            key[q] = duration[i] * gpus[i] * np.exp(0.5 * rng.standard_normal())
        elif way < 0.85:
            key[q] = submit[i] + 0.2 * pace * rng.standard_normal()
        else:
            key[q] = rng.random()
    if way < 0.2:
        key[count - 1] = submit[chosen[count - 1]] - 1


@numba.njit(cache=True)
def _elsewhere(
    rng: Random, pace: float, job: int, submit: Int, duration: Int, cutoff: Int, start: Int, chosen: Int, key: Float
) -> int:
    """`job`, with another place in the order of starts, and the jobs that start in between; 0: too many."""
    if rng.random() < 0.5:
        target = start[job] + 1.3 * pace * rng.standard_normal()
    else:
        target = submit[job] + (cutoff[job] - submit[job]) * rng.random() * rng.random()
    target = min(max(target, submit[job]), cutoff[job])
    begin = min(start[job], target)
    end = max(start[job], target) + duration[job] * rng.random()
    noise = 0.07 * pace if rng.random() < 0.5 else 0.0
    count = 0
    for i in range(len(start)):
        if i != job and begin <= start[i] <= end and (start[i] > submit[i] or rng.random() < 0.7):
            if count == MOST:
                return 0
            chosen[count] = i
            key[count] = start[i] + noise * rng.standard_normal()
            count += 1
    chosen[count] = job
    key[count] = target
    return count + 1


@numba.njit(cache=True)
def put(
    use: Int,
    capacity: int,
    submit: Int,
    duration: Int,
    gpus: Int,
    cutoff: Int,
    chosen: Int,
    count: int,
    key: Float,
    most: float,
    repairs: int,
    step: float,
    new: Int,
) -> bool:
    """Put jobs on the GPUs in order of `key`, each as early as it fits; whether all are in time and Σ start <= most.

    The `key` of a job that comes too late is made less by `step` for another attempt, `repairs` times at most. If all
    attempts fail, none of the jobs is on the GPUs.
    """
    least = 0
    for q in range(count):
        least += submit[chosen[q]]
    for _ in range(repairs + 1):
        order = np.argsort(key[:count])
        total, done, late = least, 0, -1
        for q in order:
            i = chosen[q]
            t = earliest(use, submit[i], duration[i], capacity - gpus[i], cutoff[i])
            total += t - submit[i]
            if t > cutoff[i]:
                late = q
                break
            if total > most:
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


@numba.njit(cache=True)
def anneal(
    rng: Random,
    submit: Int,
    duration: Int,
    gpus: Int,
    cutoff: Int,
    capacity: int,
    start: Int,
    best: Int,
    lead: int,
    tries: int,
    pace: float,
    warm: float,
    cold: float,
) -> int:
    """Go on for `tries` tries from the feasible `start`, and keep the best schedule met in `best`; both are changed.

    A try takes out some jobs and puts them back in another order. A schedule worse by Δ slots is accepted with
    probability exp(-Δ/T); T falls from `warm` to `cold`. `lead`: delay of `start` less that of `best`, before; it is
    returned as it is after.
    """
    count = len(submit)
    use = np.zeros((cutoff + duration).max() + 1, dtype=np.int64)
    for i in range(count):
        _hold(use, start[i], duration[i], gpus[i])
    work = np.cumsum((duration * gpus).astype(np.float64))
    chosen, old, new = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    key = np.empty(count, np.float64)
    for k in range(tries):
        if rng.random() < ELSEWHERE:
            job = min(count - 1, int(np.searchsorted(work, rng.random() * work[-1])))
            size = _elsewhere(rng, pace, job, submit, duration, cutoff, start, chosen, key)
        else:
            job = int(rng.integers(0, count))
            for _ in range(50):
                if start[job] > submit[job]:
                    break
                job = int(rng.integers(0, count))
            if start[job] == submit[job]:
                continue
            size = _near(rng, pace, job, submit, duration, start, chosen)
            _order(rng, pace, submit, duration, gpus, start, chosen, size, key)
        before = 0
        for q in range(size):
            i = chosen[q]
            old[q] = start[i]
            before += start[i]
            _hold(use, start[i], duration[i], -gpus[i])
        warmth = warm * (cold / warm) ** (k / tries)
        most = before - warmth * np.log(max(rng.random(), 1e-12))
        if not put(use, capacity, submit, duration, gpus, cutoff, chosen, size, key, most, REPAIRS, np.inf, new):
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
