"""The columns of a study, described once: the terminal and the report say the same, `summary.csv` has all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from experiments.harness.gaps import MethodSummary
from experiments.output.terminal import percent


@dataclass(frozen=True)
class Column:
    """One column: its name in `summary.csv`, its heading, the value of a row, and how a reader is shown that."""

    name: str
    heading: str
    value: Callable[[MethodSummary], object]
    show: Callable[[MethodSummary], str]


def _share(name: str, heading: str, value: Callable[[MethodSummary], float | None]) -> Column:
    return Column(name, heading, value, lambda row: percent(value(row)))


def _text(name: str, heading: str, value: Callable[[MethodSummary], object]) -> Column:
    return Column(name, heading, value, lambda row: str(value(row)))


def _number(name: str, heading: str, value: Callable[[MethodSummary], float | None]) -> Column:
    return Column(name, heading, value, lambda row: "-" if (v := value(row)) is None else f"{v:.3g}")


def _cpu_s(row: MethodSummary) -> float | None:
    return fmean(row.cpu_s) if row.cpu_s else None


def _shown_cpu_s(row: MethodSummary) -> str:
    seconds = _cpu_s(row)
    return "-" if seconds is None else f"{seconds:.3f}"


NAMED = (
    _text("instance_set", "instance set", lambda row: row.instance_set),
    _text("method", "method", lambda row: row.method),
)
RUNS = (_text("runs", "runs", lambda row: row.runs),)
"""In `summary.csv` alone: a reader is shown of how many of them each mean is."""
OVER = Column("gaps_to_optimum", "over", lambda row: len(row.gaps), lambda row: f"{len(row.gaps)}/{row.runs}")


def _gaps(
    kind: str,
    heading: str,
    gaps: Callable[[MethodSummary], Sequence[float]],
    to_bound: Callable[[MethodSummary], Sequence[float]],
) -> tuple[Column, ...]:
    return (
        _share(f"mean_{kind}_to_optimum", f"{heading}mean", lambda row: row.describe(gaps(row))[0]),
        _share(f"median_{kind}_to_optimum", "median", lambda row: row.describe(gaps(row))[1]),
        _share(f"max_{kind}_to_optimum", "max", lambda row: row.describe(gaps(row))[2]),
        OVER,
        _share(f"mean_{kind}_to_bound", "to bound", lambda row: row.describe(to_bound(row))[0]),
    )


OF_THE_OBJECTIVE = _gaps("gap", "gap to optimum: ", lambda row: row.gaps, lambda row: row.gaps_to_bound)
OF_THE_MEASURE = (
    *_gaps("measure_gap", "", lambda row: row.measure_gaps, lambda row: row.measure_gaps_to_bound),
    _number("mean_part", "", lambda row: row.describe(row.parts)[0]),
    _number("mean_optimal_part", "optimum's", lambda row: row.describe(row.best_parts)[0]),
)
ENDED = (
    Column("proven", "proven", lambda row: row.proven, lambda row: f"{row.proven}/{row.runs}"),
    Column("mean_cpu_s", "CPU s", _cpu_s, _shown_cpu_s),
    _text("notes", "", lambda row: row.notes),
)
ALL = tuple(dict.fromkeys((*NAMED, *RUNS, *OF_THE_OBJECTIVE, *OF_THE_MEASURE, *ENDED)))
"""What `summary.csv` has of every problem."""


def measured(rows: Sequence[MethodSummary]) -> tuple[Column, ...]:
    """What a reader is shown of the rows of one problem: gaps in the problem's measure where there is one."""
    name, part = next(((row.measure, row.part) for row in rows if row.measure), ("", ""))
    if not name:
        return (*OF_THE_OBJECTIVE, *ENDED)
    headings = {"mean_measure_gap_to_optimum": f"gap in {name}: mean", "mean_part": part}
    headed = (replace(column, heading=headings.get(column.name, column.heading)) for column in OF_THE_MEASURE)
    return (*headed, *ENDED)
