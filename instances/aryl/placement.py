"""Define the data of `aryl-placement`: which servers host the allocated workers of jobs (Aryl, sections 5.3 and 6)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from instances.aryl.online import Kind, Part
from instances.fields import Count, Frozen, Name, PositiveCount, ProblemData, refuse, refuse_duplicates
from instances.renamed import OldName

KINDS: tuple[Kind, ...] = ("training", "loaned")
PARTS: tuple[Part, ...] = ("base", "flexible")
Flag = Annotated[bool, Field(strict=True)]


class HostServer(Frozen):
    """A server of the training cluster or one on loan; it is in use where not all of its GPUs are free.

    `group`: what a loaned server in use hosts, base workers without.
    """

    id: Name
    kind: Kind
    gpus: PositiveCount
    free_gpus: Count
    group: Part | None = None

    @property
    def is_in_use(self) -> bool:
        """Return whether the server hosts workers already."""
        return self.free_gpus < self.gpus

    in_use: ClassVar[OldName] = OldName("is_in_use")

    @property
    def hosts(self) -> Part | None:
        """Return the part whose workers the server hosts already, `None` if it hosts no workers."""
        return (self.group or "base") if self.is_in_use else None


class PlacedJob(Frozen):
    """A job whose workers are decided: `base_workers` all or none of them, and up to `flexible_workers` more.

    A running job that is to grow has no base workers to place. `kinds`: the servers that it may use; all of its workers
    are on one kind, unless it is `heterogeneous`. On loaned servers a worker may take another number of GPUs.
    """

    id: Name
    gpus_per_worker: PositiveCount
    loaned_gpus_per_worker: PositiveCount | None = None
    base_workers: Count
    flexible_workers: Count = 0
    elastic: Flag = False
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)] = ("training",)
    heterogeneous: Flag = False

    def workers(self, part: Part) -> int:
        """Return the number of workers of a part to place."""
        return self.base_workers if part == "base" else self.flexible_workers

    def gpus_on(self, kind: Kind) -> int:
        """Return the number of GPUs of a worker on a kind of server."""
        return self.gpus_per_worker if kind == "training" else self.loaned_gpus_per_worker or self.gpus_per_worker

    def choose_kind(self, part: Part) -> Kind:
        """Return the preferred kind of workers of a part: loaned servers for elastic jobs, else training servers.

        Base workers of a heterogeneous job prefer training servers (section 6). If the job may not use this kind, the
        preferred kind is its first allowed one.
        """
        wanted: Kind = "loaned" if self.elastic and not (self.heterogeneous and part == "base") else "training"
        return wanted if wanted in self.kinds else self.kinds[0]

    preferred: ClassVar[OldName] = OldName("choose_kind")


class ArylPlacement(ProblemData):
    """Place workers; minimise servers newly used, GPUs on the kind not preferred and, before all, GPUs not placed.

    A GPU on a kind that is not preferred costs as much as `misplaced_cost` servers, one that is not placed as much as
    `unplaced_cost`. Base and flexible workers share no loaned server if they are `grouped`.
    """

    problem: ClassVar[str] = "aryl-placement"

    servers: Annotated[tuple[HostServer, ...], Field(min_length=1)]
    jobs: Annotated[tuple[PlacedJob, ...], Field(min_length=1)]
    misplaced_cost: Annotated[Count, Field(le=10**6)] = 10
    unplaced_cost: Annotated[Count, Field(le=10**6)] = 100
    grouped: Flag = True

    @property
    def unit(self) -> str:
        return "servers"

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("servers", (server.id for server in self.servers))
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        for i, server in enumerate(self.servers):
            if server.free_gpus > server.gpus:
                refuse(f"servers[{i}].free_gpus", f"must be <= gpus, {server.gpus}", server.free_gpus)
            if server.group is not None and (server.kind == "training" or not server.is_in_use):
                refuse(f"servers[{i}].group", "must not be given but for a loaned server in use", server.group)
        for i, job in enumerate(self.jobs):
            refuse_duplicates(f"jobs[{i}].kinds", job.kinds)
            if job.base_workers + job.flexible_workers == 0:
                refuse(f"jobs[{i}].base_workers", "must be >= 1 where there are no flexible workers", 0)
            if job.flexible_workers and not job.elastic:
                refuse(f"jobs[{i}].flexible_workers", "must be 0 for a job that is not elastic", job.flexible_workers)
            if job.heterogeneous and len(job.kinds) < len(KINDS):
                refuse(f"jobs[{i}].kinds", "must be both kinds for a heterogeneous job", list(job.kinds))
        return self
