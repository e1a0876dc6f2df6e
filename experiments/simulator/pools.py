"""The world of SIA: pools of identical GPUs, jobs that hold a fixed number of them and run without interruption.

GPUs are fungible across pools (section 5.5 adds locality, which is not simulated). A policy gets a `PoolsView` and
answers with the jobs to start and, if it likes, when to be woken.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.simulator.kernel import Clock, Event, SimulationError, Time, Work

COMPLETION, SUBMISSION, WAKING = range(3)  # the order in which things happen at one moment


@dataclass(eq=False, slots=True)
class PoolJob:
    """A job in the simulation; `start` and `end` are `None` until they are known. Times in the clock's unit."""

    id: str
    pool: str
    submit: Time
    duration: Time
    gpus: int
    work: Work
    start: Time | None = None
    end: Time | None = None


@dataclass
class PoolsView:
    """What a policy sees: see `heuristics.sia.View`, of which this is one. It must not be changed."""

    now: Time
    idle: int
    quota: Mapping[str, int]
    used: dict[str, int]
    queues: Mapping[str, OrderedDict[str, PoolJob]]
    arrived: list[PoolJob] = field(default_factory=list)
    finished: list[PoolJob] = field(default_factory=list)


class PoolsWorld:
    """`quota`: GPUs of each pool; `jobs`: (id, pool, submit, duration, gpus).

    The timeline holds (time, GPUs in use, GPUs held by each pool's jobs, jobs waiting) after each moment; it is kept
    only with `record_timeline`. Raises SimulationError for a job of an unknown pool or wider than all pools together.
    """

    def __init__(
        self,
        quota: Mapping[str, int],
        jobs: Iterable[tuple[str, str, Time, Time, int]],
        *,
        record_timeline: bool = True,
    ) -> None:
        self.quota = dict(quota)
        self.capacity = sum(self.quota.values())
        self.jobs: dict[str, PoolJob] = {}
        for name, pool, submit, duration, gpus in jobs:
            if pool not in self.quota:
                raise SimulationError(f"job {name} is of an unknown pool, {pool}")
            if gpus > self.capacity:
                raise SimulationError(f"job {name} needs {gpus} GPUs of {self.capacity}")
            if name in self.jobs:
                raise SimulationError(f"job {name} occurs twice")
            self.jobs[name] = PoolJob(name, pool, submit, duration, gpus, Work(duration))
        queues: dict[str, OrderedDict[str, PoolJob]] = {pool: OrderedDict() for pool in self.quota}
        self._view = PoolsView(0, self.capacity, self.quota, dict.fromkeys(self.quota, 0), queues)
        self._waiting = 0
        self._gpu_time: float = 0
        self._last: Time = 0
        self._in_use = 0
        self._wake: Event | None = None
        self._asked_for = False  # whether the policy is asked because it wanted to be woken, and for nothing else
        self._seen = True
        self.timeline: list[tuple[Time, int, tuple[int, ...], int]] | None = [] if record_timeline else None

    def open(self, clock: Clock) -> None:
        for job in sorted(self.jobs.values(), key=lambda job: job.submit):
            clock.at(job.submit, lambda job=job: self._submit(job), rank=SUBMISSION)  # type: ignore[misc]

    def _submit(self, job: PoolJob) -> None:
        self._fresh()
        self._view.queues[job.pool][job.id] = job
        self._view.arrived.append(job)
        self._waiting += 1

    def _complete(self, job: PoolJob, clock: Clock) -> None:
        self._fresh()
        job.work.change_rate(0, clock.now)
        if abs(job.work.remaining) > 1e-6 * max(1.0, float(job.duration)):
            raise SimulationError(f"job {job.id} ends at {clock.now} with {job.work.remaining} of its work left")
        job.end = clock.now
        self._account(clock.now)
        self._in_use -= job.gpus
        self._view.idle += job.gpus
        self._view.used[job.pool] -= job.gpus
        self._view.finished.append(job)

    def _fresh(self) -> None:
        """Forget what the policy has been told of."""
        if self._seen:
            self._view.arrived.clear()
            self._view.finished.clear()
            self._seen = self._asked_for = False

    def _account(self, now: Time) -> None:
        self._gpu_time += self._in_use * (now - self._last)
        self._last = now

    def view(self, clock: Clock) -> PoolsView:
        self._view.now = clock.now
        return self._view

    def apply(self, decision: Any, clock: Clock) -> None:
        now = clock.now
        starts: Sequence[str] = tuple(decision.starts)  # it may be the queue itself
        if starts:
            self._account(now)
        for name in starts:
            self._start(name, clock)
        self._seen = True
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        if self._asked_for and not starts and not clock and not self._in_use:
            raise self._stuck(now)
        if decision.wake_at is not None and self._waiting:
            if not decision.wake_at > now:
                raise SimulationError(f"the policy asks at {now} to be woken at {decision.wake_at}")
            self._wake = clock.at(decision.wake_at, self._woken, rank=WAKING)
        if self.timeline is not None:
            self.timeline.append((now, self._in_use, tuple(self._view.used.values()), self._waiting))

    def _woken(self) -> None:
        self._fresh()
        self._wake = None
        self._asked_for = not (self._view.arrived or self._view.finished)

    def _stuck(self, now: Time) -> SimulationError:
        job = next(job for job in self.jobs.values() if job.start is None and job.submit <= now)
        return SimulationError(f"job {job.id} is left waiting at {now} with nothing to come")

    def _start(self, name: str, clock: Clock) -> None:
        job, now = self.jobs.get(name), clock.now
        if job is None:
            raise SimulationError(f"job {name} is started at {now} but does not exist")
        if job.start is not None:
            raise SimulationError(f"job {name} is started at {now} and was at {job.start} before")
        if job.submit > now:
            raise SimulationError(f"job {name} is started at {now}, before its submission at {job.submit}")
        if job.gpus > self._view.idle:
            raise SimulationError(f"job {name} is started at {now} on {job.gpus} GPUs, {self._view.idle} are idle")
        del self._view.queues[job.pool][name]
        self._waiting -= 1
        self._in_use += job.gpus
        self._view.idle -= job.gpus
        self._view.used[job.pool] += job.gpus
        job.start = now
        job.work.change_rate(1, now)
        end = job.work.done_at()
        assert end is not None
        clock.at(end, lambda: self._complete(job, clock), rank=COMPLETION)

    def close(self, clock: Clock) -> None:
        """All jobs done, all GPUs idle, and GPU time in use equal to that of the jobs."""
        self._account(clock.now)
        if not clock and self._waiting:
            raise self._stuck(clock.now)
        held = sum(job.gpus * ((clock.now if job.end is None else job.end) - job.start)
                   for job in self.jobs.values() if job.start is not None)  # fmt: skip
        if abs(held - self._gpu_time) > 1e-6 * max(1.0, float(held)):
            raise SimulationError(f"GPUs were in use for {self._gpu_time}, the jobs held them for {held}")
        if not clock and (self._view.idle != self.capacity or any(self._view.used.values())):
            raise SimulationError(f"{self.capacity - self._view.idle} GPUs are in use at {clock.now}, after all jobs")
