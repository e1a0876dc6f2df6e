"""Results as a table on the terminal, as CSV or as JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table

from experiments.terminal import out, percent
from instances import InputError, Result
from instances.files import write_whole

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
        cpu = None if r.solve_s is None else (r.build_s or 0.0) + r.solve_s
        numbers = [f"{v:.10g}" if v is not None else "-" for v in (r.objective, r.bound)]
        note = r.reason or (r.violations[0] if r.violations else "")
        gap, seconds = percent(r.gap, 4), "-" if cpu is None else f"{cpu:.3f}"
        table.add_row(r.instance, r.method, r.status, *numbers, gap, seconds, note)
    out.print(table)


def csv_text(results: Iterable[Result], extra: Sequence[dict[str, object]] | None = None) -> str:
    """A header line and one line a result; unknown values are empty. `extra` holds further columns of each result."""
    results = list(results)
    more = list(extra) if extra is not None else [{} for _ in results]
    names = list(dict.fromkeys(name for row in more for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, *COLUMNS], lineterminator="\n")
    writer.writeheader()
    for result, row in zip(results, more, strict=True):
        writer.writerow({**row, **{name: getattr(result, name) for name in COLUMNS}})
    return text.getvalue()


def ready_folder(path: Path) -> Path:
    """Make the folder for output and see that it can be written to, before any work. Raises InputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made a folder: {error.strerror}") from error
    probe = path / ".gapwise-probe"
    write_whole(probe, b"")
    probe.unlink()
    return path
