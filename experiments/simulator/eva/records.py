"""Records of a run of Eva's cloud: tables, totals over time, and the invariants of every run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Any

import pandas as pd

from experiments.simulator.eva.state import CloudInstance, CloudJobState
from experiments.simulator.kernel import HOUR, TOLERANCE, Calendar, Fleet, Integrals, Records, refuse_unequal
from instances.eva import EvaCloud
from instances.online import RuleBroken


class CloudRecords(Records):
    """Records of a cloud: time integrals of billed and used amounts, and one row per round."""

    def __init__(self, data: EvaCloud, calendar: Calendar, fleet: Fleet, jobs: Sequence[CloudJobState]) -> None:
        self._data, self._calendar, self._fleet, self.jobs = data, calendar, fleet, jobs
        self.ordered = 0  # instances
        self._amounts = [0] * (2 + 2 * len(data.resources))
        """Instances that are billed, tasks that are launched, and of each resource what is there and what is in use."""
        self._integrals = Integrals(len(self._amounts))
        self.timeline: list[tuple[float, int, int, int]] = []
        self._lives: list[tuple[int, float]] = []

    def next_id(self) -> str:
        """Return the id of a newly ordered instance, its number."""
        self.ordered += 1
        return str(self.ordered - 1)

    def count(self, instance: CloudInstance, change: int) -> None:
        """Record that an instance begins (1) or ceases (-1) to be billed."""
        self._change(0, change, instance.capacity)

    def end(self, instance: CloudInstance, billed_seconds: float) -> None:
        """Record the end of an instance."""
        self.count(instance, -1)
        self._lives.append((instance.kind, billed_seconds))

    def activate(self, need: list[int], change: int) -> None:
        """Record that a task with demand `need` begins (1) or ceases (-1) to run."""
        self._change(1, change, need)

    def round(self, jobs: Iterable[CloudJobState]) -> None:
        """Record a round, with the unfinished `jobs`."""
        waiting = [job.launched_since for job in jobs].count(None)
        instances, tasks = self._amounts[:2]
        self.timeline.append((self._calendar.now, instances, tasks, waiting))

    def _change(self, first: int, change: int, amounts: Sequence[int]) -> None:
        """Count one instance or task more (1) or less (-1), and its amount of each resource."""
        self._integrals.add(self._calendar.now, self._amounts)
        self._amounts[first] += change
        for r, amount in enumerate(amounts):
            self._amounts[2 + 2 * r + first] += change * amount

    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job in order of arrival, times in seconds; `NaN` for events that have not happened.

        `delay`: total time before the end in which its tasks were not launched; `run`: time with progress; `moves`:
        number of moves.
        """
        rows = []
        for job in self.jobs:
            jct = None if job.end is None else job.end - job.arrival
            delay = None if jct is None else jct - job.launched_for
            rows.append(
                (job.id, job.arrival, job.end, job.duration, len(job.tasks), delay, jct, job.run_for, job.moves)
            )
        columns = ["job", "submit", "end", "duration", "tasks", "delay", "jct", "run", "moves"]
        return pd.DataFrame(rows, columns=columns)

    def timeline_table(self) -> pd.DataFrame:
        """Return one row per round: seconds, billed instances, launched tasks, and jobs not fully launched."""
        return pd.DataFrame(self.timeline, columns=["time", "instances", "tasks", "waiting"])

    def lives_table(self) -> pd.DataFrame:
        """Return one row per instance in the order of their ends: its type, and its billed seconds."""
        rows = [(self._data.instance_types[kind].name, seconds) for kind, seconds in self._lives]
        return pd.DataFrame(rows, columns=["type", "seconds"])

    def totals(self) -> dict[str, Any]:
        """Return the bill and the use of the rented instances."""
        self._integrals.add(self._calendar.now, self._amounts)
        instance_seconds, task_seconds, *resources = self._integrals.totals
        done = [job for job in self.jobs if job.end is not None and job.run_for]
        found: dict[str, Any] = {
            "cost_usd": self._fleet.bill,
            "migrations": sum(job.moves for job in self.jobs),
            "instances_launched": self.ordered,
            "tasks_per_instance": task_seconds / instance_seconds if instance_seconds else None,
            "mean_throughput": fsum(job.work_seconds / job.run_for for job in done) / len(done) if done else None,
        }
        for name, there, used in zip(self._data.resources, resources[::2], resources[1::2], strict=True):
            found[f"mean_allocation_{name}"] = used / there if there else None
        return found

    def check(self) -> None:
        """Check that all work is done, all rentals have ended, and the bill matches the instances' lifetimes."""
        now = self._calendar.now
        for job in self.jobs:
            if job.end is None:
                raise RuleBroken(f"job {job.id} is not done at {now}")
            work, left = job.work_seconds, job.work_seconds - job.work.worked
            if not -1.0 <= left <= TOLERANCE * work:  # the last second may do more than was left
                raise RuleBroken(f"job {job.id} has ended at {job.end} with {left} of {work} s of work left")
            if job.run_for < work * (1 - TOLERANCE):
                raise RuleBroken(f"job {job.id} has done {work} s of work in {job.run_for} s by {job.end}")
        if any(self._amounts):
            up, active = self._amounts[:2]
            raise RuleBroken(f"{up} instances are billed and {active} tasks run at {now}, after all jobs")
        lives = fsum(self._data.instance_types[kind].usd_per_hour * life / HOUR for kind, life in self._lives)
        bill = self._fleet.bill
        refuse_unequal(lives, bill, f"the bill is {bill} USD at {now}, the instances' lives cost {lives}")
