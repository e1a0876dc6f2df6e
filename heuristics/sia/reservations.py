"""Policies that know every job to come and keep every cut-off: SIA_VC (section 5.1) and safe shortest-first.

Both keep a plan in which every job that has not started holds GPUs from its cut-off on. It is feasible at first, since
the pools could serve themselves, and a job is started only where the plan stays feasible without the job's own
reservation: nobody is ever later than his cut-off (Theorem 1). They differ in who is asked first.
"""

from __future__ import annotations

from bisect import insort
from heapq import heapify, heappop, heappush

import numpy as np

from instances.sia import SiaOracle


def keep_cutoffs(data: SiaOracle, priority: list[float]) -> list[int]:
    """Start slot of each job, in the order of `data.jobs`; at every event the least `priority` is asked first.

    Only reservations that begin before a job's own cut-off can be in its way: from then on it takes the place of its
    own reservation. Where cut-offs of the user's cannot all be kept, jobs start as soon as GPUs are idle.
    """
    jobs, cutoffs, capacity = data.jobs, data.cutoffs, data.capacity
    count = len(jobs)
    first = min(job.submit for job in jobs)
    submit = [job.submit - first for job in jobs]
    cutoff = [slot - first for slot in cutoffs]
    duration = [job.duration for job in jobs]
    gpus = [job.gpus for job in jobs]
    plan = _reservations(cutoff, duration, gpus)
    arriving = sorted(range(count), key=submit.__getitem__)
    rank = [0] * count
    for place, i in enumerate(sorted(range(count), key=lambda i: (priority[i], submit[i], i))):
        rank[i] = place
    events = list({*submit, *cutoff})
    heapify(events)
    ending: list[tuple[int, int]] = []
    pending: list[tuple[int, int]] = []
    starts = [0] * count
    idle, arrived = capacity, 0
    while events:
        now = heappop(events)
        while events and events[0] == now:
            heappop(events)
        while ending and ending[0][0] <= now:
            idle += heappop(ending)[1]
        while arrived < count and submit[arriving[arrived]] <= now:
            insort(pending, (rank[arriving[arrived]], arriving[arrived]))
            arrived += 1
        place = 0
        while idle > 0 and place < len(pending):
            i = pending[place][1]
            width, cut = gpus[i], cutoff[i]
            end = now + duration[i]
            if width > idle or (now < cut and plan[now : min(end, cut)].max() + width > capacity):
                place += 1
                continue
            if now != cut:
                plan[cut : cut + duration[i]] -= width
                plan[now:end] += width
            starts[i] = now + first
            idle -= width
            heappush(ending, (end, width))
            heappush(events, end)
            del pending[place]
    return starts


def _reservations(cutoff: list[int], duration: list[int], gpus: list[int]) -> np.ndarray:
    """GPUs reserved at each slot when everybody starts at his cut-off."""
    begin, width = np.array(cutoff), np.array(gpus)
    end = begin + np.array(duration)
    changes = np.zeros(int(end.max()) + 1, dtype=np.int64)
    np.add.at(changes, begin, width)
    np.add.at(changes, end, -width)
    return np.cumsum(changes)
