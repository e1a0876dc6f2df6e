"""The parts of BOA's renting world as they change: jobs and nodes, and how fast epochs truly run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from experiments.simulator.kernel import Event
from instances.boa import BoaRenting, Curve, RentingClass, RentingJob
from instances.boa.online import JobState
from instances.online import RuleBroken

SECONDS = 3600.0


class Job:
    """A job. It holds `width` GPUs and works at `rate` from `active_from` on; `left` was left of its epoch at `since`.

    Work is counted in seconds on one GPU. `sizes`: that of each epoch; `mean_after`: hours that policies expect after
    each epoch; `epoch_ends`: what happens when the epoch does.
    """

    __slots__ = (
        "active_from", "arrival", "completion", "end", "epoch", "epoch_ends", "id", "index", "kind", "left", "rate",
        "since", "sizes", "start", "state", "width",
    )  # fmt: skip

    def __init__(self, index: int, job: RentingJob, kind: Kind) -> None:
        own = kind.data.epochs if job.size_hours is None else None
        self.index, self.id, self.arrival, self.kind = index, job.id, job.arrival_seconds, kind
        self.sizes = [e.size_hours * SECONDS for e in own] if own else [h * SECONDS for h in job.size_hours or ()]
        self.state = JobState(
            job.id, job.job_class, job.arrival_seconds, 0, kind.mean_from[0], requested_gpus=job.requested_gpus
        )
        self.epoch = self.width = 0
        self.left = self.sizes[0]
        self.rate = self.since = self.active_from = 0.0
        self.completion: Event | None = None
        self.epoch_ends: Callable[[], None] = _nothing
        self.start: float | None = None
        self.end: float | None = None

    def settle(self, now: float) -> None:
        """Count what it has done since it was last settled, and tell policies what they believe is left."""
        done = self.rate * (now - self.active_from)
        if done > 0:
            self.left = max(0.0, self.left - done)
        self.tell(now)

    def tell(self, now: float) -> None:
        """Bring up to date what policies see of its progress."""
        state, mean = self.state, self.kind.mean_from
        share = self.left / self.sizes[self.epoch]
        state.epoch, state.seen_at = self.epoch, now
        state.remaining_hours = mean[self.epoch + 1] + share * (mean[self.epoch] - mean[self.epoch + 1])


class Kind:
    """A class of jobs: its place, its pauses in seconds, and hours on one GPU expected from each epoch on."""

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
        told = [_end(e.believed_speedup, most) for e in data.epochs if e.believed_speedup is not None]
        self.last = max(self._ends + told)

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


class Node:
    """A node from when it is ordered: `ready_at` is when it is there, `marked_at` when it was given up."""

    __slots__ = ("id", "marked_at", "ordered_at", "ready", "ready_at", "released_at")

    def __init__(self, id: str, ordered_at: float, ready_at: float) -> None:
        self.id, self.ordered_at, self.ready_at = id, ordered_at, ready_at
        self.ready: Event | None = None
        self.marked_at = self.released_at = float("inf")


def speed_at(curve: Curve, width: int) -> float:
    """The measured speedup on a whole number of GPUs; between the widths of a table linear, not on its hull."""
    if curve.table is None:
        return float(curve.at(np.array([float(width)]))[0])
    return float(curve.table.raw(width)[-1])


def _end(curve: Curve, most: int) -> int:
    """The last width of a curve."""
    return most if curve.table is None else min(most, curve.table.gpus[-1])


def jobs_of(data: BoaRenting) -> list[Job]:
    """The jobs of a workload in order of arrival."""
    kinds = {c.name: Kind(i, c, data.max_width) for i, c in enumerate(data.classes)}
    order = sorted(data.jobs, key=lambda job: job.arrival_seconds)
    return [Job(index, job, kinds[job.job_class]) for index, job in enumerate(order)]


def _nothing() -> None:
    return None
