"""The data of `boa-allocation`: how many GPUs each class of jobs gets in each epoch (BOA, sections 3 and 4).

What keeps a budget is a rule of its own, for costs are sums of irrational numbers, which no grid can hold. The checker
grants every policy the budget and `SLACK` of it. Methods plan for a hair less, so that what they add up is never over
for the checker, and bounds allow for a hair more, so that they hold for all that the checker lets pass.
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

# The slack is relative, under 1e-9, and no step of the grid, so that whole figures are never on the edge.
SLACK = 2.0**-30
# The hair is relative: more than the rounding of floats amounts to in a cost, whoever adds it up.
HAIR = 1e-12


def granted(budget: float) -> float:
    """The most that a policy may cost."""
    return budget * (1 + SLACK)


def planned(budget: float) -> float:
    """The most that a method may let a policy cost by the method's own sums."""
    return granted(budget) * (1 - HAIR)


def proven(budget: float) -> float:
    """The budget that a bound has to be computed with."""
    return granted(budget) * (1 + HAIR)


def within_budget(cost: float, budget: float) -> bool:
    """Whether a cost that a method has added up keeps the budget."""
    return cost <= planned(budget)


def affords(budget: float, least: float) -> bool:
    """Whether `budget` pays for a policy that costs `least`, for every method alike."""
    return least <= granted(budget) * (1 - 2 * HAIR)


def on_grid_from(least: float) -> float:
    """The least budget of the grid that is not under `least`."""
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
        """ρ_i = λ_i E[X_i]: the GPUs that the class keeps busy at width 1."""
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
        """Unit of the objective."""
        return "hours"

    @property
    def rescales(self) -> bool:
        """Whether changing a width takes time in any class."""
        return any(c.rescale_hours > 0 for c in self.classes)

    @property
    def heterogeneous(self) -> bool:
        """Whether there are several GPU types to choose from."""
        return len(self.gpu_types) > 1

    @property
    def convex(self) -> bool:
        """Whether the problem is the convex one: no rescaling time, and widths or shares of types are continuous."""
        return not self.rescales and (self.widths == "continuous" or self.heterogeneous)

    @property
    def real(self) -> bool:
        """Whether widths are real numbers and rescaling takes time: the problem of Lemma 4.8 as it stands."""
        return self.rescales and self.widths == "continuous"

    @property
    def only_exact(self) -> str | None:
        """Why a method that chooses among whole widths does not take the problem, `None` where it does."""
        if self.real:
            return "continuous widths with rescaling times are solved by exact alone: widths must be integer here"
        return None

    @property
    def measured(self) -> bool:
        """Whether a width runs as fast as was measured there, and not as the concave hull of the table says."""
        return self.widths == "integer" and self.speedup_reading == "measured"

    def speeds(self, curve: Curve, width: FloatArray) -> FloatArray:
        """Speedups of `curve` on whole numbers `width` of GPUs as the instance reads them, 0 past a table's end."""
        return curve.measured(width, self.max_width) if self.measured else curve.at(width, self.max_width)

    @property
    def load(self) -> float:
        """ρ = Σ ρ_i: the GPUs kept busy where every job runs at width 1 and nothing is rescaled."""
        return sum(c.load for c in self.classes)

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("gpu_types", (t.name for t in self.gpu_types))
        refuse_duplicates("classes", (c.name for c in self.classes))
        names = {t.name for t in self.gpu_types}
        for i, job_class in enumerate(self.classes):
            for j, epoch in enumerate(job_class.epochs):
                self._validate_types(f"classes[{i}].epochs[{j}].speedup", epoch.speedup, names)
        least = least_budget(self)
        if not affords(self.budget, least):
            what = "the least that the jobs cost" + (", rescaling included" if self.rescales else "")
            shown = f"{least:.6g}" if least - self.budget > 1e-5 * least else f"{least:.12g}"
            refuse("budget", f"must be >= {shown} ({what}; {least - self.budget:.4g} short)", self.budget)
        return self

    def _validate_types(self, path: str, speedup: Speedup, names: set[str]) -> None:
        """Refuse speedups by type that are not of exactly the GPU types."""
        if not speedup.by_type:
            return
        for name in speedup.by_type:
            if name not in names:
                refuse(path, f"unknown GPU type, must be one of {', '.join(sorted(names))}", name)
        for name in sorted(names - set(speedup.by_type)):
            refuse(f"{path}.{name}", "missing")


def least_budget(data: BoaAllocation) -> float:
    """Least time-average cost of any policy, in the unit of the budget (equation 3 without the factor 1/λ)."""
    return sum(c.arrivals_per_hour * least_cost(data, c) for c in data.classes)


def least_cost(data: BoaAllocation, job_class: JobClass) -> float:
    """Least cost of one job of `job_class`: GPU-hours, or currency.

    Width 1 is the cheapest, since k/s(k) rises with k, unless a measured table is steeper than linear at its start or
    there are several GPU types; then a shortest path over the epochs and the widths decides. On hulls, no width beyond
    those that are cheapest somewhere is of use.
    """
    prices = {t.name: t.price for t in data.gpu_types}
    cheapest = max(_cheapest_width(data, e.speedup.on(name)) for e in job_class.epochs for name in prices)
    sizes = np.array([e.size_hours for e in job_class.epochs])
    r = job_class.rescale_hours
    if cheapest == 1 and not data.heterogeneous:
        name = data.gpu_types[0].name
        first = np.array([data.speeds(e.speedup.on(name), np.ones(1))[0] for e in job_class.epochs])
        return float(data.gpu_types[0].price * (np.sum(sizes / first) + r))
    if data.measured:
        cheapest = max((_last(data, e.speedup.on(name)) for e in job_class.epochs for name in prices), default=1)
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
    """The width of least cost k/s(k)."""
    if curve.table is None:
        return 1
    hull = curve.table.hull(data.max_width).speedup
    return int((np.arange(1, len(hull) + 1) / hull).argmin()) + 1


def _last(data: BoaAllocation, curve: Curve) -> int:
    """The widest that can be of use to the cheapest policy: the end of a table, and 1 of a formula."""
    return 1 if curve.table is None else len(curve.table.raw(data.max_width))


def hull_deviation(data: BoaAllocation) -> dict[str, float]:
    """For each class the most by which the concave hull of a measured table exceeds the table, as a share."""
    return {
        c.name: max((points.hull(data.max_width).deviation for points in _tables(c)), default=0.0) for c in data.classes
    }


def _tables(job_class: JobClass) -> Iterator[Points]:
    """The measured tables of a class, of all epochs and GPU types."""
    for epoch in job_class.epochs:
        for curve in (epoch.speedup, *epoch.speedup.by_type.values()):
            if curve.table is not None:
                yield curve.table
