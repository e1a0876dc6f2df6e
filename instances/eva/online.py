"""Eva online: the view of a scheduler of instances, the configuration it answers, and the problems of a moment."""

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

    `id` distinguishes rented instances, even those of one type with equal tasks; `None` where a configuration is only
    planned and the instance is not rented yet.
    """

    instance_type: str
    tasks: Mapping[str, int]
    id: str | None = None


def continued(current: Sequence[RentedInstance], planned: Sequence[RentedInstance]) -> tuple[RentedInstance, ...]:
    """The planned configuration, in order, with the ids of the current instances that are continued.

    A planned instance with an id continues the current one of that id, whatever its tasks. The others in turn each
    continue the one of their type with the most tasks in common that is still free; where none has a task in common
    the instance is new, and its id stays `None`.

    Raises InputError where a current instance has no id, two instances share one, or a planned instance has an id that
    is unknown or that of an instance of another type.
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
        old = None if instance.id is not None else _most_in_common(instance, free.values())
        if old is not None:
            instance = replace(instance, id=free.pop(old.id).id)
        found.append(instance)
    return tuple(found)


def _types(current: Sequence[RentedInstance]) -> dict[str, str]:
    """The type of each rented instance by id."""
    types: dict[str, str] = {}
    for instance in current:
        if instance.id is None:
            raise InputError(f"current configuration: an instance of type {instance.instance_type!r} has no id")
        if instance.id in types:
            raise InputError(f"current configuration: instance id {instance.id!r} must be unique")
        types[instance.id] = instance.instance_type
    return types


def _most_in_common(planned: RentedInstance, free: Iterable[RentedInstance]) -> RentedInstance | None:
    """The first of the free instances of the planned type with the most tasks in common; `None` where none has any."""
    best, most = None, 0
    for old in free:
        if old.instance_type == planned.instance_type:
            common = _common(planned, old)
            if common > most:
                best, most = old, common
    return best


def most_kept(current: Sequence[RentedInstance], planned: Sequence[RentedInstance]) -> tuple[RentedInstance, ...]:
    """The planned configuration, in order, with the ids of current instances such that the most tasks stay.

    Where several choices keep as many, the one that continues the most instances: also one with no task in common need
    not be rented anew. Raises InputError where a current instance has no id, or two share one.
    """
    from scipy.optimize import linear_sum_assignment  # only where a running cluster is planned anew

    types = _types(current)
    found = list(planned)
    for kind in dict.fromkeys(types.values()):
        old = [instance for instance in current if instance.instance_type == kind]
        new = [j for j, instance in enumerate(planned) if instance.instance_type == kind]
        step = min(len(old), len(new)) + 1  # a task that stays outweighs all instances that are continued
        value = [[step * _common(planned[j], instance) + 1 for instance in old] for j in new]
        if value:
            for row, column in zip(*linear_sum_assignment(value, maximize=True), strict=True):
                found[new[row]] = replace(planned[new[row]], id=old[column].id)
    return tuple(found)


def _common(one: RentedInstance, other: RentedInstance) -> int:
    """Tasks that two instances have in common."""
    return sum(min(k, other.tasks.get(key, 0)) for key, k in one.tasks.items())


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task of an unfinished job.

    `instance` is the id of the one that it is on or on its way to, `None` while it waits. A `pinned` task is on its way
    and has to stay there; `launched`: it runs, and slows its neighbours down. `seen_launch`, `seen_upload`: it was
    launched once, its checkpoint was saved once, so that these delays are known.
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
    """A rented instance that is not given up.

    `tasks`: those that it hosts or that are on their way to it. `ready`: set up, so that it takes tasks. `leaving`:
    tasks that still take resources until their checkpoint is saved.
    """

    id: str
    instance_type: str
    ready: bool = True
    tasks: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()


@dataclass(slots=True)
class CloudView:
    """A cloud at one round, by ids, in read-only mappings that change once the policy has answered.

    - `now`: seconds.
    - `resources`, `instance_types`, `classes`: what can be rented, and the classes of tasks, by name.
    - `jobs`, `tasks`: unfinished jobs in order of arrival, and their tasks.
    - `instances`: what is rented and not given up, in the order in which it was rented; ids are numbers in that order.
    - `learned`: what is believed of classes on one instance, from what was observed so far.
    - `version`: it grows whenever `jobs`, `tasks` or `instances` change.
    - `arrived`: jobs since the last round; `finished`: jobs since the last round, and when.
    - `last`: the problem that `snapshot` made last, and of what.
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
    """An instance of a configuration and its tasks, by id; one without an `id` is to be rented."""

    instance_type: str
    tasks: tuple[str, ...]
    id: str | None = None


@dataclass(frozen=True)
class Configuration(Decision):
    """The configuration from now on; `None`: all stays as it is.

    Instances that it leaves out are given up, jobs that it leaves out wait. `launches`: the order in which jobs that
    are placed anew are launched where several wait for the same room; those that it leaves out follow by arrival.
    """

    instances: tuple[Hosting, ...] | None = None
    launches: tuple[str, ...] = ()


def snapshot(view: CloudView) -> EvaPacking | None:
    """The packing problem of all tasks that may move or wait; `None` where there is none.

    An instance with a pinned task keeps its tasks for the moment, and is no part of the problem. Tasks of jobs with a
    single task are of one entry a class; those of other jobs are distinct by job, for the job is as slow as its
    slowest task. Where it is the problem of the round before it is the very same object.
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
    """The packing problem of so many tasks of each class and, of jobs with several tasks, of each job."""
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
    """The configuration that `solution` plans, on the rented instances as far as they go.

    The solution says how many tasks of a class are together on an instance of a type. Of all ways to let the rented
    instances be those planned, the one that moves the fewest tasks is taken; what no rented instance can be is rented.
    Without a solution all stays as it is.
    """
    if solution is None:
        return Configuration()
    held = _held(view)
    current = [
        RentedInstance(i.instance_type, Counter(_key(view, view.tasks[name]) for name in i.tasks), i.id)
        for i in view.instances.values()
        if i.id not in held
    ]
    return _configuration(view, most_kept(current, list(_planned(solution))), partial(_key, view))


def _configuration(
    view: CloudView, planned: Sequence[RentedInstance], key_of: Callable[[TaskState], str]
) -> Configuration:
    """The `planned` instances with the tasks that may move or wait, beside those that have to stay as they are.

    A plan says how many tasks of an entry, by `key_of`, an instance has: those stay that are there, as far as they may.
    """
    kept = [Hosting(i.instance_type, i.tasks, i.id) for i in _held(view).values()]
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


def _held(view: CloudView) -> dict[str, InstanceState]:
    """The instances with a pinned task."""
    return {name: i for name, i in view.instances.items() if any(view.tasks[task].pinned for task in i.tasks)}


def _free_tasks(view: CloudView) -> list[TaskState]:
    held = _held(view)
    return [task for task in view.tasks.values() if not task.pinned and task.instance not in held]


def _entry(view: CloudView, task: TaskState) -> tuple[str, str | None]:
    """The class of a task, and its job where that has several tasks."""
    return task.task_class, task.job if len(view.jobs[task.job].tasks) > 1 else None


def _key(view: CloudView, task: TaskState) -> str:
    """The name of a task's entry in a solution."""
    name, job = _entry(view, task)
    return name if job is None else f"{name}{JOB_SIGN}{job}"


def _planned(solution: Solution) -> Iterator[RentedInstance]:
    for group in solution["instances"]:
        tasks = {key: k for key, k in group["tasks"].items() if k}
        if tasks:
            yield from (RentedInstance(group["type"], tasks) for _ in range(group["count"]))


SECONDS = 3600


class RoundProblems:
    """The problems of the rounds of one workload.

    `setup_seconds`: of a new instance, which count as the cost of a migration; 300 in the authors' artifact.
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
        """The problem of all tasks that may move or wait; `None` where there is none.

        An instance with a pinned task keeps its tasks for the moment, and is no part of the problem. What it costs to
        move a job is known of what was seen of its delays, as in the artifact.
        """
        free, held_back = _free_tasks(view), _held(view)
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
                    id=i.id, type=i.instance_type, tasks=Counter(_with_job(view.tasks[name]) for name in i.tasks)
                )
                for i in open_
            ),
            horizon_hours=round(horizon_seconds / SECONDS, DIGITS),
        )

    def _migration_usd(self, view: CloudView, job: str) -> float:
        """The delays of a job's move, as far as they were seen, at the price of its tasks alone."""
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
    """The configuration that a solution of the round's problem plans; without one all stays as it is."""
    if solution is None:
        return Configuration()
    planned = [
        RentedInstance(view.instances[name].instance_type, tasks, name)
        for name, tasks in solution["existing"].items()
        if any(tasks.values())
    ]
    return _configuration(view, [*planned, *_planned(solution)], _with_job)


def _with_job(task: TaskState) -> str:
    """The name of a task's entry in the problem of a round, where every job is an entry of its own."""
    return f"{task.task_class}{JOB_SIGN}{task.job}"
