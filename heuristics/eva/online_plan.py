"""Configurations in the making: the order of jobs and instances, instances that go on as they are, and plans.

The order is the one in which the authors' artifact looks at jobs and instances: that of hash sets of their numbers.
Ties, and the order in which tasks that wait are placed, depend on it, and so does the bill, by a point or two. Jobs are
numbered as they arrive and instances as they are ordered. CPython iterates over a set of whole numbers by their
remainders, with exceptions that depend on what was added and removed before; so the sets here see what the artifact's
see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import CloudView, Configuration, Hosting, InstanceState, TaskState


class JobOrder:
    """Jobs in the order of the artifact's set; `update` tells it of each round in which one has arrived or ended."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._name: list[str] = []
        self._jobs: set[int] = set()

    def update(self, view: CloudView) -> None:
        """Take in what has happened since the last round; jobs that arrive at a second come before those that end."""
        events = [(view.jobs[name].arrival_seconds, 0, i, name) for i, name in enumerate(view.arrived)]
        events += [(end, 1, i, name) for i, (name, end) in enumerate(view.finished.items())]
        for _, ended, _, name in sorted(events):
            if ended:
                self._jobs.discard(self._number[name])
            else:
                self._number[name] = len(self._name)
                self._jobs.add(len(self._name))
                self._name.append(name)

    @property
    def jobs(self) -> Iterator[str]:
        """The unfinished jobs."""
        return (self._name[number] for number in self._jobs)

    def tasks(self, view: CloudView) -> list[TaskState]:
        """All tasks, job by job."""
        return [view.tasks[task] for name in self.jobs for task in view.jobs[name].tasks]


class SetOrder(JobOrder):
    """Jobs and instances in the order of the artifact's sets; `update` tells it of each round."""

    def __init__(self) -> None:
        super().__init__()
        self._instances: set[int] = set()
        self._version = -1

    def update(self, view: CloudView) -> None:
        """Take in what has happened since the last round."""
        if not view.arrived and not view.finished and view.version == self._version:
            return
        self._version = view.version
        super().update(view)
        there = {int(name) for name in view.instances}
        for number in sorted(there - self._instances):
            self._instances.add(number)
        for number in sorted(self._instances - there):
            self._instances.discard(number)

    def launching(self, view: CloudView, configuration: Configuration) -> Configuration:
        """A configuration with its jobs launched in the order of the artifact's set of those that are placed anew.

        They are added to it instance by instance, those to be rented last.
        """
        jobs: set[int] = set()
        for hosting in sorted(configuration.instances or (), key=lambda hosting: hosting.id is None):
            for name in hosting.tasks:
                task = view.tasks[name]
                if hosting.id is None or task.instance != hosting.id:
                    jobs.add(self._number[task.job])
        return replace(configuration, launches=tuple(self._name[number] for number in jobs))

    @property
    def instances(self) -> Iterator[str]:
        """The instances that are not given up."""
        return (str(number) for number in self._instances)


def pinned_first(tasks: Iterable[TaskState]) -> list[TaskState]:
    """The tasks of jobs that are on their way before the others."""
    return sorted(tasks, key=lambda task: not task.pinned)


class Kept:
    """The hostings of instances as they are; one without a task is given up."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[InstanceState, Hosting]] = {}

    def hostings(self, view: CloudView) -> list[Hosting]:
        """The instances that hold tasks, in the order of the view."""
        known, self._known = self._known, {}
        found = []
        for name, state in view.instances.items():
            if state.tasks:
                entry = known.get(name)
                if entry is None or entry[0] is not state:
                    entry = state, Hosting(state.instance_type, state.tasks, name)
                self._known[name] = entry
                found.append(entry[1])
        return found


class Cloud:
    """The types and classes of a workload, by their places in lists of whole numbers, as policies use them."""

    def __init__(self, data: EvaCloud) -> None:
        self.arrays = cloud_arrays(data)
        self.demand: list[list[list[int]]] = self.arrays.demand.tolist()
        self.capacity: list[list[int]] = self.arrays.capacity.tolist()
        self.price: list[float] = self.arrays.price.tolist()
        self.units: list[float] = self.arrays.unit.tolist()
        self.cheapest: list[int] = self.arrays.cheapest_type.tolist()
        self.reservation_price: list[float] = self.arrays.reservation_price.tolist()
        self.kind = {name: k for k, name in enumerate(self.arrays.types)}
        self.of_class = {name: c for c, name in enumerate(self.arrays.classes)}


class Planned:
    """An instance of a plan, and the tasks on it in the order in which they were put there.

    `id` is `None` for one that is to be rented; `ready`: it is set up.
    """

    __slots__ = ("free", "id", "kind", "ready", "tasks")

    def __init__(self, kind: int, capacity: list[int], id: str | None = None, ready: bool = False) -> None:
        self.kind, self.id, self.ready = kind, id, ready
        self.tasks: list[TaskState] = []
        self.free = list(capacity)


class Plan:
    """Planned instances in the order in which they were added. One without a task is no part of the configuration."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.instances: list[Planned] = []
        self._of_id: dict[str, Planned] = {}

    def __iter__(self) -> Iterator[Planned]:
        return iter(self.instances)

    def rented(self, view: CloudView, name: str) -> Planned:
        """The instance that is rented under a name, added where the plan does not have it yet."""
        planned = self._of_id.get(name)
        if planned is None:
            state = view.instances[name]
            kind = self.cloud.kind[state.instance_type]
            planned = self._of_id[name] = Planned(kind, self.cloud.capacity[kind], name, state.ready)
            self.instances.append(planned)
        return planned

    def new(self, kind: int) -> Planned:
        """An instance that is to be rented."""
        planned = Planned(kind, self.cloud.capacity[kind])
        self.instances.append(planned)
        return planned

    def put(self, task: TaskState, on: Planned) -> None:
        """Put a task on an instance."""
        on.tasks.append(task)
        free = on.free
        for r, amount in enumerate(self.cloud.demand[on.kind][self.cloud.of_class[task.task_class]]):
            free[r] -= amount

    def drop(self, planned: Planned) -> None:
        """Take an instance out of the plan."""
        self.instances.remove(planned)
        if planned.id is not None:
            del self._of_id[planned.id]

    def need(self, task: TaskState, kind: int) -> list[int]:
        """The demand of a task on a type."""
        return self.cloud.demand[kind][self.cloud.of_class[task.task_class]]

    def fits(self, task: TaskState, on: Planned) -> bool:
        """Whether there is room for a task."""
        free = on.free
        for r, amount in enumerate(self.cloud.demand[on.kind][self.cloud.of_class[task.task_class]]):
            if amount > free[r]:
                return False
        return True

    def keep(self, view: CloudView, tasks: Iterable[TaskState]) -> None:
        """Put tasks where they are, or where they are on their way to."""
        for task in tasks:
            if task.instance is not None:
                self.put(task, self._of_id.get(task.instance) or self.rented(view, task.instance))

    def configuration(self) -> Configuration:
        """The plan as a decision."""
        types = self.cloud.arrays.types
        return Configuration(
            instances=tuple(
                Hosting(types[p.kind], tuple(task.id for task in p.tasks), p.id) for p in self.instances if p.tasks
            )
        )
