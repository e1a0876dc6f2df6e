"""Names in spreadsheets and pictures: a user chooses them, and they must be neither formulas nor mathematics."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
