"""Show progress to the user, and format text for tables, figures and Markdown."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from experiments.harness.experiment import TextTable
from instances import Result
from instances.gaps import is_gap_meaningless
from instances.text import escape_text

T = TypeVar("T")

NOTEBOOK = 100  # columns of the line of progress in a notebook
TEXT_WIDTH = 88  # columns of text in a file or in Python
FILE_WIDTH = 160  # columns of a table that goes to a file or a pipe

# names are printed as they are: an instance may be called `a [b] :star:`
out = Console(
    highlight=False,
    markup=False,
    emoji=False,
    soft_wrap=True,
    width=None if sys.stdout is not None and sys.stdout.isatty() else FILE_WIDTH,
)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def follow(
    outcomes: Iterable[tuple[int, T]], total: int, describe: Callable[[T], str], quiet: bool = False
) -> Iterator[tuple[int, T]]:
    """Pass `outcomes` on, and report each on standard error with the text of `describe`."""
    if quiet or not total:
        yield from outcomes
    elif err.is_terminal:
        most = min(60, err.width // 2)  # columns of a description, so that the count keeps its digits
        columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task("starting", total=total)
            for i, outcome in outcomes:
                progress.update(task, advance=1, description=describe(outcome)[:most])
                yield i, outcome
    else:
        for k, (i, outcome) in enumerate(outcomes, 1):
            said = f"[{k}/{total}] {describe(outcome)}"
            if err.is_jupyter:  # one line, written over, in what escapes would be shown as they are
                print(f"\r{said[:NOTEBOOK]:<{NOTEBOOK}}", end="\n" if k == total else "", file=sys.stderr, flush=True)
            else:
                print(said, file=sys.stderr, flush=True)  # whole, whenever an interrupt comes
            yield i, outcome


def print_rich(content: Table | Padding | str, style: str | None = None) -> None:
    """Print a table or text on standard output, without blanks at the ends of lines.

    Text is broken between words on a terminal. In a file or a pipe each line stays whole.
    """
    whole = not isinstance(content, str) or (out.width == FILE_WIDTH and not out.is_terminal)
    hanging = 0
    if isinstance(content, str) and not whole:
        words = Text(content.lstrip())
        indent, longest = len(content) - len(words), max(map(len, content.split()), default=0)
        hanging = 2 if 0 < indent <= out.width - longest - 2 else 0  # the next lines are indented further
        content = Padding(words, (0, 0, 0, indent + hanging), expand=False)
    with out.capture() as captured:
        out.print(content, style=style, soft_wrap=whole)
    for k, text in enumerate(captured.get().splitlines()):
        print(text[0 if k else hanging :].rstrip())


def text_of(show: Callable[[], None], width: int = TEXT_WIDTH) -> str:
    """Return the text that `show` prints, for lines of at most `width` characters and without styles."""
    before, out.width = out.width, width
    try:
        with redirect_stdout(io.StringIO()) as said:
            show()
    finally:
        out.width = before
    return Text.from_ansi(said.getvalue()).plain.rstrip()


def line(result: Result) -> str:
    """Describe a result in one line."""
    parts = [escape_text(result.instance), escape_text(result.method), result.status]
    if result.objective is not None:
        parts.append(f"{result.objective:.6g} {result.unit}")
    if result.gap is not None and not is_gap_meaningless(result.objective, result.bound):
        parts.append(f"gap {percent(result.gap)}")
    if result.reason:
        parts.append(f"({escape_text(result.reason)})")
    return " ".join(parts)


def as_json(i: int, result: Result) -> str:
    """Format a result as one line of JSON."""
    return result.model_dump_json()


def print_line(content: str) -> None:
    """Print one JSON object in a line on standard output; escape characters that it cannot encode."""
    try:
        content.encode(sys.stdout.encoding if sys.stdout is not None else "utf-8")
    except UnicodeEncodeError:
        content = json.dumps(json.loads(content))
    print(content, flush=True)


def percent(share: float | None, digits: int = 2) -> str:
    """Format a share as a percentage; a dash if it is unknown."""
    return "-" if share is None else f"{100 * share:.{digits}f}%"


FORMULA = ("=", "+", "-", "@", "\t", "\r")


def label(text: str, most: int = 60) -> str:
    """Return `text` for a picture: of bounded length, and without mathematics between dollars."""
    text = escape_text(text)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("$", r"\$")


def cell(value: object) -> object:
    """Return `value` for a CSV file: text without control characters, and with an apostrophe if it is a formula."""
    if not isinstance(value, str):
        return value
    text = escape_text(value)
    return f"'{text}" if value.startswith(FORMULA) else text


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Suppress warnings of a drawing library that has no glyph for some characters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def markdown(table: TextTable) -> list[str]:
    """Return the lines of a table; all columns except the first are aligned right."""
    rows = ["| " + " | ".join(row) + " |" for row in (table.head, *table.rows)]
    return [rows[0], "|---|" + "---:|" * (len(table.head) - 1), *rows[1:]]
