"""What is recorded of a run of Eva's cloud: tables, totals over time, and the laws that every run obeys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Any

import pandas as pd

from experiments.simulator.eva.parts import ROUNDING, CloudInstance, CloudJobState
from experiments.simulator.fleet import Fleet
from experiments.simulator.kernel import Calendar
from instances.eva import EvaCloud
from instances.online import RuleBroken

SECONDS = 3600.0
TOLERANCE = 1e-6  # relative, of sums of floats


class CloudRecords:
    """Records of a cloud: integrals over time of what is billed and what is in use, and a row a round."""

    def __init__(self, data: EvaCloud, calendar: Calendar, fleet: Fleet, jobs: Sequence[CloudJobState]) -> None:
        self._data, self._calendar, self._fleet, self._jobs = data, calendar, fleet, jobs
        self.ordered = 0  # instances
        self._since = 0.0
        self._up = self._active = 0  # instances that are billed, tasks that are launched
        resources = len(data.resources)
        self._there, self._used = [0] * resources, [0] * resources
        self.instance_seconds = self.task_seconds = 0.0
        self._there_seconds, self._used_seconds = [0.0] * resources, [0.0] * resources
        self.timeline: list[tuple[float, int, int, int]] = []
        self._lives: list[tuple[int, float]] = []

    def next_id(self) -> str:
        """The id of an instance that is ordered: the instances are numbered."""
        self.ordered += 1
        return str(self.ordered - 1)

    def count(self, instance: CloudInstance, change: int) -> None:
        """An instance begins (1) or ceases (-1) to be billed."""
        self._integrate()
        self._up += change
        capacity = instance.capacity
        self._there = [t + change * c for t, c in zip(self._there, capacity, strict=True)]

    def end(self, instance: CloudInstance, billed_seconds: float) -> None:
        """An instance has ended its life."""
        self.count(instance, -1)
        self._lives.append((instance.kind, billed_seconds))

    def activate(self, need: list[int], change: int) -> None:
        """A task of such a demand begins (1) or ceases (-1) to run."""
        self._integrate()
        self._active += change
        self._used = [u + change * d for u, d in zip(self._used, need, strict=True)]

    def round(self, jobs: Iterable[CloudJobState]) -> None:
        """A round has passed, with `jobs` unfinished."""
        waiting = [job.launched_since for job in jobs].count(None)
        self.timeline.append((self._calendar.now, self._up, self._active, waiting))

    def _integrate(self) -> None:
        now = self._calendar.now
        passed = now - self._since
        if passed:
            self._since = now
            self.instance_seconds += passed * self._up
            self.task_seconds += passed * self._active
            for r, (there, used) in enumerate(zip(self._there, self._used, strict=True)):
                self._there_seconds[r] += passed * there
                self._used_seconds[r] += passed * used

    def jobs_table(self) -> pd.DataFrame:
        """One row a job in order of arrival, times in seconds; `NaN` for what has not happened.

        `delay`: all that it was there without its tasks launched; `run`: making progress; `moves`: times it was moved.
        """
        rows = []
        for job in self._jobs:
            jct = None if job.end is None else job.end - job.arrival
            delay = None if jct is None else jct - job.launched_for
            rows.append(
                (job.id, job.arrival, job.end, job.duration, len(job.tasks), delay, jct, job.run_for, job.moves)
            )
        columns = ["job", "submit", "end", "duration", "tasks", "delay", "jct", "run", "moves"]
        return pd.DataFrame(rows, columns=columns)

    def timeline_table(self) -> pd.DataFrame:
        """One row a round: seconds, instances that are billed, tasks that are launched, jobs not wholly launched."""
        return pd.DataFrame(self.timeline, columns=["time", "instances", "tasks", "waiting"])

    def lives_table(self) -> pd.DataFrame:
        """One row an instance in the order in which they ended: its type, and seconds for which it was billed."""
        rows = [(self._data.instance_types[kind].name, seconds) for kind, seconds in self._lives]
        return pd.DataFrame(rows, columns=["type", "seconds"])

    def totals(self) -> dict[str, Any]:
        """What the world is about: the bill, and what it was for."""
        self._integrate()
        done = [job for job in self._jobs if job.end is not None and job.run_for]
        found: dict[str, Any] = {
            "cost_usd": self._fleet.bill,
            "migrations": sum(job.moves for job in self._jobs),
            "instances_launched": self.ordered,
            "tasks_per_instance": self.task_seconds / self.instance_seconds if self.instance_seconds else None,
            "mean_throughput": fsum(job.work / job.run_for for job in done) / len(done) if done else None,
        }
        for r, name in enumerate(self._data.resources):
            there = self._there_seconds[r]
            found[f"mean_allocation_{name}"] = self._used_seconds[r] / there if there else None
        return found

    def check(self, there: Iterable[CloudInstance]) -> None:
        """Refuse a run that broke a law, with instances `there` at the end: RuleBroken says which one, and when."""
        now = self._calendar.now
        for job in self._jobs:
            if job.end is None:
                raise RuleBroken(f"job {job.id} is not done at {now}")
            if not -1.0 <= job.left <= ROUNDING * job.work:  # the last second may do more than was left
                raise RuleBroken(f"job {job.id} has ended at {job.end} with {job.left} of {job.work} s of work left")
            if job.run_for < job.work * (1 - TOLERANCE):
                raise RuleBroken(f"job {job.id} has done {job.work} s of work in {job.run_for} s by {job.end}")
        for instance in there:
            raise RuleBroken(f"instance {instance.id} is still there at {now}")
        if self._up or self._active or any(self._there) or any(self._used):
            raise RuleBroken(f"{self._up} instances are billed and {self._active} tasks run at {now}, after all jobs")
        lives = fsum(self._data.instance_types[kind].usd_per_hour * life / SECONDS for kind, life in self._lives)
        bill = self._fleet.bill
        if abs(bill - lives) > TOLERANCE * max(1.0, bill):
            raise RuleBroken(f"the bill is {bill} USD at {now}, the instances' lives cost {lives}")
