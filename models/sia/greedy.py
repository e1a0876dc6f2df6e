"""Schedules from a feasible plan: walk through time and start jobs ahead of their place in the plan."""

from __future__ import annotations

from bisect import insort
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from instances import Stopwatch
from models.sia.arrays import IntArray, OracleArrays


def pull_forward(
    arrays: OracleArrays, plan: IntArray, priority: NDArray[np.float64], clock: Stopwatch | None = None
) -> IntArray:
    """A schedule in which no job starts later than in the feasible schedule `plan` (J,).

    At every arrival, completion and planned start, jobs that wait are asked in order of `priority` (J,), the least
    first; one starts where all others can still start as planned. Once `clock` is over the rest start as planned.
    """
    submit, duration, gpus = arrays.submit.tolist(), arrays.duration.tolist(), arrays.gpus.tolist()
    planned, rank = plan.tolist(), np.argsort(np.lexsort((arrays.submit, priority))).tolist()
    use = arrays.use(plan)
    coming = np.argsort(arrays.submit, kind="stable")[::-1].tolist()
    events = list({*submit, *planned})
    heapify(events)
    starts = plan.copy()
    waiting: list[tuple[int, int]] = []
    while events and not (clock is not None and clock.expired):
        now = heappop(events)
        while events and events[0] == now:
            heappop(events)
        while coming and submit[coming[-1]] <= now:
            i = coming.pop()
            insort(waiting, (rank[i], i))
        place = 0
        while place < len(waiting):
            i = waiting[place][1]
            end = now + duration[i]
            if use[now : max(now, min(end, planned[i]))].max(initial=0) + gpus[i] > arrays.capacity:
                place += 1
                continue
            if now < planned[i]:
                use[planned[i] : planned[i] + duration[i]] -= gpus[i]
                use[now:end] += gpus[i]
            starts[i] = now
            heappush(events, end)
            del waiting[place]
    return starts
