"""The study as one self-contained HTML page: the answer, figures to point at, tables to sort and filter."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from experiments.harness.gaps import MethodSummary, Scored
from experiments.output.answer import Answer, answers
from experiments.output.columns import NAMED, measured
from experiments.output.csv import results_csv, summary_csv
from experiments.output.report_figures import figures_of, traces_of
from experiments.output.terminal import percent
from instances.files import write_whole
from instances.result import versions
from instances.text import shown

TEXT, NUMBER = "text", ""
RUN_COLUMNS = (
    ("instance set", TEXT),
    ("instance", TEXT),
    ("method", TEXT),
    ("status", TEXT),
    ("objective", NUMBER),
    ("bound", NUMBER),
    ("unit", TEXT),
    ("gap to optimum", NUMBER),
    ("to bound", NUMBER),
    ("proven", TEXT),
    ("CPU s", NUMBER),
    ("", TEXT),
)
HOW = (
    "Gap to optimum: |objective - proven optimum| / |optimum|. To bound, where no optimum is proven: |objective - best "
    "bound| / |objective|. Proven: solutions that meet the best bound of the study, to 1e-6, whatever --gap says. "
    "Over k of n: means and maxima are of the k runs of n that have such a gap; runs that break a constraint or end "
    "without a solution have none. CPU seconds of one process, build and solve."
)
Cell = tuple[str, object]


def write_study(folder: Path, rows: Sequence[MethodSummary], scored: Sequence[Scored]) -> None:
    """Write `results.csv`, `summary.csv` and `report.html`. Raises OutputError where they cannot be written."""
    write_whole(folder / "results.csv", results_csv(scored).encode())
    write_whole(folder / "summary.csv", summary_csv(rows).encode())
    write_report(folder / "report.html", rows, scored)


def write_report(path: Path, rows: Sequence[MethodSummary], scored: Sequence[Scored]) -> None:
    """Write the report to `path`. Raises OutputError where it cannot be written."""
    figures: dict[str, Any] = {}
    sections = "".join(_section(answer, rows, scored, figures) for answer in answers(scored))
    traces = traces_of(scored)
    contents = [*((a.problem, a.problem) for a in answers(scored)), ("runs", "all runs")]
    if traces:
        contents.insert(-1, ("progress", "progress of a run"))
    links = "".join(f"<a href='#{escape(place)}'>{escape(title)}</a>" for place, title in contents)
    made_with = ", ".join(f"{name} {version}" for name, version in versions().items())
    head = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Gapwise: gap study</title><style>{_asset('report.css')}</style></head><body><main><h1>Gap study</h1>"
        f"<p class='pale'>{len(scored)} runs, {escape(made_with)}</p><nav aria-label='contents'>{links}</nav>"
    )
    drawn = (_data("figures", figures) + _data("traces", [trace for _, trace in traces])) + _library(figures, traces)
    tail = f"<h2>How to read it</h2><p>{escape(HOW)}</p></main>{drawn}<script>{_asset('report.js')}</script>"
    tail += "</body></html>\n"
    write_whole(path, (head + sections + _progress(traces) + _runs(scored) + tail).encode())


def _section(answer: Answer, rows: Sequence[MethodSummary], scored: Sequence[Scored], figures: dict[str, Any]) -> str:
    here = [s for s in scored if s.result.problem == answer.problem]
    said = ""
    for findings in answer.lists:
        items = "".join(f"<li>{escape(str(finding))}</li>" for finding in findings.methods)
        said += f"<p>{escape(findings.heading)}</p><ul>{items}</ul>"
    drawn = ""
    for name, title, figure in figures_of(here):
        key = f"{answer.problem}-{name}"
        figures[key] = figure
        place = _figure(f"{answer.problem}: {title}", f"data-figure='{escape(key)}'")
        drawn += f"<h3>{escape(title)}</h3>{place}"
    return (
        f"<section id='{escape(answer.problem)}'><h2>{escape(answer.problem)}</h2>"
        f"<div class='answer'><p>{escape(answer.headline)}.</p>{said}</div>{drawn}"
        f"<h3>By instance set</h3>{set_table([row for row in rows if row.problem == answer.problem], answer.problem)}"
        "</section>"
    )


def _figure(said: str, mark: str) -> str:
    """The place of a figure, which a screen reader calls what is `said`."""
    return f"<div class='figure' role='img' aria-label='{escape(said)}' {mark}></div>"


def set_table(rows: Sequence[MethodSummary], problem: str) -> str:
    """One row an instance set and method of a problem."""
    columns = (*NAMED, *measured(rows))
    headings = [(c.heading, TEXT if c in NAMED or not c.heading else NUMBER) for c in columns]
    lines = [[(c.show(row), c.value(row)) for c in columns] for row in rows]
    return _table(f"{problem}: gaps by instance set and method", headings, lines)


def _progress(traces: Sequence[tuple[str, Any]]) -> str:
    """The incumbent and the bound of a run over time, one at a time."""
    if not traces:
        return ""
    choices = "".join(f"<option value='{i}'>{escape(label)}</option>" for i, (label, _) in enumerate(traces))
    return (
        "<section id='progress'><h2>Progress of a run</h2><p>Incumbent and bound over wall time.</p>"
        f"<div class='tools'><select id='run' aria-label='run'>{choices}</select></div>"
        + _figure("incumbent and bound of the chosen run over wall time", "id='trace'")
        + "</section>"
    )


def _runs(scored: Sequence[Scored]) -> str:
    lines = []
    for s in scored:
        r = s.result
        said = r.reason or (r.violations[0] if r.violations else "")
        said = said or (f"no gap: the {s.nothing} is 0" if s.nothing else "")
        words = [s.run.instance_set, r.instance, r.method, r.status]
        numbers: list[Cell] = [(_number(value), value) for value in (r.objective, r.bound)]
        gaps: list[Cell] = [(percent(value), value) for value in (s.gap_to_optimum, s.gap_to_bound)]
        proven = "yes" if s.proven else "no"
        seconds = "-" if r.cpu_s is None else f"{r.cpu_s:.3f}"
        line: list[Cell] = [*((w, w) for w in words), *numbers, (r.unit, r.unit), *gaps, (proven, proven)]
        lines.append([*line, (seconds, r.cpu_s), (said, said)])
    return f"<section id='runs'><h2>All runs</h2>{_table('all runs', RUN_COLUMNS, lines)}</section>"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.8g}"


def _table(caption: str, headings: Sequence[tuple[str, str]], lines: Iterable[Sequence[Cell]]) -> str:
    """A table whose headings sort it, under a field whose words filter it; `data-value` is what is sorted by."""
    head = "".join(
        f"<th class='{kind}' scope='col'><button type='button'>{escape(heading) or 'notes'}</button></th>"
        for heading, kind in headings
    )
    body = "".join(f"<tr>{_cells(headings, line)}</tr>" for line in lines)
    return (
        "<div class='sortable'><div class='tools'><input type='search' placeholder='filter: words that a row has'"
        " aria-label='filter the table'><output class='pale'></output></div>"
        f"<div class='wide'><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div></div>"
    )


def _cells(headings: Sequence[tuple[str, str]], line: Sequence[Cell]) -> str:
    cells = ""
    for (heading, kind), (text, value) in zip(headings, line, strict=True):
        if kind == TEXT:
            cells += f"<td class='text{'' if heading else ' long'}'>{escape(shown(text))}</td>"
        else:
            cells += f"<td data-value='{'' if value is None else value}'>{escape(text)}</td>"
    return cells


def _asset(name: str) -> str:
    return resources.files("experiments.output").joinpath(name).read_text(encoding="utf-8")


def _data(name: str, content: Any) -> str:
    """Data for the script, which cannot end the element that it is in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"<script type='application/json' id='{name}'>{text}</script>"


def _library(figures: dict[str, Any], traces: Sequence[Any]) -> str:
    """Plotly, packed, where there is something to draw: a report is of one file, and its reader may have no network."""
    if not figures and not traces:
        return ""
    raw = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    packed = base64.b64encode(gzip.compress(raw, compresslevel=9, mtime=0)).decode()
    return f"<script type='application/gzip' id='plotly'>{packed}</script>"
