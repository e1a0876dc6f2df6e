"""A study in one's own paper: a figure of its gaps, and a table for LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.canvas import DASHES, MARKERS, canvas, from_zero, legend, plain, style_line
from experiments.harness.gaps import Key, MethodSummary, Scored, summarise
from experiments.output.columns import NAMED, choose_gap_columns
from experiments.palette import Look, looks, widths
from instances import InputError, Result
from instances.gaps import TOLERANCE
from instances.tables import read_rows
from instances.text import escape_text

OF = {"optimum": "gap_to_optimum", "bound": "gap_to_bound"}
COLUMNS = ("problem", "instance", "method", "status", "objective", *OF.values(), "proven", "build_s", "solve_s")
LOGARITHMIC = 500.0  # percent, from which on an axis of gaps is logarithmic above its zero
SPECIAL = {c: rf"\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}"}


def figure(table: pd.DataFrame | str | Path, kind: str, ax: Axes | None = None, to: str | None = None) -> Figure:
    """Draw gaps of the runs of one problem, those to proven optima or those to bounds, never both.

    Raises InputError for what is no table of a study, and where there is no such gap.
    """
    if kind not in _DRAWN:
        raise InputError(f"figure: must be one of {', '.join(_DRAWN)}, got {kind!r}")
    frame = _frame(table)
    if frame["problem"].nunique() > 1:
        raise InputError(f"figure: takes one problem, got {', '.join(frame['problem'].unique())}")
    if to is None:
        to = "optimum" if frame[OF["optimum"]].notna().any() else "bound"
    if to not in OF:
        raise InputError(f"figure: to: must be one of {', '.join(OF)}, got {to!r}")
    if not frame[OF[to]].notna().any():
        raise InputError(f"figure: no run has a gap to {'a proven optimum' if to == 'optimum' else 'a bound'}")
    if kind == "profile" and to == "bound":
        raise InputError("figure: a profile is of gaps to proven optima, and none is proven")
    drawn, axes = (None, ax) if ax is not None else _own(frame)
    said = _DRAWN[kind](axes, frame, to, looks(frame["method"]))
    if drawn is not None and said:
        legend(drawn)
    elif said:
        axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    found = axes.get_figure(root=True)
    assert isinstance(found, Figure)
    return found


def _own(frame: pd.DataFrame) -> tuple[Figure, Axes]:
    drawn, (axes,) = canvas(6.4, 4.4)
    axes.set_title(plain(str(frame["problem"].iloc[0])))
    return drawn, axes


def _boxes(axes: Axes, frame: pd.DataFrame, to: str, look: Mapping[str, Look]) -> bool:
    """Draw one box per method and one point per instance; pale, with the number, if it has fewer points than others."""
    known = frame.dropna(subset=[OF[to]])
    number, names = known["key"].nunique(), []
    for place, (name, of) in enumerate(known.groupby("method", sort=False)):
        gaps, whole = 100 * of[OF[to]].to_numpy(float), len(of) == number
        one, pale = look[str(name)], 1.0 if whole else 0.4
        names.append(plain(str(name)) if whole else f"{plain(str(name))} ({len(of)} of {number})")
        style = {"color": one.colour, "linewidth": 1.2, "alpha": pale}
        axes.boxplot(
            [gaps], positions=[place], orientation="horizontal", widths=0.6, showfliers=False, manage_ticks=False,
            boxprops=style | {"linestyle": DASHES[one.line]}, whiskerprops=style, capprops=style,
            medianprops=style | {"linewidth": 2.2},
        )  # fmt: skip
        spread = place + 0.5 * (np.arange(len(gaps)) * 0.618034 % 1 - 0.5)  # apart, and the same at every run
        axes.scatter(gaps, spread, s=16, alpha=0.7 * pale, **_style_marker(one, to))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    _scale_axis(axes, "x", known[OF[to]], f"gap to the {_name_reference(to)}, %, on {number} instances")
    return False


def _profile(axes: Axes, frame: pd.DataFrame, to: str, look: Mapping[str, Look]) -> bool:
    """Draw the share of instances with a proven optimum on which a method is within a gap; never without a gap."""
    proven = set(frame.loc[frame[OF[to]].notna(), "key"])
    here = frame[frame["key"].isin(proven)]
    groups = {str(name): of for name, of in here.groupby("method", sort=False)}
    for (name, of), width in zip(groups.items(), widths(len(groups)), strict=True):
        gaps = np.sort(100 * of[OF[to]].dropna().to_numpy(float))
        gaps[gaps <= 100 * TOLERANCE] = 0.0
        x = np.concatenate([[0.0], gaps, [100 * here[OF[to]].max()]])
        y = 100 * np.append(np.arange(len(gaps) + 1), len(gaps)) / len(proven)
        axes.step(x, y, where="post", label=plain(name), **style_line(look[name], width=width))
    axes.set(ylabel=f"of {len(proven)} instances, %", ylim=(0, 104))
    _scale_axis(axes, "x", here[OF[to]], f"gap to the {_name_reference(to)}, %")
    return True


def _gaps(axes: Axes, frame: pd.DataFrame, to: str, look: Mapping[str, Look]) -> bool:
    """Draw one point per run, with the instances sorted by increasing mean gap."""
    known = frame.dropna(subset=[OF[to]])
    means = known.groupby("key", sort=True)[OF[to]].mean().sort_values(kind="stable")
    places = {key: place for place, key in enumerate(means.index, 1)}
    for name, of in known.groupby("method", sort=False):
        at = [places[key] for key in of["key"]]
        axes.scatter(at, 100 * of[OF[to]], s=22, label=plain(str(name)), **_style_marker(look[str(name)], to))
    axes.set(xlabel="instances, by mean gap")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _scale_axis(axes, "y", known[OF[to]], f"gap to the {_name_reference(to)}, %")
    return True


_DRAWN = {"box": _boxes, "profile": _profile, "gaps": _gaps}


def _style_marker(look: Look, to: str) -> dict[str, Any]:
    """Return a marker, filled for a gap to an optimum and hollow for one to a bound."""
    return {
        "marker": MARKERS[look.marker],
        "facecolors": look.colour if to == "optimum" else "none",
        "edgecolors": look.colour,
        "linewidths": 0.9,
    }


def _name_reference(to: str) -> str:
    return "optimum" if to == "optimum" else "best bound"


def _scale_axis(axes: Axes, side: Literal["x", "y"], gaps: pd.Series, label: str) -> None:
    """Scale an axis of gaps from zero, and label it."""
    values = [100 * gap for gap in gaps.dropna()]
    if max(values) > LOGARITHMIC:
        from_zero(axes, side, values)
    elif side == "x":
        axes.set_xlim(-0.02 * max(values) or None, 1.05 * max(values) or 1)
    else:
        axes.set_ylim(-0.02 * max(values) or None, 1.05 * max(values) or 1)
    axes.set(**{f"{side}label": label})


def latex(table: pd.DataFrame | str | Path) -> str:
    """Return the table of `gap_study` for LaTeX with booktabs: one `tabular` per problem."""
    rows = summarise(_rows(_frame(table)))
    return "\n".join(
        _tabular([row for row in rows if row.problem == name]) for name in dict.fromkeys(r.problem for r in rows)
    )


def _tabular(rows: list[MethodSummary]) -> str:
    named = NAMED if any(row.instance_set for row in rows) else NAMED[1:]
    columns = [c for c in choose_gap_columns(rows) if c.heading or any(c.show(row) for row in rows)]
    columns = [c for c in columns if any(c.show(row) != "-" for row in rows)]
    lines = [[_escape(c.show(row)) for c in (*named, *columns)] for row in rows]
    for line, row, before in zip(lines[1:], rows[1:], rows, strict=False):
        if len(named) > 1 and row.instance_set == before.instance_set:
            line[0] = ""
    head = [_escape(c.heading) for c in (*named, *columns)]
    body = [" & ".join(cells) + r" \\" for cells in (head, *lines)]
    form = "l" * len(named) + "".join("r" if c.heading else "l" for c in columns)
    return "\n".join(
        [
            f"% {rows[0].problem}",
            rf"\begin{{tabular}}{{{form}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _escape(text: str) -> str:
    return "".join(SPECIAL.get(c, c) for c in escape_text(text))


def _frame(table: pd.DataFrame | str | Path) -> pd.DataFrame:
    """Return the runs with a `key` of their instances. Raises InputError if the table is not of a study."""
    if not isinstance(table, pd.DataFrame):
        table = read_rows(table, COLUMNS)
    lacking = [name for name in COLUMNS if name not in table]
    if lacking or table.empty:
        why = f"has no column {lacking[0]}" if lacking else "has no rows"
        raise InputError(f"table: must be what study returns, or a results.csv of gap_study: {why}")
    found = table.reset_index(drop=True)
    sets = found["instance_set"].fillna("") if "instance_set" in found else pd.Series("", index=found.index)
    keys = pd.Series(list(zip(sets, found["instance"], strict=True)), index=found.index)
    found = found.assign(instance_set=sets, key=keys, proven=found["proven"].isin([True, "yes"]))
    gaps = {name: pd.to_numeric(found[name]) for name in (OF["optimum"], OF["bound"], "build_s", "solve_s")}
    bare = set(found.loc[found["proven"] & (found["objective"] == 0), "key"])  # of an optimum of 0 there is no share
    return found.assign(**gaps).assign(**{OF["optimum"]: gaps[OF["optimum"]].mask(found["key"].isin(bare))})


@dataclass(frozen=True)
class FileRow(Scored):
    """A run as a table has it, without its instance."""

    row_key: Key = ("", "")
    measure = None

    @property
    def key(self) -> Key:
        return self.row_key


def _rows(frame: pd.DataFrame) -> Iterator[FileRow]:
    """Yield the runs of a table."""
    known = frame.astype(object).where(frame.notna(), None)
    for row in known.to_dict("records"):
        cells = {name: row[name] for name in ("problem", "method", "status", "build_s", "solve_s")}
        gaps = {name: row[name] for name in (*OF.values(), "proven")}
        yield FileRow(cast(Any, None), Result.model_construct(**cells), **gaps, row_key=row["key"])
