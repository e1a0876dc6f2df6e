"""What the paper's rule of preemption and its objective give away.

Jobs that go on with some of their workers, and GPU-hours instead of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Annotated, Any

import typer

from experiments.aryl.excess import place_of
from experiments.harness.experiment import Study, TextTable, chunks, limited
from experiments.harness.task import Measured, Measurement
from heuristics.aryl import reclaim_greedy, reclaim_scf
from instances import Options, Result
from instances.aryl import ArylReclaim, loaned_servers
from models.aryl import exact, pareto_front
from models.aryl.loss import loss

FRAGMENTATION = (0.0, 0.35, 0.7, 1.0)
FRONT_FRAGMENTATION = (0.0, 0.35, 0.7)
"""A front where all is random takes minutes."""
ELASTIC = (0.05, 0.36, 1.0)
SERVERS, RECLAIM, SEEDS, FRONTS, LIMIT_S = 250, 40, 20, 5, 60.0
RULES: tuple[Callable[[ArylReclaim], Result], ...] = (reclaim_greedy, reclaim_scf)


def losses(
    options: Options,
    servers: Annotated[int, typer.Option(min=1, help="Loaned servers of an instance.")] = SERVERS,
    reclaim: Annotated[int, typer.Option(min=1, help="Servers that go back.")] = RECLAIM,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each cell.")] = SEEDS,
    fronts: Annotated[int, typer.Option(min=1, help="Instances of each placement whose front is found.")] = FRONTS,
) -> Study:
    """Print preempted jobs under both rules of preemption, and jobs against GPU-hours."""
    if reclaim > servers:
        raise typer.BadParameter(f"--reclaim: must be <= {servers}, the servers, got {reclaim}")
    limit = limited(options, LIMIT_S)
    drawn = {"servers": servers, "reclaim": reclaim}
    cells = list(product(FRAGMENTATION, ELASTIC))
    tasks = [
        Measurement.of(under_both_rules, limit, 2, **drawn, fragmentation=placed, elastic_share=share, seed=seed)
        for placed, share in cells
        for seed in range(seeds)
    ]
    tasks += [
        Measurement.of(jobs_and_hours, limit, None, **drawn, fragmentation=placed, seed=seed)
        for placed in FRONT_FRAGMENTATION
        for seed in range(fronts)
    ]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        first = chunks(outcomes[: len(cells) * seeds], seeds)
        second = chunks(outcomes[len(cells) * seeds :], fronts)
        return [*_under_both_rules(cells, first), *_jobs_and_hours(second)]

    return Study(tasks, tables)


def under_both_rules(
    servers: int, reclaim: int, fragmentation: float, seed: int, elastic_share: float, options: Options
) -> dict[str, Any]:
    """Jobs that are lost by the paper's rule and by the least number of workers, of the same choices of servers."""
    data = loaned_servers(servers, fragmentation, seed, reclaim, elastic_share=elastic_share).data
    strict = _base_counts(data)
    chosen = [rule(data).solution or {} for rule in RULES]
    best = [exact(d, options, start=chosen[0]) for d in (strict, data)]
    counts = [[loss(d, c["servers"])[1] for c in chosen] for d in (strict, data)]
    return {
        "jobs": [*counts[0], best[0].bound or 0.0, *counts[1], best[1].bound or 0.0],
        "proven": sum(result.status == "optimal" for result in best),
    }


def _under_both_rules(
    cells: Sequence[tuple[float, float]], outcomes: Sequence[Sequence[Measured]]
) -> list[TextTable | str]:
    rows = []
    for (fragmentation, share), of in zip(cells, outcomes, strict=True):
        means = [f"{sum(values) / len(of):.2f}" for values in zip(*(one.figures["jobs"] for one in of), strict=True)]
        rows.append([f"{place_of(fragmentation)}, {share:.0%}", *means])
    rules = "Algorithm 1", "SCF", "optimum"
    proven = sum(one.figures["proven"] for of in outcomes for one in of)
    head = ["placement, elastic jobs", *rules, *(f"{rule}, any workers" for rule in rules)]
    return [TextTable(head, rows), f"{proven} of {2 * sum(map(len, outcomes))} optima proven"]


def _base_counts(data: ArylReclaim) -> ArylReclaim:
    """The same jobs by the paper's rule: preempted with any server of a base worker."""
    jobs = tuple(job.model_copy(update={"workers": None, "min_workers": None}) for job in data.jobs)
    return data.model_copy(update={"jobs": jobs})


def jobs_and_hours(servers: int, reclaim: int, fragmentation: float, seed: int, options: Options) -> dict[str, Any]:
    """Jobs and GPU-hours of Algorithm 1 and SCF, and of the front at its two ends and beside Algorithm 1."""
    data = loaned_servers(servers, fragmentation, seed, reclaim, objective="lost-gpu-hours").data
    front = pareto_front(data, options)
    pairs = [loss(data, (rule(data).solution or {})["servers"]) for rule in RULES]
    corners = [(p.gpu_hours, p.jobs) for p in (front.points[0], front.points[-1])]
    row = [float(number) for hours, jobs in (*pairs, *corners) for number in (jobs, hours)]
    beside = min(p.gpu_hours for p in front.points if p.jobs <= pairs[0][1])
    return {"row": [*row, float(beside), float(len(front.points))], "complete": front.complete}


def _jobs_and_hours(outcomes: Sequence[Sequence[Measured]]) -> list[TextTable | str]:
    rows = []
    for fragmentation, of in zip(FRONT_FRAGMENTATION, outcomes, strict=True):
        means = [sum(values) / len(of) for values in zip(*(one.figures["row"] for one in of), strict=True)]
        cells = [f"{means[i]:.1f}, {means[i + 1]:,.0f}" for i in range(0, 8, 2)]
        rows.append([place_of(fragmentation), *cells, f"{means[8]:,.0f} GPU-hours", f"{means[9]:.1f}"])
    columns = "fewest jobs", "fewest GPU-hours", "no more jobs than Algorithm 1", "points"
    complete = sum(one.figures["complete"] for of in outcomes for one in of)
    return [
        TextTable(["jobs, GPU-hours", "Algorithm 1", "SCF", *columns], rows),
        f"{complete} of {sum(map(len, outcomes))} fronts proven complete",
    ]
