"""The incumbent of an exact method: the best solution and the best bound, their trace and their reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from instances import Stopwatch
from instances.fields import Sense
from instances.result import TracePoint

S = TypeVar("S")
N = TypeVar("N", int, float)


class Incumbent(Generic[S, N]):
    """The best solution and the best bound of a search, in the method's own units; integers stay integers.

    - `sense`: whether the objective is minimised or maximised.
    - `clock`: the clock of the trace.
    - `report(solution, bound)`: called with each new solution and the bound, and with `None` and each better bound.
    - `gap`: relative gap at which the method may stop.
    - `objective`, `solution`, `bound`: `None` until known.
    - `trace`: objective and bound at each improvement.
    """

    def __init__(
        self,
        sense: Sense,
        clock: Stopwatch,
        report: Callable[[S | None, N | None], None] | None = None,
        gap: float = 0.0,
        bound: N | None = None,
    ) -> None:
        self.sense, self.clock, self.gap = sense, clock, gap
        self.report: Callable[[S | None, N | None], None] | None = report
        self.objective: N | None = None
        self.solution: S | None = None
        self.bound: N | None = bound
        self.trace: list[TracePoint] = []

    @property
    def left(self) -> N | None:
        """Return the distance from objective to bound, `None` until both are known."""
        if self.objective is None or self.bound is None:
            return None
        return abs(self.objective - self.bound)

    @property
    def is_closed(self) -> bool:
        """Return whether the relative gap is at most the requested one."""
        return self.left is not None and self.left <= self.gap * max(abs(self.objective or 0), 1e-9)

    def offer(self, objective: N, solution: S) -> bool:
        """Accept a solution if it is better than the best one, and return whether it was."""
        if self.objective is not None and not self._is_better(objective, self.objective):
            return False
        self.objective, self.solution = objective, solution
        self._record(solution)
        return True

    def raise_bound(self, bound: N) -> bool:
        """Accept a proven bound if it is better than the best one, and return whether it was.

        A bound beyond the objective is cut off at the objective, because it holds for better solutions only.
        """
        if self.objective is not None and self._is_better(self.objective, bound):
            bound = self.objective
        if self.bound is not None and not self._is_better(self.bound, bound):
            return False
        self.bound = bound
        self._record(None)
        return True

    def _is_better(self, one: N, other: N) -> bool:
        """Return whether the objective `one` is better than `other`."""
        return one < other if self.sense == "minimize" else one > other

    def _record(self, solution: S | None) -> None:
        self.trace.append((self.clock.wall_s, self.objective, self.bound))
        if self.report is not None:
            self.report(solution, self.bound)
