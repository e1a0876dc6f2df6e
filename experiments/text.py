"""Names as they are shown: a user chooses them, and they must not steer a terminal, a spreadsheet or a picture."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

FORMULA = ("=", "+", "-", "@", "\t", "\r")
STEERING = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of a pair, separators of lines and paragraphs
TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # the direction of writing


def shown(text: str) -> str:
    """`text` in one line, its control characters written as escapes."""
    return "".join(c if not _steers(c) else c.encode("unicode_escape").decode() for c in text)


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


def _steers(character: str) -> bool:
    return unicodedata.category(character) in STEERING or character in TURNING
