"""From clock times to the whole slots of an instance, for generators and trace readers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from instances.envelope import Instance
from instances.sia.oracle import SiaOracle
from instances.validation import input_errors, validated

BEYOND = 1e18  # More slots than validation takes stand for a division that runs into infinity.


def whole_slots(time: float, slot: float) -> int:
    """The least number of slots of length `slot` that `time`, of the same unit, fits into."""
    return math.ceil(min(time / slot, BEYOND))


def instance_of(data: Mapping[str, Any], name: str, source: str) -> Instance[SiaOracle]:
    """The instance of `data`, the content of a `sia-oracle` file. Raises InputError as for a file of the user's."""
    with input_errors():
        return Instance.of(validated(SiaOracle, data), name, source)
