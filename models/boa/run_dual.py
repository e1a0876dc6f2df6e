"""The Lagrangian dual over partitions of the classes' epochs into runs, and the best policy of a partition.

At a multiplier every run has its own length, and each class is a shortest path over the ends of its runs. The dual is
concave in the multiplier. It is a bound on every policy with real widths, for every partition into runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, compute_plan_limit, proven
from models.boa.multiplier import Bracketing, bracket, crossing, height, narrow
from models.boa.runs import RunEvaluation, Runs, enumerate_runs, evaluate_runs

TOLERANCE = 1e-10  # a search stops if the dual can rise by no more than this fraction
MAX_ROUNDS = 100  # evaluations within a bracket; then the search stops at any gap
BRACKETING = Bracketing(16.0, 1e-250, 1e250)  # close to the limits of floating-point numbers
MAX_MOVES = 60  # then the widths within the budget are taken; each move closes twice a linear excess


@dataclass(frozen=True)
class RunPartition:
    """Shortest paths of all classes at a multiplier.

    - `mu`: the multiplier.
    - `runs` (n,): indices of the runs, in order of classes and epochs.
    - `time`, `cost`: totals, hours of mean completion time and the unit of the budget.
    - `bound`: the dual at `mu`, rounded down.
    """

    mu: float
    runs: IntArray
    time: float
    cost: float
    bound: float


class RunDual:
    """The dual of the runs of `data` at a budget; evaluations of the runs are cached by multiplier."""

    def __init__(self, data: BoaAllocation) -> None:
        self.runs = enumerate_runs(data)
        self.classes, self.epochs = len(data.classes), [len(c.epochs) for c in data.classes]
        self.bounded = bool(np.isfinite(self.runs.end).all())
        runs = self.runs
        # For each class and epoch, the runs that end with this epoch.
        self._order = [
            [np.flatnonzero((runs.job_class == i) & (runs.after == b)) for b in range(1, n + 1)]
            for i, n in enumerate(self.epochs)
        ]
        self._cache: dict[float, RunEvaluation] = {}

    @property
    def fastest_cost(self) -> float:
        """Return the cost of the fastest policy; infinite if a formula has no maximum width."""
        return self.evaluate(0.0, 1.0).cost if self.bounded else math.inf

    def has_partition(self, allowed: BoolArray) -> bool:
        """Return whether the runs that are `allowed` (R,) contain a partition of every class."""
        runs = self.runs
        for i, n in enumerate(self.epochs):
            own = np.flatnonzero(allowed & (runs.job_class == i))
            reached = {0}
            for run in own[np.argsort(runs.first[own], kind="stable")]:
                if int(runs.first[run]) in reached:
                    reached.add(int(runs.after[run]))
            if n not in reached:
                return False
        return True

    def evaluate_runs(self, mu: float) -> RunEvaluation:
        """Return the runs at `mu`."""
        if mu not in self._cache:
            self._cache[mu] = evaluate_runs(self.runs, mu)
        return self._cache[mu]

    def evaluate(self, mu: float, budget: float, allowed: BoolArray | None = None) -> RunPartition:
        """Return the shortest paths at `mu` over the runs that are `allowed` (R,), with a bound for `budget`."""
        evaluated, runs = self.evaluate_runs(mu), self.runs
        lengths = evaluated.bound if allowed is None else np.where(allowed, evaluated.bound, np.inf)
        total, chosen = 0.0, []
        for i, n in enumerate(self.epochs):
            reached, arrivals = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
            for b, ending in enumerate(self._order[i], start=1):
                candidates = reached[runs.first[ending]] + lengths[ending]
                best = int(candidates.argmin())
                reached[b], arrivals[b] = candidates[best], ending[best]
            total += float(reached[n])
            path, b = [], n
            while b:
                path.append(int(arrivals[b]))
                b = int(runs.first[arrivals[b]])
            chosen += path[::-1]
        used = np.array(chosen)
        time = float((runs.value * evaluated.hours)[used].sum())
        cost = float((runs.price * evaluated.width * evaluated.hours)[used].sum())
        loss = (len(used) + 10) * 2.0**-50
        bound = total * (1 - loss) - mu * proven(budget) * (1 + loss)
        return RunPartition(mu, used, time, cost, bound)

    def maximise(
        self, budget: float, clock: Stopwatch, allowed: BoolArray | None = None
    ) -> tuple[RunPartition, RunPartition, float]:
        """Maximise the dual, and return the partitions on both sides of the best multiplier and the best bound.

        - `budget`: GPUs or currency per hour.
        - `clock`: ends the search early.
        - `allowed` (R,): runs that may be used.

        The first partition exceeds the budget, the second is within it. Both are equal if the fastest policy is within
        it.
        """
        limit = compute_plan_limit(budget)
        if self.bounded:
            fastest = self.evaluate(0.0, budget, allowed)
            if fastest.cost <= limit:
                return fastest, fastest, fastest.bound
        best, top = -np.inf, -np.inf

        def evaluate(mu: float) -> RunPartition:
            nonlocal best
            side = self.evaluate(mu, budget, allowed)
            best = max(best, side.bound)
            return side

        def evaluate_between(mu: float) -> RunPartition:
            nonlocal top
            side = evaluate(mu)
            top = max(top, height(side, mu, limit))
            return side

        def is_converged(over: RunPartition, within: RunPartition) -> bool:
            if within.cost > limit or over.cost <= limit or clock.has_expired:
                return True
            return height(over, crossing(over, within), limit) - top <= TOLERANCE * abs(top)

        first = evaluate_between(float(self.runs.value.max() / self.runs.price.min()))
        sides = bracket(evaluate, first, limit, BRACKETING)
        return *narrow(evaluate_between, *sides, limit, MAX_ROUNDS, 3, is_converged), best


@dataclass(frozen=True)
class _RunWidths:
    """The runs of one partition at the multiplier `mu`, and their total time and cost."""

    mu: float
    width: FloatArray
    hours: FloatArray
    time: float
    cost: float


def best_widths(runs: Runs, budget: float, near: float) -> FloatArray | None:
    """Return the fastest widths (n,) of the runs of a partition within `budget`; `None` if there are none.

    - `near`: a multiplier to begin from.

    For a given partition the problem is convex: the cost of each run is convex in its time. If the cost jumps at the
    best multiplier, times between those of both sides are chosen, which cost no more than the mix of both.
    """
    limit = compute_plan_limit(budget)

    def evaluate(mu: float) -> _RunWidths:
        at = evaluate_runs(runs, mu)
        time, cost = float((runs.value * at.hours).sum()), float((runs.price * at.width * at.hours).sum())
        return _RunWidths(mu, at.width, at.hours, time, cost)

    if np.isfinite(runs.end).all():
        fastest = evaluate(0.0)
        if fastest.cost <= limit:
            return fastest.width
    over, within = bracket(evaluate, evaluate(near), limit, BRACKETING)
    if within.cost > limit:
        return None
    top = 0.0

    def is_converged(over: _RunWidths, within: _RunWidths) -> bool:
        nonlocal top
        if over.cost <= limit:
            return True
        top = max(top, height(within, within.mu, limit), height(over, over.mu, limit))
        return height(within, crossing(over, within), limit) - top <= TOLERANCE * top

    over, within = narrow(evaluate, over, within, limit, MAX_ROUNDS, 2, is_converged)
    return _find_widths_between(runs, over, within, limit)


def _find_widths_between(runs: Runs, fast: _RunWidths, slow: _RunWidths, limit: float) -> FloatArray:
    """Return widths (n,) whose times lie between those of two sides and use up the budget `limit`."""
    share = 1.0 if fast.cost <= limit else max(0.0, (limit - slow.cost) / (fast.cost - slow.cost))
    for _ in range(MAX_MOVES):
        wanted = share * fast.hours + (1 - share) * slow.hours
        low, high = slow.width.copy(), np.maximum(fast.width, slow.width)
        while True:
            middle = (low + high) / 2
            open_ = (low < middle) & (middle < high)
            if not open_.any():
                break
            too_slow = open_ & (runs.hours(middle) > wanted)
            low, high = np.where(too_slow, middle, low), np.where(open_ & ~too_slow, middle, high)
        width = np.where(fast.width == slow.width, slow.width, low)
        cost = float((runs.price * width * runs.hours(width)).sum())
        if cost <= limit:
            return width
        share *= 1 - 2 * (cost - limit) / max(cost - slow.cost, cost - limit)
        share = max(0.0, share)
    return slow.width
