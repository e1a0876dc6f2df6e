"""Pollux by a genetic search against Pollux split exactly, over whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import product
from typing import Annotated, Any, Literal

import typer

from experiments.harness.experiment import Study, TextTable, chunks
from experiments.harness.task import Measured, Measurement
from experiments.simulator.boa import RentingWorld
from experiments.simulator.kernel import simulate
from heuristics.boa.online_pollux import Pollux, PolluxParameters
from instances import Options, Stopwatch
from instances.boa import poisson_renting
from instances.boa.online import RentingView, Widths


class Objective(StrEnum):
    """The objective of Pollux."""

    SUM = "sum"
    MEAN = "mean"


SEEDS = (1, 2, 3)
"""Workloads without imagenet, whose jobs run for days."""
HOUR = 3600.0
WAYS = ("exact", "genetic")


def genetic(
    options: Options,
    hours: Annotated[float, typer.Option(help="Hours of Poisson arrivals.")] = 0.6,
    rate: Annotated[float, typer.Option(help="Factor on newTrace's arrival rates.")] = 1.0,
    drawn_with: Annotated[
        list[int] | None, typer.Option(help="Seed of a workload; repeatable.", show_default="1, 2, 3")
    ] = None,
    objective: Annotated[
        list[Objective] | None, typer.Option(help="Objective of the genetic search; repeatable.", show_default="both")
    ] = None,
    efficiency: Annotated[
        float | None, typer.Option(help="Target efficiency of the autoscaler.", show_default="a cluster of the budget")
    ] = None,
    individuals: Annotated[int, typer.Option(help="Population of the genetic search.", min=2)] = 50,
    generations: Annotated[int, typer.Option(help="Generations of the genetic search.", min=1)] = 10,
) -> Study:
    """Print mean JCT, rented GPUs and CPU seconds under both ways to split."""
    drawn = {"hours": hours, "rate": rate, "efficiency": efficiency}
    kinds = list(product(objective or Objective, drawn_with or SEEDS))
    tasks = [
        Measurement.of(split, options, None, objective=one.value, seed=seed, search=search, **drawn)
        for one, seed in kinds
        for search in (None, [individuals, generations])
    ]
    what = "mean JCT, h", "GPU-hours", "decisions", "CPU s"

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = []
        for (one, seed), of in zip(kinds, chunks(outcomes, len(WAYS)), strict=True):
            cells = [cell for measured in of for cell in _cells(measured)]
            rows.append([f"`{one.value}`, seed {seed}", str(of[0].figures["jobs"]), *cells])
        return [TextTable(["objective", "jobs", *(f"{name}, {way}" for way in WAYS for name in what)], rows)]

    return Study(tasks, tables)


def _cells(measured: Measured) -> list[str]:
    mean, billed, decisions = (measured.figures[name] for name in ("mean_jct_h", "billed_gpu_h", "decisions"))
    return [f"{mean:.3f}", f"{billed:.1f}", str(decisions), f"{measured.cpu_s:.1f}"]


class _Counted:
    """Count the decisions of a policy."""

    def __init__(self, policy: Pollux) -> None:
        self.policy, self.decisions = policy, 0

    def decide(self, view: RentingView) -> Widths:
        self.decisions += 1
        return self.policy.decide(view)


def split(
    hours: float,
    seed: int,
    rate: float,
    objective: Literal["sum", "mean"],
    efficiency: float | None,
    search: Sequence[int] | None,
    options: Options,
) -> dict[str, Any]:
    """Run Pollux and return jobs, mean JCT, billed GPU-hours, decisions, and CPU seconds.

    `search`: parameters of the genetic split, `None` for the exact split.
    """
    data = poisson_renting(hours, seed, rate=rate).data
    parameters = PolluxParameters(objective=objective, efficiency=efficiency)
    if search is None:
        policy = Pollux(data, parameters)
    else:
        from heuristics.boa.online_genetic import GeneticParameters, GeneticSplit  # with pymoo, `gapwise[genetic]`

        policy = Pollux(data, parameters, GeneticSplit(GeneticParameters(*search)))
    world, counted = RentingWorld(data), _Counted(policy)
    with Stopwatch() as clock:
        simulate(world, counted)
    return {
        "jobs": len(data.jobs),
        "mean_jct_h": world.jobs_table()["jct"].mean() / HOUR,
        "billed_gpu_h": world.totals()["billed_gpu_h"],
        "decisions": counted.decisions,
        "cpu_s": clock.cpu_s,
    }
