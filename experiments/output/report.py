"""The study as one self-contained HTML page: tables, and a plot of the gaps."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from experiments.harness.gaps import Row, Scored
from experiments.output.columns import NAMED, measured
from experiments.output.csv import results_csv, summary_csv
from experiments.output.text import label, no_warnings
from instances.files import write_whole
from instances.gaps import TOLERANCE
from instances.result import versions
from instances.text import shown

WIDE = 5.0  # a gap of 500%, from which on the axis is logarithmic
BOX = 5  # gaps from which on a box says more than the gaps themselves
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:nth-child(-n+2), td:nth-child(-n+2), td:last-child { text-align: left }
svg { max-width: 100%; height: auto }
"""


def write_study(folder: Path, rows: Sequence[Row], scored: Sequence[Scored]) -> None:
    """Write `results.csv`, `summary.csv` and `report.html`. Raises OutputError where they cannot be written."""
    write_whole(folder / "results.csv", results_csv(scored).encode())
    write_whole(folder / "summary.csv", summary_csv(rows).encode())
    write_report(folder / "report.html", rows, scored)


def write_report(path: Path, rows: Sequence[Row], scored: Sequence[Scored]) -> None:
    """Write the report to `path`. Raises InputError where it cannot be written."""
    problems = list(dict.fromkeys(row.problem for row in rows))
    body = "".join(_section(problem, [row for row in rows if row.problem == problem]) for problem in problems)
    made_with = ", ".join(f"{name} {version}" for name, version in versions().items())
    page = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>Gapwise: gap study</title><style>{STYLE}</style></head><body><h1>Gap study</h1>"
        "<p>Gap to optimum: |objective - proven optimum| / |optimum|. To bound, where no optimum is proven: "
        "|objective - best bound| / |objective|. "
        "Proven: solutions that meet the best bound of the study, to 1e-6. "
        "CPU seconds of one process, build and solve.</p>"
        f"{body}<p>{len(scored)} runs. {escape(made_with)}</p></body></html>\n"
    )
    write_whole(path, page.encode())


def _section(problem: str, rows: Sequence[Row]) -> str:
    columns = (*NAMED, *measured(rows))
    head = "".join(f"<th>{escape(column.heading)}</th>" for column in columns)
    lines = ("".join(f"<td>{escape(shown(column.show(row)))}</td>" for column in columns) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<h2>{escape(problem)}</h2><table><tr>{head}</tr>{body}</table>{gap_plot(rows)}"


def gap_plot(rows: Sequence[Row]) -> str:
    """Gaps to the proven optimum, one line a row, as SVG text: boxes, or points where they are few.

    Rows without a gap that can be seen are left out; empty where none is left.
    """
    rows = [row for row in rows if row.shown_gaps and max(row.shown_gaps) > TOLERANCE]
    if not rows:
        return ""
    where = f" in {rows[0].measure}" if rows[0].measure else ""
    import matplotlib  # here, for it takes longer to load than most commands take
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "gapwise", "svg.fonttype": "none", "font.size": 9}), no_warnings():
        figure = Figure(figsize=(8, 0.8 + 0.32 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            percents = [100 * g for g in row.shown_gaps]
            if len(percents) < BOX:
                axes.plot(percents, [place] * len(percents), "k|", markersize=8)
            else:
                axes.boxplot([percents], positions=[place], orientation="horizontal", widths=0.6)
        axes.set_yticks(range(len(rows)), [label(f"{row.instance_set}: {row.method}") for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        if max(max(row.shown_gaps) for row in rows) > WIDE:
            axes.set_xscale("symlog", linthresh=10)  # so that a few per cent can be told from none
        axes.set_xlim(left=0)
        axes.set_xlabel(f"gap to the proven optimum{where}, %")
        axes.grid(axis="x", alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
