"""The incumbent of an exact method: best solution and best bound as they close in on each other, traced, reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from instances import Stopwatch
from instances.fields import Sense
from instances.result import TracePoint

S = TypeVar("S")
N = TypeVar("N", int, float)


class Incumbent(Generic[S, N]):
    """`objective` and `solution` of the best solution, the best `bound`, each `None` until known, and their `trace`.

    Objectives and bounds are in units of the method's own; whole numbers stay whole. `report(solution, bound)` is given
    each new solution with the bound, and each better bound with `None` for the solution. `gap` is the relative gap at
    which the method may stop, `clock` the one that times the trace.
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
        """The distance from objective to bound, `None` until both are known."""
        if self.objective is None or self.bound is None:
            return None
        return abs(self.objective - self.bound)

    @property
    def closed(self) -> bool:
        """Whether the relative gap is at most the one asked for."""
        return self.left is not None and self.left <= self.gap * max(abs(self.objective or 0), 1e-9)

    def offer(self, objective: N, solution: S) -> bool:
        """Take a solution that is better than the best one; whether it was."""
        if self.objective is not None and not self._before(objective, self.objective):
            return False
        self.objective, self.solution = objective, solution
        self._tell(solution)
        return True

    def raise_bound(self, bound: N) -> bool:
        """Take a proven bound that is better than the best one; whether it was.

        A bound past the objective is cut off there: it holds for solutions that are better than the best one.
        """
        if self.objective is not None and self._before(self.objective, bound):
            bound = self.objective
        if self.bound is not None and not self._before(self.bound, bound):
            return False
        self.bound = bound
        self._tell(None)
        return True

    def _before(self, one: N, other: N) -> bool:
        """Whether `one` is the better objective."""
        return one < other if self.sense == "minimize" else one > other

    def _tell(self, solution: S | None) -> None:
        self.trace.append((self.clock.wall_s, self.objective, self.bound))
        if self.report is not None:
            self.report(solution, self.bound)
