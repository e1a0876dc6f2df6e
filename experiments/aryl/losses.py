"""`python -m experiments.aryl.losses`: what the paper's rule of preemption and its objective give away.

Jobs that go on with some of their workers, and GPU-hours instead of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from experiments.aryl.excess import place_of
from experiments.output.markdown import print_markdown
from experiments.output.terminal import err, out
from heuristics.aryl import reclaim_greedy, reclaim_scf
from instances import Options, Result, Stopwatch
from instances.aryl import ArylReclaim, loaned_servers
from models.aryl import exact, pareto_front
from models.aryl.loss import loss

FRAGMENTATION = (0.0, 0.35, 0.7, 1.0)
FRONT_FRAGMENTATION = (0.0, 0.35, 0.7)
"""A front where all is random takes minutes."""
ELASTIC = (0.05, 0.36, 1.0)
SERVERS, RECLAIM, SEEDS, FRONTS, LIMIT = 250, 40, 20, 5, Options(time_limit=60.0)
RULES: tuple[Callable[[ArylReclaim], Result], ...] = (reclaim_greedy, reclaim_scf)


def main(
    servers: Annotated[int, typer.Option(min=1, help="Loaned servers of an instance.")] = SERVERS,
    reclaim: Annotated[int, typer.Option(min=1, help="Servers that go back.")] = RECLAIM,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each cell.")] = SEEDS,
    fronts: Annotated[int, typer.Option(min=1, help="Instances of each placement whose front is found.")] = FRONTS,
) -> None:
    """Print preempted jobs under both rules of preemption, and jobs against GPU-hours."""
    if reclaim > servers:
        raise typer.BadParameter(f"--reclaim: must be <= {servers}, the servers, got {reclaim}")
    with Stopwatch() as clock:
        _thresholds(servers, reclaim, range(seeds))
        _hours(servers, reclaim, range(fronts))
    err.print(f"{clock.cpu_s:.0f} CPU s")


def _thresholds(servers: int, reclaim: int, seeds: Sequence[int]) -> None:
    """Jobs that are lost by the paper's rule and by the least number of workers, of the same choices of servers."""
    rows = []
    proven = 0
    for fragmentation in FRAGMENTATION:
        for share in ELASTIC:
            totals = [0.0] * 6
            for seed in seeds:
                data = loaned_servers(servers, fragmentation, seed, reclaim, elastic_share=share).data
                strict = _base_counts(data)
                chosen = [rule(data).solution or {} for rule in RULES]
                best = [exact(d, LIMIT, start=chosen[0]) for d in (strict, data)]
                proven += sum(result.status == "optimal" for result in best)
                counts = [[loss(d, c["servers"])[1] for c in chosen] for d in (strict, data)]
                row = [*counts[0], best[0].bound or 0.0, *counts[1], best[1].bound or 0.0]
                totals = [total + value for total, value in zip(totals, row, strict=True)]
            means = [f"{total / len(seeds):.2f}" for total in totals]
            rows.append([f"{place_of(fragmentation)}, {share:.0%}", *means])
            err.print(f"{fragmentation:g} {share:g}: {' '.join(means)}")
    rules = "Algorithm 1", "SCF", "optimum"
    print_markdown(["placement, elastic jobs", *rules, *(f"{rule}, any workers" for rule in rules)], rows)
    out.print(f"{proven} of {2 * len(seeds) * len(FRAGMENTATION) * len(ELASTIC)} optima proven")


def _base_counts(data: ArylReclaim) -> ArylReclaim:
    """The same jobs by the paper's rule: preempted with any server of a base worker."""
    jobs = tuple(job.model_copy(update={"workers": None, "min_workers": None}) for job in data.jobs)
    return data.model_copy(update={"jobs": jobs})


def _hours(servers: int, reclaim: int, seeds: Sequence[int]) -> None:
    """Jobs and GPU-hours of Algorithm 1 and SCF, and of the front at its two ends and beside Algorithm 1."""
    rows = []
    complete = 0
    for fragmentation in FRONT_FRAGMENTATION:
        sums = [0.0] * 10
        for seed in seeds:
            data = loaned_servers(servers, fragmentation, seed, reclaim, objective="lost-gpu-hours").data
            front = pareto_front(data, LIMIT)
            complete += front.complete
            pairs = [loss(data, (rule(data).solution or {})["servers"]) for rule in RULES]
            corners = [(p.gpu_hours, p.jobs) for p in (front.points[0], front.points[-1])]
            row = [float(number) for hours, jobs in (*pairs, *corners) for number in (jobs, hours)]
            beside = min(p.gpu_hours for p in front.points if p.jobs <= pairs[0][1])
            row += [float(beside), float(len(front.points))]
            sums = [total + value for total, value in zip(sums, row, strict=True)]
        means = [total / len(seeds) for total in sums]
        cells = [f"{means[i]:.1f}, {means[i + 1]:,.0f}" for i in range(0, 8, 2)]
        rows.append([place_of(fragmentation), *cells, f"{means[8]:,.0f} GPU-hours", f"{means[9]:.1f}"])
        err.print(f"{fragmentation:g}: {' | '.join(cells)}")
    columns = "fewest jobs", "fewest GPU-hours", "no more jobs than Algorithm 1", "points"
    print_markdown(["jobs, GPU-hours", "Algorithm 1", "SCF", *columns], rows)
    out.print(f"{complete} of {len(seeds) * len(FRONT_FRAGMENTATION)} fronts proven complete")


if __name__ == "__main__":
    typer.run(main)
