"""Names as they are shown in a line: a user chooses them, and they must not steer a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

STEERING = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of a pair, separators of lines and paragraphs
TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # the direction of writing


def shown(text: str) -> str:
    """`text` in one line, its control characters written as escapes."""
    return "".join(c if not _steers(c) else c.encode("unicode_escape").decode() for c in text)


def said_by(error: BaseException) -> str:
    """The text of an exception, which may be one that a user has made up."""
    try:
        return str(error)
    except BaseException:  # SystemExit, say
        return "whose text cannot be had"


def meant(known: Iterable[str], given: str) -> str:
    """What ends a line about a name that nothing has: `, did you mean 'sia-vc'?`, or nothing where no name is near."""
    from difflib import get_close_matches  # for a line that ends a command, of which most have none

    near = get_close_matches(given, list(known), 1)
    return f", did you mean {near[0]!r}?" if near else ""


def brief(text: str, most: int) -> str:
    """`text`, of which no more than `most` characters are shown: its beginning and its end."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2 - 3]} ... {text[len(text) - most // 2 + 2 :]}"


def _steers(character: str) -> bool:
    return unicodedata.category(character) in STEERING or character in TURNING
