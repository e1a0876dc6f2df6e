"""The state of Eva's cloud world: tasks, jobs and instances, and the interference between tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import fsum
from typing import Any

import numpy as np
import pandas as pd

from experiments.simulator.kernel import (
    HOUR,
    TOLERANCE,
    Activity,
    Calendar,
    Event,
    Fleet,
    Integrals,
    Records,
    Time,
    refuse_unequal,
)
from instances.eva import EvaCloud, TaskClass, Throughput
from instances.eva.cloud_arrays import work_seconds
from instances.eva.learned import Observation
from instances.online import RuleBroken


class TaskPhase(IntEnum):
    """The phase of a task in its life cycle."""

    WAITING = 0  # on no instance: new, or with a checkpoint in storage
    LOADING = 1  # occupies capacity of its instance while it is fetched and built
    LAUNCHED = 2
    ENDING = 3  # ordered to stop: it works until it is killed
    SAVING = 4  # killed, occupies capacity until its checkpoint is saved
    FINISHED = 5


@dataclass(slots=True, eq=False)
class CloudTask:
    """A task. `target`: its instance in the configuration; `host`: the instance whose capacity it occupies."""

    id: str
    job: CloudJobState
    kind: TaskClass
    class_index: int
    phase: TaskPhase = TaskPhase.WAITING
    active: bool = False  # it slows its neighbours down
    rate: float = 1.0  # its throughput while it is active
    target: CloudInstance | None = None
    host: CloudInstance | None = None
    seen_launch: bool = False
    seen_upload: bool = False

    @property
    def observed(self) -> float:
        """Return the observed throughput of its job, relative to the job alone, computed from iterations if counted."""
        rate, alone = self.job.observed or 0.0, self.kind.iterations_per_second
        return rate if alone is None else min(1.0, rate * alone / alone)


@dataclass(slots=True, eq=False)
class CloudJobState:
    """A job. It makes progress since `active_since`; `pinned`: it is being launched, and no policy may move it."""

    index: int
    id: str
    arrival: int
    duration: float
    work_seconds: float
    init: int
    tasks: list[CloudTask] = field(default_factory=list)
    work: Activity = field(init=False)
    pinned: bool = False
    launchable: bool = True
    active_since: Time | None = None
    observed: float | None = None  # minimum throughput of its active tasks
    start: Event | None = None
    end: Time | None = None
    launched_since: Time | None = None
    launched_for: Time = 0
    run_for: Time = 0
    moves: int = 0


@dataclass(slots=True, eq=False)
class CloudInstance:
    """A rented instance. `hosted`: tasks that occupy its capacity; `planned`: its tasks in the configuration."""

    id: str
    kind: int
    capacity: list[int]
    free: list[int] = field(init=False)
    ready: bool = False
    given_up: bool = False
    billed_since: Time | None = None
    hosted: dict[str, CloudTask] = field(default_factory=dict)
    planned: dict[str, CloudTask] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)
    setup: Event | None = None

    def __post_init__(self) -> None:
        self.free = list(self.capacity)

    @property
    def observation(self) -> tuple[Observation, ...]:
        """Return one observation per hosted task; empty if one of the tasks has no throughput yet."""
        tasks = list(self.hosted.values())
        if not all(task.job.observed for task in tasks):
            return ()
        names = [task.kind.name for task in tasks]
        return tuple(
            Observation(
                task.kind.name,
                tuple(sorted(names[:i] + names[i + 1 :])),
                task.observed,
                task.job.id,
                len(task.job.tasks),
            )
            for i, task in enumerate(tasks)
        )


class TrueThroughput:
    """The interference of workloads: the throughput of a task is the product over the other tasks (section 4.3).

    With `larger_sets`, this holds for two tasks, and the data of `larger_sets` apply to three and more.
    """

    def __init__(self, data: EvaCloud) -> None:
        names = sorted({c.workload for c in data.classes})
        place = {name: i for i, name in enumerate(names)}
        larger = data.larger_sets
        self._pair = _pairs(data.throughput, place)
        self._larger = self._pair if larger is None else _pairs(larger.throughput, place)
        self._most = 0 if larger is None else larger.most_tasks
        self._listed = {} if larger is None else {place[name]: i for i, name in enumerate(larger.listed)}
        self._named = {} if larger is None else {place[name]: i for i, name in enumerate(larger.named)}
        self._workload = [place[c.workload] for c in data.classes]
        self._known: dict[tuple[int, ...], dict[int, float]] = {}

    def of(self, classes: list[int]) -> list[float]:
        """Return the throughput of each task on one instance, given the tasks' classes."""
        if len(classes) == 1:
            return [1.0]
        workloads = [self._workload[c] for c in classes]
        together = tuple(sorted(workloads))
        rates = self._known.get(together)
        if rates is None:
            rates = self._known[together] = self._rates(together)
        return [rates[workload] for workload in workloads]

    def _rates(self, together: tuple[int, ...]) -> dict[int, float]:
        """Return the throughput of each workload if these share an instance."""
        if not 3 <= len(together) <= self._most:
            return dict(zip(together, _products(together, self._pair), strict=True))
        listed = sorted(together, key=self._listed.__getitem__)
        named = sorted(together, key=self._named.__getitem__)
        return dict(zip(named, _products(listed, self._larger), strict=True))


def _pairs(throughput: Throughput, place: Mapping[str, int]) -> list[list[float]]:
    """Return the matrix of the throughput of each workload next to each other one, by index."""
    pair = np.full((len(place), len(place)), throughput.default)
    for name, beside, value in throughput.pairwise:
        pair[place[name], place[beside]] = value
    found: list[list[float]] = pair.tolist()
    return found


def _products(workloads: Sequence[int], pair: list[list[float]]) -> list[float]:
    """Return for each workload the product of its throughputs next to the others."""
    found = []
    for i, workload in enumerate(workloads):
        rate, row = 1.0, pair[workload]
        for j, other in enumerate(workloads):
            if j != i:
                rate *= row[other]
        found.append(rate)
    return found


def jobs_of(data: EvaCloud) -> list[CloudJobState]:
    """Return the jobs of a workload in order of arrival."""
    places = {c.name: i for i, c in enumerate(data.classes)}
    found: list[CloudJobState] = []
    for job in sorted(data.jobs, key=lambda job: job.arrival_seconds):
        classes = [data.classes[places[name]] for name, k in job.tasks.items() for _ in range(k)]
        work = work_seconds(job, classes[0])
        init = whole(max(c.init_seconds for c in classes))
        state = CloudJobState(len(found), job.id, whole(job.arrival_seconds), job.duration_seconds, work, init)
        state.tasks = [CloudTask(f"{job.id}/{i}", state, c, places[c.name]) for i, c in enumerate(classes)]
        found.append(state)
    return found


def whole(seconds: float) -> int:
    """Round up to an integer number of seconds."""
    return math.ceil(seconds)


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

    def create_id(self) -> str:
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
