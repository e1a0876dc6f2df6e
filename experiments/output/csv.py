"""Results as CSV: one line a result, a row of the study, or a point of anything else; unknown values are empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.harness.gaps import MethodSummary, Scored
from experiments.output.summary import ALL
from experiments.output.terminal import cell
from instances import Result

COLUMNS = (
    "instance",
    "problem",
    "method",
    "status",
    "termination",
    "objective",
    "bound",
    "gap",
    "unit",
    "build_s",
    "solve_s",
    "reason",
)


def csv_text(results: Iterable[Result], extra: Sequence[dict[str, object]] | None = None) -> str:
    """A header line and one line a result; unknown values are empty. `extra` holds further columns of each result."""
    results = list(results)
    more = list(extra) if extra is not None else [{} for _ in results]
    names = list(dict.fromkeys(name for row in more for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, *COLUMNS], lineterminator="\n")
    writer.writeheader()
    for result, row in zip(results, more, strict=True):
        values = {**row, **{name: getattr(result, name) for name in COLUMNS}}
        writer.writerow({name: cell(value) for name, value in values.items()})
    return text.getvalue()


def plan_csv(result: Result) -> str:
    """One line a thing that a solution decides, as a placement or an allocation, by its names."""
    table: str = result.to_frame().map(cell).to_csv(index=False, lineterminator="\n")
    return table


def names_csv(called: Mapping[str, tuple[str, Any]], names: Mapping[str, Callable[..., Mapping[str, Any]]]) -> str:
    """One line a variable of an exported model: what it is `called` there, and what its indices stand for."""
    rows = [
        {"name": name, "variable": variable} | dict(names[variable](*(index if isinstance(index, tuple) else (index,))))
        for name, (variable, index) in called.items()
    ]
    return _csv(rows, ["name", "variable"])


def _csv(rows: Sequence[Mapping[str, Any]], first: Sequence[str]) -> str:
    """Rows of one kind or several: the columns that they have together, `first` ones first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys([*first, *(c for row in rows for c in row)])), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def results_csv(scored: Sequence[Scored]) -> str:
    """One row a run, with its instance set, the gaps of the study, whether it is proven optimal, by whose bound."""
    extra: list[dict[str, object]] = [
        {
            "instance_set": s.run.instance_set,
            "gap_to_optimum": s.gap_to_optimum,
            "gap_to_bound": s.gap_to_bound,
            "measure_gap_to_optimum": s.measure_gap_to_optimum,
            "measure_gap_to_bound": s.measure_gap_to_bound,
            "proven": "yes" if s.proven else "no",
            "bound_by": s.bound_by,
        }
        for s in scored
    ]
    return csv_text([s.result for s in scored], extra)


def summary_csv(rows: Sequence[MethodSummary]) -> str:
    """One line a row of the table; shares of 1, unknown values empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["problem", *(column.name for column in ALL)])
    for row in rows:
        writer.writerow([row.problem, *(cell(column.value(row)) for column in ALL)])
    return text.getvalue()
