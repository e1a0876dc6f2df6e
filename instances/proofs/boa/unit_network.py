"""The problem over whole widths in whole units: times and costs of running and of changing, each rounded down.

A policy within the budget stays within it, and none looks slower than it is: so the optimum in units bounds the true
one. Sums of units are exact in 64 bits: those of times, of costs and of lengths are seen to be less than `FAR` in
whole numbers of any size before they are handed to numpy, whatever the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.boa.allocation import BoaAllocation, JobClass
from instances.boa.speedup import Curve
from instances.errors import CheckFailed
from instances.proofs.boa.rational import budget, corners, exact, last_width, power_at_most, serial, share, times
from instances.proofs.certificate import NoCertificate

IntArray = NDArray[np.int64]
MOST = 1_000_000  # entries of all classes, epochs and choices
FAR = 1 << 61  # no policy is so long, nor so dear
WIDEST = 100_000


@dataclass(frozen=True)
class Units:
    """A unit of time is 2^-`time` hours, one of cost 2^-`cost`; a unit of time weighs `scale`, one of cost `price`."""

    time: int
    cost: int
    scale: int
    price: int


@dataclass(frozen=True)
class ClassNetwork:
    """A class in units: `time`, `cost` (epochs, choices) of a run, FAR where it is not allowed.

    `change_time`: of a change; `change_cost` (choices,): of the change to each choice.
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
    """The network of `data`, which has whole widths, in `units`.

    Raises NoCertificate where it is too large, and CheckFailed where sums of such units would not be exact.
    """
    last = widest(data)
    cells = sum(len(c.epochs) for c in data.classes) * len(data.gpu_types) * last
    if cells > MOST:
        raise NoCertificate(f"{cells:,} pairs of an epoch and a width, more than {MOST:,}")
    hour, coin = Fraction(2) ** units.time, Fraction(2) ** units.cost
    rates = [exact(t.price) * k for t in data.gpu_types for k in range(1, last + 1)]
    cache: dict[object, list[Fraction | None]] = {}
    classes, limit = [], int(budget(data) * coin) + 1
    longest, dearest = units.price * limit, limit  # more than any sum of lengths, and of costs
    for c in data.classes:
        factor, arrivals = share(data, c) * hour, exact(c.arrivals_per_hour) * coin
        rows: list[list[int | None]] = []
        costs: list[list[int | None]] = []
        for epoch in c.epochs:
            run: list[Fraction | None] = []
            for t in data.gpu_types:
                curve = epoch.speedup.on(t.name)
                if (key := (curve.amdahl, curve.power, curve.table)) not in cache:
                    cache[key] = times(curve, data.max_width, last, data.measured)
                run += cache[key]
            size = exact(epoch.size_hours)
            slow, dear = factor * size, arrivals * size
            rows.append([None if z is None else _down(slow, z) for z in run])
            costs.append([None if z is None else _down(dear, z, rate) for z, rate in zip(run, rates, strict=True)])
        pause = exact(c.rescale_hours)
        change_time, change = int(factor * pause), [int(arrivals * pause * rate) for rate in rates]
        for row, paid in zip(rows, costs, strict=True):
            time = max(a for a in row if a is not None) + change_time
            cost = max(b for b in paid if b is not None) + max(change)
            longest, dearest = longest + units.scale * time + units.price * cost, dearest + cost
        if max(longest, dearest) >= FAR:  # a unit of time weighs 1 at least, one of cost maybe nothing
            raise CheckFailed("units: sums would not be exact in 64 bits")
        classes.append(ClassNetwork(_array(rows), _array(costs), change_time, np.array(change, dtype=np.int64)))
    return UnitNetwork(tuple(classes), limit, units)


def _down(factor: Fraction, z: Fraction, rate: Fraction = Fraction(1)) -> int:
    top = factor.numerator * z.numerator * rate.numerator
    return top // (factor.denominator * z.denominator * rate.denominator)


def _array(rows: list[list[int | None]]) -> IntArray:
    return np.array([[FAR if v is None else v for v in row] for row in rows], dtype=np.int64)


def widest(data: BoaAllocation) -> int:
    """A width that no run within the budget exceeds. Raises NoCertificate where that is over WIDEST.

    Tables end. What a formula costs rises with the width, and so does the change that comes before.
    """
    paid = (exact(c.arrivals_per_hour) * _least(data, c) for c in data.classes)
    found, spare = 1, budget(data) - sum(paid, Fraction(0))
    for c in data.classes:
        for epoch in c.epochs:
            for t in data.gpu_types:
                curve = epoch.speedup.on(t.name)
                end = last_width(curve, data.max_width)
                if curve.table is None and (end is None or end > WIDEST):
                    room = (spare / exact(c.arrivals_per_hour) + _least(data, c)) / exact(t.price)
                    end = _affordable(curve, exact(epoch.size_hours), exact(c.rescale_hours), room)
                found = max(found, end or 1)
    return found


def _least(data: BoaAllocation, job_class: JobClass) -> Fraction:
    """Less than what the runs of a job can cost, by the steepest tables."""
    total = Fraction(0)
    for epoch in job_class.epochs:
        costs = []
        for t in data.gpu_types:
            curve = epoch.speedup.on(t.name)
            steepest = max((s / k for k, s in corners(curve, data.max_width)), default=1) if curve.table else 1
            costs.append(exact(t.price) / steepest)
        total += exact(epoch.size_hours) * min(costs)
    return total


def _affordable(curve: Curve, size: Fraction, pause: Fraction, room: Fraction) -> int:
    """The widest run of a formula that costs at most `room` GPU-hours, the change to it included."""

    def fits(k: int) -> bool:
        if curve.amdahl is not None:
            return k * (size * (serial(curve.amdahl) + exact(curve.amdahl) / k) + pause) <= room
        return k * (size * power_at_most(Fraction(1, k), exact(curve.power or 0.0)) + pause) <= room

    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
        if low > WIDEST:
            raise NoCertificate(f"widths of more than {WIDEST:,} GPUs are within the budget: max_width must be given")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
