"""The paper's baselines (sections 4.1 and 6.1), one policy per class; none uses knowledge of future jobs."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from instances.sia.online import PendingJob, PoolsView, Start

Key = Callable[[PendingJob], float]


def service(job: PendingJob) -> float:
    """Return the GPU time of a job: duration times width."""
    return job.duration * job.gpus


def length(job: PendingJob) -> float:
    """Return the duration of a job."""
    return job.duration


def find_fitting(jobs: Iterable[PendingJob], left: int, *, overtake: bool = True) -> list[str]:
    """Return the jobs that start on `left` GPUs, in order.

    - `overtake`: whether a job that does not fit is skipped; otherwise it blocks all jobs behind it.
    """
    starts: list[str] = []
    for job in jobs:
        if job.gpus <= left:
            left -= job.gpus
            starts.append(job.id)
        elif not overtake or left <= 0:
            break
    return starts


class Fcfs:
    """First come, first served within each pool, without sharing; no job overtakes another of its pool."""

    def decide(self, view: PoolsView) -> Start:
        starts: list[str] = []
        for pool in dict.fromkeys(job.pool for job in (*view.arrived, *view.finished)):
            idle = view.quota[pool] - view.used[pool]
            starts += find_fitting(view.queues[pool].values(), idle, overtake=False)
        return Start(starts)


class ShortestFirst:
    """The job of minimum `key` first within each pool (SSF, SJF), or over all pools on all GPUs (`shared`: gSSF).

    A job that does not fit blocks those behind it, unless `overtake` lets them pass.
    """

    def __init__(self, key: Key = service, *, shared: bool = False, overtake: bool = False) -> None:
        self.key, self.shared, self.overtake = key, shared, overtake
        self._queues: dict[str, list[tuple[float, float, str, int]]] = {}

    def decide(self, view: PoolsView) -> Start:
        for job in view.arrived:
            queue = self._queues.setdefault("" if self.shared else job.pool, [])
            insort(queue, (self.key(job), job.submit, job.id, job.gpus))
        starts: list[str] = []
        for pool, queue in self._queues.items():
            left = view.idle if self.shared else view.quota[pool] - view.used[pool]
            kept = []
            for place, waiting in enumerate(queue):
                if waiting[3] <= left:
                    left -= waiting[3]
                    starts.append(waiting[2])
                elif self.overtake and left > 0:
                    kept.append(waiting)
                else:
                    kept += queue[place:]
                    break
            queue[:] = kept
        return Start(starts)


class MaxMinFair:
    """MMFS: the pool with the lowest used fraction of its quota starts the next job, on any GPUs, while a job fits."""

    def decide(self, view: PoolsView) -> Start:
        used, left = dict(view.used), view.idle
        starts: list[str] = []
        queues = {pool: iter(queue.values()) for pool, queue in view.queues.items() if queue}
        heads = {pool: next(queue) for pool, queue in queues.items()}
        while True:
            fitting = [pool for pool, job in heads.items() if job.gpus <= left]
            if not fitting:
                return Start(starts)
            pool = min(fitting, key=lambda name: used[name] / view.quota[name])
            job = heads.pop(pool)
            used[pool] += job.gpus
            left -= job.gpus
            starts.append(job.id)
            following = next(queues[pool], None)
            if following is not None:
                heads[pool] = following


class Hived:
    """HiveD*: each pool's own share first, in order; idle GPUs then go to the fitting job that has waited longest.

    Running jobs are not interrupted (section 6.1): an owner whose GPUs are lent out waits for them.
    """

    def __init__(self) -> None:
        self._guaranteed: dict[str, int] = {}
        self._own: set[str] = set()

    def decide(self, view: PoolsView) -> Start:
        held = self._guaranteed
        for job in view.finished:
            if job.id in self._own:
                self._own.discard(job.id)
                held[job.pool] -= job.gpus
        left = view.idle
        starts: list[str] = []
        others: list[PendingJob] = []
        for pool, queue in view.queues.items():
            for place, job in enumerate(queue.values()):
                if held.get(pool, 0) + job.gpus > view.quota[pool] or job.gpus > left:
                    others += list(queue.values())[place:]
                    break
                held[pool] = held.get(pool, 0) + job.gpus
                left -= job.gpus
                self._own.add(job.id)
                starts.append(job.id)
        return Start(starts + find_fitting(sorted(others, key=lambda job: job.submit), left))


class Themis:
    """Themis*: the job with the worst finish-time fairness first, on any GPUs, without interruptions.

    The fairness ρ is the time from submission to completion if the job starts now, over the same time if its pool
    shares nothing. `alone_start` is the start of each job in the latter case. It depends on earlier submissions only,
    and durations are exact (section 6.1).
    """

    def __init__(self, alone_start: Mapping[str, float]) -> None:
        self.alone_start = alone_start

    def decide(self, view: PoolsView) -> Start:
        waiting = [job for queue in view.queues.values() for job in queue.values() if job.gpus <= view.idle]
        return Start(find_fitting(sorted(waiting, key=lambda job: -self._unfairness(job, view.now)), view.idle))

    def _unfairness(self, job: PendingJob, now: float) -> float:
        return (now + job.duration - job.submit) / (self.alone_start[job.id] + job.duration - job.submit)


class EarliestCutoff:
    """The job with the earliest cut-off first, on any GPUs; a job that does not fit blocks all jobs behind it.

    The policy has no state, so it can take over at any time.
    """

    def decide(self, view: PoolsView) -> Start:
        waiting = (job for queue in view.queues.values() for job in queue.values())
        return Start(find_fitting(sorted(waiting, key=_cutoff), view.idle, overtake=False))


def _cutoff(job: Any) -> tuple[float, float]:
    cutoff = getattr(job, "cutoff", None)
    return (job.submit if cutoff is None else cutoff), job.submit
