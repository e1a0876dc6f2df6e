"""Compute the cost of hosting every job from its arrival on.

This is a reference cost, not a bound. Every job is hosted from its arrival on, for its stand-alone time and without
interference. At each arrival and end, a method packs all tasks again, at no cost for the change. A policy may delay
jobs, which this reference does not. So only the bound of `models.eva.work_bound` is valid for every policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.eva.methods import METHODS
from experiments.harness.entry import named
from experiments.harness.experiment import Study
from experiments.harness.run import apply
from experiments.harness.task import Measured, Measurement
from instances import InputError, Instance, Options, Result, load
from instances.eva import EvaCloud, EvaPacking, Task
from instances.eva.cloud_arrays import SECONDS, work_seconds

DEFAULT = "exact"
Solve = Callable[[EvaPacking], Result]
Alive = tuple[tuple[str, int], ...]
"""The number of present tasks of each class."""


@dataclass(frozen=True)
class Yardstick:
    """The cost of hosting in USD, and the proven lower `bound` on this cost, `None` if there is no proof."""

    usd: float
    bound: float | None
    moments: int
    unproven: int


def yardstick(data: EvaCloud, solve: Solve) -> Yardstick:
    """Compute the cost of hosting all jobs from their arrivals on, packed by `solve` at every arrival and end."""
    results: dict[Alive, Result] = {}
    usd, bound, moments, unproven = 0.0, 0.0, 0, 0
    proven = True
    for seconds, alive in _moments(data):
        if alive not in results:
            results[alive] = solve(_packing(data, alive))
        result = results[alive]
        if result.objective is None:
            raise InputError(f"{result.method}: no packing of {sum(k for _, k in alive)} tasks: {result.reason}")
        usd += seconds / SECONDS * result.objective
        proven = proven and result.bound is not None
        bound += seconds / SECONDS * (result.bound or 0.0)
        moments += 1
        unproven += result.status != "optimal"
    return Yardstick(usd, bound if proven else None, moments, unproven)


def _moments(data: EvaCloud) -> Iterator[tuple[float, Alive]]:
    """Yield the intervals between arrivals and ends with present jobs, in seconds, with their tasks."""
    classes = {c.name: c for c in data.classes}
    events: list[tuple[float, int, dict[str, int]]] = []
    for job in data.jobs:
        work = work_seconds(job, classes[next(iter(job.tasks))])
        events += [(job.arrival_seconds, 1, dict(job.tasks)), (job.arrival_seconds + work, -1, dict(job.tasks))]
    alive: Counter[str] = Counter()
    last = 0.0
    for now, sign, tasks in sorted(events, key=lambda event: event[:2]):
        there = tuple(sorted((name, k) for name, k in alive.items() if k))
        if there and now > last:
            yield now - last, there
        last = now
        for name, k in tasks.items():
            alive[name] += sign * k


def _packing(data: EvaCloud, alive: Alive) -> EvaPacking:
    demand = {c.name: c.demand for c in data.classes}
    return EvaPacking(
        resources=data.resources,
        instance_types=tuple(kind.plain for kind in data.instance_types),
        tasks=tuple(Task(workload=name, count=k, demand=demand[name]) for name, k in alive),
        objective="cost",
    )


def yardsticks(
    options: Options,
    file: Annotated[Path, typer.Argument(help="A workload of eva-cloud.")],
    method: Annotated[str, typer.Option(help="Method of eva-packing that packs at every moment.")] = DEFAULT,
) -> Study:
    """Print what hosting every job from its arrival costs, packed anew at every arrival and end."""
    instance = load(file)
    if not isinstance(instance.data, EvaCloud):
        raise InputError(f"{file}: must be of {EvaCloud.problem}, got {instance.problem}")
    entries = {entry.name: entry for entry in METHODS[EvaPacking.problem]}
    if method not in entries:
        raise InputError(f"--method: must be one of {', '.join(entries)}, got {method!r}")
    task = Measurement.of(hosted, options, None, instance=instance, method=method)

    def tables(outcomes: Sequence[Measured]) -> list[str]:
        found = Yardstick(**outcomes[0].figures)
        proven = "no bound" if found.bound is None else f"at least {found.bound:,.2f} USD by any packing"
        unproven = f"{found.moments} moments, {found.unproven} unproven"
        return [f"{method}: {found.usd:,.2f} USD, {proven}; {unproven}; {outcomes[0].cpu_s:.1f} CPU s"]

    return Study([task], tables)


def hosted(instance: Instance[EvaCloud], method: str, options: Options) -> dict[str, Any]:
    """Compute the reference cost of a workload with a packing method."""
    (entry,) = named(METHODS[EvaPacking.problem], method)
    return asdict(yardstick(instance.data, lambda data: apply(entry, Instance.of(data, "moment"), options)))
