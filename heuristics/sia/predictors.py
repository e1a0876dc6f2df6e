"""SIA's predictors (sections 5.2 and 5.4) of a pool's new load in each window, and of a job's duration.

Windows are in slots, or in the unit of the clock. Section 5.4.1 splits the load into two predictions: TotalNewLoad is
NewLoadEstimate if WillJobsArrive predicts jobs, and 0 otherwise. `Decomposed` combines these two and JobDuration.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
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
    """Submissions to each pool, and the cumulative GPUs."""

    def __init__(self) -> None:
        self._times: defaultdict[str, list[float]] = defaultdict(list)
        self._total: defaultdict[str, list[float]] = defaultdict(lambda: [0.0])

    def add(self, jobs: Iterable[PendingJob]) -> None:
        """Record jobs, in order of submission."""
        for job in jobs:
            self._times[job.pool].append(job.submit)
            self._total[job.pool].append(self._total[job.pool][-1] + job.gpus)

    def sum_between(self, pool: str, after: float, until: float) -> float:
        """Return the GPUs submitted to `pool` in (after, until]."""
        times, total = self._times[pool], self._total[pool]
        return total[bisect_right(times, until)] - total[bisect_right(times, after)]

    def count(self, pool: str, after: float, until: float) -> int:
        """Return the number of jobs submitted to `pool` in (after, until]."""
        times = self._times[pool]
        return bisect_right(times, until) - bisect_right(times, after)


class Unlearned:
    """A predictor that learns nothing from observations."""

    def observe(self, view: PoolsView) -> None:
        """Do nothing."""


class Perfect(Unlearned):
    """Exact predictions for windows and classes, from knowledge of all future jobs."""

    def __init__(self, jobs: Iterable[PendingJob]) -> None:
        self._arrivals = Arrivals()
        self._arrivals.add(sorted(jobs, key=lambda job: job.submit))

    def new_load(self, pool: str, now: float, window: float) -> float:
        return self._arrivals.sum_between(pool, now, now + window)

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
        self._arrivals = Arrivals()

    def observe(self, view: PoolsView) -> None:
        if self._since is None:
            self._since = view.now
        self._arrivals.add(view.arrived)

    def new_load(self, pool: str, now: float, window: float) -> float:
        if self._since is None or now - self._since < window:
            return math.inf
        return self.coverage * max(
            self._arrivals.sum_between(pool, now - (k + 1) * window, now - k * window) for k in range(self.recent)
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


class RandomArrivals(Unlearned):
    """WillJobsArrive of the ablation of section 6.3: a random bit per pool, window and tick of length `every`."""

    def __init__(self, seed: int, every: float) -> None:
        self.every = every
        self._rng = np.random.default_rng([seed, 0])
        self._drawn: dict[tuple[str, float], tuple[float, bool]] = {}

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        tick, drawn = now // self.every, self._drawn.get((pool, window))
        if drawn is None or drawn[0] != tick:
            drawn = self._drawn[pool, window] = tick, bool(self._rng.integers(2))
        return drawn[1]


class RandomClass(Unlearned):
    """JobDuration of the ablation of section 6.3: a uniformly random class."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 1])

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return int(self._rng.integers(len(windows) + 1))


def windows_in_slots(slot_minutes: float, minutes: Sequence[float] = WINDOWS_MINUTES) -> tuple[int, ...]:
    """Return windows in minutes as slots, rounded up; by default those of section 5.4.1 (5 min, 1 h, 12 h)."""
    return tuple(sorted({math.ceil(window / slot_minutes) for window in minutes}))
