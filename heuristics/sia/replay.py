"""A fast event loop for the online policies of SIA's pools.

The simulator of pools runs the same policies in an independent loop; a test compares the two.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any

from instances.online import Policy, RuleBroken
from instances.sia import Job, LocalJob, SiaLocalOracle, SiaOracle
from instances.sia.online import PoolsView, RunningJob, Start

AnyJob = Job | LocalJob
Queues = Mapping[str, OrderedDict[str, AnyJob]]
"""The waiting jobs of each pool by id, in order of submission."""
Decide = Callable[[PoolsView], tuple[Iterable[str], float | None]]
"""Return the jobs that start now, by id, and the time of the next call if no event comes first."""


def replay(data: SiaOracle, policy: Policy[Any, Any]) -> dict[str, int]:
    """Return the start slot of each job under `policy`; raises RuleBroken if jobs wait forever."""

    def decide(view: PoolsView) -> tuple[Iterable[str], float | None]:
        decision: Start = policy.decide(view)
        if decision.interrupted:
            raise RuleBroken(f"job {decision.interrupted[0]} is interrupted at {view.now}: here jobs run to their end")
        return decision.starts, decision.wake_at

    return run_events(data, {pool.name: OrderedDict() for pool in data.pools}, decide, type(policy).__name__)


def run_events(data: SiaOracle | SiaLocalOracle, queues: Queues, decide: Decide, name: str) -> dict[str, int]:
    """Return the start slot of each job; `queues` contains the waiting jobs during the run.

    - `decide`: the decisions of the policy `name`; it may remove the jobs that start from their queues.

    Raises RuleBroken if jobs wait forever.
    """
    quota = {pool.name: pool.gpus for pool in data.pools}
    used = dict.fromkeys(quota, 0)
    running: dict[str, RunningJob] = {}
    shown = MappingProxyType({pool: MappingProxyType(queue) for pool, queue in queues.items()})
    view = PoolsView(
        0, data.capacity, MappingProxyType(quota), MappingProxyType(used), shown, MappingProxyType(running)
    )
    jobs: Iterable[AnyJob] = data.jobs
    coming = sorted(jobs, key=lambda job: job.submit)[::-1]  # the next job is last; ties in the order of the data
    ending: list[tuple[int, int, AnyJob]] = []
    wake_at: float | None = None
    starts: dict[str, int] = {}
    waiting: dict[str, AnyJob] = {}
    while coming or ending or waiting:
        moments = [
            moment
            for moment in (coming[-1].submit if coming else None, ending[0][0] if ending else None, wake_at)
            if moment is not None
        ]
        if not moments:
            raise _stuck(name, next(iter(waiting)), view.now)
        now = int(min(moments))
        quiet = not coming and not ending  # the policy was called by its own timer, and no events remain
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
        started, again = decide(view)
        for id in tuple(started):  # a copy, because it may be the queue itself
            job = waiting.pop(id)
            queues[job.pool].pop(id, None)
            view.idle -= job.gpus
            used[job.pool] += job.gpus
            starts[id] = now
            running[id] = RunningJob(job, now)
            heappush(ending, (now + job.duration, len(starts), job))
        if quiet and not ending and waiting:
            raise _stuck(name, next(iter(waiting)), now)
        if again is not None and waiting:
            wake_at = max(now + 1, -int(-again // 1))
    return starts


def _stuck(policy: str, job: str, now: float) -> RuleBroken:
    return RuleBroken(f"job {job} is left waiting by policy {policy} at {now}: nothing runs and nothing is to come")
