"""Cases: an instance with the heuristic's value and the optimum, or with the way in which the heuristic breaks."""

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
from instances.gaps import FLOOR, is_gap_meaningless

ENOUGH_S = 0.5  # CPU seconds; a heuristic with less time than this is not reported as too slow


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
        """Return the gap to the best value known, relative to that value; 0 if the value is missing or about 0."""
        if self.heuristic is None or self.best is None or abs(self.best) < FLOOR:
            return 0.0
        worse = self.heuristic - self.best if self.sense == "minimize" else self.best - self.heuristic
        return max(0.0, worse) / abs(self.best)

    @property
    def exactly(self) -> Fraction:
        """Return the gap of a minimising heuristic without rounding if the optimum is proven, else 0."""
        if not self.proven or self.heuristic is None or self.best is None or self.best < FLOOR:
            return Fraction(0)
        return max(Fraction(0), Fraction(self.heuristic) / Fraction(self.best) - 1)

    @property
    def ratio(self) -> float | None:
        """Return the larger of both absolute values over the smaller one; `None` if it is undefined."""
        if self.heuristic is None or self.best is None:
            return None
        low, high = sorted((abs(self.heuristic), abs(self.best)))
        return high / low if low >= FLOOR else 1.0 if high < FLOOR else None

    @property
    def rank(self) -> tuple[Any, ...]:
        """Return the sort key: cases that break come first, then the widest gap, then the smallest instance."""
        return self.broken is None, -round(self.gap, 12), len(self.chosen), self.chosen


@dataclass(frozen=True)
class KnownOptimum:
    """The best value known of an instance, `None` without a solution, and the bound on its optimum.

    `infeasible`: whether the instance is proven to have no solution.
    """

    best: float | None
    bound: float | None
    proven: bool
    cpu_s: float
    infeasible: bool = False


class Optima:
    """Compute and cache the optima of instances of a space, and derive bounds on the optima of larger instances.

    `bounds`: bounds that are known beforehand. `proofs`: number of optima computed. `unproven`: number of those without
    a proof.
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
        """Return whether the exact method rejects an instance."""
        return self._exact.unfit(data) is not None

    def of(self, chosen: Chosen) -> KnownOptimum:
        """Return the optimum of an instance; compute it on the first call."""
        if chosen not in self._known:
            self.proofs += 1
            instance = self._space.instance(chosen)
            assert instance is not None
            with Stopwatch() as clock:
                found = apply(self._exact, instance, self.limit_options())
            proven, infeasible = (found.status == status for status in ("optimal", "infeasible"))
            self._known[chosen] = KnownOptimum(found.objective, found.bound, proven, clock.cpu_s, infeasible)
            self.unproven += not (proven or infeasible)
        if self._space.grows and self._known[chosen].bound is not None:
            self._bounds[chosen] = self._known[chosen].bound
        return self._known[chosen]

    def copy_without_bounds(self) -> Optima:
        """Return a copy that shares the cached optima, but derives bounds only from instances that it is asked for."""
        anew = Optima(self._space, self._exact, self._options)
        anew._known, anew.clock = self._known, self.clock
        return anew

    def bound_below(self, chosen: Chosen) -> float | None:
        """Return a lower bound on the optimum from known sub-instances; `None` if there is none.

        The bound is valid only if adding elements never decreases the optimum (`Space.grows`).
        """
        if not self._space.grows:
            return None
        if chosen not in self._bounds:
            parts = {chosen[:i] + chosen[i + 1 :] for i in range(len(chosen))} if len(chosen) > 1 else set()
            known = [bound for part in parts if (bound := self.bound_below(part)) is not None]
            self._bounds[chosen] = max(known, default=None)
        return self._bounds[chosen]

    def limit_options(self) -> Options:
        """Return the options with the remaining time as the limit."""
        limit = self._options.time_limit
        return self._options if limit is None else replace(self._options, time_limit=max(self.clock.remaining_s, 0.01))


class Judge:
    """Evaluate a heuristic on instances of a space, each instance once.

    - `about`: callback, called with each instance before the heuristic runs, and with `None` after it.
    - `calls`: number of calls of the heuristic.
    - `asked`: number of instances whose optimum was requested.
    - `cpu_s`: CPU seconds of both, also for optima that another judge has computed before.
    - `nothing`: number of instances on which exactly one of both values is 0, so that no relative gap exists.
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
        """Return the case with its optimum; `None` if there is no such instance or it has no solution.

        If the optimum is known beforehand, it is not computed.
        """
        if chosen not in self._known:
            self._known[chosen] = self._add_optimum(self.alone(chosen))
        return self._known[chosen]

    def alone(self, chosen: Chosen) -> Case | None:
        """Return the case without the optimum; `None` if there is no such instance or a method rejects it."""
        if chosen not in self._alone:
            self._alone[chosen] = self._judge(chosen)
        return self._alone[chosen]

    def bound_gap(self, case: Case) -> Fraction | None:
        """Return an upper bound on the gap from the bound on the optimum; `None` if no such bound is known."""
        bound = self.optima.bound_below(case.chosen)
        if case.broken is not None or case.heuristic is None or bound is None or bound <= 0:
            return None
        return max(Fraction(0), Fraction(case.heuristic) / Fraction(bound) - 1)

    def _judge(self, chosen: Chosen) -> Case | None:
        instance = self.space.instance(chosen)
        if instance is None or self._heuristic.unfit(instance.data) or self.optima.unfit(instance.data):
            return None
        self.calls += 1
        self._about(chosen)
        sense, clock, options = instance.data.sense, Stopwatch(), self.optima.limit_options()
        try:
            found = apply(self._heuristic, instance, options)
        except Exception as error:  # any failure of a heuristic is a result
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
        if found.objective is None:  # the heuristic breaks only if the instance has a solution
            solved = self.optima.of(chosen).best is not None
            said = found.reason or f"{found.status}, no solution"
            return Case(chosen=chosen, sense=sense, broken=said) if solved else None
        case = Case(chosen=chosen, heuristic=found.objective, sense=sense, best=self.space.reference(chosen))
        if found.solution is not None:
            case = case.model_copy(update={"nearly": self.space.nearly(found.solution)})
        return case

    def _add_optimum(self, case: Case | None) -> Case | None:
        if case is None or case.broken is not None or case.best is not None:
            return case
        optimum = self.optima.of(case.chosen)
        self.asked += 1
        self.cpu_s += optimum.cpu_s
        if optimum.best is None:
            return None
        self.nothing += is_gap_meaningless(case.heuristic, optimum.best) or is_gap_meaningless(
            optimum.best, case.heuristic
        )
        return case.model_copy(update={"best": optimum.best, "proven": optimum.proven})
