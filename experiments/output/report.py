"""The study as one self-contained HTML page: an overview, a picture of all gaps, and a folded section per set."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.harness.experiment import TextTable
from experiments.harness.gaps import Key, MethodSummary, Scored
from experiments.harness.overview import OverviewRow, overview_of_study
from experiments.output.columns import (
    NAMED,
    NUMBERS,
    RUN_TABLE,
    ResultColumn,
    Row,
    choose_gap_columns,
    results_csv,
    summary_csv,
)
from experiments.output.summary import ProblemAnswer, answers
from experiments.output.terminal import percent
from experiments.palette import BLUE, GREY, INK, Look, looks, widths
from instances.files import write_whole
from instances.gaps import TOLERANCE
from instances.result import versions
from instances.text import escape_text

Figure = dict[str, Any]
OPTIMUM = "the optimum"
Known = tuple[Scored, float]
"""A run and the gap that is drawn of it: to the optimum, or to the best bound."""
MOST_POINTS = 400  # of a trace; of more, evenly chosen ones
MOST_TRACES = 200
BOX = 5  # points from which on a box says more than they do
LOGARITHMIC = 5.0  # from a gap of 500% on
LEAST = 1e-2  # percent, up to which a logarithmic axis is linear: it has a 0
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")
"""The palette's line styles and markers, as Plotly calls them."""


def figures_of(here: Sequence[Scored]) -> list[tuple[str, str, Figure]]:
    """Return name, title and content of the figures of a set. Gaps to an optimum and to a bound are drawn apart."""
    figures = _figures(here, lambda s: s.display_gap_to_optimum, OPTIMUM, "gaps", "instances")
    if len(figures) > 1:
        title = "Share of the instances with a proven optimum on which a method is within a gap"
        figures.append(("profile", title, _profile(here)))
    return figures + _figures(here, lambda s: s.display_gap_to_bound, "the best bound", "bounds", "instances-to-bound")


def _figures(
    here: Sequence[Scored], gap: Callable[[Scored], float | None], to: str, boxes: str, scatter: str
) -> list[tuple[str, str, Figure]]:
    known = [(s, share) for s in here if (share := gap(s)) is not None]
    if not any(share > TOLERANCE for _, share in known):
        return []
    figures = [(boxes, f"Gaps to {to} by method: each point is an instance", _boxes(known, to))]
    if len({s.key for s in here}) > 1:
        figures.append((scatter, f"Gaps to {to} by instance", _scatter(known, to)))
    return figures


def _name(text: str) -> str:
    return escape(escape_text(text))


def _format_tooltip(s: Scored, gap: float, to: str) -> str:
    """Return the tooltip of a run."""
    to += f" in {s.measure.name}" if s.measure is not None else ""
    lines = [f"<b>{_name(s.result.instance)}</b>", _name(s.result.method), f"{100 * gap:.3g}% to {to}"]
    if s.result.objective is not None:
        lines.append(f"{s.result.objective:.8g} {_name(s.result.unit)}")
    if s.result.cpu_s is not None:
        lines.append(f"{s.result.cpu_s:.3g} CPU s")
    return "<br>".join(lines)


def _methods(known: Sequence[Known]) -> dict[str, list[Known]]:
    found: dict[str, list[Known]] = {}
    for s, gap in known:
        found.setdefault(s.result.method, []).append((s, gap))
    return found


def _axis(known: Sequence[Known], to: str) -> dict[str, Any]:
    """Return the axis of gaps. A logarithmic axis is drawn as one of heights, because Plotly's has no zero."""
    axis: dict[str, Any] = {"title": {"text": f"gap to {to}, %"}, "rangemode": "tozero"}
    largest = 100 * max(gap for _, gap in known)
    if largest > 100 * LOGARITHMIC:
        ticks = _ticks(largest)
        axis |= {"tickvals": [_height(tick) for tick in ticks], "ticktext": [f"{tick:g}" for tick in ticks]}
    return axis


def _ticks(largest: float) -> list[float]:
    """Return the ticks, in percent, of a logarithmic axis that holds a gap of `largest` percent."""
    return [0.0, *(LEAST * 10**i for i in range(math.ceil(math.log10(max(largest, LEAST) / LEAST)) + 1))]


def _height(percent: float) -> float:
    """Return the position of a gap on a logarithmic axis: linear from 0 to `LEAST`, then one unit per decade."""
    return percent / LEAST if percent < LEAST else 1 + math.log10(percent / LEAST)


def _heights(known: Sequence[Known], axis: dict[str, Any]) -> list[float]:
    return [_height(100 * gap) if "tickvals" in axis else 100 * gap for _, gap in known]


def _marker(look: Look, to: str) -> dict[str, Any]:
    """Return a marker, filled for a gap to an optimum and hollow for one to a bound."""
    return {"color": look.colour, "symbol": SYMBOLS[look.marker] + ("" if to == OPTIMUM else "-open")}


def _boxes(known: Sequence[Known], to: str) -> Figure:
    axis, methods = _axis(known, to), _methods(known)
    look, number = looks(methods), len({s.key for s, _ in known})
    data = [
        {
            "type": "box",
            "name": _name(method) + (f" ({len(runs)} of {number})" if len(runs) < number else ""),
            "x": _heights(runs, axis),
            "text": [_format_tooltip(s, gap, to) for s, gap in runs],
            "hovertemplate": "%{text}<extra></extra>",
            "hoveron": "points",
            "boxpoints": "all",
            "jitter": 0.5,
            "pointpos": 0,
            **_box(len(runs), look[method]),
            "orientation": "h",
            "marker": {"size": 6, "opacity": 0.7} | _marker(look[method], to),
        }
        for method, runs in methods.items()
    ]
    layout = {"xaxis": axis, "yaxis": {"autorange": "reversed"}, "showlegend": False, "height": 120 + 44 * len(data)}
    return {"data": data, "layout": layout}


def _box(runs: int, look: Look) -> dict[str, Any]:
    """Return the style of a box, which is invisible if it would show less than its points."""
    line = {"color": look.colour, "width": 1.5 if runs >= BOX else 0}
    return {"line": line, "fillcolor": "rgba(0,0,0,0)"}


def _scatter(known: Sequence[Known], to: str) -> Figure:
    """Draw the instances sorted by increasing gap, by the mean over the methods."""
    gaps: dict[Key, list[float]] = {}
    for s, gap in known:
        gaps.setdefault(s.key, []).append(gap)
    order = {key: i for i, key in enumerate(sorted(gaps, key=lambda key: (sum(gaps[key]) / len(gaps[key]), key)), 1)}
    axis, methods = _axis(known, to), _methods(known)
    look = looks(methods)
    data = [
        {
            "type": "scattergl" if len(known) > 5000 else "scatter",
            "mode": "markers",
            "name": _name(method),
            "x": [order[s.key] for s, _ in runs],
            "y": _heights(runs, axis),
            "text": [_format_tooltip(s, gap, to) for s, gap in runs],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"size": 8, "opacity": 0.75} | _marker(look[method], to),
        }
        for method, runs in methods.items()
    ]
    return {"data": data, "layout": {"xaxis": {"title": {"text": "instances, by mean gap"}}, "yaxis": axis}}


def _profile(here: Sequence[Scored]) -> Figure:
    """Plot profiles over all instances: a method without a solution on an instance is within no gap there."""
    proven = {s.key for s in here if s.optimum_known}
    runs_of: dict[str, list[Scored]] = {}
    for s in here:
        if s.key in proven:
            runs_of.setdefault(s.result.method, []).append(s)
    largest = max(100 * (s.display_gap_to_optimum or 0.0) for s in here)
    look, wide = looks(runs_of), dict(zip(runs_of, widths(len(runs_of)), strict=True))
    data = []
    for method, runs in runs_of.items():
        gaps = sorted(100 * gap for s in runs if (gap := s.display_gap_to_optimum) is not None)
        x = [0.0 if gap <= 100 * TOLERANCE else gap for gap in gaps]
        y = [100 * (i + 1) / len(proven) for i in range(len(gaps))]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "line": _line(look[method], wide[method]),
                "name": _name(method),
                "x": [0.0, *x, largest],
                "y": [0.0, *y, y[-1] if y else 0.0],
                "hovertemplate": f"{_name(method)}<br>%{{y:.3g}}% of the instances within %{{x:.3g}}%<extra></extra>",
            }
        )
    axes = {
        "xaxis": {"title": {"text": f"gap to {OPTIMUM}, %"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": f"of {len(proven)} instances, %"}, "range": [0, 104]},
    }
    return {"data": data, "layout": axes}


def _line(look: Look, width: float) -> dict[str, Any]:
    return {"shape": "hv", "color": look.colour, "dash": DASHES[look.line], "width": width + 0.5}


def traces_of(scored: Sequence[Scored]) -> list[tuple[str, Figure]]:
    """Draw incumbent and bound over time of the longest runs that reported them."""
    reported = [s for s in scored if sum(value is not None for point in s.result.trace for value in point[1:]) > 2]
    reported.sort(key=lambda s: -s.result.trace[-1][0])
    return [(_label(s), _trace(s)) for s in reported[:MOST_TRACES]]


def _label(s: Scored) -> str:
    return escape_text(" ".join(part for part in (s.result.problem, s.result.instance, s.result.method) if part))


def _trace(s: Scored) -> Figure:
    points = s.result.trace
    if len(points) > MOST_POINTS:
        points = tuple(points[round(i * (len(points) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS))
    data = []
    for name, place, look in (("incumbent", 1, Look(BLUE, 0)), ("bound", 2, Look(INK, 1))):
        known = [(point[0], point[place]) for point in points if point[place] is not None]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "line": _line(look, 1.0),
                "marker": {"size": 5} | _marker(look, OPTIMUM if name == "incumbent" else name),
                "name": name,
                "x": [when for when, _ in known],
                "y": [value for _, value in known],
                "hovertemplate": f"{name} %{{y:.8g}}<br>after %{{x:.3g}} s<extra></extra>",
            }
        )
    axes = {"xaxis": {"title": {"text": "wall seconds"}}, "yaxis": {"title": {"text": _name(s.result.unit)}}}
    return {"data": data, "layout": axes}


HOW = (
    "Gap to optimum: |objective - proven optimum| / |optimum|. To bound, where no optimum is proven: |objective - best "
    "bound| / |objective|. Proven: solutions that meet the best bound of the study, to 1e-6, whatever --gap says. "
    "Over k of n: k runs of n have such a gap; runs that break a constraint or end without a solution have none. Means "
    "in one column are over the same instances: where a method has gaps on fewer of a set than others have, its mean "
    "is in the column common, over the k of n instances on which every method has a gap. CPU seconds of one process, "
    "build and solve."
)
LANE = 4  # pixels of a method in the picture of all gaps
MAX_LABELS = 8  # tick labels of that picture that a phone has room for
MAX_OPEN = 60  # sets that are listed at once; more are folded by problem


def write_study(
    folder: Path, rows: Sequence[MethodSummary], scored: Sequence[Scored], overview: Sequence[OverviewRow] = ()
) -> None:
    """Write `results.csv`, `summary.csv` and `report.html`. Raises OutputError if a file cannot be written."""
    write_whole(folder / "results.csv", results_csv(scored).encode())
    write_whole(folder / "summary.csv", summary_csv(rows).encode())
    write_report(folder / "report.html", rows, scored, overview)


def write_report(
    path: Path, rows: Sequence[MethodSummary], scored: Sequence[Scored], overview: Sequence[OverviewRow] = ()
) -> None:
    """Write the report to `path`. Raises OutputError if the file cannot be written.

    - `overview`: the rows of the reference study. Other studies have an overview with one line per set.
    """
    figures: dict[str, Any] = {}
    sets = _sets(rows, scored)
    table = overview_of_study(overview, rows) if overview else _overview_of_sets(sets)
    picture, sections = _picture(sets), _sections(sets, scored, figures)
    traces = traces_of(scored)
    contents = {"gaps": "gaps" if picture else "", "sets": "instance sets", "progress": "progress" if traces else ""}
    links = "".join(
        f"<a href='#{place}'>{title}</a>" for place, title in (contents | {"runs": "all runs"}).items() if title
    )
    made_with = ", ".join(f"{name} {version}" for name, version in versions().items())
    head = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Gapwise: gap study</title><style>{_asset('report.css')}</style></head><body><main><h1>Gap study</h1>"
        f"{_overview(table)}<nav aria-label='contents'>{links}</nav>"
    )
    drawn = (_data("figures", figures) + _data("traces", [trace for _, trace in traces])) + _library(figures, traces)
    tail = (
        f"<details><summary>How to read it</summary><p>{escape(HOW)}</p></details>"
        f"<p class='pale'>{len(scored)} runs, {escape(made_with)}</p></main>"
        f"{drawn}<script>{_asset('report.js')}</script></body></html>\n"
    )
    write_whole(path, (head + picture + sections + "<h2>Runs</h2>" + _progress(traces) + _runs(scored) + tail).encode())


@dataclass(frozen=True)
class _Set:
    """An instance set of the study: the place of its section, its answer, its runs and its rows of the summary."""

    place: str
    name: str
    answer: ProblemAnswer
    scored: list[Scored]
    rows: list[MethodSummary]


def _sets(rows: Sequence[MethodSummary], scored: Sequence[Scored]) -> list[_Set]:
    """Return the sets of each problem, in the order in which the study meets problems and sets."""
    problems = list(dict.fromkeys(s.result.problem for s in scored))
    found: dict[tuple[str, str], list[Scored]] = {}
    for s in scored:
        found.setdefault((s.result.problem, s.run.instance_set), []).append(s)
    return [
        _Set(
            f"set-{i}",
            escape_text(name),
            answers(here)[0],
            here,
            [row for row in rows if (row.problem, row.instance_set) == (problem, name)],
        )
        for i, ((problem, name), here) in enumerate(sorted(found.items(), key=lambda of: problems.index(of[0][0])), 1)
    ]


def _overview_of_sets(sets: Sequence[_Set]) -> TextTable:
    """Return one line per set: how many optima are proven, and the method with the worst gap."""
    lines = []
    for s in sets:
        found = [f for findings in s.answer.lists for f in findings.methods if f.worst is not None]
        last = max(found, key=lambda f: f.worst or 0.0, default=None)
        gaps = ("-", "-", "-")
        if last is not None:
            to = ", to the best bound" if last.to_bound else f", in {last.measure}" if last.measure else ""
            gaps = (f"{escape_text(last.method)}{to}", percent(last.mean), percent(last.worst))
        lines.append([s.name, s.answer.problem, str(s.answer.instances), str(s.answer.proven), *gaps])
    head = ("instance set", "problem", "instances", "proven", "method with the worst gap", "gap, mean", "gap, worst")
    return TextTable(head, lines)


def _overview(table: TextTable) -> str:
    """Return the first section. On a phone each row is a card, and `data-label` repeats the heading in it."""
    kinds = ["" if name in NUMBERS else " class='text'" for name in table.head]
    head = "".join(f"<th{kind} scope='col'>{escape(name)}</th>" for name, kind in zip(table.head, kinds, strict=True))
    body = ""
    for row in table.rows:
        cells = zip(table.head, kinds, row, strict=True)
        body += "".join(
            ["<tr>", *(f"<td{kind} data-label='{escape(name)}'>{escape(text)}</td>" for name, kind, text in cells)]
        )
        body += "</tr>"
    return (
        "<section id='overview'><h2>Overview</h2>"
        "<div class='wide' role='region' tabindex='0' aria-label='overview'><table class='cards'>"
        f"<caption>Heuristics against the proven optimum</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div></section>"
    )


def _picture(sets: Sequence[_Set]) -> str:
    """Return the picture of the gaps of all sets: a line per set, with a lane for the gaps of each method.

    The picture is plain SVG with positions in percent, so that it fits every width and every sheet of paper.
    """
    largest = max((100 * gap for s in sets for row in s.rows for gaps, _ in _kinds(row) for gap in gaps), default=0.0)
    if largest <= 100 * TOLERANCE:
        return ""
    ticks = _ticks(largest)
    at = [_place(tick, ticks) for tick in ticks]
    grid = "".join(f"<line class='grid' x1='{x}' x2='{x}' y1='0' y2='100%'/>" for x in at)
    step = math.ceil(len(ticks) / MAX_LABELS)
    marks = "".join(f"<text x='{x}' y='14'>{tick:g}%</text>" for x, tick in list(zip(at, ticks, strict=True))[::step])
    axis = f"<svg class='axis' height='20' aria-hidden='true'>{marks}</svg>"
    lines, problem = "", ""
    for s in sets:
        if s.answer.problem != problem:
            problem = s.answer.problem
            lines += f"<li class='pale'>{escape(problem)}</li>"
        look = looks(row.method for row in s.rows)
        # optimal methods share the first lane: their marks are one point
        optimal = [row for row in s.rows if _is_optimal(row)]
        groups = [optimal] * bool(optimal) + [[row] for row in s.rows if row not in optimal]
        lanes = [_lane(of, look[of[0].method], 3 + LANE * (i + 0.5), ticks) for i, of in enumerate(groups)]
        said = "; ".join(_gaps_of(row) for row in s.rows)
        lines += (
            f"<li><a href='#{s.place}'>{escape(s.name)}</a><svg height='{6 + LANE * len(lanes)}' role='img' "
            f"aria-label='{escape(f'{s.name}: {said}')}'>{grid}{''.join(lanes)}</svg></li>"
        )
    return (
        "<section id='gaps'><h2>Gaps of every method</h2><p>A line per method: the dot is its mean gap, the bar at the "
        "end of the line its worst gap. Methods that are always optimal share one dot at 0. Black, or white on dark: "
        "exact. Blue: the algorithm of a paper. Grey: the baseline. Hollow, dashed: to the best bound, if no optimum "
        "is proven. Point at a line for its method; choose a set to open it.</p>"
        f"<div class='dots'>{axis}<ul>{lines}</ul></div></section>"
    )


def _is_optimal(row: MethodSummary) -> bool:
    """Return whether a method has the optimum on every instance of a set."""
    return len(row.display_gaps) == row.instances and max(row.display_gaps, default=0.0) <= TOLERANCE


def _kinds(row: MethodSummary) -> tuple[tuple[Sequence[float], str], ...]:
    """Return the gaps of a row, in its measure if it has one, to the optimum and to the best bound."""
    return (row.display_gaps, OPTIMUM), (row.display_gaps_to_bound, "the best bound")


def _place(percents: float, ticks: Sequence[float]) -> str:
    return f"{2 + 95 * _height(percents) / _height(ticks[-1]):.2f}%"


def _lane(rows: Sequence[MethodSummary], look: Look, y: float, ticks: Sequence[float]) -> str:
    """Return the marks of a method, or of methods that share a point.

    A mean over fewer instances than other methods have is left out, as in the tables.
    """
    row = rows[0]
    colour = {INK: "var(--ink)", GREY: "var(--pale)"}.get(look.colour, look.colour)
    marks = f"<rect width='100%' height='{LANE}' y='{y - LANE / 2:g}'/>"  # so that the whole lane can be pointed at
    for gaps, to in _kinds(row):
        if gaps:
            mean, worst = (_place(100 * gap, ticks) for gap in (fmean(gaps), max(gaps)))
            start = mean if row.whole else worst
            marks += f"<line x1='{start}' x2='{worst}' y1='{y:g}' y2='{y:g}'{'' if to == OPTIMUM else DASHED}/>"
            marks += f"<line x1='{worst}' x2='{worst}' y1='{y - 2.5:g}' y2='{y + 2.5:g}'/>"
            hollow = "" if to == OPTIMUM else " class='hollow'"
            marks += f"<circle cx='{mean}' cy='{y:g}' r='2.4'{hollow}/>" if row.whole else ""
    title = escape("\n".join(_gaps_of(one) for one in rows))
    return f"<g style='color:{colour}'><title>{title}</title>{marks}</g>"


DASHED = " stroke-dasharray='3 2'"


def _gaps_of(row: MethodSummary) -> str:
    """Return the gaps of a method in words."""
    said = []
    for gaps, to in _kinds(row):
        if gaps:
            to += "" if row.measure is None else f" in {row.measure.name}"
            over = f" over {len(gaps)} of {row.instances}" if len(gaps) < row.instances else ""
            said.append(f"mean {percent(fmean(gaps))}, worst {percent(max(gaps))} to {to}{over}")
    return f"{escape_text(row.method)}: {' and '.join(said) or 'no gap is known'}"


def _sections(sets: Sequence[_Set], scored: Sequence[Scored], figures: dict[str, Any]) -> str:
    """Return a folded section per set, under headings of problems."""
    page = "<section id='sets'><h2>Instance sets</h2>"
    for answer in answers(scored):
        here = [s for s in sets if s.answer.problem == answer.problem]
        content = "".join(_section(s, figures) for s in here)
        counted = f"<span class='pale'>{answer.proven} of {answer.instances} optima proven</span>"
        if len(sets) > MAX_OPEN:
            page += f"<details><summary>{escape(answer.problem)} {counted}</summary>{content}</details>"
        else:
            page += f"<h3>{escape(answer.problem)} {counted}</h3>{content}"
    return f"{page}</section>"


def _section(s: _Set, figures: dict[str, Any]) -> str:
    said = ""
    for findings in s.answer.lists:
        items = "".join(f"<li>{escape(str(finding))}</li>" for finding in findings.methods)
        compared = f"<p>{escape(findings.comparison)}</p>" if findings.comparison else ""
        said += f"<p>{escape(findings.heading)}</p><ul>{items}</ul>{compared}"
    drawn = ""
    for name, title, figure in figures_of(s.scored):
        key = f"{s.answer.problem}-{s.place}-{name}"
        figures[key] = figure
        place = _figure(f"{s.name}: {title}", f"data-figure='{escape(key)}'")
        drawn += f"<div class='drawing'><p class='title'>{escape(title)}</p>{place}</div>"
    return (
        f"<details id='{s.place}'><summary>{escape(s.name)} <span class='pale'>{s.answer.proven} of "
        f"{s.answer.instances}</span></summary><div class='answer'>{said}</div>"
        f"{set_table(s.rows, f'{s.answer.problem}, {s.name}')}{drawn}</details>"
    )


def _figure(said: str, mark: str) -> str:
    """Return the place of a figure; a screen reader reads the text `said`."""
    return f"<div class='figure' role='figure' aria-label='{escape(said)}' {mark}></div>"


def set_table(rows: Sequence[MethodSummary], name: str) -> str:
    """Return the table of one set, with a row per method."""
    return _table(f"{name}: gaps by method", (*NAMED[1:], *choose_gap_columns(rows)), rows)


def _progress(traces: Sequence[tuple[str, Any]]) -> str:
    """Return the incumbent and the bound of a run over time, one at a time."""
    if not traces:
        return ""
    choices = "".join(f"<option value='{i}'>{escape(label)}</option>" for i, (label, _) in enumerate(traces))
    return (
        "<details id='progress'><summary>Progress of a run</summary>"
        "<p>Incumbent and bound over wall time.</p>"
        f"<div class='tools'><select id='run' aria-label='run'>{choices}</select></div>"
        + _figure("incumbent and bound of the chosen run over wall time", "id='trace'")
        + "</details>"
    )


def _runs(scored: Sequence[Scored]) -> str:
    return f"<details id='runs'><summary>All runs</summary>{_table('all runs', RUN_TABLE, scored)}</details>"


def _table(caption: str, columns: Sequence[ResultColumn[Row]], rows: Sequence[Row]) -> str:
    """Return a table whose headings sort it, under a field whose words filter it; `data-value` is what is sorted by."""
    if rows and not any(columns[-1].show(row) for row in rows):  # no notes
        columns = columns[:-1]
    head = "".join(
        f"<th class='{'' if column.kind == 'number' else 'text'}' scope='col'>"
        f"<button type='button'>{escape(column.heading) or 'notes'}</button></th>"
        for column in columns
    )
    body = "".join(f"<tr>{''.join(_cell(column, row) for column in columns)}</tr>" for row in rows)
    return (
        "<div class='sortable'><div class='tools'><input type='search' placeholder='filter: words that a row has'"
        " aria-label='filter the table'><output class='pale'></output></div>"
        f"<div class='wide' role='region' tabindex='0' aria-label='{escape(caption)}'>"
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div></div>"
    )


def _cell(column: ResultColumn[Row], row: Row) -> str:
    if column.kind != "number":
        return f"<td class='text{' long' if column.kind == 'note' else ''}'>{escape(column.show(row))}</td>"
    value = column.value(row)
    return f"<td data-value='{'' if value is None else value}'>{escape(column.show(row))}</td>"


def _asset(name: str) -> str:
    return resources.files("experiments.output").joinpath(name).read_text(encoding="utf-8")


def _data(name: str, content: Any) -> str:
    """Escape data for the script, so that they cannot end its element."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"<script type='application/json' id='{name}'>{text}</script>"


def _library(figures: dict[str, Any], traces: Sequence[Any]) -> str:
    """Return Plotly, packed, if there is something to draw: a report is one file that needs no network."""
    if not figures and not traces:
        return ""
    raw = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    packed = base64.b64encode(gzip.compress(raw, compresslevel=9, mtime=0)).decode()
    return f"<script type='application/gzip' id='plotly'>{packed}</script>"
