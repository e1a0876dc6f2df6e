"""Figures of a placement and of a consolidation: the final use of each resource on each node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from experiments.eva.pictures import Held, bars
from experiments.output.terminal import label
from instances.eva.packing import DEFAULT, Task
from instances.kubernetes import NodeConsolidation, NodePlacement, RentedType, check_placement


def nodes(data: NodePlacement, solution: Mapping[str, Any]) -> Figure:
    """Plot one row per node with each pod's share of each resource, and hatches on pods that moved there.

    Nodes that receive pods come first.
    """
    packing = data.packing()
    rows = []
    for node, kind in zip(data.nodes, packing.instance_types, strict=True):
        holds, came = _held(node.pods, solution["nodes"].get(node.name, {}))
        rows.append(Held(label(node.name), kind, holds, came))
    rows.sort(key=lambda row: not any(row.came.values()))
    moved = check_placement(data, solution).objective
    return bars(packing.resources, packing.tasks, rows, f"{moved:.0f} pods move; hatched: came")


def _held(before: Mapping[str, int], now: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the final pods of a node, and how many of each came to it."""
    holds = {name: n for name, n in now.items() if n}
    return holds, {name: max(0, n - before.get(name, 0)) for name, n in holds.items()}


def kept_and_rented(data: NodeConsolidation, solution: Mapping[str, Any]) -> Figure:
    """Plot a consolidation in the same way: rented nodes first, then nodes that receive pods, removed nodes last."""
    kinds = {kind.name: kind for kind in data.instance_types}
    groups = sorted(solution["instances"], key=lambda group: list(kinds).index(group["type"]))
    rented = []
    for group in groups:
        kind = kinds[group["type"]]
        said = _said(f"{group['count']} × {label(kind.name)}, new", kind.usd_per_hour)
        rented.append(Held(said, kind, group["tasks"]))
    kept, given_up = [], []
    for node in data.nodes:
        kind = RentedType(name=node.name, family="node", capacity=node.capacity, usd_per_hour=1.0)
        if node.name in solution["nodes"]:
            said = _said(label(node.name), node.usd_per_hour)
            kept.append(Held(said, kind, *_held(node.pods, solution["nodes"][node.name])))
        else:
            given_up.append(Held(f"{label(node.name)} is given up", kind, {}))
    kept.sort(key=lambda row: not any(row.came.values()))
    number = sum(group["count"] for group in groups)
    title = f"{len(kept)} nodes stay, {len(given_up)} are given up, {number} are new; hatched: came"
    tasks = [Task(workload=pod.name, count=pod.count, demand={DEFAULT: pod.demand}) for pod in data.pods]
    return bars(data.resources, tasks, [*rented, *kept, *given_up], title)


def _said(who: str, price: float | None) -> str:
    return who if price is None else f"{who}, {price:g} USD/h"
