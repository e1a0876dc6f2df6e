"""Evolve a packing heuristic against proven optima, and evaluate it on held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from experiments.eva.benchmark import EXACT, HEURISTIC
from experiments.eva.evolved import packed, solve
from experiments.eva.moments import moments_of
from experiments.harness.entry import Entry
from experiments.harness.experiment import Quick, Study
from experiments.harness.run import Run
from experiments.harness.task import Measured, Measurement
from experiments.output.benchmark import Timing, benchmark, runs
from experiments.output.terminal import percent
from instances import CheckFailed, Instance, Options, Result, Solution, check
from instances.eva import EvaPacking, alive, table_7
from models.eva import exact

TRAINED_ON, HELD_OUT = range(1000, 1020), range(30)  # seeds of samples of Table 7
RANGES = ((0.5, 2.5), (0.0, 2.0), (0.0, 2.0), (0.0, 2.0), (0.8, 1.1))
GENERATIONS, POPULATION = 25, 4  # times as many weights as there are
OWN = f"{solve.__module__}:{solve.__name__}"


def evolution(
    options: Options,
    trace: Annotated[list[Path] | None, typer.Option(help="Eva's trace, for its moments; repeatable.")] = None,
    number: Annotated[int, typer.Option(min=1, help="Draws of a moment of each trace.")] = 20,
    quick: Quick = False,
    evolve: Annotated[bool, typer.Option("--evolve", help="Search the weights anew, and print them.")] = False,
) -> Study:
    """Print how far the evolved packing heuristic is above optima of samples and moments that it was not fitted to."""
    if evolve:
        return _search(options, quick)
    held_out = {"200 tasks of Table 7, held out": [table_7(200, seed) for seed in HELD_OUT[: 3 if quick else None]]}
    for file in trace or ():
        held_out[f"moments of {file.stem}"] = [alive(file, at) for at in moments_of(file, number)]
    return benchmark(_row(what, made, options) for what, made in held_out.items())


def _row(what: str, made: Sequence[Instance], options: Options) -> Timing:
    own = [Run(instance, Entry(OWN, OWN), options) for instance in made]
    return Timing(what, own, _said, [*runs(EXACT, made, options), *runs(HEURISTIC, made, options)], _above)


def _above(own: Sequence[Result], beside: Sequence[Result]) -> dict[str, list[float]]:
    """Return the gaps of both heuristics to each proven optimum."""
    exact, paper = beside[: len(own)], beside[len(own) :]
    rows = [row for row in zip(own, exact, paper, strict=True) if row[1].status == "optimal"]
    return {
        "evolved above the optimum": [(o.objective or 0.0) / (e.objective or 1.0) - 1 for o, e, _ in rows],
        "Full Reconfiguration above the optimum": [(p.objective or 0.0) / (e.objective or 1.0) - 1 for _, e, p in rows],
    }


def _said(own: Sequence[Result], beside: Sequence[Result]) -> str:
    mine, paper = _above(own, beside).values()
    return (
        f"{percent(fmean(mine))} above the optimum, {percent(max(mine))} at worst; Full Reconfiguration "
        f"{percent(fmean(paper))} and {percent(max(paper))}; {len(mine)}/{len(own)} optima proven"
    )


def _search(options: Options, quick: bool) -> Study:
    """Build the study that searches the weights."""

    def tables(outcomes: Sequence[Measured]) -> list[Any]:
        (found,) = outcomes
        return [f"weights {found.figures['weights']}: {percent(found.figures['above'])} above the optima trained on"]

    def values(outcomes: Sequence[Measured]) -> dict[str, Any]:
        (found,) = outcomes
        weights = {f"weight {i}": value for i, value in enumerate(found.figures["weights"])}
        figures = {"above the optima trained on": found.figures["above"], "tried": found.figures["tried"]}
        return {**weights, **figures, "CPU s": found.cpu_s or 0.0}

    few = {"samples": 2, "generations": 1} if quick else {"samples": len(TRAINED_ON)}
    tasks = [Measurement.of(evolved_weights, options, None, first=TRAINED_ON[0], **few)]
    return Study(tasks, tables, values=values)


def evolved_weights(first: int, samples: int, options: Options, generations: int = GENERATIONS) -> dict[str, Any]:
    """Search the best weights on samples by scipy's differential evolution, and return them with the mean gap."""
    from scipy.optimize import differential_evolution  # slow to load

    made = [table_7(200, seed).data for seed in range(first, first + samples)]
    optima = [exact(data, options).objective or 0.0 for data in made]

    def above(weights: Sequence[float]) -> float:
        found = [_cost(data, packed(data, weights)) for data in made]
        return fmean(cost / optimum - 1 for cost, optimum in zip(found, optima, strict=True))

    found = differential_evolution(
        above, RANGES, maxiter=generations, popsize=POPULATION, seed=options.seed, polish=False, tol=0.0
    )
    weights = [round(float(weight), 4) for weight in found.x]
    return {"weights": weights, "above": above(weights), "tried": int(found.nfev)}


def _cost(data: EvaPacking, solution: Solution) -> float:
    """Return the cost of a packing. Raises CheckFailed if it is not feasible."""
    verdict = check(data, solution)
    if verdict.violations or verdict.objective is None:
        raise CheckFailed(f"solution: {next(iter(verdict.violations), 'has no objective')}")
    return verdict.objective
