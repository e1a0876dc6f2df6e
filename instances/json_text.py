"""JSON as it is read here: every field is named once."""

from __future__ import annotations

import json
from typing import Any

from instances.errors import InputError


def parsed(text: str) -> Any:
    """The content of a JSON text. Raises InputError, one line, for what is none and for a field named twice."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise InputError(f"duplicate field {name!r:.80}")
        content[name] = value
    return content
