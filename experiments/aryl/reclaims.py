"""Study the reclaims of runs: solve each by all orders and exactly, and bound the unavoidable preemptions.

The bound depends on the starts of the run. Any orchestrator with the same first starts on loaned servers has at least
this number of preemptions. The choice of servers and knowledge of the future load do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
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
from heuristics.aryl import reclaim_greedy, reclaim_literal_order, reclaim_random, reclaim_scf
from heuristics.aryl.online import Loaning, flexible_first
from instances import Options, Result
from instances.aryl import ArylLoaning, ArylReclaim, loaning_days
from models.aryl import exact
from models.aryl.preemption_bound import PreemptionBound, Stay, bound_preemptions, make_stay

ORDERS: dict[str, Callable[..., Result]] = {
    "Algorithm 1": reclaim_greedy,
    "in file order": reclaim_literal_order,
    "SCF": reclaim_scf,
    "random": reclaim_random,
}
SERVERS = (56,)
PERIODS = (300.0, 1800.0, 3600.0)
LIMIT = Options(time_limit=20.0)


class Workers(StrEnum):
    """Width of the workers of inelastic jobs."""

    WHOLE = "whole"
    SMALL = "small"


class Watched:
    """A reclaimer that follows Algorithm 1, and records the losses of the other orders."""

    def __init__(self) -> None:
        self.lost: dict[str, list[float]] = {name: [] for name in ORDERS}
        self.least: list[float] = []
        self.proven = 0
        self.servers: list[int] = []
        self.pools: list[int] = []

    def __call__(self, problem: ArylReclaim) -> Sequence[str]:
        results = {name: solve(problem, Options(seed=len(self.least))) for name, solve in ORDERS.items()}
        for name, result in results.items():
            self.lost[name].append(result.objective or 0.0)
        best = exact(problem, LIMIT)
        self.least.append(math.ceil((best.bound or 0.0) - 1e-6))
        self.proven += best.status == "optimal"
        self.servers.append(problem.reclaim)
        self.pools.append(len(problem.servers))
        solution = results["Algorithm 1"].solution
        assert solution is not None
        servers: Sequence[str] = solution["servers"]
        return servers


def reclaims(
    options: Options,
    trace: Annotated[Path | None, typer.Option(help="Jobs in CSV form, as Philly's.", show_default="drawn")] = None,
    servers: Annotated[
        list[int] | None, typer.Option(help="Training servers; repeatable.", min=2, show_default="56")
    ] = None,
    period: Annotated[
        list[float] | None,
        typer.Option(help="Seconds between two reclaims; repeatable.", min=1, show_default="300, 1800, 3600"),
    ] = None,
    workers: Annotated[
        list[Workers] | None, typer.Option(help="Width of workers; repeatable.", show_default="both")
    ] = None,
    days: Annotated[float, typer.Option(help="Days of arrivals.")] = 10.0,
    seeds: Annotated[int, typer.Option(help="Workloads of each kind.", min=1)] = 3,
    load: Annotated[float, typer.Option(help="Load of the training servers.")] = 0.95,
    any_gpu_share: Annotated[float, typer.Option(help="Share of jobs that may run on loaned servers.")] = 0.6,
) -> Study:
    """Print preemptions of each order on the reclaims of runs, against the fewest, by size, period and workers."""
    drawn = {"seeds": seeds, "days": days, "trace": trace, "load": load, "any_gpu_share": any_gpu_share}
    kinds = list(product(servers or SERVERS, period or PERIODS, workers or Workers))
    tasks = [
        Measurement.of(
            watched, options, None, training_servers=n, orchestrator_period_seconds=every, workers=width.value, **drawn
        )
        for n, every, width in kinds
    ]
    columns = "training servers", "period, s", "workers", "reclaims", "servers each", "of, with base workers"

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = [
            [str(size), f"{every:g}", width.value, *one.figures["cells"]]
            for (size, every, width), one in zip(kinds, outcomes, strict=True)
        ]
        return [TextTable([*columns, "proven", "fewest", *ORDERS, "Algorithm 1 optimal"], rows)]

    return Study(tasks, tables)


def watched(seeds: int, days: float, options: Options, **drawn: Any) -> dict[str, Any]:
    """The cells of a row, over all reclaims of some runs; the seed of `random` is the number of the reclaim."""
    seen = Watched()
    for seed in range(seeds):
        data = loaning_days(days, seed, **drawn).data
        simulate(LoaningWorld(data), Loaning(data, "sjf", flexible_first(seen)))
    return {"cells": _cells(seen)}


def _cells(watched: Watched) -> list[str]:
    """The cells of a row: means and sums over the reclaims."""
    number, fewest = len(watched.least), sum(watched.least)
    if not number:
        return ["0", *["-"] * (5 + len(ORDERS))]
    means = [f"{sum(values) / number:.1f}" for values in (watched.servers, watched.pools)]
    cells = [str(number), *means, str(watched.proven), f"{fewest:.0f}"]
    for lost in watched.lost.values():
        share = percent(sum(lost) / fewest - 1, 1) if fewest else "-"
        cells.append(f"{sum(lost):.0f} ({share})")
    equal = sum(a == b for a, b in zip(watched.lost["Algorithm 1"], watched.least, strict=True))
    return [*cells, f"{equal} of {number}"]


RUNS = {
    "Algorithm 1": "sjf-loans",
    "fewest now, exact": "sjf-loans-exact",
    "SCF": "sjf-loans-scf",
    "Random": "sjf-loans-random",
}


def stays_of(data: ArylLoaning, jobs: pd.DataFrame, *, scales: bool) -> list[Stay]:
    """Return the first stays on loaned servers from a run's job table; training servers cause no preemptions."""
    of = {job.id: job for job in data.jobs}
    loaned = jobs[jobs["loaned"]]
    starts = zip(loaned["job"], loaned["submit"] + loaned["queueing"], strict=True)
    found = (make_stay(data, of[name], float(start), scales=scales) for name, start in starts)
    return [stay for stay in found if stay is not None]


def forced_of(world: LoaningWorld, *, scales: bool) -> PreemptionBound:
    """Bound the preemptions that no orchestrator can avoid if jobs start as in this run."""
    return bound_preemptions(stays_of(world.data, world.jobs_table(), scales=scales), world.data, LIMIT)


def unavoidable(
    options: Options,
    trace: Annotated[Path | None, typer.Option(help="Jobs in CSV form, as Philly's.", show_default="drawn")] = None,
    servers: Annotated[int, typer.Option(help="Training servers.", min=2)] = 56,
    days: Annotated[float, typer.Option(help="Days of arrivals.")] = 10.0,
    seeds: Annotated[int, typer.Option(help="Workloads of each kind.", min=1)] = 3,
    load: Annotated[float, typer.Option(help="Load of the training servers.")] = 0.95,
    any_gpu_share: Annotated[float, typer.Option(help="Share of jobs that may run on loaned servers.")] = 0.6,
) -> Study:
    """Print preemptions by period and reclaimer, and those that the starts of each run make unavoidable."""
    drawn = {"trace": trace, "training_servers": servers, "load": load, "any_gpu_share": any_gpu_share, "days": days}
    kinds = list(product(PERIODS, RUNS.items()))
    tasks = [
        Measurement.of(preempted, options, None, policy=policy, orchestrator_period_seconds=period, seed=seed, **drawn)
        for period, (name, policy) in kinds
        for seed in range(seeds)
    ]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = []
        for (period, (name, _)), of in zip(kinds, chunks(outcomes, seeds), strict=True):
            total, least, proven = (sum(one.figures[key] for one in of) for key in ("preempted", "forced", "proven"))
            share = percent(least / total) if total else "-"
            rows.append([f"{period:g}", name, str(total), str(least), share, f"{proven} of {seeds}"])
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
