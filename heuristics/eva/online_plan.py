"""Plans of the online policies: the order of jobs and instances, kept instances, and planned instances.

The order is that in which the authors' artifact visits jobs and instances: the iteration order of hash sets of their
numbers. Ties, and the order in which pending tasks are placed, depend on it; it changes the bill by one or two percent.
Jobs are numbered by arrival, and instances by the time of their order. CPython iterates over a set of integers by their
remainders, with exceptions that depend on earlier additions and removals. So the sets here undergo the same operations
as the artifact's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import le, sub

from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import CloudView, Configuration, Hosting, InstanceState, TaskState


class JobOrder:
    """Jobs in the order of the artifact's set; call `update` in each round with an arrival or a completion."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._name: list[str] = []
        self._jobs: set[int] = set()

    def update(self, view: CloudView) -> None:
        """Record the events since the last round; at equal times, arrivals come before completions."""
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
        """Return the unfinished jobs."""
        return (self._name[number] for number in self._jobs)

    def tasks(self, view: CloudView) -> list[TaskState]:
        """Return all tasks, job by job."""
        return [view.tasks[task] for name in self.jobs for task in view.jobs[name].tasks]


class SetOrder(JobOrder):
    """Jobs and instances in the order of the artifact's sets; call `update` in each round."""

    def __init__(self) -> None:
        super().__init__()
        self._instances: set[int] = set()
        self._version = -1

    def update(self, view: CloudView) -> None:
        """Record the events since the last round."""
        if not view.arrived and not view.finished and view.version == self._version:
            return
        self._version = view.version
        super().update(view)
        current = {int(name) for name in view.instances}
        for number in sorted(current - self._instances):
            self._instances.add(number)
        for number in sorted(self._instances - current):
            self._instances.discard(number)

    def launching(self, view: CloudView, configuration: Configuration) -> Configuration:
        """Return a configuration that launches jobs in the order of the artifact's set of jobs that are placed again.

        They are added instance by instance, new instances last.
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
        """Return the instances that are not terminated."""
        return (str(number) for number in self._instances)


class Kept:
    """The hostings of unchanged instances; instances without tasks are dropped."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[InstanceState, Hosting]] = {}

    def hostings(self, view: CloudView) -> list[Hosting]:
        """Return the instances that hold tasks, in the order of the view."""
        cached, self._known = self._known, {}
        hostings = []
        for name, state in view.instances.items():
            if state.tasks:
                entry = cached.get(name)
                if entry is None or entry[0] is not state:
                    entry = state, Hosting(state.instance_type, state.tasks, name)
                self._known[name] = entry
                hostings.append(entry[1])
        return hostings


class Cloud:
    """The types and classes of a workload as lists of numbers, for the policies."""

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

    def need(self, task: TaskState, kind: int) -> list[int]:
        """Return the demand of a task on a type."""
        return self.demand[kind][self.of_class[task.task_class]]


class Planned:
    """An instance of a plan, and its tasks in the order in which they were added.

    - `id`: `None` for a new instance.
    - `ready`: whether it is set up.
    """

    __slots__ = ("free", "id", "kind", "ready", "tasks")

    def __init__(self, kind: int, capacity: list[int], id: str | None = None, ready: bool = False) -> None:
        self.kind, self.id, self.ready = kind, id, ready
        self.tasks: list[TaskState] = []
        self.free = list(capacity)

    def fill(self, need: list[int]) -> None:
        """Take the demand of a task from the free amounts."""
        self.free = list(map(sub, self.free, need))

    def holds(self, need: list[int]) -> bool:
        """Return whether a task of this demand fits."""
        return all(map(le, need, self.free))


class Plan:
    """Planned instances in the order of addition; those without tasks are not part of the configuration."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.instances: list[Planned] = []
        self._of_id: dict[str, Planned] = {}

    def __iter__(self) -> Iterator[Planned]:
        return iter(self.instances)

    def add_rented(self, view: CloudView, name: str) -> Planned:
        """Return the rented instance of a name, and add it to the plan if necessary."""
        planned = self._of_id.get(name)
        if planned is None:
            state = view.instances[name]
            kind = self.cloud.kind[state.instance_type]
            planned = self._of_id[name] = Planned(kind, self.cloud.capacity[kind], name, state.ready)
            self.instances.append(planned)
        return planned

    def new(self, kind: int) -> Planned:
        """Add a new instance."""
        planned = Planned(kind, self.cloud.capacity[kind])
        self.instances.append(planned)
        return planned

    def put(self, task: TaskState, on: Planned) -> None:
        """Put a task on an instance."""
        on.tasks.append(task)
        on.fill(self.cloud.need(task, on.kind))

    def drop(self, planned: Planned) -> None:
        """Remove an instance from the plan."""
        self.instances.remove(planned)
        if planned.id is not None:
            del self._of_id[planned.id]

    def keep(self, view: CloudView, tasks: Iterable[TaskState]) -> None:
        """Put tasks on their current instances, or on those to which they are moving."""
        for task in tasks:
            if task.instance is not None:
                self.put(task, self._of_id.get(task.instance) or self.add_rented(view, task.instance))

    def configuration(self) -> Configuration:
        """Return the plan as a decision."""
        types = self.cloud.arrays.types
        return Configuration(
            instances=tuple(
                Hosting(types[p.kind], tuple(task.id for task in p.tasks), p.id) for p in self.instances if p.tasks
            )
        )
