"""The jobs of BOA's renting world as they change, and how fast their epochs truly run."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from experiments.simulator.kernel import Activity
from experiments.simulator.records import HOUR
from instances.boa import BoaRenting, Curve, RentingClass, RentingJob
from instances.boa.online import JobState
from instances.online import RuleBroken


class RentingJobState:
    """A job. It holds `width` GPUs since `since`, and works with them at `rate` from `active_from` on.

    Work is counted in seconds on one GPU. `sizes`: that of each epoch; `work`: that of the present one; `state`: what
    policies see.
    """

    __slots__ = (
        "active_from", "arrival", "end", "epoch", "id", "index", "kind", "rate", "since", "sizes", "start",
        "state", "width", "work",
    )  # fmt: skip

    work: Activity

    def __init__(self, index: int, job: RentingJob, kind: TrueClass) -> None:
        own = kind.data.epochs if job.size_hours is None else None
        self.index, self.id, self.arrival, self.kind = index, job.id, job.arrival_seconds, kind
        self.sizes = [e.size_hours * HOUR for e in own] if own else [h * HOUR for h in job.size_hours or ()]
        self.state = JobState(
            job.id, job.job_class, job.arrival_seconds, 0, kind.mean_from[0], requested_gpus=job.requested_gpus
        )
        self.epoch = self.width = 0
        self.rate = self.since = self.active_from = 0.0
        self.start: float | None = None
        self.end: float | None = None

    def show(self, now: float) -> None:
        """Bring up to date what policies believe to be left of it, as far as they see how far its epoch is."""
        state, mean = self.state, self.kind.mean_from
        share = self.work.left / self.sizes[self.epoch]
        state.epoch, state.seen_at = self.epoch, now
        state.remaining_hours = mean[self.epoch + 1] + share * (mean[self.epoch] - mean[self.epoch + 1])


class TrueClass:
    """A class of jobs as it truly runs: its place, pauses in seconds, and mean hours on one GPU from each epoch on."""

    __slots__ = ("_ends", "_speeds", "cold", "data", "index", "last", "mean_from", "pause")

    def __init__(self, index: int, data: RentingClass, max_width: int | None) -> None:
        self.index, self.data = index, data
        self.pause = data.rescale_seconds
        self.cold = data.cold_rescale_seconds
        self.mean_from = [0.0]
        for epoch in reversed(data.epochs):
            self.mean_from.insert(0, self.mean_from[0] + epoch.size_hours)
        self._speeds: list[dict[int, float]] = [{} for _ in data.epochs]
        most = max_width or 10**9
        self._ends = [_end(e.speedup, most) for e in data.epochs]
        believed = [_end(e.believed_speedup, most) for e in data.epochs if e.believed_speedup is not None]
        self.last = max(self._ends + believed)

    def speed(self, epoch: int, width: int) -> float:
        """How many times as fast an epoch truly runs as on one GPU; past the last width measured no faster."""
        found = self._speeds[epoch].get(width)
        if found is None:
            curve = self.data.epochs[epoch].speedup
            found = self._speeds[epoch][width] = speed_at(curve, min(width, self._ends[epoch]))
        return found

    def refuse(self, width: int) -> NoReturn:
        """Raise RuleBroken for a width out of range."""
        raise RuleBroken(f"a job of {self.data.name} runs on 1 to {self.last} GPUs, got {width}")


def speed_at(curve: Curve, width: int) -> float:
    """The measured speedup on a whole number of GPUs; between the widths of a table linear, not on its hull."""
    if curve.table is None:
        return float(curve.at(np.array([float(width)]))[0])
    return float(curve.table.raw(width)[-1])


def _end(curve: Curve, most: int) -> int:
    """The last width of a curve."""
    return most if curve.table is None else min(most, curve.table.gpus[-1])


def jobs_of(data: BoaRenting) -> list[RentingJobState]:
    """The jobs of a workload in order of arrival."""
    kinds = {c.name: TrueClass(i, c, data.max_width) for i, c in enumerate(data.classes)}
    order = sorted(data.jobs, key=lambda job: job.arrival_seconds)
    return [RentingJobState(index, job, kinds[job.job_class]) for index, job in enumerate(order)]
