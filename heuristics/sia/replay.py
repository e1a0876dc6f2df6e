"""Runs a policy over an instance, from event to event, as fast as a heuristic should be."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from heapq import heappop, heappush

from heuristics.sia.view import Policy
from instances.sia import Job, SiaOracle


@dataclass
class _View:
    now: int
    idle: int
    quota: dict[str, int]
    used: dict[str, int]
    queues: dict[str, OrderedDict[str, Job]]
    arrived: list[Job]
    finished: list[Job]


def replay(data: SiaOracle, policy: Policy) -> dict[str, int]:
    """The start slot of each job under `policy`.

    Raises RuntimeError, with job, policy and slot, where nothing runs, nothing is to come and the policy starts nobody:
    not asked again, or woken because it wanted to be.
    """
    quota = {pool.name: pool.gpus for pool in data.pools}
    queues: dict[str, OrderedDict[str, Job]] = {name: OrderedDict() for name in quota}
    view = _View(0, data.capacity, quota, dict.fromkeys(quota, 0), queues, [], [])
    coming = sorted(data.jobs, key=lambda job: job.submit)[::-1]  # next one last; ties in the order given
    running: list[tuple[int, int, Job]] = []
    wake_at: float | None = None
    starts: dict[str, int] = {}
    waiting: dict[str, Job] = {}
    while coming or running or waiting:
        moments = [
            moment
            for moment in (coming[-1].submit if coming else None, running[0][0] if running else None, wake_at)
            if moment is not None
        ]
        if not moments:
            raise _stuck(policy, waiting, view.now)
        view.now = now = int(min(moments))
        woken = not coming and not running  # nothing but its own wish has it asked
        view.arrived, view.finished, wake_at = [], [], None
        while running and running[0][0] <= now:
            job = heappop(running)[2]
            view.idle += job.gpus
            view.used[job.pool] -= job.gpus
            view.finished.append(job)
        while coming and coming[-1].submit <= now:
            job = coming.pop()
            queues[job.pool][job.id] = waiting[job.id] = job
            view.arrived.append(job)
        decision = policy.decide(view)
        if woken and not decision.starts:
            raise _stuck(policy, waiting, now)
        for name in tuple(decision.starts):  # it may be the queue itself
            job = waiting.pop(name)
            del queues[job.pool][name]
            view.idle -= job.gpus
            view.used[job.pool] += job.gpus
            starts[name] = now
            heappush(running, (now + job.duration, len(starts), job))
        if decision.wake_at is not None and waiting:
            wake_at = max(now + 1, -int(-decision.wake_at // 1))
    return starts


def _stuck(policy: Policy, waiting: dict[str, Job], now: int) -> RuntimeError:
    job, name = next(iter(waiting)), type(policy).__name__
    return RuntimeError(f"job {job} is left waiting by policy {name} at {now}: nothing runs and nothing is to come")
