"""Text in spreadsheets, pictures and Markdown: names that a user chooses are neither formulas nor mathematics."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from experiments.harness.experiment import Table
from instances.text import shown

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def label(text: str, most: int = 60) -> str:
    """`text` for a picture: of bounded length, and its dollars no mathematics."""
    text = shown(text)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("$", r"\$")


def cell(value: object) -> object:
    """`value` for a CSV file; text that a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


@contextmanager
def no_warnings() -> Iterator[None]:
    """Without the warnings of a drawing library, which has no glyph for some characters of a name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def markdown(table: Table) -> list[str]:
    """The lines of a table; all columns but the first are set to the right."""
    rows = ["| " + " | ".join(row) + " |" for row in (table.head, *table.rows)]
    return [rows[0], "|---|" + "---:|" * (len(table.head) - 1), *rows[1:]]
