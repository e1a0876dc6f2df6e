"""Enumeration of the orders in which jobs can start, for parts of few jobs or little delay.

Schedules are made job by job, in order of starts, jobs of one start in order of their numbers. The next job starts at
the first step, not before the last start, at which it fits beside the jobs that have started. All optimal schedules are
among those:

1. If a job of one could start earlier by this rule, it would hold steps at which no later job runs, in addition to some
   of its own: it could start there in the schedule as a whole, which would be better.
2. If a job's first start is at or past the end of another that could run by then and starts later, then that one could
   run so instead, before all later jobs. So such a job is not the next one.

As jobs start, the first start of each of the others only grows: with these all delays together are a bound, and what is
not below the best schedule's delay is left out.
"""

from __future__ import annotations

import numpy as np

from instances.arrays import IntArray
from instances.compiled import compiled
from instances.sia.arrays import OracleArrays
from models.sia.kernels import Jobs, jobs_of
from models.sia.presolve import alone

FAR = 1 << 60  # Behind all steps.


def best_order(arrays: OracleArrays, chosen: IntArray, best: IntArray, most: int) -> tuple[IntArray, bool]:
    """The best starts (N,) of the `chosen` jobs (N,) of a part, and whether they are proven.

    Those of `best` (J,), feasible, are returned where none are better within `most` looks at a stretch of use, and
    some. The others hold GPUs wherever they start.
    """
    own, starts = alone(arrays, chosen, best)
    proven = _enumerate(jobs_of(own), len(chosen), own.delay(starts), most, starts)
    return starts[: len(chosen)], proven


@compiled
def _enumerate(jobs: Jobs, count: int, delay: int, most: int, best: IntArray) -> bool:
    """Whether all orders are gone through; `best`, of so much `delay`, is changed for better schedules.

    The use of GPUs is a list of stretches (begin, end, GPUs) at each level of the tree, in order of time.
    """
    submit, duration, gpus, cutoff = jobs.submit, jobs.duration, jobs.gpus, jobs.cutoff
    everybody, capacity = len(submit), jobs.capacity
    begin = np.zeros((count + 1, 2 * everybody + 1), np.int64)
    end, use, length = begin.copy(), begin.copy(), np.zeros(count + 1, np.int64)
    for j in range(count, everybody):
        length[0] = _hold(
            begin[0], end[0], use[0], length[0], submit[j], duration[j], gpus[j], begin[1], end[1], use[1]
        )
        begin[0], end[0], use[0] = begin[1], end[1], use[1]
    early = np.zeros((count + 1, count), np.int64)
    early[0] = submit[:count]
    order, left, place = (
        np.zeros((count + 1, count), np.int64),
        np.zeros(count + 1, np.int64),
        np.zeros(count + 1, np.int64),
    )
    now, last, bound, done = np.zeros(count + 1, np.int64), place - 1, place.copy(), place.copy()
    until, started, start = place.copy(), np.zeros(count, np.bool_), np.zeros(count, np.int64)
    level, new, looks = 0, True, 0
    while level >= 0:
        if new:
            new, fits, size, total, until[level] = False, True, 0, done[level], FAR
            if looks > most:
                return False
            for j in range(count):
                if started[j]:
                    continue
                t = max(early[level, j], now[level])
                for k in range(length[level]):
                    looks += 1
                    if end[level, k] > t and use[level, k] + gpus[j] > capacity:
                        if begin[level, k] >= t + duration[j]:
                            break
                        t = end[level, k]
                fits = fits and t <= cutoff[j]
                early[level, j] = t
                total += t - submit[j]
                until[level] = min(until[level], t + duration[j])
                q = size
                while q > 0 and early[level, order[level, q - 1]] > t:
                    order[level, q] = order[level, q - 1]
                    q -= 1
                order[level, q] = j
                size += 1
            left[level], place[level], bound[level] = size, 0, total
            if fits and total < delay and size == 1:
                delay, j = total, order[level, 0]
                start[j] = early[level, j]
                best[:count] = start
            if not fits:
                bound[level] = FAR
        k = place[level]
        if k < left[level]:
            j = order[level, k]
            t = early[level, j]
            if k > 0:
                bound[level] += k * (t - early[level, order[level, k - 1]])
        if k == left[level] or bound[level] >= delay or t >= until[level]:
            level -= 1
            if level >= 0:
                started[last[level + 1]] = False
            continue
        place[level] += 1
        if t == now[level] and j < last[level]:
            continue
        started[j], start[j], last[level + 1], now[level + 1] = True, t, j, t
        done[level + 1] = done[level] + t - submit[j]
        early[level + 1] = early[level]
        length[level + 1] = _hold(
            begin[level],
            end[level],
            use[level],
            length[level],
            t,
            duration[j],
            gpus[j],
            begin[level + 1],
            end[level + 1],
            use[level + 1],
        )
        level, new = level + 1, True
    return True


@compiled
def _hold(
    begin: IntArray,
    end: IntArray,
    use: IntArray,
    length: int,
    start: int,
    duration: int,
    gpus: int,
    new_begin: IntArray,
    new_end: IntArray,
    new_use: IntArray,
) -> int:
    """The stretches of use with one more job, and their number; stretches may be of no length."""
    count, at, stop = 0, start, start + duration
    for k in range(length + 1):
        low = begin[k] if k < length else FAR
        high = end[k] if k < length else FAR
        gap = min(low, stop)
        if at < gap:  # the job alone
            new_begin[count], new_end[count], new_use[count] = at, gap, gpus
            count, at = count + 1, gap
        if k == length:
            break
        for first, behind, more in (
            (low, min(high, start), 0),
            (max(low, start), min(high, stop), gpus),
            (max(low, stop), high, 0),
        ):
            if first < behind:
                new_begin[count], new_end[count], new_use[count] = first, behind, use[k] + more
                count += 1
        at = max(at, min(high, stop))
    return count
