"""The data of `eva-packing`: rent instances for a set of tasks (Eva, EuroSys'25, sections 2.3 and 4.1 to 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.fields import (
    LARGEST,
    Frozen,
    Name,
    NonNegative,
    Positive,
    PositiveCount,
    ProblemData,
    Sense,
    Share,
    refuse,
    refuse_duplicates,
    steps,
)

Amounts = Mapping[Name, NonNegative]
Objective = Literal["cost", "net-saving"]
DEFAULT = "default"
LARGEST_TOTAL = 2**63 - 1  # A total price, in price units, must fit a 64-bit integer.


class InstanceType(Frozen):
    """Instance type k: capacity Q_k^r in the units of the resources, price C_k in USD per hour."""

    name: Name
    family: Name
    capacity: Amounts
    usd_per_hour: Positive


class Task(Frozen):
    """Task entry: `count` identical tasks of a workload, each of demand D_τ^r.

    `demand["default"]` holds everywhere but on the families named beside it. Tasks of a multi-task job name the job,
    or say how many tasks their jobs have (`tasks_in_job`); by default a job has the tasks listed under its name.
    """

    workload: Name
    count: PositiveCount
    demand: Mapping[Name, Amounts]
    job: Name | None = None
    tasks_in_job: PositiveCount | None = None

    @property
    def key(self) -> str:
        """The task's name in a solution: `workload`, or `workload@job`."""
        return self.workload if self.job is None else f"{self.workload}@{self.job}"

    def demand_on(self, family: str) -> Amounts:
        """The demand on an instance of `family`."""
        return self.demand.get(family, self.demand[DEFAULT])


class Throughput(Frozen):
    """Normalised throughput of co-located tasks (section 4.3): 1 is the throughput alone on an instance.

    `pairwise` holds (workload, beside, throughput of `workload`); a pair that is not listed has `default`. With more
    than two tasks the pairwise throughputs are multiplied.
    """

    default: Share = 1.0
    pairwise: tuple[tuple[Name, Name, Share], ...] = ()


class EvaPacking(ProblemData):
    """The packing problem: which instances to rent, and which task goes where.

    `cost`: minimise the price of the instances, USD/h (section 4.1). `net-saving`: maximise the sum of the tasks'
    throughput-normalised reservation prices less that price, USD/h (section 4.5).
    """

    problem: ClassVar[str] = "eva-packing"

    resources: Annotated[tuple[Name, ...], Field(min_length=1)]
    instance_types: Annotated[tuple[InstanceType, ...], Field(min_length=1)]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]
    throughput: Throughput | None = None
    objective: Objective

    @property
    def sense(self) -> Sense:
        return "minimize" if self.objective == "cost" else "maximize"

    @property
    def unit(self) -> str:
        return "USD/h"

    @property
    def families(self) -> tuple[str, ...]:
        """The families of instance types, in order of appearance."""
        return tuple(dict.fromkeys(k.family for k in self.instance_types))

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("resources", self.resources)
        refuse_duplicates("instance_types", (k.name for k in self.instance_types))
        refuse_duplicates("tasks", (t.key for t in self.tasks))
        for i, kind in enumerate(self.instance_types):
            if kind.family == DEFAULT:
                refuse(f"instance_types[{i}].family", "must not be the word for every other family", DEFAULT)
            self._validate_amounts(f"instance_types[{i}].capacity", kind.capacity)
        for i, task in enumerate(self.tasks):
            self._validate_task(f"tasks[{i}]", task)
        self._validate_jobs()
        self._validate_totals()
        if self.throughput is not None:
            self._validate_throughput(self.throughput)
        return self

    def _validate_amounts(self, path: str, amounts: Amounts) -> None:
        for name in amounts:
            if name not in self.resources:
                refuse(path, f"unknown resource, must be one of {', '.join(self.resources)}", name)
        for name in self.resources:
            if name not in amounts:
                refuse(f"{path}.{name}", "missing")

    def _validate_task(self, path: str, task: Task) -> None:
        if DEFAULT not in task.demand:
            refuse(f"{path}.demand.{DEFAULT}", "missing")
        families = self.families
        for family, amounts in task.demand.items():
            if family != DEFAULT and family not in families:
                refuse(f"{path}.demand", f"unknown family, must be {DEFAULT} or one of {', '.join(families)}", family)
            self._validate_amounts(f"{path}.demand.{family}", amounts)
        if not any(self.fits(task, kind) for kind in self.instance_types):
            largest = {r: max(k.capacity[r] for k in self.instance_types) for r in self.resources}
            short = [r for r in self.resources if min(d[r] for d in task.demand.values()) > largest[r]]
            why = "".join(f"; the largest has {largest[r]:g} {r}" for r in short[:1])
            refuse(path, f"fits on no instance type{why}", task.key)

    def fits(self, task: Task, kind: InstanceType) -> bool:
        """Whether a task fits alone on an instance of the type."""
        demand = task.demand_on(kind.family)
        return all(demand[r] <= kind.capacity[r] for r in self.resources)

    def _validate_jobs(self) -> None:
        listed: dict[str, int] = {}
        said: dict[str, int] = {}
        for task in self.tasks:
            if task.job is not None:
                listed[task.job] = listed.get(task.job, 0) + task.count
        for i, task in enumerate(self.tasks):
            if task.job is None or task.tasks_in_job is None:
                continue
            path = f"tasks[{i}].tasks_in_job"
            if said.setdefault(task.job, task.tasks_in_job) != task.tasks_in_job:
                refuse(path, f"must agree within job {task.job}, {said[task.job]} before", task.tasks_in_job)
            if task.tasks_in_job < listed[task.job]:
                refuse(path, f"must be >= {listed[task.job]}, the tasks listed for job {task.job}", task.tasks_in_job)

    def _validate_totals(self) -> None:
        """Refuse more tasks than any method counts, and prices whose sums over the tasks a 64-bit integer cannot hold.

        Prices are summed in the unit of which all of them are whole multiples.
        """
        cheapest_first = sorted(self.instance_types, key=lambda kind: kind.usd_per_hour)
        unit = gcd(*(steps(kind.usd_per_hour) for kind in cheapest_first))
        too_much = f"the tasks' cheapest instances must cost no more than {LARGEST_TOTAL} times {unit}e-9 USD/h"
        prices = [
            steps(next(kind for kind in cheapest_first if self.fits(task, kind)).usd_per_hour) // unit
            for task in self.tasks
        ]
        tasks = total = 0
        for i, (task, price) in enumerate(zip(self.tasks, prices, strict=True)):
            tasks, total = tasks + task.count, total + task.count * price
            if tasks > LARGEST:
                refuse(f"tasks[{i}].count", f"must leave no more than {LARGEST:.0f} tasks in all", task.count)
            if total > LARGEST_TOTAL:
                refuse(f"tasks[{i}].count", too_much, task.count)
        for i, (task, price) in enumerate(zip(self.tasks, prices, strict=True)):
            if total + (task.tasks_in_job or 0) * price > LARGEST_TOTAL:
                refuse(f"tasks[{i}].tasks_in_job", too_much, task.tasks_in_job)

    def _validate_throughput(self, throughput: Throughput) -> None:
        workloads, seen = {t.workload for t in self.tasks}, set()
        for i, (workload, beside, _) in enumerate(throughput.pairwise):
            path = f"throughput.pairwise[{i}]"
            for j, name in enumerate((workload, beside)):
                if name not in workloads:
                    refuse(f"{path}[{j}]", "unknown workload", name)
            if (workload, beside) in seen:
                refuse(path, "must be unique", f"{workload}, {beside}")
            seen.add((workload, beside))
