"""Figures of Eva: packings and rounds by instance and resource, instances and tasks of its cloud over time, bills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from experiments.canvas import canvas, legend, plain, save_all, style_line
from experiments.eva.plan import list_priced_groups
from experiments.output.terminal import label
from experiments.palette import HUES, TINTS, assign_looks, looks, things
from experiments.simulator.plots import cdf, plot_over_days, save_speedups, select_first_workload
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.eva import EvaPacking, EvaReconfiguration
from instances.eva.packing import PricedType, TaskEntry

COLUMNS = {"instances": "instances that are billed", "tasks": "tasks that run"}


def plot_over_time(runs: Sequence[Simulated], column: str) -> Figure:
    """Plot a column of the timeline of each run over days, by policy."""
    figure, _ = plot_over_days(runs, lambda rows: rows[column], COLUMNS[column])
    legend(figure)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Write the speed-ups of all workloads, and the instances and tasks over time of the first one."""
    save_speedups(folder, done, baseline)
    first = select_first_workload(done)
    for column in COLUMNS if first else ():
        save_all(plot_over_time(first, column), folder / f"{column}.svg")


def swept(panels: Mapping[str, Mapping[str, Sequence[float]]], settings: Iterable[str], axis: str) -> Figure:
    """Plot one panel per measure, with one line per policy over the settings."""
    figure, every = canvas(1 + 3.8 * max(len(panels), 1.4), 4, 1, len(panels))
    values = list(settings)
    for axes, (what, lines) in zip(every, panels.items(), strict=True):
        look = looks(lines)
        for policy, line in lines.items():
            axes.plot(values, line, label=plain(policy), **style_line(look[policy], marked=True))
        axes.set(xlabel=axis, ylabel=what)
    legend(figure)
    return figure


def uptimes(hours: Mapping[str, Sequence[float]]) -> Figure:
    """Plot the CDF over instances of their uptimes in hours, one line per policy."""
    figure, (axes,) = canvas(5.5, 4)
    look = looks(hours)
    for policy, up in hours.items():
        cdf(axes, np.array(up), label=plain(policy), **style_line(look[policy]))
    axes.set(xlabel="hours that an instance is up", ylabel="share of instances", ylim=(0, 1), xlim=(0, None))
    legend(figure)
    return figure


def horizons(shares: Mapping[str, tuple[Mapping[str, float], float]]) -> Figure:
    """Plot the bill over D, one line per workload, with the bill of Eva's own estimate as a level."""
    figure, (axes,) = canvas(6, 4)
    look = assign_looks(shares)
    for name, (fixed, own) in shares.items():
        axes.plot(list(fixed), list(fixed.values()), label=plain(name), **style_line(look[name], marked=True))
        axes.axhline(own, color=look[name].colour, linewidth=1, alpha=0.5)
    axes.set(xlabel="D (level: Eva's estimate)", ylabel="bill, of No-Packing's")
    legend(figure)
    return figure


MOST = 60  # maximum number of rows; a note states how many further groups are omitted
KEYS = len(HUES) * len(TINTS)  # number of distinct colours; with more tasks a legend would be ambiguous


@dataclass(frozen=True)
class Held:
    """A row of the picture: instances of one type and content. `came`: how many of the tasks were not there before."""

    said: str
    kind: PricedType
    tasks: Mapping[str, int]
    came: Mapping[str, int] = field(default_factory=dict)


def packing(data: EvaPacking, solution: Mapping[str, Any]) -> Figure:
    """Plot one row per group of instances of one type, content and price, with each task's share of each resource."""
    kinds = {kind.name: kind for kind in data.instance_types}
    groups = sorted(list_priced_groups(data, solution), key=lambda group: list(kinds).index(group.type))
    rows = [Held(_label_group(g.number, g.type, g.usd_per_hour, kept=g.kept), kinds[g.type], g.tasks) for g in groups]
    return bars(data.resources, data.tasks, rows, f"{sum(group.usd for group in groups):.6g} USD/h")


def reconfiguration(data: EvaReconfiguration, solution: Mapping[str, Any]) -> Figure:
    """Plot a round in the same way: existing instances first, with hatches on new tasks, then new instances."""
    kinds = {k.name: k for k in data.instance_types}
    rows, given_up = [], 0
    for instance in data.existing:
        now = {key: k for key, k in solution["existing"].get(instance.id, {}).items() if k}
        came = {key: max(0, k - instance.tasks.get(key, 0)) for key, k in now.items()}
        given_up += not now
        said = f"{label(instance.id)}: {label(instance.type)}" if now else f"{label(instance.id)} is given up"
        rows.append(Held(said, kinds[instance.type], now, came))
    rented = sorted(solution.get("instances", []), key=lambda group: list(kinds).index(group["type"]))
    for group in rented:
        kind = kinds[group["type"]]
        rows.append(Held(_label_group(group.get("count", 1), kind.name, kind.usd_per_hour), kind, group["tasks"]))
    new = sum(group.get("count", 1) for group in rented)
    said = f"{len(data.existing) - given_up} instances stay, {given_up} are given up, {new} are new; hatched: came"
    return bars(data.resources, data.tasks, rows, said)


def _label_group(number: int, type: str, price: float, *, kept: bool = False) -> str:
    return f"{number} × {label(type)}, {price:g} USD/h" + (", kept" if kept else "")


def bars(resources: Sequence[str], entries: Sequence[TaskEntry], rows: Sequence[Held], title: str) -> Figure:
    """Plot one bar per row and resource, with the share of each task; new tasks are hatched."""
    shown, left = rows[:MOST], len(rows) - MOST
    tasks = {t.key: t for t in entries}
    colours = dict(zip(tasks, things(len(tasks)), strict=True))
    wide, tall = 2 + 2.6 * len(resources), 1.6 + 0.26 * len(shown)
    figure, all_axes = canvas(wide, tall, 1, len(resources), sharey=True)
    used: dict[str, Patch] = {}
    for axes, resource in zip(all_axes, resources, strict=True):
        for place, row in enumerate(shown):
            start, capacity = 0.0, row.kind.capacity[resource]
            for key, number, came in _stretches(row):
                demand = tasks[key].demand_on(row.kind.family)[resource]
                share = number * demand / capacity if capacity else 0.0
                hatch: dict[str, Any] = {"hatch": "////"} if came else {}
                axes.barh(place, share, left=start, color=colours[key], edgecolor="white", linewidth=0.4, **hatch)
                used.setdefault(key, Patch(color=colours[key], label=label(key)))
                start += share
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set(xlim=(0, 1.02), xticks=(0, 0.25, 0.5, 0.75, 1), xlabel=f"share of {label(resource)}")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}" if share in (0, 0.5) else ""))
    all_axes[0].set_yticks(range(len(shown)), [row.said for row in shown], fontsize=7)
    all_axes[0].set_ylim(max(1, len(shown)) - 0.5, -0.5)
    figure.suptitle(title + (f", {left} more rows" if left > 0 else ""), fontsize=10)
    if len(used) <= KEYS:
        legend(figure, 7, handles=list(used.values()))
    return figure


def _stretches(row: Held) -> Iterator[tuple[str, int, bool]]:
    """Yield the tasks of a row: for each kind those that stayed, then those that came."""
    for key, number in row.tasks.items():
        came = row.came.get(key, 0)
        if number - came:
            yield key, number - came, False
        if came:
            yield key, came, True
