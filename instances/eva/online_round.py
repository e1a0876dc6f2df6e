"""A round of Eva's cloud as one problem, `eva-reconfiguration`, and what a solution of it says to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain, islice

from instances.eva.cloud import JOB_SIGN, EvaCloud
from instances.eva.online import Configuration, Hosting, InstanceState, TaskState, View
from instances.eva.packing import fits
from instances.eva.reconfiguration import EvaReconfiguration, ExistingInstance, MovableTask, StartedType
from instances.fields import DIGITS
from instances.options import Solution

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

    def problem(self, view: View, horizon_seconds: float) -> EvaReconfiguration | None:
        """The problem of all tasks that may move or wait; `None` where there is none.

        An instance with a pinned task keeps its tasks for the moment, and is no part of the problem. What it costs to
        move a job is known of what was seen of its delays, as in the artifact.
        """
        open_ = _open(view)
        free = [task for task in view.tasks.values() if _movable(task, open_)]
        if not free:
            return None
        entries = Counter((task.task_class, task.job) for task in free)
        held = {name: Counter(_key(view.tasks[task]) for task in i.tasks) for name, i in open_.items() if i.tasks}
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
                ExistingInstance(id=name, type=open_[name].instance_type, tasks=tasks) for name, tasks in held.items()
            ),
            horizon_hours=round(horizon_seconds / SECONDS, DIGITS),
        )

    def _migration_usd(self, view: View, job: str) -> float:
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


def round_decision(view: View, solution: Solution | None) -> Configuration:
    """The configuration that a solution of the round's problem plans; without one all stays as it is."""
    if solution is None:
        return Configuration()
    open_ = _open(view)
    kept = [Hosting(i.instance_type, i.tasks, i.id) for i in view.instances.values() if i.id not in open_]
    planned: list[tuple[str, str | None, Mapping[str, int]]] = []
    for name, tasks in solution["existing"].items():
        if any(tasks.values()):
            planned.append((open_[name].instance_type, name, tasks))
    for group in solution["instances"]:
        if any(group["tasks"].values()):
            planned += [(group["type"], None, group["tasks"])] * group["count"]
    by_key: dict[str, list[TaskState]] = {}
    for task in view.tasks.values():
        if _movable(task, open_):
            by_key.setdefault(_key(task), []).append(task)
    hosted: list[list[str]] = [[] for _ in planned]
    for key, tasks in by_key.items():
        wanted = [there.get(key, 0) for _, _, there in planned]
        stay = [
            [task.id for task in tasks if name is not None and task.instance == name][:k]
            for (_, name, _), k in zip(planned, wanted, strict=True)
        ]
        staying = set(chain(*stay))
        others = (task.id for task in tasks if task.id not in staying)
        for names, here, k in zip(hosted, stay, wanted, strict=True):
            names += [*here, *islice(others, k - len(here))]
    found = (Hosting(kind, tuple(names), name) for (kind, name, _), names in zip(planned, hosted, strict=True))
    return Configuration(instances=(*kept, *found))


def _open(view: View) -> dict[str, InstanceState]:
    """The instances without a pinned task."""
    return {name: i for name, i in view.instances.items() if not any(view.tasks[task].pinned for task in i.tasks)}


def _movable(task: TaskState, open_: Mapping[str, InstanceState]) -> bool:
    return not task.pinned and (task.instance is None or task.instance in open_)


def _key(task: TaskState) -> str:
    return f"{task.task_class}{JOB_SIGN}{task.job}"
