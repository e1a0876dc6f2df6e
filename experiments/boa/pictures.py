"""Pictures of BOA: runs in the renting world, the paper's figures, solutions, and what a budget buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from experiments.boa.curves import HOUR, Curves, Point, PolicyCurve, burst_factors
from experiments.canvas import canvas, legend, logarithmic, plain, save_all, save_figure, style_line
from experiments.output.folder import part
from experiments.output.terminal import label, suppress_warnings
from experiments.palette import BLUE, INK, looks, things
from experiments.simulator.plots import titles
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.boa import BoaAllocation, BoaRenting
from instances.solution_table import solution_table
from models.boa import PolicyBound

STEPS = 60
BESIDE = 1.05
"""The curve extends by this factor beyond the smallest and the largest bill."""
LABEL = "no policy is below"


def bound_curve(data: BoaRenting, rented: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the curve of the bound: rented GPUs until the last arrival, and lower bounds in hours on the mean JCT.

    `rented`: rented GPUs of the runs in the figure. Raises InputError if the jobs have no bound.
    """
    span = max(job.arrival_seconds for job in data.jobs) / HOUR
    most = BESIDE * max(rented) * span
    bound = PolicyBound(data, most)
    first = max(min(rented) / BESIDE, (1 + 1e-9) * bound.least / span)
    bills = [float(gpus) for gpus in np.linspace(first, most / span, STEPS + 1)]
    return bills, [bound.at(min(gpus * span, most)) for gpus in bills]


def draw_bound(axes: Axes, data: BoaRenting, rented: Sequence[float], label: str = LABEL) -> None:
    """Draw the curve of the bound into the figure of policies that `rented` these numbers of GPUs."""
    axes.plot(*bound_curve(data, rented), color=INK, linewidth=2.5, alpha=0.35, zorder=1, label=label)


GANTT_JOBS = 80  # maximum number of jobs in the figure


def jct_against_bill(runs: Sequence[Simulated], bounded: Mapping[str, BoaRenting] = MappingProxyType({})) -> Figure:
    """Plot mean completion time against rented GPUs, one point per run, and the bound on every policy.

    Runs of one policy are joined. `bounded`: the workloads whose bound is drawn, by name; workloads with the same jobs
    share one curve.
    """
    figure, (axes,) = canvas(6, 4.4)
    look = looks(run.policy for run in runs)
    for name in look:
        made = [Point.of(run) for run in runs if run.policy == name]
        points = sorted((point.rented, point.mean) for point in made)
        axes.plot(*zip(*points, strict=True), label=plain(name), **style_line(look[name], marked=True, width=0.8))
    alike = _alike(bounded)
    for names in alike:
        rented = [run.totals["rented_gpus"] for run in runs if run.workload in names]
        draw_bound(axes, bounded[names[0]], rented, LABEL if len(alike) == 1 else f"{LABEL}, {plain(names[0])}")
    axes.set(xlabel="rented GPUs, billed hours over the time until the last arrival", ylabel="mean JCT, hours")
    axes.set_title(plain(titles(runs)))
    axes.set_ylim(bottom=0)
    legend(figure)
    return figure


def gpus_over_time(runs: Sequence[Simulated]) -> Figure:
    """Plot rented GPUs (line) and GPUs that jobs hold (filled) of each run over time, one panel per policy."""
    figure, panels = canvas(8, 0.8 + 1.4 * len(runs), len(runs), sharex=True, sharey=True)
    look = looks(run.policy for run in runs)
    for axes, run in zip(panels, runs, strict=True):
        timeline, colour = run.timeline_table(), look[run.policy].colour
        hours = timeline["time"] / HOUR
        axes.fill_between(hours, timeline["held"], step="post", alpha=0.3, linewidth=0, color=colour)
        axes.step(hours, timeline["rented"], where="post", linewidth=0.8, color=colour)
        axes.set_title(plain(run.policy), fontsize=8, loc="left")
        axes.set_ylabel("GPUs")
    panels[0].set_ylim(bottom=0)
    panels[-1].set_xlabel("hours")
    figure.suptitle(f"{plain(titles(runs))}: GPUs that are rented (line) and held by jobs (filled)", fontsize=10)
    return figure


def gantt(jobs: pd.DataFrame, title: str = "") -> Figure:
    """Plot when each job waits (pale) and has begun, one line per job, coloured by class; the first GANTT_JOBS jobs."""
    jobs = jobs.head(GANTT_JOBS)
    figure, (axes,) = canvas(8, 1.3 + 0.12 * len(jobs))
    classes = list(dict.fromkeys(jobs["class"]))
    colours = dict(zip(classes, things(len(classes)), strict=True))
    for place, (kind, submit, start, end) in enumerate(
        zip(jobs["class"], jobs["submit"] / HOUR, jobs["start"] / HOUR, jobs["end"] / HOUR, strict=True)
    ):
        axes.barh(place, start - submit, left=submit, color=colours[kind], alpha=0.3)
        axes.barh(place, end - start, left=start, color=colours[kind])
    axes.invert_yaxis()
    axes.set(xlabel="hours", yticks=[], title=plain(title))
    legend(figure, handles=[Patch(color=colour, label=plain(name)) for name, colour in colours.items()])
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Write completion time against the bill of all runs, and GPUs over time and jobs of the first workload's runs."""
    finished = [run for run in done if run.status == "finished"]
    if not finished:
        return
    billed = [run for run in finished if run.totals["rented_gpus"] is not None]
    if billed:
        names = {run.workload for run in billed} & {one.workload for one in bounds if one.status == "finished"}
        bounded = {name: one for name, one in data.items() if name in names}
        save_all(jct_against_bill(billed, bounded), folder / "jct_against_bill.svg")
    first = [run for run in finished if run.workload == finished[0].workload]
    save_all(gpus_over_time(first), folder / "gpus.svg")
    for run in first:
        chart = gantt(run.jobs_table(), f"{run.workload}, {run.policy}")
        save_all(chart, folder / f"jobs-{part(run.policy, dots=False)}.svg")


def _alike(workloads: Mapping[str, BoaRenting]) -> list[list[str]]:
    """Group the names of workloads that have the same jobs, with any budgets."""
    found: list[list[str]] = []
    for name, data in workloads.items():
        for names in found:
            other = workloads[names[0]]
            if (data.jobs, data.classes, data.max_width) == (other.jobs, other.classes, other.max_width):
                names.append(name)
                break
        else:
            found.append([name])
    return found


NAMES = {"exact": "BOA, exact plan", "width-calculator": "BOA, Width Calculator"}
FAR = 10.0
"""If completion times differ by more than this factor, the axis is logarithmic."""


def mean_frontiers(path: Path, curves: Curves) -> None:
    """Mean completion time against rented GPUs above the bound; all curves are of the same jobs."""
    figure, (axes,) = canvas(6.4, 5)
    _frontier(axes, list(curves.values()), "mean")
    times = [p.mean for curve in curves.values() for p in curve.points]
    if max(times) > FAR * min(times):
        logarithmic(axes, "y")
    else:
        axes.set_ylim(bottom=0)
    _finish(figure, path)


def plot_two_frontiers(path: Path, curves: Curves) -> None:
    """Mean and 95th percentile against rented GPUs, a row for each trace that keys begin with."""
    names = list(dict.fromkeys(str(key[0]) for key in curves))
    figure, axes = canvas(9, 0.8 + 3.6 * len(names), len(names), 2)
    for row, title in enumerate(names):
        for column, what in enumerate(("mean", "p95")):
            _frontier(axes[2 * row + column], [curve for key, curve in curves.items() if key[0] == title], what)
            axes[2 * row + column].set_title(title, fontsize=9)
    _finish(figure, path)


def plot_over_time(path: Path, curves: Curves) -> None:
    """Plot the rented GPUs over time of each policy's run with the bill closest to 55 GPUs."""
    figure, (axes,) = canvas(8, 4.2)
    look = looks(curve.label for curve in curves.values())
    for curve in curves.values():
        point = min(curve.points, key=lambda p: abs(p.rented - 55))
        timeline = point.run.timeline_table()
        label = f"{_name(curve)}, {point.rented:.0f} GPUs, mean JCT {point.mean:.2f} h"
        style = style_line(look[curve.label], width=1)
        axes.step(timeline["time"] / HOUR, timeline["rented"], where="post", label=label, **style)
    axes.set(xlabel="hours", ylabel="rented GPUs")
    axes.set_ylim(bottom=0)
    _finish(figure, path)


def efficiency(path: Path, curves: Curves) -> None:
    """Efficiency against rented GPUs: as the scheduler sees it (pale), and of work really done."""
    figure, (axes,) = canvas(6.4, 5)
    look = looks(curve.label for curve in curves.values())
    for curve in curves.values():
        points = sorted(curve.points, key=lambda p: p.rented)
        rented = [p.rented for p in points]
        for column, alpha, what in (
            ("seen_efficiency_over_time", 0.45, "as seen"),
            ("efficiency_over_time", 1, "done"),
        ):
            values = [p.run.totals[column] for p in points]
            style = style_line(look[curve.label], marked=True) | {"alpha": alpha}
            axes.plot(rented, values, label=f"{_name(curve)}, {what}", **style)
    axes.axvline(112, color="0.7", linewidth=0.8, zorder=0)
    axes.set(xlabel="rented GPUs", ylabel="sum of speedups over rented GPUs,\naveraged over time")
    _finish(figure, path)


def bursts(path: Path, curves: Curves) -> None:
    """Pollux's mean completion time over BOA's at equal bill, against C² of the times between arrivals."""
    figure, (axes,) = canvas(6.4, 4.4)
    factors = burst_factors(curves)
    look = looks(factors)
    for name, by_c2 in factors.items():
        c2 = sorted(c for c, values in by_c2.items() if values)
        axes.plot(c2, [mean(by_c2[c]) for c in c2], label=plain(name), **style_line(look[name], marked=True))
        for c in c2:
            axes.plot([c] * len(by_c2[c]), by_c2[c], ".", color="0.6", markersize=3, zorder=0)
    axes.axhline(1, color="0.7", linewidth=0.8, zorder=0)
    axes.set(xlabel="C² of the times between arrivals", ylabel="mean JCT over BOA's, at equal bill")
    _finish(figure, path)


def _frontier(axes: Axes, curves: Sequence[PolicyCurve], what: str) -> None:
    look = looks(curve.label for curve in curves)
    for curve in curves:
        points = sorted((p.rented, getattr(p, what)) for p in curve.points)
        axes.plot(*zip(*points, strict=True), label=_name(curve), **style_line(look[curve.label], marked=True, width=1))
    if what == "mean":
        draw_bound(axes, curves[0].tasks[0].workload.data, [p.rented for curve in curves for p in curve.points])
    axes.set(xlabel="rented GPUs", ylabel=f"{'mean' if what == 'mean' else 'P95'} JCT, hours")


def _name(curve: PolicyCurve) -> str:
    return plain(NAMES.get(curve.label, curve.label))


def _finish(figure: Figure, path: Path) -> None:
    legend(figure, 7.5)
    save_all(figure, path)


DRAWN = 60  # epochs


def widths(data: BoaAllocation, solution: Mapping[str, Any]) -> Figure:
    """Draw a bar for each epoch of each class, and for each width of a mix, as opaque as it is probable."""
    table = solution_table(solution)
    share = next((table[name] for name in ("probability", "fraction") if name in table), pd.Series(1.0, table.index))
    names = [
        f"{label(str(name))} {epoch}" if len(data.classes) > 1 else str(epoch)
        for name, epoch in zip(table["class"], table["epoch"], strict=True)
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    figure, (axes,) = canvas(min(12, max(3.6, 2.5 + 0.35 * len(places))), 3.6)
    for name, width, chance in zip(names, table["width"], share, strict=True):
        if places[name] < DRAWN and chance > 0:
            shade: dict[str, Any] = {"color": BLUE, "edgecolor": BLUE, "alpha": min(1.0, 0.2 + 0.8 * chance)}
            axes.bar(places[name], width, width=0.7, **shade)
            said = f"{width:g}" if chance > 0.999 else f"{width:g} ({chance:.0%})"
            axes.text(places[name], width, said, ha="center", va="bottom", fontsize=6)
    drawn = list(places)[:DRAWN]
    axes.set_xticks(range(len(drawn)), drawn, rotation=90 if len(drawn) > 8 else 0, fontsize=7)
    kind = "class and epoch" if len(data.classes) > 1 else "epoch"
    free = [kind.price for kind in data.gpu_types] == [1]
    unit = "GPUs on average" if free else "an hour"
    axes.set(xlabel=kind, ylabel="GPUs of a job", title=f"a budget of {data.budget:g} {unit}")
    axes.margins(y=0.1)
    return figure


Frontier = Sequence[tuple[float, float | None]]
"""(budget, mean completion time in hours), `None` where there is no solution."""

MOST = 4.0  # Mean completion times beyond this multiple of the smallest are cut off.
MOST_EXCESS = 25.0  # An excess over the optimum beyond this many percent is cut off.


@suppress_warnings()
def write_plots(stem: Path, curves: Mapping[str, Frontier], optima: Mapping[float, float], title: str) -> None:
    """Write `stem`.svg, .pdf and .png. Raises OutputError where a file cannot be written."""
    figure = budgets(curves, optima, title)
    save_all(figure, stem)
    save_figure(figure, stem.with_suffix(".png"))


@suppress_warnings()
def budgets(curves: Mapping[str, Frontier], optima: Mapping[float, float], title: str) -> Figure:
    """Draw the curves by method, and below them the excess over proven `optima`; otherwise `exact` is hollow."""
    figure, (above, below) = canvas(6.4, 5.6, 2, sharex=True, height_ratios=(3, 2))
    look = looks(curves)
    for name, points in curves.items():
        style = style_line(look[name], width=1.8 if name == "exact" else 1.2)
        known = [(b, t) for b, t in points if t is not None]
        above.plot([b for b, _ in known], [t for _, t in known], label=label(name), **style)
        if name == "exact":
            unproven = [(b, t) for b, t in known if b not in optima]
            if unproven:
                hollow: dict[str, Any] = {"facecolors": "white", "edgecolors": look[name].colour, "s": 18}
                above.scatter(*zip(*unproven, strict=True), label="exact, not proven", zorder=3, **hollow)
        else:
            over = [(b, 100 * (t / optima[b] - 1)) for b, t in known if b in optima]
            below.plot([b for b, _ in over], [e for _, e in over], **style)
    times = [time for _, time in curves["exact"] if time is not None]
    if times:
        above.set_ylim(0, min(1.05 * max(times), MOST * min(times)))
    low, high = below.get_ylim()
    below.set_ylim(max(min(low, 0), -MOST_EXCESS), min(high, MOST_EXCESS))
    below.axhline(0, color=look["exact"].colour, linewidth=1.2, zorder=1)
    above.set_ylabel("mean job completion time, h")
    above.set_title(label(title), fontsize=9)
    below.set(xlabel="budget", ylabel="over the optimum, %")
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.spines[["top", "right"]].set_visible(False)
    legend(figure)
    return figure
