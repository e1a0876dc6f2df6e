"""Every reclaim of a run under Algorithm 1, by all orders and exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.harness.experiment import Study, TextTable
from experiments.harness.task import Measured, Measurement
from experiments.output.terminal import percent
from experiments.simulator.aryl import LoaningWorld
from experiments.simulator.kernel import simulate
from heuristics.aryl import reclaim_greedy, reclaim_literal_order, reclaim_random, reclaim_scf
from heuristics.aryl.online import Loaning, flexible_first
from instances import Options, Result
from instances.aryl import ArylReclaim, loaning_days
from models.aryl import exact

ORDERS: dict[str, Callable[..., Result]] = {
    "Algorithm 1": reclaim_greedy,
    "in file order": reclaim_literal_order,
    "SCF": reclaim_scf,
    "random": reclaim_random,
}
SERVERS = (56,)
PERIODS = (300.0, 1800.0, 3600.0)
LIMIT_S = 20.0


class Workers(StrEnum):
    """Width of the workers of inelastic jobs."""

    WHOLE = "whole"
    SMALL = "small"


class Watched:
    """A reclaimer that does what Algorithm 1 says, and notes what the others would have lost."""

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
        best = exact(problem, Options(time_limit=LIMIT_S))
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
    load: Annotated[float, typer.Option(help="Of the training servers.")] = 0.95,
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
