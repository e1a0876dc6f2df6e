"""A configuration in the making: instances, rented or to be rented, the tasks planned on each, and the room left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import CloudView, Configuration, Hosting, TaskState


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
