"""The data of `sia-local-oracle`: the oracle with locality, a job's GPUs on one server (SIA, sections 5.5 and 6.4).

A cell of a server of 8 GPUs has 1, 2, 4 or 8 of them and begins at a multiple of its size; its buddy is the other half
of the cell of twice the size. Jobs never leave their cells: buddy allocation as in HiveD, and quotas of whole servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.fields import (
    Count,
    Frozen,
    Measure,
    Name,
    Positive,
    PositiveCount,
    ProblemData,
    refuse,
    refuse_duplicates,
)
from instances.sia.oracle import Pool, SiaOracle, mean_jct

SERVER_GPUS = 8
SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, order=True)
class Cell:
    """A cell of a server: the GPUs `first` to `first + size - 1`."""

    server: int
    first: int
    size: int

    @property
    def buddy(self) -> Cell:
        """Return the cell that with this one makes one of twice the size."""
        return Cell(self.server, self.first ^ self.size, self.size)

    @property
    def parent(self) -> Cell:
        """Return the cell of twice the size that this one is half of."""
        return Cell(self.server, self.first & ~self.size, 2 * self.size)


@dataclass
class Buddies:
    """The free cells of `servers` servers: the smallest sufficient one is split, and two free halves are merged."""

    servers: int
    free: dict[int, set[Cell]] = field(init=False)

    def __post_init__(self) -> None:
        self.free = {size: set() for size in SIZES}
        self.free[SERVER_GPUS] = {Cell(server, 0, SERVER_GPUS) for server in range(self.servers)}

    def take(self, size: int, *, last: bool = False) -> Cell | None:
        """Allocate a free cell of `size` GPUs and return it, `None` if there is no such cell.

        Among the free cells of the smallest sufficient size, the first one is used, or the `last` one.
        """
        for larger in SIZES[SIZES.index(size) :]:
            if self.free[larger]:
                cell = (max if last else min)(self.free[larger])
                self.free[larger].remove(cell)
                while cell.size > size:
                    half = Cell(cell.server, cell.first, cell.size // 2)
                    cell, other = (half.buddy, half) if last else (half, half.buddy)
                    self.free[half.size].add(other)
                return cell
        return None

    def give_back(self, cell: Cell) -> None:
        """Release a cell and merge it with free buddies."""
        while cell.size < SERVER_GPUS and cell.buddy in self.free[cell.size]:
            self.free[cell.size].remove(cell.buddy)
            cell = cell.parent
        self.free[cell.size].add(cell)

    @property
    def whole(self) -> int:
        """Return the servers of which every GPU is free."""
        return len(self.free[SERVER_GPUS])

    def largest(self) -> int:
        """Return the size of the largest free cell, 0 if there is no free cell."""
        return max((size for size in SIZES if self.free[size]), default=0)


Placement = tuple[int, int]
"""The start of a job and its server."""


class LocalJob(Frozen):
    """A job j, submitted at slot s_j by a pool, that holds n_j GPUs of one server for d_j slots and never moves."""

    id: Name
    pool: Name
    submit: Count
    duration: PositiveCount
    gpus: Literal[1, 2, 4, 8]


class SiaLocalOracle(ProblemData):
    """The oracle's problem with locality: when to start each job, and on which server, none later than the cut-off.

    Minimises the queueing delay of all jobs in slots. Servers have 8 GPUs, and pools own whole servers: those of the
    first pool come first. Cut-offs are the starts of jobs that are served in order in cells of their own pool's
    servers, by buddy allocation. The GPUs of a server are alike: jobs fit where they hold no more than 8 together.
    """

    problem: ClassVar[str] = "sia-local-oracle"

    slot_minutes: Positive
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    jobs: Annotated[tuple[LocalJob, ...], Field(min_length=1)]

    @classmethod
    def of(cls, data: SiaOracle) -> SiaLocalOracle:
        """Return the same pools and jobs with locality. Raises InputError for pools or widths that are no cells."""
        jobs = [job.model_dump(exclude={"latest_start"}) for job in data.jobs]
        pools = [pool.model_dump() for pool in data.pools]
        return cls.model_validate({"slot_minutes": data.slot_minutes, "pools": pools, "jobs": jobs})

    @property
    def unit(self) -> str:
        return "slots"

    @property
    def measure(self) -> Measure | None:
        """Return the mean JCT in minutes: delay, which is the objective, and running time."""
        return mean_jct(self.slot_minutes, [job.duration for job in self.jobs])

    @property
    def capacity(self) -> int:
        """Return the GPUs of all pools together."""
        return sum(pool.gpus for pool in self.pools)

    @property
    def servers(self) -> int:
        """Return the servers of all pools together, numbered from 0."""
        return self.capacity // SERVER_GPUS

    @cached_property
    def alone(self) -> tuple[Placement, ...]:
        """Start and server of each job, in the order of `jobs`, when no pool shares."""
        return assign_cells(self.pools, self.jobs)

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Return the cut-off m_j of each job, in the order of `jobs`: the start when no pool shares."""
        return tuple(start for start, _ in self.alone)

    @cached_property
    def without_locality(self) -> SiaOracle:
        """Return the relaxation in which a job may have its GPUs anywhere, with the cut-offs of this problem."""
        jobs = [
            job.model_dump() | {"latest_start": cutoff} for job, cutoff in zip(self.jobs, self.cutoffs, strict=True)
        ]
        pools = [pool.model_dump() for pool in self.pools]
        return SiaOracle.model_validate({"slot_minutes": self.slot_minutes, "pools": pools, "jobs": jobs})

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("pools", (pool.name for pool in self.pools))
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        known = {pool.name for pool in self.pools}
        for i, pool in enumerate(self.pools):
            if pool.gpus % SERVER_GPUS:
                refuse(f"pools[{i}].gpus", f"must be a multiple of {SERVER_GPUS}, the GPUs of a server", pool.gpus)
        for i, job in enumerate(self.jobs):
            if job.pool not in known:
                refuse(f"jobs[{i}].pool", "unknown pool", job.pool)
        return self


def assign_cells(pools: Sequence[Pool], jobs: Sequence[LocalJob]) -> tuple[Placement, ...]:
    """Start and server of each job, in the order of `jobs`, served in order in the cells of its own pool's servers.

    Jobs submitted together start in the order given, and none overtakes another of its pool. A job takes the first of
    the smallest free cells that will do (`Buddies`).
    """
    first, free = {}, {}
    servers = 0
    for pool in pools:
        first[pool.name], free[pool.name] = servers, Buddies(pool.gpus // SERVER_GPUS)
        servers += pool.gpus // SERVER_GPUS
    latest = dict.fromkeys(free, 0)
    running: dict[str, list[tuple[int, int]]] = {name: [] for name in free}
    placed = [(0, 0)] * len(jobs)
    held: dict[int, Cell] = {}
    for i in sorted(range(len(jobs)), key=lambda i: jobs[i].submit):
        job = jobs[i]
        cells, ends, now = free[job.pool], running[job.pool], max(jobs[i].submit, latest[job.pool])
        while True:
            while ends and ends[0][0] <= now:
                cells.give_back(held.pop(heappop(ends)[1]))
            cell = cells.take(job.gpus)
            if cell is not None:
                break
            now = ends[0][0]
        held[i] = cell
        heappush(ends, (now + job.duration, i))
        placed[i] = now, first[job.pool] + cell.server
        latest[job.pool] = now
    return tuple(placed)
