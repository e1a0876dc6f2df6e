"""The exact Pareto front of a reclaiming: preempted jobs against lost GPU-hours.

An integer program (`models/aryl/loss.py`) minimises the loss with at most k preempted jobs (epsilon-constraint method).
k is unlimited at first, and then one less than the number of jobs of the last point, until no smaller number is
feasible. This finds every point of the front once, including those that minimise no weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from instances import InputError, Options, Solution
from instances.aryl import ArylReclaim
from instances.options import ignore
from models.aryl.exact import exact
from models.aryl.loss import compute_loss, solve_loss


@dataclass(frozen=True)
class FrontPoint:
    """A choice of servers.

    - `jobs`, `gpu_hours`: the jobs that it preempts, and the GPU-hours that these lose.
    - `bound`: a lower bound on the loss of every choice that preempts at most as many jobs.
    - `proven`: whether the loss is within the gap of this bound.
    """

    jobs: int
    gpu_hours: Fraction
    bound: float
    proven: bool
    solution: Solution


@dataclass(frozen=True)
class Front:
    """The undominated points, by increasing number of jobs; `complete`: whether these are proven to be all."""

    points: tuple[FrontPoint, ...]
    complete: bool


def pareto_front(
    data: ArylReclaim, options: Options = Options(), report_point: Callable[[FrontPoint], None] = lambda point: None
) -> Front:
    """Compute the front of `data`.

    - `options`: the limits of each program; there are slightly more programs than points.
    - `report_point`: called with each new point.

    Raises InputError if a job has no `gpu_hours`.
    """
    for i, job in enumerate(data.jobs):
        if job.gpu_hours is None:
            raise InputError(f"data.jobs[{i}].gpu_hours: must be given for a Pareto front")
    min_jobs = exact(data.model_copy(update={"objective": "preempted-jobs"}), options)
    weighted = data.model_copy(update={"objective": "lost-gpu-hours"})
    complete = min_jobs.bound == min_jobs.objective
    start = None if min_jobs.solution is None else min_jobs.solution["servers"]
    max_jobs: int | None = None
    points: list[FrontPoint] = []
    while max_jobs is None or max_jobs >= (min_jobs.bound or 0):
        answer = solve_loss(weighted, options, ignore, start, max_jobs)
        if answer.solution is None:
            complete = complete and answer.termination == "infeasible"
            break
        hours, jobs = compute_loss(weighted, answer.solution["servers"])
        bound = answer.bound or 0.0
        proven = float(hours) - bound <= options.gap * max(float(hours), 1e-9)
        while points and points[-1].gpu_hours >= hours:  # the new point dominates the last one
            points.pop()
        points.append(FrontPoint(jobs, hours, bound, proven, answer.solution))
        report_point(points[-1])
        complete = complete and proven
        if jobs == 0:
            break
        max_jobs = jobs - 1
    return Front(tuple(reversed(points)), complete)
