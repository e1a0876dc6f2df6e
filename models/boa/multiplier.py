"""The search for the multiplier of the budget at which the best policy changes from over to within the budget.

At a multiplier μ >= 0 the best policy minimises time + μ cost. Its cost falls as μ rises. Each evaluated multiplier
gives a side, which is a policy over the budget or within it. The line μ -> time + μ (cost - budget) of a side lies
above the dual function and touches it at the side's own multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar


class Side(Protocol):
    """A best policy: its multiplier `mu`, its total `time` in hours of mean completion time, and its `cost`."""

    @property
    def mu(self) -> float: ...
    @property
    def time(self) -> float: ...
    @property
    def cost(self) -> float: ...


S = TypeVar("S", bound=Side)
Evaluate = Callable[[float], S]
"""`evaluate(mu)` returns the best policy at `mu`."""


@dataclass(frozen=True)
class Bracketing:
    """How the first two sides are found: multiply or divide by `factor`, between `smallest` and `largest`."""

    factor: float
    smallest: float
    largest: float


def height(side: Side, mu: float, budget: float) -> float:
    """Return the height of the line of a side at `mu`; at the side's own multiplier it is the dual function."""
    return side.time + mu * (side.cost - budget)


def crossing(over: Side, within: Side) -> float:
    """Return the multiplier at which the lines of two sides cross."""
    return (within.time - over.time) / (over.cost - within.cost)


def bracket(evaluate: Evaluate[S], first: S, budget: float, limits: Bracketing) -> tuple[S, S]:
    """Return a side over the budget and a side within it, or two equal ones beyond the limits.

    - `first`: the side to begin from.
    """
    over = within = first
    while over.cost <= budget and over.mu > limits.smallest:
        within, over = over, evaluate(over.mu / limits.factor)
    while within.cost > budget and within.mu < limits.largest:
        over, within = within, evaluate(within.mu * limits.factor)
    return over, within


def narrow(
    evaluate: Evaluate[S],
    over: S,
    within: S,
    budget: float,
    rounds: int,
    period: int,
    is_converged: Callable[[S, S], bool],
) -> tuple[S, S]:
    """Narrow a bracket towards the maximum of the dual function, and return its last two sides.

    The next multiplier is the crossing of the two lines. In the last round of every `period` it is the geometric mean,
    because crossings alone may converge slowly from one side.

    - `rounds`: maximum number of evaluations.
    - `is_converged(over, within)`: stops the search.
    """
    for step in range(rounds):
        if is_converged(over, within):
            break
        mu = crossing(over, within)
        if step % period == period - 1 or not over.mu < mu < within.mu:
            mu = math.sqrt(over.mu * within.mu)
        if not over.mu < mu < within.mu:
            break
        side = evaluate(mu)
        over, within = (side, within) if side.cost > budget else (over, side)
    return over, within
