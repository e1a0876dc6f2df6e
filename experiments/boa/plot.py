"""Pictures of the allocation problem: how wide each class runs, epoch by epoch, and what a budget buys."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from experiments.output.terminal import label, no_warnings
from instances.boa import BoaAllocation
from instances.files import write_whole
from instances.solution_table import solution_table

DRAWN = 60  # epochs


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
        if places[name] < DRAWN and part > 0:
            axes.bar(places[name], width, width=0.7, color="C0", alpha=min(1.0, 0.2 + 0.8 * part), edgecolor="C0")
            axes.text(places[name], width, f"{width:g}" if part > 0.999 else f"{width:g} ({part:.0%})", ha="center",
                      va="bottom", fontsize=6)  # fmt: skip
    drawn = list(places)[:DRAWN]
    axes.set_xticks(range(len(drawn)), drawn, rotation=90 if len(drawn) > 8 else 0, fontsize=7)
    kind = "class and epoch" if len(data.classes) > 1 else "epoch"
    axes.set(xlabel=kind, ylabel="GPUs of a job", title=f"budget {data.budget:g}")
    return figure


Frontier = Sequence[tuple[float, float | None]]
"""(budget, mean completion time in hours), `None` where there is no solution."""

STYLES = {"exact": ("k-", 1.8), "randomised": ("C0:", 1.5)}
MOST = 4.0  # Mean completion times beyond this multiple of the smallest are cut off.
MOST_EXCESS = 25.0  # An excess over the optimum beyond this many percent is cut off.


def write_plots(stem: Path, curves: Mapping[str, Frontier], title: str) -> None:
    """Write `stem`.svg and `stem`.png: the curves by method, and below the excess over that of `exact`.

    Raises InputError where a file cannot be written.
    """
    with plt.rc_context({"svg.hashsalt": "gapwise", "svg.fonttype": "none", "font.size": 9}), no_warnings():
        figure, (above, below) = plt.subplots(
            2, figsize=(6.4, 5.2), sharex=True, height_ratios=(3, 2), layout="constrained"
        )
        optima = {budget: time for budget, time in curves["exact"] if time is not None}
        for i, (name, points) in enumerate(curves.items()):
            style, width = STYLES.get(name, (f"C{i}-", 1.0))
            known = [(b, t) for b, t in points if t is not None]
            above.plot([b for b, _ in known], [t for _, t in known], style, linewidth=width, label=label(name))
            over = [(b, 100 * (t / optima[b] - 1)) for b, t in known if b in optima]
            if name != "exact":
                below.plot([b for b, _ in over], [e for _, e in over], style, linewidth=width)
        times = list(optima.values())
        if times:
            above.set_ylim(0, min(1.05 * max(times), MOST * min(times)))
        low, high = below.get_ylim()
        below.set_ylim(max(low, -MOST_EXCESS), min(high, MOST_EXCESS))
        above.set_ylabel("mean job completion time, h")
        below.set_ylabel("over the optimum, %")
        below.set_xlabel("budget")
        above.set_title(label(title), fontsize=9)
        above.legend(frameon=False)
        for axes in (above, below):
            axes.grid(alpha=0.3)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        for suffix, extra in ((".svg", {"metadata": {"Date": None}}), (".png", {"dpi": 110})):
            picture = io.BytesIO()
            figure.savefig(picture, format=suffix[1:], **extra)
            write_whole(stem.with_suffix(suffix), picture.getvalue())
        plt.close(figure)
