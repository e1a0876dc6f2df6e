"""Figures of Eva's cloud: rented instances and running tasks over time, and speed-ups against the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.canvas import canvas, legend, lined, plain, save_all
from experiments.palette import in_order, looks
from experiments.simulator.plots import cdf, of_first_workload, over_days, save_speedups
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds

COLUMNS = {"instances": "instances that are billed", "tasks": "tasks that run"}


def over_time(runs: Sequence[Simulated], column: str) -> Figure:
    """Plot a column of the timeline of each run over days, by policy."""
    figure, _ = over_days(runs, lambda rows: rows[column], COLUMNS[column])
    legend(figure)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Write the speed-ups of all workloads, and the instances and tasks over time of the first one."""
    save_speedups(folder, done, baseline)
    first = of_first_workload(done)
    for column in COLUMNS if first else ():
        save_all(over_time(first, column), folder / f"{column}.svg")


def swept(panels: Mapping[str, Mapping[str, Sequence[float]]], settings: Iterable[str], axis: str) -> Figure:
    """Plot one panel per measure, with one line per policy over the settings."""
    figure, every = canvas(1 + 3.8 * max(len(panels), 1.4), 4, 1, len(panels))
    values = list(settings)
    for axes, (what, lines) in zip(every, panels.items(), strict=True):
        look = looks(lines)
        for policy, line in lines.items():
            axes.plot(values, line, label=plain(policy), **lined(look[policy], marked=True))
        axes.set(xlabel=axis, ylabel=what)
    legend(figure)
    return figure


def uptimes(hours: Mapping[str, Sequence[float]]) -> Figure:
    """Plot the CDF over instances of their uptimes in hours, one line per policy."""
    figure, (axes,) = canvas(5.5, 4)
    look = looks(hours)
    for policy, up in hours.items():
        cdf(axes, np.array(up), label=plain(policy), **lined(look[policy]))
    axes.set(xlabel="hours that an instance is up", ylabel="share of instances", ylim=(0, 1), xlim=(0, None))
    legend(figure)
    return figure


def horizons(shares: Mapping[str, tuple[Mapping[str, float], float]]) -> Figure:
    """Plot the bill over D, one line per workload, with the bill of Eva's own estimate as a level."""
    figure, (axes,) = canvas(6, 4)
    look = in_order(shares)
    for name, (fixed, own) in shares.items():
        axes.plot(list(fixed), list(fixed.values()), label=plain(name), **lined(look[name], marked=True))
        axes.axhline(own, color=look[name].colour, linewidth=1, alpha=0.5)
    axes.set(xlabel="D (level: Eva's estimate)", ylabel="bill, of No-Packing's")
    legend(figure)
    return figure
