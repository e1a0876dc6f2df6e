"""Event loop of a policy over an instance, as fast as a heuristic should be.

The simulator's world of pools runs the same policies in a loop that shares no code with this one; a test holds the two
against each other.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any

from instances.online import Policy, RuleBroken
from instances.sia import Job, SiaOracle
from instances.sia.online import PoolsView, RunningJob


def replay(data: SiaOracle, policy: Policy[Any, Any]) -> dict[str, int]:
    """The start slot of each job under `policy`. Raises RuleBroken where jobs are left waiting for ever."""
    quota = {pool.name: pool.gpus for pool in data.pools}
    queues: dict[str, OrderedDict[str, Job]] = {name: OrderedDict() for name in quota}
    used = dict.fromkeys(quota, 0)
    running: dict[str, RunningJob] = {}
    shown = MappingProxyType({name: MappingProxyType(queue) for name, queue in queues.items()})
    view = PoolsView(
        0, data.capacity, MappingProxyType(quota), MappingProxyType(used), shown, MappingProxyType(running)
    )
    coming = sorted(data.jobs, key=lambda job: job.submit)[::-1]  # next one last; ties in the order given
    ending: list[tuple[int, int, Job]] = []
    wake_at: float | None = None
    starts: dict[str, int] = {}
    waiting: dict[str, Job] = {}
    while coming or ending or waiting:
        moments = [
            moment
            for moment in (coming[-1].submit if coming else None, ending[0][0] if ending else None, wake_at)
            if moment is not None
        ]
        if not moments:
            raise _stuck(policy, next(iter(waiting)), view.now)
        now = int(min(moments))
        quiet = not coming and not ending  # the policy was woken, and nothing is to come
        finished, arrived, wake_at = [], [], None
        while ending and ending[0][0] <= now:
            job = heappop(ending)[2]
            del running[job.id]
            view.idle += job.gpus
            used[job.pool] -= job.gpus
            finished.append(job)
        while coming and coming[-1].submit <= now:
            job = coming.pop()
            queues[job.pool][job.id] = waiting[job.id] = job
            arrived.append(job)
        view.now, view.arrived, view.finished = now, arrived, finished
        decision = policy.decide(view)
        if decision.interrupted:
            raise RuleBroken(f"job {decision.interrupted[0]} is interrupted at {now}: here jobs run to their end")
        for name in tuple(decision.starts):  # it may be the queue itself
            job = waiting.pop(name)
            del queues[job.pool][name]
            view.idle -= job.gpus
            used[job.pool] += job.gpus
            starts[name] = now
            running[name] = RunningJob(job, now)
            heappush(ending, (now + job.duration, len(starts), job))
        if quiet and not ending and waiting:
            job = next(iter(waiting.values()))
            raise _stuck(policy, job.id, now)
        if decision.wake_at is not None and waiting:
            wake_at = max(now + 1, -int(-decision.wake_at // 1))
    return starts


def _stuck(policy: Policy[Any, Any], job: str, now: float) -> RuleBroken:
    name = type(policy).__name__
    return RuleBroken(f"job {job} is left waiting by policy {name} at {now}: nothing runs and nothing is to come")
