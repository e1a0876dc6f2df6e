"""Define the data of `aryl-reclaim`: which loaned servers are returned (Aryl, section 4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.fields import (
    Count,
    Frozen,
    Name,
    NonNegative,
    PositiveCount,
    ProblemData,
    Sense,
    refuse,
    refuse_duplicates,
)

Loss = Literal["preempted-jobs", "lost-gpu-hours"]


class LoanedJob(Frozen):
    """A job with workers on loaned servers.

    `servers` host its base workers: the job is preempted when one of them goes back; without any, as where its base
    workers are on training servers, it never is. `flexible_servers`, none of `servers`, host flexible workers only of
    this job, which are released without preemption (section 5.3). `gpus`, if given, says how many GPUs of each of
    `servers` the job holds, for the costs by GPU fraction of Table 1.

    With `min_workers` it does not matter which workers are base ones: of the `workers` on each server that the job is
    on, the job is preempted when fewer than `min_workers` remain. `gpu_hours`: the work that a preemption loses.
    """

    id: Name
    servers: tuple[Name, ...]
    flexible_servers: tuple[Name, ...] = ()
    gpus: tuple[PositiveCount, ...] | None = None
    workers: dict[Name, PositiveCount] | None = None
    min_workers: Count | None = None
    gpu_hours: NonNegative | None = None

    def needs(self) -> tuple[dict[str, int], int]:
        """Return the workers by server, and how many of them the job can lose without preemption.

        A job without `min_workers` has one worker on each of `servers` and can lose none.
        """
        if self.workers is None or self.min_workers is None:
            return dict.fromkeys(self.servers, 1), 0
        return dict(self.workers), sum(self.workers.values()) - self.min_workers


class ArylReclaim(ProblemData):
    """Choose exactly `reclaim` of the loaned servers; minimise the number of preempted jobs, or the work they lose."""

    problem: ClassVar[str] = "aryl-reclaim"

    servers: Annotated[tuple[Name, ...], Field(min_length=1)]
    jobs: tuple[LoanedJob, ...]
    reclaim: Count
    objective: Loss = "preempted-jobs"

    @property
    def sense(self) -> Sense:
        return "minimize"

    @property
    def unit(self) -> str:
        return "preempted jobs" if self.objective == "preempted-jobs" else "GPU-hours"

    def as_in_the_paper(self) -> ArylReclaim | None:
        """Return the equivalent problem with the paper's rule, by which any returned server preempts a job.

        Return `None` if losses differ, or if a job can lose some of its workers but not all.
        """
        if self.objective != "preempted-jobs":
            return None
        jobs = []
        for job in self.jobs:
            workers, spare = job.needs()
            every = sum(workers.values())
            if 0 < spare < every:
                return None
            jobs.append(LoanedJob(id=job.id, servers=tuple(workers) if spare < every else ()))
        if all(job.min_workers is None for job in self.jobs):
            return self
        return self.model_copy(update={"jobs": tuple(jobs)})

    def losses(self) -> tuple[Fraction, ...]:
        """Return the exact loss of a preemption of each job: 1, or its GPU-hours."""
        if self.objective == "preempted-jobs":
            return (Fraction(1),) * len(self.jobs)
        return tuple(Fraction(repr(job.gpu_hours)) for job in self.jobs)

    def jobs_on(self) -> dict[str, list[str]]:
        """Return the jobs with base workers on each server: J_s of Algorithm 1."""
        on: dict[str, list[str]] = {server: [] for server in self.servers}
        for job in self.jobs:
            for server in job.servers:
                on[server].append(job.id)
        return on

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("servers", self.servers)
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        known = set(self.servers)
        for i, job in enumerate(self.jobs):
            for kind, names in (("servers", job.servers), ("flexible_servers", job.flexible_servers)):
                refuse_duplicates(f"jobs[{i}].{kind}", names)
                for k, name in enumerate(names):
                    if name not in known:
                        refuse(f"jobs[{i}].{kind}[{k}]", "unknown server", name)
            for k, name in enumerate(job.flexible_servers):
                if name in job.servers:
                    refuse(f"jobs[{i}].flexible_servers[{k}]", "must not be a server of its base workers", name)
            if job.gpus is not None and len(job.gpus) != len(job.servers):
                refuse(f"jobs[{i}].gpus", f"must have one entry for each of {len(job.servers)} servers", len(job.gpus))
            if (job.workers is None) != (job.min_workers is None):
                missing = "workers" if job.workers is None else "min_workers"
                refuse(f"jobs[{i}].{missing}", "must be given, for workers and min_workers go together")
            if job.workers is not None and job.min_workers is not None:
                hosts = (*job.servers, *job.flexible_servers)
                if set(job.workers) != set(hosts):
                    what = f"must name the {len(hosts)} servers that the job is on, and no other"
                    refuse(f"jobs[{i}].workers", what, sorted(job.workers))
                if job.min_workers > (every := sum(job.workers.values())):
                    refuse(f"jobs[{i}].min_workers", f"must be <= {every}, the workers on all servers", job.min_workers)
            if self.objective == "lost-gpu-hours" and job.gpu_hours is None:
                refuse(f"jobs[{i}].gpu_hours", "must be given where the objective is lost-gpu-hours")
        if self.reclaim > len(self.servers):
            refuse("reclaim", f"must be <= {len(self.servers)}, the number of servers", self.reclaim)
        return self
