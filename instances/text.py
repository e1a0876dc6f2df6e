"""Print names in one line: users choose them, so they must not contain control sequences for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

STEERING = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of a pair, separators of lines and paragraphs
TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # direction of writing


def escape_text(text: str) -> str:
    """Return `text` in one line, with control characters as escapes."""
    return "".join(c if not _steers(c) else c.encode("unicode_escape").decode() for c in text)


def describe_error(error: BaseException) -> str:
    """Return the text of an exception; the exception class may be defined by a user and may fail."""
    try:
        return str(error)
    except BaseException:  # such as SystemExit
        return "whose text cannot be had"


def meant(known: Iterable[str], given: str) -> str:
    """Return the end of a message about an unknown name: `, did you mean 'sia-vc'?`, or "" if no name is similar."""
    from difflib import get_close_matches  # slow to import, and only errors need it

    near = get_close_matches(given, list(known), 1)
    return f", did you mean {near[0]!r}?" if near else ""


def count_noun(n: int, noun: str) -> str:
    """Return a number with its noun, such as `1 pod` and `2 pods`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def brief(text: str, most: int) -> str:
    """Shorten `text` to at most `most` characters: its beginning and its end."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2 - 3]} ... {text[len(text) - most // 2 + 2 :]}"


def _steers(character: str) -> bool:
    return unicodedata.category(character) in STEERING or character in TURNING
