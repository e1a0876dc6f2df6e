"""What a policy's configuration changes in Eva's cloud; a configuration that breaks a rule is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.simulator.eva.cloud import Cloud
from experiments.simulator.eva.parts import CloudInstance, CloudJobState
from instances.eva.online import Hosting
from instances.online import RuleBroken


@dataclass
class Change:
    """Instances that are rented, and given up; instances with other tasks than before; jobs that move, and where to."""

    rented: list[CloudInstance] = field(default_factory=list)
    given_up: list[CloudInstance] = field(default_factory=list)
    planned: list[tuple[CloudInstance, tuple[str, ...]]] = field(default_factory=list)
    moved: list[tuple[CloudJobState, list[CloudInstance | None]]] = field(default_factory=list)


def change(cloud: Cloud, hostings: Sequence[Hosting]) -> Change:
    """What a configuration changes.

    Raises RuleBroken for an instance that is not rented, is there twice or of another type, a task that does not exist
    or is there twice, an instance that does not hold its tasks, a pinned job that moves, and a job placed in part.
    """
    found = Change()
    stays: dict[str, CloudInstance] = {}
    target: dict[str, CloudInstance] = {}
    touched: dict[str, CloudJobState] = {}
    for hosting in hostings:
        instance = _instance(cloud, hosting, found)
        if instance.id in stays:
            raise RuleBroken(f"instance {instance.id} is twice in the configuration of {cloud.now}")
        stays[instance.id] = instance
        if tuple(instance.planned) != hosting.tasks:
            found.planned.append((instance, hosting.tasks))
    changed = {instance.id for instance, _ in found.planned}
    found.given_up = [instance for name, instance in cloud.open.items() if name not in stays]
    for instance in (*found.given_up, *(instance for instance, _ in found.planned)):
        touched.update((task.job.id, task.job) for task in instance.planned.values())
    for instance, names in found.planned:
        _refuse_overfull(cloud, instance, names)
        for name in names:
            task = cloud.tasks[name]
            kept = task.target is not None and task.target.id in stays and task.target.id not in changed
            if name in target or kept:
                raise RuleBroken(f"task {name} is twice in the configuration of {cloud.now}")
            target[name] = instance
            touched[task.job.id] = task.job
    for job in sorted(touched.values(), key=lambda job: job.index):
        targets = [
            task.target
            if task.target is not None and task.target.id in stays and task.target.id not in changed
            else target.get(task.id)
            for task in job.tasks
        ]
        if any(new is not task.target for new, task in zip(targets, job.tasks, strict=True)):
            _refuse_move(cloud, job, targets)
            found.moved.append((job, targets))
    return found


def _instance(cloud: Cloud, hosting: Hosting, found: Change) -> CloudInstance:
    instance = None if hosting.id is None else cloud.open.get(hosting.id)
    if instance is not None:
        if cloud.types[instance.kind] != hosting.instance_type:
            raise RuleBroken(f"instance {hosting.id} of the configuration of {cloud.now} is no {hosting.instance_type}")
        return instance
    if hosting.id is not None:
        raise RuleBroken(f"instance {hosting.id} of the configuration of {cloud.now} is not rented")
    if hosting.instance_type not in cloud.kinds:
        raise RuleBroken(f"an instance of unknown type {hosting.instance_type} is rented at {cloud.now}")
    kind = cloud.kinds[hosting.instance_type]
    found.rented.append(CloudInstance(cloud.records.next_id(), kind, cloud.capacity[kind]))
    return found.rented[-1]


def _refuse_overfull(cloud: Cloud, instance: CloudInstance, names: Sequence[str]) -> None:
    free = cloud.capacity[instance.kind]
    for name in names:
        if name not in cloud.tasks:
            raise RuleBroken(f"task {name} of the configuration of {cloud.now} does not exist")
        need = cloud.demand[instance.kind][cloud.tasks[name].class_index]
        free = [f - d for f, d in zip(free, need, strict=True)]
    if min(free) < 0:
        kind = cloud.types[instance.kind]
        raise RuleBroken(f"instance {instance.id}, a {kind}, does not hold its tasks of {cloud.now}")


def _refuse_move(cloud: Cloud, job: CloudJobState, targets: list[CloudInstance | None]) -> None:
    if job.pinned:
        raise RuleBroken(f"job {job.id} is pinned and moved at {cloud.now}")
    if any(targets) and not all(targets):
        raise RuleBroken(f"job {job.id} is placed in part at {cloud.now}")
