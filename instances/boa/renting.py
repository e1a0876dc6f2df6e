"""Define the data of `boa-renting`: jobs arrive at a cloud that rents nodes (BOA, sections 3, 5 and 6)."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from instances.boa.allocation import BoaAllocation, Epoch, JobClass, affords, compute_min_budget
from instances.boa.speedup import Speedup
from instances.errors import InputError
from instances.fields import (
    LARGEST,
    Frozen,
    Name,
    NonNegative,
    Positive,
    PositiveCount,
    refuse,
    refuse_duplicates,
)
from instances.online import Workload, refuse_short_period

HOUR = 3600.0  # seconds


class RentingEpoch(Frozen):
    """A stretch of a job with one speedup function: the true values, and the values that policies believe.

    `size_hours` is the mean length on one GPU. The jobs run at `speedup`; policies see `believed_speedup`, by
    default the same.
    """

    size_hours: Positive
    speedup: Speedup
    believed_speedup: Speedup | None = None

    @property
    def believed(self) -> Epoch:
        """Return the epoch as policies estimate it."""
        return Epoch(size_hours=self.size_hours, speedup=self.believed_speedup or self.speedup)


class RentingClass(Frozen):
    """A class of jobs: the rate that policies expect at the outset, a weight, the times of rescaling, the epochs.

    A job is paused for `rescale_seconds` when it starts and at every change of its width, for `cold_rescale_seconds`
    where a node takes part that has hosted none of this class yet.
    """

    name: Name
    arrivals_per_hour: Positive
    weight: Positive = 1.0
    rescale_seconds: NonNegative
    cold_rescale_seconds: NonNegative | None = None
    epochs: Annotated[tuple[RentingEpoch, ...], Field(min_length=1)]

    @property
    def believed(self) -> JobClass:
        """Return the class as policies estimate it at the start."""
        return JobClass(
            name=self.name,
            arrivals_per_hour=self.arrivals_per_hour,
            weight=self.weight,
            rescale_hours=self.rescale_seconds / HOUR,
            epochs=tuple(epoch.believed for epoch in self.epochs),
        )


class RentingJob(Frozen):
    """A job that arrives.

    `size_hours`: its own epochs on one GPU, by default those of the class. `requested_gpus`: what its user would ask a
    rigid scheduler for.
    """

    id: Name
    job_class: Name
    arrival_seconds: NonNegative
    size_hours: tuple[Positive, ...] | None = None
    requested_gpus: PositiveCount | None = None


class BoaRenting(Workload):
    """A cloud where nodes of GPUs are rented for jobs, within a time-average budget.

    A node takes `acquisition_seconds` and is billed meanwhile; it is billed until it is marked for release, and for
    `reclamation_seconds` more, at least `minimum_rental_seconds` in all. With `partial_jobs` one job may run on what is
    left where the nodes do not suffice. Widths may change at every event, or where there is a `period_seconds` at
    multiples of it. Policies may re-estimate arrivals and speedups every `estimate_seconds`, from the last
    `window_seconds`; 0 stands for never, and for all time.
    """

    problem: ClassVar[str] = "boa-renting"

    budget_gpus: Positive
    gpus_per_node: PositiveCount
    acquisition_seconds: NonNegative
    reclamation_seconds: NonNegative = 0.0
    minimum_rental_seconds: NonNegative = 0.0
    period_seconds: NonNegative = 0.0
    estimate_seconds: NonNegative = 0.0
    window_seconds: NonNegative = 0.0
    partial_jobs: Annotated[bool, Field(strict=True)] = True
    max_width: PositiveCount | None = None
    classes: Annotated[tuple[RentingClass, ...], Field(min_length=1)]
    jobs: Annotated[tuple[RentingJob, ...], Field(min_length=1)]

    @property
    def unit(self) -> str:
        """Return the unit of the mean completion time, which is minimised."""
        return "hours"

    @cached_property
    def believed(self) -> BoaAllocation:
        """Return the allocation problem as policies estimate it at the start, with integer widths."""
        return self._plan(self.budget_gpus)

    def _plan(self, budget: float) -> BoaAllocation:
        return BoaAllocation(
            budget=budget, classes=tuple(c.believed for c in self.classes), widths="integer", max_width=self.max_width
        )

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("classes", (c.name for c in self.classes))
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        for i, c in enumerate(self.classes):
            for j, epoch in enumerate(c.epochs):
                for name, speedup in (("speedup", epoch.speedup), ("believed_speedup", epoch.believed_speedup)):
                    if speedup is not None and speedup.curves_by_type:
                        path = f"classes[{i}].epochs[{j}].{name}"
                        refuse(
                            path, "must be one function: all GPUs are of one type", ", ".join(speedup.curves_by_type)
                        )
        epochs = {c.name: len(c.epochs) for c in self.classes}
        for i, job in enumerate(self.jobs):
            if job.job_class not in epochs:
                refuse(f"jobs[{i}].job_class", "unknown class", job.job_class)
            if job.size_hours is not None and len(job.size_hours) != epochs[job.job_class]:
                what = f"must have one entry for each of {epochs[job.job_class]} epochs"
                refuse(f"jobs[{i}].size_hours", what, len(job.size_hours))
        self._refuse_short_periods()
        try:
            least = compute_min_budget(self._plan(LARGEST))
        except InputError as error:
            refuse("classes", f"there is no plan for them: {error}")
        if not affords(self.budget_gpus, least):
            refuse("budget_gpus", f"must be >= {least:.12g}, the least that the jobs cost", self.budget_gpus)
        return self

    def _refuse_short_periods(self) -> None:
        sizes = {c.name: sum(epoch.size_hours for epoch in c.epochs) for c in self.classes}
        longest = max(sizes[job.job_class] if job.size_hours is None else sum(job.size_hours) for job in self.jobs)
        seconds = max(job.arrival_seconds for job in self.jobs) + longest * HOUR
        for field, period in (("period_seconds", self.period_seconds), ("estimate_seconds", self.estimate_seconds)):
            if period:
                refuse_short_period(field, period, seconds, "arrivals and the longest job on one GPU")
