"""`python -m experiments.pareto FILE`: budget against mean job completion time, every point proven."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from experiments import flags
from experiments.methods import Method, apply, methods_for
from experiments.runner import plan
from experiments.table import ready_folder
from experiments.terminal import err, follow, out, percent
from instances import InputError, Instance, Options, Result, ignore, load
from instances.boa import BoaAllocation, enough, from_trace, least_budget
from instances.files import write_whole
from models.boa.frontier import Frontier, fastest_budget, frontier, with_budget

PROBLEM = BoaAllocation.problem
DEFAULT_METHODS = ("exact", "randomised", "width-calculator", "one-width")
SPAN = 5.0  # the default range ends at this multiple of the least budget, or where more buys nothing


@dataclass(frozen=True)
class Point:
    """One method at one budget."""

    budget: float
    result: Result


def pareto(
    file: Annotated[
        Path, typer.Argument(help="Instance file of boa-allocation, or a job trace (.csv).", show_default=False)
    ],
    method: flags.Method = None,
    points: Annotated[int, typer.Option(help="Number of budgets.", min=2)] = 40,
    low: Annotated[float | None, typer.Option("--from", help="First budget.", show_default="the least")] = None,
    high: Annotated[
        float | None,
        typer.Option("--to", help="Last budget.", show_default="5 times the least, or where more buys nothing"),
    ] = None,
    mean_jct: Annotated[
        float | None, typer.Option(help="Also find the least budget that reaches this mean completion time, hours.")
    ] = None,
    speedups: Annotated[
        Path | None, typer.Option(help="Speedup table of a job trace.", show_default="measured on NVIDIA T4")
    ] = None,
    hours: Annotated[float | None, typer.Option(help="Length of a job trace.", show_default="to the last job")] = None,
    rescale_seconds: Annotated[
        float | None, typer.Option(help="Time of a rescaling in a job trace.", show_default="measured")
    ] = None,
    time_limit: flags.TimeLimit = None,
    gap: flags.Gap = None,
    threads: flags.Threads = None,
    seed: flags.Seed = None,
    format: flags.Format = "table",
    folder: flags.Out = None,
    quiet: flags.Quiet = False,
) -> None:
    """Print what each budget buys: the proven optimum and the methods beside it; with --out also CSV, SVG and PNG."""
    options, given = flags.options(time_limit=time_limit, gap=gap, threads=threads, seed=seed)
    instance = _instance(file, {"speedups": speedups, "hours": hours, "rescale_seconds": rescale_seconds})
    if instance.problem != PROBLEM or not isinstance(instance.data, BoaAllocation):
        raise InputError(f"{file}: problem: must be {PROBLEM}, got {instance.problem}")
    names = ["exact", *(name for name in method or _defaults(instance) if name != "exact")]
    methods = [run.method for run in plan([instance], names, options, given)]
    if folder is not None:
        ready_folder(folder)
    budgets = _budgets(instance.data, points, low, high)
    widest = _replaced(instance, max(budgets[-1], instance.data.budget))
    assert isinstance(widest.data, BoaAllocation)
    exact = frontier(widest.data)
    wanted = None if mean_jct is None else wanted_line(exact, mean_jct, options)
    runs = run(widest, exact, methods, budgets, options)
    found = []
    for point, result in follow(((p, p.result) for p in runs), len(budgets) * len(methods), quiet):
        found.append(point)
        if format == "json":
            print(result.model_dump_json(), flush=True)
    if format == "table":
        print_frontier(found, methods, instance.data)
    elif format == "csv":
        print(frontier_csv(found), end="")
    if wanted is not None:
        (out if format == "table" else err).print(wanted, markup=False)
    if folder is not None:
        write_whole(folder / "frontier.csv", frontier_csv(found).encode())
        from experiments.frontier_plot import write_plots  # with matplotlib, only when something is drawn

        curves = {m.name: [(p.budget, p.result.objective) for p in found if p.result.method == m.name] for m in methods}
        write_plots(folder / "frontier", curves, instance.name)
        if not quiet:
            err.print(f"wrote {folder / 'frontier'}.csv, .svg and .png", markup=False)
    failed = any(p.result.status == "error" for p in found)
    raise typer.Exit(1 if failed else 0)


def _instance(file: Path, of_trace: dict[str, Any]) -> Instance:
    """The instance in a file, or that of a job trace. Raises InputError."""
    if file.suffix.lower() == ".csv":
        return from_trace(file, budget_over_load=SPAN, **of_trace)
    for name, value in of_trace.items():
        if value is not None:
            raise InputError(f"--{name.replace('_', '-')}: goes with a job trace (.csv), got {file}")
    return load(file)


def _defaults(instance: Instance) -> list[str]:
    fitting = {m.name for m in methods_for(instance, ["all"])}
    return [name for name in DEFAULT_METHODS if name in fitting]


def _budgets(data: BoaAllocation, points: int, low: float | None, high: float | None) -> list[float]:
    """The budgets from `low` to `high`, evenly spaced. Raises InputError where they make no range."""
    least = least_budget(data)
    if low is not None and not (math.isfinite(low) and enough(low, least)):
        raise InputError(f"--from: must be >= {least:.6g}, the least that the jobs cost, got {low:g}")
    start = least if low is None else low
    end = high
    if end is None:
        end = max(min(SPAN * least, fastest_budget(with_budget(data, max(SPAN * least, data.budget)))), 1.1 * start)
    if not (math.isfinite(end) and end > start):
        raise InputError(f"--to: must be > {start:.6g}, the first budget, got {end:g}")
    return [float(b) for b in np.linspace(start, end, points)]


def _replaced(instance: Instance, budget: float) -> Instance:
    assert isinstance(instance.data, BoaAllocation)
    return instance.model_copy(update={"data": with_budget(instance.data, budget), "reference": None})


def run(
    instance: Instance, exact: Frontier, methods: Sequence[Method], budgets: Sequence[float], options: Options
) -> Iterator[Point]:
    """Every method at every budget; the exact points share their arrays and the lines of the dual."""
    for budget in budgets:
        here = _replaced(instance, budget)
        for method in methods:
            if method.name == "exact":
                result = exact.at(budget, options)
            else:
                result = apply(method, here, options, ignore)
            name = f"{instance.name}@{budget:.6g}"
            yield Point(budget, result.model_copy(update={"instance": name, "method": method.name}))


def frontier_csv(found: Sequence[Point]) -> str:
    """One line a point: budget, method, status, mean JCT and bound in hours, excess over the optimum, CPU seconds."""
    optima = _optima(found)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["budget", "method", "status", "mean_jct_hours", "bound_hours", "excess_over_optimum", "cpu_s"])
    for p in found:
        r = p.result
        cpu = None if r.solve_s is None else (r.build_s or 0.0) + r.solve_s
        writer.writerow([p.budget, r.method, r.status, r.objective, r.bound, _excess(p, optima), cpu])
    return text.getvalue()


def _optima(found: Sequence[Point]) -> dict[float, float]:
    proven = [p for p in found if p.result.method == "exact" and p.result.status == "optimal"]
    return {p.budget: p.result.objective for p in proven if p.result.objective is not None}


def _excess(p: Point, optima: dict[float, float]) -> float | None:
    """Objective over the proven optimum, less one; below zero where a policy outside the exact problem beats it."""
    if p.result.objective is None or p.budget not in optima or p.result.method == "exact":
        return None
    return p.result.objective / optima[p.budget] - 1


def print_frontier(found: Sequence[Point], methods: Sequence[Method], data: BoaAllocation) -> None:
    """One row a budget, on standard output."""
    optima = _optima(found)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (
        "budget",
        "x load",
        "mean JCT, h",
        "bound, h",
        "proven",
        *(m.name for m in methods if m.name != "exact"),
    ):
        table.add_column(name, justify="right")
    for budget in dict.fromkeys(p.budget for p in found):
        here = {p.result.method: p for p in found if p.budget == budget}
        exact = here["exact"].result
        numbers = [f"{v:.6g}" if v is not None else "-" for v in (exact.objective, exact.bound)]
        others = [percent(_excess(p, optima)) for name, p in here.items() if name != "exact"]
        proven = "yes" if exact.status == "optimal" else percent(exact.gap)
        table.add_row(f"{budget:.6g}", f"{budget / data.load:.3f}", *numbers, proven, *others)
    out.print(table)
    out.print("methods: mean JCT over the optimum; below 0 for a policy that may mix paths, which the optimum may not")


def wanted_line(exact: Frontier, mean_jct: float, options: Options) -> str:
    """The least budget that reaches a mean completion time, in a line. Raises InputError where none does."""
    if not (math.isfinite(mean_jct) and mean_jct > 0):
        raise InputError(f"--mean-jct: must be > 0 hours, got {mean_jct:g}")
    budget, result = exact.least_budget_for(mean_jct, options)
    return f"mean JCT {mean_jct:g} h needs budget {budget:.8g} (mean JCT there {result.objective:.8g} h)"


if __name__ == "__main__":
    from experiments.cli import main

    main("pareto")
