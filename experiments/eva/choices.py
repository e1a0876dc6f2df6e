"""Measure how often Eva's decision in a round is optimal.

Every N-th round of Eva's own run is solved exactly, and Eva's plans are compared with the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from experiments.eva.methods import METHODS
from experiments.eva.rounds import rounds_of_eva
from experiments.harness.entry import named
from experiments.harness.experiment import Study, chunks
from experiments.harness.run import Run
from instances import Options, Result, load
from instances.eva import EvaReconfiguration

PLANS = ("eva-choice", "full", "partial", "stay")
EQUAL = 1e-6  # A plan within this relative gap counts as optimal.


def choices(
    options: Options,
    workload: Annotated[Path, typer.Argument(help="An eva-cloud file.")],
    every: Annotated[int, typer.Option(help="Take every N-th round in which a job arrives or ends.", min=1)] = 4,
) -> Study:
    """Print how many rounds are proven, and for each plan in how many it is optimal and what it loses."""
    entries = named(METHODS[EvaReconfiguration.problem], "exact", *PLANS)
    rounds = rounds_of_eva(load(workload), every)

    def tables(outcomes: Sequence[Result]) -> list[str]:
        by_round = chunks(outcomes, len(entries))
        proven = [results for results in by_round if results[0].status == "optimal"]
        seconds = [results[0].cpu_s or 0.0 for results in by_round]
        shown = f"{fmean(seconds):.3f} CPU s on average, {max(seconds):.3f} at most" if seconds else "none"
        lines = [f"{len(proven)} of {len(rounds)} rounds proven optimal, {shown}"]
        for k, name in enumerate(PLANS if proven else (), 1):
            shares = [_lost(results[0], results[k]) for results in proven]
            equal = sum(share <= EQUAL for share in shares)
            below = f"{fmean(shares):.1%} below on average, {max(shares):.1%} at worst"
            lines.append(f"{name}: optimal in {equal}, {below}")
        return lines

    return Study([Run(one, entry, options) for one in rounds for entry in entries], tables)


def _lost(best: Result, plan: Result) -> float:
    """Return the gap of a plan to the optimum, relative to the optimum."""
    assert best.objective is not None
    assert plan.objective is not None
    return (best.objective - plan.objective) / max(abs(best.objective), 1e-9)
