"""Define the data of `aryl-elastic`: which jobs get spare workers (Aryl, sections 2.2, 5.1 and 5.2, Appendix C)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.fields import (
    Frozen,
    Name,
    Positive,
    PositiveCount,
    ProblemData,
    Sense,
    Share,
    refuse,
    refuse_duplicates,
)


class ElasticJob(Frozen):
    """A job j that runs on w^min_j to w^max_j workers of D_j GPUs each; an inelastic job has the two equal.

    `min_running_time` is its running time in seconds on w^max_j workers if it scales linearly, so that its work is
    `min_running_time * max_workers` worker-seconds (L_j of Appendix C, per worker instead of per GPU).
    """

    id: Name
    min_workers: PositiveCount
    max_workers: PositiveCount
    gpus_per_worker: PositiveCount
    min_running_time: Positive

    @property
    def work(self) -> float:
        """Return the work in worker-seconds."""
        return self.min_running_time * self.max_workers

    @property
    def exact_work(self) -> Fraction:
        """Return the work in worker-seconds, as a rational number."""
        return Fraction(self.min_running_time) * self.max_workers

    @property
    def base_gpus(self) -> int:
        """Return the number of GPUs of the base demand."""
        return self.min_workers * self.gpus_per_worker

    @property
    def elastic(self) -> bool:
        """Return whether the job has a flexible demand."""
        return self.max_workers > self.min_workers

    @property
    def midpoint(self) -> int:
        """Return the maximum number of workers without a scaling loss in the imperfect variant of section 7.2."""
        return (self.min_workers + self.max_workers) // 2

    @model_validator(mode="after")
    def _validate_range(self) -> Self:
        if self.max_workers < self.min_workers:
            refuse("max_workers", f"must be >= min_workers, {self.min_workers}", self.max_workers)
        return self


class ArylElastic(ProblemData):
    """Elastic jobs that share `capacity_gpus` GPUs.

    `jct-reduction` (section 5.2, phase two): all jobs run; maximise the sum over jobs of the running time on w^min_j
    workers less that on the workers given. `mean-jct` (section 5.1): all jobs are present at time 0, workers may change
    whenever a job completes, a job that has started keeps its base demand until it completes; minimise the mean JCT.

    `scaling_loss` is the loss of section 7.2's imperfect scaling: each worker beyond the midpoint of the range takes
    this share off the job's ideal throughput (0.1 in the paper, 0 for linear scaling).
    """

    problem: ClassVar[str] = "aryl-elastic"

    capacity_gpus: Positive
    jobs: Annotated[tuple[ElasticJob, ...], Field(min_length=1)]
    objective: Literal["jct-reduction", "mean-jct"]
    scaling_loss: Share = 0.0

    @property
    def sense(self) -> Sense:
        return "maximize" if self.objective == "jct-reduction" else "minimize"

    @property
    def unit(self) -> str:
        return "seconds"

    @property
    def whole_gpus(self) -> int:
        """Return the number of GPUs that workers can use, an integer."""
        return math.floor(self.capacity_gpus)

    def throughput(self, job: ElasticJob, workers: int) -> Fraction:
        """Return the exact worker-seconds per second of `job` on `workers` workers.

        Linear scaling: `workers`. With a loss: workers * (1 - loss * steps beyond the midpoint), at least 0.
        """
        if not self.scaling_loss:
            return Fraction(workers)
        steps = max(0, workers - job.midpoint)
        return workers * max(Fraction(0), 1 - steps * Fraction(repr(self.scaling_loss)))

    def choices(self) -> tuple[range, ...]:
        """Return the numbers of workers of each job that fit the GPUs and make progress, in the order of the jobs.

        For `jct-reduction` every job runs, so a job can use only the GPUs that the base demands of the others leave.
        """
        every = sum(job.base_gpus for job in self.jobs) if self.objective == "jct-reduction" else 0
        found = []
        for job in self.jobs:
            gpus = self.whole_gpus - (every - job.base_gpus if every else 0)
            most = min(job.max_workers, gpus // job.gpus_per_worker)
            if self.scaling_loss:
                most = min(most, job.midpoint + math.ceil(1 / Fraction(repr(self.scaling_loss))) - 1)
            found.append(range(job.min_workers, most + 1))
        return tuple(found)

    def fastest(self, job: ElasticJob, most: int) -> int:
        """Return the number of workers, at most `most`, with the maximum throughput; the smallest one in a tie."""
        if not self.scaling_loss:
            return most
        loss = Fraction(repr(self.scaling_loss))
        peak = math.floor((1 + loss * job.midpoint) / (2 * loss))  # w * (1 - loss * (w - midpoint)) is largest here
        near = {min(max(w, job.min_workers), most) for w in (job.midpoint, peak, peak + 1, most)}
        return max(near, key=lambda w: (self.throughput(job, w), -w))

    def fastest_workers(self) -> dict[str, int]:
        """Return the fastest number of workers of each job that fits while the other jobs are on base demand."""
        jobs = zip(self.jobs, self.choices(), strict=True)
        return {job.id: self.fastest(job, workers[-1]) for job, workers in jobs}

    def has_room_for(self, workers: Mapping[str, int]) -> bool:
        """Return whether the GPUs suffice for these numbers of workers at once."""
        return sum(workers[job.id] * job.gpus_per_worker for job in self.jobs) <= self.whole_gpus

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        for i, job in enumerate(self.jobs):
            if job.base_gpus > self.whole_gpus:
                message = f"base demand of {job.base_gpus} GPUs must be at most capacity_gpus"
                refuse(f"jobs[{i}].min_workers", message, self.capacity_gpus)
        base = sum(job.base_gpus for job in self.jobs)
        if self.objective == "jct-reduction" and base > self.whole_gpus:
            message = f"must be at least {base}, the base demand of all jobs"
            refuse("capacity_gpus", message, self.capacity_gpus)
        return self
