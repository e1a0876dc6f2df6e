"""Gap closing (Handler and Zang, 1980, with Lagrangian bounds): enumerate the paths of reduced cost within the gap.

A policy's time is L(μ) + the reduced costs of the paths + μ times the budget left over. So once every class's paths of
reduced cost up to δ are known and put together in every way, no policy faster than L(μ) + δ can have been missed.
δ grows until L(μ) + δ reaches the incumbent. (Handler and Zang, "A dual algorithm for the constrained shortest path
problem", rank paths by length instead.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from instances.arrays import IntArray
from models.boa.rescaling.labels import ClassPaths, Limits, ParetoSet, Window, class_paths, merge
from models.boa.rescaling.path_dual import ReducedCosts


@dataclass(frozen=True)
class GapClosingParameters:
    """The constants of gap closing; none changes what is proven, only how fast and within how much memory.

    - `first`: the first δ for ten classes, as a share of the bound. It falls as the square of the number of classes: so
      the number of their paths within δ grows.
    - `growth`: factor by which δ grows.
    - `widening`: factor by which the two limits of a probe grow from one pass over all δ to the next.
    - `probe_labels`: most labels after an epoch in a probe.
    - `probe_policies`: most policies of the classes merged so far in a probe.
    - `target_share`: share of the gap asked for at which the enumeration stops.
    - `most_labels`: most labels of a class, or policies of some; 40 million labels take about 700 MB.
    """

    first: float = 1e-5
    growth: float = 4.0
    widening: int = 64
    probe_labels: int = 150
    probe_policies: int = 2_000
    target_share: float = 0.9
    most_labels: int = 40_000_000


DEFAULTS = GapClosingParameters()


Improved = Callable[[list[IntArray] | None, float | None], bool]
"""`improved(choices, bound)` is called with a better policy's choices, (epochs,) for each class, or a better bound.

It says whether the policy keeps the budget, not just in whole units.
"""


class GapClosing:
    """Raise the bound and improve the incumbent until both meet; all policies within `proven` of L(μ) are enumerated.

    - `r`: the network in whole units.
    - `incumbent`: time of the incumbent, units.
    - `target_bound`: the bound that is good enough, units, by the time of an incumbent.
    - `limits`: of time and memory; their exceptions pass through.
    - `improved`: called with every improvement.
    - `parameters`: constants of the method.
    """

    def __init__(
        self,
        r: ReducedCosts,
        incumbent: int,
        target_bound: Callable[[float], float],
        limits: Limits,
        improved: Improved,
        parameters: GapClosingParameters = DEFAULTS,
    ) -> None:
        self.r, self.incumbent, self.target_bound = r, incumbent, target_bound
        self.fastest = incumbent  # of all policies within the budget in whole units
        self.limits, self.improved, self.parameters = limits, improved, parameters
        self.proven, self.labels = 0.0, 0

    @property
    def gap(self) -> float:
        """The fastest policy over L(μ), rounding included: no greater δ is of use."""
        return self.fastest - self.r.least + 2 * self.r.margin

    @property
    def bound(self) -> float:
        """The bound proven so far, units."""
        return min(float(self.fastest), self.r.least - self.r.margin + self.proven)

    @property
    def closed(self) -> bool:
        """Whether the bound is good enough."""
        return self.bound >= self.target_bound(self.incumbent)

    def run(self) -> int:
        """Enumerate at growing δ with the room of a probe, then with ever more, until the gap is closed.

        So the search looks for an incumbent at every δ before it enumerates all of a large δ. Returns the number of
        labels.
        """
        constants, room = self.parameters, 1
        first = max(self.r.margin, abs(self.r.least) * constants.first * (10 / len(self.r.epochs)) ** 2)
        while not self.closed and self.proven < self.gap:
            delta = max(first, self.proven * constants.growth)
            self._enumerate(delta, room)
            while delta < self.gap and not self.closed:
                delta *= constants.growth
                self._enumerate(delta, room)
            room *= constants.widening
        return self.labels

    def _enumerate(self, delta: float, room: int) -> None:
        """Enumerate at δ, or at the gap where that is less; keep a better incumbent, and a bound that is proven."""
        delta = min(delta, self.gap)
        found = enumerate_policies(self.r, delta, self.fastest, room, self.parameters, self.limits)
        self.labels += found.labels
        for time, choices in found.policies:
            self.fastest = min(self.fastest, time)
            if time >= self.incumbent:
                break
            if self.improved(choices, None):
                self.incumbent = time
                break
        if found.complete:
            self.proven = max(self.proven, min(delta, self.gap))
            self.improved(None, self.bound)


@dataclass(frozen=True)
class Enumeration:
    """The outcome of an enumeration.

    - `policies`: the time, units, and the choices (epochs,) for each class of the best policy; and of the best that
      surely keeps the budget.
    - `complete`: whether nothing was truncated.
    - `labels`: number of labels.
    """

    policies: Iterable[tuple[int, list[IntArray]]]
    complete: bool
    labels: int


def enumerate_policies(
    r: ReducedCosts,
    delta: float,
    latest: int,
    room: int,
    parameters: GapClosingParameters,
    limits: Limits,
) -> Enumeration:
    """The best of all policies with reduced costs and price of unused budget up to `delta`.

    - `r`: the network in whole units.
    - `delta`: most reduced cost and price of unused budget together, units.
    - `latest`: most time of a path, units.
    - `room`: the labels of a class and the policies of some classes are truncated to so many times those of a probe.
    - `parameters`: constants of the method.
    - `limits`: of time and memory.
    """
    limit = delta + r.margin
    classes = [class_paths(r, i, limit, latest, room * parameters.probe_labels, limits) for i in range(len(r.epochs))]
    halves, whole = _halves(r, classes, limit, room * parameters.probe_policies, room == 1, limits)
    matches = (_match(classes, halves, budget) for budget in (r.budget, r.budget - r.unsure) if halves)
    whole &= all(c.complete for c in classes)
    return Enumeration((m for m in matches if m), whole, sum(c.labels for c in classes))


@dataclass
class _Half:
    """Some of the classes in the order of merging, how the policies after each came about, and those after the last."""

    policies: ParetoSet
    span: tuple[int, int]
    classes: list[int] = field(default_factory=list)
    ways: list[tuple[IntArray, IntArray]] = field(default_factory=list)


def _halves(
    r: ReducedCosts, classes: Sequence[ClassPaths], limit: float, most: int, probe: bool, limits: Limits
) -> tuple[list[_Half], bool]:
    """Two halves of the classes, each merged to a single set; none where there is no policy. And whether all is there.

    Classes with a single path go ahead of all others, at once. A probe leaves those for the end whose costs differ
    least: so what it truncates is near the budget. Otherwise those with few paths come last, which are fewer pairs.
    """
    sets = [c.paths for c in classes]
    if not all(len(f) for f in sets):
        return [], True
    least = sum(int(f.cost[0]) for f in sets)
    greatest = sum(int(f.cost[-1]) for f in sets)
    alone = [f for f in sets if len(f) == 1]
    halves, whole, number = [_half(alone), _half([])], True, 0
    weight = [int(f.cost[-1] - f.cost[0]) if probe else len(f) for f in sets]
    for i in sorted((i for i, f in enumerate(sets) if len(f) > 1), key=lambda i: -weight[i]):
        half = min(halves, key=lambda half: len(half.policies))
        half.span = half.span[0] + int(sets[i].cost[0]), half.span[1] + int(sets[i].cost[-1])
        window = Window(limit, r.budget - (greatest - half.span[1]), r.budget - (least - half.span[0]), r.mu)
        merged = merge(half.policies, sets[i], window, r.bits, limits)
        if not len(merged):
            return [], whole
        if len(merged) > most:
            merged, whole = merged.thinned(most), False
        half.policies = merged
        half.classes.append(i)
        half.ways.append((merged.left, merged.right))
        number += len(merged)
        limits.check(number)
    return halves, whole


def _half(alone: Sequence[ParetoSet]) -> _Half:
    """A half to begin with: classes that have a single path each."""
    reduced_cost = sum((float(f.reduced_cost[0]) for f in alone), 0.0)
    cost, time = sum(int(f.cost[0]) for f in alone), sum(int(f.time[0]) for f in alone)
    nowhere = np.zeros(1, dtype=np.int64)
    policies = ParetoSet(np.array([reduced_cost]), np.array([cost]), np.array([time]), nowhere, nowhere)
    return _Half(policies, (cost, cost))


def _match(classes: Sequence[ClassPaths], halves: Sequence[_Half], budget: int) -> tuple[int, list[IntArray]] | None:
    """The fastest pair of policies of two halves: of the partners that fit the budget the dearest is the fastest."""
    a, b = halves[0].policies, halves[1].policies
    partner = np.searchsorted(b.cost, budget - a.cost, side="right") - 1
    fits = np.flatnonzero(partner >= 0)
    if not len(fits):
        return None
    times = a.time[fits] + b.time[partner[fits]]
    best = fits[int(times.argmin())]
    choices = [np.zeros(0, dtype=np.int64) if len(c.paths) > 1 else c.path(0) for c in classes]
    for half, position in zip(halves, (int(best), int(partner[best])), strict=True):
        for i, (left, right) in zip(reversed(half.classes), reversed(half.ways), strict=True):
            choices[i] = classes[i].path(int(right[position]))
            position = int(left[position])
    return int(times.min()), choices
