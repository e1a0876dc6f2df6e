"""A case: what a heuristic does on an instance beside the optimum, or how it breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.run import apply, load_method
from experiments.harness.task import Failure, Reported
from experiments.worst_cases.space import Chosen, Space
from instances import Options, Stopwatch
from instances.fields import Frozen, Sense
from instances.gaps import FLOOR, of_nothing

ENOUGH_S = 0.5  # CPU seconds within which an answer may be asked for


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
    def exactly(self) -> Fraction:
        """The gap of a heuristic that minimises, without rounding, where the optimum is proven; or else 0."""
        if not self.proven or self.heuristic is None or self.best is None or self.best < FLOOR:
            return Fraction(0)
        return max(Fraction(0), Fraction(self.heuristic) / Fraction(self.best) - 1)

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


@dataclass(frozen=True)
class KnownOptimum:
    """The best value known of an instance, `None` without a solution, and the bound on its optimum.

    `infeasible`: whether it is proven that there is no solution.
    """

    best: float | None
    bound: float | None
    proven: bool
    cpu_s: float
    infeasible: bool = False


class Optima:
    """The optima of instances of a space, each looked for once, and what they say of larger ones.

    `bounds`: bounds that are known before. `proofs`: how many optima were looked for; `unproven`: for how many of them
    none was proven.
    """

    def __init__(
        self, space: Space, exact: Entry, options: Options, bounds: Mapping[Chosen, float | None] = MappingProxyType({})
    ) -> None:
        self.clock = Stopwatch(options.time_limit)
        self.proofs = self.unproven = 0
        self._space, self._exact, self._options = space, exact, options
        self._known: dict[Chosen, KnownOptimum] = {}
        self._bounds = dict(bounds)

    def unfit(self, data: Any) -> bool:
        """Whether the exact method cannot take an instance."""
        return self._exact.unfit(data) is not None

    def of(self, chosen: Chosen) -> KnownOptimum:
        """The optimum of an instance."""
        if chosen not in self._known:
            self.proofs += 1
            instance = self._space.instance(chosen)
            assert instance is not None
            with Stopwatch() as clock:
                found = apply(self._exact, instance, self.limited())
            proven, infeasible = (found.status == status for status in ("optimal", "infeasible"))
            self._known[chosen] = KnownOptimum(found.objective, found.bound, proven, clock.cpu_s, infeasible)
            self.unproven += not (proven or infeasible)
        if self._space.grows and self._known[chosen].bound is not None:
            self._bounds[chosen] = self._known[chosen].bound
        return self._known[chosen]

    def asked_anew(self) -> Optima:
        """The same, which looks for nothing twice, but knows nothing of an instance before it is asked for it."""
        anew = Optima(self._space, self._exact, self._options)
        anew._known, anew.clock = self._known, self.clock
        return anew

    def at_least(self, chosen: Chosen) -> float | None:
        """What the optimum is at least, where it is no less than that of any part: by what is known of the parts."""
        if not self._space.grows:
            return None
        if chosen not in self._bounds:
            parts = {chosen[:i] + chosen[i + 1 :] for i in range(len(chosen))} if len(chosen) > 1 else set()
            known = [bound for part in parts if (bound := self.at_least(part)) is not None]
            self._bounds[chosen] = max(known, default=None)
        return self._bounds[chosen]

    def limited(self) -> Options:
        """The options, with what is left of the time."""
        limit = self._options.time_limit
        return self._options if limit is None else replace(self._options, time_limit=max(self.clock.remaining_s, 0.01))


class Judge:
    """What a heuristic does on instances of a space, each looked at once.

    `about` is called with each instance before the heuristic is, and with `None` after it. `calls`: how often it was
    called; `asked`: of how many instances the optimum was asked for; `cpu_s`: what all of that takes, whoever else has
    asked for the same; `nothing`: how many instances had an optimum of 0 that the heuristic did not reach, of which no
    gap is a share.
    """

    def __init__(
        self, space: Space, heuristic: Entry, optima: Optima, about: Callable[[Chosen | None], None] = lambda _: None
    ) -> None:
        self.space, self.optima, self.clock = space, optima, optima.clock
        self.calls = self.asked = self.nothing = 0
        self.cpu_s = 0.0
        self._heuristic, self._about = heuristic, about
        self._alone: dict[Chosen, Case | None] = {}
        self._known: dict[Chosen, Case | None] = {}
        load_method(heuristic)

    def case(self, chosen: Chosen) -> Case | None:
        """The case, `None` where these make no instance that has a solution.

        Where the optimum is known beforehand it is not looked for.
        """
        if chosen not in self._known:
            self._known[chosen] = self._beside_optimum(self.alone(chosen))
        return self._known[chosen]

    def alone(self, chosen: Chosen) -> Case | None:
        """The case without the optimum; `None` where these make no instance, or none that a method takes."""
        if chosen not in self._alone:
            self._alone[chosen] = self._judged(chosen)
        return self._alone[chosen]

    def at_most(self, case: Case) -> Fraction | None:
        """What the gap is at most, by what is known of the optimum: `None` where that is nothing."""
        bound = self.optima.at_least(case.chosen)
        if case.broken is not None or case.heuristic is None or bound is None or bound <= 0:
            return None
        return max(Fraction(0), Fraction(case.heuristic) / Fraction(bound) - 1)

    def _judged(self, chosen: Chosen) -> Case | None:
        instance = self.space.instance(chosen)
        if instance is None or self._heuristic.unfit(instance.data) or self.optima.unfit(instance.data):
            return None
        self.calls += 1
        self._about(chosen)
        sense, clock, options = instance.data.sense, Stopwatch(), self.optima.limited()
        try:
            found = apply(self._heuristic, instance, options)
        except Exception as error:  # whatever a heuristic does is a finding
            return Case(chosen=chosen, sense=sense, broken=Failure.of(error, Reported()).reason)
        finally:
            self._about(None)
            self.cpu_s += clock.cpu_s
        if found.status == "violates":
            if self.space.reference(chosen) is None and self.optima.of(chosen).infeasible:
                return None
            return Case(chosen=chosen, sense=sense, broken="; ".join(found.violations[:2]))
        if found.objective is None and found.termination == "time_limit":
            limit = options.time_limit or 0.0
            said = f"did not answer within {limit:.3g} CPU s"
            return Case(chosen=chosen, sense=sense, broken=said) if limit >= ENOUGH_S else None
        if found.objective is None:  # that breaks it where there is a solution
            solved = self.optima.of(chosen).best is not None
            said = found.reason or f"{found.status}, no solution"
            return Case(chosen=chosen, sense=sense, broken=said) if solved else None
        case = Case(chosen=chosen, heuristic=found.objective, sense=sense, best=self.space.reference(chosen))
        if found.solution is not None:
            case = case.model_copy(update={"nearly": self.space.nearly(found.solution)})
        return case

    def _beside_optimum(self, case: Case | None) -> Case | None:
        if case is None or case.broken is not None or case.best is not None:
            return case
        optimum = self.optima.of(case.chosen)
        self.asked += 1
        self.cpu_s += optimum.cpu_s
        if optimum.best is None:
            return None
        self.nothing += of_nothing(case.heuristic, optimum.best) or of_nothing(optimum.best, case.heuristic)
        return case.model_copy(update={"best": optimum.best, "proven": optimum.proven})
