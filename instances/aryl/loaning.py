"""Define the data of `aryl-loaning`: a training cluster for arriving jobs borrows inference servers (Aryl, 2 to 5)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.aryl.elastic import ElasticJob
from instances.fields import (
    LARGEST,
    Count,
    Frozen,
    NonNegative,
    Positive,
    PositiveCount,
    PositiveRatio,
    Share,
    refuse,
    refuse_duplicates,
)
from instances.online import Workload, refuse_short_period
from instances.renamed import OldName

MOST_SERVERS = 100_000  # of a cluster: a world stores each of them, and policies examine all at once
PositiveShare = Annotated[PositiveRatio, Field(le=1)]


class LoaningJob(ElasticJob):
    """A job that arrives, of base and flexible workers, and what the scheduler knows of it.

    `any_gpu`: it may run on loaned servers. `heterogeneous`: its workers may be on both kinds at once. A job that is
    preempted continues its work if it is `checkpointed`, and restarts otherwise. `predicted_running_time` is the
    value of `min_running_time` that policies use, by default the true one.
    """

    arrival_seconds: NonNegative
    any_gpu: Annotated[bool, Field(strict=True)] = False
    heterogeneous: Annotated[bool, Field(strict=True)] = False
    checkpointed: Annotated[bool, Field(strict=True)] = False
    predicted_running_time: Positive | None = None

    @property
    def forecast_work(self) -> float:
        """Return the work of the job in worker-seconds, as policies predict it."""
        return (self.predicted_running_time or self.min_running_time) * self.max_workers

    predicted_work: ClassVar[OldName] = OldName("forecast_work")


class InferenceLoad(Frozen):
    """The share of inference servers in use in each step of `step_seconds`; after the last step all of them are."""

    step_seconds: Positive
    use: Annotated[tuple[Share, ...], Field(min_length=1)]

    def at(self, seconds: float) -> float:
        """Return the share in use at a time."""
        step = int(seconds // self.step_seconds)
        return self.use[step] if step < len(self.use) else 1.0


class ArylLoaning(Workload):
    """A training cluster, and an inference cluster that lends it the servers that it does not use.

    Every `orchestrator_period_seconds` the inference cluster lends what the load and the `headroom` leave, or takes
    back what it needs. A loaned GPU has `loaned_speed` of the speed of a training GPU. With `loaned_workers` `"slow"` a
    worker has the same number of GPUs there and is slower by this factor; with `"wide"` it has more GPUs by this factor
    and is as fast. A preempted job loses `preemption_seconds` in addition to its progress. Decisions are made at every
    event or, if there is a `scheduling_period_seconds`, at multiples of it and whenever the orchestrator acts. With
    `grouped` placement, base and flexible workers share no loaned server (section 5.3).
    """

    problem: ClassVar[str] = "aryl-loaning"

    training_servers: Annotated[PositiveCount, Field(le=MOST_SERVERS)]
    inference_servers: Annotated[Count, Field(le=MOST_SERVERS)]
    gpus_per_server: PositiveCount
    loaned_speed: PositiveShare
    loaned_workers: Literal["slow", "wide"] = "slow"
    inference_load: InferenceLoad
    headroom: Share = 0.0
    orchestrator_period_seconds: Positive
    scheduling_period_seconds: NonNegative = 0.0
    preemption_seconds: NonNegative = 0.0
    scaling_loss: Share = 0.0
    heterogeneous_speed: PositiveShare = 1.0
    placement: Literal["grouped", "plain"] = "grouped"
    jobs: Annotated[tuple[LoaningJob, ...], Field(min_length=1)]

    @property
    def unit(self) -> str:
        """Return the unit of the mean completion time, which is minimised."""
        return "seconds"

    @property
    def loaned_worth(self) -> float:
        """Return the weight of a loaned GPU in terms of a worker's GPUs: 1, or less if workers are wider there."""
        return 1.0 if self.loaned_workers == "slow" else self.loaned_speed

    def count_gpus_on_loan(self, job: LoaningJob) -> int:
        """Return the number of GPUs of a worker of `job` on a loaned server."""
        if self.loaned_workers == "wide":
            return math.ceil(job.gpus_per_worker / self.loaned_speed - 1e-9)  # 3 for 1 GPU at a third of the speed
        return job.gpus_per_worker

    loaned_gpus: ClassVar[OldName] = OldName("count_gpus_on_loan")

    @property
    def worker_speed_on_loan(self) -> float:
        """Return the speed of a worker on loaned servers, as a share of that on training servers."""
        return self.loaned_speed if self.loaned_workers == "slow" else 1.0

    loaned_worker_speed: ClassVar[OldName] = OldName("worker_speed_on_loan")

    def speed(self, job: LoaningJob, training: int, loaned: int) -> float:
        """Return the worker-seconds per second of `job` on `training` and `loaned` workers."""
        lost = max(0, training + loaned - job.midpoint) * self.scaling_loss
        mixed = self.heterogeneous_speed if training and loaned else 1.0
        return (training + loaned * self.worker_speed_on_loan) * max(0.0, 1 - lost) * mixed

    def fastest(self, job: LoaningJob) -> float:
        """Return the maximum speed of a job on training servers: it grows with the workers until the loss dominates."""
        turns = [job.midpoint] + ([(1 / self.scaling_loss + job.midpoint) / 2] if self.scaling_loss else [])
        beside = {int(min(turn, LARGEST)) + step for turn in turns for step in (0, 1)}
        within = {min(max(w, job.min_workers), job.max_workers) for w in beside}
        return max(self.speed(job, w, 0) for w in within | {job.min_workers, job.max_workers})

    def lendable(self, seconds: float) -> int:
        """Return the number of servers that the inference cluster can lend at a time."""
        spare = 1 - self.inference_load.at(seconds) - self.headroom
        return max(0, int(spare * self.inference_servers + 1e-9))  # tolerance for rounding errors

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_duplicates("jobs", (job.id for job in self.jobs))
        for i, job in enumerate(self.jobs):
            if job.gpus_per_worker > self.gpus_per_server:
                what = f"must be <= {self.gpus_per_server}, the GPUs of a server"
                refuse(f"jobs[{i}].gpus_per_worker", what, job.gpus_per_worker)
            most = self.training_servers * (self.gpus_per_server // job.gpus_per_worker)
            if job.min_workers > most:
                refuse(f"jobs[{i}].min_workers", f"must be <= {most}, what the training servers hold", job.min_workers)
        last = max(job.arrival_seconds for job in self.jobs)
        seconds = last + max(job.min_running_time for job in self.jobs) + self.preemption_seconds
        for field in ("orchestrator_period_seconds", "scheduling_period_seconds"):
            if period := getattr(self, field):
                refuse_short_period(field, period, seconds, "arrivals, the longest job and a preemption")
        return self
