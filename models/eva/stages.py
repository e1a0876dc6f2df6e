"""Run solution methods in sequence: each starts from the best solution so far, and has the remaining time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from instances import Answer, Options, Report, Stopwatch
from instances.eva import PackingArrays
from instances.eva.arrays import Group

LIMITS = ("time_limit", "effort_limit")
"""Terminations of a method that a limit ended."""


class Stages:
    """The state of a sequence of methods on one instance.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed of the whole sequence.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; `None` for no start.
    """

    def __init__(self, arrays: PackingArrays, options: Options, report: Report, start: Sequence[Group] | None) -> None:
        self.arrays, self.options, self.report, self.start = arrays, options, report, start
        self.clock = Stopwatch(options.time_limit)
        self.answer: Answer | None = None

    def run(
        self,
        solve: Callable[..., Answer | None],
        parameters: Any,
        share: float = 1.0,
        seed: int = 0,
        nodes: int | None = None,
    ) -> Answer | None:
        """Run a method, merge its answer with the earlier ones, and return it.

        - `solve`: the method; takes arrays, options, report, start and parameters, and returns `None` if it does not
          apply to the instance.
        - `parameters`: the constants of the method.
        - `share`: fraction of the remaining time.
        - `seed`: added to the seed of the options.
        - `nodes`: limit of effort; `None` for that of the options.
        """
        time_s, effort = self.clock.limit_left_s, [n for n in (nodes, self.options.effort) if n is not None]
        options = replace(
            self.options,
            time_limit=None if time_s is None else share * time_s,
            seed=(self.options.seed + seed) % 2**31,
            effort=min(effort, default=None),
        )
        best = None if self.answer is None else self.answer.solution
        start = self.start if best is None else self.arrays.groups(best)
        answer = solve(self.arrays, options, self.report, start, parameters)
        self.answer = merge_answers(self.answer, answer)
        return answer

    @property
    def is_open(self) -> bool:
        """Return whether time is left, the gap is open, and the problem is not proved infeasible."""
        if self.answer is None:
            return True
        closed = self.answer.termination == "finished" and self.answer.reason is None
        return not (closed or self.answer.termination == "infeasible" or self.clock.has_expired)

    @property
    def has_only_time_limit(self) -> bool:
        """Return whether time is the only limit, so that methods may run again when their own constants end them."""
        return self.options.time_limit is not None and self.options.effort is None


def merge_answers(first: Answer | None, second: Answer | None) -> Answer | None:
    """Return the answer of two methods in sequence; the second one started from the solution of the first."""
    if first is None or second is None:
        return first or second
    bounds = [b for b in (first.bound, second.bound) if b is not None]
    better = first if first.bound is not None and (second.bound is None or first.bound > second.bound) else second
    shift = first.trace[-1][0] if first.trace else 0.0
    return replace(
        second,
        solution=first.solution if second.solution is None else second.solution,
        bound=max(bounds, default=None),
        build_s=(first.build_s or 0.0) + (second.build_s or 0.0),
        solve_s=(first.solve_s or 0.0) + (second.solve_s or 0.0),
        trace=[*first.trace, *((t + shift, v, b) for t, v, b in second.trace)],
        info={**second.info, "bound_by": better.info["bound_by"]},
    )
