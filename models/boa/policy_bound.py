"""A bound on every policy of the renting world: no mean completion time is shorter for the GPU-hours that were billed.

The policy may know all jobs beforehand, stop them, change widths at any moment and run the jobs of a class differently.
At a multiplier μ of the bill each job has a shortest path of its own, over epochs and widths; the proof is on the page
of the problem. The jobs of one class and size are a class of an allocation problem whose jobs may be mixed, so that the
bound is its Lagrangian bound, with jobs for jobs an hour and GPU-hours for GPUs.
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
    least_budget,
    planned,
)
from instances.fields import LARGEST, STEPS
from instances.validation import validated
from models.boa.convex.convex_dual import ConvexDual, solve_convex
from models.boa.convex.curves import curves
from models.boa.real_widths.run_dual import RunDual
from models.boa.rescaling.micp import prepare_mixed

SECONDS = 3600.0
LONGEST = 4096  # GPUs to which the table of an epoch is continued


class PolicyBound:
    """The bound on the mean completion time of the jobs of a workload, for any GPU-hours up to `most_gpu_hours`.

    - `widths`: `"integer"` for policies that give jobs whole GPUs, at the measured speeds; `"continuous"` for those
      that share GPUs out by time as well, on the hulls.

    Raises InputError.
    """

    def __init__(
        self, data: BoaRenting, most_gpu_hours: float, widths: Literal["integer", "continuous"] = "integer"
    ) -> None:
        self.data = realised(data, most_gpu_hours, widths)
        self.least = least_budget(self.data)
        self._bound = (
            _real(self.data) if self.data.real else _convex(self.data) if self.data.convex else _whole(self.data)
        )

    def at(self, billed_gpu_hours: float) -> float:
        """Hours that the mean completion time is not below, where so many GPU-hours are billed.

        Raises InputError where the jobs cannot be done for so little.
        """
        if not affords(billed_gpu_hours, self.least):
            raise InputError(f"GPU-hours billed: must be >= {self.least:.6g}, got {billed_gpu_hours:.6g}")
        return self._bound(billed_gpu_hours)


def policy_bound(
    data: BoaRenting, billed_gpu_hours: float, widths: Literal["integer", "continuous"] = "integer"
) -> float:
    """The mean completion time, hours, that no policy is below where so many GPU-hours are billed, see PolicyBound."""
    return PolicyBound(data, billed_gpu_hours, widths).at(billed_gpu_hours)


def _whole(data: BoaAllocation) -> Callable[[float], float]:
    dual = prepare_mixed(data).dual

    def bound(budget: float) -> float:
        dual.maximise(planned(budget))
        return dual.best(budget)[1]

    return bound


def _real(data: BoaAllocation) -> Callable[[float], float]:
    dual = RunDual(data)
    return lambda budget: max(0.0, dual.maximise(budget, Stopwatch())[2])


def _convex(data: BoaAllocation) -> Callable[[float], float]:
    dual = ConvexDual(curves(data))
    dual.check_bounded()
    return lambda budget: solve_convex(dual, budget).bound


def realised(data: BoaRenting, gpu_hours: float, widths: Literal["integer", "continuous"]) -> BoaAllocation:
    """The jobs of a workload as classes that arrive within an hour: a class for each class and sizes of its jobs.

    Times of rescaling are rounded down to the grid, and the GPU-hours up. Raises InputError.
    """
    of = {c.name: c for c in data.classes}
    counts: Counter[tuple[str, tuple[float, ...]]] = Counter(
        (job.job_class, job.size_hours or tuple(e.size_hours for e in of[job.job_class].epochs)) for job in data.jobs
    )
    classes = []
    for number, ((name, sizes), jobs) in enumerate(counts.items()):
        cold, pause = of[name].cold_rescale_seconds, of[name].rescale_seconds
        pause = pause if cold is None else min(pause, cold)
        speedups = _as_wide_as_others(of[name], data.max_width)
        if speedups is None:  # without pauses nobody keeps more GPUs than an epoch can use
            speedups, pause = [epoch.speedup for epoch in of[name].epochs], 0.0
        epochs = tuple(Epoch(size_hours=x, speedup=s) for x, s in zip(sizes, speedups, strict=True))
        hours = math.floor(pause / SECONDS * (1 - 1e-12) * STEPS) / STEPS
        classes.append(JobClass(name=f"class {number}", arrivals_per_hour=jobs, rescale_hours=hours, epochs=epochs))
    if gpu_hours > LARGEST:
        raise InputError(f"no bound is known of {gpu_hours:g} GPU-hours that are billed: {LARGEST:g} are the most")
    most = math.ceil(gpu_hours * STEPS) / STEPS
    content = {"budget": most, "classes": classes, "widths": widths, "max_width": data.max_width}
    return validated(BoaAllocation, content)


def _as_wide_as_others(job_class: RentingClass, max_width: int | None) -> list[Speedup] | None:
    """The speedups of its epochs: a job may keep more GPUs than a table has, no faster, to be spared a pause.

    `None` where it may keep so many that tables would be too long.
    """
    found = [epoch.speedup for epoch in job_class.epochs]
    if len(found) == 1 or all(speedup.table is None for speedup in found):
        return found
    believed = [e.believed_speedup for e in job_class.epochs if e.believed_speedup is not None]
    ends = [None if s.table is None else s.table.gpus[-1] for s in [*found, *believed]]
    most = [end for end in (max_width, None if None in ends else max(e for e in ends if e is not None)) if end]
    if not most or min(most) > LONGEST:
        return None
    return [_up_to(min(most), speedup) for speedup in found]


def _up_to(width: int, speedup: Speedup) -> Speedup:
    table = speedup.table
    if table is None or table.gpus[-1] >= width:
        return speedup
    longer = {"gpus": [*table.gpus, width], "speedup": [*table.speedup, table.speedup[-1]]}
    return Speedup.model_validate({"table": longer})
