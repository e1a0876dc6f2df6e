"""The data of `eva-reconfiguration`: one round of Eva's scheduler as one problem (EuroSys'25, section 4.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from instances.eva.packing import EvaPacking, InstanceType, PackedTasks, PricedType, Task, TaskEntry
from instances.fields import Frozen, Name, NonNegative, PositiveCount, Sense, refuse, refuse_duplicates, steps

MOST_TASKS = 10_000  # in a round


class StartedType(PricedType):
    """An instance type, and what it costs to start an instance: the price of its set-up."""

    start_usd: NonNegative = 0.0

    @property
    def plain(self) -> InstanceType:
        """Return the type as `eva-packing` has it."""
        return InstanceType.model_construct(
            name=self.name, family=self.family, capacity=self.capacity, usd_per_hour=self.usd_per_hour
        )


class MovableTask(TaskEntry):
    """A task entry, and what it costs to move the job of a task: once a job, however many of its tasks move."""

    migration_usd: NonNegative = 0.0

    @property
    def plain(self) -> Task:
        """Return the entry as `eva-packing` has it."""
        return Task.model_construct(
            workload=self.workload,
            count=self.count,
            demand=self.demand,
            job=self.job,
            tasks_in_job=self.tasks_in_job,
        )


class ExistingInstance(Frozen):
    """An instance that runs, and the number of tasks there by key, `workload` or `workload@job`."""

    id: Name
    type: Name
    tasks: Annotated[Mapping[Name, PositiveCount], Field(min_length=1)]


class EvaReconfiguration(PackedTasks):
    """The problem of a round: new contents for each existing instance, and new instances, for all tasks.

    Maximise saving * D less the costs of moving and starting, USD (equation 1): the saving is the sum of the tasks'
    throughput-normalised reservation prices less the price of the instances. A job moves where an existing instance
    loses one of its tasks. Tasks on no existing instance wait; to place them costs nothing.
    """

    problem: ClassVar[str] = "eva-reconfiguration"

    instance_types: Annotated[tuple[StartedType, ...], Field(min_length=1)]
    tasks: Annotated[tuple[MovableTask, ...], Field(min_length=1)]
    existing: tuple[ExistingInstance, ...] = ()
    horizon_hours: NonNegative

    @property
    def sense(self) -> Sense:
        return "maximize"

    @property
    def unit(self) -> str:
        return "USD"

    @property
    def packing(self) -> EvaPacking:
        """Return the packing of the same tasks, as if no instance existed."""
        return EvaPacking.model_construct(
            resources=self.resources,
            instance_types=tuple(kind.plain for kind in self.instance_types),
            tasks=tuple(task.plain for task in self.tasks),
            throughput=self.throughput,
            objective="net-saving",
        )

    @model_validator(mode="after")
    def _validate_round(self) -> Self:
        self._validate_number()
        self._validate_migrations()
        self._validate_existing()
        return self

    def _validate_number(self) -> None:
        tasks = 0
        for i, task in enumerate(self.tasks):
            tasks += task.count
            if tasks > MOST_TASKS:
                refuse(f"tasks[{i}].count", f"must leave no more than {MOST_TASKS:,} tasks in all", task.count)

    def _validate_migrations(self) -> None:
        said: dict[str, float] = {}
        for i, task in enumerate(self.tasks):
            if task.job is None:
                if (task.tasks_in_job or 1) > 1:
                    refuse(f"tasks[{i}].job", "missing, for tasks of a job of several tasks", task.workload)
            elif said.setdefault(task.job, task.migration_usd) != task.migration_usd:
                path = f"tasks[{i}].migration_usd"
                refuse(path, f"must agree within job {task.job}, {said[task.job]} before", task.migration_usd)

    def _validate_existing(self) -> None:
        refuse_duplicates("existing", (instance.id for instance in self.existing))
        kinds = {kind.name: kind for kind in self.instance_types}
        tasks = {task.key: task for task in self.tasks}
        placed = Counter[str]()
        for i, instance in enumerate(self.existing):
            if instance.type not in kinds:
                refuse(f"existing[{i}].type", "unknown instance type", instance.type)
            kind = kinds[instance.type]
            for key, k in instance.tasks.items():
                path = f"existing[{i}].tasks"
                if key not in tasks:
                    refuse(path, "unknown task", key)
                placed[key] += k
                if placed[key] > tasks[key].count:
                    refuse(f"{path}.{key}", f"must leave no more than {tasks[key].count} on instances", k)
            for resource in self.resources:
                held = ((k, tasks[key].demand_on(kind.family)[resource]) for key, k in instance.tasks.items())
                used = sum(k * steps(amount) for k, amount in held)
                if used > steps(kind.capacity[resource]):
                    refuse(f"existing[{i}].tasks", f"need more {resource} than a {kind.name} has", instance.id)
