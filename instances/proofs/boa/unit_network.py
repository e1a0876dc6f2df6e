"""Solve the problem over integer widths in integer units of time and cost, each rounded down, by exact search.

Rounding down keeps every policy within the budget and never increases its time. So the optimum in units is a lower
bound on the true optimum. Sums of units are exact in 64 bits. Before numpy is used, Python integers prove that times,
costs and lengths add up to less than `FAR`.

At a multiplier of the budget, the length of a policy is scale * time + price * cost. A policy within the budget that
takes at most t units of time has at most the length scale * t + price * budget. Its paths exceed the shortest paths of
their classes in total by at most the difference of this length and the sum of the shortest. The search enumerates all
such paths without those that others dominate in time and cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.boa.allocation import BoaAllocation, JobClass
from instances.boa.speedup import Curve
from instances.errors import CheckFailed
from instances.proofs.boa.rational import budget, corners, exact, find_max_width, power_at_most, serial, share, times
from instances.proofs.certificate import NoCertificate

IntArray = NDArray[np.int64]
MOST = 1_000_000  # entries of all classes, epochs and choices
FAR = 1 << 61  # above the length and the cost of every policy
WIDEST = 100_000


@dataclass(frozen=True)
class Units:
    """Units: of time 2^-`time` hours with weight `scale`, of cost 2^-`cost` with weight `price`."""

    time: int
    cost: int
    scale: int
    price: int


@dataclass(frozen=True)
class ClassNetwork:
    """A class in units.

    - `time`, `cost` (epochs, choices): of an epoch at each choice, FAR if the choice is not allowed.
    - `change_time`: the time of a change.
    - `change_cost` (choices,): the cost of a change to each choice.
    """

    time: IntArray
    cost: IntArray
    change_time: int
    change_cost: IntArray


@dataclass(frozen=True)
class UnitNetwork:
    """All classes in units, and the budget, rounded up."""

    classes: tuple[ClassNetwork, ...]
    budget: int
    units: Units


def unit_network(data: BoaAllocation, units: Units) -> UnitNetwork:
    """Build the network of `data`, which has integer widths, in `units`.

    Raises NoCertificate if it is too large, and CheckFailed if sums of such units would not be exact.
    """
    last = widest(data)
    cells = sum(len(c.epochs) for c in data.classes) * len(data.gpu_types) * last
    if cells > MOST:
        raise NoCertificate(f"{cells:,} pairs of an epoch and a width, more than {MOST:,}")
    hour, coin = Fraction(2) ** units.time, Fraction(2) ** units.cost
    rates = [exact(t.price) * k for t in data.gpu_types for k in range(1, last + 1)]
    cache: dict[object, list[Fraction | None]] = {}
    classes, limit = [], int(budget(data) * coin) + 1
    longest, dearest = units.price * limit, limit  # upper bounds on all sums of lengths, and of costs
    for c in data.classes:
        factor, arrivals = share(data, c) * hour, exact(c.arrivals_per_hour) * coin
        rows: list[list[int | None]] = []
        costs: list[list[int | None]] = []
        for epoch in c.epochs:
            run: list[Fraction | None] = []
            for t in data.gpu_types:
                curve = epoch.speedup.on(t.name)
                if (key := (curve.amdahl, curve.power, curve.table)) not in cache:
                    cache[key] = times(curve, data.max_width, last, data.is_measured)
                run += cache[key]
            size = exact(epoch.size_hours)
            slow, charged = factor * size, arrivals * size
            rows.append([None if z is None else _down(slow, z) for z in run])
            costs.append([None if z is None else _down(charged, z, rate) for z, rate in zip(run, rates, strict=True)])
        pause = exact(c.rescale_hours)
        change_time, change = int(factor * pause), [int(arrivals * pause * rate) for rate in rates]
        for row, paid in zip(rows, costs, strict=True):
            time = max(a for a in row if a is not None) + change_time
            cost = max(b for b in paid if b is not None) + max(change)
            longest, dearest = longest + units.scale * time + units.price * cost, dearest + cost
        if max(longest, dearest) >= FAR:  # the weight of cost may be 0: check costs, too
            raise CheckFailed("units: sums would not be exact in 64 bits")
        classes.append(ClassNetwork(_array(rows), _array(costs), change_time, np.array(change, dtype=np.int64)))
    return UnitNetwork(tuple(classes), limit, units)


def _down(factor: Fraction, z: Fraction, rate: Fraction = Fraction(1)) -> int:
    top = factor.numerator * z.numerator * rate.numerator
    return top // (factor.denominator * z.denominator * rate.denominator)


def _array(rows: list[list[int | None]]) -> IntArray:
    return np.array([[FAR if v is None else v for v in row] for row in rows], dtype=np.int64)


def widest(data: BoaAllocation) -> int:
    """Return an upper bound on the widths of runs within the budget. Raises NoCertificate if it is over WIDEST.

    A table has a last width. The cost of a formula increases with the width, and so does that of the change before it.
    """
    paid = (exact(c.arrivals_per_hour) * _bound_cost(data, c) for c in data.classes)
    found, spare = 1, budget(data) - sum(paid, Fraction(0))
    for c in data.classes:
        for epoch in c.epochs:
            for t in data.gpu_types:
                curve = epoch.speedup.on(t.name)
                end = find_max_width(curve, data.max_width)
                if curve.table is None and (end is None or end > WIDEST):
                    hours = (spare / exact(c.arrivals_per_hour) + _bound_cost(data, c)) / exact(t.price)
                    end = find_widest_affordable(curve, exact(epoch.size_hours), exact(c.rescale_hours), hours)
                found = max(found, end or 1)
    return found


def _bound_cost(data: BoaAllocation, job_class: JobClass) -> Fraction:
    """Return a lower bound on the cost of the runs of a job, from the maximum speedup per GPU."""
    total = Fraction(0)
    for epoch in job_class.epochs:
        costs = []
        for t in data.gpu_types:
            curve = epoch.speedup.on(t.name)
            steepest = max((s / k for k, s in corners(curve, data.max_width)), default=1) if curve.table else 1
            costs.append(exact(t.price) / steepest)
        total += exact(epoch.size_hours) * min(costs)
    return total


def find_widest_affordable(curve: Curve, size: Fraction, pause: Fraction, hours: Fraction) -> int:
    """Return the maximum width of a run of a formula that costs at most `hours` of a GPU, the change included."""

    def fits(k: int) -> bool:
        if curve.amdahl is not None:
            return k * (size * (serial(curve.amdahl) + exact(curve.amdahl) / k) + pause) <= hours
        return k * (size * power_at_most(Fraction(1, k), exact(curve.power or 0.0)) + pause) <= hours

    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
        if low > WIDEST:
            raise NoCertificate(f"widths of more than {WIDEST:,} GPUs are within the budget: max_width must be given")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


LABELS = 3_000_000  # partial paths, or pairs of policies, at a time


@dataclass(frozen=True)
class Distances:
    """Shortest lengths to the end of a class: `onward` (epochs, choices) after an epoch, `switch` (epochs,) before one.

    `run` (epochs, choices) is the length of an epoch, `change` (choices,) that of a change.
    """

    run: IntArray
    change: IntArray
    onward: IntArray
    switch: IntArray


def distances(network: ClassNetwork, units: Units) -> Distances:
    """Compute the shortest lengths to the end; `switch[0]` is that of the shortest path of the class."""
    allowed = network.time < FAR
    run = np.where(allowed, units.scale * np.where(allowed, network.time, 0), FAR)
    run = np.where(allowed, run + units.price * np.where(allowed, network.cost, 0), FAR)
    change = units.scale * network.change_time + units.price * network.change_cost
    onward, switch = np.zeros_like(run), np.zeros(len(run), dtype=np.int64)
    for j in range(len(run) - 1, -1, -1):
        ahead = np.minimum(run[j] + onward[j], FAR)  # both at most FAR: the sum still fits
        switch[j] = np.minimum(change + ahead, FAR).min()
        if j:
            onward[j - 1] = np.minimum(ahead, switch[j])
    return Distances(run, change, onward, switch)


def shortest(network: UnitNetwork) -> int:
    """Return the sum of the lengths of the shortest paths of the classes."""
    return sum(int(distances(c, network.units).switch[0]) for c in network.classes)


def fastest(network: UnitNetwork, latest: int) -> int | None:
    """Return the units of time of the fastest policy within the budget, `None` if all take more than `latest`.

    Raises NoCertificate if too many paths are near the shortest. Raises CheckFailed if permitted lengths would reach
    `FAR`, which marks choices that are not allowed.
    """
    units = network.units
    if units.scale * latest + units.price * network.budget >= FAR:
        raise CheckFailed("units: sums would not be exact in 64 bits")
    tables = [distances(c, units) for c in network.classes]
    rest = units.scale * latest + units.price * network.budget - sum(int(d.switch[0]) for d in tables)
    if rest < 0:
        return None
    sets = [_paths(c, d, units, rest) for c, d in zip(network.classes, tables, strict=True)]
    sets.sort(key=lambda pair: len(pair[0]))
    time, cost = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    below = sum(int(d.switch[0]) for d in tables)
    for k, (t, c) in enumerate(sets):
        # The remaining classes have at least their minimum length, so this bounds the total length from below.
        floor = sum(int((units.scale * a + units.price * b).min()) for a, b in sets[k + 1 :])
        if len(time) * len(t) > LABELS:
            raise NoCertificate(f"{len(time) * len(t):,} pairs of policies to be compared, more than {LABELS:,}")
        time, cost = (time[:, None] + t).ravel(), (cost[:, None] + c).ravel()
        kept = units.scale * time + units.price * cost + floor <= below + rest
        kept &= (time <= latest) & (cost <= network.budget)
        time, cost = _drop_dominated(time[kept], cost[kept], np.zeros(int(kept.sum()), dtype=np.int64))[:2]
        if not len(time):
            return None
    return int(time.min())


def _paths(network: ClassNetwork, d: Distances, units: Units, rest: int) -> tuple[IntArray, IntArray]:
    """Return time and cost of the undominated paths of a class that are at most `rest` longer than the shortest."""
    longest = int(d.switch[0]) + rest
    first = np.flatnonzero(d.change + np.minimum(d.run[0] + d.onward[0], FAR) <= longest)
    time, cost = network.time[0][first] + network.change_time, network.cost[0][first] + network.change_cost[first]
    choice = first.astype(np.int64)
    for j in range(1, len(network.time)):
        gone = units.scale * time + units.price * cost
        ahead = np.minimum(d.run[j] + d.onward[j], FAR)
        stays = gone + ahead[choice] <= longest
        kept = np.flatnonzero(stays)
        front = _drop_dominated(
            time, cost, np.zeros(len(time), dtype=np.int64)
        )  # a change makes past choices irrelevant
        far = units.scale * front[0] + units.price * front[1]
        leads = np.flatnonzero(d.change + ahead <= longest - int(far.min(initial=FAR)))
        if len(kept) + len(far) * len(leads) > LABELS:
            raise NoCertificate(f"more than {LABELS:,} partial paths of a class are near the shortest")
        row, column = np.nonzero(far[:, None] + (d.change + ahead)[leads] <= longest)
        to = leads[column]
        choice = np.concatenate([choice[kept], to])
        time = np.concatenate([time[kept], front[0][row] + network.change_time]) + network.time[j][choice]
        cost = np.concatenate([cost[kept], front[1][row] + network.change_cost[to]]) + network.cost[j][choice]
        time, cost, choice = _drop_dominated(time, cost, choice)
    return _drop_dominated(time, cost, np.zeros(len(time), dtype=np.int64))[:2]


def _drop_dominated(time: IntArray, cost: IntArray, choice: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the undominated points in time and cost of each choice, without duplicates."""
    if not len(time):
        return time, cost, choice
    order = np.lexsort((time, cost, choice))
    time, cost, choice = time[order], cost[order], choice[order]
    starts = np.flatnonzero(np.diff(choice, prepend=choice[0] - 1))
    kept = np.ones(len(time), dtype=bool)
    for begin, end in zip(starts, [*starts[1:], len(time)], strict=True):
        part = time[begin:end]
        kept[begin + 1 : end] = part[1:] < np.minimum.accumulate(part)[:-1]
    return time[kept], cost[kept], choice[kept]
