"""The exact Pareto front of a reclaiming: preempted jobs against lost GPU-hours.

The least loss with at most k jobs is an integer program (`models/aryl/loss.py`). From the least loss of all, k
falls to one job less than the last point has, until no fewer jobs are enough; so every point is found once, those that
no weighting of the two would find too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from instances import InputError, Options, Solution
from instances.aryl import ArylReclaim
from instances.options import ignore
from models.aryl.exact import exact
from models.aryl.loss import loss, solve_loss


@dataclass(frozen=True)
class FrontPoint:
    """A choice of servers: the jobs that it preempts and the GPU-hours that they lose.

    `bound`: no choice that preempts as few jobs loses less. `proven`: it is the loss, as far as the gap asked for.
    """

    jobs: int
    gpu_hours: Fraction
    bound: float
    proven: bool
    solution: Solution


@dataclass(frozen=True)
class Front:
    """The points that no other one beats in both, the fewest jobs first; `complete`: there are no more of them."""

    points: tuple[FrontPoint, ...]
    complete: bool


def pareto_front(
    data: ArylReclaim, options: Options = Options(), report_point: Callable[[FrontPoint], None] = lambda point: None
) -> Front:
    """The front of `data`; a time limit holds for each of its programs, of which there are some more than points.

    Raises InputError where a job has no `gpu_hours`.
    """
    for i, job in enumerate(data.jobs):
        if job.gpu_hours is None:
            raise InputError(f"data.jobs[{i}].gpu_hours: must be given for a Pareto front")
    fewest = exact(data.model_copy(update={"objective": "preempted-jobs"}), options)
    weighed = data.model_copy(update={"objective": "lost-gpu-hours"})
    complete = fewest.bound == fewest.objective
    start = None if fewest.solution is None else fewest.solution["servers"]
    at_most: int | None = None
    points: list[FrontPoint] = []
    while at_most is None or at_most >= (fewest.bound or 0):
        answer = solve_loss(weighed, options, ignore, start, at_most)
        if answer.solution is None:
            complete = complete and answer.termination == "infeasible"
            break
        hours, jobs = loss(weighed, answer.solution["servers"])
        bound = answer.bound or 0.0
        proven = float(hours) - bound <= options.gap * max(float(hours), 1e-9)
        while points and points[-1].gpu_hours >= hours:  # as few hours with fewer jobs
            points.pop()
        points.append(FrontPoint(jobs, hours, bound, proven, answer.solution))
        report_point(points[-1])
        complete = complete and proven
        if jobs == 0:
            break
        at_most = jobs - 1
    return Front(tuple(reversed(points)), complete)
