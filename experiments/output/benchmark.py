"""A benchmark's table: what was measured, how long it took in CPU seconds, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.table import Table

from experiments.output.terminal import err, out, percent
from instances import Result, Stopwatch


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    what: str
    runs: int
    mean_s: float
    max_s: float
    found: str


def measure(
    what: str, solves: Iterable[Callable[[], Result]], note: Callable[[list[Result]], str] | None = None
) -> Measured:
    """Time each call, from data to checked result."""
    results, seconds = [], []
    for solve in solves:
        with Stopwatch() as watch:
            results.append(solve())
        seconds.append(watch.cpu_s)
    row = Measured(what, len(results), sum(seconds) / len(seconds), max(seconds), (note or proofs)(results))
    err.print(f"{row.what}: {row.mean_s:.4f} s mean, {row.max_s:.4f} s max; {row.found}", markup=False)
    return row


def proofs(results: list[Result]) -> str:
    """How many are proven, and the largest gap."""
    proven = sum(r.status == "optimal" for r in results)
    gaps = [r.gap for r in results if r.gap is not None]
    return f"{proven}/{len(results)} proven, largest gap {percent(max(gaps, default=None), 4)}"


def show(title: str, rows: Iterable[Measured]) -> None:
    """Print the table."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("what")
    for name in ("runs", "mean CPU s", "max CPU s"):
        table.add_column(name, justify="right")
    table.add_column("found")
    for row in rows:
        table.add_row(row.what, str(row.runs), f"{row.mean_s:.4f}", f"{row.max_s:.4f}", row.found)
    out.print(table)
