"""Pictures of Figures 4 to 9 of BOA, of the runs here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from matplotlib import color_sequences
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.boa.bound_curve import draw_bound
from experiments.boa.renting_runs import HOUR, Curve, burst_factors
from experiments.harness.experiment import Context
from experiments.simulator.plots import save_figure

NAMES = {"exact": "BOA, exact plan", "width-calculator": "BOA, Width Calculator"}
STYLES = ("-", "--", ":")
COLOURS = color_sequences["tab20"][::2] + color_sequences["tab20"][1::2]
FAR = 10.0
"""Where completion times are apart by more than this factor the axis is logarithmic."""


def frontiers(path: Path, context: Context, curves: Sequence[Curve]) -> None:
    """Mean completion time against rented GPUs above the bound; curves of one policy are told apart by their lines.

    All curves are of the same jobs.
    """
    figure, axes = _axes(1, 1)
    _frontier(axes[0], curves, "mean")
    times = [p.mean for curve in curves for p in curve.points]
    if max(times) > FAR * min(times):
        axes[0].set_yscale("log")
    save_figure(figure, path)


def two_frontiers(path: Path, context: Context, curves: Sequence[Curve]) -> None:
    """Mean and 95th percentile against rented GPUs on filterTrace, and on the first sample of newTrace."""
    figure, axes = _axes(2, 2)
    for row, (title, mine) in enumerate((("filterTrace", curves[:5]), ("newTrace", curves[5:10]))):
        for column, what in enumerate(("mean", "p95")):
            _frontier(axes[2 * row + column], mine, what)
            axes[2 * row + column].set_title(title, fontsize=9)
    save_figure(figure, path)


def over_time(path: Path, context: Context, curves: Sequence[Curve], gpus: float = 55) -> None:
    """Rented GPUs over time of the run of each policy whose bill is closest to so many."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    for curve in curves:
        point = min(curve.points, key=lambda p: abs(p.rented - gpus))
        timeline = point.run.timeline_table()
        label = f"{NAMES.get(curve.label, curve.label)}, {point.rented:.0f} GPUs, mean JCT {point.mean:.2f} h"
        axes.step(timeline["time"] / HOUR, timeline["rented"], where="post", linewidth=0.9, label=label)
    axes.set(xlabel="hours", ylabel="rented GPUs")
    axes.legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def efficiency(path: Path, context: Context, curves: Sequence[Curve]) -> None:
    """Efficiency against rented GPUs: as the scheduler sees it (dashed), and of work really done."""
    figure, axes = _axes(1, 1)
    for i, curve in enumerate(curves):
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


def bursts(path: Path, context: Context, curves: Sequence[Curve]) -> None:
    """Pollux's mean completion time over BOA's at equal bill, against C² of the times between arrivals."""
    figure, axes = _axes(1, 1)
    for objective, by_c2 in burst_factors(context, curves).items():
        c2 = sorted(c for c, values in by_c2.items() if values)
        axes[0].plot(c2, [mean(by_c2[c]) for c in c2], marker="o", markersize=4, label=f"pollux-as-{objective}")
        for c in c2:
            axes[0].plot([c] * len(by_c2[c]), by_c2[c], ".", color="0.6", markersize=3, zorder=0)
    axes[0].axhline(1, color="0.7", linewidth=0.8, zorder=0)
    axes[0].set(xlabel="C² of the times between arrivals", ylabel="mean JCT over BOA's, at equal bill")
    axes[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def _frontier(axes: Axes, curves: Sequence[Curve], what: str) -> None:
    seen: dict[str, int] = {}
    for curve in curves:
        same = seen[curve.label] = seen.get(curve.label, -1) + 1
        points = sorted((p.rented, getattr(p, what)) for p in curve.points)
        name = NAMES.get(curve.label, curve.label) + ("", ", fitted model", ", estimated anew")[min(same, 2)]
        colour = COLOURS[list(seen).index(curve.label) % len(COLOURS)]
        axes.plot(*zip(*points, strict=True), STYLES[same % 3], marker="o", markersize=3, color=colour, label=name)
    if what == "mean":
        draw_bound(axes, curves[0].tasks[0].workload.data, [p.rented for curve in curves for p in curve.points])
    axes.set(xlabel="rented GPUs", ylabel=f"{'mean' if what == 'mean' else 'P95'} JCT, hours")
    axes.legend(frameon=False, fontsize=7)


def _axes(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.5 * columns + 1.5 * (columns == 1), 3.6 * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)
