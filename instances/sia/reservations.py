"""Conservative backfilling (Mu'alem and Feitelson, 2001): jobs start ahead of reservations that all others keep.

A profile holds the GPUs in use over time when every job that waits starts at its reservation. A job starts early only
where the profile without the job's own reservation stays within capacity: no job is ever later than reserved. With
reservations at the cut-offs that is Theorem 1 of SIA.
"""

from __future__ import annotations

from bisect import insort
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from instances.arrays import IntArray
from instances.clock import Stopwatch
from instances.sia.arrays import OracleArrays


def backfill(
    arrays: OracleArrays,
    reserved: IntArray,
    priority: NDArray[np.int64] | NDArray[np.float64],
    clock: Stopwatch | None = None,
) -> IntArray:
    """A schedule (J,) in which no job starts later than reserved, if the reservations fit together.

    At every arrival, completion and reservation the jobs that wait are tried in order of `priority`, the least first.
    Only reservations that begin before a job's own can be in the way of an early start: from then on the job takes the
    place of its own reservation. Where reservations do not fit together, jobs start as soon as GPUs are idle.

    Parameters:

    - `arrays`: jobs and capacity.
    - `reserved`: reserved start of each job, (J,), none before its submission.
    - `priority`: rank of each job, (J,); ties in order of submission, then of the data.
    - `clock`: once the time is over, the jobs that still wait start as reserved.
    """
    submit, duration, gpus = arrays.submit.tolist(), arrays.duration.tolist(), arrays.gpus.tolist()
    begin, rank = reserved.tolist(), np.argsort(np.lexsort((arrays.submit, priority))).tolist()
    profile, idle = arrays.use(reserved), arrays.capacity
    coming = np.argsort(arrays.submit, kind="stable")[::-1].tolist()
    events = list({*submit, *begin})
    heapify(events)
    starts = reserved.copy()
    waiting: list[tuple[int, int]] = []
    ending: list[tuple[int, int]] = []
    while events and not (clock is not None and clock.expired):
        now = heappop(events)
        while events and events[0] == now:
            heappop(events)
        while ending and ending[0][0] <= now:
            idle += heappop(ending)[1]
        while coming and submit[coming[-1]] <= now:
            i = coming.pop()
            insort(waiting, (rank[i], i))
        place = 0
        while idle > 0 and place < len(waiting):
            i = waiting[place][1]
            width, own, end = gpus[i], begin[i], now + duration[i]
            if width > idle or (now < own and profile[now : min(end, own)].max() + width > arrays.capacity):
                place += 1
                continue
            if now != own:
                profile[own : own + duration[i]] -= width
                profile[now:end] += width
            starts[i] = now
            idle -= width
            heappush(ending, (end, width))
            heappush(events, end)
            del waiting[place]
    return starts
