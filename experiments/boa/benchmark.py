"""`python -m experiments.boa.benchmark`: BOA's allocation, convex and with rescaling, proven."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Annotated

import numpy as np
import typer

from experiments.output.benchmark import Measured, measure, proofs, show
from experiments.output.terminal import percent
from heuristics.boa import one_width, width_calculator, width_calculator_nearest, width_calculator_whole_job
from instances import Options, Result, Stopwatch, conclude
from instances.boa import BoaAllocation, Epoch, GpuType, JobClass, Speedup, figure_1, granted, least_budget, newtrace
from instances.boa import random_allocation as random_instance
from models.boa import exact, literal, randomised
from models.boa.convex.convex_dual import ConvexDual
from models.boa.convex.curves import curves
from models.boa.convex.linear_program import literal_lp
from models.boa.convex.multiplier_search import solve_convex
from models.boa.frontier import frontier

Solve = Callable[..., Result]
WIDTHS = 64
DRAWS = 30  # Seeds of a randomised heuristic on newTrace.
LOADS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)


def main(quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and ratios.")] = False) -> None:
    """Print CPU seconds of one process and one solver thread, from data to checked result unless said otherwise."""
    show("boa-allocation", [row() for row in _rows(quick)])


def _rows(quick: bool) -> Iterator[Callable[[], Measured]]:
    _compile()
    budgets = (1.0, 1.5, 2.0, 3.0)
    references = [i.reference.objective or 0.0 for i in (figure_1(granted(b)) for b in budgets) if i.reference]
    for name, method in (("exact", exact), ("literal", literal), ("randomised", randomised)):
        calls = _calls(method, [figure_1(b).data for b in budgets])
        yield partial(measure, f"Figure 1, {name}", calls, _off(references))
    for tables in (False, True):
        kind = f"tables of {WIDTHS}" if tables else "analytic"
        large, small = convex(10_000, tables), convex(1_000, tables)
        yield partial(measure, f"convex, 10,000 epochs, {kind}", [partial(exact, large)] * 3, _alone(large))
        yield partial(measure, f"convex, 1,000 epochs, {kind}, cvxpy", [partial(_cone, small)], _beside(small))
    seeds = range(3 if quick else 10)
    for what, classes, epochs in (("5 x 60", 5, 60), ("50 x 30-60", 50, (30, 60)), ("5 x 200", 5, 200)):
        made = [random_instance(classes, epochs, WIDTHS, seed=seed).data for seed in seeds]
        yield partial(measure, f"MICP, {what} x {WIDTHS}", _calls(exact, made), _search_s)
    for seed in range(1 if quick else 3):
        data = random_instance(5, 60, WIDTHS, seed=seed, budget_over_least=5).data
        yield partial(
            measure, f"100 proven points, 5 x 60 x {WIDTHS}, seed {seed}", [partial(_points, data)], _frontier
        )
    for rescale in (0.1, 1.0) if quick else (0.01, 0.1, 0.3, 1.0, 2.0, 3.0):
        few = [random_instance(5, 60, WIDTHS, rescale=rescale, seed=seed).data for seed in range(3 if quick else 20)]
        for name, solve in HEURISTICS.items():
            yield partial(measure, f"{name}, rescaling {rescale:g} epochs", _calls(solve, few), _gaps(few))
    loads = [newtrace(load).data for load in LOADS]
    real = [data.model_copy(update={"widths": "continuous"}) for data in loads]
    hull = [data.model_copy(update={"speedup_reading": "hull"}) for data in loads]
    for kind, made in (("as measured", loads), ("on the hull", hull), ("real widths", real)):
        yield partial(measure, f"newTrace, 1.1 to 5 x load, {kind}", _calls(exact, made))
    for load, data in zip(LOADS, loads, strict=True):
        for name, solve in HEURISTICS.items():
            draws = 1 if solve is one_width else 3 if quick else DRAWS
            calls = [partial(solve, data, Options(seed=seed)) for seed in range(draws)]
            yield partial(measure, f"newTrace, {load:g} x load, {name}, {draws} seeds", calls, _range(data))
    for epochs in (20, 200):
        for tables in (False, True):
            data = convex(epochs, tables, types=3)
            kind = "tables" if tables else "analytic"
            yield partial(measure, f"3 GPU types, {epochs} epochs, {kind}", [partial(exact, data)])
            yield partial(measure, f"3 GPU types, {epochs} epochs, {kind}, cone", [partial(_cone, data)], _beside(data))
            if tables:
                yield partial(measure, f"3 GPU types, {epochs} epochs, {kind}, LP", [partial(_lp, data)], _beside(data))


def _compile() -> None:
    """Solve something small of each kind: what is compiled at first use takes seconds, which are not the method's."""
    data = random_instance(3, 20, 16, seed=0).data
    for made in (data, data.model_copy(update={"widths": "continuous"})):
        solved = frontier(made)
        for over in (0.25, 0.5, 0.75):
            solved.at(solved.least + over * (made.budget - solved.least))
        exact(made)
    exact(newtrace(LOADS[0]).data)


HEURISTICS: dict[str, Solve] = {
    "Width Calculator": width_calculator,
    "Width Calculator, any whole width": width_calculator_nearest,
    "Width Calculator, whole job": width_calculator_whole_job,
    "one width": one_width,
}


def convex(epochs: int, tables: bool, types: int = 1, seed: int = 0) -> BoaAllocation:
    """Ten classes without rescaling times, at twice the least budget; formulas, or tables of Amdahl's law."""
    rng = np.random.default_rng(seed)
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
    return data.model_copy(update={"budget": 2 * least_budget(data)})


def _calls(solve: Solve, made: Sequence[BoaAllocation]) -> list[Callable[[], Result]]:
    return [partial(solve, data) for data in made]


def _cone(data: BoaAllocation) -> Result:
    from models.boa.convex.cone_program import literal_cone  # with cvxpy, which takes a second to load

    return conclude(data, "literal", literal_cone(data, Options()), Options(), kind="exact")


def _lp(data: BoaAllocation) -> Result:
    return conclude(data, "literal", literal_lp(data, Options()), Options(), kind="exact")


def _points(data: BoaAllocation) -> Result:
    """100 budgets from the least to the instance's own; the last result, with the number proven in `info`."""
    solved = frontier(data)
    results = [solved.at(float(b)) for b in np.linspace(least_budget(data), data.budget, 100)]
    proven = sum(r.status == "optimal" for r in results)
    return results[-1].model_copy(update={"info": {"proven": proven, "solve_s": sum(r.solve_s or 0 for r in results)}})


def _frontier(results: list[Result]) -> str:
    return f"{results[0].info['proven']}/100 proven; the searches alone {results[0].info['solve_s']:.2f} s"


def _off(references: Sequence[float]) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        off = [abs((r.objective or 0.0) - known) for r, known in zip(results, references, strict=True)]
        return f"at most {max(off):.1e} h from the closed form at the budget that is granted"

    return note


def _beside(data: BoaAllocation) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        optimum, r = exact(data).objective or 1.0, results[0]
        return f"{(r.objective or 0.0) / optimum - 1:+.1e} from the exact; solver {r.solve_s or 0.0:.3f} s"

    return note


def _alone(data: BoaAllocation) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        made = curves(data)
        best = min(_timed(lambda: solve_convex(ConvexDual(made), data.budget)) for _ in range(5))
        return f"{proofs(results)}; from arrays {1000 * best:.1f} ms"

    return note


def _timed(call: Callable[[], object]) -> float:
    with Stopwatch() as watch:
        call()
    return watch.cpu_s


def _search_s(results: list[Result]) -> str:
    seconds = [r.solve_s or 0.0 for r in results]
    return f"{proofs(results)}; the search alone {fmean(seconds):.3f} s mean, {max(seconds):.3f} s max"


def _gaps(made: Sequence[BoaAllocation]) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        optima = [exact(data).objective or 1.0 for data in made]
        gaps = [(r.objective or np.inf) / optimum - 1 for r, optimum in zip(results, optima, strict=True)]
        return f"mean {percent(fmean(gaps))}, max {percent(max(gaps))} above the optimum"

    return note


def _range(data: BoaAllocation) -> Callable[[list[Result]], str]:
    def note(results: list[Result]) -> str:
        optimum = exact(data).objective or 1.0
        gaps = [(r.objective or np.inf) / optimum - 1 for r in results]
        return f"mean {percent(fmean(gaps))} [{percent(min(gaps))}, {percent(max(gaps))}] above the optimum"

    return note


if __name__ == "__main__":
    typer.run(main)
