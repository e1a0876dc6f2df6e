"""Verify a Pareto front of reclaiming: no choice of servers dominates its points in jobs and GPU-hours.

Each certificate is a VIPR file of the program of section 4. It bounds either the minimum number of preempted jobs or
the minimum loss. For the loss, the constraint `jobs` limits the preempted jobs; without it there is no limit. The loss
is an integer in the largest unit that divides the loss of every job.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from instances.aryl import check_reclaim
from instances.aryl.reclaim import ArylReclaim
from instances.envelope import Instance
from instances.errors import CheckFailed, InputError, MalformedSolution
from instances.fields import Count, Frozen, Name, NonNegative
from instances.proofs.aryl.certificate import prove_reclaim, reclaim_point, reclaim_program
from instances.proofs.certificate import NoCertificate, digest
from instances.proofs.derivation import proven_of
from instances.proofs.vipr import Program, Row, read_vipr, see_denominators
from instances.validation import show, validate

ONE = Fraction(1)
MOST_JOBS, MOST = "jobs", 10**9
"""The name of the constraint that limits the preempted jobs, and its largest right-hand side."""


class StatedPoint(Frozen):
    """A choice of servers with what it preempts and loses; `bound`: no choice that preempts as few jobs loses less."""

    preempted_jobs: Count
    lost_gpu_hours: NonNegative
    bound_gpu_hours: NonNegative
    servers: tuple[Name, ...]


class StatedFront(Frozen):
    """The points of the front of an `instance`, the fewest jobs first; `complete`: there are no more of them."""

    instance: Name
    points: Annotated[tuple[StatedPoint, ...], Field(min_length=1)]
    complete: bool


@dataclass(frozen=True)
class LeastLoss:
    """A lower bound of `hours` GPU-hours on the loss of choices that preempt at most `jobs` (`None`: no limit)."""

    jobs: int | None
    hours: Fraction

    def covers(self, jobs: int | None) -> bool:
        """Return whether the bound applies to all choices that preempt at most `jobs`."""
        return self.jobs is None or (jobs is not None and jobs <= self.jobs)


def exact_loss(data: ArylReclaim, servers: Sequence[str]) -> Fraction:
    """Return the GPU-hours lost by the jobs that are preempted if these servers are returned."""
    weighed = minimise_hours(data)
    point = reclaim_point(weighed, {"servers": list(servers)})
    return sum((loss for j, loss in enumerate(weighed.losses()) if j in point), Fraction(0))


def minimise_jobs(data: ArylReclaim) -> ArylReclaim:
    """Return the problem that minimises the number of preempted jobs."""
    return data.model_copy(update={"objective": "preempted-jobs"})


def minimise_hours(data: ArylReclaim) -> ArylReclaim:
    """Return the problem that minimises the lost GPU-hours. Raises InputError if a job has no `gpu_hours`."""
    for i, job in enumerate(data.jobs):
        if job.gpu_hours is None:
            raise InputError(f"data.jobs[{i}].gpu_hours: must be given for a Pareto front")
    return data.model_copy(update={"objective": "lost-gpu-hours"})


class FrontProgram:
    """Minimise the loss, in units of `unit` GPU-hours, with at most `jobs` preempted jobs."""

    def __init__(self, data: ArylReclaim, jobs: int | None) -> None:
        self.data = minimise_hours(data)
        losses = [loss for loss in self.data.losses() if loss]
        denominator = math.lcm(*(loss.denominator for loss in losses))
        self.unit = Fraction(math.gcd(*(int(loss * denominator) for loss in losses)) or 1, denominator)
        self.jobs = jobs

    def program(self) -> Program:
        """Return the program. Raises NoCertificate if it is too large for a file."""
        program = reclaim_program(self.data)
        rows = program.rows
        if self.jobs is not None:
            rows = (*rows, Row(MOST_JOBS, "L", Fraction(self.jobs), dict.fromkeys(range(len(self.data.jobs)), ONE)))
        return replace(program, objective={i: c / self.unit for i, c in program.objective.items()}, rows=rows)


def prove_loss(data: ArylReclaim, text: str) -> LeastLoss:
    """Return the bound on losses that the VIPR file `text` proves.

    Raises InputError, or CheckFailed if the derivation does not hold.
    """
    file = read_vipr(text)
    front = FrontProgram(data, _find_most_jobs(file.program.rows))
    return LeastLoss(front.jobs, proven_of(front.data, front.program(), file).bound * front.unit)


def _find_most_jobs(rows: Sequence[Row]) -> int | None:
    """Return the limit on preempted jobs in the program of a file, `None` if it has none."""
    stated = [row.right for row in rows if row.name == MOST_JOBS]
    if not stated:
        return None
    if not 0 <= stated[0] <= MOST or stated[0].denominator > 1:
        raise InputError(f"{MOST_JOBS}: must be a number of jobs, got {show(stated[0])}")
    return int(stated[0])


class FrontProofs:
    """The bounds of the certificates of a front: the minimum number of jobs `fewest`, and the bounds `losses`."""

    def __init__(self, instance: Instance[ArylReclaim]) -> None:
        self.name, self.data, self.fewest = instance.name, instance.data, 0
        self.losses: list[LeastLoss] = []

    def add(self, text: str) -> None:
        """Add the bound that the VIPR file `text` proves.

        Raises InputError if it is of another instance, and CheckFailed.
        """
        see_denominators(text)
        try:
            if read_vipr(text).header.get("instance") == digest(minimise_jobs(self.data)):
                self.fewest = max(self.fewest, math.ceil(prove_reclaim(minimise_jobs(self.data), text).bound))
            else:
                self.losses.append(prove_loss(self.data, text))
        except NoCertificate as error:
            raise InputError(str(error)) from error

    def see(self, content: Any) -> str:
        """Verify the stated figures of the points and the bounds, and return a short description.

        Raises InputError for a front of another instance, and CheckFailed.
        """
        front = validate(StatedFront, content, root="")
        if front.instance != self.name:
            raise InputError(f"instance: must be {self.name!r}, as in the instance, got {show(front.instance)}")
        _see_points(self.data, front.points)
        for i, point in enumerate(front.points):
            least = self._bound_loss(point.preempted_jobs)
            if Fraction(repr(point.bound_gpu_hours)) > least:
                where = f"points[{i}].bound_gpu_hours"
                raise CheckFailed(f"{where}: {point.bound_gpu_hours!r} is claimed, {show(least)} is proved")
        if front.complete:
            self._see_complete(front.points)
        points = f"a front of {len(front.points)} {'point' if len(front.points) == 1 else 'points'}"
        return f"{points}, {'complete' if front.complete else 'perhaps not complete'}"

    def _bound_loss(self, jobs: int | None) -> Fraction:
        """Return the proven lower bound on the loss of choices that preempt at most `jobs`."""
        return max((one.hours for one in self.losses if one.covers(jobs)), default=Fraction(0))

    def _see_complete(self, points: Sequence[StatedPoint]) -> None:
        """Verify that the first point has the fewest jobs and that no point is missing.

        A choice that preempts fewer jobs than the next point must lose at least as much as this point.
        """
        if points[0].preempted_jobs > self.fewest:
            few = points[0].preempted_jobs
            raise CheckFailed(f"complete: that {few} jobs are the fewest is claimed, {self.fewest} is proved")
        for i, point in enumerate(points):
            most = points[i + 1].preempted_jobs - 1 if i + 1 < len(points) else None
            if exact_loss(self.data, point.servers) > (least := self._bound_loss(most)):
                many = "any number of" if most is None else f"at most {most}"
                lost = f"{point.lost_gpu_hours!r} GPU-hours"
                raise CheckFailed(f"complete: with {many} jobs {lost} are claimed, {show(least)} is proved")


def _see_points(data: ArylReclaim, points: Sequence[StatedPoint]) -> None:
    for i, point in enumerate(points):
        where, servers = f"points[{i}]", {"servers": list(point.servers)}
        try:
            jobs, hours = check_reclaim(minimise_jobs(data), servers), check_reclaim(minimise_hours(data), servers)
        except MalformedSolution as error:
            raise CheckFailed(f"{where}.servers: {error}") from error
        for found in (*jobs.violations, *hours.violations):
            raise CheckFailed(f"{where}.servers: {found}")
        if jobs.objective != point.preempted_jobs:
            raise CheckFailed(f"{where}.preempted_jobs: {point.preempted_jobs} are claimed, it is {jobs.objective:g}")
        if hours.objective != point.lost_gpu_hours:
            raise CheckFailed(
                f"{where}.lost_gpu_hours: {point.lost_gpu_hours!r} are claimed, it is {hours.objective!r}"
            )
    for i in range(1, len(points)):
        fewer, more = points[i - 1], points[i]
        if fewer.preempted_jobs >= more.preempted_jobs or fewer.lost_gpu_hours <= more.lost_gpu_hours:
            raise CheckFailed(f"points[{i}]: must preempt more jobs and lose less than the point before")
