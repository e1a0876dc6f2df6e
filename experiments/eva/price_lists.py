"""Pods on clouds' price lists, packed to proof within a limit, and by Eva's heuristic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from experiments.eva.benchmark import EXACT, HEURISTIC
from experiments.harness.experiment import Study, limited
from experiments.output.benchmark import Timing, benchmark, proofs, runs
from experiments.output.terminal import percent
from instances import Options, Result
from instances.eva import price_list

LISTS = ("eks", "gke", "aks", "drawn", "karpenter")
SECONDS = {60: 5.0, 200: 5.0, 1_000: 60.0, 3_000: 60.0}
NEAR = 5e-4


def price_lists(
    options: Options,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each size on each list.")] = 10,
    pods: Annotated[list[int] | None, typer.Option(min=1, help="Pods; repeatable. By default all sizes.")] = None,
    cloud: Annotated[list[str] | None, typer.Option(help="A price list; repeatable. By default all.")] = None,
) -> Study:
    """Print how many packings are proven, and how many are within 0.05% of the bound; 5 or 60 CPU seconds each."""
    return benchmark(
        _packed(n, name, seeds, options)
        for n in pods or SECONDS
        for name in cloud or LISTS  # the smallest first
    )


def _packed(n: int, name: str, seeds: int, options: Options) -> Timing:
    made = [price_list(n, seed, cloud=name) for seed in range(seeds)]  # type: ignore[arg-type]
    limit = limited(options, SECONDS.get(n, max(SECONDS.values())))
    beside = runs(HEURISTIC, made, options)
    return Timing(f"{n:,} pods, {name}", runs(EXACT, made, limit), _said, beside, _above)


def _said(results: Sequence[Result], heuristic: Sequence[Result]) -> str:
    near = sum(r.gap is not None and r.gap <= NEAR for r in results)
    above = _above(results, heuristic)["Full Reconfiguration above exact"]
    beside = f"Full Reconfiguration {percent(sum(above) / len(above))} above"
    return f"{near}/{len(results)} within {percent(NEAR, 2)}, {proofs(results)}; {beside}"


def _above(results: Sequence[Result], heuristic: Sequence[Result]) -> dict[str, list[float]]:
    """How far the heuristic is above the packings."""
    pairs = zip(results, heuristic, strict=True)
    return {"Full Reconfiguration above exact": [(h.objective or 0.0) / (r.objective or 1.0) - 1 for r, h in pairs]}
