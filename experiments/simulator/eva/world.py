"""Eva's cloud world: instances are rented for jobs that arrive, and every period the configuration may change.

A job that arrives at the second of a round is in that round, and so is one that completes at that second.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pandas as pd

from experiments.simulator.eva.cloud import Cloud
from experiments.simulator.eva.configuration import Change, change
from experiments.simulator.eva.parts import whole
from experiments.simulator.kernel import Calendar
from instances.eva import EvaCloud, EvaPacking
from instances.eva.learned import LearnedThroughput, Observation
from instances.eva.online import Configuration, InstanceState, JobState, TaskState, View
from instances.online import RuleBroken

SLOWEST = 0.01  # share of its full speed up to which a job makes no progress that anyone would wait for
PATIENCE = 2_000  # rounds that may pass, with jobs there, in which none of them makes progress


class CloudWorld:
    """An `eva-cloud` workload. The engine's calendar has the rounds; the cloud's own has every event."""

    def __init__(self, data: EvaCloud) -> None:
        self.data = data
        self.cloud = Cloud(data)
        self._period = whole(data.period_seconds)
        self._types = MappingProxyType({kind.name: kind for kind in data.instance_types})
        self._classes = MappingProxyType({c.name: c for c in data.classes})
        self._learned = LearnedThroughput(data.believed_throughput)
        self._observed: dict[str, tuple[Observation, ...]] = {}
        self._jobs: dict[str, JobState] = {}
        self._tasks: dict[str, TaskState] = {}
        self._instances: dict[str, InstanceState] = {}
        self._last: dict[Any, EvaPacking] = {}
        self._version = 0
        self._idle_rounds = 0

    def open(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._calendar.at(0, self._round)

    def _round(self) -> None:
        self.cloud.go_to(self._calendar.now)

    def view(self) -> View:
        cloud = self.cloud
        if cloud.changed_tasks or cloud.changed_instances:
            self._version += 1
            self._refresh()
        if cloud.stale:
            self._observe()
            self._learned.note(self._observed[name] for name in cloud.instances if name in self._observed)
        else:
            self._learned.note_again()
        return View(
            now=cloud.now,
            resources=self.data.resources,
            instance_types=self._types,
            classes=self._classes,
            jobs=MappingProxyType(self._jobs),
            tasks=MappingProxyType(self._tasks),
            instances=MappingProxyType(self._instances),
            learned=self._learned,
            version=self._version,
            arrived=tuple(cloud.arrived),
            finished=dict(cloud.finished),
            last=self._last,
        )

    def apply(self, decision: Configuration) -> None:
        """Let a configuration take effect, and plan the next round: none where nobody is there until a job arrives."""
        cloud = self.cloud
        if decision.wake_at is not None:
            raise RuleBroken(
                f"the policy asks at {cloud.now} to be woken at {decision.wake_at}; rounds are every period"
            )
        cloud.arrived.clear()
        cloud.finished.clear()
        over = not cloud.to_come and not cloud.jobs
        if over or decision.instances is not None:
            self._let(change(cloud, () if over else decision.instances or ()))
        cloud.settle()
        cloud.records.round(cloud.jobs.values())
        self._refuse_standstill()
        if cloud.jobs or cloud.instances:
            self._calendar.at(cloud.now + self._period, self._round)
        elif cloud.to_come:
            self._calendar.at(-(-cloud.calendar.next_moment // self._period) * self._period, self._round)

    def waiting(self) -> str | None:
        return next((f"job {name}" for name, job in self.cloud.jobs.items() if job.tasks[0].target is None), None)

    def close(self) -> None:
        """All work is done, nothing is rented any more, and the bill is that of the instances' lives."""
        self.cloud.records.check(self.cloud.instances.values())

    def jobs_table(self) -> pd.DataFrame:
        """One row a job, see `CloudRecords.jobs_table`."""
        return self.cloud.records.jobs_table()

    def timeline_table(self) -> pd.DataFrame:
        """One row a round, see `CloudRecords.timeline_table`."""
        return self.cloud.records.timeline_table()

    def lives_table(self) -> pd.DataFrame:
        """One row a rented instance, see `CloudRecords.lives_table`."""
        return self.cloud.records.lives_table()

    def totals(self) -> dict[str, Any]:
        """The bill, and what it was for, see `CloudRecords.totals`."""
        return self.cloud.records.totals()

    def _let(self, found: Change) -> None:
        for instance in found.rented:
            self.cloud.order(instance)
        for instance in found.given_up:
            self.cloud.give_up(instance)
        for instance, names in found.planned:
            instance.planned = {name: self.cloud.tasks[name] for name in names}
            self.cloud.changed_instances[instance.id] = instance
        for job, targets in found.moved:
            self.cloud.move(job, targets)

    def _refuse_standstill(self) -> None:
        """Where nothing is under way, jobs are moved for ever, or all stop each other, a run would not end."""
        cloud = self.cloud
        if not cloud.jobs or any(job.active and job.rate > SLOWEST for job in cloud.jobs.values()):
            self._idle_rounds = 0
            return
        self._idle_rounds += 1
        name, job = next(iter(cloud.jobs.items()))
        if self._idle_rounds > 1 and not job.active and not len(cloud.calendar):
            raise RuleBroken(f"job {name} is left waiting at {cloud.now} with nothing to come")
        if self._idle_rounds > PATIENCE:
            how = f"at more than {SLOWEST:.0%} of its speed " if any(job.active for job in cloud.jobs.values()) else ""
            raise RuleBroken(f"job {name} has not run {how}at {cloud.now}, and no other has for {PATIENCE} rounds")

    def _refresh(self) -> None:
        """Bring up to date the states of what has changed since the last round."""
        for task in self.cloud.changed_tasks.values():
            job = task.job
            if job.end is not None:
                self._tasks.pop(task.id, None)
                self._jobs.pop(job.id, None)
                continue
            self._tasks[task.id] = TaskState(
                task.id,
                job.id,
                task.kind.name,
                None if task.target is None else task.target.id,
                job.pinned,
                task.active,
                task.seen_launch,
                task.seen_upload,
            )
            self._jobs[job.id] = JobState(
                job.id, job.arrival, job.duration, tuple(t.id for t in job.tasks), job.launched_for, job.launched_since
            )
        self.cloud.changed_tasks.clear()
        for instance in self.cloud.changed_instances.values():
            if instance.given_up:
                self._instances.pop(instance.id, None)
                continue
            self._instances[instance.id] = InstanceState(
                instance.id,
                self.data.instance_types[instance.kind].name,
                instance.ready,
                tuple(instance.planned),
                tuple(name for name in instance.hosted if name not in instance.planned),
            )
        self.cloud.changed_instances.clear()

    def _observe(self) -> None:
        """Bring up to date what is observed of the instances where a speed or a task has changed."""
        for name, instance in self.cloud.stale.items():
            found = instance.observation if name in self.cloud.instances else ()
            if found:
                self._observed[name] = found
            else:
                self._observed.pop(name, None)
        self.cloud.stale.clear()
