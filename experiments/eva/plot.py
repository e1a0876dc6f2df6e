"""Pictures of a packing: what each rented instance holds of each resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.output.text import label
from instances.eva import EvaPacking

MOST = 60  # rows that are drawn; further groups of instances are left out, and said so


def packing(data: EvaPacking, solution: Mapping[str, Any]) -> Figure:
    """One row a group of instances of one type and content, and in it, of each resource, the share each task takes."""
    groups = sorted(solution["instances"], key=lambda group: [k.name for k in data.instance_types].index(group["type"]))
    kinds, tasks = {k.name: k for k in data.instance_types}, {t.key: t for t in data.tasks}
    shown, left = groups[:MOST], len(groups) - MOST
    colours = {key: mpl.colormaps["tab20"](i % 20) for i, key in enumerate(tasks)}
    figure = Figure(figsize=(2 + 2.6 * len(data.resources), 1.3 + 0.26 * len(shown)), layout="constrained")
    all_axes = figure.subplots(1, len(data.resources), sharey=True, squeeze=False)[0]
    used: dict[str, Any] = {}
    for axes, resource in zip(all_axes, data.resources, strict=True):
        for place, group in enumerate(shown):
            kind, start = kinds[group["type"]], 0.0
            for key, number in group["tasks"].items():
                capacity = kind.capacity[resource]
                share = number * tasks[key].demand_on(kind.family)[resource] / capacity if capacity else 0.0
                bar = axes.barh(place, share, left=start, color=colours[key], edgecolor="white", linewidth=0.4)
                used.setdefault(key, bar)
                start += share
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set(xlim=(0, 1.02), xlabel=f"share of {label(resource)}")
    said = [f"{g.get('count', 1)} × {label(g['type'])}, {kinds[g['type']].usd_per_hour:g} USD/h" for g in shown]
    all_axes[0].set_yticks(range(len(shown)), [text.replace("$", r"\$") for text in said], fontsize=7)
    all_axes[0].invert_yaxis()
    bill = sum(g.get("count", 1) * kinds[g["type"]].usd_per_hour for g in groups)
    figure.suptitle(f"{bill:.6g} USD/h" + (f", {left} more groups of instances" if left > 0 else ""), fontsize=10)
    if len(used) <= 20:
        figure.legend(
            list(used.values()), [label(key) for key in used], loc="outside lower center", ncols=6, fontsize=7
        )
    return figure
