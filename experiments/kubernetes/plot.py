"""Picture of a placement: what each node holds of each resource in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from experiments.eva.plot import Held, bars
from experiments.output.terminal import label
from instances.kubernetes import NodePlacement, check_placement


def nodes(data: NodePlacement, solution: Mapping[str, Any]) -> Figure:
    """A row a node and of each resource the share that each pod takes, with hatches on pods that came there.

    Nodes to which something comes are first.
    """
    packing = data.packing()
    rows = []
    for node, kind in zip(data.nodes, packing.instance_types, strict=True):
        holds = {name: n for name, n in solution["nodes"].get(node.name, {}).items() if n}
        came = {name: max(0, n - node.pods.get(name, 0)) for name, n in holds.items()}
        rows.append(Held(label(node.name), kind, holds, came))
    rows.sort(key=lambda row: not any(row.came.values()))
    moved = check_placement(data, solution).objective
    return bars(packing, rows, f"{moved:.0f} pods move; hatched: came")
