"""Define the data of `eva-cloud`: jobs arrive at a cloud of instance types with delays (Eva, sections 2.2 and 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from instances.eva.packing import (
    Demands,
    InstanceType,
    PricedType,
    Throughput,
    refuse_demand,
    refuse_pairs,
    refuse_types,
)
from instances.fields import (
    Frozen,
    Name,
    NonNegative,
    Positive,
    PositiveCount,
    PositiveRatio,
    Share,
    refuse,
    refuse_duplicates,
)
from instances.online import Workload, refuse_short_period

MOST_TASKS = 1_000_000  # of all jobs
JOB_SIGN = "@"  # between a task's class and its job, in the name of a task of `eva-packing`


class CloudType(PricedType):
    """An instance type with its delays.

    It is billed from `acquisition_seconds` after the order on, takes tasks `setup_seconds` later, and is billed until
    `termination_seconds` after the order to end it.
    """

    acquisition_seconds: NonNegative
    setup_seconds: NonNegative
    termination_seconds: NonNegative = 0.0

    @property
    def plain(self) -> InstanceType:
        """Return the type without delays, as in `eva-packing`."""
        return InstanceType(name=self.name, family=self.family, capacity=self.capacity, usd_per_hour=self.usd_per_hour)


class TaskClass(Frozen):
    """A class of tasks, identical in demand and delays; policies learn throughput by class.

    `workload` is what the tasks run: it decides how they slow each other down, and is the image that they need. A
    launch takes `fetch_seconds`, and `build_seconds` more where the image was never on the instance; once all tasks of
    a job are launched, the job needs the longest of their `init_seconds` before it makes progress. A task that is to
    move works on for `kill_seconds`, and then takes resources of the instance that it leaves for `upload_seconds`.

    With `iterations_per_second`, the speed alone on an instance, work is counted in whole iterations, and throughput is
    observed in them; the speed is on no grid, for the last digits of what is observed decide ties.
    """

    name: Name
    workload: Name
    demand: Demands
    fetch_seconds: NonNegative = 0.0
    build_seconds: NonNegative = 0.0
    init_seconds: NonNegative = 0.0
    kill_seconds: NonNegative = 0.0
    upload_seconds: NonNegative = 0.0
    iterations_per_second: PositiveRatio | None = None


class CloudJob(Frozen):
    """A job that arrives, and runs for `duration_seconds` at full speed; `tasks`: how many of each class it has.

    It makes progress while all of its tasks are launched, at the speed of the slowest.
    """

    id: Name
    arrival_seconds: NonNegative
    duration_seconds: Positive
    tasks: Annotated[Mapping[Name, PositiveCount], Field(min_length=1)]

    @property
    def size(self) -> int:
        """Return the number of tasks."""
        return sum(self.tasks.values())


class LargerSets(Frozen):
    """Throughput where three to `most_tasks` tasks share an instance, as in the simulations of Eva's authors.

    The products of pairs are taken of `throughput`, and given to other tasks than those they were taken of: the tasks
    in the order of `listed` give them, and the tasks in the order of `named` take them, the first the first. Of tasks
    of one workload all have what the last of them gets. Both orders are of all workloads.
    """

    throughput: Throughput
    listed: tuple[Name, ...]
    named: tuple[Name, ...]
    most_tasks: PositiveCount = 10


class EvaCloud(Workload):
    """A cloud where instances are rented for jobs; every `period_seconds` the configuration may change.

    `throughput` is how workloads really slow each other down, but for `larger_sets` where given. Policies do not know
    it: a pair of classes that was never on an instance together is believed to have `believed_throughput`.
    """

    problem: ClassVar[str] = "eva-cloud"

    resources: Annotated[tuple[Name, ...], Field(min_length=1)]
    instance_types: Annotated[tuple[CloudType, ...], Field(min_length=1)]
    classes: Annotated[tuple[TaskClass, ...], Field(min_length=1)]
    jobs: Annotated[tuple[CloudJob, ...], Field(min_length=1)]
    throughput: Throughput = Throughput()
    larger_sets: LargerSets | None = None
    believed_throughput: Share = 0.95
    period_seconds: Positive

    @property
    def unit(self) -> str:
        """Return the unit of the cost, which is minimised."""
        return "USD"

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("resources", self.resources)
        refuse_types(self.instance_types, self.resources)
        refuse_duplicates("classes", (c.name for c in self.classes))
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        for i, c in enumerate(self.classes):
            if JOB_SIGN in c.name:
                refuse(f"classes[{i}].name", f"must not have the sign {JOB_SIGN}", c.name)
            refuse_demand(f"classes[{i}]", c.name, c.demand, self.instance_types, self.resources)
        known = {c.name for c in self.classes}
        for i, job in enumerate(self.jobs):
            for name in job.tasks:
                if name not in known:
                    refuse(f"jobs[{i}].tasks", "unknown class", name)
        if (tasks := sum(job.size for job in self.jobs)) > MOST_TASKS:
            refuse("jobs", f"must have at most {MOST_TASKS:,} tasks", tasks)
        refuse_short_period("period_seconds", self.period_seconds, self._busy_seconds(), "jobs at their full speed")
        workloads = {c.workload for c in self.classes}
        refuse_pairs(self.throughput, workloads)
        if self.larger_sets is not None:
            self._refuse_larger_sets(self.larger_sets, workloads)
        return self

    def _busy_seconds(self) -> float:
        """Return the time during which a job is present if each job runs at full speed from its arrival on."""
        busy = end = 0.0
        for arrival, seconds in sorted((job.arrival_seconds, job.duration_seconds) for job in self.jobs):
            busy += max(0.0, arrival + seconds - max(end, arrival))
            end = max(end, arrival + seconds)
        return busy

    @staticmethod
    def _refuse_larger_sets(larger: LargerSets, workloads: set[str]) -> None:
        refuse_pairs(larger.throughput, workloads)
        for field, order in (("listed", larger.listed), ("named", larger.named)):
            refuse_duplicates(f"larger_sets.{field}", order)
            if set(order) != workloads:
                refuse(f"larger_sets.{field}", "must be all workloads", ", ".join(order))
