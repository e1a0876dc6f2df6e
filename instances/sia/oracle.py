"""The data of `sia-oracle`: share idle GPUs between pools and slow down no job (SIA, section 4 and Appendix A)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from heapq import heappop, heappush
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.envelope import Instance
from instances.fields import (
    Count,
    Frozen,
    Measure,
    Name,
    NonNegative,
    Positive,
    PositiveCount,
    ProblemData,
    refuse,
    refuse_duplicates,
)
from instances.validation import input_errors, validate


def mean_jct(slot_minutes: float, durations: Sequence[int]) -> Measure:
    """Return the mean JCT in minutes for an objective that is the delay of all jobs in slots."""
    return Measure(name="mean JCT", part="delay a job, min", scale=slot_minutes / len(durations), fixed=sum(durations))


class Pool(Frozen):
    """A pool (queue) i, the owner of c_i GPUs."""

    name: Name
    gpus: PositiveCount


class Job(Frozen):
    """A job j, submitted at slot s_j by a pool, that holds n_j GPUs for d_j slots without interruption.

    `latest_start` is the cut-off m_j, a slot; without it, the job's start when its pool shares nothing.
    """

    id: Name
    pool: Name
    submit: Count
    duration: PositiveCount
    gpus: PositiveCount
    latest_start: Count | None = None


class SiaOracle(ProblemData):
    """The oracle's problem: when to start each job on the GPUs of all pools, none later than the cut-off.

    Minimises the queueing delay of all jobs in slots, plus `fairness_weight` (β) times Σ_t α_t. `fair_share` says
    what α_t charges: with `all-use` it is the largest use of a pool at slot t over what the pool owns, as equation
    (13) is written; with `above-share` only what of that is above 1, so that using one's own GPUs is free.
    """

    problem: ClassVar[str] = "sia-oracle"

    slot_minutes: Positive
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    jobs: Annotated[tuple[Job, ...], Field(min_length=1)]
    fairness_weight: NonNegative = 0.0
    fair_share: Literal["all-use", "above-share"] = "all-use"

    @property
    def unit(self) -> str:
        return "slots"

    @property
    def measure(self) -> Measure | None:
        """Return the mean JCT in minutes: delay, the objective if fairness has no weight, and running time."""
        if self.fairness_weight:
            return None
        return mean_jct(self.slot_minutes, [job.duration for job in self.jobs])

    @property
    def capacity(self) -> int:
        """Return the GPUs of all pools together."""
        return sum(pool.gpus for pool in self.pools)

    @cached_property
    def cutoffs(self) -> tuple[int, ...]:
        """Return the cut-off m_j of each job, in the order of `jobs`: the latest slot to start at."""
        return tuple(
            start if job.latest_start is None else job.latest_start
            for job, start in zip(self.jobs, self.fcfs_starts, strict=True)
        )

    @cached_property
    def fcfs_starts(self) -> tuple[int, ...]:
        """Start of each job, in the order of `jobs`, when no pool shares: strictly first come, first served.

        A job that is wider than its own pool never starts there: its cut-off stands for its start, and it holds
        up nobody.
        """
        return fcfs_starts(self.pools, self.jobs)

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("pools", (pool.name for pool in self.pools))
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        owned = {pool.name: pool.gpus for pool in self.pools}
        widest = max(owned.values())
        for i, job in enumerate(self.jobs):
            if job.pool not in owned:
                refuse(f"jobs[{i}].pool", f"unknown pool, must be one of {_list_some(owned)}", job.pool)
            if job.gpus > widest:
                refuse(f"jobs[{i}].gpus", f"must be <= {widest}, the GPUs of the largest pool", job.gpus)
            if job.latest_start is None and job.gpus > owned[job.pool]:
                here = f"the GPUs of pool {job.pool}, or have a latest_start"
                refuse(f"jobs[{i}].gpus", f"must be <= {owned[job.pool]}, {here}", job.gpus)
            if job.latest_start is not None and job.latest_start < job.submit:
                refuse(f"jobs[{i}].latest_start", f"must be >= {job.submit}, the job's submission", job.latest_start)
        return self


def fcfs_starts(pools: Sequence[Pool], jobs: Sequence[Job]) -> tuple[int, ...]:
    """Start slot of each job, in the order of `jobs`, when no pool shares.

    Jobs start in order of submission, those submitted together in the order given; no job overtakes another of its
    pool, even where it would fit. A job wider than its pool starts at its `latest_start` and takes no GPU.
    """
    own = {pool.name: pool.gpus for pool in pools}
    idle = dict(own)
    latest = dict.fromkeys(own, 0)  # start of the job before: nobody overtakes it
    running: dict[str, list[tuple[int, int]]] = {name: [] for name in own}
    starts = [0] * len(jobs)
    for i in sorted(range(len(jobs)), key=lambda i: jobs[i].submit):
        job = jobs[i]
        name, gpus = job.pool, job.gpus
        if gpus > own[name]:
            starts[i] = job.submit if job.latest_start is None else job.latest_start
            continue
        ends, now = running[name], max(job.submit, latest[name])
        while ends and (ends[0][0] <= now or idle[name] < gpus):
            end, freed = heappop(ends)
            now = max(now, end)
            idle[name] += freed
        idle[name] -= gpus
        heappush(ends, (now + job.duration, gpus))
        starts[i] = latest[name] = now
    return tuple(starts)


def _list_some(names: dict[str, int]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")


def pool_loads(data: SiaOracle, *, within: bool = False) -> dict[str, float]:
    """Return each pool's GPU time of jobs over its own GPU time, from the first submission of all to the last.

    All work counts that is submitted, also what would run beyond the last submission; with `within` only what a job
    would do by then if it started at once.
    """
    first = min(job.submit for job in data.jobs)
    last = max(job.submit for job in data.jobs)
    work = dict.fromkeys((pool.name for pool in data.pools), 0)
    for job in data.jobs:
        work[job.pool] += job.gpus * (min(job.duration, last - job.submit) if within else job.duration)
    return {pool.name: work[pool.name] / (pool.gpus * max(1, last - first)) for pool in data.pools}


BEYOND = 1e18  # More slots than validation takes stand for a division that runs into infinity.


def whole_slots(time: float, slot: float) -> int:
    """Return the minimum number of slots of length `slot` that contain `time`, in the same unit."""
    return math.ceil(min(time / slot, BEYOND))


def instance_of(data: Mapping[str, Any], name: str, source: str) -> Instance[SiaOracle]:
    """Build the instance of `data`, the content of a `sia-oracle` file. Raises InputError as for a user's file."""
    with input_errors():
        return Instance.of(validate(SiaOracle, data), name, source)
