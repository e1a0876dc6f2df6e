"""The world of SIA: pools of identical GPUs, and jobs that hold a fixed number of them until a policy interrupts them.

GPUs are fungible across pools (section 5.5 adds locality, which is not simulated). A policy gets a
`instances.sia.online.PoolsView` and answers with a `Start`. An interrupted job keeps its progress and needs additional
time for a restart, but never more than if it began again.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd

from experiments.simulator.kernel import Activity, Calendar, Integrals, Records, Time, World, refuse_unequal
from instances.online import RuleBroken
from instances.sia import SiaOracle
from instances.sia.online import PoolsView, QueuedJob, RunningJob, Start

COMPLETION, SUBMISSION = range(2)  # the order of simultaneous events
RESTART_MINUTES = 5.0
"""Default time that an interrupted job needs to load its state again."""
JOB_COLUMNS = ("job", "pool", "submit", "start", "end", "duration", "gpus", "delay", "jct")


class PoolsWorld(World["PoolsRecords"]):
    """`quota`: GPUs of each pool; `jobs`: (id, pool, submit, duration, gpus) and an optional cut-off.

    `restart`: additional time that a job needs for each interruption.

    The timeline is kept only with `record_timeline`. Raises RuleBroken for a job of an unknown pool or wider than all
    pools together.
    """

    def __init__(
        self,
        quota: Mapping[str, int],
        jobs: Iterable[tuple[Any, ...]],
        *,
        record_timeline: bool = True,
        restart: Time = 0,
    ) -> None:
        super().__init__()
        self.quota, self.restart = dict(quota), restart
        self.capacity = sum(self.quota.values())
        self.jobs: dict[str, QueuedJob] = {}
        for job in (QueuedJob(*fields) for fields in jobs):
            if job.pool not in self.quota:
                raise RuleBroken(f"job {job.id} is of an unknown pool, {job.pool}")
            if job.gpus > self.capacity:
                raise RuleBroken(f"job {job.id} needs {job.gpus} GPUs of {self.capacity}")
            if job.id in self.jobs:
                raise RuleBroken(f"job {job.id} occurs twice")
            self.jobs[job.id] = job
        arrivals = sorted(self.jobs.values(), key=lambda job: job.submit)
        self.records = PoolsRecords(self.calendar, self.jobs, tuple(self.quota), record_timeline)
        self._place = {job.id: k for k, job in enumerate(arrivals)}
        self._used = dict.fromkeys(self.quota, 0)
        self._queues: dict[str, OrderedDict[str, QueuedJob]] = {pool: OrderedDict() for pool in self.quota}
        self._running: dict[str, RunningJob] = {}
        self._work: dict[str, Activity] = {}
        self._arrived: list[QueuedJob] = []
        self._finished: list[QueuedJob] = []
        self._view = PoolsView(
            0,
            self.capacity,
            MappingProxyType(self.quota),
            MappingProxyType(self._used),
            MappingProxyType({pool: MappingProxyType(queue) for pool, queue in self._queues.items()}),
            MappingProxyType(self._running),
        )
        self._waiting = self._held = 0
        for job in arrivals:
            self.calendar.at(job.submit, partial(self._submit, job), rank=SUBMISSION)

    @classmethod
    def of(
        cls, data: SiaOracle, *, record_timeline: bool = True, restart_minutes: float = RESTART_MINUTES
    ) -> PoolsWorld:
        """Build the pools and jobs of an instance, with slots as the clock's unit, and a restart in integer slots."""
        jobs = (
            (job.id, job.pool, job.submit, job.duration, job.gpus, cutoff)
            for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)
        )
        pools, restart = {pool.name: pool.gpus for pool in data.pools}, math.ceil(restart_minutes / data.slot_minutes)
        return cls(pools, jobs, record_timeline=record_timeline, restart=restart)

    def view(self) -> PoolsView:
        self._view.now = self.calendar.now
        self._view.idle = self.capacity - self._held
        self._view.arrived, self._view.finished = tuple(self._arrived), tuple(self._finished)
        return self._view

    def apply(self, decision: Start) -> None:
        self._arrived.clear()
        self._finished.clear()
        for name in decision.interrupted:
            self._interrupt(name)
        for name in tuple(decision.starts):  # it may be the queue itself
            self._start(name)
        self.records.moment(self._held, self._used.values(), self._waiting)

    def waiting(self) -> str | None:
        if not self._waiting:
            return None
        return "job " + next(name for queue in self._queues.values() for name in queue)

    def _submit(self, job: QueuedJob) -> None:
        self._queues[job.pool][job.id] = job
        self._arrived.append(job)
        self._waiting += 1

    def _start(self, name: str) -> None:
        job, now = self.jobs.get(name), self.calendar.now
        if job is None:
            raise RuleBroken(f"job {name} is started at {now} but does not exist")
        if name in self.records.start and name not in self._queues[job.pool]:
            raise RuleBroken(f"job {name} is started at {now} and was at {self.records.start[name]} before")
        if name not in self._queues[job.pool]:
            raise RuleBroken(f"job {name} is started at {now}, before its submission at {job.submit}")
        if job.gpus > self.capacity - self._held:
            idle = self.capacity - self._held
            raise RuleBroken(f"job {name} is started at {now} on {job.gpus} GPUs, {idle} are idle")
        queued = self._queues[job.pool].pop(name)
        self._waiting -= 1
        self._hold(job, job.gpus)
        self.records.begin(name)
        self._running[name] = RunningJob(queued, now)
        self._work[name] = Activity(self.calendar, queued.duration, partial(self._complete, job), rank=COMPLETION)
        self._work[name].set_rate(1)

    def _interrupt(self, name: str) -> None:
        running, now = self._running.pop(name, None), self.calendar.now
        if running is None:
            raise RuleBroken(f"job {name} is interrupted at {now} and does not run")
        job, work = self.jobs[name], self._work.pop(name)
        work.stop()
        self._hold(job, -job.gpus)
        self.records.interrupt(name)
        queue = self._queues[job.pool]
        queue[name] = replace(job, duration=min(work.left + self.restart, job.duration))
        for other in [other for other in queue if self._place[other] > self._place[name]]:
            queue.move_to_end(other)
        self._waiting += 1

    def _complete(self, job: QueuedJob) -> None:
        del self._running[job.id], self._work[job.id]
        self._hold(job, -job.gpus)
        self.records.complete(job.id)
        self._finished.append(job)

    def _hold(self, job: QueuedJob, more: int) -> None:
        """Record that a job holds `more` GPUs than before, fewer if negative."""
        self.records.gpu_time.add(self.calendar.now, (self._held,))
        self._held += more
        self._used[job.pool] += more


class PoolsRecords(Records):
    """Starts, ends and interruptions of jobs, and the held GPUs.

    `timeline`: (time, GPUs in use, GPUs held by each pool's jobs, jobs waiting) after each decision, if it is recorded.
    """

    def __init__(
        self, calendar: Calendar, jobs: Mapping[str, QueuedJob], pools: Sequence[str], record_timeline: bool
    ) -> None:
        self._calendar, self._jobs, self._pools = calendar, jobs, pools
        self.start: dict[str, Time] = {}
        self.end: dict[str, Time] = {}
        self.interruptions: dict[str, int] = {}
        self.timeline: list[tuple[Time, int, tuple[int, ...], int]] | None = [] if record_timeline else None
        self._since: dict[str, Time] = {}  # of jobs that run
        self._ran: dict[str, Time] = {}
        self.gpu_time = Integrals(1)
        self._held = 0

    def begin(self, job: str) -> None:
        """Record that a job begins to run."""
        self._since[job] = self._calendar.now
        self.start.setdefault(job, self._calendar.now)

    def interrupt(self, job: str) -> None:
        """Record that an unfinished job ceases to run."""
        self._ran[job] = self._ran.get(job, 0) + self._calendar.now - self._since.pop(job)
        self.interruptions[job] = self.interruptions.get(job, 0) + 1

    def complete(self, job: str) -> None:
        """Record the end of a job."""
        self.end[job] = self._calendar.now
        self._ran[job] = self._ran.get(job, 0) + self._calendar.now - self._since.pop(job)

    def moment(self, held: int, used: Iterable[int], waiting: int) -> None:
        """Record the state after a decision: GPUs in use, GPUs held by each pool's jobs, and waiting jobs."""
        self._held = held
        if self.timeline is not None:
            self.timeline.append((self._calendar.now, held, tuple(used), waiting))

    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job in order of submission: JOB_COLUMNS in the clock's unit; `NaN` if not yet known."""
        table = pd.DataFrame(
            [
                (j.id, j.pool, j.submit, self.start.get(j.id), self.end.get(j.id), j.duration, j.gpus)
                for j in self._jobs.values()
            ],
            columns=list(JOB_COLUMNS[:7]),
        )
        table["delay"] = table["start"] - table["submit"]
        table["jct"] = table["end"] - table["submit"]
        if self.interruptions:  # all time beyond the job's own duration is delay as well
            again = table["job"].isin(list(self.interruptions))
            table.loc[again, "delay"] = table["jct"] - table["duration"]
        return table.sort_values("submit", kind="stable").reset_index(drop=True)

    def timeline_table(self) -> pd.DataFrame:
        """Return one row per decision: time, GPUs in use, GPUs held by each pool's jobs (`used POOL`), jobs waiting."""
        rows = self.timeline or []
        table = pd.DataFrame({"time": [r[0] for r in rows], "in_use": [r[1] for r in rows]})
        for i, pool in enumerate(self._pools):
            table[f"used {pool}"] = [r[2][i] for r in rows]
        table["waiting"] = [r[3] for r in rows]
        return table

    def totals(self) -> dict[str, Any]:
        """Return the number of interruptions, if any; the other measures are the jobs' times."""
        return {"interruptions": sum(self.interruptions.values())} if self.interruptions else {}

    def check(self) -> None:
        """Check that the GPU time in use equals that of the jobs, and that all GPUs are idle after the last job."""
        now = self._calendar.now
        self.gpu_time.add(now, (self._held,))
        ran = {name: now - since for name, since in self._since.items()}
        held = sum(self._jobs[name].gpus * span for name, span in (*self._ran.items(), *ran.items()))
        (used,) = self.gpu_time.totals
        refuse_unequal(used, held, f"GPUs were in use for {used}, the jobs held them for {held}")
        if not self._calendar and self._held:
            raise RuleBroken(f"{self._held} GPUs are in use at {now}, after all jobs")


class Scripted:
    """A policy that starts each job at its time in `starts`."""

    def __init__(self, starts: Mapping[str, float]) -> None:
        self._coming = sorted(starts.items(), key=lambda item: item[1], reverse=True)

    def decide(self, view: PoolsView) -> Start:
        begun = []
        while self._coming and self._coming[-1][1] <= view.now:
            begun.append(self._coming.pop()[0])
        return Start(begun, self._coming[-1][1] if self._coming else None)
