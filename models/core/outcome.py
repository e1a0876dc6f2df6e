"""What a search over columns ended with, whichever it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from instances import Options
from instances.result import Termination, TracePoint

S = TypeVar("S")
P = TypeVar("P")
APART = "a bound and an incumbent remain apart"


@dataclass(frozen=True)
class Outcome(Generic[S, P]):
    """The best `configuration`, its `cost` and an exact `bound`, both in price units; `None` where there is none.

    - `trace`: cost and bound over time, as (seconds, cost, bound).
    - `termination`, `reason`: how and why the search ended.
    - `info`: what else is to be known.
    - `proof`: what proves the bound, where one tree does.
    """

    configuration: S | None
    cost: int | None
    bound: int
    trace: tuple[TracePoint, ...]
    termination: Termination
    reason: str | None
    info: dict[str, Any]
    proof: P | None = None


def ending(
    closed: bool, failure: str | None, late: bool, options: Options, left: str = "nothing is left to branch on"
) -> tuple[Termination, str | None]:
    """How and why a search ended; `left` says what there is no more of where no limit ended it."""
    if closed:
        return "finished", None
    if failure is not None:
        return "error", failure
    if late:
        return "time_limit", "time limit"
    if options.effort is not None:
        return "effort_limit", "effort limit"
    return "finished", f"{left}; {APART}"
