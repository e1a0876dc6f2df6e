"""From clock times to the whole slots of an instance, for generators and trace readers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from instances.envelope import Instance

BEYOND = 1e18  # more slots than validation takes: where a division runs into infinity


def whole_slots(time: float, slot: float) -> int:
    """The least number of slots of length `slot` that `time`, of the same unit, fits into."""
    return math.ceil(min(time / slot, BEYOND))


def instance_of(data: Mapping[str, Any], name: str, source: str) -> Instance:
    """The instance of `data`, the content of a `sia-oracle` file. Raises InputError as for a file of the user's."""
    from instances.files import parse  # which knows all problems, and so this one

    return parse({"gapwise": 1, "problem": "sia-oracle", "name": name, "source": source, "data": data})
