"""Count the clusters for which feasibility of the placement is decided, and the proofs of infeasibility."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from statistics import median
from typing import Annotated, Any

import typer

from experiments.harness.experiment import StagedStudy, Stages, TextTable, after, limited
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.kubernetes.crowded import KINDS, crowded
from experiments.kubernetes.methods import METHODS
from instances import InputError, Instance, Options, Result
from instances.kubernetes import NodePlacement, random_cluster
from instances.proofs import NoCertificate
from instances.proofs.empty import NoSolution
from instances.proofs.kubernetes import prove_placement
from models.kubernetes.certificate import certificate
from models.kubernetes.exact import BY_TOTALS

DECISION_S, MOVES_S = 2.0, 5.0
NODES, LOADS = (20, 200), (0.97, 1.0)
CAN, TOTALS, BEYOND, UNDECIDED = "can", "cannot, by totals", "cannot, beyond totals", "undecided"
ACCEPTED, FEWEST = "certificates accepted", "fewest moves proven"
HEAD = ("clusters", "cases", CAN, TOTALS, BEYOND, UNDECIDED, ACCEPTED, FEWEST, "median CPU s", "most")


@dataclass(frozen=True)
class DecidedRow:
    """Clusters by seed, and the time limit for each."""

    draw: Callable[[int], Instance[NodePlacement]]
    seconds: float = DECISION_S


def _full(planted: bool, seed: int) -> Instance[NodePlacement]:
    draw = random.Random(f"full-{seed}")
    return random_cluster(draw.randint(*NODES), seed, load=draw.uniform(*LOADS), planted=planted)


def _hundred(load: float, seed: int) -> Instance[NodePlacement]:
    return random_cluster(100, seed, load=load)


ROWS: Mapping[str, DecidedRow] = {
    "planted": DecidedRow(partial(_full, True)),
    "drawn": DecidedRow(partial(_full, False)),
    **{kind: DecidedRow(partial(crowded, kind)) for kind in KINDS},
    "100 nodes, load 0.97": DecidedRow(partial(_hundred, 0.97), MOVES_S),
    "100 nodes, load 0.99": DecidedRow(partial(_hundred, 0.99), MOVES_S),
}


def decided(
    options: Options,
    seeds: Annotated[int, typer.Option(min=1, help="Clusters of each row.")] = 10,
    row: Annotated[list[str] | None, typer.Option(help="A row; repeatable. By default all.")] = None,
) -> StagedStudy:
    """Print how many clusters are decided: whether all pods can be placed, in 2 or 5 CPU seconds each."""
    for name in row or ():
        if name not in ROWS:
            raise InputError(f"--row: must be one of {', '.join(ROWS)}, got {name!r}")
    rows = {name: one for name, one in ROWS.items() if not row or name in row}
    runs = [
        Run(one.draw(seed), METHODS["node-placement"][0], limited(options, one.seconds))
        for one in rows.values()
        for seed in range(seeds)
    ]

    def stages() -> Stages:
        results = yield runs
        refuted = [run for run, result in zip(runs, results, strict=True) if result.status == "infeasible"]
        if refuted:
            yield [Measurement.of(certified, options, None, instance=run.instance) for run in refuted]

    def by_row(outcomes: Sequence[Any]) -> Iterator[tuple[str, Mapping[str, int], list[float]]]:
        """The numbers under each head, and the CPU seconds."""
        results, proofs = iter(outcomes[: len(runs)]), iter(outcomes[len(runs) :])
        for name in rows:
            found = list(islice(results, seeds))
            said = [_told(result) for result in found]
            accepted: list[Measured] = list(islice(proofs, said.count(TOTALS) + said.count(BEYOND)))
            numbers = {answer: said.count(answer) for answer in (CAN, TOTALS, BEYOND, UNDECIDED)}
            numbers[ACCEPTED] = sum(one.figures["accepted"] for one in accepted)
            numbers[FEWEST] = sum(result.status == "optimal" for result in found)
            yield name, numbers, [result.cpu_s or 0.0 for result in found]

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        lines = [
            [name, str(seeds), *map(str, numbers.values()), f"{median(seconds):.2f}", f"{max(seconds):.2f}"]
            for name, numbers, seconds in by_row(outcomes)
        ]
        return [TextTable(HEAD, lines)]

    def values(outcomes: Sequence[Any]) -> dict[str, Sample | float | str]:
        found: dict[str, Sample | float | str] = {}
        for name, numbers, seconds in by_row(outcomes):
            of = {ACCEPTED: numbers[TOTALS] + numbers[BEYOND]}
            found |= {f"{name}: {what}": f"{number} of {of.get(what, seeds)}" for what, number in numbers.items()}
            found[f"{name}: CPU s"] = Sample.of(seconds)
        return found

    return StagedStudy(after(stages(), []), tables, values=values, stages=stages)


def _told(result: Result) -> str:
    """Classify a result: infeasible by totals, infeasible otherwise, feasible, or undecided."""
    if result.status == "infeasible":
        return TOTALS if result.info["bound_by"] == BY_TOTALS else BEYOND
    return CAN if result.solved else UNDECIDED


def certified(instance: Instance[NodePlacement], options: Options) -> dict[str, Any]:
    """Return whether the instance has an accepted certificate of infeasibility."""
    try:
        text = certificate(instance.data, None, math.inf, options).text
        return {"accepted": isinstance(prove_placement(instance.data, text), NoSolution)}
    except NoCertificate:
        return {"accepted": False}
