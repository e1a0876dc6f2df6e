"""Eva's packing, proven: Table 7, interfering workloads, pods, Caprara and Toth's ten classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.harness.experiment import Quick, Study, limited
from experiments.harness.task import Measured, Measurement
from experiments.output.benchmark import Timing, benchmark, runs
from experiments.output.terminal import percent
from heuristics.eva import reconfigure
from instances import Instance, Options, Result, Stopwatch
from instances.eva import EvaPacking, alibaba, packing_arrays, pod_requests, random_workloads, table_7
from instances.eva.vector_packing import Types, caprara_toth, paper_sizes

STRETCH_S = 60.0
PERTURBED_S = 120.0
THROUGHPUTS = (0.5, 0.8)
WEAKER, NEAR = (0.5, 0.6, 0.8, 0.95), 0.01  # more seeds from these throughputs on, until the gap is at most that
EXACT, HEURISTIC = "models.eva:exact", "heuristics.eva:full_reconfiguration"
TRIES = 5


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
    stretch = limited(options, STRETCH_S)
    if vector_packing or three:
        return benchmark(_classes("three" if three else "one", range(2 if quick else 10), replace(stretch, gap=0.0)))
    if net_saving:
        return benchmark(_interfering(quick, stretch))
    return benchmark(_rows(options, pods, quick))


def _rows(options: Options, pods: Path | None, quick: bool) -> Iterator[Timing]:
    few = range(2 if quick else 10)
    stretch = replace(limited(options, STRETCH_S), gap=0.0)
    tables = [table_7(200, seed) for seed in range(2 if quick else 30)]
    saving = [table_7(200, seed, objective="net-saving") for seed in few]
    large = [table_7(n, 0) for n in (1_000, 8_000, 100_000)[: 1 if quick else None]]
    yield Timing("200 tasks of Table 7, cost", runs(EXACT, tables, options))
    for one in large:
        yield Timing(f"{_tasks(one):,} tasks of Table 7, cost", runs(EXACT, [one], options))
    yield Timing(
        "200 tasks, Figure 1, net-saving", runs(EXACT, saving, options), _kept, runs(HEURISTIC, saving, options)
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
        longer = replace(limited(options, PERTURBED_S), gap=0.0)
        yield Timing(f"pod list, GPU shares, {_classes_of(shares)}", runs(EXACT, [shares], stretch))
        yield Timing(f"pod list, perturbed, {_classes_of(spread)}", runs(EXACT, [spread], longer))


def _interfering(quick: bool, options: Options) -> Iterator[Timing]:
    """Random throughput matrices, from each of `THROUGHPUTS` to 1, and more of them until they are near the bound."""
    tasks, workloads = (40, 10) if quick else (200, 60)
    for least in THROUGHPUTS:
        made = [random_workloads(tasks, workloads, seed, least_throughput=least) for seed in range(2 if quick else 5)]
        what = f"{tasks} tasks of {workloads} workloads, throughput {least:g} to 1"
        yield Timing(what, runs(EXACT, made, options), _kept, runs(HEURISTIC, made, options))
    for least in WEAKER:
        made = [random_workloads(tasks, workloads, seed, least_throughput=least) for seed in range(1 if quick else 20)]
        what = f"the same, {least:g} to 1, until within {percent(NEAR)}"
        yield Timing(what, runs(EXACT, made, replace(options, gap=NEAR)), _near)


def _classes(types: Types, seeds: Sequence[int], options: Options) -> Iterator[Timing]:
    """Each class and size of two-dimensional vector packing, on one instance type or three."""
    for number in range(1, 11):
        for items in paper_sizes(number):
            made = [caprara_toth(number, items, seed, types=types) for seed in seeds]
            yield Timing(f"class {number}, {items} items", runs(EXACT, made, options), _converged)


def _heuristic(of: str, instance: Instance[EvaPacking], options: Options) -> Timing:
    """Time repeated runs of Full Reconfiguration, compared with its algorithm alone on prepared arrays."""
    beside = Measurement.of(alone, options, instance=instance)
    return Timing(f"Full Reconfiguration, {of}", runs(HEURISTIC, [instance] * TRIES, options), _alone, [beside])


def alone(instance: Instance[EvaPacking], options: Options) -> dict[str, Any]:
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


def _alone(results: Sequence[Result], measured: Sequence[Measured]) -> str:
    return f"the algorithm alone {1000 * measured[0].figures['least_s']:.2f} ms"


def _gaps(results: Sequence[Result], exact: Sequence[Result]) -> str:
    gaps = [(r.objective or 0.0) / (best.objective or 0.0) - 1 for r, best in zip(results, exact, strict=True)]
    return f"mean {percent(sum(gaps) / len(gaps))}, max {percent(max(gaps))} above the optimum"


def _kept(results: Sequence[Result], heuristic: Sequence[Result]) -> str:
    kept = [(h.objective or 0.0) / (r.objective or 1.0) for h, r in zip(heuristic, results, strict=True)]
    proven = sum(r.status == "optimal" for r in results)
    gap = percent(max((r.gap or 0.0 for r in results), default=None), 4)
    share = percent(sum(kept) / len(kept))
    return f"{proven}/{len(results)} proven, largest gap {gap}; Full Reconfiguration keeps {share}"


def _near(results: Sequence[Result]) -> str:
    gaps = [1.0 if r.gap is None else r.gap for r in results]
    return f"{sum(g <= NEAR for g in gaps)}/{len(gaps)} within {percent(NEAR)}, largest gap {percent(max(gaps))}"


def _converged(results: Sequence[Result]) -> str:
    """Describe how many optima are proven, how many linear programs are solved, and the largest absolute gap.

    A linear program over enumerated patterns counts as solved, because HiGHS has all its columns.
    """
    proven = sum(r.status == "optimal" for r in results)
    solved = sum(r.info["method"] == "patterns" or bool(r.info.get("lp_converged")) for r in results)
    apart = max((r.objective or 0.0) - (r.bound or 0.0) for r in results)
    return f"{proven}/{len(results)} proven, {solved} linear programs solved, at most {apart:g} above the bound"
