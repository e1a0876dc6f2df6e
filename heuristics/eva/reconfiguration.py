"""No-Packing and Full Reconfiguration (Algorithm 1 of Eva), on classes of identical tasks.

Comments name the lines of the pseudocode.
Types are tried from the most expensive to the cheapest. An instance is filled with the task that raises the
(throughput-normalised) reservation price of its tasks most, and is kept if that price covers its cost. While every
class has enough tasks left, the next instance of a type is filled like the one before, so equal instances are made at
once. The paper does not treat limits of instances. Here, types without a free instance are skipped, and running
instances of a type come first. Tasks that remain unassigned go to existing instances with free capacity, or to the type
that costs least for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal

import numpy as np

from instances import Answer
from instances.arrays import IntArray
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import ANY, method

Fill = Callable[[int, list[int]], tuple[dict[int, int], float]]
"""`fill(type, unassigned tasks of each class)`: the tasks put on an instance of the type, and their price."""


class OutOfInstances(Exception):
    """No instance is left for a task."""


class Stock:
    """The number of instances left of each type."""

    def __init__(self, arrays: PackingArrays) -> None:
        self.arrays = arrays
        tasks = sum(arrays.count.tolist())  # no plan needs more instances
        self.left = [tasks if most is None else most for most in arrays.most]
        self._joint = [(limit.types, [limit.most]) for limit in arrays.joint]

    @cached_property
    def _amounts(self) -> tuple[list[list[list[int]]], list[list[int]]]:
        """Return demands and capacities as Python integers, which do not overflow."""
        return self.arrays.demand.tolist(), self.arrays.capacity.tolist()

    def take(self, kind: int, on_it: Mapping[int, int], copies: int) -> Group:
        """Take instances of a type."""
        self.left[kind] -= copies
        for kinds, room in self._joint:
            room[0] -= copies * (kind in kinds)
            for k in kinds:
                self.left[k] = min(self.left[k], room[0])
        return kind, dict(on_it), copies

    def room(self, kind: int, on_it: Mapping[int, int], c: int) -> int | None:
        """Return how many tasks of a class fit on an instance in addition to `on_it`; `None` for any number."""
        demands, capacities = self._amounts
        demand = demands[int(self.arrays.family[kind])]
        rooms = [
            (q - sum(k * demand[other][r] for other, k in on_it.items())) // demand[c][r]
            for r, q in enumerate(capacities[kind])
            if demand[c][r]
        ]
        return min(rooms, default=None)

    def cheapest(self, on_it: Mapping[int, int]) -> int:
        """Return the cheapest type with a free instance that holds some tasks, the first of several; one must exist."""
        arrays, classes, counts = self.arrays, list(on_it), np.array(list(on_it.values()))
        needed = (arrays.demand_of_type[:, classes, :] * counts[None, :, None]).sum(axis=1)
        holds = (needed <= arrays.capacity).all(axis=1) & (np.array(self.left) > 0)
        return int(np.where(holds, arrays.price, np.iinfo(np.int64).max).argmin())


def place_rest(stock: Stock, fill: Fill, groups: list[Group], left: list[int]) -> list[Group]:
    """Place the tasks `left` on the instances `groups` or on further instances, and return all instances.

    The tasks with the fewest types come first. Raises OutOfInstances if a task fits nowhere.
    """
    fits = stock.arrays.fits
    for c in sorted((c for c, n in enumerate(left) if n), key=lambda c: (int(fits[:, c].sum()), c)):
        groups = _add_to_instances(stock, groups, c, left)
        while left[c]:
            best = _best_type(stock, fill, c, left)
            if best is None:
                raise OutOfInstances
            kind, on_it = best
            copies = min(stock.left[kind], *(left[other] // k for other, k in on_it.items()))
            groups.append(stock.take(kind, on_it, copies))
            for other, k in on_it.items():
                left[other] -= k * copies
    return groups


def _add_to_instances(stock: Stock, groups: list[Group], c: int, left: list[int]) -> list[Group]:
    """Return the instances with as many tasks of a class added as fit."""
    extended: list[Group] = []
    for kind, on_it, copies in groups:
        room = stock.room(kind, on_it, c)
        while copies and left[c] and room != 0:
            more = left[c] if room is None else min(room, left[c])
            equal = min(copies, left[c] // more)
            extended.append((kind, {**on_it, c: on_it.get(c, 0) + more}, equal))
            copies -= equal
            left[c] -= more * equal
        if copies:
            extended.append((kind, on_it, copies))
    return extended


def _best_type(stock: Stock, fill: Fill, c: int, left: list[int]) -> tuple[int, dict[int, int]] | None:
    """Return the available type with the minimum price less the price of its tasks, one of them of class `c`."""
    best: tuple[float, int, dict[int, int]] | None = None
    for kind, free in enumerate(stock.left):
        if free and stock.arrays.fits[kind, c]:
            on_it, value = fill(kind, left)
            if c not in on_it:
                on_it, value = {c: 1}, float(stock.arrays.reservation_price[c])
            score = int(stock.arrays.price[kind]) - value
            if best is None or score < best[0]:
                best = score, kind, on_it
    return None if best is None else best[1:]


def try_plan(arrays: PackingArrays, groups: Callable[[], list[Group]]) -> Answer:
    """Return the answer of a heuristic, which may run out of instances."""
    try:
        return Answer(arrays.solution(groups()))
    except OutOfInstances:
        return Answer(None, reason="the limits of instances leave a task without a place")


@method("heuristic", ANY)
def no_packing(data: EvaPacking) -> Answer:
    """Rent an instance for each task, of the type that sets the reservation price: No-Packing (section 6.1).

    If instances are limited, it is the cheapest type that is left; tasks with the fewest types come first.
    """
    arrays = packing_arrays(data)
    if arrays.has_limits:
        return try_plan(arrays, lambda: _rent_one_each(arrays))
    alone = zip(arrays.cheapest_type.tolist(), arrays.count.tolist(), strict=True)
    return Answer(arrays.solution((kind, {c: 1}, n) for c, (kind, n) in enumerate(alone)))


def _rent_one_each(arrays: PackingArrays) -> list[Group]:
    stock, groups = Stock(arrays), []
    fits, price = arrays.fits, arrays.price.tolist()
    for c in sorted(range(arrays.classes), key=lambda c: (int(fits[:, c].sum()), c)):
        left = int(arrays.count[c])
        for kind in sorted(np.flatnonzero(fits[:, c]).tolist(), key=lambda k: (price[k], k)):
            copies = min(left, stock.left[kind])
            left -= copies
            if copies:
                groups.append(stock.take(kind, {c: 1}, copies))
        if left:
            raise OutOfInstances
    return groups


TieBreak = Literal["alignment", "first"]

MANY = 40  # number of tied classes above which arrays are faster than lists
ROUNDING = 1e-9  # relative difference below which prices are equal; under interference they are products of floats


@method("heuristic", ANY)
def full_reconfiguration(data: EvaPacking) -> Answer:
    """Run Full Reconfiguration (Algorithm 1 of Eva); ties of the argmax go to the best-aligned task.

    Alignment is the sum over resources of d/Q * free/Q, for demand d, capacity Q and free capacity.
    """
    arrays = packing_arrays(data)
    return try_plan(arrays, lambda: reconfigure(arrays, "alignment"))


@method("heuristic", ANY)
def full_reconfiguration_first(data: EvaPacking) -> Answer:
    """Run Full Reconfiguration (Algorithm 1 of Eva); ties of the argmax go to the first task in order."""
    arrays = packing_arrays(data)
    return try_plan(arrays, lambda: reconfigure(arrays, "first"))


@method("heuristic", ANY)
def full_reconfiguration_artifact(data: EvaPacking) -> Answer:
    """Run Full Reconfiguration of the authors' artifact: a set that pays moves to the cheapest type that holds it.

    Ties of the argmax go to the best-aligned task.
    """
    arrays = packing_arrays(data)
    return try_plan(arrays, lambda: reconfigure(arrays, "alignment", moves_down=True))


def reconfigure(
    arrays: PackingArrays, tie_break: TieBreak = "alignment", *, moves_down: bool = False, many: int = MANY
) -> list[Group]:
    """Run Algorithm 1 of Eva on arrays; prices are throughput-normalised for the objective `net-saving`.

    - `tie_break`: rule for ties of the argmax in line 8.
    - `moves_down`: whether a set that pays is put on the cheapest type that holds it, as in the artifact.
    - `many`: number of tied classes above which arrays are used instead of lists; it affects the time only.

    Raises OutOfInstances if limits of instances leave a task unassigned.
    """
    interfering = arrays.data.objective == "net-saving"
    fill = _fill_by_throughput(arrays, tie_break) if interfering else _fill_by_price(arrays, tie_break, many)
    left = arrays.count.tolist()
    price = arrays.price.tolist()
    listed = [arrays.data.instance_types[k].usd_per_hour for k in arrays.type_of]
    stock = Stock(arrays)
    groups: list[Group] = []
    for kind in sorted(range(len(price)), key=lambda k: (-listed[k], price[k])):  # lines 2 and 3
        while any(left) and stock.left[kind]:  # line 4
            on_it, value = fill(kind, left)  # lines 5 to 13
            if not on_it or value < price[kind] * (1 - ROUNDING):  # line 14
                break  # line 17
            renting = stock.cheapest(on_it) if moves_down else kind
            copies = min(stock.left[renting], *(left[c] // k for c, k in on_it.items()))
            for c, k in on_it.items():
                left[c] -= k * copies
            groups.append(stock.take(renting, on_it, copies))  # line 15
    return place_rest(stock, fill, groups, left) if any(left) else groups


def _fill_by_price(arrays: PackingArrays, tie_break: TieBreak, many: int) -> Fill:
    """Return lines 5 to 13 without interference: RP(T) is a sum, so tasks come by decreasing reservation price."""
    value: list[int] = arrays.reservation_price.tolist()
    ranked = sorted(range(arrays.classes), key=lambda c: -value[c])
    tied: list[list[int]] = []
    for c in ranked:
        if tied and value[tied[-1][0]] == value[c]:
            tied[-1].append(c)
        else:
            tied.append([c])
    demands = arrays.demand.tolist()
    capacity, family = arrays.capacity.tolist(), arrays.family.tolist()

    def fill(kind: int, left: list[int]) -> tuple[dict[int, int], float]:
        demand, size = demands[family[kind]], capacity[kind]
        free, total = list(size), 0
        on_it: dict[int, int] = {}
        for classes in tied:
            open_ = [c for c in classes if left[c]]
            if len(open_) > many and tie_break == "alignment":
                free, added = _fill_by_alignment(np.array(open_), demand, free, size, left)
                for c, k in added.items():
                    on_it[c], total = k, total + k * value[c]
                continue
            while open_:
                room = {c: _room(demand[c], free, left[c] - on_it.get(c, 0)) for c in open_}
                open_ = [c for c in open_ if room[c]]
                if not open_:
                    break
                if len(open_) == 1 or tie_break == "first":  # line 8
                    best = open_[0]
                    k = room[best]
                else:
                    best = max(open_, key=lambda c: _alignment(demand[c], free, size))
                    k = 1
                free = [f - k * d for f, d in zip(free, demand[best], strict=True)]
                on_it[best] = on_it.get(best, 0) + k  # line 12
                total += k * value[best]
        return on_it, total

    return fill


def _fill_by_alignment(
    classes: IntArray, demand: list[list[int]], free: list[int], size: list[int], left: list[int]
) -> tuple[list[int], dict[int, int]]:
    """Fill an instance with tasks of tied `classes` by alignment; return free capacity and the tasks added."""
    needs, available = np.array([demand[c] for c in classes]), np.array([left[c] for c in classes])
    room = np.array(free)
    per_size = np.array([1.0 / q**2 if q else 0.0 for q in size])
    on_it: dict[int, int] = {}
    while True:
        fitting = np.flatnonzero((needs <= room).all(axis=1) & (available > 0))
        if not len(fitting):
            return room.tolist(), on_it
        best = fitting[np.argmax(needs[fitting] @ (room * per_size))]
        room = room - needs[best]
        available[best] -= 1
        on_it[int(classes[best])] = on_it.get(int(classes[best]), 0) + 1


def _room(demand: list[int], free: list[int], left: int) -> int:
    """Return the number of tasks of a demand that fit in the free capacity, at most `left`."""
    for d, f in zip(demand, free, strict=True):
        if d and f // d < left:
            left = f // d
    return left


def _alignment(demand: list[int], free: list[int], size: list[int]) -> float:
    """Return the alignment of a demand with the free capacity of an instance of the given size."""
    return sum(d * f / (q * q) for d, f, q in zip(demand, free, size, strict=True) if q)


def _fill_by_throughput(arrays: PackingArrays, tie_break: TieBreak) -> Fill:
    """Return lines 5 to 13 with interference, for all classes at once.

    A newcomer reduces the throughput of every task on the instance, so TNRP(T + τ) is computed for each class.
    """
    pair, loss = arrays.pair, arrays.job_price.astype(float)
    base = arrays.reservation_price - loss  # TNRP of a task = base + throughput * loss
    demands = arrays.demand_of_type

    def fill(kind: int, left: list[int]) -> tuple[dict[int, int], float]:
        demand, size = demands[kind], arrays.capacity[kind].astype(float)
        per_size = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0) ** 2
        free, available = arrays.capacity[kind].copy(), np.array(left)
        on_it = np.zeros(arrays.classes, dtype=np.int64)
        outsider = np.ones(arrays.classes)  # throughput of a newcomer of each class
        member = np.ones(arrays.classes)  # throughput of a present task of each class
        total = 0.0
        while True:
            fitting = np.flatnonzero((demand <= free).all(axis=1) & (available > 0))
            if not len(fitting):
                break
            then = (on_it * base).sum() + (on_it * member * loss) @ pair[:, fitting]
            then += base[fitting] + outsider[fitting] * loss[fitting]
            best = then.max()  # line 8
            if best < total - ROUNDING * abs(total):  # lines 9 to 11
                break
            tied = fitting[then >= best - ROUNDING * max(1.0, abs(best))]
            if tie_break == "alignment" and len(tied) > 1:
                tied = tied[[int(np.argmax((demand[tied] * free * per_size).sum(axis=1)))]]
            c = int(tied[0])
            newcomer = outsider[c]
            outsider, member = outsider * pair[:, c], member * pair[:, c]
            member[c] = newcomer
            on_it[c] += 1  # line 12
            available[c] -= 1
            free = free - demand[c]
            total = float(best)
        return {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}, total

    return fill
