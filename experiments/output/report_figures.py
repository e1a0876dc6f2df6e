"""The figures of the report, as the library that draws them in the reader's browser takes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from experiments.harness.gaps import Key, Scored
from instances.gaps import TOLERANCE
from instances.text import shown

Figure = dict[str, Any]
Known = tuple[Scored, float]
"""A run and the gap that is drawn of it: to the optimum, or to the best bound."""
MOST_POINTS = 400  # of a trace; of more, evenly chosen ones
MOST_TRACES = 200
BOX = 5  # points from which on a box says more than they do
LOGARITHMIC = 5.0  # from a gap of 500% on
LEAST = 1e-2  # percent, of a logarithmic axis, which has no 0


def figures_of(here: Sequence[Scored]) -> list[tuple[str, str, Figure]]:
    """Name, title and content of the figures of one problem; gaps to a bound are not drawn with those to an optimum."""
    figures = _figures(here, lambda s: s.shown_gap_to_optimum, "the optimum", "gaps", "instances")
    if figures:
        title = "Share of the instances with a proven optimum on which a method is within a gap"
        figures.append(("profile", title, _profile(here)))
    return figures + _figures(here, lambda s: s.shown_gap_to_bound, "the best bound", "bounds", "instances-to-bound")


def _figures(
    here: Sequence[Scored], gap: Callable[[Scored], float | None], to: str, boxes: str, scatter: str
) -> list[tuple[str, str, Figure]]:
    known = [(s, share) for s in here if (share := gap(s)) is not None]
    if not any(share > TOLERANCE for _, share in known):
        return []
    return [
        (boxes, f"Gaps to {to} by method: each point is an instance", _boxes(known, to)),
        (scatter, f"Gaps to {to} by instance", _scatter(known, to)),
    ]


def _name(text: str) -> str:
    return escape(shown(text))


def _said(s: Scored, gap: float, to: str) -> str:
    """What is shown of a run where the pointer is."""
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
    axis: dict[str, Any] = {"title": {"text": f"gap to {to}, %"}, "rangemode": "tozero"}
    largest = 100 * max(gap for _, gap in known)
    if largest > 100 * LOGARITHMIC:
        ticks = [LEAST * 10**i for i in range(1, math.ceil(math.log10(largest / LEAST)) + 1)]
        texts = [f"at most {LEAST:g}", *(f"{tick:g}" for tick in ticks)]
        axis |= {"type": "log", "rangemode": "normal", "tickvals": [LEAST, *ticks], "ticktext": texts}
    return axis


def _percents(known: Sequence[Known], axis: dict[str, Any]) -> list[float]:
    least = LEAST if axis.get("type") == "log" else 0.0
    return [max(100 * gap, least) for _, gap in known]


def _boxes(known: Sequence[Known], to: str) -> Figure:
    axis = _axis(known, to)
    data = [
        {
            "type": "box",
            "name": _name(method),
            "x": _percents(runs, axis),
            "text": [_said(s, gap, to) for s, gap in runs],
            "hovertemplate": "%{text}<extra></extra>",
            "hoveron": "points",
            "boxpoints": "all",
            "jitter": 0.5,
            "pointpos": 0,
            **_box(len(runs)),
            "orientation": "h",
            "marker": {"size": 5, "opacity": 0.6},
        }
        for method, runs in _methods(known).items()
    ]
    layout = {"xaxis": axis, "yaxis": {"autorange": "reversed"}, "showlegend": False, "height": 120 + 44 * len(data)}
    return {"data": data, "layout": layout}


def _box(runs: int) -> dict[str, Any]:
    """The box is left out where it would say less than its points."""
    return {} if runs >= BOX else {"line": {"width": 0}, "fillcolor": "rgba(0,0,0,0)"}


def _scatter(known: Sequence[Known], to: str) -> Figure:
    """Instances from the smallest gaps to the largest, by the mean over the methods."""
    gaps: dict[Key, list[float]] = {}
    for s, gap in known:
        gaps.setdefault(s.key, []).append(gap)
    order = {key: i for i, key in enumerate(sorted(gaps, key=lambda key: (sum(gaps[key]) / len(gaps[key]), key)), 1)}
    axis = _axis(known, to)
    data = [
        {
            "type": "scattergl" if len(known) > 5000 else "scatter",
            "mode": "markers",
            "name": _name(method),
            "x": [order[s.key] for s, _ in runs],
            "y": _percents(runs, axis),
            "text": [_said(s, gap, to) for s, gap in runs],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"size": 7, "opacity": 0.75},
        }
        for method, runs in _methods(known).items()
    ]
    return {"data": data, "layout": {"xaxis": {"title": {"text": "instances, by mean gap"}}, "yaxis": axis}}


def _profile(here: Sequence[Scored]) -> Figure:
    """Of all runs on them, those without a gap among them: a method that finds nothing is never within anything."""
    proven = {s.key for s in here if s.optimum_known}
    runs_of: dict[str, list[Scored]] = {}
    for s in here:
        if s.key in proven:
            runs_of.setdefault(s.result.method, []).append(s)
    largest = max(100 * (s.shown_gap_to_optimum or 0.0) for s in here)
    data = []
    for method, runs in runs_of.items():
        gaps = sorted(100 * gap for s in runs if (gap := s.shown_gap_to_optimum) is not None)
        x = [0.0 if gap <= 100 * TOLERANCE else gap for gap in gaps]
        y = [100 * (i + 1) / len(runs) for i in range(len(gaps))]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "line": {"shape": "hv"},
                "name": _name(method),
                "x": [*x, largest],
                "y": [*y, y[-1] if y else 0.0],
                "hovertemplate": f"{_name(method)}<br>%{{y:.3g}}% of the instances within %{{x:.3g}}%<extra></extra>",
            }
        )
    axes = {
        "xaxis": {"title": {"text": "gap to the optimum, %"}},
        "yaxis": {"title": {"text": "instances, %"}, "range": [0, 104]},
    }
    return {"data": data, "layout": axes}


def traces_of(scored: Sequence[Scored]) -> list[tuple[str, Figure]]:
    """Incumbent and bound over time of the runs that told of them: those that took longest."""
    told = [s for s in scored if sum(value is not None for point in s.result.trace for value in point[1:]) > 2]
    told.sort(key=lambda s: -s.result.trace[-1][0])
    return [(_label(s), _trace(s)) for s in told[:MOST_TRACES]]


def _label(s: Scored) -> str:
    return shown(" ".join(part for part in (s.result.problem, s.result.instance, s.result.method) if part))


def _trace(s: Scored) -> Figure:
    points = s.result.trace
    if len(points) > MOST_POINTS:
        points = tuple(points[round(i * (len(points) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS))
    data = []
    for name, place in (("incumbent", 1), ("bound", 2)):
        known = [(point[0], point[place]) for point in points if point[place] is not None]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "line": {"shape": "hv"},
                "name": name,
                "x": [when for when, _ in known],
                "y": [value for _, value in known],
                "hovertemplate": f"{name} %{{y:.8g}}<br>after %{{x:.3g}} s<extra></extra>",
            }
        )
    axes = {"xaxis": {"title": {"text": "wall seconds"}}, "yaxis": {"title": {"text": _name(s.result.unit)}}}
    return {"data": data, "layout": axes}
