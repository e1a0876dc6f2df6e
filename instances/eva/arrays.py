"""Convert an `eva-packing` instance to integers: in arrays, and for models of solvers with tolerances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.arrays import FloatArray, IntArray
from instances.eva.constraints import Limit, joint_limits, offers, own_resources
from instances.eva.packing import EvaPacking, PackedTasks, PricedType, Throughput
from instances.fields import STEPS, steps
from instances.options import Solution

Group = tuple[int, Mapping[int, int], int]
"""(type k, tasks of each class on one instance, number of such instances)."""


@dataclass(frozen=True)
class PackingArrays:
    """The arrays of an `eva-packing` instance, with classes of identical tasks and integer amounts and prices.

    There are K instance types, F families, N classes and R resources. Running instances are separate types. Allowed
    types and spreading are resources (`constraints`).

    - `demand` (F, N, R): a demand that no type of the family can meet is one unit more than the largest capacity.
    - `capacity` (K, R): of each type.
    - `family` (K,): the index of the family of each type.
    - `price` (K,): in multiples of `price_unit` USD/h.
    - `most` (K): the limit on the instances of each type, `None` for no limit.
    - `joint`: limits on several types together.
    - `type_of` (K): the index of each type in the data.
    - `count` (N,): the number of tasks of each class.
    - `members` (N): the task entries of each class.
    - `reservation_price` (N,), `job_price` (N,): in price units, the latter summed over the tasks of the task's job.
    - `pair` (N, N): the throughput of one task next to one other.
    - `pair_loss` (N, N): 1 less this throughput.
    """

    data: EvaPacking
    demand: IntArray
    capacity: IntArray
    family: IntArray
    price: IntArray
    price_unit: Fraction
    most: tuple[int | None, ...]
    joint: tuple[Limit, ...]
    type_of: tuple[int, ...]
    count: IntArray
    members: tuple[tuple[int, ...], ...]
    reservation_price: IntArray
    job_price: IntArray
    pair: FloatArray
    pair_loss: FloatArray

    @property
    def classes(self) -> int:
        """Return N, the number of classes of identical tasks."""
        return len(self.count)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """Return the limits on numbers of instances: those of single types in order, then those on several types."""
        return (*(Limit((k,), most) for k, most in enumerate(self.most) if most is not None), *self.joint)

    @property
    def has_limits(self) -> bool:
        """Return whether there is a limit on the instances of some type."""
        return bool(self.limits)

    def allows(self, used: Sequence[int]) -> bool:
        """Return whether the limits allow `used` instances of each type (K,)."""
        return all(sum(used[k] for k in limit.types) <= limit.most for limit in self.limits)

    @cached_property
    def demand_of_type(self) -> IntArray:
        """Return the demands (K, N, R) of each class on each type."""
        return self.demand[self.family]

    @cached_property
    def fits(self) -> NDArray[np.bool_]:
        """Return whether (K, N) a task of each class fits alone on each type."""
        return np.all(self.demand_of_type <= self.capacity[:, None, :], axis=2)

    @cached_property
    def cheapest_type(self) -> IntArray:
        """Return the cheapest type (N,) on which a task of each class fits alone: the type of the reservation price."""
        priced = np.where(self.fits, self.price[:, None], np.iinfo(np.int64).max)
        return np.asarray(priced.argmin(axis=0))

    @property
    def price_alone(self) -> int:
        """Return the reservation prices of all tasks added up, in price units: the cost of every task alone."""
        return sum(n * price for n, price in zip(self.count.tolist(), self.reservation_price.tolist(), strict=True))

    def select_classes(self, classes: IntArray, count: IntArray | None = None) -> PackingArrays:
        """Return the arrays of some `classes` (n,) in this order, with `count` (n,) tasks of each, by default all."""
        return replace(
            self,
            demand=self.demand[:, classes],
            count=self.count[classes] if count is None else count,
            members=tuple(self.members[c] for c in classes),
            reservation_price=self.reservation_price[classes],
            job_price=self.job_price[classes],
            pair=self.pair[np.ix_(classes, classes)],
            pair_loss=self.pair_loss[np.ix_(classes, classes)],
        )

    def sort_by_demand(self) -> IntArray:
        """Return the classes (N,) sorted by demand, independent of the order of the tasks."""
        return np.lexsort(self.demand.transpose(0, 2, 1).reshape(-1, self.classes)[::-1])

    def usd(self, units: int | Fraction) -> float:
        """Convert an amount of price units to USD/h."""
        return float(units * self.price_unit)

    def losses(self, on_it: IntArray) -> FloatArray:
        """Return 1 - throughput (..., N) of a task of each class on instances that hold `on_it` (..., N).

        Pairwise throughputs are multiplied (section 4.3), so the code adds their logarithms. This keeps the digits of
        small losses. The entry of a class without a task on the instance is meaningless.
        """
        with np.errstate(divide="ignore"):
            logs = np.log1p(-self.pair_loss)
        others = on_it[..., None, :] - np.eye(self.classes, dtype=np.int64)
        exponent = np.where(others > 0, others * np.where(others > 0, logs, 0.0), 0.0)
        return np.asarray(-np.expm1(exponent.sum(axis=-1)))

    def value(self, on_it: IntArray) -> FloatArray:
        """Return TNRP(T) (...,) in price units of the tasks `on_it` (..., N): equations of sections 4.3 and 4.4."""
        each = self.reservation_price - self.losses(on_it) * self.job_price
        return (on_it * each).sum(axis=-1)

    def solution(self, groups: Iterable[Group]) -> dict[str, Any]:
        """Convert instances in terms of classes to a solution in JSON form, with tasks assigned to task entries."""
        left = [[[entry, self.data.tasks[entry].count] for entry in entries] for entries in self.members]
        instances: dict[tuple[str, tuple[tuple[str, int], ...]], int] = {}
        for kind, pattern, copies in groups:
            while copies > 0:
                tasks, same = self._deal(pattern, copies, left)
                key = (self.data.instance_types[self.type_of[kind]].name, tuple(sorted(tasks.items())))
                instances[key] = instances.get(key, 0) + same
                copies -= same
        return {"instances": [{"type": name, "count": n, "tasks": dict(on)} for (name, on), n in instances.items()]}

    def groups(self, solution: Solution) -> list[Group]:
        """Convert a valid `solution` to instances in terms of classes, the cheapest offers of a type first."""
        left: dict[str, list[list[int]]] = {}
        number = sum(group["count"] for group in solution["instances"])
        for k, (place, most) in enumerate(zip(self.type_of, self.most, strict=True)):
            left.setdefault(self.data.instance_types[place].name, []).append([k, number if most is None else most])
        class_of = {self.data.tasks[entry].key: c for c, entries in enumerate(self.members) for entry in entries}
        found: list[Group] = []
        for group in solution["instances"]:
            pattern: dict[int, int] = {}
            for key, k in group["tasks"].items():
                pattern[class_of[key]] = pattern.get(class_of[key], 0) + k
            present, copies = {c: k for c, k in pattern.items() if k}, group["count"]
            for offer in left[group["type"]] if present else ():
                taken = min(copies, offer[1])
                offer[1] -= taken
                copies -= taken
                if taken:
                    found.append((offer[0], present, taken))
        return found

    def cost(self, groups: Iterable[Group]) -> int:
        """Return the price of instances in price units."""
        price = self.price.tolist()
        return sum(price[kind] * copies for kind, _, copies in groups)

    def _deal(self, pattern: Mapping[int, int], copies: int, left: list[list[list[int]]]) -> tuple[dict[str, int], int]:
        """Take the tasks of an instance from `left`; return them and the number of equal instances they suffice for."""
        present = {c: k for c, k in pattern.items() if k}
        same = min([copies, *(left[c][0][1] // k for c, k in present.items())])
        tasks: dict[str, int] = {}
        for c, k in present.items():
            need = k * max(1, same)
            while need:
                entry, available = left[c][0]
                taken = min(need, available)
                key = self.data.tasks[entry].key
                tasks[key] = tasks.get(key, 0) + taken // max(1, same)
                left[c][0][1] -= taken
                need -= taken
                if left[c][0][1] == 0 and len(left[c]) > 1:
                    left[c].pop(0)
        return tasks, max(1, same)


def packing_arrays(data: EvaPacking, apart: Sequence[str | None] | None = None) -> PackingArrays:
    """Build the arrays of `data`, with classes as coarse as the objective allows.

    Tasks of a class have equal demands, and for `net-saving` also equal workloads and job prices. `apart` gives for
    each task entry a further label that is equal for all tasks of a class.
    """
    families = data.families
    family = np.array([families.index(k.family) for k in data.instance_types], dtype=np.int64)
    demand = np.array(
        [[[steps(t.demand_on(f)[r]) for r in data.resources] for t in data.tasks] for f in families], dtype=np.int64
    )
    limits = np.array([[steps(k.capacity[r]) for r in data.resources] for k in data.instance_types], dtype=np.int64)
    for own in own_resources(data):
        demand = np.append(demand, np.broadcast_to(np.array(own.demand)[None, :, None], (*demand.shape[:2], 1)), axis=2)
        limits = np.append(limits, np.array(own.capacity)[:, None], axis=1)
    for r in range(limits.shape[1]):
        largest = np.array([limits[family == f, r].max() for f in range(len(families))])[:, None]
        within = demand[:, :, r] <= largest
        unit = gcd(*demand[:, :, r][within].tolist(), *limits[:, r].tolist()) or 1
        limits[:, r] //= unit
        demand[:, :, r] = np.where(within, demand[:, :, r] // unit, largest // unit + 1)
    offered = offers(data)
    type_of = [offer.type for offer in offered]
    both, price_unit = _whole(
        [*(offer.price for offer in offered), *(steps(k.usd_per_hour) for k in data.instance_types)]
    )
    price, listed = both[: len(offered)], both[len(offered) :]
    fits = (demand[family] <= limits[:, None, :]).all(axis=2)
    cheapest = np.where(fits, listed[:, None], np.iinfo(np.int64).max).min(axis=0)
    job_price = _job_prices(data, cheapest)
    keys = [
        (
            demand[:, i, :].tobytes(),
            *((t.workload, int(job_price[i])) if data.objective == "net-saving" else ()),
            None if apart is None else apart[i],
        )
        for i, t in enumerate(data.tasks)
    ]
    grouped: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(keys):
        grouped.setdefault(key, []).append(i)
    members = tuple(tuple(entries) for entries in grouped.values())
    first = [entries[0] for entries in members]
    pair, pair_loss = _pairs(data, [data.tasks[i].workload for i in first])
    return PackingArrays(
        data=data,
        demand=demand[:, first, :],
        capacity=limits[type_of],
        family=family[type_of],
        price=price,
        price_unit=price_unit,
        most=tuple(offer.most for offer in offered),
        joint=joint_limits(data, offered),
        type_of=tuple(type_of),
        count=np.array([sum(data.tasks[i].count for i in entries) for entries in members], dtype=np.int64),
        members=members,
        reservation_price=cheapest[first],
        job_price=job_price[first],
        pair=pair,
        pair_loss=pair_loss,
    )


def _whole(numbers: Sequence[int]) -> tuple[IntArray, Fraction]:
    """Convert steps of the grid to multiples of their greatest common divisor; return them and this unit."""
    unit = gcd(*numbers) or 1
    return np.array([n // unit for n in numbers], dtype=np.int64), Fraction(unit, STEPS)


def _job_prices(data: EvaPacking, cheapest: IntArray) -> IntArray:
    """Return the reservation prices summed over the job of each task; unlisted tasks equal the listed task."""
    listed: dict[str, tuple[int, int]] = {}
    for task, price in zip(data.tasks, cheapest.tolist(), strict=True):
        if task.job is not None:
            tasks, total = listed.get(task.job, (0, 0))
            listed[task.job] = tasks + task.count, total + task.count * price
    found = []
    for task, price in zip(data.tasks, cheapest.tolist(), strict=True):
        tasks, total = listed[task.job] if task.job is not None else (1, price)
        found.append(total + max(0, (task.tasks_in_job or 0) - tasks) * price)
    return np.array(found, dtype=np.int64)


def _pairs(data: EvaPacking, workloads: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return the throughput of each workload next to each other one, and 1 less it, rounded once to a float."""
    throughput = data.throughput or Throughput()
    places: dict[str, list[int]] = {}
    for place, workload in enumerate(workloads):
        places.setdefault(workload, []).append(place)
    pair = np.full((len(workloads), len(workloads)), throughput.default)
    loss = np.full_like(pair, float(1 - Fraction(repr(throughput.default))))
    for workload, other, value in throughput.pairwise:
        both = np.ix_(places.get(workload, []), places.get(other, []))
        pair[both], loss[both] = value, float(1 - Fraction(repr(value)))
    return pair, loss


LARGEST_AMOUNT = 4 * 10**9  # With more units, HiGHS can miss one unit at its finest tolerance of 1e-10.
BEYOND = -1  # A temporary mark for a demand that no type can meet.


@dataclass(frozen=True)
class WholeAmounts:
    """Demands and capacities as integers, in multiples of the greatest common unit of each resource.

    `demand` is by family, task entry and resource, `capacity` by type and resource. A demand over the capacity of all
    types of the family is one unit more than the largest capacity. A capacity over the total demand is reduced to it.
    """

    demand: list[list[list[int]]]
    capacity: list[list[int]]

    @staticmethod
    def of(data: EvaPacking) -> WholeAmounts:
        """Compute the integer amounts of `data`."""
        demand = [[[steps(t.demand_on(f)[r]) for r in data.resources] for t in data.tasks] for f in data.families]
        capacity = [[steps(k.capacity[r]) for r in data.resources] for k in data.instance_types]
        capacities = [
            [held for held, k in zip(capacity, data.instance_types, strict=True) if k.family == f]
            for f in data.families
        ]
        for r in range(len(data.resources)):
            for needs, held in zip(demand, capacities, strict=True):
                most = max(q[r] for q in held)
                together = sum(t.count * d[r] for t, d in zip(data.tasks, needs, strict=True) if d[r] <= most)
                for q in held:
                    q[r] = min(q[r], together)
                for d in needs:
                    d[r] = d[r] if d[r] <= most else BEYOND
            unit = gcd(*(q[r] for q in capacity), *(d[r] for needs in demand for d in needs if d[r] != BEYOND)) or 1
            for needs, held in zip(demand, capacities, strict=True):
                for q in held:
                    q[r] //= unit
                for d in needs:
                    d[r] = d[r] // unit if d[r] != BEYOND else 1 + max(q[r] for q in held)
        return WholeAmounts(demand, capacity)

    @property
    def largest(self) -> int:
        """Return the largest demand or capacity."""
        return max(max(map(max, self.capacity)), *(max(d) for needs in self.demand for d in needs))


Content = Mapping[int, int]
"""The number of tasks of each task entry, by its index in the data."""


def contents(data: PackedTasks, kind: PricedType, limit: int) -> list[Content] | None:
    """Enumerate all non-empty patterns of an instance of a type; return `None` if there are more than `limit`."""
    needs = [[steps(task.demand_on(kind.family)[r]) for r in data.resources] for task in data.tasks]
    found: list[tuple[dict[int, int], list[int]]] = [({}, [steps(kind.capacity[r]) for r in data.resources])]
    for entry, task in enumerate(data.tasks):
        longer = []
        for held, free in found:
            for k in range(1, task.count + 1):
                left = [f - k * d for f, d in zip(free, needs[entry], strict=True)]
                if min(left) < 0:
                    break
                longer.append(({**held, entry: k}, left))
            if len(found) + len(longer) > limit:
                return None
        found += longer
    return [held for held, _ in found if held]
