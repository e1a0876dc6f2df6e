"""Enumeration of start sequences for components with few jobs or little delay (serial schedule generation).

Jobs start one by one, in order of their starts; jobs with equal starts in order of their numbers. The next job starts
at the first step, not before the last start, at which it fits next to the jobs that have started. This rule generates
all optimal schedules:

1. If a job of an optimal schedule could start earlier by this rule, it would additionally occupy steps at which no
   later job runs. It could thus start there in the complete schedule, which would be better.
2. Suppose that a job starts at or after the step at which another job, which starts later, could have ended. Then the
   other job could run before it instead. So the first job is not the next one.

The first possible starts of the remaining jobs never decrease, so they give a lower bound on the delay. A branch is
pruned if the bound is not below the delay of the best schedule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.arrays import IntArray
from instances.compiled import compile_lazily
from instances.sia.arrays import OracleArrays
from models.sia.kernels import Jobs, build_jobs
from models.sia.presolve import isolate_jobs

FAR = 1 << 60  # later than every step


class Profile(NamedTuple):
    """The use of GPUs at each level of the tree: intervals (begin, end, gpus) in order of time, `length` many."""

    begin: IntArray
    end: IntArray
    gpus: IntArray
    length: IntArray


def enumerate_orders(arrays: OracleArrays, chosen: IntArray, best: IntArray, limit: int) -> tuple[IntArray, bool]:
    """Search the start sequences of a component for its best schedule.

    - `arrays`: the problem after presolve.
    - `chosen`: jobs of the component, (N,).
    - `best`: a feasible schedule of all jobs, (J,).
    - `limit`: number of inspected intervals after which the search stops.

    Returns the best starts of the component, (N,), and whether they are proven optimal.
    """
    own, starts = isolate_jobs(arrays, chosen, best)
    is_proven = _search_orders(build_jobs(own), len(chosen), own.delay(starts), limit, starts)
    return starts[: len(chosen)], is_proven


@compile_lazily
def _search_orders(jobs: Jobs, count: int, delay: int, limit: int, best: IntArray) -> bool:
    """Improve `best`, a schedule with this `delay`; return whether all orders of the first `count` jobs are explored.

    All other jobs have a single start.
    """
    submit, duration, gpus, cutoff = jobs.submit, jobs.duration, jobs.gpus, jobs.cutoff
    total_jobs, capacity = len(submit), jobs.capacity
    shape = (count + 1, 2 * total_jobs + 1)
    profile = Profile(
        np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(count + 1, np.int64)
    )
    begin, end, use, length = profile
    for j in range(count, total_jobs):
        _add_job(profile, 0, submit[j], duration[j], gpus[j])
        begin[0], end[0], use[0], length[0] = begin[1], end[1], use[1], length[1]
    early = np.zeros((count + 1, count), np.int64)  # first possible start of each job, per level
    early[0] = submit[:count]
    order = np.zeros((count + 1, count), np.int64)  # remaining jobs in order of `early`
    left, position = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)  # their number, and the next one
    # Per level: the last start and its job, the lower bound, the delay of the started jobs, and the step of rule 2.
    now, last, bound, done = np.zeros(count + 1, np.int64), position - 1, position.copy(), position.copy()
    until, has_started, start = position.copy(), np.zeros(count, np.bool_), np.zeros(count, np.int64)
    level, is_new, inspected = 0, True, 0
    while level >= 0:
        if is_new:
            is_new, fits, size, total, until[level] = False, True, 0, done[level], FAR
            if inspected > limit:
                return False
            for j in range(count):
                if has_started[j]:
                    continue
                t = max(early[level, j], now[level])
                for k in range(length[level]):
                    inspected += 1
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
            left[level], position[level], bound[level] = size, 0, total
            if fits and total < delay and size == 1:
                delay, j = total, order[level, 0]
                start[j] = early[level, j]
                best[:count] = start
            if not fits:
                bound[level] = FAR
        k = position[level]
        if k < left[level]:
            j = order[level, k]
            t = early[level, j]
            if k > 0:
                bound[level] += k * (t - early[level, order[level, k - 1]])
        if k == left[level] or bound[level] >= delay or t >= until[level]:
            level -= 1
            if level >= 0:
                has_started[last[level + 1]] = False
            continue
        position[level] += 1
        if t == now[level] and j < last[level]:
            continue
        has_started[j], start[j], last[level + 1], now[level + 1] = True, t, j, t
        done[level + 1] = done[level] + t - submit[j]
        early[level + 1] = early[level]
        _add_job(profile, level, t, duration[j], gpus[j])
        level, is_new = level + 1, True
    return True


@compile_lazily
def _add_job(profile: Profile, level: int, start: int, duration: int, gpus: int) -> None:
    """Set the use at the next level to the use at this level plus one job."""
    begin, end, use, new = profile.begin[level], profile.end[level], profile.gpus[level], level + 1
    count, at, stop, length = 0, start, start + duration, profile.length[level]
    for k in range(length + 1):
        low = begin[k] if k < length else FAR
        high = end[k] if k < length else FAR
        gap = min(low, stop)
        if at < gap:  # the job runs alone
            profile.begin[new, count], profile.end[new, count], profile.gpus[new, count] = at, gap, gpus
            count, at = count + 1, gap
        if k == length:
            break
        before, during, after = (
            (low, min(high, start), 0),
            (max(low, start), min(high, stop), gpus),
            (max(low, stop), high, 0),
        )
        for first, behind, more in (before, during, after):
            if first < behind:
                profile.begin[new, count], profile.end[new, count] = first, behind
                profile.gpus[new, count] = use[k] + more
                count += 1
        at = max(at, min(high, stop))
    profile.length[new] = count
