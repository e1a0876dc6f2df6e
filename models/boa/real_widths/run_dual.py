"""The Lagrangian dual over partitions of the classes' epochs into runs, and the best policy of a partition.

At a multiplier every run has a length of its own, and a class is a shortest path over the ends of its runs. The dual is
concave in the multiplier, and a bound on every policy with real widths, however a job's epochs are kept together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, planned, proven
from models.boa.real_widths.runs import WHOLE, Lengths, Runs, all_runs, lengths

TOLERANCE = 1e-10  # A search ends where the dual can rise by no more than this share of it.
ROUNDS = 100  # The search for a multiplier ends after so many.
FACTOR = 16.0  # Multipliers grow and shrink by this factor until the budget is between them.
SMALLEST, GREATEST = 1e-250, 1e250  # No multiplier is beyond, but 0.


@dataclass(frozen=True)
class RunPartition:
    """Shortest paths of all classes at a multiplier.

    - `mu`: the multiplier.
    - `runs` (n,): positions of the runs, in order of classes and epochs.
    - `time`, `cost`: totals, hours of mean completion time and the unit of the budget.
    - `bound`: the dual at `mu`, rounded down.
    """

    mu: float
    runs: IntArray
    time: float
    cost: float
    bound: float


class RunDual:
    """The dual of the runs of `data` at a budget; what is found at a multiplier is kept."""

    def __init__(self, data: BoaAllocation) -> None:
        self.runs = all_runs(data)
        self.classes, self.epochs = len(data.classes), [len(c.epochs) for c in data.classes]
        self.bounded = bool(np.isfinite(self.runs.end).all())
        runs = self.runs
        # The runs of each class, those that end with each epoch together.
        self._order = [
            [np.flatnonzero((runs.job_class == i) & (runs.after == b)) for b in range(1, n + 1)]
            for i, n in enumerate(self.epochs)
        ]
        self._found: dict[float, Lengths] = {}

    @property
    def fastest_cost(self) -> float:
        """The cost of the fastest policy, infinite where nothing ends a formula."""
        return self.at(0.0, 1.0).cost if self.bounded else math.inf

    def complete(self, allowed: BoolArray) -> bool:
        """Whether runs that are `allowed` (R,) make a partition of every class."""
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

    def lengths(self, mu: float) -> Lengths:
        """The runs at `mu`. Best widths fall as the multiplier rises, so they lie between those found already."""
        if mu not in self._found:
            above, below = [m for m in self._found if m > mu], [m for m in self._found if m < mu]
            low = self._found[min(above)].width * (1 - WHOLE) if above else None
            high = self._found[max(below)].width * (1 + WHOLE) if below else None
            self._found[mu] = lengths(self.runs, mu, low, high)
        return self._found[mu]

    def at(self, mu: float, budget: float, allowed: BoolArray | None = None) -> RunPartition:
        """The shortest paths at `mu` of runs that are `allowed` (R,)."""
        found, runs = self.lengths(mu), self.runs
        least = found.least if allowed is None else np.where(allowed, found.least, np.inf)
        total, chosen = 0.0, []
        for i, n in enumerate(self.epochs):
            reached, last = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
            for b, ending in enumerate(self._order[i], start=1):
                ahead = reached[runs.first[ending]] + least[ending]
                best = int(ahead.argmin())
                reached[b], last[b] = ahead[best], ending[best]
            total += float(reached[n])
            path, b = [], n
            while b:
                path.append(int(last[b]))
                b = int(runs.first[last[b]])
            chosen += path[::-1]
        at = np.array(chosen)
        time = float((runs.value * found.hours)[at].sum())
        cost = float((runs.price * found.width * found.hours)[at].sum())
        loss = (len(at) + 10) * 2.0**-50
        bound = total * (1 - loss) - mu * proven(budget) * (1 + loss)
        return RunPartition(mu, at, time, cost, bound)

    def maximise(
        self,
        budget: float,
        clock: Stopwatch,
        allowed: BoolArray | None = None,
        near: float | None = None,
        target: float = np.inf,
    ) -> tuple[RunPartition, RunPartition, float]:
        """The partitions on either side of the best multiplier, the first dearer than the budget, and the best bound.

        - `budget`: GPUs or currency an hour.
        - `clock`: ends the search early.
        - `allowed` (R,): runs that may be used.
        - `near`: a multiplier to begin from.
        - `target`: the search ends at a bound as great.

        Both partitions are the same where the fastest keeps the budget.
        """
        keeps = planned(budget)
        if self.bounded:
            fastest = self.at(0.0, budget, allowed)
            if fastest.cost <= keeps:
                return fastest, fastest, fastest.bound
        start = near or float(self.runs.value.max() / self.runs.price.min())
        over = within = self.at(start, budget, allowed)
        best = over.bound
        top = over.time + over.mu * (over.cost - keeps)
        while over.cost <= keeps and over.mu > SMALLEST:
            within, over = over, self.at(over.mu / FACTOR, budget, allowed)
            best = max(best, over.bound)
        while within.cost > keeps and within.mu < GREATEST and best < target:
            over, within = within, self.at(within.mu * FACTOR, budget, allowed)
            best = max(best, within.bound)
        for step in range(ROUNDS):
            if within.cost > keeps or over.cost <= keeps or best >= target or clock.expired:
                break
            mu = (within.time - over.time) / (over.cost - within.cost)
            if over.time + mu * (over.cost - keeps) - top <= TOLERANCE * abs(top):
                break
            if step % 3 == 2 or not over.mu < mu < within.mu:
                mu = float(np.sqrt(over.mu * within.mu))
            if not over.mu < mu < within.mu:
                break
            here = self.at(mu, budget, allowed)
            best, top = max(best, here.bound), max(top, here.time + mu * (here.cost - keeps))
            over, within = (here, within) if here.cost > keeps else (over, here)
        return over, within, best


def best_widths(runs: Runs, budget: float, near: float) -> FloatArray | None:
    """The fastest widths (n,) of the runs of a partition within `budget`, `None` where none is found.

    `near`: a multiplier to begin from. For a partition the problem is convex: cost in time, run for run. So where the
    cost jumps at the best multiplier, times between those on either side are taken, which cost no more.
    """
    keeps = planned(budget)

    def at(mu: float, low: FloatArray | None = None, high: FloatArray | None = None) -> tuple[float, Lengths, float]:
        found = lengths(runs, mu, low, high)
        return mu, found, float((runs.price * found.width * found.hours).sum())

    if np.isfinite(runs.end).all():
        _, fastest, cost = at(0.0)
        if cost <= keeps:
            return fastest.width
    over = within = at(near)
    while over[2] <= keeps and over[0] > SMALLEST:
        within, over = over, at(over[0] / FACTOR, low=over[1].width)
    while within[2] > keeps and within[0] < GREATEST:
        over, within = within, at(within[0] * FACTOR, high=within[1].width)
    if within[2] > keeps:
        return None
    top = 0.0
    for step in range(ROUNDS):
        if over[2] <= keeps:
            break
        slow, fast = (float((runs.value * side[1].hours).sum()) for side in (within, over))
        mu = (slow - fast) / (over[2] - within[2])
        top = max(top, slow + within[0] * (within[2] - keeps), fast + over[0] * (over[2] - keeps))
        if slow + mu * (within[2] - keeps) - top <= TOLERANCE * top:
            break
        if step % 2 or not over[0] < mu < within[0]:
            mu = float(np.sqrt(over[0] * within[0]))
        if not over[0] < mu < within[0]:
            break
        here = at(mu, within[1].width, over[1].width)
        over, within = (here, within) if here[2] > keeps else (over, here)
    return _between(runs, over, within, keeps)


def _between(
    runs: Runs, over: tuple[float, Lengths, float], within: tuple[float, Lengths, float], keeps: float
) -> FloatArray:
    """Widths (n,) whose times lie between those of two sides such that the budget `keeps` is used up."""
    slow, fast = within[1], over[1]
    share = 1.0 if over[2] <= keeps else max(0.0, (keeps - within[2]) / (over[2] - within[2]))
    for _ in range(60):
        wanted = share * fast.hours + (1 - share) * slow.hours
        low, high = slow.width.copy(), np.maximum(fast.width, slow.width)
        while True:
            middle = (low + high) / 2
            open_ = (low < middle) & (middle < high)
            if not open_.any():
                break
            late = open_ & (runs.hours(middle) > wanted)
            low, high = np.where(late, middle, low), np.where(open_ & ~late, middle, high)
        width = np.where(fast.width == slow.width, slow.width, low)
        cost = float((runs.price * width * runs.hours(width)).sum())
        if cost <= keeps:
            return width
        share *= 1 - 2 * (cost - keeps) / max(cost - within[2], cost - keeps)
        share = max(0.0, share)
    return slow.width
