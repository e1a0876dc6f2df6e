"""Run policies of Eva's cloud on workloads of several settings, and derive measures and verdicts from the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.harness.experiment import Claim, Context, Verdict
from experiments.harness.sample import ENOUGH_SEEDS, Sample
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from instances import Instance
from instances.eva import trace_cloud

HOUR = 3600.0
FULL_TRACE = "eva/trace_pai_full.csv"
DAYS_30_TO_60 = (2_592_000, 5_184_000)  # seconds from which the artifact takes its tasks an instance
AS_ARTIFACT: Mapping[str, Any] = {"slowdown": "artifact-generator", "hash_order": 0}
"""Interference as the artifact's generator writes it, which the authors' own simulations must have used."""
QUICK_JOBS = 15  # jobs of a trace in a quick run
POINTS = 0.03  # A share of No-Packing's bill is reproduced if it differs from the paper's by at most this.
Measure = Callable[[Simulated], float]
Settings = Mapping[str, Sequence[Instance]]
"""The workloads of each setting, by its label; several if they differ only by their seed."""


@cache
def read_trace(path: Path, limit: int | None, **options: Any) -> Instance:
    """Read the jobs of a trace, once."""
    said = "-".join(f"{key}-{value}" for key, value in sorted(options.items()))
    return trace_cloud(
        path, limit=limit, name=f"{path.stem}-{limit or 'all'}" + (f"-{said}" if said else ""), **options
    )


def sample(context: Context, jobs: int | None, first: int = 0, **options: Any) -> Instance:
    """Return `jobs` jobs of Eva's full trace from `first` on, all jobs if `None`; a quick run takes a few."""
    path = context.trace(FULL_TRACE)
    if context.quick:
        return read_trace(path, QUICK_JOBS, **options)
    return read_trace(path, jobs, **options, **({"first": first} if first else {}))


@dataclass(frozen=True)
class Grid:
    """Every policy on every workload of every setting; the others are compared with the first policy."""

    settings: Callable[[Context], Settings]
    policies: tuple[str, ...]

    def tasks(self, context: Context) -> list[Simulation]:
        """Return one run per setting, workload and policy."""
        return [
            Simulation(workload, policy, context.options)
            for workloads in self.settings(context).values()
            for workload in workloads
            for policy in self.policies
        ]

    def runs(self, context: Context, outcomes: Sequence[Simulated]) -> PolicyRuns:
        """Group the outcomes of the tasks by setting and policy."""
        found: dict[tuple[str, str], list[Simulated]] = {}
        each = iter(outcomes)
        settings = self.settings(context)
        for label, workloads in settings.items():
            for _ in workloads:
                for policy in self.policies:
                    found.setdefault((label, policy), []).append(next(each))
        return PolicyRuns(tuple(settings), self.policies, found)


@dataclass(frozen=True)
class PolicyRuns:
    """Runs by setting and policy, in the order of the draws: seeds, or slices of a trace."""

    settings: tuple[str, ...]
    policies: tuple[str, ...]
    found: Mapping[tuple[str, str], Sequence[Simulated]]

    def measure_draws(self, setting: str, policy: str, measure: Measure) -> list[float]:
        """Return a measure of every draw."""
        return [measure(run) for run in self.found[setting, policy]]

    def mean(self, setting: str, policy: str, measure: Measure) -> float:
        """Return the mean of a measure over all draws."""
        return fmean(self.measure_draws(setting, policy, measure))

    def sample(self, setting: str, policy: str, measure: Measure) -> Sample:
        """Return a measure with its interval."""
        return Sample.of(self.measure_draws(setting, policy, measure))

    def shares(self, setting: str, policy: str, of: str | None = None) -> list[float]:
        """Return the bill of every draw as a share of another policy's, by default the first's."""
        bases = self.measure_draws(setting, of or self.policies[0], bill)
        return [own / base for own, base in zip(self.measure_draws(setting, policy, bill), bases, strict=True)]

    def share(self, setting: str, policy: str, of: str | None = None) -> float:
        """Return the bill as a share of another policy's, as the mean over all draws."""
        return fmean(self.shares(setting, policy, of))

    def line(self, policy: str, measure: Measure) -> list[float]:
        """Return the mean of a measure for every setting."""
        return [self.mean(setting, policy, measure) for setting in self.settings]

    def lines(self, policy: str, measure: Measure) -> list[tuple[float, ...]]:
        """Return a measure for every setting, one tuple per draw."""
        return list(zip(*(self.measure_draws(setting, policy, measure) for setting in self.settings), strict=True))

    def shares_line(self, policy: str, of: str | None = None) -> list[float]:
        """Return the bill as a share of another policy's for every setting."""
        return [self.share(setting, policy, of) for setting in self.settings]

    def shares_lines(self, policy: str, of: str | None = None) -> list[tuple[float, ...]]:
        """Return the bill as a share of another policy's for every setting, one tuple per draw."""
        return list(zip(*(self.shares(setting, policy, of) for setting in self.settings), strict=True))


def bill(run: Simulated) -> float:
    """Return the bill in USD."""
    return float(run.totals["cost_usd"])


def jct_hours(run: Simulated) -> float:
    """Return the mean completion time of a job in hours."""
    return fmean(run.jobs["jct"]) / HOUR


def idle_hours(run: Simulated) -> float:
    """Return the mean time in hours that a job is present without its tasks launched."""
    return fmean(run.jobs["delay"]) / HOUR


def throughput(run: Simulated) -> float:
    """Return the mean over the jobs of work divided by the time with progress."""
    return float(run.totals["mean_throughput"])


def tasks_an_instance(run: Simulated) -> float:
    """Return running tasks per billed instance, sampled every round from day 30 to day 60 as in the artifact.

    For a shorter run, all rounds are used.
    """
    first, last = DAYS_30_TO_60
    table = run.timeline_table()
    inside = table[(table["time"] >= first) & (table["time"] < last)]
    inside = table if inside.empty else inside
    inside = inside[inside["instances"] > 0]
    return float((inside["tasks"] / inside["instances"]).mean())


def tasks_of_all(run: Simulated) -> float:
    """Return running tasks per billed instance over the entire run."""
    return float(run.totals["tasks_per_instance"])


def full_share(run: Simulated) -> float:
    """Return the share of Eva's rounds that were full reconfigurations."""
    return run.totals["full_rounds"] / max(1, run.totals["rounds"])


def moves_a_job(run: Simulated) -> float:
    """Return the mean number of moves per job."""
    return float(run.totals["migrations"] / len(run.jobs["job"]))


def moves_a_task(run: Simulated) -> float:
    """Return the mean number of moves per task; a job moves with all of its tasks."""
    tasks = run.jobs["tasks"]
    return sum(k * moves for k, moves in zip(tasks, run.jobs["moves"], strict=True)) / sum(tasks)


def instances_launched(run: Simulated) -> float:
    """Return the number of ordered instances."""
    return float(run.totals["instances_launched"])


def proven_share(run: Simulated) -> float:
    """Return the share of the decisions that are proven optimal."""
    return fmean(status == "optimal" for status in run.decisions["status"])


def allocation(resource: str, run: Simulated) -> float:
    """Return the share of a billed resource that running tasks use."""
    return float(run.totals[f"mean_allocation_{resource}"])


def _verdict(held: bool, nearly: bool) -> Verdict:
    return "reproduced" if held else "near" if nearly else "differs"


def claim_within(
    where: str, what: str, paper: float, ours: float | Sample, *, by: float = POINTS, note: str = ""
) -> Claim:
    """Claim that our figure is within `by` of the paper's; it is near within twice that."""
    mean, sample = (ours.mean, ours) if isinstance(ours, Sample) else (ours, None)
    off = abs(paper - mean)
    claim = Claim(where, what, paper, round(mean, 4), _verdict(off <= by, off <= 2 * by), note, sample)
    return claim if sample is None or speaks(sample, paper) else claim.when_cut()


def holds(where: str, what: str, paper: str, ours: str, true: bool, *, nearly: bool = False, note: str = "") -> Claim:
    """Build a claim in words; `nearly`: its direction holds, but not its size."""
    return Claim(where, what, paper, ours, _verdict(true, nearly), note)


def claim_min(
    where: str, what: str, paper: str, values: Sequence[float], least: float, *, nearly: float | None = None,
    note: str = "",
) -> Claim:  # fmt: skip
    """Build a claim that holds if the mean of a measure is at least `least`; it is near from `nearly` on."""
    sample = Sample.of(values)
    verdict = _verdict(sample.mean >= least, nearly is not None and sample.mean >= nearly)
    claim = Claim(where, what, paper, round(sample.mean, 4), verdict, note, sample)
    return claim if speaks(sample, least if nearly is None else nearly) else claim.when_cut()


def speaks(sample: Sample, figure: float) -> bool:
    """Return whether a sample contradicts a figure: it has at least ten draws, and its interval excludes the figure."""
    if sample.low is None or sample.high is None or sample.seeds < ENOUGH_SEEDS:
        return False
    return not sample.low <= figure <= sample.high


def format_range(values: Sequence[float]) -> str:
    """Format the range of some shares in percent."""
    low, high = min(values), max(values)
    return f"{low:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"
