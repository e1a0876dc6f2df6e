"""The frontier of budget and mean completion time: points, each a method at a budget, and their files and tables."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.entry import exit_status
from experiments.harness.entry import Entry
from experiments.harness.run import Run
from experiments.output.folder import files_first
from experiments.output.table import show_table
from experiments.output.terminal import cell, err, line, out, percent, print_rich
from experiments.session import Session
from instances import InputError, Instance, Options, Result, agree
from instances.boa import BoaAllocation, affords, compute_min_budget, from_trace
from instances.files import write_whole
from instances.text import escape_text
from models.boa.frontier import fastest_budget, frontier, replace_budget

Choose = Callable[[Instance, Sequence[str]], list[Entry]]
DEFAULT_METHODS = ("exact", "randomised", "width-calculator", "one-width")
SPAN = 5.0  # The default range ends at this multiple of the minimum budget, or at the budget with no further gain.


@dataclass(frozen=True)
class BudgetPoint:
    """One method at one budget."""

    budget: float
    result: Result


def read_trace(
    file: Path,
    *,
    speedups: Annotated[
        Path | None, typer.Option(help="Speedup table of a job trace.", show_default="measured on NVIDIA T4")
    ] = None,
    hours: Annotated[float | None, typer.Option(help="Length of a job trace.", show_default="to the last job")] = None,
    rescale_seconds: Annotated[
        float | None, typer.Option(help="Time of a rescaling in a job trace.", show_default="measured")
    ] = None,
) -> Instance[BoaAllocation]:
    """Build the instance of a job trace. Raises InputError."""
    return from_trace(file, budget_over_load=SPAN, speedups=speedups, hours=hours, rescale_seconds=rescale_seconds)


def front(
    instance: Instance[BoaAllocation],
    session: Session,
    method: Sequence[str] | None,
    choose: Choose,
    *,
    points: Annotated[int, typer.Option(help="Number of budgets.", min=2)] = 40,
    low: Annotated[float | None, typer.Option("--from", help="First budget.", show_default="the least")] = None,
    high: Annotated[
        float | None,
        typer.Option("--to", help="Last budget.", show_default="5 times the least, or where more buys nothing"),
    ] = None,
    mean_jct: Annotated[
        float | None, typer.Option(help="Also find the least budget that reaches this mean completion time, hours.")
    ] = None,
) -> int:
    """Print what each budget buys, by the methods that `choose` finds of these names; the exit status."""
    fitting = {entry.name for entry in choose(instance, ["all"])}
    others = method or [name for name in DEFAULT_METHODS if name in fitting]
    entries = choose(instance, ["exact", *(name for name in others if name != "exact")])
    budgets = budgets_of(instance.data, points, low, high)
    wanted = None if mean_jct is None else format_min_budget(instance.data, budgets[-1], mean_jct, session.options)
    runs = [Run(set_budget(instance, budget), entry, session.options) for budget in budgets for entry in entries]

    def json_line(i: int, result: Result) -> str:
        budget = {"budget": runs[i].instance.data.budget}
        return json.dumps(budget | result.model_dump(mode="json"), ensure_ascii=False)

    def write() -> None:
        if session.folder is not None:
            write_files(session.folder, found, instance.name)

    with session.store() as store:
        results = session.outcomes(runs, store, line, json_line)
        found = [BudgetPoint(run.instance.data.budget, result) for run, result in zip(runs, results, strict=True)]
        with files_first(write):
            if session.format == "table":
                print_frontier(found, entries, instance.data)
            elif session.format == "csv":
                print(frontier_csv(found), end="")
            if wanted is not None:
                (out if session.format == "table" else err).print(wanted)
        if session.folder is not None and not session.quiet:
            err.print(f"wrote {session.folder / 'frontier'}.csv, .svg, .pdf and .png")
    return exit_status(results, store)


def write_files(folder: Path, found: Sequence[BudgetPoint], title: str) -> None:
    """Write the points as CSV and as figures."""
    write_whole(folder / "frontier.csv", frontier_csv(found).encode())
    from experiments.boa.pictures import write_plots  # This loads matplotlib, which only a picture should.

    curves: dict[str, list[tuple[float, float | None]]] = {}
    for p in found:
        curves.setdefault(p.result.method, []).append((p.budget, p.result.objective))
    write_plots(folder / "frontier", curves, _optima(found), title)


def budgets_of(data: BoaAllocation, points: int, low: float | None, high: float | None) -> list[float]:
    """Return evenly spaced budgets from `low` to `high`. Raises InputError if the two do not form a range."""
    least = compute_min_budget(data)
    if low is not None and not (math.isfinite(low) and affords(low, least)):
        raise InputError(f"--from: must be >= {least:.6g}, the least that the jobs cost, got {low:g}")
    start = least if low is None else low
    end = high
    if end is None:
        end = max(min(SPAN * least, fastest_budget(replace_budget(data, max(SPAN * least, data.budget)))), 1.1 * start)
    if not (math.isfinite(end) and end > start):
        raise InputError(f"--to: must be > {start:.6g}, the first budget, got {end:g}")
    return [float(b) for b in np.linspace(start, end, points)]


def set_budget(instance: Instance[BoaAllocation], budget: float) -> Instance[BoaAllocation]:
    """Return the instance with another budget, which becomes part of its name."""
    data, name = replace_budget(instance.data, budget), f"{instance.name}@{budget:.10g}"
    return instance.model_copy(update={"data": data, "reference": None, "name": name})


def frontier_csv(found: Sequence[BudgetPoint]) -> str:
    """Return one line per point: budget, method, status, mean JCT and bound in hours, relative excess, CPU seconds."""
    optima, text = _optima(found), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["budget", "method", "status", "mean_jct_hours", "bound_hours", "excess_over_optimum", "cpu_s"])
    for p in found:
        r = p.result
        writer.writerow([p.budget, cell(r.method), r.status, r.objective, r.bound, _excess(p, optima), r.cpu_s])
    return text.getvalue()


def _optima(found: Sequence[BudgetPoint]) -> dict[float, float]:
    proven = [p for p in found if p.result.method == "exact" and _proven(p.result)]
    return {p.budget: p.result.objective for p in proven if p.result.objective is not None}


def _proven(result: Result) -> bool:
    """Return whether the objective meets the bound, independently of the requested gap."""
    return result.objective is not None and result.bound is not None and agree(result.objective, result.bound)


def _excess(p: BudgetPoint, optima: dict[float, float]) -> float | None:
    """Return the relative excess over the proven optimum, negative if a policy outside the exact problem is better."""
    if p.result.objective is None or p.budget not in optima or p.result.method == "exact":
        return None
    return p.result.objective / optima[p.budget] - 1


def print_frontier(found: Sequence[BudgetPoint], methods: Sequence[Entry], data: BoaAllocation) -> None:
    """Print one row per budget on standard output."""
    optima = _optima(found)
    head = ["x load", "mean JCT, h", "bound, h", "proven", *(escape_text(m.name) for m in methods if m.name != "exact")]
    rows = []
    for budget in dict.fromkeys(p.budget for p in found):
        here = {p.result.method: p for p in found if p.budget == budget}
        exact = here["exact"].result
        numbers = [f"{v:.6g}" if v is not None else "-" for v in (exact.objective, exact.bound)]
        others = [percent(_excess(p, optima)) for name, p in here.items() if name != "exact"]
        proven = "yes" if _proven(exact) else percent(exact.gap)
        rows.append([f"{budget:.6g}", f"{budget / data.load:.3f}", *numbers, proven, *others])
    show_table([("budget", "text"), *((name, "number") for name in head)], rows)
    print_rich("methods: mean JCT over the optimum; below 0 for a policy that may mix paths, which the optimum may not")


def format_min_budget(data: BoaAllocation, budget: float, mean_jct: float, options: Options) -> str:
    """Return a line with the minimum budget that reaches a mean completion time.

    `budget` is the largest budget of the prepared frontier. Raises InputError if no budget reaches the time.
    """
    if not (math.isfinite(mean_jct) and mean_jct > 0):
        raise InputError(f"--mean-jct: must be > 0 hours, got {mean_jct:g}")
    exact = frontier(replace_budget(data, max(budget, data.budget)))
    needed, result = exact.find_min_budget(mean_jct, options)
    return f"mean JCT {mean_jct:g} h needs budget {needed:.8g} (mean JCT there {result.objective:.8g} h)"
