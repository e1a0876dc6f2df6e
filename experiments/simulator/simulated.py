"""What is left of a simulation: tables of jobs, of the timeline and of decisions, and how it ended."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
from pydantic import Field

from instances.fields import Frozen

Columns = dict[str, list[Any]]


class Simulated(Frozen):
    """One policy on one workload. Times are in the unit of the world's clock; `cpu_s` are CPU seconds of it all.

    `totals`: what the world is about, by name, and what a policy with `totals()` tells of itself. `lives`: one row a
    rented instance, of a world that has `lives_table()`. `decisions`: one row a decision of a method that re-plans,
    `fallback` says why another decided in its place.
    """

    workload: str
    problem: str
    policy: str
    status: Literal["finished", "error"]
    reason: str | None = None
    jobs: Columns = Field(default_factory=dict)
    timeline: Columns = Field(default_factory=dict)
    lives: Columns = Field(default_factory=dict)
    decisions: Columns = Field(default_factory=dict)
    totals: dict[str, Any] = Field(default_factory=dict)
    cpu_s: float | None = None
    options: dict[str, Any] = Field(default_factory=dict)
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
