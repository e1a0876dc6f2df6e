"""`python -m experiments.aryl.snapshots`: every reclaim of a run under Algorithm 1, by all orders and exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from experiments.output.terminal import err, out, percent
from experiments.simulator.aryl import LoaningWorld
from experiments.simulator.kernel import simulate
from heuristics.aryl import reclaim_greedy, reclaim_literal_order, reclaim_random, reclaim_scf
from heuristics.aryl.online import Loaning, flexible_first
from instances import Options, Result, Stopwatch
from instances.aryl import ArylReclaim, loaning_days
from models.aryl import exact

ORDERS: dict[str, Callable[..., Result]] = {
    "Algorithm 1": reclaim_greedy,
    "in file order": reclaim_literal_order,
    "SCF": reclaim_scf,
    "random": reclaim_random,
}
PERIODS = (300, 1800, 3600)
LIMIT_S = 20.0


class Watched:
    """A reclaimer that does what Algorithm 1 says, and notes what the others would have lost."""

    def __init__(self) -> None:
        self.lost: dict[str, list[float]] = {name: [] for name in ORDERS}
        self.least: list[float] = []
        self.proven = 0
        self.servers: list[int] = []

    def __call__(self, problem: ArylReclaim) -> Sequence[str]:
        results = {name: solve(problem, Options(seed=len(self.least))) for name, solve in ORDERS.items()}
        for name, result in results.items():
            self.lost[name].append(result.objective or 0.0)
        best = exact(problem, Options(time_limit=LIMIT_S))
        self.least.append(math.ceil((best.bound or 0.0) - 1e-6))
        self.proven += best.status == "optimal"
        self.servers.append(problem.reclaim)
        solution = results["Algorithm 1"].solution
        assert solution is not None
        servers: Sequence[str] = solution["servers"]
        return servers


def main(
    trace: Annotated[Path | None, typer.Option(help="Jobs in CSV form, as Philly's.", show_default="drawn")] = None,
    servers: Annotated[int, typer.Option(help="Training servers.", min=2)] = 56,
    days: Annotated[float, typer.Option(help="Days of arrivals.")] = 10.0,
    seeds: Annotated[int, typer.Option(help="Workloads of each kind.", min=1)] = 3,
    load: Annotated[float, typer.Option(help="Of the training servers.")] = 0.95,
    any_gpu_share: Annotated[float, typer.Option(help="Share of jobs that may run on loaned servers.")] = 0.6,
) -> None:
    """Print preemptions of each order on the reclaims of runs, against the fewest, by period and width of workers."""
    title = f"Reclaims that preempt, {servers} training servers, {days:g} days, {seeds} workloads each"
    table = Table(title=title, title_justify="left", box=None)
    for name in ("period", "workers", "reclaims", "servers", "proven", "fewest", *ORDERS, "Algorithm 1 optimal"):
        table.add_column(name, justify="right")
    drawn = partial(loaning_days, trace=trace, training_servers=servers, load=load, any_gpu_share=any_gpu_share)
    with Stopwatch() as clock:
        for period in PERIODS:
            for workers in ("whole", "small"):
                watched = Watched()
                for seed in range(seeds):
                    data = drawn(days, seed, orchestrator_period_seconds=float(period), workers=workers).data
                    simulate(LoaningWorld(data), Loaning(data, "sjf", flexible_first(watched)))
                table.add_row(str(period), workers, *_cells(watched))
                err.print(f"{period} {workers}: {len(watched.least)} reclaims")
    out.print(table)
    err.print(f"{clock.cpu_s:.0f} CPU s")


def _cells(watched: Watched) -> list[str]:
    """The cells of a row: means and sums over the reclaims."""
    number, fewest = len(watched.least), sum(watched.least)
    if not number:
        return ["0"]
    cells = [str(number), f"{sum(watched.servers) / number:.1f}", str(watched.proven), f"{fewest:.0f}"]
    for lost in watched.lost.values():
        share = percent(sum(lost) / fewest - 1, 1) if fewest else "-"
        cells.append(f"{sum(lost):.0f} ({share})")
    equal = sum(a == b for a, b in zip(watched.lost["Algorithm 1"], watched.least, strict=True))
    return [*cells, f"{equal} of {number}"]


if __name__ == "__main__":
    typer.run(main)
