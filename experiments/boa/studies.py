"""Studies of BOA: CPU seconds, another solver, growth with size, and Pollux by a genetic search over whole runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import product
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np
import typer

from experiments.harness.experiment import Quick, Study, TextTable, chunks, limit_time
from experiments.harness.task import Measured, Measurement
from experiments.output.benchmark import Timing, benchmark, proofs, runs
from experiments.output.terminal import percent
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.peers.growth import Ladder, build_study
from experiments.simulator.boa import RentingWorld
from experiments.simulator.kernel import simulate
from heuristics.boa.online_pollux import Pollux, PolluxParameters
from instances import Answer, Instance, Options, Result, Stopwatch
from instances.boa import (
    BoaAllocation,
    Epoch,
    GpuType,
    JobClass,
    Speedup,
    allow_rounding,
    compute_min_budget,
    figure_1,
    newtrace,
    poisson_renting,
    random_allocation,
)
from instances.boa.online import RentingView, Widths
from instances.method import ANY, method
from models.boa.convex_dual import ConvexDual, solve_convex
from models.boa.curves import curves
from models.boa.frontier import frontier
from models.boa.share_program import literal_lp

WIDTHS = 64
EQUAL = 1e-9  # A value within this distance equals its closed form.
DRAWS = 30  # Seeds of a randomised heuristic on newTrace.
LOADS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
EXACT, LITERAL = "models.boa:exact", "models.boa:literal"
CONE, LP = "experiments.boa.studies:cone", "experiments.boa.studies:linear"
HEURISTICS = {
    "Width Calculator": "heuristics.boa:width_calculator",
    "Width Calculator, any whole width": "heuristics.boa:width_calculator_nearest",
    "Width Calculator, whole job": "heuristics.boa:width_calculator_whole_job",
    "Width Calculator, released": "heuristics.boa:width_calculator_artifact",
    "one width": "heuristics.boa:one_width",
}

DRAWN_ONCE = ("one width", "Width Calculator, released")
"""Heuristics that draw no random numbers on newTrace: its applications have at most ten groups of epochs."""


def benchmarks(options: Options, quick: Quick = False) -> Study:
    """Print CPU seconds of building and solving, with one solver thread."""
    return benchmark(_rows(options, quick))


def _rows(options: Options, quick: bool) -> Iterator[Timing]:
    budgets = (1.0, 1.5, 2.0, 3.0)
    references = [i.reference.objective or 0.0 for i in (figure_1(allow_rounding(b)) for b in budgets) if i.reference]
    for name, target in (("exact", EXACT), ("literal", LITERAL), ("randomised", "models.boa:randomised")):
        figures = runs(target, [figure_1(b) for b in budgets], options)
        yield Timing(f"Figure 1, {name}", figures, partial(_off, references))
    for tables in (False, True):
        kind = f"tables of {WIDTHS}" if tables else "analytic"
        many, fewer = (1_000, 100) if quick else (10_000, 1_000)
        large, small = convex(many, tables), convex(fewer, tables)
        arrays = Measurement.of(measure_arrays, options, instance=large)
        yield Timing(f"convex, {many:,} epochs, {kind}", runs(EXACT, [large] * 3, options), _describe_arrays, [arrays])
        what = f"convex, {fewer:,} epochs, {kind}, cvxpy"
        yield Timing(what, runs(CONE, [small], options), _describe_excess, runs(EXACT, [small], options))
    seeds = range(1 if quick else 10)
    for what, classes, epochs in (("5 x 60", 5, 60), ("50 x 30-60", 50, (30, 60)), ("5 x 200", 5, 200)):
        made = [random_allocation(classes, epochs, WIDTHS, seed=seed) for seed in seeds]
        yield Timing(f"MICP, {what} x {WIDTHS}", runs(EXACT, made, options), _search_s)
    for seed in range(0 if quick else 3):
        drawn = random_allocation(5, 60, WIDTHS, seed=seed, budget_over_least=5)
        found = Measurement.of(points, options, None, instance=drawn)
        yield Timing(f"100 proven points, 5 x 60 x {WIDTHS}, seed {seed}", [found], _frontier)
    for rescale in (1.0,) if quick else (0.01, 0.1, 0.3, 1.0, 2.0, 3.0):
        few = [random_allocation(5, 60, WIDTHS, rescale=rescale, seed=seed) for seed in range(1 if quick else 20)]
        for name, target in HEURISTICS.items():
            what = f"{name}, rescaling {rescale:g} epochs"
            yield Timing(what, runs(target, few, options), _gaps, runs(EXACT, few, options), _compute_excesses)
    shown = LOADS[:1] if quick else LOADS
    loads = [newtrace(load) for load in shown]
    real = [_change_instance(one, widths="continuous") for one in loads]
    hull = [_change_instance(one, speedup_reading="hull") for one in loads]
    for kind, made in (("as measured", loads), ("on the hull", hull), ("real widths", real)):
        yield Timing(f"newTrace, 1.1 to 5 x load, {kind}", runs(EXACT, made, options))
    for load, one in zip(shown, loads, strict=True):
        for name, target in HEURISTICS.items():
            draws = 1 if name in DRAWN_ONCE or quick else DRAWS
            tasks = [run for seed in range(draws) for run in runs(target, [one], replace(options, seed=seed))]
            what = f"newTrace, {load:g} x load, {name}, {draws} seeds"
            yield Timing(what, tasks, _range, runs(EXACT, [one], options), _draws)
    for epochs in (20,) if quick else (20, 200):
        for tables in (False, True):
            one, kind = convex(epochs, tables, types=3), "tables" if tables else "analytic"
            best = runs(EXACT, [one], options)
            yield Timing(f"3 GPU types, {epochs} epochs, {kind}", best)
            yield Timing(
                f"3 GPU types, {epochs} epochs, {kind}, cone", runs(CONE, [one], options), _describe_excess, best
            )
            if tables:
                yield Timing(
                    f"3 GPU types, {epochs} epochs, {kind}, LP", runs(LP, [one], options), _describe_excess, best
                )


def _change_instance(instance: Instance[BoaAllocation], **changed: Any) -> Instance[BoaAllocation]:
    return instance.model_copy(update={"data": instance.data.model_copy(update=changed), "reference": None})


def convex(epochs: int, tables: bool, types: int = 1) -> Instance[BoaAllocation]:
    """Draw ten classes without rescaling times, at twice the minimum budget; formulas, or tables of Amdahl's law."""
    rng = np.random.default_rng(0)
    names = [f"type-{h}" for h in range(types)]
    gpu_types = tuple(GpuType(name=name, price=float(rng.uniform(0.5, 3)) if types > 1 else 1.0) for name in names)

    def speedup() -> dict[str, object]:
        p = float(rng.uniform(0.3, 0.999))
        if tables:
            k = np.arange(1, WIDTHS + 1)
            return {"table": {"gpus": k.tolist(), "speedup": (1 / (1 - p + p / k)).tolist()}}
        return {"amdahl": p} if rng.random() < 0.5 else {"power": float(rng.uniform(0.1, 0.99))}

    def epoch() -> Epoch:
        content = speedup() if types == 1 else {name: speedup() for name in names}
        return Epoch(size_hours=float(rng.uniform(0.1, 1)), speedup=Speedup.model_validate(content))

    classes = tuple(
        JobClass(
            name=f"class-{i}",
            arrivals_per_hour=float(rng.uniform(0.2, 3)),
            weight=float(rng.uniform(0.5, 2)),
            rescale_hours=0.0,
            epochs=tuple(epoch() for _ in range(epochs // 10)),
        )
        for i in range(10)
    )
    data = BoaAllocation(budget=1e9, gpu_types=gpu_types, classes=classes, widths="continuous")
    data = data.model_copy(update={"budget": 2 * compute_min_budget(data)})
    return Instance.of(data, f"{10 * (epochs // 10)} epochs")


@method("exact", honours=ANY)
def cone(data: BoaAllocation, options: Options) -> Answer:
    """Solve the convex problem as a cone program, by cvxpy."""
    from models.boa.cone_program import literal_cone  # with cvxpy, which takes a second to load

    return literal_cone(data, options)


@method("exact", honours=ANY)
def linear(data: BoaAllocation, options: Options) -> Answer:
    """Solve the convex problem of tables as a linear program, by HiGHS."""
    return literal_lp(data, options)


def measure_arrays(instance: Instance[BoaAllocation], options: Options) -> dict[str, Any]:
    """Return the minimum CPU seconds of five searches from arrays."""
    made, seconds = curves(instance.data), []
    for _ in range(5):
        with Stopwatch() as watch:
            solve_convex(ConvexDual(made), instance.data.budget)
        seconds.append(watch.cpu_s)
    return {"least_s": min(seconds)}


def points(instance: Instance[BoaAllocation], options: Options) -> dict[str, Any]:
    """Solve for 100 budgets up to the instance's own; return the number proven and the CPU seconds of the searches."""
    solved = frontier(instance.data)
    budgets = np.linspace(compute_min_budget(instance.data), instance.data.budget, 100)
    results = [solved.at(float(b)) for b in budgets]
    return {
        "proven": sum(r.status == "optimal" for r in results),
        "solve_s": sum(r.solve_s or 0 for r in results),
    }


def _frontier(measured: Sequence[Measured]) -> str:
    found = measured[0].figures
    return f"{found['proven']}/100 proven; the searches alone {found['solve_s']:.2f} s"


def _off(references: Sequence[float], results: Sequence[Result]) -> str:
    off = [abs((r.objective or 0.0) - known) for r, known in zip(results, references, strict=True)]
    return f"at most {max(*off, EQUAL):.1e} h from the closed form at the budget that is granted"


def _describe_excess(results: Sequence[Result], exact: Sequence[Result]) -> str:
    optimum, r = exact[0].objective or 1.0, results[0]
    return f"{round((r.objective or 0.0) / optimum - 1, 9) + 0.0:+.1e} from the exact; solver {r.solve_s or 0.0:.3f} s"


def _describe_arrays(results: Sequence[Result], measured: Sequence[Measured]) -> str:
    return f"{proofs(results)}; from arrays {1000 * measured[0].figures['least_s']:.1f} ms"


def _search_s(results: Sequence[Result]) -> str:
    seconds = [r.solve_s or 0.0 for r in results]
    return f"{proofs(results)}; the search alone {fmean(seconds):.3f} s mean, {max(seconds):.3f} s max"


def _compute_excesses(results: Sequence[Result], exact: Sequence[Result]) -> dict[str, list[float]]:
    """Return the excess of each result over the optimum of its instance."""
    optima = [best.objective or 1.0 for best in exact]
    above = [(r.objective or np.inf) / optimum - 1 for r, optimum in zip(results, optima, strict=True)]
    return {"above the optimum": above}


def _draws(results: Sequence[Result], exact: Sequence[Result]) -> dict[str, list[float]]:
    """Return the excess of each draw over the optimum of their one instance."""
    return _compute_excesses(results, list(exact) * len(results))


def _gaps(results: Sequence[Result], exact: Sequence[Result]) -> str:
    (gaps,) = _compute_excesses(results, exact).values()
    return f"mean {percent(fmean(gaps))}, max {percent(max(gaps))} above the optimum"


def _range(results: Sequence[Result], exact: Sequence[Result]) -> str:
    (gaps,) = _draws(results, exact).values()
    return f"mean {percent(fmean(gaps))} [{percent(min(gaps))}, {percent(max(gaps))}] above the optimum"


PEERS = (Peer("HiGHS, network of paths", "experiments.peers.highs.boa:network"),)
PEER_LOADS = (1.1, 1.25, 1.5, 2.0, 3.0)


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact allocation with the best compact model for another solver, at equal CPU limits."""
    rows = {
        "BOA, newTrace": [newtrace(load) for load in PEER_LOADS],
        "BOA, 3 classes x 20 epochs x 32 widths": [
            random_allocation(3, 20, 32, rescale=0.5, budget_over_least=2.0, seed=seed) for seed in range(5)
        ],
        "BOA, 5 classes x 60 epochs x 64 widths": [random_allocation(5, 60, 64, seed=seed) for seed in range(5)],
    }
    made = [PeerRow(work, instances, EXACT, PEERS) for work, instances in rows.items()]
    return comparison(made, limit_time(options, LIMIT_S), (0, 1) if quick else ())


def _classes(size: int, seed: int) -> Instance[BoaAllocation]:
    return random_allocation(size, (30, 60), 64, seed=seed)


LADDERS = (
    Ladder("BOA, 30 to 60 epochs, 64 widths", "classes", (3, 12, 50, 200, 800), _classes, EXACT, *PEERS, small=1),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact allocation and of its peer grow with the size of the instance."""
    return build_study(LADDERS, limit_time(options, LIMIT_S), quick)


class Objective(StrEnum):
    """The objective of Pollux."""

    SUM = "sum"
    MEAN = "mean"


SEEDS = (1, 2, 3)
"""Workloads without imagenet, whose jobs run for days."""
WAYS = ("exact", "genetic")


def genetic(
    options: Options,
    hours: Annotated[float, typer.Option(help="Hours of Poisson arrivals.")] = 0.6,
    rate: Annotated[float, typer.Option(help="Factor on newTrace's arrival rates.")] = 1.0,
    drawn_with: Annotated[
        list[int] | None, typer.Option(help="Seed of a workload; repeatable.", show_default="1, 2, 3")
    ] = None,
    objective: Annotated[
        list[Objective] | None, typer.Option(help="Objective of the genetic search; repeatable.", show_default="both")
    ] = None,
    efficiency: Annotated[
        float | None, typer.Option(help="Target efficiency of the autoscaler.", show_default="a cluster of the budget")
    ] = None,
    individuals: Annotated[int, typer.Option(help="Population of the genetic search.", min=2)] = 50,
    generations: Annotated[int, typer.Option(help="Generations of the genetic search.", min=1)] = 10,
) -> Study:
    """Print mean JCT, rented GPUs and CPU seconds under both ways to split."""
    drawn = {"hours": hours, "rate": rate, "efficiency": efficiency}
    kinds = list(product(objective or Objective, drawn_with or SEEDS))
    tasks = [
        Measurement.of(split, options, None, objective=one.value, seed=seed, search=search, **drawn)
        for one, seed in kinds
        for search in (None, [individuals, generations])
    ]
    what = "mean JCT, h", "GPU-hours", "decisions", "CPU s"

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = []
        for (one, seed), of in zip(kinds, chunks(outcomes, len(WAYS)), strict=True):
            cells = [cell for measured in of for cell in _cells(measured)]
            rows.append([f"`{one.value}`, seed {seed}", str(of[0].figures["jobs"]), *cells])
        return [TextTable(["objective", "jobs", *(f"{name}, {way}" for way in WAYS for name in what)], rows)]

    return Study(tasks, tables)


def _cells(measured: Measured) -> list[str]:
    mean, billed, decisions = (measured.figures[name] for name in ("mean_jct_h", "billed_gpu_h", "decisions"))
    return [f"{mean:.3f}", f"{billed:.1f}", str(decisions), f"{measured.cpu_s:.1f}"]


class _Counted:
    """Count the decisions of a policy."""

    def __init__(self, policy: Pollux) -> None:
        self.policy, self.decisions = policy, 0

    def decide(self, view: RentingView) -> Widths:
        self.decisions += 1
        return self.policy.decide(view)


def split(
    hours: float,
    seed: int,
    rate: float,
    objective: Literal["sum", "mean"],
    efficiency: float | None,
    search: Sequence[int] | None,
    options: Options,
) -> dict[str, Any]:
    """Run Pollux and return jobs, mean JCT, billed GPU-hours, decisions, and CPU seconds.

    `search`: parameters of the genetic split, `None` for the exact split.
    """
    data = poisson_renting(hours, seed, rate=rate).data
    parameters = PolluxParameters(objective=objective, efficiency=efficiency)
    if search is None:
        policy = Pollux(data, parameters)
    else:
        from heuristics.boa.online_genetic import GeneticParameters, GeneticSplit  # with pymoo, `gapwise[genetic]`

        policy = Pollux(data, parameters, GeneticSplit(GeneticParameters(*search)))
    world, counted = RentingWorld(data), _Counted(policy)
    with Stopwatch() as clock:
        simulate(world, counted)
    return {
        "jobs": len(data.jobs),
        "mean_jct_h": world.jobs_table()["jct"].mean() / 3600,
        "billed_gpu_h": world.totals()["billed_gpu_h"],
        "decisions": counted.decisions,
        "cpu_s": clock.cpu_s,
    }
