"""The data of `aryl-reclaim`: which loaned servers go back (Aryl, section 4)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from instances.fields import Count, Frozen, Name, PositiveCount, ProblemData, Sense, refuse, refuse_duplicates


class LoanedJob(Frozen):
    """A job with workers on loaned servers.

    `servers` host its base workers: the job is preempted when one of them goes back; without any, as where its base
    workers are on training servers, it never is. `flexible_servers`, none of `servers`, host flexible workers only of
    this job, which are released without preemption (section 5.3). `gpus`, if given, says how many GPUs of each of
    `servers` the job holds, for the costs by GPU fraction of Table 1.
    """

    id: Name
    servers: tuple[Name, ...]
    flexible_servers: tuple[Name, ...] = ()
    gpus: tuple[PositiveCount, ...] | None = None


class ArylReclaim(ProblemData):
    """Choose exactly `reclaim` of the loaned servers; minimise the number of preempted jobs."""

    problem: ClassVar[str] = "aryl-reclaim"

    servers: Annotated[tuple[Name, ...], Field(min_length=1)]
    jobs: tuple[LoanedJob, ...]
    reclaim: Count

    @property
    def sense(self) -> Sense:
        return "minimize"

    @property
    def unit(self) -> str:
        return "preempted jobs"

    def jobs_on(self) -> dict[str, list[str]]:
        """Jobs with base workers on each server: J_s of Algorithm 1."""
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
        if self.reclaim > len(self.servers):
            refuse("reclaim", f"must be <= {len(self.servers)}, the number of servers", self.reclaim)
        return self
