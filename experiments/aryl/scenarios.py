"""Workloads on which the figures of Aryl's section 7 are looked for, and experiments made of rows of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.experiment import Claim, Context, Experiment
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from instances import InputError, Instance
from instances.aryl import loaning_days

TRACE = "traces/philly.csv"


@dataclass(frozen=True)
class Scale:
    """Size of the runs: `servers` of the training cluster, an eighth of the paper's, `days`, `seeds` and `load`."""

    servers: int = 56
    days: float = 15.0
    seeds: int = 3
    load: float = 0.83


FULL, QUICK = Scale(), Scale(24, 2.0, 1)
SMALL = Scale(56, 10.0, 3)
"""Of what takes many runs."""
PAPERS = Scale(443, 15.0, 3)
"""The clusters of the paper."""


@dataclass(frozen=True)
class Setting:
    """Runs of one policy on workloads that differ in their seeds; `more` are parameters of `loaning_days`."""

    policy: str
    more: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, policy: str, **more: Any) -> Setting:
        """A policy with such parameters."""
        return cls(policy, tuple(sorted(more.items())))


Runs = Mapping[str, Sequence[Simulated]]
"""The runs of each row, one a seed."""


def rows_experiment(
    name: str,
    title: str,
    rows: Mapping[str, Setting],
    claims: Callable[[Runs], Sequence[Claim]],
    *,
    scale: Scale = FULL,
    draw: Callable[[Path, Runs], None] | None = None,
) -> Experiment:
    """An experiment that runs every row and tells claims of all of them."""

    def tasks(context: Context) -> list[Simulation]:
        size = QUICK if context.quick else scale
        return [
            Simulation(_workload(_trace(context), size, seed, row.more), row.policy, context.options)
            for row in rows.values()
            for seed in range(size.seeds)
        ]

    def runs(context: Context, outcomes: Sequence[Any]) -> Runs:
        seeds = (QUICK if context.quick else scale).seeds
        return {label: outcomes[i * seeds : (i + 1) * seeds] for i, label in enumerate(rows)}

    return Experiment(
        name,
        title,
        tasks,
        lambda context, outcomes: claims(runs(context, outcomes)),
        draw=None if draw is None else lambda path, context, outcomes: draw(path, runs(context, outcomes)),
    )


def mean(runs: Sequence[Simulated], column: str) -> float:
    """Mean over the seeds of the mean of a column of the jobs."""
    return fsum(float(np.mean(run.jobs[column])) for run in runs) / len(runs)


def total(runs: Sequence[Simulated], name: str) -> float:
    """Mean over the seeds of a total; 0 where it is unknown."""
    return fsum(run.totals[name] or 0.0 for run in runs) / len(runs)


def _trace(context: Context) -> Path | None:
    try:
        return context.trace(TRACE)
    except InputError:
        return None  # the generator's own jobs


@lru_cache(maxsize=64)
def _workload(trace: Path | None, scale: Scale, seed: int, more: tuple[tuple[str, Any], ...]) -> Instance:
    own = dict(more)
    parameters = {"training_servers": scale.servers, "load": scale.load, "trace": trace} | own
    drawn = loaning_days(scale.days, seed, **parameters)
    what = ", ".join(f"{name} {value}" for name, value in more)
    return Instance.of(drawn.data, f"{drawn.name}{' ' if what else ''}{what}"[:200], drawn.source)
