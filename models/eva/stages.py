"""Stages: exact methods in turn, each from the best solution and within the time that is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from instances import Answer, Options, Stopwatch
from instances.eva import PackingArrays
from instances.eva.arrays import Group


class Stages:
    """Methods in turn, each in the time that the earlier ones leave, and from the best solution so far."""

    def __init__(self, arrays: PackingArrays, options: Options, start: Sequence[Group] | None) -> None:
        self.arrays, self.options, self.start = arrays, options, start
        self.clock = Stopwatch(options.time_limit)
        self.answer: Answer | None = None

    @property
    def left(self) -> Options:
        """The options of the next method."""
        return replace(self.options, time_limit=self.clock.limit_left_s)

    def within(self, share: float) -> Options:
        """Return the options of a method that has a share of the time that is left."""
        left = self.left
        return left if left.time_limit is None else replace(left, time_limit=share * left.time_limit)

    @property
    def known(self) -> Sequence[Group] | None:
        """The instances from which the next method begins."""
        solution = None if self.answer is None else self.answer.solution
        return self.start if solution is None else self.arrays.groups(solution)

    @property
    def go_on(self) -> bool:
        """Whether another method may follow: time is left, the gap is open, and infeasibility is not proved."""
        if self.answer is None:
            return True
        ended = self.answer.termination == "finished" and self.answer.reason is None
        return not (ended or self.answer.termination == "infeasible" or self.clock.expired)

    @property
    def has_time(self) -> bool:
        """Whether a time limit alone ends the methods, and not their own constants."""
        return self.options.time_limit is not None and self.options.effort is None

    @property
    def ended(self) -> Answer:
        """The answer of all methods together."""
        if self.answer is None:
            raise RuntimeError("column generation solves whatever is left")
        return self.answer

    def take(self, answer: Answer | None) -> Answer | None:
        """Merge the answer of a method, if it has one, and return it."""
        self.answer = merge_answers(self.answer, answer)
        return answer


def merge_answers(first: Answer | None, second: Answer | None) -> Answer | None:
    """Return the answer of two methods in turn, of which the second began from the solution of the first."""
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
