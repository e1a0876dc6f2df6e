"""The columns of results and of a study's summary, each declared once: for files, data frames, tables and the docs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import fmean
from typing import Any, Generic, Literal, TypeVar

from experiments.harness.gaps import MethodSummary, Scored
from experiments.output.terminal import cell, percent
from instances import Result
from instances.gaps import TOLERANCE, is_gap_meaningless
from instances.text import escape_text

Row = TypeVar("Row")
Kind = Literal["name", "number", "text", "note"]
"""Names are shortened in the middle. The other cells, and all headings, are broken between words only.

A column of notes stands below the table if it gets too little room.
"""


@dataclass(frozen=True)
class ResultColumn(Generic[Row]):
    """A column: its name in files, its heading for readers, and its value in a row.

    - `form`: the format of a known value for readers; `text` replaces it if the text needs more than the value.
    - `about`: the meaning of the column, for the docs.
    """

    name: str
    heading: str
    value: Callable[[Row], object]
    kind: Kind = "number"
    form: str = "{}"
    text: Callable[[Row], str] | None = None
    about: str = ""

    def show(self, row: Row) -> str:
        """Return the cell of a row for readers: a dash if the value is unknown."""
        if self.text is not None:
            return escape_text(self.text(row))
        value = self.value(row)
        return "-" if value is None else escape_text(self.form.format(value))


def choose(columns: Sequence[ResultColumn[Row]], *names: str) -> tuple[ResultColumn[Row], ...]:
    """Return the columns of these names, in the order of the names."""
    named = {column.name: column for column in columns}
    return tuple(named[name] for name in names)


SHARE, SECONDS = "{:.2%}", "{:.3f}"
IN_RESULT = "fields of the [result](#results)"


def own_gap(result: Result) -> float | None:
    """Return the gap of a result for readers: none if it would be a share of nothing."""
    return None if is_gap_meaningless(result.objective, result.bound) else result.gap


def _note(result: Result) -> str:
    """Return the remarks on a result."""
    within = result.status == "optimal" and result.gap is not None and result.gap > TOLERANCE
    remarks = (
        "within the gap asked for, not proven further" if within else "",
        "no gap: of an objective of 0 there is no share" if is_gap_meaningless(result.objective, result.bound) else "",
        _reason(result),
    )
    return "; ".join(remark for remark in remarks if remark)


def _reason(result: Result) -> str:
    return result.reason or (result.violations[0] if result.violations else "")


def _build_result_column(
    name: str, kind: Kind = "text", form: str = "{}", heading: str | None = None
) -> ResultColumn[Result]:
    return ResultColumn(name, name if heading is None else heading, attrgetter(name), kind, form, about=IN_RESULT)


NAMES = (
    _build_result_column("instance", "name"),
    _build_result_column("problem"),
    _build_result_column("method", "name"),
)
ENDED = (
    _build_result_column("status"),
    _build_result_column("termination"),
    _build_result_column("objective", "number", "{:.10g}"),
    _build_result_column("bound", "number", "{:.10g}"),
    replace(_build_result_column("gap", "number"), text=lambda result: percent(own_gap(result), 4)),
    _build_result_column("unit"),
    _build_result_column("build_s", "number", SECONDS),
    _build_result_column("solve_s", "number", SECONDS),
    _build_result_column("reason"),
)
RESULT_COLUMNS = (*NAMES, *ENDED)
"""The columns of `results.csv`, with one row per result."""
CPU_S = _build_result_column("cpu_s", "number", SECONDS, heading="CPU s")
RESULT_TABLE = choose(
    (*RESULT_COLUMNS, CPU_S, ResultColumn[Result]("note", "", _note, "note")),
    *("instance", "method", "status", "objective", "bound", "gap", "cpu_s", "unit", "note"),
)
"""The columns of the results that a command prints."""


OfRun = ResultColumn[Scored]


def _build_run_column(column: ResultColumn[Result]) -> OfRun:
    """Return a column of results as a column of a study's runs."""
    form = column.form.replace(".10g", ".8g")
    return ResultColumn(
        column.name, column.heading, lambda s: column.value(s.result), column.kind, form, about=column.about
    )


def _gap(name: str, heading: str, about: str) -> OfRun:
    return ResultColumn(name, heading, attrgetter(name), form=SHARE, about=about)


def _note_of_run(s: Scored) -> str:
    return _reason(s.result) or (f"no gap: the {s.nothing} is 0" if s.nothing else "")


SET = OfRun("instance_set", "instance set", lambda s: s.run.instance_set, "name", about="the instance set")
GAPS = (
    _gap("gap_to_optimum", "gap to optimum", "share of the proven optimum by which the objective is off"),
    _gap("gap_to_bound", "to bound", "share of the objective by which the best bound is off, if no optimum is proven"),
    _gap("measure_gap_to_optimum", "", "`gap_to_optimum` in the problem's measure, if it has one"),
    _gap("measure_gap_to_bound", "", "`gap_to_bound` in the problem's measure, if it has one"),
    OfRun(
        "proven",
        "proven",
        lambda s: s.proven,
        "text",
        text=lambda s: "yes" if s.proven else "no",
        about="`yes` if the run's solution is proven optimal, or else `no`",
    ),
    OfRun(
        "bound_by", "", lambda s: s.bound_by, "text", about="the method that proved the best bound, or `the reference`"
    ),
)
RUN_COLUMNS = (SET, *GAPS, *map(_build_run_column, RESULT_COLUMNS))
"""The columns of a study's `results.csv`, with one row per run."""
FRAME_COLUMNS = (*map(_build_run_column, NAMES), *GAPS, *map(_build_run_column, ENDED))
"""The columns of the data frame of a study in Python, which has no instance sets."""
RUN_TABLE = choose(
    (*RUN_COLUMNS, _build_run_column(CPU_S), OfRun("note", "", _note_of_run, "note")),
    *("instance_set", "instance", "method", "status", "objective", "bound", "unit", "gap_to_optimum", "gap_to_bound"),
    *("proven", "cpu_s", "note"),
)
"""The columns of the runs in the report."""


OfSummary = ResultColumn[MethodSummary]
NAMED = (
    OfSummary("instance_set", "instance set", attrgetter("instance_set"), "name", about="the instance set"),
    OfSummary("method", "method", attrgetter("method"), "name", about="the method"),
)
OVER = OfSummary(
    "gaps_to_optimum",
    "over",
    lambda row: len(row.gaps),
    text=lambda row: f"{len(row.gaps)}/{row.runs}",
    about="number of runs with a gap to the optimum",
)


def _common(row: MethodSummary) -> str:
    """Return the mean over the instances on which every method has a gap, and the number of these instances."""
    said = [f"{percent(fmean(row.common))} ({len(row.common)}/{row.instances})"] if row.common else []
    if row.common_to_bound:
        said.append(f"to bound {percent(fmean(row.common_to_bound))} ({len(row.common_to_bound)}/{row.instances})")
    return ", ".join(said) or "-"


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


COMMON = OfSummary(
    "mean_common_gap",
    "common",
    lambda row: _mean(row.common),
    text=_common,
    about="mean gap to the optimum over the instances on which every method has one",
)
"""The only mean that compares all methods, if methods of a set have gaps on different instances."""
COMMON_IN_FILES = (
    COMMON,
    OfSummary(
        "mean_common_gap_to_bound",
        "",
        lambda row: _mean(row.common_to_bound),
        about="the same for gaps to the best bound",
    ),
    OfSummary("common", "", lambda row: len(row.common) + len(row.common_to_bound), about="number of these instances"),
)


def _gaps(
    kind: str,
    heading: str,
    about: str,
    gaps: Callable[[MethodSummary], Sequence[float]],
) -> tuple[OfSummary, ...]:
    to_optimum = (("mean", f"{heading}mean"), ("median", "median"), ("max", "max"))
    return (
        *(
            OfSummary(
                f"{name}_{kind}_to_optimum",
                title,
                lambda row, k=k: row.describe(gaps(row))[k],  # type: ignore[misc]
                form=SHARE,
                about=f"{name} {about} to the optimum",
            )
            for k, (name, title) in enumerate(to_optimum)
        ),
        OVER,
        OfSummary(
            f"mean_{kind}_to_bound",
            "to bound",
            lambda row: row.describe(row.values(f"{kind}_to_bound"))[0],
            form=SHARE,
            about=f"mean {about} to the best bound of unproven instances",
        ),
    )


OF_THE_OBJECTIVE = _gaps("gap", "gap to optimum: ", "gap", attrgetter("gaps"))
OF_THE_MEASURE = (
    *_gaps("measure_gap", "", "gap in the problem's measure", lambda row: row.values("measure_gap_to_optimum")),
    *(
        OfSummary(name, heading, lambda row, of=of: row.describe(row.values(of))[0], form="{:.3g}", about=about)  # type: ignore[misc]
        for name, heading, of, about in (
            ("mean_part", "", "part", "mean of the part of the measure that is the objective"),
            ("mean_optimal_part", "optimum's", "best_part", "the same for the proven optima"),
        )
    ),
)
SUMMARY_ENDED = (
    OfSummary(
        "proven",
        "proven",
        attrgetter("proven"),
        text=lambda row: f"{row.proven}/{row.runs}",
        about="number of runs whose solution is proven optimal",
    ),
    OfSummary("mean_cpu_s", "CPU s", lambda row: _mean(row.cpu_s), form=SECONDS, about="mean CPU seconds of a run"),
    OfSummary("notes", "", attrgetter("notes"), "note", about="the runs that the figures leave out"),
)
SUMMARY_COLUMNS = tuple(
    dict.fromkeys(
        (
            OfSummary("problem", "problem", attrgetter("problem"), "text", about="the problem"),
            *NAMED,
            OfSummary("runs", "runs", attrgetter("runs"), about="number of runs"),
            *OF_THE_OBJECTIVE,
            *OF_THE_MEASURE,
            *COMMON_IN_FILES,
            *SUMMARY_ENDED,
        )
    )
)
"""The columns of `summary.csv`, with one row per problem, instance set and method."""


SCREEN = (
    OfSummary("problem", "problem", attrgetter("problem"), "name"),
    *NAMED,
    OfSummary("runs", "instances", attrgetter("runs")),
    OfSummary("proven", "proven", attrgetter("proven")),
    OfSummary("mean_gap", "gap, mean", lambda row: _mean(row.display_gaps), form=SHARE),
    OfSummary("max_gap", "gap, worst", lambda row: max(row.display_gaps, default=None), form=SHARE),
    OfSummary("to_bound", "to bound, worst", lambda row: max(row.display_gaps_to_bound, default=None), form=SHARE),
    OfSummary("mean_cpu_s", "CPU s, mean", lambda row: _mean(row.cpu_s), form=SECONDS),
)
NUMBERS = frozenset(column.heading for column in SCREEN if column.kind == "number")
"""The columns of the first table that a study prints, and the headings of those with numbers."""


def screen_columns(rows: Sequence[MethodSummary]) -> list[OfSummary]:
    """Return the columns of the first table: without the problem of all rows, and without a gap that no row has."""
    problems = {row.problem for row in rows}
    columns = SCREEN if len(problems) > 1 else SCREEN[1:]
    return [c for c in columns if c.name != "to_bound" or any(row.display_gaps_to_bound for row in rows)]


def choose_gap_columns(rows: Sequence[MethodSummary]) -> tuple[OfSummary, ...]:
    """Return the columns for the rows of one problem: gaps in the problem's measure if it has one."""
    measure = next((row.measure for row in rows if row.measure is not None), None)
    ended = (COMMON, *SUMMARY_ENDED) if any(row.partial for row in rows) else SUMMARY_ENDED
    if measure is None:
        return (*OF_THE_OBJECTIVE, *ended)
    headings = {"mean_measure_gap_to_optimum": f"gap in {measure.name}: mean", "mean_part": measure.part}
    headed = (replace(column, heading=headings.get(column.name, column.heading)) for column in OF_THE_MEASURE)
    return (*headed, *ended)


def csv_text(results: Iterable[Result]) -> str:
    """Return a header line and one line per result; unknown values are empty."""
    return _table_csv(RESULT_COLUMNS, results)


def plan_csv(result: Result) -> str:
    """Return one line per decision of a solution, such as a placement or an allocation, by its names."""
    table: str = result.to_frame().map(cell).to_csv(index=False, lineterminator="\n")
    return table


def names_csv(called: Mapping[str, tuple[str, Any]], names: Mapping[str, Callable[..., Mapping[str, Any]]]) -> str:
    """Return one line per variable of an exported model, with its name in the model and the meaning of its indices."""
    rows = [
        {"name": name, "variable": variable} | dict(names[variable](*(index if isinstance(index, tuple) else (index,))))
        for name, (variable, index) in called.items()
    ]
    return _csv(rows, ["name", "variable"])


def _csv(rows: Sequence[Mapping[str, Any]], first: Sequence[str]) -> str:
    """Return rows of one or several kinds as CSV: the columns are the union of theirs, with `first` at the front."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys([*first, *(c for row in rows for c in row)])), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def results_csv(scored: Sequence[Scored]) -> str:
    """Return one line per run, with its instance set and the gaps of the study."""
    return _table_csv(RUN_COLUMNS, scored)


def summary_csv(rows: Sequence[MethodSummary]) -> str:
    """Return one line per row of the study's table; gaps are shares of 1, unknown values empty."""
    return _table_csv(SUMMARY_COLUMNS, rows)


def _table_csv(columns: Sequence[ResultColumn[Row]], rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.name for column in columns)
    for row in rows:
        values = (column.value(row) for column in columns)
        writer.writerow(cell({True: "yes", False: "no"}[v] if isinstance(v, bool) else v) for v in values)
    return text.getvalue()
