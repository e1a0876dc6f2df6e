"""Define Eva online: the view of a scheduler of instances, its configuration, and the problems of a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

from instances.errors import InputError
from instances.eva.cloud import JOB_SIGN, CloudType, EvaCloud, TaskClass
from instances.eva.learned import LearnedThroughput
from instances.eva.packing import EvaPacking, Task, Throughput, fits
from instances.eva.reconfiguration import EvaReconfiguration, ExistingInstance, MovableTask, StartedType
from instances.fields import DIGITS
from instances.online import Decision
from instances.options import Solution


@dataclass(frozen=True)
class RentedInstance:
    """A rented instance and the number of tasks there, by key (`workload` or `workload@job`).

    `id` distinguishes rented instances, even those of one type with equal tasks; it is `None` for a planned instance
    that is not rented yet.
    """

    instance_type: str
    tasks: Mapping[str, int]
    id: str | None = None


def continue_instances(
    current: Sequence[RentedInstance], planned: Sequence[RentedInstance]
) -> tuple[RentedInstance, ...]:
    """Return the planned configuration, in order, with the ids of the current instances that it continues.

    A planned instance with an id continues the current one with that id, regardless of its tasks. The others are
    matched sequentially: each continues the free instance of its type with the most tasks in common. Without a common
    task, the instance is new and its id stays `None`.

    Raises InputError if a current instance has no id, or if two instances share one. Raises it also if a planned
    instance has an unknown id or that of an instance of another type.
    """
    types = _types(current)
    ids = Counter(instance.id for instance in planned)
    for instance in planned:
        if instance.id is None:
            continue
        if instance.id not in types:
            raise InputError(f"planned configuration: unknown instance id {instance.id!r}")
        if instance.instance_type != types[instance.id]:
            raise InputError(
                f"planned configuration: instance {instance.id!r} is of type {types[instance.id]!r}, "
                f"not {instance.instance_type!r}"
            )
        if ids[instance.id] > 1:
            raise InputError(f"planned configuration: instance id {instance.id!r} must be unique")
    free = {instance.id: instance for instance in current if instance.id not in ids}
    found = []
    for instance in planned:
        old = None if instance.id is not None else _find_most_similar(instance, free.values())
        if old is not None:
            instance = replace(instance, id=free.pop(old.id).id)
        found.append(instance)
    return tuple(found)


def _types(current: Sequence[RentedInstance]) -> dict[str, str]:
    """Return the type of each rented instance by id."""
    types: dict[str, str] = {}
    for instance in current:
        if instance.id is None:
            raise InputError(f"current configuration: an instance of type {instance.instance_type!r} has no id")
        if instance.id in types:
            raise InputError(f"current configuration: instance id {instance.id!r} must be unique")
        types[instance.id] = instance.instance_type
    return types


def _find_most_similar(planned: RentedInstance, free: Iterable[RentedInstance]) -> RentedInstance | None:
    """Return the first free instance of the planned type with the most tasks in common, or `None`."""
    best, most = None, 0
    for old in free:
        if old.instance_type == planned.instance_type:
            common = _common(planned, old)
            if common > most:
                best, most = old, common
    return best


def keep_most_tasks(current: Sequence[RentedInstance], planned: Sequence[RentedInstance]) -> tuple[RentedInstance, ...]:
    """Return the planned configuration, in order, with the ids of current instances that let the most tasks stay.

    Ties are broken by the number of continued instances, because even an instance without a common task avoids a new
    rental. Raises InputError if a current instance has no id, or if two share one.
    """
    from scipy.optimize import linear_sum_assignment  # only needed to plan a running cluster

    types = _types(current)
    found = list(planned)
    for kind in dict.fromkeys(types.values()):
        old = [instance for instance in current if instance.instance_type == kind]
        new = [j for j, instance in enumerate(planned) if instance.instance_type == kind]
        step = min(len(old), len(new)) + 1  # a task that stays outweighs all continued instances
        value = [[step * _common(planned[j], instance) + 1 for instance in old] for j in new]
        if value:
            for row, column in zip(*linear_sum_assignment(value, maximize=True), strict=True):
                found[new[row]] = replace(planned[new[row]], id=old[column].id)
    return tuple(found)


def _common(one: RentedInstance, other: RentedInstance) -> int:
    """Return the number of tasks that two instances have in common."""
    return sum(min(k, other.tasks.get(key, 0)) for key, k in one.tasks.items())


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task of an unfinished job.

    - `instance`: the id of its present or future instance, `None` while it waits.
    - `pinned`: it is being moved to the instance and has to stay there.
    - `launched`: it runs, and slows its neighbours down.
    - `seen_launch`, `seen_upload`: it was launched, or its checkpoint was saved, at least once, so this delay is known.
    """

    id: str
    job: str
    task_class: str
    instance: str | None = None
    pinned: bool = False
    launched: bool = False
    seen_launch: bool = False
    seen_upload: bool = False


@dataclass(frozen=True, slots=True)
class CloudJobView:
    """An unfinished job: its tasks by id, and its seconds of work at full speed.

    All its tasks have been launched for `launched_seconds`, and again since `launched_since`, `None` if not all are.
    """

    id: str
    arrival_seconds: float
    duration_seconds: float
    tasks: tuple[str, ...]
    launched_seconds: float = 0.0
    launched_since: float | None = None


@dataclass(frozen=True, slots=True)
class InstanceState:
    """A rented instance that is not being terminated.

    - `ready`: it is set up and accepts tasks.
    - `tasks`: the tasks that it hosts or that are being moved to it.
    - `leaving`: tasks that use its resources until their checkpoint is saved.
    """

    id: str
    instance_type: str
    ready: bool = True
    tasks: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()


@dataclass(slots=True)
class CloudView:
    """A cloud in one round, by ids, in read-only mappings that change after the policy has answered.

    - `now`: seconds.
    - `resources`, `instance_types`, `classes`: the resources, the types that can be rented, and the classes of tasks.
    - `jobs`, `tasks`: unfinished jobs in order of arrival, and their tasks.
    - `instances`: rented instances that are not being terminated, in the order of rental; ids are numbers in that
      order.
    - `learned`: the throughput estimates of classes on one instance, from all observations.
    - `version`: it grows whenever `jobs`, `tasks` or `instances` change.
    - `arrived`: jobs since the last round; `finished`: jobs since the last round with their times in seconds.
    - `last`: the last problem of `snapshot`, by its key.
    """

    now: float
    resources: tuple[str, ...]
    instance_types: Mapping[str, CloudType]
    classes: Mapping[str, TaskClass]
    jobs: Mapping[str, CloudJobView]
    tasks: Mapping[str, TaskState]
    instances: Mapping[str, InstanceState]
    learned: LearnedThroughput
    version: int = 0
    arrived: Sequence[str] = ()
    finished: Mapping[str, float] = field(default_factory=dict)
    last: dict[Any, EvaPacking] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hosting:
    """An instance of a configuration and its tasks, by id; an instance without an `id` will be rented."""

    instance_type: str
    tasks: tuple[str, ...]
    id: str | None = None


@dataclass(frozen=True)
class Configuration(Decision):
    """The new configuration; `instances` is `None` if nothing changes.

    Other instances are terminated, and other jobs wait. `launches`: the launch order of newly placed jobs that wait for
    the same resources; all other jobs follow in the order of arrival.
    """

    instances: tuple[Hosting, ...] | None = None
    launches: tuple[str, ...] = ()


def snapshot(view: CloudView) -> EvaPacking | None:
    """Return the packing problem of all tasks that may move or wait, `None` if there are no such tasks.

    An instance with a pinned task keeps its tasks for now, and is not part of the problem. Tasks of jobs with a single
    task have one entry per class. Tasks of other jobs have an entry per job, because a job is as slow as its slowest
    task. If the problem is that of the last round, the function returns the same object.
    """
    free = _free_tasks(view)
    if not free:
        return None
    count = Counter(_entry(view, task) for task in free)
    throughput = view.learned.pairs({name for name, _ in count})
    key = tuple(count.items()), throughput
    if key not in view.last:
        view.last.clear()
        view.last[key] = _packing(view, count, throughput)
    return view.last[key]


def _packing(view: CloudView, count: Mapping[tuple[str, str | None], int], throughput: Throughput) -> EvaPacking:
    """Build the packing problem with `count` tasks of each class and, for jobs with several tasks, of each job."""
    return EvaPacking(
        resources=view.resources,
        instance_types=tuple(kind.plain for kind in view.instance_types.values()),
        tasks=tuple(
            Task(
                workload=name,
                count=k,
                demand=view.classes[name].demand,
                job=job,
                tasks_in_job=None if job is None else len(view.jobs[job].tasks),
            )
            for (name, job), k in count.items()
        ),
        throughput=throughput,
        objective="net-saving",
    )


def decision(view: CloudView, solution: Solution | None) -> Configuration:
    """Return the configuration of `solution`, which reuses the rented instances if possible.

    The solution states how many tasks of a class are together on an instance of a type. The planned instances are
    matched to the rented ones so that the fewest tasks move; unmatched ones are rented. Without a solution nothing
    changes.
    """
    if solution is None:
        return Configuration()
    held = _find_pinned(view)
    current = [
        RentedInstance(i.instance_type, Counter(_key(view, view.tasks[name]) for name in i.tasks), i.id)
        for i in view.instances.values()
        if i.id not in held
    ]
    return _configuration(view, keep_most_tasks(current, list(_list_planned(solution))), partial(_key, view))


def _configuration(
    view: CloudView, planned: Sequence[RentedInstance], key_of: Callable[[TaskState], str]
) -> Configuration:
    """Return the `planned` instances with the tasks that may move or wait, and all instances that must not change.

    A plan states how many tasks of an entry, by `key_of`, an instance has. Tasks that are there already stay first.
    """
    kept = [Hosting(i.instance_type, i.tasks, i.id) for i in _find_pinned(view).values()]
    by_key: dict[str, list[TaskState]] = {}
    for task in _free_tasks(view):
        by_key.setdefault(key_of(task), []).append(task)
    hosted: list[list[str]] = [[] for _ in planned]
    for key, tasks in by_key.items():
        on: dict[str | None, list[str]] = {}
        for task in tasks:
            on.setdefault(task.instance, []).append(task.id)
        wanted = [i.tasks.get(key, 0) for i in planned]
        stay = [[] if i.id is None else on.get(i.id, [])[:k] for i, k in zip(planned, wanted, strict=True)]
        staying = set(chain(*stay))
        others = (task.id for task in tasks if task.id not in staying)
        for names, here, k in zip(hosted, stay, wanted, strict=True):
            names += [*here, *islice(others, k - len(here))]
    found = (Hosting(i.instance_type, tuple(names), i.id) for i, names in zip(planned, hosted, strict=True))
    return Configuration(instances=(*kept, *found))


def _find_pinned(view: CloudView) -> dict[str, InstanceState]:
    """Return the instances with a pinned task."""
    return {name: i for name, i in view.instances.items() if any(view.tasks[task].pinned for task in i.tasks)}


def _free_tasks(view: CloudView) -> list[TaskState]:
    held = _find_pinned(view)
    return [task for task in view.tasks.values() if not task.pinned and task.instance not in held]


def _entry(view: CloudView, task: TaskState) -> tuple[str, str | None]:
    """Return the class of a task, and its job if the job has several tasks."""
    return task.task_class, task.job if len(view.jobs[task.job].tasks) > 1 else None


def _key(view: CloudView, task: TaskState) -> str:
    """Return the name of a task's entry in a solution."""
    name, job = _entry(view, task)
    return name if job is None else f"{name}{JOB_SIGN}{job}"


def _list_planned(solution: Solution) -> Iterator[RentedInstance]:
    for group in solution["instances"]:
        tasks = {key: k for key, k in group["tasks"].items() if k}
        if tasks:
            yield from (RentedInstance(group["type"], tasks) for _ in range(group["count"]))


SECONDS = 3600


class RoundProblems:
    """The problems of the rounds of one workload.

    `setup_seconds`: the setup time of a new instance, which counts as its start cost; 300 in the authors' artifact.
    """

    def __init__(self, data: EvaCloud, setup_seconds: float = 300.0) -> None:
        self._types = tuple(
            StartedType(**kind.common, start_usd=round(kind.usd_per_hour * setup_seconds / SECONDS, DIGITS))
            for kind in data.instance_types
        )
        self._price_alone = {
            c.name: min(kind.usd_per_hour for kind in data.instance_types if fits(c.demand, kind)) for c in data.classes
        }

    def problem(self, view: CloudView, horizon_seconds: float) -> EvaReconfiguration | None:
        """Return the problem of all tasks that may move or wait, `None` if there are no such tasks.

        An instance with a pinned task keeps its tasks for now, and is not part of the problem. The migration cost of a
        job is estimated from its observed delays, as in the artifact.
        """
        free, held_back = _free_tasks(view), _find_pinned(view)
        if not free:
            return None
        entries = Counter((task.task_class, task.job) for task in free)
        open_ = [i for i in view.instances.values() if i.id not in held_back and i.tasks]
        costs = {job: self._migration_usd(view, job) for job in {job for _, job in entries}}
        return EvaReconfiguration(
            resources=view.resources,
            instance_types=self._types,
            tasks=tuple(
                MovableTask(
                    workload=name,
                    count=count,
                    demand=view.classes[name].demand,
                    job=job,
                    tasks_in_job=len(view.jobs[job].tasks),
                    migration_usd=costs[job],
                )
                for (name, job), count in entries.items()
            ),
            throughput=view.learned.pairs({name for name, _ in entries}),
            existing=tuple(
                ExistingInstance(
                    id=i.id, type=i.instance_type, tasks=Counter(_name_with_job(view.tasks[name]) for name in i.tasks)
                )
                for i in open_
            ),
            horizon_hours=round(horizon_seconds / SECONDS, DIGITS),
        )

    def _migration_usd(self, view: CloudView, job: str) -> float:
        """Return the migration cost of a job in USD: its observed delays at the reservation prices of its tasks."""
        longest = init = price = 0.0
        for name in view.jobs[job].tasks:
            task = view.tasks[name]
            kind = view.classes[task.task_class]
            launch = (kind.fetch_seconds + kind.build_seconds) * task.seen_launch
            longest = max(longest, launch + kind.upload_seconds * task.seen_upload)
            init = max(init, kind.init_seconds)
            price += self._price_alone[task.task_class]
        return round((longest + init) * price / SECONDS, DIGITS)


def round_decision(view: CloudView, solution: Solution | None) -> Configuration:
    """Return the configuration of a solution of the round's problem; without a solution nothing changes."""
    if solution is None:
        return Configuration()
    planned = [
        RentedInstance(view.instances[name].instance_type, tasks, name)
        for name, tasks in solution["existing"].items()
        if any(tasks.values())
    ]
    return _configuration(view, [*planned, *_list_planned(solution)], _name_with_job)


def _name_with_job(task: TaskState) -> str:
    """Return the name of a task's entry in the problem of a round, in which every job has its own entry."""
    return f"{task.task_class}{JOB_SIGN}{task.job}"
