"""Studies of Aryl's problems: CPU seconds, other solvers, growth with size, and the allocation rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from experiments.aryl.methods import METHODS
from experiments.aryl.reclaims import excess
from experiments.harness.entry import Entry
from experiments.harness.experiment import Quick, Study, TextTable, chunks, limit_time
from experiments.harness.run import Run, load_method
from experiments.output.benchmark import Timing, benchmark, runs
from experiments.output.terminal import percent
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.peers.growth import Ladder, build_study
from heuristics.aryl import favour, two_phase
from instances import Instance, Options, Result
from instances.aryl import elastic_jobs, figure_5, loaned_servers, placement_moment, spread_jobs, table_2, table_4
from instances.aryl.reclaim import Loss

STRETCH_S, BENCHMARK_S = 60.0, 120.0
RULES_S = 600.0
"""An optimum of 6 jobs takes at most 3 CPU-seconds."""
EXACT, GREEDY = "models.aryl:exact", "heuristics.aryl:reclaim_greedy"
TWO_PHASE, BEST_FIT = "heuristics.aryl:two_phase", "heuristics.aryl:best_fit_decreasing"


def benchmarks(options: Options, quick: Quick = False) -> Study:
    """Print CPU seconds of building and solving, with one solver thread."""
    return benchmark(_timings(options, quick))


def _timings(options: Options, quick: bool) -> Iterator[Timing]:
    seeds, few = range(1 if quick else 12), range(1 if quick else 3)
    first = 1 if quick else None  # of the sizes of a row, all unless the run is quick
    limit = limit_time(options, BENCHMARK_S)
    examples: list[Instance[Any]] = [table_2(), table_4(), table_2("jct-reduction"), table_4("jct-reduction")]
    yield Timing("examples of the paper", runs(EXACT, [*examples, figure_5()], options), _examples)

    def against(what: str, instances: Sequence[Instance], heuristic: str, name: str) -> Timing:
        beside = runs(heuristic, instances, options)
        return Timing(what, runs(EXACT, instances, limit), partial(_against, name), beside, partial(_above, name))

    for jobs in (6, 8, 10)[:first]:
        share = [elastic_jobs(jobs, s, objective="mean-jct", elastic_share=0.75) for s in seeds]
        yield against(f"mean JCT, {jobs} jobs", share, TWO_PHASE, "two-phase")
    for load, loss in () if quick else product((0.3, 0.6, 0.9), (0.0, 0.1)):
        share = [elastic_jobs(10, s, objective="mean-jct", load=load, scaling_loss=loss) for s in few]
        yield against(
            f"mean JCT, 10 elastic jobs, load {load:g}, loss {percent(loss, 0)}", share, TWO_PHASE, "two-phase"
        )
    jobs, spare = (200, 354) if quick else (2000, 3544)
    for gpus in ((1, 2, 4), (3, 5, 7)):
        large = [elastic_jobs(jobs, s, spare_gpus=spare, gpus_per_worker=gpus) for s in few]
        what = f"knapsack, {jobs:,} jobs, {spare:,} GPUs, workers of {', '.join(map(str, gpus))}"
        yield Timing(what, runs(EXACT, large, limit), _equal_to_highs, runs("models.aryl:literal", large, limit))
    for part in (0.0, 0.5, 1.0) if quick else [tenths / 10 for tenths in range(11)]:
        pools = [loaned_servers(600, part, s, n) for n in (60, 120, 180, 240, 300)[:first] for s in few]
        yield against(f"reclaim 60 to 300 of 600 servers, {percent(part, 0)} random", pools, GREEDY, "Algorithm 1")
    lossy: tuple[tuple[Loss, int], ...] = ("preempted-jobs", 60), ("preempted-jobs", 180), ("lost-gpu-hours", 180)
    for objective, reclaim in lossy:
        wanting = [
            loaned_servers(600, f, s, reclaim, elastic_share=0.36, objective=objective)
            for f in (0.35, 0.7, 1.0)[:first]
            for s in few
        ]
        what = f"reclaim {reclaim} of 600, 36% of jobs elastic, {objective.replace('-', ' ')}"
        yield against(what, wanting, GREEDY, "Algorithm 1")
    for load in (0.7, 0.9):
        moments = [placement_moment(443, 170, s, load=load, gpus_per_worker=(1, 2, 3, 5)) for s in few]
        what = f"place workers on 443 training and 170 loaned servers, {percent(load, 0)} of what is free"
        yield against(what, moments, BEST_FIT, "best-fit decreasing")
    for most, on in ((2, 2), (4, 2), (8, 2), (16, 2), (60, 2), (2, 4), (4, 4)):
        spread = [spread_jobs(600, 1200 * on // (most + 1), s, n, most=most) for n in (60, 180)[:first] for s in few]
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


def _excesses(results: Sequence[Result], rules: Sequence[Result]) -> list[float | None]:
    """Return by how much a rule is above each optimum, as a share; `None` above an optimum of 0."""
    return [excess(b.objective or 0.0, a.objective or 0.0) for a, b in zip(results, rules, strict=True)]


def _above(name: str, results: Sequence[Result], rules: Sequence[Result]) -> dict[str, list[float]]:
    return {f"{name} above the optimum": [share for share in _excesses(results, rules) if share is not None]}


def _against(name: str, results: Sequence[Result], rules: Sequence[Result]) -> str:
    proven = sum(r.status == "optimal" for r in results)
    gap = max((r.gap for r in results if r.gap is not None), default=None)
    shares = _excesses(results, rules)
    known = [share for share in shares if share is not None]
    beyond = f", and above an optimum of 0 in {shares.count(None)}" if None in shares else ""
    above = f"{percent(sum(known) / len(known))} above on average, {percent(max(known))} at most" if known else ""
    return f"{proven}/{len(results)} proven, largest gap {percent(gap)}; {name} {above}{beyond}"


RECLAIMED = "experiments.peers.cp_sat.aryl:reclaimed"
ITEMS = (Peer("HiGHS, items", "experiments.peers.highs.aryl:items"),)
LITERAL = Peer("HiGHS, the literal program", "models.aryl:literal")
RECLAIMS = (
    Peer("HiGHS, k-union", "experiments.peers.highs.aryl:union"),
    Peer("CP-SAT, k-union", RECLAIMED, extra=True),
    Peer("CP-SAT, k-union, 8 workers", RECLAIMED, workers=8, extra=True),
)
BEST = RECLAIMS[0], RECLAIMS[2]


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact methods with the best compact models for other solvers, at equal CPU limits."""
    rows = (
        ("knapsack of 200 jobs", [elastic_jobs(200, s) for s in range(5)], ITEMS),
        ("knapsack of 2,000 jobs", [elastic_jobs(2000, s, spare_gpus=3544) for s in range(5)], ITEMS),
        ("20 of 200 servers, random", [loaned_servers(200, 1.0, s, 20) for s in range(5)], RECLAIMS),
        ("60 of 600 servers, random", [loaned_servers(600, 1.0, s, 60) for s in range(5)], RECLAIMS),
        ("180 of 600 servers, 90% random", [loaned_servers(600, 0.9, s, 180) for s in range(5)], BEST),
        ("8 of 40 servers, spread", [spread_jobs(40, 40, s, 8) for s in range(5)], RECLAIMS),
        ("12 of 60 servers, spread", [spread_jobs(60, 60, s, 12) for s in range(5)], RECLAIMS),
        ("60 of 300 servers, spread", [spread_jobs(300, 300, s, 60) for s in range(5)], BEST),
    )
    made = [PeerRow(f"Aryl, {work}", instances, EXACT, others) for work, instances, others in rows]
    return comparison(made, limit_time(options, LIMIT_S), (0, 2) if quick else ())


_mean_jct = partial(elastic_jobs, objective="mean-jct")
LADDERS = (
    Ladder("Aryl, knapsack", "jobs", (20, 200, 2_000, 20_000), elastic_jobs, EXACT, ITEMS[0]),
    Ladder(
        "Aryl, mean JCT",
        "jobs",
        (2, 3, 4, 6, 8, 10, 12, 14),
        partial(elastic_jobs, objective="mean-jct"),
        EXACT,
        LITERAL,
    ),
    Ladder(
        "Aryl, reclaiming 30%, 90% random",
        "servers",
        (20, 60, 200, 600, 1_200, 2_400),
        lambda size, seed: loaned_servers(size, 0.9, seed, 3 * size // 10),
        EXACT,
        RECLAIMS[0],
    ),
    Ladder(
        "Aryl, reclaiming 20%, spread",
        "servers",
        (20, 40, 60, 100, 150, 200, 300),
        lambda size, seed: spread_jobs(size, size, seed, size // 5),
        EXACT,
        RECLAIMS[2],
    ),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact methods and of their peers grow with the size of the instance."""
    return build_study(LADDERS, limit_time(options, LIMIT_S), quick)


LOADS = (0.3, 0.6, 0.9)


def rules(
    options: Options,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each load.")] = 80,
    instance_jobs: Annotated[int, typer.Option(min=1, help="Jobs of an instance.")] = 6,
) -> Study:
    """Print the mean and the largest excess of every rule, and how often it has the smallest mean JCT of all rules."""
    exact, *others = METHODS["aryl-elastic"]
    others = [entry for entry in others if load_method(entry).kind == "heuristic"]
    tasks: list[Run] = []
    for load, seed in product(LOADS, range(seeds)):
        drawn = elastic_jobs(instance_jobs, seed, objective="mean-jct", elastic_share=0.75, load=load)
        tasks.append(Run(drawn, exact, limit_time(options, RULES_S)))
        tasks += [Run(drawn, entry, options) for entry in others]

    def tables(outcomes: Sequence[Result]) -> list[TextTable | str]:
        by_instance = chunks(outcomes, 1 + len(others))
        proven = sum(results[0].status == "optimal" for results in by_instance)
        above = pd.DataFrame(
            [[(r.objective or 0.0) / (first.bound or 1.0) - 1 for r in rest] for first, *rest in by_instance],
            columns=[entry.name for entry in others],
        )
        best, load_of = above.le(above.min(axis=1) + 1e-9, axis=0), np.repeat(LOADS, seeds)
        mean, largest, wins = above.groupby(load_of).mean(), above.groupby(load_of).max(), best.groupby(load_of).sum()
        rows = []
        for name in above.sum().sort_values(kind="stable").index:
            cells = zip(mean[name], largest[name], wins[name], strict=True)
            rows.append([f"`{name}`", *(f"{percent(a, 1)} ({percent(b, 1)}), {won}" for a, b, won in cells)])
        title = f"above the optimum, {seeds} instances of {instance_jobs} jobs: mean (largest), best rule on"
        head = [title, *(f"load {load:g}" for load in LOADS)]
        return [TextTable(head, rows), f"{proven} of {seeds * len(LOADS)} optima proven"]

    return Study(tasks, tables)
