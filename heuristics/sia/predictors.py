"""SIA's predictors (sections 5.2 and 5.4) of the load to come to a pool in each window, and of a job's duration.

Windows are in slots, or in whatever unit the clock counts. Section 5.4.1 makes the load of two predictions,
TotalNewLoad = NewLoadEstimate where WillJobsArrive says that jobs will come, and 0 else: `Decomposed` is put together
of these two and of JobDuration.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from instances.sia.online import PendingJob, PoolsView

WINDOWS_MINUTES = (5.0, 60.0, 720.0)
FINE_WINDOWS_MINUTES = tuple(5.0 * 2**k for k in range(9))
RECENT = 3
"""The conservative estimate is the maximum over so many windows of the past: the "recent few" of section 5.4.1."""


class Predictor(Protocol):
    """A predictor of new load and of job durations, which sees what the scheduler sees."""

    def observe(self, view: PoolsView) -> None:
        """Take note of what has happened by `view.now`: jobs submitted, jobs completed and jobs that run."""

    def new_load(self, pool: str, now: float, window: float) -> float:
        """TotalNewLoad: GPUs of the jobs that `pool` will submit in (now, now + window]."""

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        """JobDuration: the first k with the job's end within `windows[k]`; or else the number of windows."""


class WillJobsArrive(Protocol):
    """Whether a pool will submit any job in (now, now + window]."""

    def observe(self, view: PoolsView) -> None: ...
    def will_arrive(self, pool: str, now: float, window: float) -> bool: ...


class JobDuration(Protocol):
    """The class of a job's duration, asked for once a job, when it is submitted."""

    def observe(self, view: PoolsView) -> None: ...
    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int: ...


class Arrivals:
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

    def count(self, after: float, until: float) -> int:
        """Jobs submitted in (after, until]."""
        return bisect_right(self.times, until) - bisect_right(self.times, after)


class Perfect:
    """Exact predictions of windows and classes, from all jobs to come."""

    def __init__(self, jobs: Iterable[PendingJob]) -> None:
        self._arrivals: dict[str, Arrivals] = {}
        for job in sorted(jobs, key=lambda job: job.submit):
            self._arrivals.setdefault(job.pool, Arrivals()).add(job.submit, job.gpus)

    def observe(self, view: PoolsView) -> None:
        """Nothing to learn."""

    def new_load(self, pool: str, now: float, window: float) -> float:
        arrivals = self._arrivals.get(pool)
        return arrivals.between(now, now + window) if arrivals else 0.0

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        return self.new_load(pool, now, window) > 0

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return bisect_left(windows, job.duration)


class SlidingMaximum:
    """The conservative estimate of section 5.4.1 from the past alone; job durations exact to the class.

    A window's new load is the most that the pool submitted in any of the last `recent` windows of that size, with jobs
    always taken to come (WillJobsArrive = 1). `coverage` multiplies it. Until a whole window has been seen, nothing is
    known of a pool, which is then taken to need all that it owns.
    """

    def __init__(self, recent: int = RECENT, coverage: float = 1.0) -> None:
        self.recent, self.coverage = recent, coverage
        self._since: float | None = None
        self._arrivals: dict[str, Arrivals] = {}

    def observe(self, view: PoolsView) -> None:
        if self._since is None:
            self._since = view.now
        for job in view.arrived:
            self._arrivals.setdefault(job.pool, Arrivals()).add(job.submit, job.gpus)

    def new_load(self, pool: str, now: float, window: float) -> float:
        if self._since is None or now - self._since < window:
            return math.inf
        arrivals = self._arrivals.get(pool)
        if arrivals is None:
            return 0.0
        return self.coverage * max(
            arrivals.between(now - (k + 1) * window, now - k * window) for k in range(self.recent)
        )

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return bisect_left(windows, job.duration)


class Decomposed:
    """TotalNewLoad of section 5.4.1: the estimate where jobs are predicted to come, and 0 else."""

    def __init__(self, arrive: WillJobsArrive, durations: JobDuration, estimate: SlidingMaximum | None = None) -> None:
        self.arrive, self.durations = arrive, durations
        self.estimate = SlidingMaximum() if estimate is None else estimate
        self._classes: dict[str, int] = {}

    def observe(self, view: PoolsView) -> None:
        self.estimate.observe(view)
        self.arrive.observe(view)
        if self.durations is not self.arrive:  # one object may predict both
            self.durations.observe(view)

    def new_load(self, pool: str, now: float, window: float) -> float:
        return self.estimate.new_load(pool, now, window) if self.arrive.will_arrive(pool, now, window) else 0.0

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        if job.id not in self._classes:
            self._classes[job.id] = self.durations.duration_class(job, windows)
        return self._classes[job.id]


class Coins:
    """WillJobsArrive of the ablation of section 6.3: a coin a pool, window and tick of `every`, tossed once."""

    def __init__(self, seed: int, every: float) -> None:
        self.every = every
        self._rng = np.random.default_rng([seed, 0])
        self._tossed: dict[tuple[str, float], tuple[float, bool]] = {}

    def observe(self, view: PoolsView) -> None:
        """Nothing to learn."""

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        tick, coin = now // self.every, self._tossed.get((pool, window))
        if coin is None or coin[0] != tick:
            coin = self._tossed[pool, window] = tick, bool(self._rng.integers(2))
        return coin[1]


class RandomClass:
    """JobDuration of the ablation of section 6.3: each class as likely as any other."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 1])

    def observe(self, view: PoolsView) -> None:
        """Nothing to learn."""

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return int(self._rng.integers(len(windows) + 1))


def windows_in_slots(slot_minutes: float, minutes: Sequence[float] = WINDOWS_MINUTES) -> tuple[int, ...]:
    """The windows of section 5.4.1 (5 minutes, 1 hour, 12 hours), or others, rounded up to slots."""
    return tuple(sorted({math.ceil(window / slot_minutes) for window in minutes}))
