"""Workloads on which the figures of Aryl's section 7 are looked for, and experiments made of rows of runs.

Sections 5.2 and 7.2 normalise loaned GPUs: a worker has more of them and is as fast (`wide`). The other reading is a
worker that has as many and is slower (`slow`). Every row with loans is run under both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.experiment import AGAINST, Claim, Context, Experiment, Verdict, compare_mean
from experiments.harness.sample import Sample
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from instances import InputError, Instance
from instances.aryl import loaning_days

TRACE = "traces/philly.csv"
READINGS = ("wide", "slow")
LOADS = (0.68, 0.72, 0.78)
"""Loads of an eighth of the paper's clusters; at the last the baseline queues for about as long as the paper's."""
HELD: tuple[Verdict, ...] = ("reproduced", "near")
ITS_TRACE = "the paper's trace: these jobs are Philly's, drawn to what it says of its own"


@dataclass(frozen=True)
class Scale:
    """Size of the runs: `servers` of the training cluster, an eighth of the paper's, `days`, `seeds`, load and bursts.

    Load and bursts are those under which the baseline has the paper's mean queueing and about its use. A small cluster
    evens out less, so it takes half of the bursts that the paper's takes.
    """

    servers: int = 56
    days: float = 15.0
    seeds: int = 10
    load: float = LOADS[-1]
    bursts: float = 0.25


FULL, QUICK = Scale(), Scale(12, 1.0, 1)
QUICK_LOANS = Scale(56, 2.0, 1, load=1.3, bursts=0.5)
"""A short run in which jobs use loaned servers and reclaims preempt some of them; in QUICK none do."""
PAPERS = Scale(443, load=0.78, bursts=0.5)
"""The clusters of the paper."""


@dataclass(frozen=True)
class Setting:
    """Runs of one policy on workloads that differ in their seeds; `more` are parameters of `loaning_days`."""

    policy: str
    more: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, policy: str, **more: Any) -> Setting:
        """Return a policy with these parameters."""
        return cls(policy, tuple(sorted(more.items())))

    def read(self, reading: str) -> Setting:
        """With this reading of loaned GPUs, where some are used and are slower."""
        more = dict(self.more)
        if more.get("loaned_speed") == 1.0 or not ("loans" in self.policy or self.policy.startswith("aryl")):
            return self
        return Setting.of(self.policy, **(more | {"loaned_workers": reading}))


Runs = Mapping[str, Sequence[Simulated]]
"""The runs of each row, one a seed."""
Measure = Callable[[Simulated], float | None]
Statement = Callable[[Runs], Claim]
"""A claim, once the runs are done."""


def rows_experiment(
    name: str,
    title: str,
    rows: Mapping[str, Setting],
    statements: Iterable[Statement],
    *,
    scale: Scale = FULL,
    quick: Scale = QUICK,
    says: str = "",
    draw: Callable[[Path, Runs], None] | None = None,
) -> Experiment:
    """Return an experiment that runs every row under both readings, with their claims side by side.

    `quick`: scale of a quick run. `says`: the paper's sentence.
    """

    statements = list(statements)

    def size(context: Context) -> Scale:
        return quick if context.quick else scale

    def tasks(context: Context) -> list[Simulation]:
        settings = [row.read(reading) for reading in READINGS for row in rows.values()]
        return [
            Simulation(_workload(_trace(context), size(context), seed, row.more), row.policy, context.options)
            for row in settings
            for seed in range(size(context).seeds)
        ]

    def runs(context: Context, outcomes: Sequence[Any]) -> dict[str, Runs]:
        seeds, found = size(context).seeds, iter(outcomes)
        return {reading: {label: [next(found) for _ in range(seeds)] for label in rows} for reading in READINGS}

    def build_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
        read = runs(context, outcomes).items()
        found = side_by_side({reading: [statement(of) for statement in statements] for reading, of in read})
        return [claim if claim.paper is None else replace(claim, sentence=says) for claim in found]

    def draw_runs(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
        assert draw is not None
        draw(path, runs(context, outcomes)[READINGS[0]])

    return Experiment(name, title, tasks, build_claims, draw=None if draw is None else draw_runs)


def side_by_side(found: Mapping[str, Sequence[Claim]]) -> list[Claim]:
    """Return the claims of all readings, but only one if the readings agree.

    If one reading gives the paper's figure, no claim contradicts the paper.
    """
    claims = []
    for same in zip(*found.values(), strict=True):
        if len({(claim.ours, claim.note) for claim in same}) == 1:
            claims.append(same[0])
            continue
        held = any(claim.verdict in HELD for claim in same)
        for reading, claim in zip(found, same, strict=True):
            others = tuple(f"{r} workers: {_format_claim(c)}" for r, c in zip(found, same, strict=True) if r != reading)
            said = replace(claim, what=f"{claim.what}; {reading} workers", readings=claim.readings + others)
            if held and claim.verdict in AGAINST:
                why = "the other reading of a loaned GPU gives the paper's figure"
                said = replace(said, verdict="not comparable", note=why)
            claims.append(said)
    return claims


def _format_claim(claim: Claim) -> str:
    return str(claim.ours) if claim.sample is None else claim.sample.text()


def average_over_jobs(column: str) -> Measure:
    """Return the mean of a column over the jobs of a run."""
    return lambda run: float(np.mean(run.jobs[column]))


def read_total(name: str) -> Measure:
    """Return a total of a run; None where it is unknown."""
    return lambda run: run.totals[name]


WAIT, JCT = average_over_jobs("delay"), average_over_jobs("jct")


def level(where: str, what: str, paper: float | None, row: str, measure: Measure) -> Statement:
    """State a measure of a row, by its mean over the seeds in which it is known."""

    def claim(runs: Runs) -> Claim:
        known = [value for value in map(measure, runs[row]) if value is not None]
        return _claim(where, what, paper, Sample.of(known) if known else None)

    return claim


def ratio(where: str, what: str, paper: float | None, row: str, base: str, measure: Measure = JCT) -> Statement:
    """State a measure of a row over that of another on the same seeds, by the geometric mean of the ratios.

    It is not comparable if the measure is 0 or unknown in a run.
    """

    def claim(runs: Runs) -> Claim:
        pairs = [(measure(a), measure(b)) for a, b in zip(runs[row], runs[base], strict=True)]
        ratios = [a / b for a, b in pairs if a and b]
        return _claim(where, what, paper, Sample.from_ratios(ratios) if len(ratios) == len(pairs) else None)

    return claim


def exclude_comparison(statement: Statement, why: str | None, unless: Sequence[Verdict] = HELD) -> Statement:
    """State that a claim cannot be compared with the paper, for a reason, unless its verdict is one of these."""

    def claim(runs: Runs) -> Claim:
        found = statement(runs)
        return found if why is None or found.verdict in unless else replace(found, verdict="not comparable", note=why)

    return claim


def _claim(where: str, what: str, paper: float | None, sample: Sample | None) -> Claim:
    if sample is None:
        return Claim(where, what, paper, None, "not comparable", "it is nothing, or unknown, in a run")
    if paper is None:
        return Claim(where, what, None, sample.mean, "no figure", sample=sample)
    return compare_mean(where, what, paper, sample, would_change=ITS_TRACE)


def _trace(context: Context) -> Path | None:
    try:
        return context.trace(TRACE)
    except InputError:
        return None  # the generator's own jobs


@lru_cache(maxsize=64)
def _workload(trace: Path | None, scale: Scale, seed: int, more: tuple[tuple[str, Any], ...]) -> Instance:
    own = dict(more)
    size = {"training_servers": scale.servers, "load": scale.load, "bursts": scale.bursts}
    parameters = {"trace": trace} | size | own
    drawn = loaning_days(scale.days, seed, **parameters)
    what = ", ".join(f"{name} {value}" for name, value in more)
    return Instance.of(drawn.data, f"{drawn.name}{' ' if what else ''}{what}"[:200], drawn.source)
