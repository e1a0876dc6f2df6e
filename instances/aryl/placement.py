"""Helper until `aryl-placement` is a problem: workers to place on servers (Aryl, section 5.3), and the check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from instances.errors import MalformedSolution
from instances.fields import Count, Frozen, Name, PositiveCount, refuse, refuse_duplicates

Part = Literal["inelastic", "base", "flexible"]
PARTS: tuple[Part, ...] = ("inelastic", "base", "flexible")


class PlacedJob(Frozen):
    """A job whose workers are decided: `base_workers`, and `flexible_workers` more."""

    id: Name
    base_workers: PositiveCount
    flexible_workers: Count = 0
    gpus_per_worker: PositiveCount
    elastic: bool = False

    def workers(self) -> dict[Part, int]:
        """Workers by part of the cluster: training servers, or one of two groups of inference servers."""
        if not self.elastic:
            return {"inelastic": self.base_workers}
        return {"base": self.base_workers, "flexible": self.flexible_workers}


class Cluster(Frozen):
    """Jobs for servers of `gpus_per_server` GPUs.

    Inelastic jobs go to training servers and elastic ones to inference servers, where base and flexible workers share
    no server, so that servers with flexible workers go back without preemption.
    """

    gpus_per_server: PositiveCount = 8
    jobs: Annotated[tuple[PlacedJob, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        for i, job in enumerate(self.jobs):
            if job.gpus_per_worker > self.gpus_per_server:
                message = f"must be <= gpus_per_server, {self.gpus_per_server}"
                refuse(f"jobs[{i}].gpus_per_worker", message, job.gpus_per_worker)
            if job.flexible_workers and not job.elastic:
                refuse(f"jobs[{i}].flexible_workers", "must be 0 for a job that is not elastic", job.flexible_workers)
        return self


class Server(Frozen):
    """A server in use: the part of the cluster, and workers by job."""

    part: Part
    workers: dict[Name, PositiveCount]


def check_placement(cluster: Cluster, servers: Sequence[Server]) -> tuple[str, ...]:
    """The constraints that `servers` break; none: a placement. Raises MalformedSolution for an unknown job."""
    jobs = {job.id: job for job in cluster.jobs}
    violations, placed = [], Counter[tuple[str, str]]()
    for i, server in enumerate(servers):
        for name, w in server.workers.items():
            if name not in jobs:
                raise MalformedSolution(f"unknown job {name!r}")
            placed[name, server.part] += w
        used = sum(w * jobs[name].gpus_per_worker for name, w in server.workers.items())
        if used > cluster.gpus_per_server:
            violations.append(f"server {i} holds {used} GPUs of {cluster.gpus_per_server}")
    for name, job in jobs.items():
        wanted = job.workers()
        for part in PARTS:
            if placed[name, part] != wanted.get(part, 0):
                violations.append(f"job {name} has {placed[name, part]} {part} workers, not {wanted.get(part, 0)}")
    return tuple(violations)
