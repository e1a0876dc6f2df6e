"""Policies of Eva's cloud on workloads of several settings, what is read from their runs, and verdicts on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
"""Interference as the artifact's generator writes it: what the authors' own simulations must have had."""
QUICK_JOBS = 15  # of a trace, for a look
POINTS = 0.03  # A share of No-Packing's bill within so many points of the paper's is reproduced.
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


def sample(context: Context, jobs: int | None, first: int = 0, **options: Any) -> Instance:
    """So many jobs of Eva's full trace from one on, all without a number; for a look the first few of it."""
    path = context.trace(FULL_TRACE)
    if context.quick:
        return of_trace(path, QUICK_JOBS, **options)
    return of_trace(path, jobs, **options, **({"first": first} if first else {}))


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

    def runs(self, context: Context, outcomes: Sequence[Simulated]) -> PolicyRuns:
        """The outcomes of the tasks by setting and policy."""
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

    def each(self, setting: str, policy: str, measure: Measure) -> list[float]:
        """A measure of every draw."""
        return [measure(run) for run in self.found[setting, policy]]

    def mean(self, setting: str, policy: str, measure: Measure) -> float:
        """A measure, over all draws."""
        return fmean(self.each(setting, policy, measure))

    def sample(self, setting: str, policy: str, measure: Measure) -> Sample:
        """A measure with its interval."""
        return Sample.of(self.each(setting, policy, measure))

    def shares(self, setting: str, policy: str, of: str | None = None) -> list[float]:
        """The bill of every draw as a share of another policy's, by default the first's."""
        bases = self.each(setting, of or self.policies[0], bill)
        return [own / base for own, base in zip(self.each(setting, policy, bill), bases, strict=True)]

    def share(self, setting: str, policy: str, of: str | None = None) -> float:
        """The bill as a share of another policy's, mean over all draws."""
        return fmean(self.shares(setting, policy, of))

    def line(self, policy: str, measure: Measure) -> list[float]:
        """A measure over all settings."""
        return [self.mean(setting, policy, measure) for setting in self.settings]

    def lines(self, policy: str, measure: Measure) -> list[tuple[float, ...]]:
        """A measure over all settings, of every draw."""
        return list(zip(*(self.each(setting, policy, measure) for setting in self.settings), strict=True))

    def shares_line(self, policy: str, of: str | None = None) -> list[float]:
        """The bill as a share of another policy's, over all settings."""
        return [self.share(setting, policy, of) for setting in self.settings]

    def shares_lines(self, policy: str, of: str | None = None) -> list[tuple[float, ...]]:
        """The bill as a share of another policy's, over all settings, of every draw."""
        return list(zip(*(self.shares(setting, policy, of) for setting in self.settings), strict=True))


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


def tasks_of_all(run: Simulated) -> float:
    """Tasks that run over instances that are billed, over all of the run."""
    return float(run.totals["tasks_per_instance"])


def full_share(run: Simulated) -> float:
    """Share of the rounds of Eva that were full reconfigurations."""
    return run.totals["full_rounds"] / max(1, run.totals["rounds"])


def moves_a_job(run: Simulated) -> float:
    """Times that a job was moved, mean."""
    return float(run.totals["migrations"] / len(run.jobs["job"]))


def moves_a_task(run: Simulated) -> float:
    """Times that a task was moved, mean; a job moves with all of its tasks."""
    tasks = run.jobs["tasks"]
    return sum(k * moves for k, moves in zip(tasks, run.jobs["moves"], strict=True)) / sum(tasks)


def instances_launched(run: Simulated) -> float:
    """Instances that were ordered."""
    return float(run.totals["instances_launched"])


def allocation(resource: str, run: Simulated) -> float:
    """What runs takes of a resource, of what is billed."""
    return float(run.totals[f"mean_allocation_{resource}"])


def within(
    where: str,
    what: str,
    paper: float,
    ours: float | Sample,
    *,
    by: float = POINTS,
    near: float | None = None,
    note: str = "",
) -> Claim:
    """A figure of the paper beside ours, apart by no more than `by`; near within `near`, by default twice that."""
    mean, sample = (ours.mean, ours) if isinstance(ours, Sample) else (ours, None)
    off = abs(paper - mean)
    verdict: Verdict = "reproduced" if off <= by else "near" if off <= (2 * by if near is None else near) else "differs"
    claim = Claim(where, what, paper, round(mean, 4), verdict, note, sample)
    return claim if sample is None or speaks(sample, paper) else claim.when_cut()


def holds(where: str, what: str, paper: str, ours: str, true: bool, *, nearly: bool = False, note: str = "") -> Claim:
    """A claim in words; `nearly`: its direction holds and not its size."""
    verdict: Verdict = "reproduced" if true else "near" if nearly else "differs"
    return Claim(where, what, paper, ours, verdict, note)


def at_least(
    where: str,
    what: str,
    paper: str,
    values: Sequence[float],
    least: float,
    *,
    nearly: float | None = None,
    note: str = "",
    readings: tuple[str, ...] = (),
) -> Claim:
    """A claim in words that holds where a measure of the draws is `least` or more on average; near from `nearly` on."""
    sample = Sample.of(values)
    close = nearly is not None and sample.mean >= nearly
    claim = holds(where, what, paper, "", sample.mean >= least, nearly=close, note=note)
    claim = replace(claim, ours=round(sample.mean, 4), sample=sample, readings=readings)
    return claim if speaks(sample, least if nearly is None else nearly) else claim.when_cut()


def speaks(sample: Sample, figure: float) -> bool:
    """Whether a sample may speak against a figure: from ten draws on, with an interval that does not reach it."""
    if sample.low is None or sample.high is None or sample.seeds < ENOUGH_SEEDS:
        return False
    return not sample.low <= figure <= sample.high


def spanned(values: Sequence[float]) -> str:
    """From the least to the greatest of some shares, in percent."""
    low, high = min(values), max(values)
    return f"{low:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"
