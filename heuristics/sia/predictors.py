"""SIA's predictors (sections 5.2 and 5.4) of a pool's new load in each window, and of a job's duration.

Windows are in slots, or in the unit of the clock. Section 5.4.1 splits the load into two predictions: TotalNewLoad is
NewLoadEstimate if WillJobsArrive predicts jobs, and 0 otherwise. `Decomposed` combines these two and JobDuration.
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
"""Number of past windows in the maximum of the conservative estimate: the "recent few" of section 5.4.1."""


class Predictor(Protocol):
    """A predictor of new load and of job durations; it has the same observations as the scheduler."""

    def observe(self, view: PoolsView) -> None:
        """Record the events up to `view.now`: submissions, completions and running jobs."""

    def new_load(self, pool: str, now: float, window: float) -> float:
        """Return TotalNewLoad: GPUs of the jobs that `pool` will submit in (now, now + window]."""

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        """Return JobDuration: the first k such that the job ends within `windows[k]`, or the number of windows."""


class WillJobsArrive(Protocol):
    """A predictor of whether a pool will submit any job in (now, now + window]."""

    def observe(self, view: PoolsView) -> None: ...
    def will_arrive(self, pool: str, now: float, window: float) -> bool: ...


class JobDuration(Protocol):
    """A predictor of the class of a job's duration, called once per job at its submission."""

    def observe(self, view: PoolsView) -> None: ...
    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int: ...


class Arrivals:
    """Cumulative GPUs submitted to one pool."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.total: list[float] = [0.0]

    def add(self, time: float, gpus: float) -> None:
        self.times.append(time)
        self.total.append(self.total[-1] + gpus)

    def sum_between(self, after: float, until: float) -> float:
        """Return the GPUs submitted in (after, until]."""
        return self.total[bisect_right(self.times, until)] - self.total[bisect_right(self.times, after)]

    def count(self, after: float, until: float) -> int:
        """Return the number of jobs submitted in (after, until]."""
        return bisect_right(self.times, until) - bisect_right(self.times, after)


class Perfect:
    """Exact predictions for windows and classes, from knowledge of all future jobs."""

    def __init__(self, jobs: Iterable[PendingJob]) -> None:
        self._arrivals: dict[str, Arrivals] = {}
        for job in sorted(jobs, key=lambda job: job.submit):
            self._arrivals.setdefault(job.pool, Arrivals()).add(job.submit, job.gpus)

    def observe(self, view: PoolsView) -> None:
        """Do nothing: there is nothing to learn."""

    def new_load(self, pool: str, now: float, window: float) -> float:
        arrivals = self._arrivals.get(pool)
        return arrivals.sum_between(now, now + window) if arrivals else 0.0

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        return self.new_load(pool, now, window) > 0

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return bisect_left(windows, job.duration)


class SlidingMaximum:
    """The conservative estimate of section 5.4.1 from past jobs only; job durations are exact up to the class.

    The new load of a window is the maximum that the pool submitted in any of the last `recent` windows of this length,
    times `coverage`. Jobs are always predicted to arrive (WillJobsArrive = 1). Before a complete window has been
    observed, the estimate is infinite, so that the pool reserves its whole quota.
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
            arrivals.sum_between(now - (k + 1) * window, now - k * window) for k in range(self.recent)
        )

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return bisect_left(windows, job.duration)


class Decomposed:
    """TotalNewLoad of section 5.4.1: the estimate if jobs are predicted to arrive, and 0 otherwise."""

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


class RandomArrivals:
    """WillJobsArrive of the ablation of section 6.3: a random bit per pool, window and tick of length `every`."""

    def __init__(self, seed: int, every: float) -> None:
        self.every = every
        self._rng = np.random.default_rng([seed, 0])
        self._drawn: dict[tuple[str, float], tuple[float, bool]] = {}

    def observe(self, view: PoolsView) -> None:
        """Do nothing: there is nothing to learn."""

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        tick, drawn = now // self.every, self._drawn.get((pool, window))
        if drawn is None or drawn[0] != tick:
            drawn = self._drawn[pool, window] = tick, bool(self._rng.integers(2))
        return drawn[1]


class RandomClass:
    """JobDuration of the ablation of section 6.3: a uniformly random class."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 1])

    def observe(self, view: PoolsView) -> None:
        """Do nothing: there is nothing to learn."""

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return int(self._rng.integers(len(windows) + 1))


def windows_in_slots(slot_minutes: float, minutes: Sequence[float] = WINDOWS_MINUTES) -> tuple[int, ...]:
    """Return windows in minutes as slots, rounded up; by default those of section 5.4.1 (5 min, 1 h, 12 h)."""
    return tuple(sorted({math.ceil(window / slot_minutes) for window in minutes}))
