"""`python -m experiments.boa.genetic`: Pollux by a genetic search against Pollux split exactly, over whole runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from experiments.output.markdown import print_markdown
from experiments.output.terminal import err
from experiments.simulator.boa import RentingWorld
from experiments.simulator.kernel import simulate
from heuristics.boa.online_pollux import Pollux, PolluxParameters
from instances import Stopwatch
from instances.boa import BoaRenting, poisson_renting
from instances.boa.online import View, Widths


class Objective(StrEnum):
    """Of Pollux."""

    SUM = "sum"
    MEAN = "mean"


SEEDS = (1, 2, 3)
"""Workloads without imagenet, whose jobs run for days."""
HOUR = 3600.0


def main(
    hours: Annotated[float, typer.Option(help="Hours of Poisson arrivals.")] = 0.6,
    rate: Annotated[float, typer.Option(help="What newTrace's rates are multiplied with.")] = 1.0,
    seed: Annotated[list[int] | None, typer.Option(help="Of a workload; repeatable.", show_default="1, 2, 3")] = None,
    objective: Annotated[list[Objective] | None, typer.Option(help="Repeatable.", show_default="both")] = None,
    efficiency: Annotated[
        float | None, typer.Option(help="What autoscaling aims at.", show_default="a cluster of the budget")
    ] = None,
    individuals: Annotated[int, typer.Option(help="Of the genetic search.", min=2)] = 50,
    generations: Annotated[int, typer.Option(help="Of the genetic search.", min=1)] = 10,
) -> None:
    """Print mean JCT, rented GPUs and CPU seconds under both ways to split."""
    from heuristics.boa.online_genetic import GeneticParameters, GeneticSplit  # with pymoo, `gapwise[genetic]`

    split = GeneticSplit(GeneticParameters(individuals, generations))
    rows = []
    for one in objective or Objective:
        for number in seed or SEEDS:
            data = poisson_renting(hours, number, rate=rate).data
            parameters = PolluxParameters(objective=one.value, efficiency=efficiency)
            cells = [_figures(data, policy) for policy in (Pollux(data, parameters), Pollux(data, parameters, split))]
            rows.append(
                [f"`{one.value}`, seed {number}", str(len(data.jobs)), *(cell for pair in cells for cell in pair)]
            )
            err.print(" ".join(rows[-1]))
    what = "mean JCT, h", "GPU-hours", "decisions", "CPU s"
    print_markdown(["objective", "jobs", *(f"{name}, {way}" for way in ("exact", "genetic") for name in what)], rows)


class _Counted:
    """A policy whose decisions are counted."""

    def __init__(self, policy: Pollux) -> None:
        self.policy, self.decisions = policy, 0

    def decide(self, view: View) -> Widths:
        self.decisions += 1
        return self.policy.decide(view)


def _figures(data: BoaRenting, policy: Pollux) -> list[str]:
    """Mean JCT in hours, GPU-hours billed, decisions, and CPU seconds of a run."""
    world, counted = RentingWorld(data), _Counted(policy)
    with Stopwatch() as clock:
        simulate(world, counted)
    mean = world.jobs_table()["jct"].mean() / HOUR
    billed = world.totals()["billed_gpu_h"]
    return [f"{mean:.3f}", f"{billed:.1f}", str(counted.decisions), f"{clock.cpu_s:.1f}"]


if __name__ == "__main__":
    typer.run(main)
