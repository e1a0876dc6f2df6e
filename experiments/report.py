"""The study as one self-contained HTML page: tables, and a box plot of the gaps."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from experiments.summary import Row, Scored
from experiments.terminal import percent
from instances.files import write_whole
from instances.result import versions

WIDE = 5.0  # a gap of 500%, from which on the axis is logarithmic
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
svg { max-width: 100%; height: auto }
"""


def write_report(path: Path, rows: Sequence[Row], scored: Sequence[Scored]) -> None:
    """Write the report to `path`. Raises InputError where it cannot be written."""
    problems = list(dict.fromkeys(row.problem for row in rows))
    body = "".join(_section(problem, [row for row in rows if row.problem == problem]) for problem in problems)
    made_with = ", ".join(f"{name} {version}" for name, version in versions().items())
    page = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>Gapwise: gap study</title><style>{STYLE}</style></head><body><h1>Gap study</h1>"
        "<p>Gap to optimum: |objective - proven optimum| / |optimum|. To bound, where no optimum is proven: "
        "|objective - best bound| / |objective|. CPU seconds of one process, build and solve.</p>"
        f"{body}<p>{len(scored)} runs. {escape(made_with)}</p></body></html>\n"
    )
    write_whole(path, page.encode())


def _section(problem: str, rows: Sequence[Row]) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in ("instance set", "method", "runs", "mean gap", "median", "max", "to bound", "proven", "CPU s")
    )
    lines = []
    for row in rows:
        mean, middle, most = row.describe(row.gaps)
        cpu = f"{sum(row.cpu_s) / len(row.cpu_s):.3f}" if row.cpu_s else "-"
        to_bound = percent(row.describe(row.gaps_to_bound)[0])
        values = (percent(mean), percent(middle), percent(most), to_bound, f"{row.proven}/{row.runs}", cpu)
        named = (row.instance_set, row.method, str(row.runs), *values)
        lines.append("<tr>" + "".join(f"<td>{escape(value)}</td>" for value in named) + "</tr>")
    plot = box_plot([row for row in rows if row.gaps and max(row.gaps) > 0])
    return f"<h2>{escape(problem)}</h2><table><tr>{head}</tr>{''.join(lines)}</table>{plot}"


def box_plot(rows: Sequence[Row]) -> str:
    """Gaps to the proven optimum, one box a row, as SVG text; empty where there are none."""
    if not rows:
        return ""
    import matplotlib  # here, for it takes longer to load than most commands take
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "gapwise", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, 0.8 + 0.32 * len(rows)), layout="constrained")
        axes = figure.subplots()
        labels = [f"{row.instance_set}: {row.method}" for row in rows]
        axes.boxplot(
            [[100 * g for g in row.gaps] for row in rows], orientation="horizontal", tick_labels=labels, widths=0.6
        )
        axes.invert_yaxis()
        if max(max(row.gaps) for row in rows) > WIDE:
            axes.set_xscale("symlog", linthresh=10)  # so that a few per cent can be told from none
            axes.set_xlim(left=0)
        axes.set_xlabel("gap to the proven optimum, %")
        axes.grid(axis="x", alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
