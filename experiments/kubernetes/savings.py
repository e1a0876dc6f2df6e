"""Plot the possible savings of a cluster: hourly cost against evictions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.canvas import MARKERS, canvas, legend, save_all
from experiments.output.terminal import label, no_warnings
from experiments.palette import BLUE, GREY, ORANGE, RED


def write_picture(stem: Path, content: Mapping[str, Any]) -> None:
    """Write the figure of an answer to `stem`.svg and .pdf. Raises OutputError if a file cannot be written."""
    with no_warnings():
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
