"""How good the predictions of section 5.4 are on a trace, as a task of the harness: precision, recall and F-score."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from experiments.harness.task import Digests, ReportFile, Whole, WholeTask
from experiments.sia.comparison import jobs_of
from heuristics.sia.learned import GROUPS, ArrivalModels, Examples, FinishedAlike, examples, fit
from heuristics.sia.predictors import WINDOWS_MINUTES
from instances import Options
from instances.arrays import FloatArray
from instances.result import versions
from instances.sia.traces import TAG, helios_demand, infer_jobs

LEAST_JOBS = 100
"""Pools of a trace with fewer jobs in all are left out: they have nothing to learn or to test."""
LAST_QUANTUM = list(GROUPS).index("recent arrivals") + sum(list(GROUPS.values())[:1]) - 1
BY_DURATION = ("all", "<= 5", "5 to 60", "60 to 720", "> 720")
QUANTILES: tuple[float | None, ...] = (None, 0.5, 0.9)


Row = tuple[float, str, str, float, float, float, float, int]
"""Quantum, predictor, pools by mean duration, precision, recall, F-score, share of positives, number of examples."""


class Accurate(Whole):
    """How good predictions are, and `durations`, the shares of right and of too short classes by predictor."""

    rows: list[Row] = Field(default_factory=list)
    durations: dict[str, dict[str, float]] = Field(default_factory=dict)

    def row(self, quantum: float, predictor: str, pools: str = "all") -> tuple[float, float, float]:
        """Precision, recall and F-score."""
        found = next(r for r in self.rows if r[:3] == (quantum, predictor, pools))
        return found[3], found[4], found[5]


@dataclass(frozen=True)
class Accuracy(WholeTask[Accurate]):
    """Models trained on some days of a trace and tested on others, a prediction every `every` minutes in each pool.

    `demand`: the trace is the demand of pools, from which jobs are inferred; their durations are not predicted.
    """

    outcome_type = Accurate

    trace: Path
    train_days: tuple[float, float]
    test_days: tuple[float, float]
    every: float = 5.0
    options: Options = Options()
    quanta: tuple[float, ...] = WINDOWS_MINUTES
    demand: bool = False

    def label(self) -> tuple[str, str]:
        days = "-".join(f"{day:g}" for day in (*self.train_days, *self.test_days))
        return f"{'demand' if self.demand else 'predictions'}-{days}", "accuracy"

    def work(self, report: ReportFile) -> Accurate:
        jobs = infer_jobs(helios_demand(self.trace)) if self.demand else jobs_of(self.trace)
        many = jobs["pool"].value_counts()
        jobs = jobs[jobs["pool"].isin(many[many >= LEAST_JOBS].index)]
        past = jobs[jobs["submit_s"] < self.train_days[1] * 86_400.0]
        known = examples(past, self.quanta, self.train_days, every=self.every)
        new = examples(jobs, self.quanta, self.test_days, every=self.every)
        of_pools, rows = _group_by_duration(jobs), list[Row]()
        for number, name in enumerate(GROUPS, 1):
            rows += _rows(fit(known, groups=number), new, of_pools, name)
        for k, one in new.items():
            rows.append(_row(k, "persistence", "all", one.arrived, (one.features[:, LAST_QUANTUM] > 0).astype(float)))
            rows.append(_row(k, "always one", "all", one.arrived, np.ones_like(one.arrived)))
        durations = {} if self.demand else class_accuracy(jobs, self.test_days)
        return self.build_outcome("finished", rows=rows, durations=durations)

    def content(self, digests: Digests) -> dict[str, Any]:
        days = [*self.train_days, *self.test_days]
        asked = {"days": days, "every": self.every, "quanta": self.quanta, "demand": self.demand}
        return {"trace": digests.file(self.trace), **asked, "versions": versions()}


def scores(true: FloatArray, predicted: FloatArray) -> tuple[float, float, float]:
    """Return precision, recall and F-score; 0 if no prediction is right."""
    right = float((true * predicted).sum())
    said, there = float(predicted.sum()), float(true.sum())
    return right / max(said, 1.0), right / max(there, 1.0), 2 * right / max(said + there, 1.0)


def class_accuracy(jobs: pd.DataFrame, days: tuple[float, float]) -> dict[str, dict[str, float]]:
    """Return shares of the jobs of `days` whose class is predicted right and too short, from jobs that ended before.

    If jobs have tags, the shares are computed with and without them.
    """
    first, last = (day * 86_400.0 for day in days)
    events = sorted(
        [(t, 1, i) for i, t in enumerate(jobs["submit_s"])]
        + [(t + d, 0, i) for i, (t, d) in enumerate(zip(jobs["submit_s"], jobs["duration_s"], strict=True))]
    )
    pools, widths, minutes = jobs["pool"].tolist(), jobs["gpus"].tolist(), (jobs["duration_s"] / 60).tolist()
    known = [None if tag != tag else tag for tag in jobs[TAG]] if TAG in jobs else None
    found: dict[str, dict[str, float]] = {}
    for quantile, tags in product(QUANTILES, [None] if known is None else [None, known]):
        predictor = FinishedAlike(quantile)
        right = short = count = 0
        for time, submitted, i in events:
            tag = None if tags is None else tags[i]
            if not submitted:
                predictor.learn(pools[i], widths[i], minutes[i], tag)
            elif first <= time < last:
                true = bisect_left(WINDOWS_MINUTES, minutes[i])
                said = predictor.predict(pools[i], widths[i], WINDOWS_MINUTES, tag)
                right, short, count = right + (said == true), short + (said < true), count + 1
        name = ("mode" if quantile is None else f"quantile {quantile:g}") + (" of the tag" if tags else "")
        found[name] = {"right": right / max(count, 1), "too short": short / max(count, 1)}
    return found


def _group_by_duration(jobs: pd.DataFrame) -> dict[str, str]:
    """Return the group of Table 23 of each pool, by the mean duration of its jobs."""
    means = (jobs["duration_s"] / 60).groupby(jobs["pool"]).mean()
    return {str(pool): BY_DURATION[1 + bisect_left(WINDOWS_MINUTES, float(mean))] for pool, mean in means.items()}


def _rows(models: ArrivalModels, new: dict[float, Examples], of_pools: dict[str, str], name: str) -> list[Row]:
    rows = []
    for k, one in new.items():
        predicted = models.predict(k, one.features)
        rows.append(_row(k, name, "all", one.arrived, predicted))
        kinds = np.array([of_pools[pool] for pool in one.pools])
        for group in BY_DURATION[1:]:
            mine = kinds == group
            if mine.any():
                rows.append(_row(k, name, group, one.arrived[mine], predicted[mine]))
    return rows


def _row(quantum: float, name: str, group: str, true: FloatArray, predicted: FloatArray) -> Row:
    return (quantum, name, group, *scores(true, predicted), float(true.mean()), len(true))


def format_scores(values: Sequence[float]) -> str:
    """Precision, recall and F-score in the paper's form."""
    return " / ".join(f"{value:.2f}".lstrip("0") for value in values)
