"""Preemptions of runs, and how many of them no orchestrator would avoid.

The bound is of the run's own starts: whoever starts the same jobs on loaned servers at the same times for the first
time preempts at least so many, whichever servers go back and whatever is known of the load to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from experiments.aryl.simulation import POLICIES
from experiments.harness.experiment import Study, TextTable, chunks
from experiments.harness.task import Measured, Measurement
from experiments.output.terminal import percent
from experiments.simulator.aryl import LoaningWorld
from experiments.simulator.kernel import simulate
from instances import Options
from instances.aryl import ArylLoaning, loaning_days
from models.aryl.preemption_bound import Forced, Stay, forced_preemptions, stay_of

PERIODS = (300, 1800, 3600)
RUNS = {
    "Algorithm 1": "sjf-loans",
    "fewest now, exact": "sjf-loans-exact",
    "SCF": "sjf-loans-scf",
    "Random": "sjf-loans-random",
}
LIMIT = Options(time_limit=20.0)


def stays_of(data: ArylLoaning, jobs: pd.DataFrame, *, scales: bool) -> list[Stay]:
    """The first stays on loaned servers of a run, from its table of jobs: on training servers nobody is preempted."""
    of = {job.id: job for job in data.jobs}
    loaned = jobs[jobs["loaned"]]
    starts = zip(loaned["job"], loaned["submit"] + loaned["queueing"], strict=True)
    found = (stay_of(data, of[name], float(start), scales=scales) for name, start in starts)
    return [stay for stay in found if stay is not None]


def forced_of(world: LoaningWorld, *, scales: bool) -> Forced:
    """The preemptions that no orchestrator avoids where jobs start as in this run."""
    return forced_preemptions(stays_of(world.data, world.jobs_table(), scales=scales), world.data, LIMIT)


def unavoidable(
    options: Options,
    trace: Annotated[Path | None, typer.Option(help="Jobs in CSV form, as Philly's.", show_default="drawn")] = None,
    servers: Annotated[int, typer.Option(help="Training servers.", min=2)] = 56,
    days: Annotated[float, typer.Option(help="Days of arrivals.")] = 10.0,
    seeds: Annotated[int, typer.Option(help="Workloads of each kind.", min=1)] = 3,
    load: Annotated[float, typer.Option(help="Of the training servers.")] = 0.95,
    any_gpu_share: Annotated[float, typer.Option(help="Share of jobs that may run on loaned servers.")] = 0.6,
) -> Study:
    """Print preemptions by period and reclaimer, and those that the starts of each run make unavoidable."""
    drawn = {"trace": trace, "training_servers": servers, "load": load, "any_gpu_share": any_gpu_share, "days": days}
    kinds = list(product(PERIODS, RUNS.items()))
    tasks = [
        Measurement.of(
            preempted, options, None, policy=policy, orchestrator_period_seconds=float(period), seed=seed, **drawn
        )
        for period, (name, policy) in kinds
        for seed in range(seeds)
    ]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = []
        for (period, (name, _)), of in zip(kinds, chunks(outcomes, seeds), strict=True):
            total, least, proven = (sum(one.figures[key] for one in of) for key in ("preempted", "forced", "proven"))
            share = percent(least / total) if total else "-"
            rows.append([str(period), name, str(total), str(least), share, f"{proven} of {seeds}"])
        columns = "preemptions", "unavoidable from these starts", "share", "proven least"
        return [TextTable(["period, s", f"{seeds} runs of {days:g} days", *columns], rows)]

    return Study(tasks, tables)


def preempted(policy: str, seed: int, days: float, options: Options, **drawn: Any) -> dict[str, Any]:
    """Preemptions of a run, those that no orchestrator avoids, and whether fewer would not fit by GPUs."""
    data = loaning_days(days, seed, **drawn).data
    world = LoaningWorld(data)
    simulate(world, POLICIES[policy](data, Options()))
    forced = forced_of(world, scales=False)
    return {
        "preempted": int(world.totals()["preemptions"]),
        "forced": forced.preemptions,
        "proven": forced.proven,
    }
