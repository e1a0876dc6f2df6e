"""Search for bad instances of a size: grow them from smaller bad instances, then improve by hill climbing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.worst_cases.case import Case, Judge
from experiments.worst_cases.space import Chosen, Space

PROOF = 16  # steps that the proof of an optimum counts for if bounds exclude most instances
GROWN = 0.75  # share of the steps for growing
CALLED = 0.5  # share of the steps of a size for calls of the heuristic; the rest is for proofs
SIDE_BY_SIDE = 2  # worst instances of each size that are combined with those of another size
SWAPS = 1_000  # maximum number of neighbours to evaluate; larger neighbourhoods are sampled
IDLE = 50  # consecutive starts without a step, because their cases are known, before a walk ends
KNOWN_TOPS = 3  # worst local optima from which the walk restarts
PRIOR, SPREAD = 0.7, 0.3  # prior mean of the share, and prior standard deviation of each coefficient
NOISE = 0.1  # standard deviation of a share that the coefficients do not explain
HOPE = 0.5  # standard deviations below the mean: the search is optimistic that an instance is bad


class EstimatedOptima:
    """Estimate the optimum of an instance as a share of the sum of its elements' values `alone`.

    The share is an intercept plus the mean of one coefficient per element, weighted by the elements' values. Bayesian
    linear regression estimates the coefficients.
    """

    def __init__(self, alone: Mapping[int, float], things: int) -> None:
        self._alone = alone
        self._precision: Any = np.eye(things + 1) / SPREAD**2
        self._seen: Any = np.zeros(things + 1)
        self._known: tuple[Any, Any] | None = None

    def learn(self, chosen: Chosen, optimum: float) -> None:
        """Update the regression with a proven optimum."""
        row, total = self._row(chosen)
        if total > 0:
            self._precision += np.outer(row, row) / NOISE**2
            self._seen += row * (optimum / total - PRIOR) / NOISE**2
            self._known = None

    def low(self, chosen: Chosen) -> float:
        """Return an optimistic estimate of the optimum: the posterior mean less `HOPE` standard deviations."""
        if self._known is None:
            deviations = np.linalg.inv(self._precision)
            self._known = deviations @ self._seen, deviations
        terms, deviations = self._known
        row, total = self._row(chosen)
        return float(total * max(0.0, PRIOR + row @ terms - HOPE * (row @ deviations @ row) ** 0.5))

    def _row(self, chosen: Chosen) -> tuple[Any, float]:
        row = np.zeros(len(self._seen))
        for thing in chosen:
            row[thing] += self._alone.get(thing, 0.0)
        total = float(row.sum())
        if total > 0:
            row /= total
        row[-1] = 1.0
        return row, total


class Walk:
    """Search for bad instances of `size` from a seed, within a limit of `steps`.

    A call of the heuristic is one step. If the optimum of a sub-instance bounds that of the instance (`Space.grows`),
    a proof counts for `PROOF` further steps. The search then proves only the optima of the instances that are likely
    to be worst. `cases`: the proven cases of this size, and all cases that break the heuristic.
    """

    def __init__(self, judge: Judge, size: int, steps: int, seed: int) -> None:
        self.judge, self.size, self.steps = judge, size, steps
        self.cases: dict[Chosen, Case] = {}
        self._space: Space = judge.space
        self._rng = random.Random(seed)
        self._single: dict[int, float] = {}
        self._estimated = EstimatedOptima(self._single, judge.space.things)
        self._optimum: dict[Chosen, float] = {}
        self._alone: dict[Chosen, Case] = {}
        self._proven: dict[Chosen, Case] = {}
        self._first = self._count_used()

    def run(self) -> bool:
        """Run the search and return whether it ended before the time limit."""
        self._climb(self._grow())
        return not self.judge.clock.has_expired

    @property
    def used(self) -> int:
        """Return the number of steps taken."""
        return self._count_used() - self._first

    def _count_used(self) -> int:
        return self.judge.calls + (PROOF * self.judge.asked if self._space.grows else 0)

    def _is_over(self, steps: float | None = None) -> bool:
        return self.judge.clock.has_expired or self.used >= (self.steps if steps is None else steps)

    # cases and estimates of an instance

    def _call(self, chosen: Chosen) -> Case | None:
        """Return the case without its optimum; `None` if there is no such case or the heuristic breaks."""
        case = self.judge.alone(chosen)
        if case is None or case.broken is not None:
            if case is not None:
                self.cases[chosen] = case
            return None
        self._alone[chosen] = case
        return case

    def _judge(self, chosen: Chosen) -> Case | None:
        """Return the case with its optimum, and learn from the optimum."""
        if self._call(chosen) is None:
            return None
        case = self.judge.case(chosen)
        if case is None:
            self._alone.pop(chosen)
            return None
        if chosen not in self._proven:
            self._proven[chosen] = case
            if self._space.grows and case.best is not None:
                self._optimum[chosen] = case.best
                for thing in set(chosen):
                    self._takes(thing)
                self._estimated.learn(chosen, case.best)
        if len(chosen) == self.size:
            self.cases[chosen] = case
        return case

    def _takes(self, thing: int) -> float:
        """Return the heuristic's value for an instance of one element."""
        if thing not in self._single:
            case = self._call((thing,))
            self._single[thing] = 0.0 if case is None or case.heuristic is None else case.heuristic
        return self._single[thing]

    def _height(self, chosen: Chosen) -> float:
        """Return how bad an instance is, estimated if its optimum is not proven."""
        case = self._proven.get(chosen)
        if case is not None:
            return height(case)
        value = self._alone[chosen].heuristic
        if not self._space.grows or value is None:
            return 0.0
        singles = [self._takes(thing) for thing in chosen]
        low, high = 0.0, value
        for i, takes in enumerate(singles):
            part = self._optimum.get(chosen[:i] + chosen[i + 1 :])
            if part is not None:
                low, high = max(low, part), min(high, part + takes)
        optimum = min(high, max(low, self._estimated.low(chosen)))
        return value / optimum - 1 if optimum > 0 else 0.0

    # growing

    def _grow(self) -> list[Chosen]:
        """Return instances of the size, the worst first, each built from the worst smaller instances."""
        levels: list[list[Chosen]] = [[()]]
        for n in range(1, self.size + 1):
            share = max(0.0, GROWN * self.steps - self.used) / (self.size - n + 1)
            until = self.used + (max(share, self._space.things) if n == 1 else share)
            levels.append(self._best(list(dict.fromkeys(self._make_unions(levels, until))), until))
        return levels[-1]

    def _make_unions(self, levels: Sequence[Sequence[Chosen]], until: float) -> Iterator[Chosen]:
        """Yield unions of two smaller instances, then smaller instances with one more element, the worst first."""
        n = len(levels)
        for a in range(2, n // 2 + 1):
            for one in levels[a][:SIDE_BY_SIDE]:
                for other in levels[n - a][:SIDE_BY_SIDE]:
                    yield tuple(sorted(one + other))
        enough = until - self.used
        for start in levels[-1]:
            more = [tuple(sorted((*start, thing))) for thing in range(self._space.things)]
            self._rng.shuffle(more)
            yield from more
            enough -= len(more)
            if enough < 0:
                return

    def _best(self, tried: Sequence[Chosen], until: float) -> list[Chosen]:
        """Evaluate instances within the step limit and return them, the worst first."""
        found = []
        calls = self.used + (CALLED if self._space.grows else 1.0) * (until - self.used)
        for chosen in tried:
            if self._is_over(calls):
                break
            if (self._call if self._space.grows else self._judge)(chosen) is not None:
                found.append(chosen)
        left = [chosen for chosen in found if chosen not in self._proven]
        worst = 0.0
        while left and not self._is_over(until):
            top = max(left, key=self._height)
            if self._height(top) <= worst:
                break
            left.remove(top)
            case = self._judge(top)
            worst = max(worst, 0.0 if case is None else height(case))
        found = [chosen for chosen in found if chosen in self._alone]
        self._rng.shuffle(found)
        return sorted(found, key=self._height, reverse=True)

    # climbing

    def _climb(self, starts: Sequence[Chosen]) -> None:
        """Climb from each start to worse neighbours; then restart near a local optimum, or at a random instance."""
        ahead, idle = list(reversed(starts)), 0
        tops: list[Case] = []
        while not self._is_over() and idle < IDLE:
            before = self.used
            case = self._judge(ahead.pop() if ahead else self._start(tops))
            while case is not None:
                worse = self._worse(case)
                if worse is None:
                    tops = sorted({one.chosen: one for one in (*tops, case)}.values(), key=lambda one: one.rank)
                case = worse
            idle = idle + 1 if self.used == before else 0

    def _start(self, tops: Sequence[Case]) -> Chosen:
        if tops and self._rng.random() < 0.5:
            top = self._rng.choice(tops[:KNOWN_TOPS])
            return _swap(_swap(top.chosen, self._space, self._rng), self._space, self._rng)
        return draw(self._space, self.size, self._rng)

    def _worse(self, case: Case) -> Case | None:
        """Return a worse neighbour: the first one found or, with estimates, the most likely ones first; else `None`."""
        here = height(case) + 1e-9
        near = self._neighbours(case.chosen)
        if not self._space.grows:
            for chosen in near:
                if self._is_over():
                    break
                found = self._judge(chosen)
                if found is not None and height(found) > here:
                    return found
            return None
        left = []
        for chosen in near:
            if self._is_over(self.steps - PROOF):
                break
            if self._call(chosen) is not None:
                left.append(chosen)
        while left and not self._is_over():
            top = max(left, key=self._height)
            if self._height(top) <= here:
                break
            found = self._judge(top)
            if found is not None and height(found) > here:
                return found
            left.remove(top)
        return None

    def _neighbours(self, chosen: Chosen) -> list[Chosen]:
        """Return the instances with one element replaced, in random order."""
        things = range(self._space.things)
        places = {chosen[i]: i for i in range(len(chosen))}.values()
        if len(places) * self._space.things > SWAPS:
            found = {_swap(chosen, self._space, self._rng) for _ in range(SWAPS)}
        else:
            found = {tuple(sorted((*chosen[:i], *chosen[i + 1 :], thing))) for i in places for thing in things}
        near = sorted(found - {chosen})
        self._rng.shuffle(near)
        return near


def compute_min_steps(space: Space, size: int) -> int:
    """Return the minimum steps of a useful walk: it extends one instance of each size, and proves two."""
    return size * (space.things + size // 2 + (2 * PROOF if space.grows else 0))


def height(case: Case) -> float:
    """Return the height that a walk climbs: the ratio less 1, plus a tenth of `Case.nearly`.

    The ratio is used because the relative gap of a maximisation problem never exceeds 1.
    """
    gap = case.gap
    if case.sense == "maximize":
        gap = gap / max(1e-9, 1.0 - gap)
    return gap + case.nearly / 10


def draw(space: Space, size: int, rng: random.Random) -> Chosen:
    """Return a random instance of `size` elements."""
    return tuple(sorted(rng.randrange(space.things) for _ in range(size)))


def _swap(chosen: Chosen, space: Space, rng: random.Random) -> Chosen:
    """Return a neighbour: one element is replaced by a similar one, or by any other."""
    found = list(chosen)
    place = rng.randrange(len(found))
    found[place] = space.near(found[place], rng) if rng.random() < 0.5 else rng.randrange(space.things)
    return tuple(sorted(found))
