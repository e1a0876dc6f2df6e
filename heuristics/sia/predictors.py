"""SIA's predictors (sections 5.2 and 5.4) of the load to come to a pool in each window, and of a job's duration.

Windows are in slots, or in whatever unit the clock counts.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from instances.sia.online import PendingJob

WINDOWS_MINUTES = (5.0, 60.0, 720.0)
RECENT = 10  # The conservative estimate is the maximum over so many windows of the past.


class Predictor(Protocol):
    """A predictor of new load and of job durations, which is told of all submissions."""

    def observe(self, now: float, arrived: Sequence[PendingJob]) -> None:
        """Take note of the jobs submitted by `now`."""

    def new_load(self, pool: str, now: float, window: float) -> float:
        """TotalNewLoad: GPUs of the jobs that `pool` will submit in (now, now + window]."""

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        """JobDuration: the first k with the job's end within `windows[k]`; or else the number of windows."""


class _Arrivals:
    """GPUs submitted to one pool, summed over time."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.total: list[float] = [0.0]

    def add(self, time: float, gpus: float) -> None:
        self.times.append(time)
        self.total.append(self.total[-1] + gpus)

    def between(self, after: float, until: float) -> float:
        """GPUs submitted in (after, until]."""
        return self.total[bisect_right(self.times, until)] - self.total[bisect_right(self.times, after)]


class Perfect:
    """Exact predictions of windows and classes, from all jobs to come."""

    def __init__(self, jobs: Iterable[PendingJob]) -> None:
        self._arrivals: dict[str, _Arrivals] = {}
        for job in sorted(jobs, key=lambda job: job.submit):
            self._arrivals.setdefault(job.pool, _Arrivals()).add(job.submit, job.gpus)

    def observe(self, now: float, arrived: Sequence[PendingJob]) -> None:
        """Nothing to learn."""

    def new_load(self, pool: str, now: float, window: float) -> float:
        arrivals = self._arrivals.get(pool)
        return arrivals.between(now, now + window) if arrivals else 0.0

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return bisect_left(windows, job.duration)


class SlidingMaximum:
    """The conservative estimate of section 5.4.1 from the past alone; job durations exact to the class.

    A window's new load is the most that the pool submitted in any of the last RECENT windows of that size, with jobs
    always taken to come (WillJobsArrive = 1). `coverage` multiplies it.
    """

    def __init__(self, coverage: float = 1.0) -> None:
        self.coverage = coverage
        self._arrivals: dict[str, _Arrivals] = {}

    def observe(self, now: float, arrived: Sequence[PendingJob]) -> None:
        for job in arrived:
            self._arrivals.setdefault(job.pool, _Arrivals()).add(job.submit, job.gpus)

    def new_load(self, pool: str, now: float, window: float) -> float:
        arrivals = self._arrivals.get(pool)
        if arrivals is None:
            return 0.0
        return self.coverage * max(arrivals.between(now - (k + 1) * window, now - k * window) for k in range(RECENT))

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return bisect_left(windows, job.duration)


class Random:
    """The ablation of section 6.3: whether jobs will come is a coin's toss, and a job's class random where asked.

    `durations` tells whether the class of a job is drawn too, once for each job.
    """

    def __init__(self, seed: int = 0, *, durations: bool = True) -> None:
        self.durations = durations
        self._rng = np.random.default_rng(seed)
        self._load = SlidingMaximum()
        self._drawn: dict[str, int] = {}

    def observe(self, now: float, arrived: Sequence[PendingJob]) -> None:
        self._load.observe(now, arrived)

    def new_load(self, pool: str, now: float, window: float) -> float:
        return self._load.new_load(pool, now, window) if self._rng.integers(2) else 0.0

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        if not self.durations:
            return self._load.duration_class(job, windows)
        if job.id not in self._drawn:
            self._drawn[job.id] = int(self._rng.integers(len(windows) + 1))
        return self._drawn[job.id]


def windows_in_slots(slot_minutes: float) -> tuple[int, ...]:
    """The windows of section 5.4.1 (5 minutes, 1 hour, 12 hours), rounded up to slots."""
    return tuple(math.ceil(minutes / slot_minutes) for minutes in WINDOWS_MINUTES)
