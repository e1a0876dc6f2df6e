"""`python -m experiments.eva.benchmark [--pods openb_pod_list_default.csv] [--trace trace_pai_full.csv]`, proven.

`--vector-packing` and `--three-types` measure the ten classes of two-dimensional vector packing instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.eva.vector_packing import vector_packing_rows
from experiments.output.benchmark import Measured, measure, show
from experiments.output.terminal import percent
from heuristics.eva import full_reconfiguration, reconfigure
from instances import Instance, Options, Result, Stopwatch
from instances.eva import EvaPacking, alibaba, alive, packing_arrays, pod_requests, random_workloads, table_7
from instances.tables import read_numbers
from models.eva import exact

STRETCH_S = 60.0
PERTURBED_S = 120.0
THROUGHPUTS = (0.5, 0.8)
WEAKER, NEAR = (0.5, 0.6, 0.8, 0.95), 0.01  # more seeds from these throughputs on, until the gap is at most that
MOMENT_S = 60.0


def main(
    pods: Annotated[Path | None, typer.Option(help="Alibaba pod list (openb_pod_list_default.csv).")] = None,
    trace: Annotated[Path | None, typer.Option(help="Eva's trace (trace_pai_full.csv): random moments of it.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds, no stretch rows.")] = False,
    net_saving: Annotated[bool, typer.Option("--net-saving", help="Only many workloads that interfere.")] = False,
    vector_packing: Annotated[bool, typer.Option(help="Caprara and Toth's ten classes instead.")] = False,
    three: Annotated[bool, typer.Option("--three-types", help="These classes on three instance types.")] = False,
    limit: Annotated[float, typer.Option(help="Seconds for each of these instances.")] = 60.0,
) -> None:
    """Print CPU seconds of one process and one solver thread, from data to checked result."""
    if vector_packing or three:
        classes = vector_packing_rows("three" if three else "one", range(2 if quick else 10), limit)
        show("two-dimensional vector packing", [row() for row in classes])
        return
    if net_saving:
        show("eva-packing", [row() for row in _workload_rows(quick)])
        return
    rows = [*_rows(pods, quick), *(() if trace is None else (_moments(trace, 20 if quick else 200),))]
    show("eva-packing", [row() for row in rows])


def _rows(pods: Path | None, quick: bool) -> Iterator[Callable[[], Measured]]:
    seeds = range(5 if quick else 30)
    few = range(3 if quick else 10)
    tables = [table_7(200, seed).data for seed in seeds]
    saving = [table_7(200, seed, objective="net-saving").data for seed in few]
    large = [table_7(n, 0).data for n in (1_000, 8_000, 100_000)]
    yield partial(measure, "200 tasks of Table 7, cost", [partial(exact, d) for d in tables])
    for data in large:
        yield partial(measure, f"{_tasks(data):,} tasks of Table 7, cost", [partial(exact, data)])
    yield partial(measure, "200 tasks, Figure 1, net-saving", [partial(exact, d) for d in saving], _kept(saving))
    big = table_7(8_000, 0, objective="net-saving").data
    yield partial(measure, "8,000 tasks, Figure 1, net-saving", [partial(exact, big)])
    for data in (tables[0], *large):
        yield partial(measure, f"Full Reconfiguration, {_tasks(data):,} tasks", _heuristic(data), partial(_alone, data))
    yield partial(measure, "gap of Full Reconfiguration, 200 tasks", _heuristics(tables), _gaps(tables))
    for n in (100,) if quick else (100, 300, 1_000, 2_000):
        own, limit = pod_requests(n, 0, path=pods).data, Options(time_limit=STRETCH_S, gap=0.0)
        yield partial(measure, f"{n:,} distinct pods", [partial(exact, own, limit)])
    if pods is None:
        return
    rounded = alibaba(pods).data
    yield partial(measure, f"pod list, {len(rounded.tasks)} classes", [partial(exact, rounded, Options(gap=0.0))])
    yield partial(
        measure, f"Full Reconfiguration, {len(rounded.tasks)} classes", _heuristic(rounded), partial(_alone, rounded)
    )
    if not quick:
        shares = alibaba(pods, gpus="fractional").data
        limit = Options(time_limit=STRETCH_S, gap=0.0)
        yield partial(measure, f"pod list, GPU shares, {len(shares.tasks)} classes", [partial(exact, shares, limit)])
        spread = alibaba(pods, perturb=0.1).data
        limit = Options(time_limit=PERTURBED_S, gap=0.0)
        yield partial(measure, f"pod list, perturbed, {len(spread.tasks)} classes", [partial(exact, spread, limit)])


def _workload_rows(quick: bool) -> Iterator[Callable[[], Measured]]:
    """Random throughput matrices, from each of `THROUGHPUTS` to 1, and more of them until they are near the bound."""
    limit = Options(time_limit=STRETCH_S)
    for least in THROUGHPUTS:
        made = [random_workloads(200, 60, seed, least_throughput=least).data for seed in range(2 if quick else 5)]
        what = f"200 tasks of 60 workloads, throughput {least:g} to 1"
        yield partial(measure, what, [partial(exact, d, limit) for d in made], _kept(made))
    near = replace(limit, gap=NEAR)
    for least in WEAKER:
        made = [random_workloads(200, 60, seed, least_throughput=least).data for seed in range(2 if quick else 20)]
        what = f"the same, {least:g} to 1, until within {percent(NEAR)}"
        yield partial(measure, what, [partial(exact, d, near) for d in made], _near)


def _near(results: list[Result]) -> str:
    gaps = [1.0 if r.gap is None else r.gap for r in results]
    return f"{sum(g <= NEAR for g in gaps)}/{len(gaps)} within {percent(NEAR)}, largest gap {percent(max(gaps))}"


def _moments(trace: Path, number: int) -> Callable[[], Measured]:
    """The tasks alive at random times of a trace, each packed within a limit."""
    data = [moment(trace, seed).data for seed in range(number)]
    limit = Options(time_limit=MOMENT_S, gap=0.0)
    exact(data[0], limit)  # numba compiles or loads its loops once

    def note(results: list[Result]) -> str:
        proven = sum(r.status == "optimal" for r in results)
        seconds = sorted((r.build_s or 0.0) + (r.solve_s or 0.0) for r in results)
        worst = max(r.gap if r.gap is not None else 1.0 for r in results)
        return (
            f"{proven}/{len(results)} proven; median {seconds[len(seconds) // 2]:.3f} s, max {seconds[-1]:.2f} s, "
            f"worst gap {percent(worst)}"
        )

    return partial(measure, f"{number} moments of a trace", [partial(exact, d, limit) for d in data], note)


def moment(trace: Path, seed: int) -> Instance[EvaPacking]:
    """The jobs of a trace that are alive at a whole second drawn uniformly between 0 and the last arrival."""
    last = float(read_numbers(trace, ("arrival_s",), least=0)["arrival_s"].max())
    return alive(trace, float(int(np.random.default_rng(seed).uniform(0, last))))


def _tasks(data: EvaPacking) -> int:
    return sum(task.count for task in data.tasks)


def _heuristic(data: EvaPacking) -> list[Callable[[], Result]]:
    return [partial(full_reconfiguration, data)] * 5


def _heuristics(tables: list[EvaPacking]) -> list[Callable[[], Result]]:
    return [partial(full_reconfiguration, data) for data in tables]


def _alone(data: EvaPacking, results: list[Result]) -> str:
    """The CPU time of Algorithm 1 on arrays that are there already."""
    arrays, seconds = packing_arrays(data), []
    for _ in results:
        with Stopwatch() as watch:
            reconfigure(arrays)
        seconds.append(watch.cpu_s)
    return f"the algorithm alone {1000 * min(seconds):.2f} ms"


def _gaps(tables: list[EvaPacking]) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        optima = [exact(data).objective or 0.0 for data in tables]
        gaps = [(r.objective or 0.0) / optimum - 1 for r, optimum in zip(results, optima, strict=True)]
        return f"mean {percent(sum(gaps) / len(gaps))}, max {percent(max(gaps))} above the optimum"

    return note


def _kept(tables: list[EvaPacking]) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        kept = [
            (full_reconfiguration(d).objective or 0.0) / (r.objective or 1.0)
            for d, r in zip(tables, results, strict=True)
        ]
        proven = sum(r.status == "optimal" for r in results)
        gap = percent(max((r.gap or 0.0 for r in results), default=None), 4)
        share = percent(sum(kept) / len(kept))
        return f"{proven}/{len(results)} proven, largest gap {gap}; Full Reconfiguration keeps {share}"

    return note


if __name__ == "__main__":
    typer.run(main)
