"""The state of Eva's cloud world: tasks, jobs and instances, and the interference between tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np

from experiments.simulator.kernel import Activity, Event, Time
from instances.eva import EvaCloud, TaskClass, Throughput
from instances.eva.cloud_arrays import work_seconds
from instances.eva.learned import Observation


class TaskPhase(IntEnum):
    """The phase of a task in its life cycle."""

    WAITING = 0  # on no instance: new, or with a checkpoint in storage
    LOADING = 1  # occupies capacity of its instance while it is fetched and built
    LAUNCHED = 2
    ENDING = 3  # ordered to stop: it works until it is killed
    SAVING = 4  # killed, occupies capacity until its checkpoint is saved
    FINISHED = 5


class CloudTask:
    """A task. `target`: its instance in the configuration; `host`: the instance whose capacity it occupies."""

    __slots__ = (
        "active",
        "class_index",
        "host",
        "id",
        "job",
        "kind",
        "phase",
        "rate",
        "seen_launch",
        "seen_upload",
        "target",
    )

    def __init__(self, id: str, job: CloudJobState, kind: TaskClass, class_index: int) -> None:
        self.id, self.job, self.kind, self.class_index = id, job, kind, class_index
        self.phase = TaskPhase.WAITING
        self.active = False  # it slows its neighbours down
        self.rate = 1.0  # its throughput while it is active
        self.target: CloudInstance | None = None
        self.host: CloudInstance | None = None
        self.seen_launch = self.seen_upload = False

    @property
    def observed(self) -> float:
        """Return the observed throughput of its job, relative to the job alone, computed from iterations if counted."""
        rate, alone = self.job.observed or 0.0, self.kind.iterations_per_second
        return rate if alone is None else min(1.0, rate * alone / alone)


class CloudJobState:
    """A job. It makes progress since `active_since`; `pinned`: it is being launched, and no policy may move it."""

    __slots__ = (
        "active_since", "arrival", "duration", "end", "id", "index", "init", "launchable", "launched_for",
        "launched_since", "moves", "observed", "pinned", "run_for", "start", "tasks", "work", "work_seconds",
    )  # fmt: skip

    work: Activity

    def __init__(self, index: int, id: str, arrival: int, duration: float, work_seconds: float, init: int) -> None:
        self.index, self.id, self.arrival, self.duration = index, id, arrival, duration
        self.work_seconds, self.init = work_seconds, init
        self.tasks: list[CloudTask] = []
        self.pinned = False
        self.launchable = True
        self.active_since: Time | None = None
        self.observed: float | None = None  # minimum throughput of its active tasks
        self.start: Event | None = None
        self.end: Time | None = None
        self.launched_since: Time | None = None
        self.launched_for: Time = 0
        self.run_for: Time = 0
        self.moves = 0


class CloudInstance:
    """A rented instance. `hosted`: tasks that occupy its capacity; `planned`: its tasks in the configuration."""

    __slots__ = (
        "billed_since",
        "capacity",
        "free",
        "given_up",
        "hosted",
        "id",
        "images",
        "kind",
        "planned",
        "ready",
        "setup",
    )

    def __init__(self, id: str, kind: int, capacity: list[int]) -> None:
        self.id, self.kind, self.capacity, self.free = id, kind, capacity, list(capacity)
        self.ready = self.given_up = False
        self.billed_since: Time | None = None
        self.hosted: dict[str, CloudTask] = {}
        self.planned: dict[str, CloudTask] = {}
        self.images: set[str] = set()
        self.setup: Event | None = None

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
