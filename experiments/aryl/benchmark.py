"""Aryl's knapsack, mean JCT, reclaiming and placement, proven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from experiments.aryl.pools import excess
from experiments.harness.entry import Entry
from experiments.harness.experiment import Quick, Study, limited
from experiments.harness.run import Run
from experiments.output.benchmark import Timing, benchmark, runs
from experiments.output.terminal import percent
from heuristics.aryl import favour, two_phase
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

STRETCH_S, LIMIT_S = 60.0, 120.0
EXACT, GREEDY = "models.aryl:exact", "heuristics.aryl:reclaim_greedy"


def benchmarks(
    options: Options,
    quick: Quick = False,
) -> Study:
    """Print CPU seconds of building and solving, with one solver thread."""
    return benchmark(_rows(options, quick))


def _rows(options: Options, quick: bool) -> Iterator[Timing]:
    seeds, few = range(1 if quick else 12), range(1 if quick else 3)
    limit = limited(options, LIMIT_S)
    examples: list[Instance[Any]] = [
        table_2(),
        table_4(),
        table_2("jct-reduction"),
        table_4("jct-reduction"),
        figure_5(),
    ]
    yield Timing("examples of the paper", runs(EXACT, examples, options), _examples)

    def against(what: str, instances: Sequence[Instance], heuristic: str, name: str) -> Timing:
        beside = runs(heuristic, instances, options)
        return Timing(what, runs(EXACT, instances, limit), partial(_against, name), beside, partial(_above, name))

    for jobs in (6,) if quick else (6, 8, 10):
        share = [elastic_jobs(jobs, s, objective="mean-jct", elastic_share=0.75) for s in seeds]
        yield against(f"mean JCT, {jobs} jobs", share, "heuristics.aryl:two_phase", "two-phase")
    if not quick:
        for load in (0.3, 0.6, 0.9):
            for loss in (0.0, 0.1):
                share = [elastic_jobs(10, s, objective="mean-jct", load=load, scaling_loss=loss) for s in few]
                what = f"mean JCT, 10 elastic jobs, load {load:g}, loss {percent(loss, 0)}"
                yield against(what, share, "heuristics.aryl:two_phase", "two-phase")
    jobs, spare = (200, 354) if quick else (2000, 3544)
    for gpus in ((1, 2, 4), (3, 5, 7)):
        large = [elastic_jobs(jobs, s, spare_gpus=spare, gpus_per_worker=gpus) for s in few]
        what = f"knapsack, {jobs:,} jobs, {spare:,} GPUs, workers of {', '.join(map(str, gpus))}"
        yield Timing(what, runs(EXACT, large, limit), _equal_to_highs, runs("models.aryl:literal", large, limit))
    for fragmentation in (0.0, 0.5, 1.0) if quick else [tenths / 10 for tenths in range(11)]:
        pools = [
            loaned_servers(600, fragmentation, s, n)
            for n in (60, 120, 180, 240, 300)[: 1 if quick else None]
            for s in few
        ]
        what = f"reclaim 60 to 300 of 600 servers, {percent(fragmentation, 0)} random"
        yield against(what, pools, GREEDY, "Algorithm 1")
    lossy: tuple[tuple[Loss, int], ...] = ("preempted-jobs", 60), ("preempted-jobs", 180), ("lost-gpu-hours", 180)
    for objective, reclaim in lossy:
        wanting = [
            loaned_servers(600, f, s, reclaim, elastic_share=0.36, objective=objective)
            for f in (0.35, 0.7, 1.0)[: 1 if quick else None]
            for s in few
        ]
        what = f"reclaim {reclaim} of 600, 36% of jobs elastic, {objective.replace('-', ' ')}"
        yield against(what, wanting, GREEDY, "Algorithm 1")
    for load in (0.7, 0.9):
        moments = [placement_moment(443, 170, s, load=load, gpus_per_worker=(1, 2, 3, 5)) for s in few]
        what = f"place workers on 443 training and 170 loaned servers, {percent(load, 0)} of what is free"
        yield against(what, moments, "heuristics.aryl:best_fit_decreasing", "best-fit decreasing")
    for most, on in ((2, 2), (4, 2), (8, 2), (16, 2), (60, 2), (2, 4), (4, 4)):
        spread = [
            spread_jobs(600, 1200 * on // (most + 1), s, n, most=most)
            for n in (60, 180)[: 1 if quick else None]
            for s in few
        ]
        what = f"reclaim 60 and 180 of 600, jobs on up to {most} servers, {on} jobs a server"
        yield against(what, spread, GREEDY, "Algorithm 1")
    if not quick:
        spread = [spread_jobs(300, 300, s, 60) for s in few]
        begun = Entry("exact", EXACT, starts=(Entry("reclaim-greedy", GREEDY),))
        tasks = [Run(instance, begun, replace(options, time_limit=STRETCH_S)) for instance in spread]
        what = f"reclaim 60 of 300, spread over 1 to 8 servers, {STRETCH_S:g} s"
        yield Timing(what, tasks, partial(_against, "Algorithm 1"), runs(GREEDY, spread, options))


def _examples(results: Sequence[Result]) -> str:
    data = table_2().data
    sides = [favour(data, order=order).objective for order in ("AB", "BA")]
    other = favour(table_4().data, order="BA").objective
    rule = two_phase(data).objective
    optima = ", ".join(f"{r.objective:.2f}" for r in results)
    return f"optima {optima}; Table 3 {sides[0]:.2f}, {sides[1]:.2f}; Table 4 {other:.2f}; two-phase {rule:.2f}"


def _equal_to_highs(results: Sequence[Result], highs: Sequence[Result]) -> str:
    pairs = zip(results, highs, strict=True)
    equal = sum(abs((a.objective or 0.0) - (b.objective or 1.0)) <= 1e-6 * (a.objective or 1.0) for a, b in pairs)
    slow = sum(b.cpu_s or 0.0 for b in highs) / len(highs)
    return f"{equal}/{len(results)} equal to HiGHS on the literal model, which takes {slow:.1f} s"


def _above(name: str, results: Sequence[Result], rules: Sequence[Result]) -> dict[str, list[float]]:
    """How far a rule is above each optimum, where there is such a share."""
    shares = [excess(b.objective or 0.0, a.objective or 0.0) for a, b in zip(results, rules, strict=True)]
    return {f"{name} above the optimum": [share for share in shares if share is not None]}


def _against(name: str, results: Sequence[Result], rules: Sequence[Result]) -> str:
    proven = sum(r.status == "optimal" for r in results)
    gap = max((r.gap for r in results if r.gap is not None), default=None)
    shares = [excess(b.objective or 0.0, a.objective or 0.0) for a, b in zip(results, rules, strict=True)]
    known = [share for share in shares if share is not None]
    beyond = f", and above an optimum of 0 in {shares.count(None)}" if None in shares else ""
    above = f"{percent(sum(known) / len(known))} above on average, {percent(max(known))} at most" if known else ""
    return f"{proven}/{len(results)} proven, largest gap {percent(gap)}; {name} {above}{beyond}"
