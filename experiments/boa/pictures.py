"""Pictures of the renting world: completion time against the bill, GPUs over time, jobs, and the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import color_sequences
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.boa.curves import HOUR, Curves, PolicyCurve, burst_factors
from experiments.simulator.plots import plain, save_figure
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.boa import BoaRenting
from models.boa import PolicyBound

STEPS = 60
BESIDE = 1.05
"""The curve goes on for this factor beyond the least and the largest bill."""
LABEL = "no policy is below"


def bound_curve(data: BoaRenting, rented: Sequence[float]) -> tuple[list[float], list[float]]:
    """Rented GPUs, over the time until the last arrival, and hours that no mean completion time is below.

    `rented`: what the curve is to be drawn beside. Raises InputError where the jobs have no bound.
    """
    span = max(job.arrival_seconds for job in data.jobs) / HOUR
    most = BESIDE * max(rented) * span
    bound = PolicyBound(data, most)
    first = max(min(rented) / BESIDE, (1 + 1e-9) * bound.least / span)
    bills = [float(gpus) for gpus in np.linspace(first, most / span, STEPS + 1)]
    return bills, [bound.at(min(gpus * span, most)) for gpus in bills]


def draw_bound(axes: Axes, data: BoaRenting, rented: Sequence[float], label: str = LABEL) -> None:
    """Draw the curve beside those of policies, which rented so many GPUs."""
    axes.plot(*bound_curve(data, rented), "k-", linewidth=1.5, zorder=1, label=label)


GANTT_JOBS = 80  # the first so many are shown


def jct_against_bill(runs: Sequence[Simulated], bounded: Mapping[str, BoaRenting] = MappingProxyType({})) -> Figure:
    """Mean completion time against rented GPUs, a point a run, and below them the bound that no policy beats.

    Runs of one policy are joined. `bounded`: the workloads whose bound is drawn, by name; those of the same jobs have
    one curve.
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(run.policy for run in runs):
        points = sorted((run.totals["rented_gpus"], _mean_jct(run)) for run in runs if run.policy == name)
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, linewidth=0.8, label=plain(name))
    alike = _alike(bounded)
    for names in alike:
        rented = [run.totals["rented_gpus"] for run in runs if run.workload in names]
        draw_bound(axes, bounded[names[0]], rented, LABEL if len(alike) == 1 else f"{LABEL}, {plain(names[0])}")
    axes.set(xlabel="rented GPUs, billed hours over the time until the last arrival", ylabel="mean JCT, hours")
    axes.legend(frameon=False, fontsize=8)
    return figure


def gpus_over_time(runs: Sequence[Simulated]) -> Figure:
    """Rented GPUs (line) and GPUs that jobs hold (filled) of each run over time, one panel a policy."""
    figure = Figure(figsize=(8, 0.6 + 1.3 * len(runs)), layout="constrained")
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, run in zip(panels, runs, strict=True):
        _gpus(axes, run.timeline_table())
        axes.set_title(plain(run.policy), fontsize=8, loc="left")
        axes.set_ylabel("GPUs")
    panels[-1].set_xlabel("hours")
    return figure


def gantt(jobs: pd.DataFrame, title: str = "") -> Figure:
    """When each job waits (pale) and has begun, one line a job, coloured by class; the first GANTT_JOBS jobs."""
    jobs = jobs.head(GANTT_JOBS)
    figure = Figure(figsize=(8, 1 + 0.12 * len(jobs)), layout="constrained")
    axes = figure.subplots()
    colours = {name: f"C{i % 10}" for i, name in enumerate(dict.fromkeys(jobs["class"]))}
    for place, (kind, submit, start, end) in enumerate(
        zip(jobs["class"], jobs["submit"] / HOUR, jobs["start"] / HOUR, jobs["end"] / HOUR, strict=True)
    ):
        axes.barh(place, start - submit, left=submit, color=colours[kind], alpha=0.3)
        axes.barh(place, end - start, left=start, color=colours[kind])
    axes.invert_yaxis()
    for name, colour in colours.items():
        axes.barh([0], [0], color=colour, label=plain(name))
    axes.set(xlabel="hours", yticks=[], title=plain(title))
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Completion time against the bill of all runs; of the first workload GPUs over time, and the jobs of each run."""
    finished = [run for run in done if run.status == "finished"]
    if not finished:
        return
    billed = [run for run in finished if run.totals["rented_gpus"] is not None]
    if billed:
        names = {run.workload for run in billed} & {one.workload for one in bounds if one.status == "finished"}
        bounded = {name: one for name, one in data.items() if name in names}
        save_figure(jct_against_bill(billed, bounded), folder / "jct_against_bill.svg")
    first = [run for run in finished if run.workload == finished[0].workload]
    save_figure(gpus_over_time(first), folder / "gpus.svg")
    for run in first:
        name = "".join(c if c.isalnum() or c in "-." else "-" for c in run.policy)
        save_figure(gantt(run.jobs_table(), f"{run.workload}, {run.policy}"), folder / f"jobs-{name}.svg")


def _alike(workloads: Mapping[str, BoaRenting]) -> list[list[str]]:
    """Names of the workloads, those together that have the same jobs, whatever their budgets are."""
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


def _gpus(axes: Axes, timeline: pd.DataFrame) -> None:
    hours = timeline["time"] / HOUR
    axes.fill_between(hours, timeline["held"], step="post", alpha=0.3, linewidth=0)
    axes.step(hours, timeline["rented"], where="post", linewidth=0.8)


def _mean_jct(run: Simulated) -> float:
    return float(run.jobs_table()["jct"].mean()) / HOUR


NAMES = {"exact": "BOA, exact plan", "width-calculator": "BOA, Width Calculator"}
COLOURS = color_sequences["tab20"][::2] + color_sequences["tab20"][1::2]
FAR = 10.0
"""Where completion times are apart by more than this factor the axis is logarithmic."""


def frontiers(path: Path, curves: Curves) -> None:
    """Mean completion time against rented GPUs above the bound; all curves are of the same jobs."""
    figure, axes = _axes(1, 1)
    _frontier(axes[0], list(curves.values()), "mean")
    times = [p.mean for curve in curves.values() for p in curve.points]
    if max(times) > FAR * min(times):
        axes[0].set_yscale("log")
    save_figure(figure, path)


def two_frontiers(path: Path, curves: Curves) -> None:
    """Mean and 95th percentile against rented GPUs, a row for each trace that keys begin with."""
    titles = list(dict.fromkeys(str(key[0]) for key in curves))
    figure, axes = _axes(len(titles), 2)
    for row, title in enumerate(titles):
        for column, what in enumerate(("mean", "p95")):
            _frontier(axes[2 * row + column], [curve for key, curve in curves.items() if key[0] == title], what)
            axes[2 * row + column].set_title(title, fontsize=9)
    save_figure(figure, path)


def over_time(path: Path, curves: Curves, gpus: float = 55) -> None:
    """Rented GPUs over time of the run of each policy whose bill is closest to so many."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    for curve in curves.values():
        point = min(curve.points, key=lambda p: abs(p.rented - gpus))
        timeline = point.run.timeline_table()
        label = f"{NAMES.get(curve.label, curve.label)}, {point.rented:.0f} GPUs, mean JCT {point.mean:.2f} h"
        axes.step(timeline["time"] / HOUR, timeline["rented"], where="post", linewidth=0.9, label=label)
    axes.set(xlabel="hours", ylabel="rented GPUs")
    axes.legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def efficiency(path: Path, curves: Curves) -> None:
    """Efficiency against rented GPUs: as the scheduler sees it (dashed), and of work really done."""
    figure, axes = _axes(1, 1)
    for i, curve in enumerate(curves.values()):
        points = sorted(curve.points, key=lambda p: p.rented)
        rented = [p.rented for p in points]
        name = NAMES.get(curve.label, curve.label)
        for column, line, what in (
            ("seen_efficiency_over_time", "--", "as seen"),
            ("efficiency_over_time", "-", "done"),
        ):
            values = [p.run.totals[column] for p in points]
            axes[0].plot(rented, values, line, marker="o", markersize=3, color=f"C{i}", label=f"{name}, {what}")
    axes[0].axvline(112, color="0.7", linewidth=0.8, zorder=0)
    axes[0].set(xlabel="rented GPUs", ylabel="sum of speedups over rented GPUs, averaged over time")
    axes[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def bursts(path: Path, curves: Curves) -> None:
    """Pollux's mean completion time over BOA's at equal bill, against C² of the times between arrivals."""
    figure, axes = _axes(1, 1)
    for name, by_c2 in burst_factors(curves).items():
        c2 = sorted(c for c, values in by_c2.items() if values)
        axes[0].plot(c2, [mean(by_c2[c]) for c in c2], marker="o", markersize=4, label=name)
        for c in c2:
            axes[0].plot([c] * len(by_c2[c]), by_c2[c], ".", color="0.6", markersize=3, zorder=0)
    axes[0].axhline(1, color="0.7", linewidth=0.8, zorder=0)
    axes[0].set(xlabel="C² of the times between arrivals", ylabel="mean JCT over BOA's, at equal bill")
    axes[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def _frontier(axes: Axes, curves: Sequence[PolicyCurve], what: str) -> None:
    for place, curve in enumerate(curves):
        points = sorted((p.rented, getattr(p, what)) for p in curve.points)
        name = NAMES.get(curve.label, curve.label)
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, color=COLOURS[place % len(COLOURS)], label=name)
    if what == "mean":
        draw_bound(axes, curves[0].tasks[0].workload.data, [p.rented for curve in curves for p in curve.points])
    axes.set(xlabel="rented GPUs", ylabel=f"{'mean' if what == 'mean' else 'P95'} JCT, hours")
    axes.legend(frameon=False, fontsize=7)


def _axes(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.5 * columns + 1.5 * (columns == 1), 3.6 * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)
