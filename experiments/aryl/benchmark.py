"""`python -m experiments.aryl.benchmark`: Aryl's knapsack, mean JCT, reclaiming and placement, proven."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from experiments.aryl.excess import excess
from experiments.output.benchmark import Measured, measure, show
from experiments.output.terminal import percent
from heuristics.aryl import best_fit_decreasing, favour, reclaim_greedy, two_phase
from instances import Instance, Options, Result
from instances.aryl import (
    elastic_jobs,
    figure_5,
    loaned_servers,
    placement_moment,
    spread_jobs,
    table_2,
    table_4,
)
from instances.aryl.reclaim import Loss
from models.aryl import exact, literal

STRETCH_S = 60.0
LIMIT = Options(time_limit=120.0)


def main(quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds, no stretch row.")] = False) -> None:
    """Print CPU seconds of one process and one solver thread, from data to checked result."""
    show("aryl-elastic, aryl-reclaim and aryl-placement", [row() for row in _rows(quick)])


def _rows(quick: bool) -> Iterator[Callable[[], Measured]]:
    seeds, few = range(3 if quick else 12), range(1 if quick else 3)
    examples: list[Instance[Any]] = [
        table_2(),
        table_4(),
        table_2("jct-reduction"),
        table_4("jct-reduction"),
        figure_5(),
    ]
    yield partial(measure, "examples of the paper", [partial(exact, i.data) for i in examples], _examples)
    for jobs in (6, 8) if quick else (6, 8, 10):
        share = [elastic_jobs(jobs, s, objective="mean-jct", elastic_share=0.75) for s in seeds]
        yield partial(measure, f"mean JCT, {jobs} jobs", _exactly(share), _against(share, two_phase, "two-phase"))
    if not quick:
        for load in (0.3, 0.6, 0.9):
            for loss in (0.0, 0.1):
                share = [elastic_jobs(10, s, objective="mean-jct", load=load, scaling_loss=loss) for s in few]
                what = f"mean JCT, 10 elastic jobs, load {load:g}, loss {percent(loss, 0)}"
                yield partial(measure, what, _exactly(share), _against(share, two_phase, "two-phase"))
    for gpus in ((1, 2, 4), (3, 5, 7)):
        large = [elastic_jobs(2000, s, spare_gpus=3544, gpus_per_worker=gpus) for s in few]
        what = f"knapsack, 2,000 jobs, 3,544 GPUs, workers of {', '.join(map(str, gpus))}"
        yield partial(measure, what, _exactly(large), _equal_to_highs(large))
    exact(loaned_servers(60, 1.0, 0, 12).data)  # Compiles what is compiled at first use.
    for fragmentation in (0.0, 0.5, 1.0) if quick else [tenths / 10 for tenths in range(11)]:
        pools = [loaned_servers(600, fragmentation, s, n) for n in (60, 120, 180, 240, 300) for s in few]
        what = f"reclaim 60 to 300 of 600 servers, {percent(fragmentation, 0)} random"
        yield partial(measure, what, _exactly(pools), _against(pools, reclaim_greedy, "Algorithm 1"))
    lossy: tuple[tuple[Loss, int], ...] = ("preempted-jobs", 60), ("preempted-jobs", 180), ("lost-gpu-hours", 180)
    for objective, reclaim in lossy:
        wanting = [
            loaned_servers(600, f, s, reclaim, elastic_share=0.36, objective=objective)
            for f in (0.35, 0.7, 1.0)
            for s in few
        ]
        what = f"reclaim {reclaim} of 600, 36% of jobs elastic, {objective.replace('-', ' ')}"
        yield partial(measure, what, _exactly(wanting), _against(wanting, reclaim_greedy, "Algorithm 1"))
    for load in (0.7, 0.9):
        moments = [placement_moment(443, 170, s, load=load, gpus_per_worker=(1, 2, 3, 5)) for s in few]
        what = f"place workers on 443 training and 170 loaned servers, {percent(load, 0)} of what is free"
        yield partial(measure, what, _exactly(moments), _against(moments, best_fit_decreasing, "best-fit decreasing"))
    for most, on in ((2, 2), (4, 2), (8, 2), (16, 2), (60, 2), (2, 4), (4, 4)):
        spread = [spread_jobs(600, 1200 * on // (most + 1), s, n, most=most) for n in (60, 180) for s in few]
        what = f"reclaim 60 and 180 of 600, jobs on up to {most} servers, {on} jobs a server"
        yield partial(measure, what, _exactly(spread), _against(spread, reclaim_greedy, "Algorithm 1"))
    if not quick:
        spread = [spread_jobs(300, 300, s, 60) for s in few]
        limit = Options(time_limit=STRETCH_S)
        solves = [partial(exact, i.data, limit, start=reclaim_greedy(i.data).solution) for i in spread]
        note = _against(spread, reclaim_greedy, "Algorithm 1")
        yield partial(measure, f"reclaim 60 of 300, spread over 1 to 8 servers, {STRETCH_S:g} s", solves, note)


def _exactly(instances: list[Instance]) -> list[Callable[[], Result]]:
    return [partial(exact, instance.data, LIMIT) for instance in instances]


def _examples(results: list[Result]) -> str:
    data = table_2().data
    sides = [favour(data, order=order).objective for order in ("AB", "BA")]
    other = favour(table_4().data, order="BA").objective
    rule = two_phase(data).objective
    optima = ", ".join(f"{r.objective:.2f}" for r in results)
    return f"optima {optima}; Table 3 {sides[0]:.2f}, {sides[1]:.2f}; Table 4 {other:.2f}; two-phase {rule:.2f}"


def _equal_to_highs(instances: list[Instance]) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        highs = [literal(instance.data, LIMIT) for instance in instances]
        pairs = list(zip(results, highs, strict=True))
        equal = sum(abs((a.objective or 0.0) - (b.objective or 1.0)) <= 1e-6 * (a.objective or 1.0) for a, b in pairs)
        slow = sum((b.build_s or 0.0) + (b.solve_s or 0.0) for b in highs) / len(highs)
        return f"{equal}/{len(results)} equal to HiGHS on the literal model, which takes {slow:.1f} s"

    return note


def _against(instances: list[Instance], heuristic: Callable[..., Result], name: str) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        proven = sum(r.status == "optimal" for r in results)
        gap = max((r.gap for r in results if r.gap is not None), default=None)
        pairs = zip(instances, results, strict=True)
        objectives = [(heuristic(i.data).objective or 0.0, r.objective or 0.0) for i, r in pairs]
        shares = [excess(*pair) for pair in objectives]
        known = [share for share in shares if share is not None]
        beyond = f", and above an optimum of 0 in {shares.count(None)}" if None in shares else ""
        above = f"{percent(sum(known) / len(known))} above on average, {percent(max(known))} at most" if known else ""
        return f"{proven}/{len(results)} proven, largest gap {percent(gap)}; {name} {above}{beyond}"

    return note


if __name__ == "__main__":
    typer.run(main)
