"""Schedule by conservative backfilling (Mu'alem and Feitelson, 2001): jobs start before their reservations.

A profile contains the GPUs in use over time if every waiting job starts at its reservation. A job starts early only if
the profile without its own reservation stays within capacity, so no job is later than reserved. With reservations at
the cut-offs this is Theorem 1 of SIA. With servers, a job has all its GPUs on one server, and each server has its own
profile.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
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
    """Return a schedule (J,) in which no job starts later than reserved, if the reservations are feasible.

    At every arrival, completion and reservation, waiting jobs are tried in increasing order of `priority`. Only
    reservations that start before a job's own can prevent an early start, because the job then uses its own reserved
    GPUs. If the reservations are infeasible, jobs start as soon as GPUs are idle.

    - `arrays`: jobs and capacity.
    - `reserved`: reserved start of each job, (J,), not before its submission.
    - `priority`: rank of each job, (J,); ties in order of submission, then of the data.
    - `clock`: after its time limit, the waiting jobs start as reserved.
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
    while events and not (clock is not None and clock.has_expired):
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


@dataclass(frozen=True)
class Placed:
    """The start and the server of each job, both (J,)."""

    starts: IntArray
    servers: IntArray


@dataclass(frozen=True)
class ServerJobs:
    """Jobs as arrays of shape (J,), `servers` servers, and the GPUs of each."""

    submit: IntArray
    duration: IntArray
    gpus: IntArray
    servers: int
    capacity: int

    def use(self, placed: Placed) -> NDArray[np.int32]:
        """Return the GPUs in use on each server at each slot, (servers, slots)."""
        ends = placed.starts + self.duration
        changes = np.zeros((self.servers, int(ends.max()) + 1), dtype=np.int32)
        np.add.at(changes, (placed.servers, placed.starts), self.gpus)
        np.add.at(changes, (placed.servers, ends), -self.gpus)
        return np.cumsum(changes, axis=1, dtype=np.int32)

    def fits(self, placed: Placed) -> bool:
        """Return whether no server exceeds its GPUs."""
        return bool(self.use(placed).max() <= self.capacity)


def backfill_servers(
    jobs: ServerJobs, reserved: Placed, priority: Sequence[float], clock: Stopwatch | None = None
) -> Placed:
    """Return a schedule in which no job starts later than reserved, if the reservations are feasible.

    At every arrival, completion and reservation, waiting jobs are tried in increasing order of `priority`, ties in
    order of submission, then of the data. A job tries the servers with the fewest idle GPUs first. After the time limit
    of `clock`, the waiting jobs start as reserved.
    """
    submit, duration, gpus = jobs.submit.tolist(), jobs.duration.tolist(), jobs.gpus.tolist()
    begin, home = reserved.starts.tolist(), reserved.servers.tolist()
    rank = np.argsort(np.lexsort((jobs.submit, np.asarray(priority)))).tolist()
    profile = jobs.use(reserved)
    idle = [jobs.capacity] * jobs.servers
    coming = np.argsort(jobs.submit, kind="stable")[::-1].tolist()
    events = list({*submit, *begin})
    heapify(events)
    starts, servers = reserved.starts.copy(), reserved.servers.copy()
    waiting: list[tuple[int, int]] = []
    ending: list[tuple[int, int, int]] = []

    def server_for(i: int, now: int) -> int | None:
        """Return the server on which job i can start now, or `None`."""
        width, end = gpus[i], now + duration[i]
        fitting = sorted((idle[k], k) for k in range(jobs.servers) if idle[k] >= width)
        for _, k in fitting:
            until = min(end, begin[i]) if k == home[i] else end  # its own reservation does not block it
            if until <= now or profile[k, now:until].max() + width <= jobs.capacity:
                return k
        return None

    while events and not (clock is not None and clock.has_expired):
        now = heappop(events)
        while events and events[0] == now:
            heappop(events)
        while ending and ending[0][0] <= now:
            _, k, width = heappop(ending)
            idle[k] += width
        while coming and submit[coming[-1]] <= now:
            i = coming.pop()
            insort(waiting, (rank[i], i))
        place, widest = 0, max(idle)
        while widest > 0 and place < len(waiting):
            i = waiting[place][1]
            found = server_for(i, now) if gpus[i] <= widest else None
            if found is None:
                place += 1
                continue
            own, end = begin[i], now + duration[i]
            profile[home[i], own : own + duration[i]] -= gpus[i]
            profile[found, now:end] += gpus[i]
            starts[i], servers[i] = now, found
            idle[found] -= gpus[i]
            widest = max(idle)
            heappush(ending, (end, found, gpus[i]))
            heappush(events, end)
            del waiting[place]
    return Placed(starts, servers)
