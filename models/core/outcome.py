"""The outcome of a search over columns."""

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
    """The best `configuration`, its `cost` and an exact `bound`, both in price units; `None` if there is none.

    - `trace`: cost and bound over time, as (seconds, cost, bound).
    - `termination`, `reason`: how and why the search ended.
    - `info`: further figures of the search.
    - `proof`: the proof of the bound, if one tree proves it.
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
    """Return how and why a search ended.

    - `closed`: whether bound and incumbent meet.
    - `failure`: the message of a failed solve, if any.
    - `late`: whether the time is over.
    - `options`: the limits of the search.
    - `left`: the reason if no limit ended the search.
    """
    if closed:
        return "finished", None
    if failure is not None:
        return "error", failure
    if late:
        return "time_limit", "time limit"
    if options.effort is not None:
        return "effort_limit", "effort limit"
    return "finished", f"{left}; {APART}"
