"""`python -m experiments.eva.choices WORKLOAD`: how often what Eva does in a round is the best that can be done.

Every so many rounds of Eva's own run are solved, and its plans are held against the optimum.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from experiments.eva.methods import METHODS
from experiments.eva.rounds import rounds_of_eva
from experiments.harness.apply import apply
from experiments.harness.entry import Entry
from experiments.output.terminal import out
from instances import Options, Stopwatch, load
from instances.eva import EvaReconfiguration

PLANS = ("eva-choice", "full", "partial", "stay")
EQUAL = 1e-6  # A plan within this share of the optimum is one.


def main(
    workload: Annotated[Path, typer.Argument(help="An eva-cloud file.")],
    every: Annotated[int, typer.Option(help="One round with an event of so many.", min=1)] = 4,
) -> None:
    """Print how many rounds are proven, and for each plan in how many it is optimal and what it loses."""
    known: dict[str, Entry] = {entry.name: entry for entry in METHODS[EvaReconfiguration.problem]}
    rounds = rounds_of_eva(load(workload), every)
    proven, seconds = 0, []
    lost: dict[str, list[float]] = {name: [] for name in PLANS}
    for instance in rounds:
        with Stopwatch() as clock:
            best = apply(known["exact"], instance, Options())
        seconds.append(clock.cpu_s)
        if best.status != "optimal" or best.objective is None:
            continue
        proven += 1
        for name in PLANS:
            objective = apply(known[name], instance, Options()).objective
            assert objective is not None
            lost[name].append((best.objective - objective) / max(abs(best.objective), 1e-9))
    shown = f"{fmean(seconds):.3f} CPU s on average, {max(seconds):.3f} at most" if seconds else "none"
    out.print(f"{proven} of {len(rounds)} rounds proven optimal, {shown}")
    for name, shares in lost.items():
        equal = sum(share <= EQUAL for share in shares)
        if shares:
            out.print(f"{name}: optimal in {equal}, {fmean(shares):.1%} below on average, {max(shares):.1%} at worst")


if __name__ == "__main__":
    typer.run(main)
