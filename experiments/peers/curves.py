"""The picture of growth: a panel a problem, CPU seconds against size, exact method and peer, to 1% and to proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.canvas import canvas, legend, logarithmic, style_line
from experiments.harness.experiment import TextTable
from experiments.palette import INK, RED, Look
from experiments.peers.growth import EXACT

COLUMNS = 3
LOOKS: Mapping[tuple[str, str], Look] = {
    (EXACT, "1%"): Look(INK, 1),
    (EXACT, "proof"): Look(INK, 0),
    ("peer", "1%"): Look(RED, 1),
    ("peer", "proof"): Look(RED, 0),
}
BROKEN: dict[str, Any] = {"marker": "x", "markersize": 8, "markeredgewidth": 1.8}
LEAST_S = 1e-3


def curves(tables: Iterable[TextTable]) -> Figure:
    """Draw the tables of studies of growth, with one panel per problem."""
    panels: dict[str, list[dict[str, str]]] = {}
    for table in tables:
        for cells in table.rows:
            row = dict(zip(table.head, cells, strict=True))
            panels.setdefault(row["work"], []).append(row)
    rows = -(-len(panels) // COLUMNS)
    figure, places = canvas(9.6, 2.5 * rows, rows, COLUMNS, sharey=True)
    for place, (work, found) in zip(places, panels.items(), strict=False):
        _panel(place, work, found)
    for place in places[len(panels) :]:
        place.set_axis_off()
    for place in places[::COLUMNS]:
        place.set_ylabel("CPU s")
    logarithmic(places[0], "y")
    handles = [
        Line2D([], [], label=f"{who}, to {to}", **style_line(look, marked=True)) for (who, to), look in LOOKS.items()
    ]
    broken = Line2D([], [], label="no run gets there", color=INK, linestyle="", **BROKEN)
    legend(figure, handles=[*handles, broken])
    return figure


def _panel(axes: Axes, work: str, rows: Sequence[Mapping[str, str]]) -> None:
    axes.set_title(work, fontsize=9)
    axes.set_xlabel(rows[0]["size"].partition(" ")[2], fontsize=8)
    for (who, to), look in LOOKS.items():
        mine = [row for row in rows if (row["method"] == EXACT) == (who == EXACT) and row["to"] == to]
        sizes = [float(row["size"].partition(" ")[0].replace(",", "")) for row in mine]
        seconds = [max(float(row["median CPU s"]), LEAST_S) for row in mine]
        axes.plot(sizes, seconds, **style_line(look, marked=True))
        if mine and mine[-1]["get there"].startswith("0 "):
            axes.plot(sizes[-1], seconds[-1], color=look.colour, **BROKEN)
    logarithmic(axes, "x")
    axes.tick_params(which="both", labelsize=8)
    axes.grid(alpha=0.25)
