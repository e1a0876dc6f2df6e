"""Pictures of Kubernetes: the use of each node after a placement or consolidation, and the savings of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.canvas import MARKERS, canvas, legend, save_all
from experiments.eva.pictures import Held, bars
from experiments.output.terminal import label, suppress_warnings
from experiments.palette import BLUE, GREY, ORANGE, RED
from instances.eva.packing import DEFAULT, Task
from instances.kubernetes import NodeConsolidation, NodePlacement, RentedType, check_placement


def nodes(data: NodePlacement, solution: Mapping[str, Any]) -> Figure:
    """Plot one row per node with each pod's share of each resource, and hatches on pods that moved there.

    Nodes that receive pods come first.
    """
    packing = data.packing()
    rows = []
    for node, kind in zip(data.nodes, packing.instance_types, strict=True):
        holds, came = _split_held(node.pods, solution["nodes"].get(node.name, {}))
        rows.append(Held(label(node.name), kind, holds, came))
    rows.sort(key=lambda row: not any(row.came.values()))
    moved = check_placement(data, solution).objective
    return bars(packing.resources, packing.tasks, rows, f"{moved:.0f} pods move; hatched: came")


def _split_held(before: Mapping[str, int], now: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the final pods of a node, and how many of each came to it."""
    holds = {name: n for name, n in now.items() if n}
    return holds, {name: max(0, n - before.get(name, 0)) for name, n in holds.items()}


def plot_consolidation(data: NodeConsolidation, solution: Mapping[str, Any]) -> Figure:
    """Plot a consolidation in the same way: rented nodes first, then nodes that receive pods, removed nodes last."""
    kinds = {kind.name: kind for kind in data.instance_types}
    groups = sorted(solution["instances"], key=lambda group: list(kinds).index(group["type"]))
    rented = []
    for group in groups:
        kind = kinds[group["type"]]
        said = _label_node(f"{group['count']} × {label(kind.name)}, new", kind.usd_per_hour)
        rented.append(Held(said, kind, group["tasks"]))
    kept, given_up = [], []
    for node in data.nodes:
        kind = RentedType(name=node.name, family="node", capacity=node.capacity, usd_per_hour=1.0)
        if node.name in solution["nodes"]:
            said = _label_node(label(node.name), node.usd_per_hour)
            kept.append(Held(said, kind, *_split_held(node.pods, solution["nodes"][node.name])))
        else:
            given_up.append(Held(f"{label(node.name)} is given up", kind, {}))
    kept.sort(key=lambda row: not any(row.came.values()))
    number = sum(group["count"] for group in groups)
    title = f"{len(kept)} nodes stay, {len(given_up)} are given up, {number} are new; hatched: came"
    tasks = [Task(workload=pod.name, count=pod.count, demand={DEFAULT: pod.demand}) for pod in data.pods]
    return bars(data.resources, tasks, [*rented, *kept, *given_up], title)


def _label_node(who: str, price: float | None) -> str:
    return who if price is None else f"{who}, {price:g} USD/h"


def write_picture(stem: Path, content: Mapping[str, Any]) -> None:
    """Write the figure of an answer to `stem`.svg and .pdf. Raises OutputError if a file cannot be written."""
    with suppress_warnings():
        save_all(savings(content), stem)


def savings(content: Mapping[str, Any]) -> Figure:
    """Plot the hourly cost by number of evictions, with today's cost, the bound, the rules' ends, and the plan."""
    figure, (axes,) = canvas(6.4, 4)
    bill, bound, reached = (content[f"{name}_usd_per_hour"] for name in ("bill", "bound", "reachable"))
    found = [(p["evictions"], p["usd_per_hour"]) for p in content["frontier"] if p["usd_per_hour"] is not None]
    points = sorted({(0, bill), *found})
    evictions, bills = [k for k, _ in points], [usd for _, usd in points]
    axes.step(evictions, bills, where="post", color=BLUE, marker="o", markersize=4, label="best plans found")
    axes.axhline(bill, color=GREY, linestyle="--", linewidth=1, label="today")
    if bound is not None:
        axes.axhline(bound, color=RED, linewidth=1, label="proven: no bill is below this")
    if reached is not None:
        axes.plot([content["evictions"]], [reached], "*", color=BLUE, markersize=12, label="the plan, carried out")
    for i, end in enumerate(content["rules"]):
        if end["usd_per_hour"] is not None and end["evictions"] is not None:
            marker = MARKERS[(i + 1) % len(MARKERS)]
            axes.plot([end["evictions"]], [end["usd_per_hour"]], marker, color=ORANGE, label=label(end["rule"]))
    axes.set(xlabel="evicted pods", ylabel="USD/h", ylim=(0, 1.1 * max([*bills, bound or 0.0]) or 1))
    legend(figure)
    return figure
