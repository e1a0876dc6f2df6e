"""WillJobsArrive and JobDuration learned from past jobs (section 5.4): gradient boosting, and similar finished jobs.

One model per quantum serves all pools, so a new pool needs no training. LightGBM is an optional dependency, `pip
install gapwise[learn]`.

The features of SIA's Table 9, without knowledge of the future, predict whether a pool will submit jobs. Two features of
the table extend beyond the present if the period is shorter than the quantum (an hour back, 12 hours on); they are cut
off at the present. The longest recent windows (100 quanta of 12 hours are 50 days) exceed most histories. So counts of
recent windows cover the observed part, scaled to the length of a quantum.
"""

from __future__ import annotations

import importlib
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd

from heuristics.sia.online import sia
from heuristics.sia.predictors import (
    RECENT,
    WINDOWS_MINUTES,
    Arrivals,
    Decomposed,
    JobDuration,
    SlidingMaximum,
    windows_in_slots,
)
from heuristics.sia.sia_scheduler import Sia
from instances import InputError
from instances.arrays import FloatArray
from instances.sia import SiaOracle
from instances.sia.online import PendingJob, PoolsView

PERIODS_MINUTES = (60.0, 1440.0)
PERIODIC = tuple((x, p) for p in PERIODS_MINUTES for x in (1, 2, 3))
RECENT_QUANTA = (1, 10, 100)
GROUPS = {"periodic": 6, "recent arrivals": 3, "recent completions": 3, "future completions": 2}
"""The rows of Table 9, in the order of the features, with their numbers of features."""
TICK_MINUTES = 5.0


@dataclass
class PoolHistory:
    """The observed history of one pool since `since`: submissions, completions, and expected ends of running jobs.

    Times are in minutes; all lists are sorted.
    """

    since: float
    arrivals: list[float] = field(default_factory=list)
    completions: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    def begin(self, end: float) -> None:
        """Record the start of a job that is expected to end by `end`."""
        insort(self.ends, end)

    def complete(self, now: float, end: float) -> None:
        """Record the completion of a job that was expected to end by `end`."""
        del self.ends[bisect_left(self.ends, end)]
        self.completions.append(now)

    def features(self, now: float, quantum: float) -> list[float]:
        """Return the features at `now` of the prediction for (now, now + quantum]."""
        arrived = self.arrivals
        values: list[float] = []
        for x, period in PERIODIC:
            begin = now - x * period
            is_observed = begin >= self.since
            values.append(_count_between(arrived, begin, min(begin + quantum, now)) if is_observed else nan)
        for times in (arrived, self.completions):
            for x in RECENT_QUANTA:
                begin = max(now - x * quantum, self.since)
                watched = now - begin
                values.append(_count_between(times, begin, now) * quantum / watched if watched > 0 else nan)
        soon = bisect_right(self.ends, now + quantum)
        return [*values, float(soon), float(len(self.ends) - soon)]


def _count_between(times: Sequence[float], after: float, until: float) -> float:
    """Return how many of the sorted `times` are in (after, until]."""
    return float(bisect_right(times, until) - bisect_right(times, after))


def class_end(start: float, duration_class: int, quanta: Sequence[float]) -> float:
    """Return the latest end of a job of a duration class that starts at `start`."""
    return start + quanta[duration_class] if duration_class < len(quanta) else inf


@dataclass(frozen=True)
class Examples:
    """Training examples.

    - `features` (n, 14): rows of features.
    - `arrived` (n,): whether jobs arrived within the quantum.
    - `pools`, `minutes` (n,): pool and time of each row.
    """

    features: FloatArray
    arrived: FloatArray
    pools: list[str]
    minutes: FloatArray


def examples(
    jobs: pd.DataFrame, quanta: Sequence[float], days: tuple[float, float], *, every: float = TICK_MINUTES
) -> dict[float, Examples]:
    """Return examples of each quantum at every tick of `days`, for every pool of a trace, from its past only.

    A trace has no start times, so jobs are assumed to start at submission. A tick whose quantum extends beyond the end
    of the days has no label, and is skipped.
    """
    first, last = (day * 1440.0 for day in days)
    since = float(jobs["submit_s"].min()) / 60.0
    rows: dict[float, list[list[float]]] = {k: [] for k in quanta}
    labels: dict[float, list[float]] = {k: [] for k in quanta}
    pools: dict[float, list[str]] = {k: [] for k in quanta}
    times: dict[float, list[float]] = {k: [] for k in quanta}
    for pool, pool_jobs in jobs.groupby("pool"):
        submit = (pool_jobs["submit_s"] / 60.0).tolist()
        length = (pool_jobs["duration_s"] / 60.0).tolist()
        events = []
        for t, d in zip(submit, length, strict=True):
            end = class_end(t, bisect_left(quanta, d), quanta)
            events.append((t, 1, end))
            if d > 0:
                events.append((t + d, 0, end))
        events.sort()
        history, next_event = PoolHistory(since), 0
        for now in np.arange(first, last, every).tolist():
            while next_event < len(events) and events[next_event][0] <= now:
                time, starts, end = events[next_event]
                if starts:
                    history.arrivals.append(time)
                    history.begin(end)
                else:
                    history.complete(time, end)
                next_event += 1
            for k in quanta:
                if now + k <= last:
                    rows[k].append(history.features(now, k))
                    labels[k].append(float(_count_between(submit, now, now + k) > 0))
                    pools[k].append(str(pool))
                    times[k].append(now)
    return {
        k: Examples(np.array(rows[k], dtype=float), np.array(labels[k]), pools[k], np.array(times[k])) for k in quanta
    }


@dataclass(frozen=True)
class BoostingParameters:
    """Constants of the gradient boosting.

    - `rounds`, `learning_rate`, `leaves`, `least_rows`: number of trees, learning rate, leaves per tree, minimum rows
      per leaf.
    - `balanced`: whether the rarer label gets a higher weight, so that both have equal weight ("for skewed datasets",
      footnote 3).
    - `threshold`: probability from which on jobs are predicted to arrive.
    - `seed`: seed of the training.
    """

    rounds: int = 60
    learning_rate: float = 0.08
    leaves: int = 31
    least_rows: int = 100
    balanced: bool = True
    threshold: float = 0.5
    seed: int = 0


DEFAULTS = BoostingParameters()
TRAINING_DAYS = 21.0
"""Three weeks, as in section 5.4.1."""


@dataclass(frozen=True)
class ArrivalModels:
    """A model for each quantum of `quanta`, in minutes, over the first `width` features."""

    quanta: tuple[float, ...]
    boosters: tuple[Any, ...]
    width: int
    parameters: BoostingParameters

    def probability(self, quantum: float, features: FloatArray) -> FloatArray:
        """Return the probability (n,) that jobs arrive within the quantum, for rows of features (n, 14)."""
        booster = self.boosters[self.quanta.index(quantum)]
        found: FloatArray = booster.predict(features[:, : self.width], num_threads=1)
        return found

    def predict(self, quantum: float, features: FloatArray) -> FloatArray:
        """Return 1 for rows in which jobs are predicted to arrive, and 0 otherwise (n,)."""
        likely: FloatArray = (self.probability(quantum, features) >= self.parameters.threshold).astype(float)
        return likely


def train(
    jobs: pd.DataFrame,
    days: tuple[float, float],
    quanta: Sequence[float] = WINDOWS_MINUTES,
    parameters: BoostingParameters = DEFAULTS,
) -> ArrivalModels:
    """Return models from the jobs of a trace (columns `pool`, `submit_s`, `duration_s`) submitted within `days`.

    Jobs after the last day are not used. Raises InputError if LightGBM is not installed.
    """
    past = jobs[jobs["submit_s"] < days[1] * 86_400.0]
    return fit(examples(past, quanta, days), parameters)


def fit(
    known: Mapping[float, Examples], parameters: BoostingParameters = DEFAULTS, groups: int = len(GROUPS)
) -> ArrivalModels:
    """Return models from examples of each quantum, over the first `groups` rows of Table 9."""
    width = sum(list(GROUPS.values())[:groups])
    boosters = tuple(_booster(one.features[:, :width], one.arrived, parameters) for one in known.values())
    return ArrivalModels(tuple(known), boosters, width, parameters)


def _booster(features: FloatArray, arrived: FloatArray, parameters: BoostingParameters) -> Any:
    try:
        lightgbm = importlib.import_module("lightgbm")
    except ImportError:
        raise InputError("learned predictions need LightGBM: pip install gapwise[learn]") from None
    positive = float(arrived.sum())
    both = 0 < positive < len(arrived)  # LightGBM rejects a weight of 0
    weight = (len(arrived) - positive) / positive if parameters.balanced and both else 1.0
    settings = {
        "objective": "binary",
        "learning_rate": parameters.learning_rate,
        "num_leaves": parameters.leaves,
        "min_data_in_leaf": parameters.least_rows,
        "scale_pos_weight": weight,
        "seed": parameters.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    return lightgbm.train(settings, lightgbm.Dataset(features, arrived), parameters.rounds)


class LearnedArrivals:
    """WillJobsArrive by `models`: one prediction every 5 minutes for all pools, from the scheduler's observations.

    - `durations`: predicts the classes of running jobs, which give their expected ends.
    - `slot_minutes`: minutes per unit of the clock.
    """

    def __init__(self, models: ArrivalModels, durations: JobDuration, slot_minutes: float) -> None:
        self.models, self.durations, self.unit = models, durations, slot_minutes
        self._since: float | None = None
        self._pools: dict[str, PoolHistory] = {}
        self._ends: dict[str, float] = {}
        self._tick: dict[float, tuple[float, dict[str, bool]]] = {}
        self._windows: dict[float, float] = dict(
            zip(windows_in_slots(slot_minutes, models.quanta), models.quanta, strict=True)
        )

    def observe(self, view: PoolsView) -> None:
        now = view.now * self.unit
        if self._since is None:
            self._since = now
            self._pools = {pool: PoolHistory(now) for pool in view.quota}
        for job in view.arrived:
            self._pools[job.pool].arrivals.append(job.submit * self.unit)
        for job in view.finished:
            if job.id not in self._ends:  # it started and ended since the last call
                self._note_start(job, now - job.duration * self.unit)
            self._pools[job.pool].complete(now, self._ends.pop(job.id))
        for name in reversed(tuple(view.running)):  # jobs that started since the last call are last
            if name in self._ends:
                break
            self._note_start(view.running[name].job, view.running[name].start * self.unit)

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        tick, cached = now * self.unit // TICK_MINUTES, self._tick.get(window)
        if cached is None or cached[0] != tick:
            quantum = self._windows[window]
            rows = [history.features(now * self.unit, quantum) for history in self._pools.values()]
            likely = self.models.predict(quantum, np.array(rows))
            cached = self._tick[window] = tick, dict(zip(self._pools, (likely > 0).tolist(), strict=True))
        return cached[1][pool]

    def _note_start(self, job: PendingJob, start: float) -> None:
        quanta = self.models.quanta
        kind = self.durations.duration_class(job, tuple(self._windows))
        self._ends[job.id] = class_end(start, kind, quanta)
        self._pools[job.pool].begin(self._ends[job.id])


class LearnsFirst:
    """WillJobsArrive that observes the first `days` days and then learns from them.

    Until then, jobs are always predicted to arrive. The scheduler knows the jobs' duration classes. No data after these
    days are used.
    """

    def __init__(
        self,
        durations: JobDuration,
        slot_minutes: float,
        days: float = TRAINING_DAYS,
        parameters: BoostingParameters = DEFAULTS,
    ) -> None:
        self.days, self.unit = days, slot_minutes
        untrained = ArrivalModels(WINDOWS_MINUTES, (), 0, parameters)
        self.learned = LearnedArrivals(untrained, durations, slot_minutes)
        self._since: float | None = None
        self._seen: list[tuple[str, float, float]] = []

    def observe(self, view: PoolsView) -> None:
        self.learned.observe(view)
        today = view.now * self.unit / 1440.0
        self._since = today if self._since is None else self._since
        if self.is_trained:
            return
        if today - self._since >= self.days:
            jobs = pd.DataFrame(self._seen, columns=["pool", "submit_s", "duration_s"])
            days = self._since, self._since + self.days
            self.learned.models = train(jobs, days, WINDOWS_MINUTES, self.learned.models.parameters)
            self._seen.clear()
            return
        minute = 60.0 * self.unit
        self._seen += [(job.pool, job.submit * minute, job.duration * minute) for job in view.arrived]

    @property
    def is_trained(self) -> bool:
        """Return whether the models are trained."""
        return bool(self.learned.models.boosters)

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        return not self.is_trained or self.learned.will_arrive(pool, now, window)


class Persistence:
    """WillJobsArrive of a baseline: jobs arrive within a window if some arrived within the last one of its length."""

    def __init__(self) -> None:
        self._arrivals = Arrivals()

    def observe(self, view: PoolsView) -> None:
        self._arrivals.add(view.arrived)

    def will_arrive(self, pool: str, now: float, window: float) -> bool:
        return self._arrivals.count(pool, now - window, now) > 0


class FinishedAlike:
    """JobDuration from the last `last` finished jobs of the same pool and width, otherwise of the pool (section 5.4.2).

    If jobs have a tag, the experiment to which they belong, those with the same tag come first.

    - `quantile`: the class that this fraction of them did not exceed; `None` for the most frequent class, in a tie the
      shorter one.
    - `least`: minimum number of finished jobs. With fewer, the prediction is the longest class.
    """

    def __init__(self, quantile: float | None = 0.9, *, last: int = 50, least: int = 5) -> None:
        self.quantile, self.last, self.least = quantile, last, least
        self._seen: dict[Any, deque[float]] = {}

    def observe(self, view: PoolsView) -> None:
        for job in view.finished:
            self.learn(job.pool, job.gpus, job.duration)

    def learn(self, pool: str, gpus: int, duration: float, tag: str | None = None) -> None:
        """Record a finished job."""
        for key in _similar_keys(pool, gpus, tag):
            self._seen.setdefault(key, deque(maxlen=self.last)).append(duration)

    def duration_class(self, job: PendingJob, windows: Sequence[float]) -> int:
        return self.predict(job.pool, job.gpus, windows)

    def predict(self, pool: str, gpus: int, windows: Sequence[float], tag: str | None = None) -> int:
        """Return the class of a job of a pool, a width and a tag."""
        for key in _similar_keys(pool, gpus, tag):
            seen = self._seen.get(key, ())
            if len(seen) >= self.least:
                classes = sorted(bisect_left(windows, duration) for duration in seen)
                if self.quantile is None:
                    return max(dict.fromkeys(classes), key=classes.count)
                return classes[min(len(classes) - 1, int(self.quantile * len(classes)))]
        return len(windows)


def _similar_keys(pool: str, gpus: int, tag: str | None) -> list[Any]:
    """Return the keys of similar jobs, most similar first."""
    return [*([] if tag is None else [("tag", tag)]), (pool, gpus), pool]


def sia_learned(
    data: SiaOracle, models: ArrivalModels, durations: JobDuration | None = None, *, recent: int = RECENT
) -> Sia:
    """Return SIA with learned arrivals over the models' quanta.

    - `durations`: predictor of duration classes; exact classes if not given.
    """
    classes = SlidingMaximum() if durations is None else durations
    arrivals = LearnedArrivals(models, classes, data.slot_minutes)
    return sia(data, Decomposed(arrivals, classes, SlidingMaximum(recent)), models.quanta)


def sia_learns_first(data: SiaOracle, days: float = TRAINING_DAYS) -> Sia:
    """Return SIA that learns the arrivals from a workload's first days, with exact duration classes."""
    classes = SlidingMaximum()
    return sia(data, Decomposed(LearnsFirst(classes, data.slot_minutes, days), classes, SlidingMaximum()))
