"""Add the constraints of a user's cluster to `eva-packing`: limits, running instances, allowed types and spreading.

Limits and running instances become offers: a number of instances of a type at a price. Allowed types become a resource
that only these types have. Spreading becomes a resource of which each task of a group takes a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import Field

from instances.fields import Frozen, Name, NonNegative, PositiveCount, refuse, refuse_duplicates, steps


class Constrained(Protocol):
    """The part of an instance of `eva-packing` that this module uses."""

    @property
    def instance_types(self) -> Sequence[Any]: ...

    @property
    def tasks(self) -> Sequence[Any]: ...

    @property
    def running(self) -> Sequence[Running]: ...

    @property
    def spread(self) -> Sequence[Spread]: ...

    @property
    def limits(self) -> Sequence[Limit]: ...

    def fits(self, task: Any, kind: Any) -> bool: ...


class Running(Frozen):
    """`count` instances of a type that run already. Each one that a plan uses costs `usd_per_hour`.

    It may be 0, until the hour that is paid for ends; by default it is the price of the type.
    """

    type: Name
    count: PositiveCount
    usd_per_hour: NonNegative | None = None


class Spread(Frozen):
    """Anti-affinity: an instance holds at most `max_per_instance` of the `tasks`, by key, all taken together."""

    tasks: Annotated[tuple[Name, ...], Field(min_length=1)]
    max_per_instance: PositiveCount = 1


@dataclass(frozen=True)
class Limit:
    """A limit of `most` on the total number of instances of `types`, which are indices."""

    types: tuple[int, ...]
    most: int


@dataclass(frozen=True)
class Offer:
    """At most `most` instances (`None`: no limit) of the type with index `type` at `price` steps of 1e-9 USD/h."""

    type: int
    price: int
    most: int | None


@dataclass(frozen=True)
class OwnResource:
    """A resource that represents a constraint: `demand` of a task of each entry, and `capacity` of each type."""

    demand: tuple[int, ...]
    capacity: tuple[int, ...]


def offers(data: Constrained) -> list[Offer]:
    """Return the offers in the order of types, the cheapest first, with at least one offer per type.

    A limit on several types also limits each of them, so every type with a limit has limited offers. It is optimal to
    use the cheapest instances of a type first, so a solution does not name them.
    """
    found: list[Offer] = []
    for k, kind in enumerate(data.instance_types):
        own = steps(kind.usd_per_hour)
        priced: dict[int, int | None] = {own: None}
        for running in data.running:
            if running.type == kind.name:
                price = own if running.usd_per_hour is None else steps(running.usd_per_hour)
                if price < own:  # a more expensive one is terminated
                    priced[price] = (priced.get(price) or 0) + running.count
        left = min((limit.most for limit in data.limits if k in limit.types), default=None)
        of_type: list[Offer] = []
        for price, most in sorted(priced.items()):
            if left is not None:
                most = left if most is None else min(left, most)
                left -= most
            if most != 0:
                of_type.append(Offer(k, price, most))
        found += of_type or [Offer(k, own, 0)]
    return found


def joint_limits(data: Constrained, offered: Sequence[Offer]) -> tuple[Limit, ...]:
    """Return the limits on several types together, with the indices of their offers."""
    return tuple(
        Limit(tuple(o for o, offer in enumerate(offered) if offer.type in limit.types), limit.most)
        for limit in data.limits
        if len(limit.types) > 1
    )


def own_resources(data: Constrained) -> list[OwnResource]:
    """Return a resource for each set of allowed types and each spread group, without redundant ones."""
    found = []
    types = [kind.name for kind in data.instance_types]
    for allowed in dict.fromkeys(frozenset(t.allowed_types) for t in data.tasks if t.allowed_types is not None):
        if len(allowed) == len(types):
            continue
        members = tuple(int(t.allowed_types is not None and frozenset(t.allowed_types) == allowed) for t in data.tasks)
        number = sum(t.count for t, member in zip(data.tasks, members, strict=True) if member)
        found.append(OwnResource(members, tuple(number if name in allowed else 0 for name in types)))
    for keys, most in spread_groups(data):
        members = tuple(int(t.key in keys) for t in data.tasks)
        if sum(t.count for t, member in zip(data.tasks, members, strict=True) if member) > most:
            found.append(OwnResource(members, (most,) * len(types)))
    return found


def spread_groups(data: Constrained) -> list[tuple[frozenset[str], int]]:
    """Return groups of task keys, with the limit on their total number on one instance."""
    alone = [(frozenset([t.key]), t.max_per_instance) for t in data.tasks if t.max_per_instance is not None]
    return [*alone, *((frozenset(group.tasks), group.max_per_instance) for group in data.spread)]


def refuse_constraints(data: Constrained) -> None:
    """Reject unknown types and tasks, duplicate names, and tasks that fit on no allowed type."""
    types = {kind.name: kind for kind in data.instance_types}
    for i, running in enumerate(data.running):
        if running.type not in types:
            refuse(f"running[{i}].type", f"unknown type, must be one of {_list_some(list(types))}", running.type)
    for i, task in enumerate(data.tasks):
        if task.allowed_types is None:
            continue
        path = f"tasks[{i}].allowed_types"
        refuse_duplicates(path, task.allowed_types)
        for j, name in enumerate(task.allowed_types):
            if name not in types:
                refuse(f"{path}[{j}]", f"unknown type, must be one of {_list_some(list(types))}", name)
        if not any(data.fits(task, types[name]) for name in task.allowed_types):
            refuse(path, f"task {task.key} fits on none of them", ", ".join(task.allowed_types))
    keys = {task.key for task in data.tasks}
    for i, group in enumerate(data.spread):
        refuse_duplicates(f"spread[{i}].tasks", group.tasks)
        for j, key in enumerate(group.tasks):
            if key not in keys:
                refuse(f"spread[{i}].tasks[{j}]", "unknown task, must be workload, or workload@job", key)


def _list_some(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f", ... ({len(names)})" if len(names) > 10 else "")
