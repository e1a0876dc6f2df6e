"""Tables on the terminal: results, and the rows of a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table

from experiments.harness.gaps import Row
from experiments.output.columns import NAMED, measured
from experiments.output.terminal import out, percent
from instances import Result
from instances.gaps import TOLERANCE
from instances.text import shown

NARROW = 120  # columns of a terminal under which a table of a study has its sets as headings


def print_table(results: Iterable[Result]) -> None:
    """One row a result, on standard output."""
    table = Table("instance", "method", "status", box=None, pad_edge=False, header_style="bold")
    for name in ("objective", "bound", "gap", "CPU s"):
        table.add_column(name, justify="right")
    table.add_column("")
    for r in results:
        numbers = [f"{v:.10g}" if v is not None else "-" for v in (r.objective, r.bound)]
        seconds = "-" if r.cpu_s is None else f"{r.cpu_s:.3f}"
        table.add_row(shown(r.instance), shown(r.method), r.status, *numbers, percent(r.gap, 4), seconds, note(r))
    out.print(table)


def note(result: Result) -> str:
    """What there is to say of a result beside its numbers."""
    said = result.reason or (result.violations[0] if result.violations else "")
    if result.status == "optimal" and result.gap is not None and result.gap > TOLERANCE:
        said = "; ".join(part for part in ("within the gap asked for, not proven further", said) if part)
    return shown(said)


def print_tables(rows: Sequence[Row]) -> None:
    """One table a problem on standard output; on a narrow terminal one a set, so that no name and number is cut."""
    narrow = out.width < NARROW
    for problem in dict.fromkeys(row.problem for row in rows):
        here = [row for row in rows if row.problem == problem]
        out.print(problem, style="bold")
        if narrow:
            for name in dict.fromkeys(row.instance_set for row in here):
                out.print(shown(name), style="italic")
                _print_table([row for row in here if row.instance_set == name], narrow)
        else:
            _print_table(here, narrow)
        out.print()
    out.print(
        "gap to optimum: |objective - optimum| / |optimum|; to bound: where no optimum is proven; "
        "proven: solutions that meet the best bound, to 1e-6; CPU s: mean a run"
    )


def _print_table(rows: Sequence[Row], narrow: bool) -> None:
    named = NAMED[1:] if narrow else NAMED
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    for column in named:
        table.add_column(column.heading, overflow="fold")
    figures = measured(rows)
    for column in figures:
        heading = column.heading.rpartition(": ")[2] if narrow else column.heading
        table.add_column(heading, justify="right", overflow="fold", no_wrap=column.name != "notes")
    before = None
    for row in rows:
        names = [shown(column.show(row)) for column in named]
        if row.instance_set == before and not narrow:
            names[0] = ""
        table.add_row(*names, *(column.show(row) for column in figures))
        before = row.instance_set
    out.print(table)
