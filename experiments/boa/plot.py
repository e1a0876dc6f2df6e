"""Pictures of an allocation: how wide each class of jobs runs, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.output.terminal import label
from instances.boa import BoaAllocation
from instances.solution_table import solution_table

MOST = 60  # epochs that are drawn


def widths(data: BoaAllocation, solution: Mapping[str, Any]) -> Figure:
    """A bar for each epoch of each class; where widths are mixed, one for each, as opaque as it is probable."""
    table = solution_table(solution)
    share = next((table[name] for name in ("probability", "fraction") if name in table), pd.Series(1.0, table.index))
    names = [
        f"{label(str(name))} {epoch}" if len(data.classes) > 1 else str(epoch)
        for name, epoch in zip(table["class"], table["epoch"], strict=True)
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    figure = Figure(figsize=(min(12, 2.5 + 0.35 * len(places)), 3.6), layout="constrained")
    axes = figure.subplots()
    for name, width, part in zip(names, table["width"], share, strict=True):
        if places[name] < MOST and part > 0:
            axes.bar(places[name], width, width=0.7, color="C0", alpha=min(1.0, 0.2 + 0.8 * part), edgecolor="C0")
            axes.text(places[name], width, f"{width:g}" if part > 0.999 else f"{width:g} ({part:.0%})", ha="center",
                      va="bottom", fontsize=6)  # fmt: skip
    drawn = list(places)[:MOST]
    axes.set_xticks(range(len(drawn)), drawn, rotation=90 if len(drawn) > 8 else 0, fontsize=7)
    kind = "class and epoch" if len(data.classes) > 1 else "epoch"
    axes.set(xlabel=kind, ylabel="GPUs of a job", title=f"budget {data.budget:g}")
    return figure
