"""Policies of Eva's cloud on workloads of several settings, and what is read from their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from experiments.harness.experiment import Context
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from instances import Instance
from instances.eva import trace_cloud

HOUR = 3600.0
FULL_TRACE = "eva/trace_pai_full.csv"
DAYS_30_TO_60 = (2_592_000, 5_184_000)  # seconds from which the artifact takes its tasks an instance
AS_ARTIFACT: Mapping[str, Any] = {"slowdown": "artifact-generator", "hash_order": 0}
"""Interference as the artifact's generator writes it: what the authors' own simulations must have had."""
QUICK_JOBS = 60  # of a trace, for a look
Measure = Callable[[Simulated], float]
Settings = Mapping[str, Sequence[Instance]]
"""The workloads of each setting, by its label: several where they differ by their seed alone."""


@cache
def of_trace(path: Path, limit: int | None, **options: Any) -> Instance:
    """The jobs of a trace, read once."""
    said = "-".join(f"{key}-{value}" for key, value in sorted(options.items()))
    return trace_cloud(
        path, limit=limit, name=f"{path.stem}-{limit or 'all'}" + (f"-{said}" if said else ""), **options
    )


def sample(context: Context, jobs: int | None, **options: Any) -> Instance:
    """The first `jobs` of Eva's full trace, all without a number; few for a look."""
    return of_trace(context.trace(FULL_TRACE), QUICK_JOBS if context.quick else jobs, **options)


@dataclass(frozen=True)
class Grid:
    """Every policy on every workload of every setting; the first policy is what the others are compared with."""

    settings: Callable[[Context], Settings]
    policies: tuple[str, ...]

    def tasks(self, context: Context) -> list[Simulation]:
        """One run a setting, workload and policy."""
        return [
            Simulation(workload, policy, context.options)
            for workloads in self.settings(context).values()
            for workload in workloads
            for policy in self.policies
        ]

    def runs(self, context: Context, outcomes: Sequence[Simulated]) -> Runs:
        """The outcomes of the tasks by setting and policy."""
        found: dict[tuple[str, str], list[Simulated]] = {}
        each = iter(outcomes)
        settings = self.settings(context)
        for label, workloads in settings.items():
            for _ in workloads:
                for policy in self.policies:
                    found.setdefault((label, policy), []).append(next(each))
        return Runs(tuple(settings), self.policies, found)


@dataclass(frozen=True)
class Runs:
    """Runs by setting and policy, in the order of the seeds."""

    settings: tuple[str, ...]
    policies: tuple[str, ...]
    found: Mapping[tuple[str, str], Sequence[Simulated]]

    def each(self, setting: str, policy: str, measure: Measure) -> list[float]:
        """A measure of every seed."""
        return [measure(run) for run in self.found[setting, policy]]

    def mean(self, setting: str, policy: str, measure: Measure) -> float:
        """A measure, over all seeds."""
        return fmean(self.each(setting, policy, measure))

    def shares(self, setting: str, policy: str, of: str | None = None) -> list[float]:
        """The bill of every seed as a share of another policy's, by default the first's."""
        bases = self.each(setting, of or self.policies[0], bill)
        return [own / base for own, base in zip(self.each(setting, policy, bill), bases, strict=True)]

    def share(self, setting: str, policy: str, of: str | None = None) -> float:
        """The bill as a share of another policy's, mean over all seeds."""
        return fmean(self.shares(setting, policy, of))

    def spread(self, setting: str, policy: str) -> str:
        """How far the seeds are apart, for a note."""
        shares = self.shares(setting, policy)
        return f"{len(shares)} seeds, standard deviation {stdev(shares):.1%}" if len(shares) > 1 else "one run"

    def line(self, policy: str, measure: Measure) -> list[float]:
        """A measure over all settings."""
        return [self.mean(setting, policy, measure) for setting in self.settings]

    def shares_line(self, policy: str, of: str | None = None) -> list[float]:
        """The bill as a share of another policy's, over all settings."""
        return [self.share(setting, policy, of) for setting in self.settings]


def bill(run: Simulated) -> float:
    """USD."""
    return float(run.totals["cost_usd"])


def jct_hours(run: Simulated) -> float:
    """Mean completion time of a job, hours."""
    return fmean(run.jobs["jct"]) / HOUR


def idle_hours(run: Simulated) -> float:
    """Mean time that a job is there without its tasks launched, hours."""
    return fmean(run.jobs["delay"]) / HOUR


def throughput(run: Simulated) -> float:
    """Mean of the jobs' work over the time in which they made progress."""
    return float(run.totals["mean_throughput"])


def tasks_an_instance(run: Simulated) -> float:
    """Tasks that run over instances that are billed, sampled every round from day 30 to day 60 as in the artifact.

    A shorter run is taken whole.
    """
    first, last = DAYS_30_TO_60
    table = run.timeline_table()
    inside = table[(table["time"] >= first) & (table["time"] < last)]
    inside = table if inside.empty else inside
    inside = inside[inside["instances"] > 0]
    return float((inside["tasks"] / inside["instances"]).mean())


def full_share(run: Simulated) -> float:
    """Share of the rounds of Eva that were full reconfigurations."""
    return run.totals["full_rounds"] / max(1, run.totals["rounds"])


def moves_a_job(run: Simulated) -> float:
    """Times that a job was moved, mean."""
    return float(run.totals["migrations"] / len(run.jobs["job"]))
