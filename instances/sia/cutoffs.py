"""The reference schedule of Figure 19, line (3): each pool alone, strictly first come, first served."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol


class _Pool(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def gpus(self) -> int: ...


class _Job(Protocol):
    @property
    def pool(self) -> str: ...
    @property
    def submit(self) -> int: ...
    @property
    def duration(self) -> int: ...
    @property
    def gpus(self) -> int: ...
    @property
    def latest_start(self) -> int | None: ...


def fcfs_starts(pools: Sequence[_Pool], jobs: Sequence[_Job]) -> tuple[int, ...]:
    """Start slot of each job, in the order of `jobs`, when no pool shares.

    Jobs start in order of submission, those submitted together in the order given; no job overtakes another of its
    pool, even where it would fit. A job wider than its pool starts at its `latest_start` and takes no GPU.
    """
    own = {pool.name: pool.gpus for pool in pools}
    idle = dict(own)
    latest = dict.fromkeys(own, 0)  # start of the job before: nobody overtakes it
    running: dict[str, list[tuple[int, int]]] = {name: [] for name in own}
    starts = [0] * len(jobs)
    for i in sorted(range(len(jobs)), key=lambda i: jobs[i].submit):
        job = jobs[i]
        name, gpus = job.pool, job.gpus
        if gpus > own[name]:
            starts[i] = job.submit if job.latest_start is None else job.latest_start
            continue
        ends, now = running[name], max(job.submit, latest[name])
        while ends and (ends[0][0] <= now or idle[name] < gpus):
            end, freed = heappop(ends)
            now = max(now, end)
            idle[name] += freed
        idle[name] -= gpus
        heappush(ends, (now + job.duration, gpus))
        starts[i] = latest[name] = now
    return tuple(starts)
