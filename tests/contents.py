"""Change one value of a file's content."""

from __future__ import annotations

import copy
from typing import Any


def changed(content: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """`content` with another value at `path`, as `data/tasks/3/count`; a value of Ellipsis takes the field away."""
    content = copy.deepcopy(content)
    *steps, last = [int(s) if s.isdigit() else s for s in path.split("/")]
    place: Any = content
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return content
