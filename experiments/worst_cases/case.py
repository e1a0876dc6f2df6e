"""A case: what a heuristic does on an instance beside the optimum, or how it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.run import apply, load_method
from experiments.harness.task import Failure, Reported
from experiments.worst_cases.space import Chosen, Space
from instances import Instance, Options, Result, Stopwatch
from instances.fields import Frozen, Sense
from instances.gaps import FLOOR, of_nothing


class Case(Frozen):
    """An instance by what it is `chosen` of, with the value of the heuristic and the best value known.

    `proven`: whether that is the optimum. `nearly`: how near the heuristic is to a worse value. `broken`: how the
    heuristic fails there instead, in one line.
    """

    chosen: Chosen
    heuristic: float | None = None
    best: float | None = None
    proven: bool = False
    nearly: float = 0.0
    sense: Sense = "minimize"
    broken: str | None = None

    @property
    def gap(self) -> float:
        """How far the heuristic is from the best value known, as a share of it; 0 where it is a share of nothing."""
        if self.heuristic is None or self.best is None or abs(self.best) < FLOOR:
            return 0.0
        worse = self.heuristic - self.best if self.sense == "minimize" else self.best - self.heuristic
        return max(0.0, worse) / abs(self.best)

    @property
    def ratio(self) -> float | None:
        """The worse value over the better one; `None` where there is none."""
        if self.heuristic is None or self.best is None:
            return None
        low, high = sorted((abs(self.heuristic), abs(self.best)))
        return high / low if low >= FLOOR else 1.0 if high < FLOOR else None

    @property
    def rank(self) -> tuple[Any, ...]:
        """The worst case comes first: one that breaks, then the widest gap; of equals the smallest."""
        return self.broken is None, -round(self.gap, 12), len(self.chosen), self.chosen


class Judge:
    """What a heuristic does on instances of a space, each looked at once.

    `about` is called with each instance before the heuristic is, and with `None` after it. `calls`: how often it was
    called; `proofs`: how many optima were looked for; `unproven`: for how many of them none was proven; `nothing`: how
    many had an optimum of 0 that the heuristic did not reach, of which no gap is a share.
    """

    def __init__(
        self, space: Space, heuristic: Entry, exact: Entry, options: Options, about: Callable[[Chosen | None], None]
    ) -> None:
        self.space, self.clock = space, Stopwatch(options.time_limit)
        self.calls = self.proofs = self.unproven = self.nothing = 0
        self._heuristic, self._exact, self._options, self._about = heuristic, exact, options, about
        self._known: dict[Chosen, Case | None] = {}
        load_method(heuristic)

    def case(self, chosen: Chosen) -> Case | None:
        """The case, `None` where these make no instance that has a solution.

        Where the optimum is known beforehand it is not looked for.
        """
        if chosen not in self._known:
            self._known[chosen] = self._judged(chosen)
        return self._known[chosen]

    def _judged(self, chosen: Chosen) -> Case | None:
        instance = self.space.instance(chosen)
        if instance is None or any(one.unfit(instance.data) for one in (self._heuristic, self._exact)):
            return None
        self.calls += 1
        self._about(chosen)
        sense = instance.data.sense
        try:
            found = apply(self._heuristic, instance, self._limited())
        except Exception as error:  # whatever a heuristic does is a finding
            return Case(chosen=chosen, sense=sense, broken=Failure.of(error, Reported()).reason)
        finally:
            self._about(None)
        if found.status == "violates":
            return Case(chosen=chosen, sense=sense, broken="; ".join(found.violations[:2]))
        if found.objective is None:
            return self._without(instance, chosen, found)
        case = Case(chosen=chosen, heuristic=found.objective, sense=sense, best=self.space.reference(chosen))
        if found.solution is not None:
            case = case.model_copy(update={"nearly": self.space.nearly(found.solution)})
        if case.best is not None:
            return case
        return self._beside_optimum(instance, case)

    def _without(self, instance: Instance[Any], chosen: Chosen, found: Result) -> Case | None:
        """A heuristic that has no solution breaks where there is one."""
        if self._solved(instance).objective is None:
            return None
        return Case(chosen=chosen, sense=instance.data.sense, broken=found.reason or f"{found.status}, no solution")

    def _beside_optimum(self, instance: Instance[Any], case: Case) -> Case | None:
        optimum = self._solved(instance)
        proven = optimum.status == "optimal"
        self.unproven += not proven
        if optimum.objective is None:
            return None
        self.nothing += of_nothing(case.heuristic, optimum.objective) or of_nothing(optimum.objective, case.heuristic)
        return case.model_copy(update={"best": optimum.objective, "proven": proven})

    def _solved(self, instance: Instance[Any]) -> Result:
        self.proofs += 1
        return apply(self._exact, instance, self._limited())

    def _limited(self) -> Options:
        limit = self._options.time_limit
        return self._options if limit is None else replace(self._options, time_limit=max(self.clock.remaining_s, 0.01))
