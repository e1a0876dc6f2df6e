"""Studies of Eva: how often its decisions in a round are optimal, what its net saving costs, and a reference cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from experiments.eva.methods import METHODS
from experiments.eva.simulation import rounds_of_eva
from experiments.harness.entry import select_by_name
from experiments.harness.experiment import Study, chunks
from experiments.harness.run import Run, apply
from experiments.harness.task import Measured, Measurement
from heuristics.eva import full_reconfiguration
from instances import InputError, Instance, Options, Result, load
from instances.eva import EvaCloud, EvaPacking, EvaReconfiguration, Task, synthetic_cloud
from instances.eva.cloud_arrays import SECONDS, work_seconds
from models.eva import exact
from models.eva.true_speed import maximise_true_saving, true_saving

PLANS = ("eva-choice", "full", "partial", "stay")
EQUAL = 1e-6  # A plan within this relative gap counts as optimal.


def choices(
    options: Options,
    workload: Annotated[Path, typer.Argument(help="An eva-cloud file.")],
    every: Annotated[int, typer.Option(help="Take every N-th round in which a job arrives or ends.", min=1)] = 4,
) -> Study:
    """Print how many rounds are proven, and for each plan in how many it is optimal and what it loses.

    Every N-th round of Eva's own run is solved exactly.
    """
    entries = select_by_name(METHODS[EvaReconfiguration.problem], "exact", *PLANS)
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


SAVERS: dict[str, Callable[[EvaPacking], Result]] = {
    "optimum of the net saving": exact,
    "full-reconfiguration": full_reconfiguration,
}


def jobs_at_once(jobs: int, seed: int, tasks_per_job: int | None = None, throughput: float | None = None) -> EvaPacking:
    """Return distinct jobs of Table 7 to be hosted at once; `throughput` of every pair, or Figure 1."""
    cloud = synthetic_cloud(jobs, seed, tasks_per_job=tasks_per_job, throughput=throughput).data
    classes = {c.name: c for c in cloud.classes}
    return EvaPacking(
        resources=cloud.resources,
        instance_types=tuple(kind.plain for kind in cloud.instance_types),
        tasks=tuple(
            Task(workload=classes[name].workload, count=k, demand=classes[name].demand, job=job.id, tasks_in_job=k)
            for job in cloud.jobs
            for name, k in job.tasks.items()
        ),
        throughput=cloud.throughput,
        objective="net-saving",
    )


def surrogate(
    options: Options,
    instance_jobs: Annotated[int, typer.Option(help="Jobs of each instance.", min=1)] = 5,
    seeds: Annotated[int, typer.Option(help="Instances.", min=1)] = 20,
    tasks_per_job: Annotated[int | None, typer.Option(help="Tasks of each job.", show_default="as in Table 7")] = None,
    throughput: Annotated[
        float | None,
        typer.Option(help="Throughput of every pair of tasks that share an instance.", show_default="Figure 1"),
    ] = None,
) -> Study:
    """Print the share of the most true saving that each method reaches.

    This is the cost of charging a job for each of its tasks (section 4.4): the optimum of the paper's net saving is
    compared with the optimum with every job at the speed of its slowest task.
    """
    drawn = {"jobs": instance_jobs, "tasks_per_job": tasks_per_job, "throughput": throughput}
    tasks = [Measurement.of(savings, options, None, seed=seed, **drawn) for seed in range(seeds)]

    def tables(outcomes: Sequence[Measured]) -> list[str]:
        best = [one.figures["most"] for one in outcomes]
        lines = [f"{seeds} instances of {instance_jobs} jobs: most true saving {fmean(best):.3f} USD/h on average"]
        for name in SAVERS:
            reached = [one.figures[name] for one in outcomes]
            lost = [top - own for top, own in zip(best, reached, strict=True)]
            equal = sum(loss <= 1e-6 * max(1.0, top) for loss, top in zip(lost, best, strict=True))
            share = sum(reached) / sum(best)
            lines.append(f"{name}: {share:.1%} of it, the same in {equal}, at worst {max(lost):.3f} less")
        return lines

    return Study(tasks, tables)


def savings(
    jobs: int, seed: int, tasks_per_job: int | None, throughput: float | None, options: Options
) -> dict[str, Any]:
    """Return the most true saving of an instance, and that of each method."""
    data = jobs_at_once(jobs, seed, tasks_per_job, throughput)
    found = {"most": maximise_true_saving(data).saving}
    for name, method in SAVERS.items():
        solution = method(data).solution
        assert solution is not None
        found[name] = true_saving(data, solution)
    return found


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
    """Compute a reference cost: all jobs are hosted from their arrivals on, for their stand-alone times.

    At every arrival and end, `solve` packs all tasks again, without interference and at no cost for the change. A
    policy may delay jobs, so this is no bound: only that of `models.eva.work_bound` is valid for every policy.
    """
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
    method: Annotated[str, typer.Option(help="Method of eva-packing that packs at every moment.")] = "exact",
) -> Study:
    """Print the cost of hosting every job from its arrival, if all are packed again at every arrival and end."""
    instance = load(file)
    if not isinstance(instance.data, EvaCloud):
        raise InputError(f"{file}: must be of {EvaCloud.problem}, got {instance.problem}")
    entries = {entry.name: entry for entry in METHODS[EvaPacking.problem]}
    if method not in entries:
        raise InputError(f"--method: must be one of {', '.join(entries)}, got {method!r}")
    task = Measurement.of(measure_reference_cost, options, None, instance=instance, method=method)

    def tables(outcomes: Sequence[Measured]) -> list[str]:
        found = Yardstick(**outcomes[0].figures)
        proven = "no bound" if found.bound is None else f"at least {found.bound:,.2f} USD by any packing"
        unproven = f"{found.moments} moments, {found.unproven} unproven"
        return [f"{method}: {found.usd:,.2f} USD, {proven}; {unproven}; {outcomes[0].cpu_s:.1f} CPU s"]

    return Study([task], tables)


def measure_reference_cost(instance: Instance[EvaCloud], method: str, options: Options) -> dict[str, Any]:
    """Compute the reference cost of a workload with a packing method."""
    (entry,) = select_by_name(METHODS[EvaPacking.problem], method)
    return asdict(yardstick(instance.data, lambda data: apply(entry, Instance.of(data, "moment"), options)))
