"""The outcome of column generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from instances.result import TracePoint
from models.eva.configuration import Configuration


@dataclass(frozen=True)
class Outcome:
    """The outcome of column generation: a configuration, the cost and an exact bound, both in price units.

    `trace`: cost and bound over time, as (seconds, cost, bound).

    `complete`: the bound that an integer program (HiGHS) over every column of a cheaper configuration proves, where
    there was one, even where `bound`, which rests on integers alone, is lower.
    `info`: columns, iterations, lp_value (price units), aggregate_rounds, integer_programs. `failure`: why the search
    ended before its time, if it did.
    """

    configuration: Configuration
    cost: int
    bound: int
    trace: tuple[TracePoint, ...]
    complete: int | None
    info: dict[str, Any]
    failure: str | None = None
