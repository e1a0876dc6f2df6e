"""Define SIA online: the view of a scheduler of pools, its decision, and the oracle's problem at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from instances.online import Decision, RuleBroken
from instances.options import Solution
from instances.sia.oracle import SiaOracle

__all__ = ["PendingJob", "PoolsView", "QueuedJob", "RuleBroken", "RunningJob", "Start", "decision", "snapshot"]


class PendingJob(Protocol):
    """A job in a queue. `submit` and `duration` are in slots, or in the unit of the clock."""

    @property
    def id(self) -> str: ...
    @property
    def pool(self) -> str: ...
    @property
    def submit(self) -> float: ...
    @property
    def duration(self) -> float: ...
    @property
    def gpus(self) -> int: ...


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job in a view; `cutoff` is the latest start of the job, if it has one."""

    id: str
    pool: str
    submit: float
    duration: float
    gpus: int
    cutoff: float | None = None


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A running job and its start time."""

    job: PendingJob
    start: float


@dataclass(slots=True)
class PoolsView:
    """A cluster of pools at one moment, in read-only mappings that change after the policy has answered.

    - `idle`: the idle GPUs of all pools.
    - `quota`: the GPUs that each pool owns.
    - `used`: the GPUs that the jobs of each pool hold, of any owner.
    - `queues`: pending jobs of each pool by id, in order of submission.
    - `running`: jobs that hold GPUs, by id.
    - `arrived`, `finished`: jobs submitted and jobs completed since the last decision.
    """

    now: float
    idle: int
    quota: Mapping[str, int]
    used: Mapping[str, int]
    queues: Mapping[str, Mapping[str, PendingJob]]
    running: Mapping[str, RunningJob]
    arrived: Sequence[PendingJob] = field(default=())
    finished: Sequence[PendingJob] = field(default=())


@dataclass(frozen=True, init=False)
class Start(Decision):
    """The jobs to start now, by id, and the time of the next decision if no event comes first.

    `interrupted`: jobs that first release their GPUs, and wait in their queue again with their remaining duration.
    """

    starts: Sequence[str] = ()
    interrupted: Sequence[str] = ()

    def __init__(
        self, starts: Sequence[str] = (), wake_at: float | None = None, interrupted: Sequence[str] = ()
    ) -> None:
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "wake_at", wake_at)
        object.__setattr__(self, "interrupted", interrupted)


def snapshot(view: PoolsView) -> SiaOracle | None:
    """Return the oracle's problem of the waiting and running jobs, with slot 0 for now; times must be integers.

    Return `None` if no waiting job fits the idle GPUs, because there is no decision to make. A running job keeps its
    GPUs: it starts at slot 0 with its remaining duration. A waiting job has its own cut-off. If this is past, the job
    gets a cut-off that is never binding.
    """
    now = view.now
    running: list[dict[str, Any]] = [
        {"id": r.job.id, "pool": r.job.pool, "submit": 0, "duration": _whole(r.start + r.job.duration - now),
         "gpus": r.job.gpus, "latest_start": 0}
        for r in view.running.values()
    ]  # fmt: skip
    waiting = [job for queue in view.queues.values() for job in queue.values()]
    if not any(job.gpus <= view.idle for job in waiting):
        return None
    late = sum(entry["duration"] for entry in running) + sum(_whole(job.duration) for job in waiting)
    return SiaOracle.model_validate(
        {
            "slot_minutes": 1.0,
            "pools": [{"name": name, "gpus": gpus} for name, gpus in view.quota.items()],
            "jobs": [
                *running,
                *(
                    {"id": job.id, "pool": job.pool, "submit": 0, "duration": _whole(job.duration), "gpus": job.gpus,
                     "latest_start": _cutoff(job, now, late)}
                    for job in waiting
                ),
            ],
        }
    )  # fmt: skip


def decision(view: PoolsView, solution: Solution | None) -> Start:
    """Return the decision to start all jobs that `solution` starts at slot 0, and to decide again at the next start.

    Without a solution no job starts.
    """
    if solution is None:
        return Start()
    starts: Mapping[str, Any] = solution["starts"]
    waiting = [job.id for queue in view.queues.values() for job in queue.values()]
    later = [starts[name] for name in waiting if starts[name] > 0]
    return Start([name for name in waiting if starts[name] == 0], view.now + min(later) if later else None)


def _cutoff(job: PendingJob, now: float, late: int) -> int:
    cutoff = getattr(job, "cutoff", None)
    return late if cutoff is None or cutoff < now else _whole(cutoff - now)


def _whole(time: float) -> int:
    if time != int(time):
        raise RuleBroken(f"the oracle's problem has whole slots, got {time!r}")
    return int(time)
