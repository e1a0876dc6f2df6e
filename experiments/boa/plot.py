"""Pictures of the allocation problem: how wide each class runs, epoch by epoch, and what a budget buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.canvas import canvas, legend, lined, save_all, save_figure
from experiments.output.terminal import label, no_warnings
from experiments.palette import BLUE, looks
from instances.boa import BoaAllocation
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
    figure, (axes,) = canvas(min(12, max(3.6, 2.5 + 0.35 * len(places))), 3.6)
    for name, width, part in zip(names, table["width"], share, strict=True):
        if places[name] < DRAWN and part > 0:
            axes.bar(places[name], width, width=0.7, color=BLUE, alpha=min(1.0, 0.2 + 0.8 * part), edgecolor=BLUE)
            axes.text(places[name], width, f"{width:g}" if part > 0.999 else f"{width:g} ({part:.0%})", ha="center",
                      va="bottom", fontsize=6)  # fmt: skip
    drawn = list(places)[:DRAWN]
    axes.set_xticks(range(len(drawn)), drawn, rotation=90 if len(drawn) > 8 else 0, fontsize=7)
    kind = "class and epoch" if len(data.classes) > 1 else "epoch"
    free = [kind.price for kind in data.gpu_types] == [1]
    unit = "GPUs on average" if free else "an hour"
    axes.set(xlabel=kind, ylabel="GPUs of a job", title=f"a budget of {data.budget:g} {unit}")
    axes.margins(y=0.1)
    return figure


Frontier = Sequence[tuple[float, float | None]]
"""(budget, mean completion time in hours), `None` where there is no solution."""

MOST = 4.0  # Mean completion times beyond this multiple of the smallest are cut off.
MOST_EXCESS = 25.0  # An excess over the optimum beyond this many percent is cut off.


def write_plots(stem: Path, curves: Mapping[str, Frontier], optima: Mapping[float, float], title: str) -> None:
    """Write `stem`.svg, .pdf and .png. Raises OutputError where a file cannot be written."""
    figure = budgets(curves, optima, title)
    with no_warnings():
        save_all(figure, stem)
        save_figure(figure, stem.with_suffix(".png"))


def budgets(curves: Mapping[str, Frontier], optima: Mapping[float, float], title: str) -> Figure:
    """The curves by method, and below the excess over the `optima` that are proven; else `exact` is hollow."""
    with no_warnings():
        figure, (above, below) = canvas(6.4, 5.6, 2, sharex=True, height_ratios=(3, 2))
        look = looks(curves)
        for name, points in curves.items():
            style = lined(look[name], width=1.8 if name == "exact" else 1.2)
            known = [(b, t) for b, t in points if t is not None]
            above.plot([b for b, _ in known], [t for _, t in known], label=label(name), **style)
            if name == "exact":
                unproven = [(b, t) for b, t in known if b not in optima]
                if unproven:
                    hollow: dict[str, Any] = {
                        "facecolors": "white",
                        "edgecolors": look[name].colour,
                        "marker": "o",
                        "s": 18,
                    }
                    above.scatter(
                        [b for b, _ in unproven],
                        [t for _, t in unproven],
                        label="exact, not proven",
                        zorder=3,
                        **hollow,
                    )
            else:
                over = [(b, 100 * (t / optima[b] - 1)) for b, t in known if b in optima]
                below.plot([b for b, _ in over], [e for _, e in over], **style)
        times = [time for _, time in curves["exact"] if time is not None]
        if times:
            above.set_ylim(0, min(1.05 * max(times), MOST * min(times)))
        low, high = below.get_ylim()
        below.set_ylim(max(min(low, 0), -MOST_EXCESS), min(high, MOST_EXCESS))
        below.axhline(0, color=look["exact"].colour, linewidth=1.2, zorder=1)
        above.set_ylabel("mean job completion time, h")
        below.set_ylabel("over the optimum, %")
        below.set_xlabel("budget")
        above.set_title(label(title), fontsize=9)
        for axes in (above, below):
            axes.grid(alpha=0.3)
            axes.yaxis.set_major_locator(MaxNLocator(5))
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        legend(figure)
    return figure
