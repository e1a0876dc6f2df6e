"""The data of `eva-packing`: rent instances for a set of tasks (Eva, EuroSys'25, sections 2.3 and 4.1 to 4.4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import gcd
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from instances.eva.constraints import Limit, Running, Spread, offers, refuse_constraints
from instances.eva.frames import packing_content, running_content
from instances.fields import (
    LARGEST,
    Count,
    Frozen,
    Name,
    NonNegative,
    Positive,
    PositiveCount,
    ProblemData,
    Sense,
    Share,
    plain_mapping,
    refuse,
    refuse_duplicates,
    steps,
)
from instances.renamed import OldName

if TYPE_CHECKING:
    import pandas as pd

Amounts = Annotated[Mapping[Name, NonNegative], BeforeValidator(plain_mapping)]
Demands = Mapping[Name, Amounts]
Objective = Literal["cost", "net-saving"]
DEFAULT = "default"
LARGEST_TOTAL = 2**63 - 1  # A total price, in price units, must fit a 64-bit integer.


class PricedType(Frozen):
    """Instance type k: capacity Q_k^r in the units of the resources, price C_k in USD per hour."""

    name: Name
    family: Name
    capacity: Amounts
    usd_per_hour: Positive

    @property
    def common(self) -> dict[str, Any]:
        """Return the fields that the types of every problem have."""
        return {name: getattr(self, name) for name in PricedType.model_fields}


class InstanceType(PricedType):
    """An instance type, and how many of its instances there may be, those that run already among them."""

    max_instances: Count | None = None


class TaskEntry(Frozen):
    """Task entry: `count` identical tasks of a workload, each of demand D_τ^r.

    `demand["default"]` holds on all families but those that `demand` names. Tasks of a multi-task job name the job,
    or say how many tasks their jobs have (`tasks_in_job`); by default a job has the tasks listed under its name.
    """

    workload: Name
    count: PositiveCount
    demand: Demands
    job: Name | None = None
    tasks_in_job: PositiveCount | None = None

    @property
    def common(self) -> dict[str, Any]:
        """Return the fields that the task entries of every problem have."""
        return {name: getattr(self, name) for name in TaskEntry.model_fields}

    @property
    def key(self) -> str:
        """Return the task's name in a solution: `workload`, or `workload@job`."""
        return self.workload if self.job is None else f"{self.workload}@{self.job}"

    def demand_on(self, family: str) -> Amounts:
        """Return the demand on an instance of `family`."""
        return demand_on(self.demand, family)


class Task(TaskEntry):
    """A task entry, and where its tasks may be: on which types, and how many of them on one instance."""

    allowed_types: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    max_per_instance: PositiveCount | None = None


def demand_on(demand: Demands, family: str) -> Amounts:
    """Return the demand on an instance of `family`."""
    return demand.get(family, demand[DEFAULT])


class Throughput(Frozen):
    """Normalised throughput of co-located tasks (section 4.3): 1 is the throughput alone on an instance.

    `pairwise` holds (workload, other, throughput of `workload` with it); a pair that is not listed has `default`. With
    more than two tasks the pairwise throughputs are multiplied.
    """

    default: Share = 1.0
    pairwise: tuple[tuple[Name, Name, Share], ...] = ()


class PackedTasks(ProblemData):
    """Tasks, the instance types on which they can be put, and how tasks on one instance slow each other down."""

    resources: Annotated[tuple[Name, ...], Field(min_length=1)]
    instance_types: Annotated[tuple[PricedType, ...], Field(min_length=1)]
    tasks: Annotated[tuple[TaskEntry, ...], Field(min_length=1)]
    throughput: Throughput | None = None

    @classmethod
    def from_frames(
        cls,
        tasks: pd.DataFrame,
        types: pd.DataFrame,
        *,
        throughput: pd.DataFrame | None = None,
        default_throughput: float = 1.0,
        objective: Objective = "cost",
        running: pd.DataFrame | None = None,
        spread: Sequence[Sequence[str]] = (),
    ) -> Self:
        """Build a packing problem from two tables.

        - `types`: one row per instance type: its name in a column `name` or in the index, its price in `usd_per_hour`,
          a `family` if demands depend on it, optionally `max_instances`, and a column of amounts for each resource.
        - `tasks`: one row per task, or per `count` identical tasks: `workload`, a column or the index; optionally `job`
          and `tasks_in_job`, `max_per_instance` and `allowed_types`, a list or names separated by commas; the demand
          in columns named like the resources of `types`, and `cpu@p3` for the demand of `cpu` on the family `p3`.
          Rows of one workload, job and demand are added up.
        - `throughput`: of the workload of each row with that of each column, for `objective="net-saving"`.
        - `default_throughput`: of each pair that `throughput` does not contain.
        - `objective`: `cost` or `net-saving`.
        - `running`: instances that run already, one row per type and price: `type`, a column or the index, `count`, and
          optionally `usd_per_hour`, the cost of keeping one instance; default: the price of the type.
        - `spread`: groups of tasks by name, `workload` or `workload@job`, of which an instance holds at most one.

        Raises InputError, one line with the table, the row and the value.
        """
        content = packing_content(tasks, types, throughput, default_throughput, objective)
        if running is not None:
            content["running"] = running_content(running)
        if spread:
            content["spread"] = [{"tasks": list(group)} for group in spread]
        return cls.model_validate(content)

    @property
    def families(self) -> tuple[str, ...]:
        """Return the families of instance types, in order of appearance."""
        return tuple(dict.fromkeys(k.family for k in self.instance_types))

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("resources", self.resources)
        refuse_types(self.instance_types, self.resources)
        refuse_duplicates("tasks", (t.key for t in self.tasks))
        for i, task in enumerate(self.tasks):
            refuse_demand(f"tasks[{i}]", task.key, task.demand, self.instance_types, self.resources)
        self._validate_own()
        self._validate_jobs()
        self._validate_totals()
        if self.throughput is not None:
            refuse_pairs(self.throughput, {task.workload for task in self.tasks})
        return self

    def fits(self, task: TaskEntry, kind: PricedType) -> bool:
        """Return whether a task fits alone on an instance of the type."""
        return fits(task.demand, kind)

    def _validate_own(self) -> None:
        """Return the fields of a problem that this class lacks."""

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
        unit, prices = self._prices_alone()
        prices = [price // unit for price in prices]
        too_much = f"the tasks' cheapest instances must cost no more than {LARGEST_TOTAL} times {unit}e-9 USD/h"
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

    def _prices_alone(self) -> tuple[int, list[int]]:
        """Return the unit of all prices, and per entry the price of the cheapest type for a task, in steps of USD/h."""
        cheapest_first = sorted(self.instance_types, key=lambda kind: kind.usd_per_hour)
        unit = gcd(*(steps(kind.usd_per_hour) for kind in cheapest_first))
        return unit, [steps(next(k for k in cheapest_first if self.fits(t, k)).usd_per_hour) for t in self.tasks]


class EvaPacking(PackedTasks):
    """The packing problem: which instances to rent, and which task goes where.

    `cost`: minimise the price of the instances, USD/h (section 4.1). `net-saving`: maximise the sum of the tasks'
    throughput-normalised reservation prices less that price, USD/h (section 4.5).
    """

    problem: ClassVar[str] = "eva-packing"

    instance_types: Annotated[tuple[InstanceType, ...], Field(min_length=1)]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]
    objective: Objective
    running: tuple[Running, ...] = ()
    spread: tuple[Spread, ...] = ()

    def fits(self, task: TaskEntry, kind: PricedType) -> bool:
        """Return whether a task may be on an instance of the type, and fits there alone."""
        allowed = task.allowed_types if isinstance(task, Task) else None
        return (allowed is None or kind.name in allowed) and super().fits(task, kind)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Return the limits on numbers of instances: the only place that reads the fields that set them."""
        most = ((k, kind.max_instances) for k, kind in enumerate(self.instance_types))
        rows = [Limit((k,), m) for k, m in most if m is not None]
        return tuple(row for row in rows if row.types)

    @property
    def has_limits(self) -> bool:
        """Return whether there is a maximum number of instances of some type, or of some price."""
        return bool(self.running) or bool(self.limits)

    limited: ClassVar[OldName] = OldName("has_limits")

    @property
    def sense(self) -> Sense:
        return "minimize" if self.objective == "cost" else "maximize"

    @property
    def unit(self) -> str:
        return "USD/h"

    def _validate_own(self) -> None:
        refuse_constraints(self)

    def _prices_alone(self) -> tuple[int, list[int]]:
        """Return the most expensive prices, which limits may force, and a unit that divides running prices too."""
        if not self.has_limits:
            return super()._prices_alone()
        prices = [offer.price for offer in offers(self)]
        kinds = sorted(self.instance_types, key=lambda kind: -kind.usd_per_hour)
        dearest = [steps(next(k for k in kinds if self.fits(t, k)).usd_per_hour) for t in self.tasks]
        return gcd(*(steps(k.usd_per_hour) for k in self.instance_types), *prices), dearest


def constraints_of(data: EvaPacking) -> list[str]:
    """Return the optional fields in use that `EvaPacking`, its types and its tasks add to those of every packing."""
    parts: list[tuple[Frozen, type[Frozen]]] = [
        *((kind, PricedType) for kind in data.instance_types),
        (data, PackedTasks),
        *((task, TaskEntry) for task in data.tasks),
    ]
    used = (
        name
        for part, base in parts
        for name in part.model_dump(exclude_defaults=True)
        if name not in base.model_fields and not type(part).model_fields[name].is_required()
    )
    return list(dict.fromkeys(used))


def fits(demand: Demands, kind: PricedType) -> bool:
    """Return whether one task of this demand fits on an instance of the type."""
    return all(amount <= kind.capacity[resource] for resource, amount in demand_on(demand, kind.family).items())


def refuse_types(kinds: Sequence[PricedType], resources: Sequence[str]) -> None:
    """Refuse names that occur twice, the family `default`, and capacities of other resources than `resources`."""
    refuse_duplicates("instance_types", (kind.name for kind in kinds))
    for i, kind in enumerate(kinds):
        if kind.family == DEFAULT:
            refuse(f"instance_types[{i}].family", "must not be the word for every other family", DEFAULT)
        _refuse_amounts(f"instance_types[{i}].capacity", kind.capacity, resources)


def refuse_demand(path: str, name: str, demand: Demands, kinds: Sequence[PricedType], resources: Sequence[str]) -> None:
    """Refuse at `path` a demand of the task `name` that is incomplete, of an unknown family, or fits on no type."""
    if DEFAULT not in demand:
        refuse(f"{path}.demand.{DEFAULT}", "missing")
    families = tuple(dict.fromkeys(kind.family for kind in kinds))
    for family, amounts in demand.items():
        if family != DEFAULT and family not in families:
            refuse(f"{path}.demand", f"unknown family, must be {DEFAULT} or one of {', '.join(families)}", family)
        _refuse_amounts(f"{path}.demand.{family}", amounts, resources)
    if not any(fits(demand, kind) for kind in kinds):
        largest = {r: max(kind.capacity[r] for kind in kinds) for r in resources}
        least = {r: min(d[r] for d in demand.values()) for r in resources}
        short = [r for r in resources if least[r] > largest[r]]
        needs = "".join(f": it needs {least[r]:g} {r}, and the largest has {largest[r]:g}" for r in short[:1])
        refuse(path, f"{name} fits on no instance type{needs}")


def _refuse_amounts(path: str, amounts: Amounts, resources: Sequence[str]) -> None:
    for name in amounts:
        if name not in resources:
            refuse(path, f"unknown resource, must be one of {', '.join(resources)}", name)
    for name in resources:
        if name not in amounts:
            refuse(f"{path}.{name}", "missing")


def refuse_pairs(throughput: Throughput, workloads: Collection[str]) -> None:
    """Refuse pairs of workloads that there are not, and pairs listed twice."""
    seen = set()
    for i, (workload, beside, _) in enumerate(throughput.pairwise):
        path = f"throughput.pairwise[{i}]"
        for j, name in enumerate((workload, beside)):
            if name not in workloads:
                refuse(f"{path}[{j}]", "unknown workload", name)
        if (workload, beside) in seen:
            refuse(path, "must be unique", f"{workload}, {beside}")
        seen.add((workload, beside))
