"""The outcome of a simulation: its tables, its status, and its measures, also relative to a baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from experiments.harness.task import Whole

Columns = dict[str, list[Any]]


class Simulated(Whole):
    """One policy on one workload. Times are in the unit of the world's clock; `cpu_s` are CPU seconds of it all.

    `totals`: what the world is about, by name, and what a policy with `totals()` says of itself. `lives`: one row a
    rented instance, of a world that has `lives_table()`. `decisions`: one row a decision of a method that re-plans,
    `fallback` says why another decided in its place.
    """

    problem: str
    policy: str
    jobs: Columns = Field(default_factory=dict)
    timeline: Columns = Field(default_factory=dict)
    lives: Columns = Field(default_factory=dict)
    decisions: Columns = Field(default_factory=dict)
    totals: dict[str, Any] = Field(default_factory=dict)
    cpu_s: float | None = None
    versions: dict[str, str] = Field(default_factory=dict)

    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job; `NaN` for events that have not happened."""
        return pd.DataFrame(self.jobs)

    def timeline_table(self) -> pd.DataFrame:
        """Return one row per recorded time."""
        return pd.DataFrame(self.timeline)

    @property
    def fallbacks(self) -> int:
        """Return the number of decisions by a fallback."""
        return sum(why is not None for why in self.decisions.get("fallback", ()))

    def line(self) -> str:
        """Describe the simulation in one line."""
        seconds = "" if self.cpu_s is None else f" {self.cpu_s:.2f} s"
        return f"{self.workload} {self.policy} {self.status}{seconds}" + (f" ({self.reason})" if self.reason else "")


QUANTILES = (5, 90, 95)
"""Percentiles of the speed-ups of jobs that are reported."""


def summary(jobs: pd.DataFrame, baseline: pd.DataFrame | None = None, *, warm_up: float = 0.0) -> dict[str, float]:
    """Summarise the jobs submitted from `warm_up` on; with `baseline` (FCFS) also speed-ups and slow-downs.

    Speed-up of a job: its JCT in the baseline over its JCT (section 6.1). Slow-down: time by which it ends later.
    """
    jobs = jobs[(jobs["submit"] >= warm_up) & jobs["jct"].notna()]
    if jobs.empty:
        return {"jobs": 0}
    found = {
        "jobs": len(jobs),
        "mean_delay": float(jobs["delay"].mean()),
        "total_delay": float(jobs["delay"].sum()),
        "mean_jct": float(jobs["jct"].mean()),
        "p95_jct": float(jobs["jct"].quantile(0.95)),
    }
    if baseline is not None:
        both = jobs.merge(baseline[["job", "jct", "end"]], on="job", suffixes=("", "_base"))
        ratio = both["jct_base"] / both["jct"]
        late = (both["end"] - both["end_base"]).clip(lower=0)
        late = late.where(late > 1e-9 * both["end"].abs().clip(lower=1), 0.0)
        found |= {
            "jct_speedup": float(both["jct_base"].mean() / both["jct"].mean()),
            "geometric_speedup": float(np.exp(np.log(ratio).mean())),
            **{f"speedup_p{share}": float(ratio.quantile(share / 100)) for share in QUANTILES},
            "slowed": int((late > 0).sum()),
            "slowed_share": float((late > 0).mean()),
            "total_slowdown": float(late.sum()),
            "worst_slowdown": float(late.max()),
        }
    return found


def summarise_by_pool(
    jobs: pd.DataFrame, baseline: pd.DataFrame | None = None, *, warm_up: float = 0.0
) -> pd.DataFrame:
    """Return the figures of `summary` for the jobs of each pool, one row per pool, if the jobs have pools."""
    rows = []
    for pool, mine in jobs.groupby("pool"):
        found = summary(mine, baseline, warm_up=warm_up)
        if found["jobs"]:
            rows.append({"pool": pool, **found})
    return pd.DataFrame(rows)
