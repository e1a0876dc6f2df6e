"""The features of SIA's Table 9, from which it is predicted whether a pool will submit jobs, without the future.

Two features of the table reach past the present where the period is shorter than the quantum (an hour back, 12 hours
on): they are cut off there. The longest recent windows (100 quanta of 12 hours are 50 days) are longer than most
histories: counts of recent windows are of what has been watched, for a quantum's length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, nan

import numpy as np
import pandas as pd

from instances.arrays import FloatArray

PERIODS_MINUTES = (60.0, 1440.0)
PERIODIC = tuple((x, p) for p in PERIODS_MINUTES for x in (1, 2, 3))
RECENT_QUANTA = (1, 10, 100)
GROUPS = {"periodic": 6, "recent arrivals": 3, "recent completions": 3, "future completions": 2}
"""The rows of Table 9, in the order of the features, with how many features each has."""
TICK_MINUTES = 5.0


@dataclass
class PoolHistory:
    """What a scheduler has seen of one pool since `since`: submissions, completions, and expected ends of running jobs.

    Times are in minutes; all lists are sorted.
    """

    since: float
    arrivals: list[float] = field(default_factory=list)
    completions: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    def begin(self, end: float) -> None:
        """A job has started that is expected to end by `end`."""
        insort(self.ends, end)

    def complete(self, now: float, end: float) -> None:
        """A job has ended that was expected to by `end`."""
        del self.ends[bisect_left(self.ends, end)]
        self.completions.append(now)

    def features(self, now: float, quantum: float) -> list[float]:
        """The features at `now` of the prediction for (now, now + quantum]."""
        arrived = self.arrivals
        found: list[float] = []
        for x, period in PERIODIC:
            begin = now - x * period
            known = begin >= self.since
            found.append(_between(arrived, begin, min(begin + quantum, now)) if known else nan)
        for times in (arrived, self.completions):
            for x in RECENT_QUANTA:
                begin = max(now - x * quantum, self.since)
                watched = now - begin
                found.append(_between(times, begin, now) * quantum / watched if watched > 0 else nan)
        soon = bisect_right(self.ends, now + quantum)
        return [*found, float(soon), float(len(self.ends) - soon)]


def _between(times: Sequence[float], after: float, until: float) -> float:
    """How many of the sorted `times` are in (after, until]."""
    return float(bisect_right(times, until) - bisect_right(times, after))


def class_end(start: float, duration_class: int, quanta: Sequence[float]) -> float:
    """When a job of a duration class that starts at `start` has ended at the latest."""
    return start + quanta[duration_class] if duration_class < len(quanta) else inf


@dataclass(frozen=True)
class Examples:
    """Rows of features (n, 14), whether jobs arrived within the quantum (n,), and the pool of each row."""

    features: FloatArray
    arrived: FloatArray
    pools: list[str]
    minutes: FloatArray


def examples(
    jobs: pd.DataFrame, quanta: Sequence[float], days: tuple[float, float], *, every: float = TICK_MINUTES
) -> dict[float, Examples]:
    """Examples of each quantum at every tick of `days`, of every pool of a trace, from the past of the trace alone.

    A trace has no starts: jobs are taken to start when they are submitted. A tick whose quantum reaches past the end of
    the days has no label, and is left out.
    """
    first, last = (day * 1440.0 for day in days)
    since = float(jobs["submit_s"].min()) / 60.0
    rows: dict[float, list[list[float]]] = {k: [] for k in quanta}
    labels: dict[float, list[float]] = {k: [] for k in quanta}
    whose: dict[float, list[str]] = {k: [] for k in quanta}
    when: dict[float, list[float]] = {k: [] for k in quanta}
    for pool, mine in jobs.groupby("pool"):
        submit = (mine["submit_s"] / 60.0).tolist()
        length = (mine["duration_s"] / 60.0).tolist()
        events = sorted(
            [(t, 1, class_end(t, bisect_left(quanta, d), quanta)) for t, d in zip(submit, length, strict=True)]
            + [
                (t + d, 0, class_end(t, bisect_left(quanta, d), quanta))
                for t, d in zip(submit, length, strict=True)
                if d > 0
            ]
        )
        history, at = PoolHistory(since), 0
        for now in np.arange(first, last, every).tolist():
            while at < len(events) and events[at][0] <= now:
                time, starts, end = events[at]
                if starts:
                    history.arrivals.append(time)
                    history.begin(end)
                else:
                    history.complete(time, end)
                at += 1
            for k in quanta:
                if now + k <= last:
                    rows[k].append(history.features(now, k))
                    labels[k].append(float(_between(submit, now, now + k) > 0))
                    whose[k].append(str(pool))
                    when[k].append(now)
    return {
        k: Examples(np.array(rows[k], dtype=float), np.array(labels[k]), whose[k], np.array(when[k])) for k in quanta
    }
