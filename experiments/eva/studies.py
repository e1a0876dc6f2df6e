"""Studies of Eva's packing: its times, packings of price lists and of moments of a trace, other solvers, and growth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, get_args

import numpy as np
import typer

from experiments.eva.evolved import pack, solve
from experiments.eva.methods import METHODS
from experiments.harness.entry import Entry, select_by_name
from experiments.harness.experiment import Quick, Study, limit_time
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.output.benchmark import Timing, benchmark, proofs, runs
from experiments.output.terminal import percent
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.peers.growth import Ladder, build_study
from heuristics.eva import reconfigure
from instances import CheckFailed, Instance, Options, Result, Solution, Stopwatch, check
from instances.eva import (
    EvaPacking,
    alibaba,
    alive,
    packing_arrays,
    pod_requests,
    price_list,
    random_round,
    random_workloads,
    table_7,
)
from instances.eva.price_lists import Cloud
from instances.eva.vector_packing import Types, caprara_toth, paper_sizes
from instances.tables import read_numbers
from models.eva import exact

STRETCH_S = 60.0
BLOCKS = 10  # of equal length in time; moments near to each other share jobs, so a bootstrap draws whole blocks
PERTURBED_S = 120.0
THROUGHPUTS = (0.5, 0.8)
WEAKER, NEAR = (0.5, 0.6, 0.8, 0.95), 0.01  # more seeds from these throughputs on, until the gap is at most that
EXACT, HEURISTIC = "models.eva:exact", "heuristics.eva:full_reconfiguration"
TRIES = 5
LISTS = ("eks", "gke", "aks", "drawn", "karpenter")
LISTS_S = {60: 5.0, 200: 5.0, 1_000: 60.0, 3_000: 60.0}  # limits, by the number of pods
NEAR_ON_LISTS = 5e-4
ROUND = "models.eva.reconfiguration:exact_reconfiguration"
PATTERNS = Peer("HiGHS, all maximal patterns", "experiments.peers.highs.eva:patterns")
CONTENTS = Peer("HiGHS, all contents", "experiments.peers.highs.eva:contents")
COLUMNS = Peer("HiGHS, column generation", "experiments.peers.highs.eva:columns")
(_LITERAL,) = select_by_name(METHODS["eva-reconfiguration"], "literal")
LITERAL = Peer("HiGHS, the literal program", _LITERAL.target)


def benchmarks(
    options: Options,
    pods: Annotated[Path | None, typer.Option(help="Alibaba pod list (openb_pod_list_default.csv).")] = None,
    quick: Quick = False,
    net_saving: Annotated[bool, typer.Option("--net-saving", help="Only many workloads that interfere.")] = False,
    vector_packing: Annotated[
        bool, typer.Option("--vector-packing", help="Caprara and Toth's ten classes instead.")
    ] = False,
    three: Annotated[
        bool, typer.Option("--three-types", help="Use three instance types for --vector-packing.")
    ] = False,
) -> Study:
    """Print CPU seconds of building and solving, with one solver thread."""
    stretch = limit_time(options, STRETCH_S)
    if vector_packing or three:
        return benchmark(_classes("three" if three else "one", range(2 if quick else 10), replace(stretch, gap=0.0)))
    if net_saving:
        return benchmark(_interfering(quick, stretch))
    return benchmark(_rows(options, pods, quick))


def _rows(options: Options, pods: Path | None, quick: bool) -> Iterator[Timing]:
    few = range(2 if quick else 10)
    stretch = replace(limit_time(options, STRETCH_S), gap=0.0)
    tables = [table_7(200, seed) for seed in range(2 if quick else 30)]
    saving = [table_7(200, seed, objective="net-saving") for seed in few]
    large = [table_7(n, 0) for n in (1_000, 8_000, 100_000)[: 1 if quick else None]]
    yield Timing("200 tasks of Table 7, cost", runs(EXACT, tables, options))
    for one in large:
        yield Timing(f"{_tasks(one):,} tasks of Table 7, cost", runs(EXACT, [one], options))
    yield Timing(
        "200 tasks, Figure 1, net-saving",
        runs(EXACT, saving, options),
        _describe_kept,
        runs(HEURISTIC, saving, options),
    )
    big = table_7(8_000, 0, objective="net-saving")
    yield Timing("8,000 tasks, Figure 1, net-saving", runs(EXACT, [big], options))
    for one in (tables[0], *large):
        yield _heuristic(f"{_tasks(one):,} tasks", one, options)
    what = "gap of Full Reconfiguration, 200 tasks"
    yield Timing(what, runs(HEURISTIC, tables, options), _gaps, runs(EXACT, tables, options))
    for n in (20,) if quick else (100, 300, 1_000, 2_000):
        yield Timing(f"{n:,} distinct pods", runs(EXACT, [pod_requests(n, 0, path=pods)], stretch))
    if pods is None:
        return
    rounded = alibaba(pods)
    yield Timing(f"pod list, {_classes_of(rounded)}", runs(EXACT, [rounded], replace(options, gap=0.0)))
    yield _heuristic(_classes_of(rounded), rounded, options)
    if not quick:
        shares, spread = alibaba(pods, gpus="fractional"), alibaba(pods, perturb=0.1)
        longer = replace(limit_time(options, PERTURBED_S), gap=0.0)
        yield Timing(f"pod list, GPU shares, {_classes_of(shares)}", runs(EXACT, [shares], stretch))
        yield Timing(f"pod list, perturbed, {_classes_of(spread)}", runs(EXACT, [spread], longer))


def _interfering(quick: bool, options: Options) -> Iterator[Timing]:
    """Random throughput matrices, from each of `THROUGHPUTS` to 1, and more of them until they are near the bound."""
    tasks, workloads = (40, 10) if quick else (200, 60)
    for least in THROUGHPUTS:
        made = [random_workloads(tasks, workloads, seed, least_throughput=least) for seed in range(2 if quick else 5)]
        what = f"{tasks} tasks of {workloads} workloads, throughput {least:g} to 1"
        yield Timing(what, runs(EXACT, made, options), _describe_kept, runs(HEURISTIC, made, options))
    for least in WEAKER:
        made = [random_workloads(tasks, workloads, seed, least_throughput=least) for seed in range(1 if quick else 20)]
        what = f"the same, {least:g} to 1, until within {percent(NEAR)}"
        yield Timing(what, runs(EXACT, made, replace(options, gap=NEAR)), _near)


def _classes(types: Types, seeds: Sequence[int], options: Options) -> Iterator[Timing]:
    """Each class and size of two-dimensional vector packing, on one instance type or three."""
    for number in range(1, 11):
        for items in paper_sizes(number):
            made = [caprara_toth(number, items, seed, types=types) for seed in seeds]
            yield Timing(f"class {number}, {items} items", runs(EXACT, made, options), _describe_convergence)


def _heuristic(of: str, instance: Instance[EvaPacking], options: Options) -> Timing:
    """Time repeated runs of Full Reconfiguration, compared with its algorithm alone on prepared arrays."""
    beside = Measurement.of(measure_arrays, options, instance=instance)
    return Timing(
        f"Full Reconfiguration, {of}", runs(HEURISTIC, [instance] * TRIES, options), _describe_arrays, [beside]
    )


def measure_arrays(instance: Instance[EvaPacking], options: Options) -> dict[str, Any]:
    """Return the minimum CPU seconds of Algorithm 1 on arrays over a few runs."""
    arrays, seconds = packing_arrays(instance.data), []
    for _ in range(TRIES):
        with Stopwatch() as watch:
            reconfigure(arrays)
        seconds.append(watch.cpu_s)
    return {"least_s": min(seconds)}


def _tasks(instance: Instance[EvaPacking]) -> int:
    return sum(task.count for task in instance.data.tasks)


def _classes_of(instance: Instance[EvaPacking]) -> str:
    return f"{len(instance.data.tasks)} classes"


def _describe_arrays(results: Sequence[Result], measured: Sequence[Measured]) -> str:
    return f"the algorithm alone {1000 * measured[0].figures['least_s']:.2f} ms"


def _gaps(results: Sequence[Result], exact: Sequence[Result]) -> str:
    gaps = above(exact, results)
    return f"mean {percent(sum(gaps) / len(gaps))}, max {percent(max(gaps))} above the optimum"


def above(results: Sequence[Result], heuristic: Sequence[Result]) -> list[float]:
    """Return how far a heuristic is above each of the exact results."""
    pairs = zip(results, heuristic, strict=True)
    return [(h.objective or 0.0) / (r.objective or 1.0) - 1 for r, h in pairs]


def above_proven(results: Sequence[Result], heuristic: Sequence[Result]) -> list[float]:
    """Return how far a heuristic is above each optimum that is proven."""
    return [a for a, r in zip(above(results, heuristic), results, strict=True) if r.status == "optimal"]


def _describe_kept(results: Sequence[Result], heuristic: Sequence[Result]) -> str:
    kept = [(h.objective or 0.0) / (r.objective or 1.0) for h, r in zip(heuristic, results, strict=True)]
    proven = sum(r.status == "optimal" for r in results)
    gap = percent(max((r.gap or 0.0 for r in results), default=None), 4)
    share = percent(sum(kept) / len(kept))
    return f"{proven}/{len(results)} proven, largest gap {gap}; Full Reconfiguration keeps {share}"


def _near(results: Sequence[Result]) -> str:
    gaps = [1.0 if r.gap is None else r.gap for r in results]
    return f"{sum(g <= NEAR for g in gaps)}/{len(gaps)} within {percent(NEAR)}, largest gap {percent(max(gaps))}"


def _describe_convergence(results: Sequence[Result]) -> str:
    """Describe how many optima are proven, how many linear programs are solved, and the largest absolute gap.

    A linear program over enumerated patterns counts as solved, because HiGHS has all its columns.
    """
    proven = sum(r.status == "optimal" for r in results)
    solved = sum(r.info["method"] == "patterns" or bool(r.info.get("lp_converged")) for r in results)
    apart = max((r.objective or 0.0) - (r.bound or 0.0) for r in results)
    return f"{proven}/{len(results)} proven, {solved} linear programs solved, at most {apart:g} above the bound"


def price_lists(
    options: Options,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each size on each list.")] = 10,
    pods: Annotated[list[int] | None, typer.Option(min=1, help="Pods; repeatable. By default all sizes.")] = None,
    cloud: Annotated[list[str] | None, typer.Option(help="A price list; repeatable. By default all.")] = None,
) -> Study:
    """Print how many packings are proven, and how many are within 0.05% of the bound; 5 or 60 CPU seconds each."""
    return benchmark(
        _time_listed(n, name, seeds, options)
        for n in pods or LISTS_S
        for name in cloud or LISTS  # the smallest first
    )


def _time_listed(n: int, name: str, seeds: int, options: Options) -> Timing:
    made = [price_list(n, seed, cloud=name) for seed in range(seeds)]  # type: ignore[arg-type]
    limit = limit_time(options, LISTS_S.get(n, max(LISTS_S.values())))

    def describe(results: Sequence[Result], heuristic: Sequence[Result]) -> str:
        near = sum(r.gap is not None and r.gap <= NEAR_ON_LISTS for r in results)
        mean = percent(sum(above(results, heuristic)) / len(results))
        share = f"{near}/{len(results)} within {percent(NEAR_ON_LISTS, 2)}"
        return f"{share}, {proofs(results)}; Full Reconfiguration {mean} above"

    def measures(results: Sequence[Result], heuristic: Sequence[Result]) -> dict[str, list[float]]:
        return {"Full Reconfiguration above exact": above(results, heuristic)}

    return Timing(f"{n:,} pods, {name}", runs(EXACT, made, limit), describe, runs(HEURISTIC, made, options), measures)


def moments(
    options: Options,
    trace: Annotated[list[Path], typer.Option(help="Eva's trace (trace_pai_full.csv); repeatable.")],
    number: Annotated[int, typer.Option(min=1, help="Draws of a moment of each trace.")] = 200,
) -> Study:
    """Print how many random moments of a trace are proven, and how far the heuristic is above their optima."""
    limit = replace(limit_time(options, STRETCH_S), gap=0.0)
    return benchmark(_time_packing(file, number, limit) for file in trace)


def _time_packing(trace: Path, number: int, options: Options) -> Timing:
    """Time the packing of the tasks alive at random times of a trace, each within a limit."""
    times, made = times_of(trace, number), moments_of(trace, number)
    span = max(times) + 1.0
    blocks = [int(BLOCKS * at / span) for at in times]

    def describe(results: Sequence[Result], heuristic: Sequence[Result]) -> str:
        seconds, worst = [r.cpu_s or 0.0 for r in results], max(1.0 if r.gap is None else r.gap for r in results)
        proven, said = above_proven(results, heuristic), "unknown"
        if proven:
            said = f"{percent(sum(proven) / len(proven))} above on average, {percent(max(proven))} at worst"
        share = f"{len(proven)}/{len(results)} proven; median {sorted(seconds)[len(seconds) // 2]:.3f} s"
        return f"{share}, worst gap {percent(worst)}; the heuristic {said}"

    def measures(results: Sequence[Result], heuristic: Sequence[Result]) -> dict[str, Sample]:
        pairs = zip(above(results, heuristic), blocks, results, strict=True)
        proven = [(excess, block) for excess, block, r in pairs if r.status == "optimal"]
        if not proven:
            return {}
        values = [excess for excess, _ in proven]
        mean = Sample.bootstrap(values, [block for _, block in proven], fmean)
        whole = replace(mean, seeds=len(values), least=min(values), greatest=max(values))
        return {"Full Reconfiguration above the optimum": whole}

    beside = runs(HEURISTIC, made, options)
    return Timing(f"moments of {trace.stem}", runs(EXACT, made, options), describe, beside, measures)


def moments_of(trace: Path, number: int) -> list[Instance[EvaPacking]]:
    """Return the tasks alive at the times of `times_of`."""
    return [alive(trace, at) for at in times_of(trace, number)]


def times_of(trace: Path, number: int) -> list[float]:
    """Draw whole seconds uniformly between 0 and the last arrival, and leave out those at which no job is alive."""
    jobs = read_numbers(trace, ("arrival_s", "duration_s"), least=0)
    first, last = jobs["arrival_s"], jobs["arrival_s"] + jobs["duration_s"]
    drawn = [float(int(np.random.default_rng(seed).uniform(0, first.max()))) for seed in range(number)]
    return [at for at in drawn if ((first <= at) & (at < last)).any()]


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact packing with the best compact model for another solver, at equal CPU limits."""
    few, more = ([price_list(n, 0, cloud=cloud) for cloud in get_args(Cloud)] for n in (20, 60))
    tables = [table_7(200, s) for s in range(5)]
    saving = [table_7(200, s, objective="net-saving") for s in range(5)]
    rows = (
        PeerRow("Eva, 200 tasks of Table 7", tables, EXACT, [PATTERNS]),
        PeerRow("Eva, net saving of 200 tasks of Table 7", saving, EXACT, [CONTENTS]),
        PeerRow("Eva, 20 pods on a price list", few, EXACT, [COLUMNS]),
        PeerRow("Eva, 60 pods on a price list", more, EXACT, [COLUMNS]),
        PeerRow("Eva, 100 distinct pods", [pod_requests(100, s) for s in range(5)], EXACT, [COLUMNS]),
    )
    return comparison(rows, limit_time(options, LIMIT_S), (0, 1) if quick else ())


def _workloads(size: int, seed: int) -> Instance[EvaPacking]:
    return random_workloads(200, size, seed, least_throughput=0.8)


LADDERS = (
    Ladder("Eva, Table 7", "tasks", (50, 200, 1_000, 8_000, 80_000), table_7, EXACT, PATTERNS),
    Ladder("Eva, net saving of 200 tasks", "workloads", (5, 10, 20, 40, 60), _workloads, EXACT, CONTENTS),
    Ladder("Eva, EKS price list", "pods", (5, 20, 60, 200, 600, 2_000), price_list, EXACT, COLUMNS),
    Ladder("Eva, distinct pods", "pods", (5, 20, 50, 100, 200, 500, 1_000, 2_000), pod_requests, EXACT, COLUMNS),
    Ladder("Eva, a round", "tasks", (5, 10, 20, 40, 80, 160, 320), random_round, ROUND, LITERAL, _LITERAL.unfit),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact packing and of its peers grow with the size of the instance."""
    return build_study(LADDERS, limit_time(options, LIMIT_S), quick)


TRAINED_ON, HELD_OUT = range(1000, 1020), range(30)  # seeds of samples of Table 7
RANGES = ((0.5, 2.5), (0.0, 2.0), (0.0, 2.0), (0.0, 2.0), (0.8, 1.1))
GENERATIONS, POPULATION = 25, 4  # times as many weights as there are
OWN = f"{solve.__module__}:{solve.__name__}"


def evolution(
    options: Options,
    trace: Annotated[list[Path] | None, typer.Option(help="Eva's trace, for its moments; repeatable.")] = None,
    number: Annotated[int, typer.Option(min=1, help="Draws of a moment of each trace.")] = 20,
    quick: Quick = False,
    evolve: Annotated[bool, typer.Option("--evolve", help="Search the weights again, and print them.")] = False,
) -> Study:
    """Print how far the evolved packing heuristic is above optima of samples and moments that it was not fitted to."""
    if evolve:
        return _search(options, quick)
    held_out = {"200 tasks of Table 7, held out": [table_7(200, seed) for seed in HELD_OUT[: 3 if quick else None]]}
    for file in trace or ():
        held_out[f"moments of {file.stem}"] = moments_of(file, number)
    return benchmark(_time_evolved(what, made, options) for what, made in held_out.items())


def _time_evolved(what: str, made: Sequence[Instance], options: Options) -> Timing:
    own = [Run(instance, Entry(OWN, OWN), options) for instance in made]
    return Timing(what, own, _describe_gaps, [*runs(EXACT, made, options), *runs(HEURISTIC, made, options)], _above)


def _above(own: Sequence[Result], beside: Sequence[Result]) -> dict[str, list[float]]:
    """Return the gaps of both heuristics to each proven optimum."""
    exact, paper = beside[: len(own)], beside[len(own) :]
    return {
        "evolved above the optimum": above_proven(exact, own),
        "Full Reconfiguration above the optimum": above_proven(exact, paper),
    }


def _describe_gaps(own: Sequence[Result], beside: Sequence[Result]) -> str:
    mine, paper = _above(own, beside).values()
    return (
        f"{percent(fmean(mine))} above the optimum, {percent(max(mine))} at worst; Full Reconfiguration "
        f"{percent(fmean(paper))} and {percent(max(paper))}; {len(mine)}/{len(own)} optima proven"
    )


def _search(options: Options, quick: bool) -> Study:
    """Build the study that searches the weights."""

    def tables(outcomes: Sequence[Measured]) -> list[Any]:
        (found,) = outcomes
        return [f"weights {found.figures['weights']}: {percent(found.figures['above'])} above the optima trained on"]

    def values(outcomes: Sequence[Measured]) -> dict[str, Any]:
        (found,) = outcomes
        weights = {f"weight {i}": value for i, value in enumerate(found.figures["weights"])}
        figures = {"above the optima trained on": found.figures["above"], "tried": found.figures["tried"]}
        return {**weights, **figures, "CPU s": found.cpu_s or 0.0}

    few = {"samples": 2, "generations": 1} if quick else {"samples": len(TRAINED_ON)}
    task = Measurement.of(search_weights, options, None, first=TRAINED_ON[0], **few)
    return Study([task], tables, values=values)


def search_weights(first: int, samples: int, options: Options, generations: int = GENERATIONS) -> dict[str, Any]:
    """Search the best weights on samples by scipy's differential evolution, and return them with the mean gap."""
    from scipy.optimize import differential_evolution  # slow to load

    made = [table_7(200, seed).data for seed in range(first, first + samples)]
    optima = [exact(data, options).objective or 0.0 for data in made]

    def above(weights: Sequence[float]) -> float:
        found = [_cost(data, pack(data, weights)) for data in made]
        return fmean(cost / optimum - 1 for cost, optimum in zip(found, optima, strict=True))

    found = differential_evolution(
        above, RANGES, maxiter=generations, popsize=POPULATION, seed=options.seed, polish=False, tol=0.0
    )
    weights = [round(float(weight), 4) for weight in found.x]
    return {"weights": weights, "above": above(weights), "tried": int(found.nfev)}


def _cost(data: EvaPacking, solution: Solution) -> float:
    """Return the cost of a packing. Raises CheckFailed if it is not feasible."""
    verdict = check(data, solution)
    if verdict.violations or verdict.objective is None:
        raise CheckFailed(f"solution: {next(iter(verdict.violations), 'has no objective')}")
    return verdict.objective
