"""Measure the excess of allocation rules over the minimum mean JCT, by load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from experiments.aryl.methods import METHODS
from experiments.harness.experiment import Study, TextTable, chunks, limited
from experiments.harness.run import Run, load_method
from experiments.output.terminal import percent
from instances import Options, Result
from instances.aryl import elastic_jobs

LOADS = (0.3, 0.6, 0.9)
SEEDS, JOBS = 80, 6
LIMIT_S = 600.0
"""An optimum of 6 jobs takes at most 3 CPU-seconds."""


def rules(
    options: Options,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each load.")] = SEEDS,
    instance_jobs: Annotated[int, typer.Option(min=1, help="Jobs of an instance.")] = JOBS,
) -> Study:
    """Print the mean and the largest excess of every rule, and how often it has the least mean JCT of all rules."""
    exact = METHODS["aryl-elastic"][0]
    others = [entry for entry in METHODS["aryl-elastic"] if load_method(entry).kind == "heuristic"]
    tasks: list[Run] = []
    for load in LOADS:
        for seed in range(seeds):
            drawn = elastic_jobs(instance_jobs, seed, objective="mean-jct", elastic_share=0.75, load=load)
            tasks.append(Run(drawn, exact, limited(options, LIMIT_S)))
            tasks += [Run(drawn, entry, options) for entry in others]

    def tables(outcomes: Sequence[Result]) -> list[TextTable | str]:
        by_instance = chunks(outcomes, 1 + len(others))
        proven = sum(results[0].status == "optimal" for results in by_instance)
        above = [[(r.objective or 0.0) / (first.bound or 1.0) - 1 for r in rest] for first, *rest in by_instance]
        found: dict[str, list[list[float]]] = {entry.name: [] for entry in others}
        best: dict[str, list[int]] = {entry.name: [] for entry in others}
        for of_load in chunks(above, seeds):
            for k, entry in enumerate(others):
                found[entry.name].append([shares[k] for shares in of_load])
                best[entry.name].append(sum(shares[k] <= min(shares) + 1e-9 for shares in of_load))
        rows = []
        for name, by_load in sorted(found.items(), key=lambda pair: sum(map(sum, pair[1]))):
            cells = [
                f"{percent(sum(shares) / seeds, 1)} ({percent(max(shares), 1)}), {wins}"
                for shares, wins in zip(by_load, best[name], strict=True)
            ]
            rows.append([f"`{name}`", *cells])
        title = f"above the optimum, {seeds} instances of {instance_jobs} jobs: mean (largest), best rule on"
        head = [title, *(f"load {load:g}" for load in LOADS)]
        return [TextTable(head, rows), f"{proven} of {seeds * len(LOADS)} optima proven"]

    return Study(tasks, tables)
