"""Conservative backfilling on servers: jobs start ahead of reservations, each on a server, that all others keep.

As `reservations.backfill`, where a job has all its GPUs on one server: it starts early only on a server whose profile
has room for it until it ends. No job is ever later than reserved, which is Theorem 1 of SIA with locality.
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


@dataclass(frozen=True)
class Placed:
    """Start and server of each job, (J,) both."""

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
        """GPUs in use on each server at each slot, (servers, slots)."""
        ends = placed.starts + self.duration
        changes = np.zeros((self.servers, int(ends.max()) + 1), dtype=np.int32)
        np.add.at(changes, (placed.servers, placed.starts), self.gpus)
        np.add.at(changes, (placed.servers, ends), -self.gpus)
        return np.cumsum(changes, axis=1, dtype=np.int32)

    def fits(self, placed: Placed) -> bool:
        """Whether no server is in use beyond its GPUs."""
        return bool(self.use(placed).max() <= self.capacity)


def backfill_servers(
    jobs: ServerJobs, reserved: Placed, priority: Sequence[float], clock: Stopwatch | None = None
) -> Placed:
    """A schedule in which no job starts later than reserved, if the reservations fit together.

    At every arrival, completion and reservation the jobs that wait are tried in order of `priority`, the least first,
    ties in order of submission, then of the data; each on the servers with the fewest idle GPUs first. Once the time of
    `clock` is over, the jobs that still wait start as reserved.
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

    def room(i: int, now: int) -> int | None:
        """The server on which job i can start now."""
        width, end = gpus[i], now + duration[i]
        fitting = sorted((idle[k], k) for k in range(jobs.servers) if idle[k] >= width)
        for _, k in fitting:
            until = min(end, begin[i]) if k == home[i] else end  # its own reservation gives way
            if until <= now or profile[k, now:until].max() + width <= jobs.capacity:
                return k
        return None

    while events and not (clock is not None and clock.expired):
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
            found = room(i, now) if gpus[i] <= widest else None
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
