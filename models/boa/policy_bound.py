"""A bound on every policy of the renting world: the minimum mean completion time for the GPU-hours billed.

The policy may know all jobs in advance, stop them, change widths at any time and run the jobs of a class differently.
At a multiplier μ of the bill, each job has its own shortest path over epochs and widths; docs/boa-world.md has the
proof. The jobs of one class with equal sizes form a class of an allocation problem whose jobs may be mixed. The bound
is the Lagrangian bound of this problem, with the number of jobs as jobs per hour, and GPU-hours as GPUs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Literal

from instances import InputError, Stopwatch
from instances.boa import (
    BoaAllocation,
    BoaRenting,
    Epoch,
    JobClass,
    RentingClass,
    Speedup,
    affords,
    compute_min_budget,
    compute_plan_limit,
)
from instances.fields import LARGEST, STEPS
from instances.validation import validate
from models.boa.convex_dual import ConvexDual, solve_convex
from models.boa.curves import curves
from models.boa.micp import prepare_mixed
from models.boa.run_dual import RunDual

SECONDS = 3600.0
MAX_TABLE = 4096  # GPUs up to which tables are continued, which limits memory


class PolicyBound:
    """The bound on the mean completion time of the jobs of a workload, for any GPU-hours up to `most_gpu_hours`.

    - `data`: the workload.
    - `most_gpu_hours`: maximum number of GPU-hours billed.
    - `widths`: `"integer"` for policies that give jobs whole GPUs, at the measured speeds; `"continuous"` for policies
      that also share GPUs over time, on the hulls.

    Raises InputError if the data have no bound.
    """

    def __init__(
        self, data: BoaRenting, most_gpu_hours: float, widths: Literal["integer", "continuous"] = "integer"
    ) -> None:
        self.data = build_allocation(data, most_gpu_hours, widths)
        self.least = compute_min_budget(self.data)
        self._bound = (
            _bound_real_widths(self.data)
            if self.data.real
            else _bound_convex(self.data)
            if self.data.convex
            else _bound_integer_widths(self.data)
        )

    def at(self, billed_gpu_hours: float) -> float:
        """Return the lower bound on the mean completion time, hours, if `billed_gpu_hours` are billed.

        Raises InputError if the jobs cannot be completed with these GPU-hours.
        """
        if not affords(billed_gpu_hours, self.least):
            raise InputError(f"GPU-hours billed: must be >= {self.least:.6g}, got {billed_gpu_hours:.6g}")
        return self._bound(billed_gpu_hours)


def policy_bound(
    data: BoaRenting, billed_gpu_hours: float, widths: Literal["integer", "continuous"] = "integer"
) -> float:
    """Return the lower bound on the mean completion time, hours, for the GPU-hours billed; see PolicyBound."""
    return PolicyBound(data, billed_gpu_hours, widths).at(billed_gpu_hours)


def _bound_integer_widths(data: BoaAllocation) -> Callable[[float], float]:
    dual = prepare_mixed(data).dual

    def bound(budget: float) -> float:
        dual.maximise(compute_plan_limit(budget))
        return dual.best(budget)[1]

    return bound


def _bound_real_widths(data: BoaAllocation) -> Callable[[float], float]:
    dual = RunDual(data)
    return lambda budget: max(0.0, dual.maximise(budget, Stopwatch())[2])


def _bound_convex(data: BoaAllocation) -> Callable[[float], float]:
    dual = ConvexDual(curves(data))
    dual.check_bounded()
    return lambda budget: solve_convex(dual, budget).bound


def build_allocation(data: BoaRenting, gpu_hours: float, widths: Literal["integer", "continuous"]) -> BoaAllocation:
    """Return the jobs of a workload as classes that arrive within an hour, one per class and sizes of its jobs.

    - `gpu_hours`: maximum number of GPU-hours billed, which becomes the budget, rounded up.

    Rescaling times are rounded down. Raises InputError if there are too many GPU-hours.
    """
    class_of = {c.name: c for c in data.classes}
    counts: Counter[tuple[str, tuple[float, ...]]] = Counter(
        (job.job_class, job.size_hours or tuple(e.size_hours for e in class_of[job.job_class].epochs))
        for job in data.jobs
    )
    classes = []
    for number, ((name, sizes), jobs) in enumerate(counts.items()):
        cold, pause = class_of[name].cold_rescale_seconds, class_of[name].rescale_seconds
        pause = pause if cold is None else min(pause, cold)
        speedups = _extend_speedups(class_of[name], data.max_width)
        if speedups is None:  # without pauses, no job keeps more GPUs than an epoch can use
            speedups, pause = [epoch.speedup for epoch in class_of[name].epochs], 0.0
        epochs = tuple(Epoch(size_hours=x, speedup=s) for x, s in zip(sizes, speedups, strict=True))
        hours = math.floor(pause / SECONDS * (1 - 1e-12) * STEPS) / STEPS
        classes.append(JobClass(name=f"class {number}", arrivals_per_hour=jobs, rescale_hours=hours, epochs=epochs))
    if gpu_hours > LARGEST:
        raise InputError(f"no bound is known of {gpu_hours:g} GPU-hours that are billed: {LARGEST:g} are the most")
    budget = math.ceil(gpu_hours * STEPS) / STEPS
    content = {"budget": budget, "classes": classes, "widths": widths, "max_width": data.max_width}
    return validate(BoaAllocation, content)


def _extend_speedups(job_class: RentingClass, max_width: int | None) -> list[Speedup] | None:
    """Return the speedups of the epochs of a class, with tables of equal length.

    A job may keep more GPUs than the table of an epoch has, at no higher speed, to avoid a pause. Return `None` if
    tables would be too long.
    """
    speedups = [epoch.speedup for epoch in job_class.epochs]
    if len(speedups) == 1 or all(speedup.table is None for speedup in speedups):
        return speedups
    estimated = [e.believed_speedup for e in job_class.epochs if e.believed_speedup is not None]
    ends = [None if s.table is None else s.table.gpus[-1] for s in [*speedups, *estimated]]
    limits = [end for end in (max_width, None if None in ends else max(e for e in ends if e is not None)) if end]
    if not limits or min(limits) > MAX_TABLE:
        return None
    return [_extend_to(min(limits), speedup) for speedup in speedups]


def _extend_to(width: int, speedup: Speedup) -> Speedup:
    """Return a speedup whose table is continued at its last value up to `width`."""
    table = speedup.table
    if table is None or table.gpus[-1] >= width:
        return speedup
    longer = {"gpus": [*table.gpus, width], "speedup": [*table.speedup, table.speedup[-1]]}
    return Speedup.model_validate({"table": longer})
