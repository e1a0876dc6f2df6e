"""`python -m experiments.aryl.rules`: how far the allocation rules are above the least mean JCT, by load."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.aryl.methods import METHODS
from experiments.harness.apply import apply, load_method
from experiments.output.markdown import print_markdown
from experiments.output.terminal import err, out, percent
from instances import Options, Stopwatch
from instances.aryl import elastic_jobs

LOADS = (0.3, 0.6, 0.9)
SEEDS, JOBS = 80, 6
LIMIT_S = 600.0
"""On the clock; an optimum of 6 jobs takes at most 3 CPU-seconds."""


def main(
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each load.")] = SEEDS,
    jobs: Annotated[int, typer.Option(min=1, help="Jobs of an instance.")] = JOBS,
) -> None:
    """Print the mean and the largest excess of every rule, and how often it has the least mean JCT of all rules."""
    rules = [entry for entry in METHODS["aryl-elastic"] if load_method(entry).kind == "heuristic"]
    found: dict[str, list[list[float]]] = {entry.name: [] for entry in rules}
    best: dict[str, list[int]] = {entry.name: [] for entry in rules}
    proven = 0
    with Stopwatch() as clock:
        for load in LOADS:
            above: dict[str, list[float]] = {entry.name: [] for entry in rules}
            for seed in range(seeds):
                instance = elastic_jobs(jobs, seed, objective="mean-jct", elastic_share=0.75, load=load)
                exact = next(entry for entry in METHODS["aryl-elastic"] if entry.name == "exact")
                optimum = apply(exact, instance, Options(time_limit=LIMIT_S))
                proven += optimum.status == "optimal"
                for entry in rules:
                    mean = apply(entry, instance, Options()).objective or 0.0
                    above[entry.name].append(mean / (optimum.bound or 1.0) - 1)
            for name, shares in above.items():
                found[name].append(shares)
                least = [min(of[s] for of in above.values()) for s in range(seeds)]
                best[name].append(sum(share <= low + 1e-9 for share, low in zip(shares, least, strict=True)))
            err.print(f"load {load:g}: {clock.cpu_s:.0f} CPU s")
    rows = []
    for name, shares_by_load in sorted(found.items(), key=lambda pair: sum(map(sum, pair[1]))):
        cells = [
            f"{percent(sum(shares) / seeds, 1)} ({percent(max(shares), 1)}), {wins}"
            for shares, wins in zip(shares_by_load, best[name], strict=True)
        ]
        rows.append([f"`{name}`", *cells])
    title = f"above the optimum, {seeds} instances of {jobs} jobs: mean (largest), best rule on"
    print_markdown([title, *(f"load {load:g}" for load in LOADS)], rows)
    out.print(f"{proven} of {seeds * len(LOADS)} optima proven")


if __name__ == "__main__":
    typer.run(main)
