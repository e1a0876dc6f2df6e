"""Servers for jobs whose starts are given: a search in order of start, which backs up where a job finds no server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from instances.arrays import IntArray
from instances.sia.reservations import ServerJobs

Busy = tuple[tuple[int, int], ...]
"""(end, GPUs) of each job on a server, in order."""


def pack(jobs: ServerJobs, starts: IntArray, most_steps: int) -> IntArray | None:
    """A server for each job (J,), so that no server is overfull; `None` where none is found in `most_steps` placings.

    Jobs are placed in order of start, the widest first, on the server with the fewest idle GPUs first; of servers with
    the same jobs only one is tried. `None` proves nothing.
    """
    order = np.lexsort((-jobs.gpus, starts)).tolist()
    begin, width, end = starts.tolist(), jobs.gpus.tolist(), (starts + jobs.duration).tolist()
    steps = [_Step(tuple(() for _ in range(jobs.servers)), iter(()))]
    steps[0].open(begin[order[0]], width[order[0]], jobs.capacity)
    for _ in range(most_steps):
        step = steps[-1]
        i = order[len(steps) - 1]
        server = next(step.choices, None)
        if server is None:
            steps.pop()
            if not steps:
                return None
            continue
        step.chosen = server
        if len(steps) == len(order):
            found = np.empty(len(order), dtype=np.int64)
            found[order] = [placed.chosen for placed in steps]
            return found
        busy = list(step.busy)
        busy[server] = tuple(sorted((*busy[server], (end[i], width[i]))))
        following = order[len(steps)]
        steps.append(_Step(tuple(busy), iter(())))
        steps[-1].open(begin[following], width[following], jobs.capacity)
    return None


@dataclass
class _Step:
    """The servers when a job is to be placed, the choices that are left, and the one that was made last."""

    busy: tuple[Busy, ...]
    choices: Iterator[int]
    chosen: int = -1

    def open(self, now: int, width: int, capacity: int) -> None:
        """Drop what has ended by now, and find the servers with room for a width."""
        self.busy = tuple(tuple(job for job in server if job[0] > now) for server in self.busy)
        idle = [capacity - sum(gpus for _, gpus in server) for server in self.busy]
        first: dict[Busy, int] = {}
        for k, server in enumerate(self.busy):
            if idle[k] >= width:
                first.setdefault(server, k)
        self.choices = iter(sorted(first.values(), key=lambda k: idle[k]))
