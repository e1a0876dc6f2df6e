"""An `eva-reconfiguration` instance in arrays: classes of tasks, existing instances, and the value of staying."""

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

DIGITS = 20  # The largest amount of money is of so many binary digits before the point.
LEAST_USD = 1e-9
NEW = -1  # in the place of an existing instance: one that is to be rented

Placed = tuple[int, int, Mapping[int, int], int]
"""(group of existing instances or NEW, type k, tasks of each class on one instance, number of such instances)."""


@dataclass(frozen=True)
class Together:
    """Tasks of one job of several tasks on an existing instance: `tasks` (class, number), and the cost of a move.

    `spread` is the place of the job among those that are on several existing instances, `None` where all are here.
    """

    tasks: tuple[tuple[int, int], ...]
    migration: float
    spread: int | None


@dataclass(frozen=True)
class Group:
    """Existing instances that are alike: `ids`, type, tasks (N,) of each class.

    `stay` has for each class what the jobs of one task cost to move, in falling order, `together` the others.
    """

    ids: tuple[str, ...]
    kind: int
    on_it: IntArray
    stay: tuple[tuple[float, ...], ...]
    together: tuple[Together, ...]

    def staying(self, on_it: IntArray) -> FloatArray:
        """What is not paid for moves (P,) where such an instance then holds `on_it` (P, N); without spread jobs."""
        total = np.zeros(len(on_it))
        for c, value in enumerate(self.stay):
            if value:
                total += np.concatenate([[0.0], np.cumsum(value)])[np.minimum(on_it[:, c], len(value))]
        for i, bundle in enumerate(self.together):
            if bundle.spread is None:
                total += bundle.migration * self.whole(i, on_it)
        return total

    def in_units(self, usd: float) -> Group:
        """The same instances with money in units of so many USD, where it is in USD."""
        return replace(
            self,
            stay=tuple(tuple(value / usd for value in each) for each in self.stay),
            together=tuple(replace(bundle, migration=bundle.migration / usd) for bundle in self.together),
        )

    def whole(self, i: int, on_it: IntArray) -> IntArray:
        """Whether (P,) an instance that then holds `on_it` (P, N) keeps all tasks of `together[i]`."""
        kept = np.ones(len(on_it), dtype=np.int64)
        for c, k in self.together[i].tasks:
            kept &= on_it[:, c] >= k
        return kept


@dataclass(frozen=True)
class SavingArrays:
    """What is saved by the contents of instances, in arrays.

    - `packing`: tasks and types; tasks of a job of which several are on existing instances are classes of their own.
    - `groups`: the existing instances.
    - `scale`: the cost of a price unit over the horizon.
    - `new` (K,): what a new instance of each type costs over the horizon and to start.
    - `spread` (J,): what it costs to move each job that is on several existing instances.
    """

    packing: PackingArrays
    groups: tuple[Group, ...]
    scale: float
    new: FloatArray
    spread: FloatArray

    @property
    def tasks(self) -> int:
        """Number of tasks: no more instances are rented."""
        return int(self.packing.count.sum())

    @cached_property
    def moving_all(self) -> float:
        """What the moves cost where every task on an existing instance moves, without jobs on several instances."""
        return sum(len(g.ids) * float(g.staying(g.on_it[None])[0]) for g in self.groups)


@dataclass(frozen=True)
class ReconfigurationArrays(SavingArrays):
    """An `eva-reconfiguration` instance in arrays.

    `unit_usd`: the unit of all money here but the prices of `packing`, a power of two.
    """

    data: EvaReconfiguration
    unit_usd: float

    def worth_usd(self, placed: Iterable[Placed]) -> float:
        """The value of a solution by classes, USD."""
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

    def placed(self, solution: Solution) -> list[Placed]:
        """The instances of a valid solution by classes."""
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
        """The solution in JSON form of instances by classes: on existing ones those tasks stay that cost most to move.

        Of the tasks of a job that is kept in part the rest is dealt out like any other.
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
        """(key, class, number) of the tasks that an instance holds, those first that cost most to move."""
        entry = {self.data.tasks[i].key: (i, c) for c, entries in enumerate(self.packing.members) for i in entries}
        order = sorted(held.items(), key=lambda item: -self.data.tasks[entry[item[0]][0]].migration_usd)
        return [(key, entry[key][1], k) for key, k in order]


def reconfiguration_arrays(data: EvaReconfiguration) -> ReconfigurationArrays:
    """The arrays of `data`; existing instances are of one group where they are alike."""
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
        # A job on two instances that are otherwise alike stays only if both keep its tasks.
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
        groups=tuple(group.in_units(unit) for group in found.values()),
        unit_usd=unit,
        scale=scale / unit,
        new=new / unit,
        spread=np.array([job_usd[job] for job in spread]) / unit,
    )


def spread_rows(groups: Sequence[Group]) -> list[tuple[int, int, int]]:
    """(group, place in `together`, spread job): where a job that is on several existing instances has tasks."""
    return [
        (g, i, bundle.spread)
        for g, group in enumerate(groups)
        for i, bundle in enumerate(group.together)
        if bundle.spread is not None
    ]
