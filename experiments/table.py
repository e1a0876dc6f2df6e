"""Results as a table on the terminal, as CSV or as JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table

from experiments.terminal import out, percent
from experiments.text import cell, shown
from instances import InputError, OutputError, Result
from instances.files import write_whole
from instances.gaps import TOLERANCE

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


def ready_folder(path: Path) -> Path:
    """Make the folder for output and see that it can be written to, before any work. Raises InputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made a folder: {error.strerror}") from error
    probe = path / ".gapwise-probe"
    try:
        write_whole(probe, b"")
    except OutputError as error:
        raise InputError(f"{path}: cannot be written to") from error
    probe.unlink()
    return path


@contextmanager
def files_first(write: Callable[[], None]) -> Iterator[None]:
    """Write files, then do what is inside, print say, and only then raise what the writing raised.

    So neither an output that nobody reads to its end nor a full disk costs the other.
    """
    fault = None
    try:
        write()
    except OutputError as error:
        fault = error
    yield
    if fault is not None:
        raise fault
