"""Results as CSV: one line a result, a row of the study, or a point of anything else; unknown values are empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.harness.gaps import MethodSummary, Scored
from experiments.output.columns import RESULT_COLUMNS, RUN_COLUMNS, SUMMARY_COLUMNS, ResultColumn, Row
from experiments.output.terminal import cell
from instances import Result


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
