"""Convert an `eva-reconfiguration` instance to arrays: classes of tasks, existing instances, and values of staying."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays, packing_arrays
from instances.eva.reconfiguration import EvaReconfiguration
from instances.options import Solution

DIGITS = 20  # Binary digits before the point of the largest amount of money.
LEAST_USD = 1e-9
NEW = -1  # marks a new instance instead of a group of existing ones

Placed = tuple[int, int, Mapping[int, int], int]
"""(group of existing instances or NEW, type k, tasks of each class on one instance, number of such instances)."""


@dataclass(frozen=True)
class Together:
    """The tasks on an existing instance of a job with several tasks.

    - `tasks`: pairs of a class and a number.
    - `migration`: the cost of a move of the job.
    - `spread`: the index of the job among those on several existing instances, `None` if all its tasks are here.
    """

    tasks: tuple[tuple[int, int], ...]
    migration: float
    spread: int | None


@dataclass(frozen=True)
class Group:
    """Identical existing instances.

    - `ids`, `kind`: their ids and their type.
    - `on_it` (N,): the tasks of each class on each of them.
    - `stay`: for each class, the migration costs of the jobs with one task, in decreasing order.
    - `together`: the jobs with several tasks.
    """

    ids: tuple[str, ...]
    kind: int
    on_it: IntArray
    stay: tuple[tuple[float, ...], ...]
    together: tuple[Together, ...]

    def staying(self, on_it: IntArray) -> FloatArray:
        """Return the saved migration cost (P,) if such an instance keeps `on_it` (P, N), without spread jobs."""
        total = np.zeros(len(on_it))
        for c, value in enumerate(self.stay):
            if value:
                total += np.concatenate([[0.0], np.cumsum(value)])[np.minimum(on_it[:, c], len(value))]
        for i, bundle in enumerate(self.together):
            if bundle.spread is None:
                total += bundle.migration * self.whole(i, on_it)
        return total

    def to_units(self, usd: float) -> Group:
        """Return the group with its money, given in USD, converted to units of `usd` USD."""
        return replace(
            self,
            stay=tuple(tuple(value / usd for value in each) for each in self.stay),
            together=tuple(replace(bundle, migration=bundle.migration / usd) for bundle in self.together),
        )

    def whole(self, i: int, on_it: IntArray) -> IntArray:
        """Return whether (P,) an instance with `on_it` (P, N) keeps all tasks of `together[i]`."""
        kept = np.ones(len(on_it), dtype=np.int64)
        for c, k in self.together[i].tasks:
            kept &= on_it[:, c] >= k
        return kept


@dataclass(frozen=True)
class SavingArrays:
    """The arrays for the saving of each pattern.

    - `packing`: tasks and types; a job with several tasks on existing instances has separate classes.
    - `groups`: the existing instances.
    - `scale`: the cost of a price unit over the horizon.
    - `new` (K,): the cost of a new instance of each type over the horizon, including its start.
    - `spread` (J,): the migration cost of each job on several existing instances.
    """

    packing: PackingArrays
    groups: tuple[Group, ...]
    scale: float
    new: FloatArray
    spread: FloatArray

    @property
    def tasks(self) -> int:
        """Return the number of tasks, which is an upper bound on the number of instances."""
        return int(self.packing.count.sum())

    @cached_property
    def moving_all(self) -> float:
        """Return the migration cost if every task on an existing instance moves, without jobs on several instances."""
        return sum(len(g.ids) * float(g.staying(g.on_it[None])[0]) for g in self.groups)


@dataclass(frozen=True)
class ReconfigurationArrays(SavingArrays):
    """An `eva-reconfiguration` instance in arrays.

    `unit_usd`: the unit of all money except the prices of `packing`, a power of two.
    """

    data: EvaReconfiguration
    unit_usd: float

    def worth_usd(self, placed: Iterable[Placed]) -> float:
        """Return the value in USD of a solution in terms of classes."""
        rows = list(placed)
        on_it = np.zeros((len(rows), self.packing.classes), dtype=np.int64)
        for row, (_, _, tasks, _) in enumerate(rows):
            on_it[row, list(tasks)] = list(tasks.values())
        total, kept = -self.moving_all - float(self.spread.sum()), np.ones(len(self.spread), dtype=bool)
        values = self.scale * self.packing.value(on_it)
        there: dict[int, list[int]] = {}
        for row, (g, kind, _, copies) in enumerate(rows):
            price = self.new[kind] if g == NEW else self.scale * float(self.packing.price[kind])
            total += copies * (float(values[row]) - float(price))
            if g != NEW:
                there.setdefault(g, []).append(row)
                total += copies * float(self.groups[g].staying(on_it[row : row + 1])[0])
        for g, i, job in spread_rows(self.groups):
            kept[job] &= any(self.groups[g].whole(i, on_it[row : row + 1])[0] for row in there.get(g, ()))
        return (total + float(self.spread @ kept)) * self.unit_usd

    def read_placed(self, solution: Solution) -> list[Placed]:
        """Return the instances of a valid solution in terms of classes."""
        data, packing = self.data, self.packing
        class_of = {data.tasks[i].key: c for c, entries in enumerate(packing.members) for i in entries}
        kinds = {kind.name: k for k, kind in enumerate(data.instance_types)}
        group_of = {name: g for g, group in enumerate(self.groups) for name in group.ids}

        def classes(tasks: Mapping[str, int]) -> dict[int, int]:
            found: dict[int, int] = {}
            for key, k in tasks.items():
                if k:
                    found[class_of[key]] = found.get(class_of[key], 0) + k
            return found

        made: list[Placed] = []
        for name, tasks in solution["existing"].items():
            if any(tasks.values()):
                g = group_of[name]
                made.append((g, self.groups[g].kind, classes(tasks), 1))
        for group in solution["instances"]:
            if any(group["tasks"].values()) and group["count"]:
                made.append((NEW, kinds[group["type"]], classes(group["tasks"]), group["count"]))
        return made

    def solution(self, placed: Iterable[Placed]) -> dict[str, Any]:
        """Convert instances in terms of classes to a solution in JSON form.

        On existing instances the tasks with the highest migration cost stay. If a job is kept only partly, its other
        tasks are distributed like all others.
        """
        existing: dict[str, dict[str, int]] = {}
        left = {task.key: task.count for task in self.data.tasks}
        free = [list(group.ids) for group in self.groups]
        open_: list[tuple[dict[str, int], dict[int, int]]] = []
        new: list[tuple[int, dict[str, int]]] = []
        held = {instance.id: instance.tasks for instance in self.data.existing}
        for group, kind, on_it, copies in placed:
            for _ in range(copies):
                tasks: dict[str, int] = {}
                missing = dict(on_it)
                if group != NEW:
                    name = free[group].pop(0)
                    existing[name] = tasks
                    for key, c, k in self._dearest_first(held[name]):
                        stay = min(k, missing.get(c, 0))
                        if stay:
                            tasks[key] = stay
                            missing[c] -= stay
                            left[key] -= stay
                else:
                    new.append((kind, tasks))
                open_.append((tasks, missing))
        keys = [[self.data.tasks[i].key for i in entries] for entries in self.packing.members]
        for tasks, missing in open_:
            for c, k in missing.items():
                for key in keys[c]:
                    taken = min(k, left[key])
                    if taken:
                        tasks[key] = tasks.get(key, 0) + taken
                        left[key] -= taken
                        k -= taken
        counted = Counter((self.data.instance_types[kind].name, tuple(sorted(tasks.items()))) for kind, tasks in new)
        return {
            "existing": existing,
            "instances": [{"type": name, "count": n, "tasks": dict(on)} for (name, on), n in counted.items()],
        }

    def _dearest_first(self, held: Mapping[str, int]) -> list[tuple[str, int, int]]:
        """Return (key, class, number) of the tasks on an instance, those with the highest migration cost first."""
        entry = {self.data.tasks[i].key: (i, c) for c, entries in enumerate(self.packing.members) for i in entries}
        order = sorted(held.items(), key=lambda item: -self.data.tasks[entry[item[0]][0]].migration_usd)
        return [(key, entry[key][1], k) for key, k in order]


def reconfiguration_arrays(data: EvaReconfiguration) -> ReconfigurationArrays:
    """Build the arrays of `data`; identical existing instances form one group."""
    job_of = {task.key: task.job for task in data.tasks}
    usd_of = {task.key: task.migration_usd for task in data.tasks}
    on: dict[str, dict[str, int]] = {}
    for instance in data.existing:
        for key, k in instance.tasks.items():
            job = job_of[key]
            if job is not None:
                held = on.setdefault(job, {})
                held[instance.id] = held.get(instance.id, 0) + k
    several = {job for job, there in on.items() if sum(there.values()) > 1}
    spread = [job for job in on if len(on[job]) > 1]
    packing = packing_arrays(data.packing, [task.job if task.job in several else None for task in data.tasks])
    class_of = {data.tasks[i].key: c for c, entries in enumerate(packing.members) for i in entries}
    kinds = {kind.name: k for k, kind in enumerate(data.instance_types)}
    found: dict[Any, Group] = {}
    for instance in data.existing:
        on_it = np.zeros(packing.classes, dtype=np.int64)
        stay: list[list[float]] = [[] for _ in range(packing.classes)]
        jobs: dict[str, dict[int, int]] = {}
        usd: dict[str, float] = {}
        for key, k in instance.tasks.items():
            c, job = class_of[key], job_of[key]
            on_it[c] += k
            if job in several and job is not None:
                there = jobs.setdefault(job, {})
                there[c], usd[job] = there.get(c, 0) + k, usd_of[key]
            else:
                stay[c] += [usd_of[key]] * k
        value = tuple(tuple(sorted(usd, reverse=True)) for usd in stay)
        together = tuple(
            Together(tuple(tasks.items()), usd[job], spread.index(job) if job in spread else None)
            for job, tasks in jobs.items()
        )
        kind = kinds[instance.type]
        # A job on two otherwise identical instances stays only if both keep its tasks.
        name = (kind, on_it.tobytes(), value, together, instance.id if together else None)
        ids = (*found[name].ids, instance.id) if name in found else (instance.id,)
        found[name] = Group(ids, kind, on_it, value, together)
    job_usd = {task.job: task.migration_usd for task in data.tasks}
    scale = data.horizon_hours * float(packing.price_unit)
    new = scale * packing.price + np.array([kind.start_usd for kind in data.instance_types])
    largest = max(float(new.max()), max(task.migration_usd for task in data.tasks), LEAST_USD)
    unit = 2.0 ** (math.floor(math.log2(largest)) - DIGITS)
    return ReconfigurationArrays(
        data=data,
        packing=packing,
        groups=tuple(group.to_units(unit) for group in found.values()),
        unit_usd=unit,
        scale=scale / unit,
        new=new / unit,
        spread=np.array([job_usd[job] for job in spread]) / unit,
    )


def spread_rows(groups: Sequence[Group]) -> list[tuple[int, int, int]]:
    """Return (group, index in `together`, spread job) for each group with tasks of a job on several instances."""
    return [
        (g, i, bundle.spread)
        for g, group in enumerate(groups)
        for i, bundle in enumerate(group.together)
        if bundle.spread is not None
    ]
