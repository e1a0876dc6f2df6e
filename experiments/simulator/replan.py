"""Any method as a policy: at every moment the exact problem of what is there is solved, and its solution begun.

The first part of a solution takes effect, and the next moment is solved afresh. Every solve is under a deterministic
effort, so that a simulation is the same on every machine; where it fails, breaks a constraint or ends without a
solution, a fallback decides, and the log of decisions says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from instances import ProblemData, Result
from instances.online import Policy

Solve = Callable[[ProblemData], Result]


@dataclass(frozen=True)
class Decided:
    """One decision: when, what the method said of its problem, and why a fallback decided (`None`: it did not)."""

    time: float
    status: str
    termination: str
    objective: float | None
    bound: float | None
    gap: float | None
    fallback: str | None


class Replan:
    """A policy that solves `snapshot(view)` with `solve` and does what `decision(view, solution)` says.

    `snapshot` answers `None` where there is nothing to decide, and the very object of the time before where the problem
    is still the same: then it is not solved again. `fallback` is a policy without a memory.
    """

    def __init__(
        self,
        solve: Solve,
        snapshot: Callable[[Any], ProblemData | None],
        decision: Callable[[Any, Any], Any],
        fallback: Policy[Any, Any],
    ) -> None:
        self.solve, self.snapshot, self.decision, self.fallback = solve, snapshot, decision, fallback
        self.log: list[Decided] = []
        self._solved: tuple[ProblemData, Result] | None = None

    def decide(self, view: Any) -> Any:
        data = self.snapshot(view)
        if data is None:
            return self.decision(view, None)
        fresh = self._solved is None or self._solved[0] is not data
        if self._solved is None or fresh:
            self._solved = data, self.solve(data)
        result = self._solved[1]
        why = None if result.solved else result.reason or (result.violations or (result.status,))[0]
        if fresh or why:
            self.log.append(
                Decided(view.now, result.status, result.termination, result.objective, result.bound, result.gap, why)
            )
        return self.fallback.decide(view) if why else self.decision(view, result.solution)


class Nothing:
    """The fallback of a method within another policy, which then does without."""

    def decide(self, view: Any) -> None:
        return None
