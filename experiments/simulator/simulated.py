"""What is left of a simulation: tables of jobs, of the timeline and of decisions, and how it ended."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pydantic import Field

from experiments.harness.whole import Whole

Columns = dict[str, list[Any]]


class Simulated(Whole):
    """One policy on one workload. Times are in the unit of the world's clock; `cpu_s` are CPU seconds of it all.

    `totals`: what the world is about, by name, and what a policy with `totals()` tells of itself. `lives`: one row a
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
        """One row a job; `NaN` for what has not happened."""
        return pd.DataFrame(self.jobs)

    def timeline_table(self) -> pd.DataFrame:
        """One row a moment."""
        return pd.DataFrame(self.timeline)

    @property
    def fallbacks(self) -> int:
        """Decisions that a fallback made."""
        return sum(why is not None for why in self.decisions.get("fallback", ()))

    def line(self) -> str:
        """One simulation in one line."""
        seconds = "" if self.cpu_s is None else f" {self.cpu_s:.2f} s"
        return f"{self.workload} {self.policy} {self.status}{seconds}" + (f" ({self.reason})" if self.reason else "")
