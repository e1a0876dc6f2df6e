"""Define the data of `boa-allocation`: how many GPUs each class of jobs gets in each epoch (BOA, sections 3 and 4).

The budget has a tolerance, because costs are sums of irrational numbers, which are not on the grid. The checker grants
every policy the budget plus the share `SLACK` of it. Methods plan for slightly less, so that the checker accepts their
sums. Bounds use slightly more, so that they hold for all policies that the checker accepts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from instances.arrays import FloatArray
from instances.boa.speedup import Curve, Points, Speedup
from instances.fields import (
    STEPS,
    Frozen,
    Name,
    NonNegative,
    Positive,
    PositiveCount,
    ProblemData,
    refuse,
    refuse_duplicates,
)
from instances.renamed import OldName

# The slack is relative, under 1e-9, and not a step of the grid, so that integers are never on the limit.
SLACK = 2.0**-30
# This margin is relative: an upper bound on the rounding error of a cost, for every order of summation.
HAIR = 1e-12


def allow_rounding(budget: float) -> float:
    """Return the maximum cost that the checker accepts."""
    return budget * (1 + SLACK)


def compute_plan_limit(budget: float) -> float:
    """Return the maximum cost of a policy by the sums of a method."""
    return allow_rounding(budget) * (1 - HAIR)


def proven(budget: float) -> float:
    """Return the budget with which bounds must be computed."""
    return allow_rounding(budget) * (1 + HAIR)


def is_within_budget(cost: float, budget: float) -> bool:
    """Return whether a cost by the sums of a method is within the budget."""
    return cost <= compute_plan_limit(budget)


def affords(budget: float, least: float) -> bool:
    """Return whether `budget` suffices for a policy with the cost `least`, by the sums of every method."""
    return least <= allow_rounding(budget) * (1 - 2 * HAIR)


def on_grid_from(least: float) -> float:
    """Return the smallest budget on the grid that is at least `least`."""
    return math.ceil(Fraction(least) * STEPS) / STEPS


class GpuType(Frozen):
    """A type of GPU and the price, currency per GPU-hour, in which the budget is then a rate; 1 counts GPUs."""

    name: Name
    price: Positive = 1.0


class Epoch(Frozen):
    """A stretch of a job with one speedup function; `size_hours` is the mean length on one GPU, E[X_ij]."""

    size_hours: Positive
    speedup: Speedup


class JobClass(Frozen):
    """A class i of jobs: arrival rate λ_i, weight in the mean, mean rescaling time r_i, epochs j in order."""

    name: Name
    arrivals_per_hour: Positive
    weight: Positive = 1.0
    rescale_hours: NonNegative
    epochs: Annotated[tuple[Epoch, ...], Field(min_length=1)]

    @property
    def load(self) -> float:
        """Return ρ_i = λ_i E[X_i]: the mean number of GPUs in use by the class at width 1."""
        return self.arrivals_per_hour * sum(epoch.size_hours for epoch in self.epochs)


class BoaAllocation(ProblemData):
    """Minimise the (weighted) mean job completion time, hours, within a time-average budget.

    `budget`: GPUs, or currency per hour where GPU types have prices. `widths`: any number of GPUs >= 1, or whole ones.
    `max_width` caps every class; a measured table ends at its last width besides. `speedup_reading`: whether a whole
    width runs as fast as was measured, or as the concave hull of a table says; real widths are on the hull anyway.
    """

    problem: ClassVar[str] = "boa-allocation"

    budget: Positive
    gpu_types: Annotated[tuple[GpuType, ...], Field(min_length=1)] = (GpuType(name="gpu"),)
    classes: Annotated[tuple[JobClass, ...], Field(min_length=1)]
    widths: Literal["continuous", "integer"]
    max_width: PositiveCount | None = None
    speedup_reading: Literal["measured", "hull"] = "measured"

    @property
    def unit(self) -> str:
        """Return the unit of the objective."""
        return "hours"

    @property
    def rescales(self) -> bool:
        """Return whether changing a width takes time in any class."""
        return any(c.rescale_hours > 0 for c in self.classes)

    @property
    def heterogeneous(self) -> bool:
        """Return whether there are several GPU types to choose from."""
        return len(self.gpu_types) > 1

    @property
    def convex(self) -> bool:
        """Return whether the problem is convex: no rescaling time, and widths or shares of types are continuous."""
        return not self.rescales and (self.widths == "continuous" or self.heterogeneous)

    @property
    def real(self) -> bool:
        """Return whether widths are real numbers and rescaling takes time: the problem of Lemma 4.8 as it stands."""
        return self.rescales and self.widths == "continuous"

    @property
    def reason_for_exact_only(self) -> str | None:
        """Return the reason why methods for integer widths do not apply, `None` if they apply."""
        if self.real:
            return "continuous widths with rescaling times are solved by exact alone: widths must be integer here"
        return None

    only_exact: ClassVar[OldName] = OldName("reason_for_exact_only")

    @property
    def is_measured(self) -> bool:
        """Return whether speedups are the measured ones instead of those of the concave hull."""
        return self.widths == "integer" and self.speedup_reading == "measured"

    measured: ClassVar[OldName] = OldName("is_measured")

    def speeds(self, curve: Curve, width: FloatArray) -> FloatArray:
        """Return the speedups of `curve` on `width` GPUs, integers, under `speedup_reading`; 0 past a table's end."""
        return (
            curve.interpolate_measured(width, self.max_width) if self.is_measured else curve.at(width, self.max_width)
        )

    @property
    def load(self) -> float:
        """Return ρ = Σ ρ_i: the mean number of GPUs in use if every job runs at width 1 without rescaling."""
        return sum(c.load for c in self.classes)

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("gpu_types", (t.name for t in self.gpu_types))
        refuse_duplicates("classes", (c.name for c in self.classes))
        names = {t.name for t in self.gpu_types}
        for i, job_class in enumerate(self.classes):
            for j, epoch in enumerate(job_class.epochs):
                self._validate_types(f"classes[{i}].epochs[{j}].speedup", epoch.speedup, names)
        least = compute_min_budget(self)
        if not affords(self.budget, least):
            what = "the least that the jobs cost" + (", rescaling included" if self.rescales else "")
            shown = f"{least:.6g}" if least - self.budget > 1e-5 * least else f"{least:.12g}"
            refuse("budget", f"must be >= {shown} ({what}; {least - self.budget:.4g} short)", self.budget)
        return self

    def _validate_types(self, path: str, speedup: Speedup, names: set[str]) -> None:
        """Reject speedups by type whose names differ from those of the GPU types."""
        if not speedup.curves_by_type:
            return
        for name in speedup.curves_by_type:
            if name not in names:
                refuse(path, f"unknown GPU type, must be one of {', '.join(sorted(names))}", name)
        for name in sorted(names - set(speedup.curves_by_type)):
            refuse(f"{path}.{name}", "missing")


def compute_min_budget(data: BoaAllocation) -> float:
    """Return the minimum time-average cost of a policy in the budget's unit (equation 3 without the factor 1/λ)."""
    return sum(c.arrivals_per_hour * compute_min_cost(data, c) for c in data.classes)


def compute_min_cost(data: BoaAllocation, job_class: JobClass) -> float:
    """Return the minimum cost of one job of `job_class`, in GPU-hours or currency.

    Width 1 is the cheapest, because k/s(k) increases with k. Measured tables that are superlinear at their start, and
    several GPU types, are exceptions. Then a shortest path over epochs and widths gives the minimum. On hulls, widths
    above all cheapest ones are never needed.
    """
    prices = {t.name: t.price for t in data.gpu_types}
    cheapest = max(_cheapest_width(data, e.speedup.on(name)) for e in job_class.epochs for name in prices)
    sizes = np.array([e.size_hours for e in job_class.epochs])
    r = job_class.rescale_hours
    if cheapest == 1 and not data.heterogeneous:
        name = data.gpu_types[0].name
        first = np.array([data.speeds(e.speedup.on(name), np.ones(1))[0] for e in job_class.epochs])
        return float(data.gpu_types[0].price * (np.sum(sizes / first) + r))
    if data.is_measured:
        cheapest = max((_find_last(data, e.speedup.on(name)) for e in job_class.epochs for name in prices), default=1)
    width = np.arange(1.0, cheapest + 1)
    rate = np.concatenate([price * width for price in prices.values()])
    path = np.zeros(1)
    for size, epoch in zip(sizes, job_class.epochs, strict=True):
        speed = np.concatenate([data.speeds(epoch.speedup.on(name), width) for name in prices])
        with np.errstate(divide="ignore"):
            run = rate * size / speed
        path = np.minimum(path if len(path) > 1 else np.inf, path.min() + r * rate) + run
    return float(path.min())


def _cheapest_width(data: BoaAllocation, curve: Curve) -> int:
    """Return the width of minimum cost k/s(k)."""
    if curve.table is None:
        return 1
    hull = curve.table.hull(data.max_width).speedup
    return int((np.arange(1, len(hull) + 1) / hull).argmin()) + 1


def _find_last(data: BoaAllocation, curve: Curve) -> int:
    """Return the maximum width that the cheapest policy can use: the end of a table, or 1 for a formula."""
    return 1 if curve.table is None else len(curve.table.raw(data.max_width))


def hull_deviation(data: BoaAllocation) -> dict[str, float]:
    """Return for each class the maximum relative excess of the concave hull over a measured table."""
    return {
        c.name: max((points.hull(data.max_width).deviation for points in _tables(c)), default=0.0) for c in data.classes
    }


def _tables(job_class: JobClass) -> Iterator[Points]:
    """Yield the measured tables of a class, of all epochs and GPU types."""
    for epoch in job_class.epochs:
        for curve in (epoch.speedup, *epoch.speedup.curves_by_type.values()):
            if curve.table is not None:
                yield curve.table
