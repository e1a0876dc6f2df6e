"""Shared parts of all matplotlib figures: lines by the palette, legends outside the data, axes with zero, and files."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from experiments.palette import Look
from instances import InputError
from instances.files import write_whole
from instances.text import escape_text

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (5, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "////", "....", "xxxx")
KINDS = (".svg", ".pdf")
"""A command writes every figure in each of these formats."""
METADATA: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
SAME: Any = {"svg.hashsalt": "gapwise", "pdf.fonttype": 42}
"""Settings for reproducible files, and for fonts that publishers accept."""
LETTER, LINE = 0.0072, 0.021  # approximate width of a letter and height of a line, in inches per point of font size
DECADES = 5  # maximum decades of a logarithmic axis above its zero


def canvas(width: float, height: float, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Figure, list[Axes]]:
    """Create a figure, and return it with its axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **more).flat)


def style_line(look: Look, *, marked: bool = False, width: float = 1.2) -> dict[str, Any]:
    """Return the style of a line; `marked`: whether each of its points has a marker."""
    style: dict[str, Any] = {"color": look.colour, "linestyle": DASHES[look.line], "linewidth": width}
    return style | ({"marker": MARKERS[look.marker], "markersize": 4.5} if marked else {})


def style_area(look: Look) -> dict[str, Any]:
    """Return the style of a filled area."""
    return {"facecolor": look.colour, "hatch": HATCHES[look.line], "edgecolor": "white", "linewidth": 0}


def legend(figure: Figure, size: float = 8, title: str | None = None, handles: Sequence[Any] | None = None) -> None:
    """Add a legend of all plotted names, each once, in full and below all axes, so that it never covers data."""
    found: dict[str, Any] = {}
    if handles is not None:
        found = {handle.get_label(): handle for handle in handles}
    else:
        for axes in figure.axes:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                found.setdefault(name, handle)
    if not found:
        return
    each = 0.5 + LETTER * size * max(map(len, found))
    columns = max(1, min(len(found), int((figure.get_figwidth() - 0.3) / each)))
    rows = math.ceil(len(found) / columns) + (title is not None)
    figure.set_figheight(figure.get_figheight() + rows * LINE * size)  # the axes keep their height
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=columns, fontsize=size, frameon=False,
        title=title, title_fontsize=size, handlelength=2.8,
    )  # fmt: skip


def from_zero(axes: Axes, side: Literal["x", "y"], values: Iterable[float]) -> None:
    """Make an axis logarithmic with a zero: it is linear up to the power of ten below the smallest positive value."""
    above = [value for value in values if value > 0]
    if not above:
        return
    least = 10.0 ** math.floor(math.log10(max(min(above), max(above) / 10**DECADES)))
    scale, limit, axis = (
        (axes.set_xscale, axes.set_xlim, axes.xaxis) if side == "x" else (axes.set_yscale, axes.set_ylim, axes.yaxis)
    )
    scale("symlog", linthresh=least, linscale=0.5)
    limit(-0.1 * least, 1.25 * max(above))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))


def logarithmic(axes: Axes, side: Literal["x", "y"]) -> None:
    """Make an axis logarithmic with plain numbers, also between powers of ten if it spans less than a decade."""
    axes.set(**{f"{side}scale": "log"})
    axis = axes.xaxis if side == "x" else axes.yaxis
    low, high = axes.get_xlim() if side == "x" else axes.get_ylim()
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("{x:g}" if high < 10 * low else "")


def plain(name: str) -> str:
    """Escape the dollars of a user's name, because matplotlib would read text between two dollars as mathematics."""
    return escape_text(name).replace("$", r"\$")


def choose_time_unit(hours: float) -> tuple[float, str]:
    """Return the time unit for an axis of `hours`: the number of units per hour, and their name."""
    return (3600.0, "seconds") if hours < 0.05 else (60.0, "minutes") if hours < 2 else (1.0, "hours")


def add_subject(figure: Figure, said: str, size: float = 10) -> Figure:
    """Put a subject before the title of a figure, wrapped to its width."""
    at = figure.axes[0].get_title() if figure.axes else ""
    before = figure.get_suptitle() or at
    if at and not figure.get_suptitle():
        figure.axes[0].set_title("")
    text = f"{plain(said)}: {before}" if before else plain(said)
    most = max(20, int(figure.get_figwidth() / (LETTER * size)))
    lines = wrap(text, most, break_on_hyphens=False)
    figure.set_figheight(figure.get_figheight() + (len(lines) - 1) * LINE * size)
    figure.suptitle("\n".join(lines), fontsize=size)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; SVG and PDF files are the same in every run. Raises InputError, and OutputError."""
    drawn = io.BytesIO()
    kinds = figure.canvas.get_supported_filetypes()
    if path.suffix[1:] not in kinds:
        raise InputError(f"{path}: must end in .{', .'.join(sorted(kinds))}")
    with mpl.rc_context(SAME):
        figure.savefig(drawn, format=path.suffix[1:], metadata=METADATA.get(path.suffix))
    write_whole(path, drawn.getvalue())


def save_all(figure: Figure, path: Path) -> None:
    """Write a figure in each of the formats, for any suffix of the path. Raises OutputError."""
    for kind in KINDS:
        save_figure(figure, path.with_suffix(kind))
