"""Rented instances of a running cluster, and the instances that a new configuration continues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from instances.errors import InputError


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
