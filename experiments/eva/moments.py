"""Moments of Eva's traces, the jobs that are alive at once, packed to proof and by its heuristic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.eva.benchmark import EXACT, HEURISTIC, STRETCH_S
from experiments.harness.experiment import Study, limited
from experiments.output.benchmark import Timing, benchmark, runs
from experiments.output.terminal import percent
from instances import Options, Result
from instances.eva import alive
from instances.tables import read_numbers


def moments(
    options: Options,
    trace: Annotated[list[Path], typer.Option(help="Eva's trace (trace_pai_full.csv); repeatable.")],
    number: Annotated[int, typer.Option(min=1, help="Draws of a moment of each trace.")] = 200,
) -> Study:
    """Print how many random moments of a trace are proven, and how far the heuristic is above their optima."""
    limit = replace(limited(options, STRETCH_S), gap=0.0)
    return benchmark(_packed(file, number, limit) for file in trace)


def _packed(trace: Path, number: int, options: Options) -> Timing:
    """The tasks alive at random times of a trace, each packed within a limit."""
    made = [alive(trace, at) for at in moments_of(trace, number)]
    beside = runs(HEURISTIC, made, options)
    return Timing(f"moments of {trace.stem}", runs(EXACT, made, options), _said, beside, _above)


def moments_of(trace: Path, number: int) -> list[float]:
    """Whole seconds, one a seed, drawn uniformly between 0 and the last arrival; not those at which no job is alive."""
    jobs = read_numbers(trace, ("arrival_s", "duration_s"), least=0)
    drawn = [float(int(np.random.default_rng(seed).uniform(0, jobs["arrival_s"].max()))) for seed in range(number)]
    return [at for at in drawn if ((jobs["arrival_s"] <= at) & (at < jobs["arrival_s"] + jobs["duration_s"])).any()]


def _above(results: Sequence[Result], heuristic: Sequence[Result]) -> dict[str, list[float]]:
    """How far the heuristic is above each optimum that is proven."""
    pairs = zip(results, heuristic, strict=True)
    above = [(h.objective or 0.0) / (r.objective or 1.0) - 1 for r, h in pairs if r.status == "optimal"]
    return {"Full Reconfiguration above the optimum": above}


def _said(results: Sequence[Result], heuristic: Sequence[Result]) -> str:
    proven = sum(r.status == "optimal" for r in results)
    seconds = sorted(r.cpu_s or 0.0 for r in results)
    worst = max(r.gap if r.gap is not None else 1.0 for r in results)
    (above,) = _above(results, heuristic).values()
    said = (
        f"{percent(sum(above) / len(above))} above on average, {percent(max(above))} at worst" if above else "unknown"
    )
    median = seconds[len(seconds) // 2]
    return f"{proven}/{len(results)} proven; median {median:.3f} s, worst gap {percent(worst)}; the heuristic {said}"
