"""The figures of the report, as the library that draws them in the reader's browser takes them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from experiments.harness.gaps import Scored
from instances.gaps import TOLERANCE
from instances.text import shown

Figure = dict[str, Any]
MOST_POINTS = 400  # of a trace; of more, evenly chosen ones
MOST_TRACES = 200
BOX = 5  # points from which on a box says more than they do
LOGARITHMIC = 5.0  # from a gap of 500% on


def figures_of(here: Sequence[Scored]) -> list[tuple[str, str, Figure]]:
    """Name, title and content of the figures of one problem."""
    known = [s for s in here if _gap(s) is not None]
    if not any((_gap(s) or 0.0) > TOLERANCE for s in known):
        return []
    return [
        ("gaps", "Gaps by method: each point is an instance", _boxes(known)),
        ("instances", "Gaps by instance", _scatter(known)),
        ("profile", "Share of the instances on which a method is within a gap", _profile(here)),
    ]


def _gap(s: Scored) -> float | None:
    return s.shown_gap_to_optimum if s.shown_gap_to_optimum is not None else s.shown_gap_to_bound


def _name(text: str) -> str:
    return escape(shown(text))


def _said(s: Scored) -> str:
    """What is shown of a run where the pointer is."""
    to = "the optimum" if s.optimum_known else "the best bound"
    to += f" in {s.measure.name}" if s.measure is not None else ""
    lines = [f"<b>{_name(s.result.instance)}</b>", _name(s.result.method), f"{100 * (_gap(s) or 0):.3g}% to {to}"]
    if s.result.objective is not None:
        lines.append(f"{s.result.objective:.8g} {_name(s.result.unit)}")
    if s.result.cpu_s is not None:
        lines.append(f"{s.result.cpu_s:.3g} CPU s")
    return "<br>".join(lines)


def _methods(here: Sequence[Scored]) -> dict[str, list[Scored]]:
    found: dict[str, list[Scored]] = {}
    for s in here:
        found.setdefault(s.result.method, []).append(s)
    return found


def _axis(here: Sequence[Scored]) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": "gap, %"}, "rangemode": "tozero"}
    if max((_gap(s) or 0.0) for s in here) > LOGARITHMIC:
        axis |= {"type": "log", "rangemode": "normal"}
    return axis


def _percents(here: Sequence[Scored], axis: dict[str, Any]) -> list[float]:
    least = 1e-2 if axis.get("type") == "log" else 0.0  # a logarithmic axis has no 0
    return [max(100 * (_gap(s) or 0.0), least) for s in here]


def _boxes(here: Sequence[Scored]) -> Figure:
    axis = _axis(here)
    data = [
        {
            "type": "box",
            "name": _name(method),
            "x": _percents(runs, axis),
            "text": [_said(s) for s in runs],
            "hovertemplate": "%{text}<extra></extra>",
            "hoveron": "points",
            "boxpoints": "all",
            "jitter": 0.5,
            "pointpos": 0,
            **_box(len(runs)),
            "orientation": "h",
            "marker": {"size": 5, "opacity": 0.6},
        }
        for method, runs in _methods(here).items()
    ]
    layout = {"xaxis": axis, "yaxis": {"autorange": "reversed"}, "showlegend": False, "height": 120 + 44 * len(data)}
    return {"data": data, "layout": layout}


def _box(runs: int) -> dict[str, Any]:
    """The box is left out where it would say less than its points."""
    return {} if runs >= BOX else {"line": {"width": 0}, "fillcolor": "rgba(0,0,0,0)"}


def _scatter(here: Sequence[Scored]) -> Figure:
    """Instances from the smallest gaps to the largest, by the mean over the methods."""
    gaps: dict[str, list[float]] = {}
    for s in here:
        gaps.setdefault(f"{s.run.instance_set}/{s.result.instance}", []).append(_gap(s) or 0.0)
    order = {key: i for i, key in enumerate(sorted(gaps, key=lambda key: (sum(gaps[key]) / len(gaps[key]), key)), 1)}
    axis = _axis(here)
    data = [
        {
            "type": "scattergl" if len(here) > 5000 else "scatter",
            "mode": "markers",
            "name": _name(method),
            "x": [order[f"{s.run.instance_set}/{s.result.instance}"] for s in runs],
            "y": _percents(runs, axis),
            "text": [_said(s) for s in runs],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"size": 7, "opacity": 0.75},
        }
        for method, runs in _methods(here).items()
    ]
    return {"data": data, "layout": {"xaxis": {"title": {"text": "instances, by mean gap"}}, "yaxis": axis}}


def _profile(here: Sequence[Scored]) -> Figure:
    """Of all runs, those without a gap among them: a method that finds nothing is never within anything."""
    largest = max(100 * (_gap(s) or 0.0) for s in here)
    data = []
    for method, runs in _methods(here).items():
        gaps = sorted(100 * gap for s in runs if (gap := _gap(s)) is not None)
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
    axes = {"xaxis": {"title": {"text": "gap, %"}}, "yaxis": {"title": {"text": "instances, %"}, "range": [0, 104]}}
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
