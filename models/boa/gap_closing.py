"""Gap closing (after Handler and Zang, 1980, with Lagrangian bounds): enumerate the paths with reduced cost in the gap.

A policy's time is L(μ) + the reduced costs of its paths + μ times the unused budget. Suppose that every class's paths
of reduced cost up to δ are enumerated and combined in every way. Then every policy faster than L(μ) + δ has been found.
δ grows until L(μ) + δ reaches the incumbent. (Handler and Zang, "A dual algorithm for the constrained shortest path
problem", rank paths by length instead.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from instances.arrays import IntArray
from models.boa.labels import ClassPaths, Limits, ParetoSet, Window, class_paths, merge
from models.boa.path_dual import ReducedCosts


@dataclass(frozen=True)
class GapClosingParameters:
    """The constants of gap closing. They affect speed and memory, but not the proof.

    - `first`: the first δ for ten classes, as a fraction of the bound. It falls as the square of the number of classes,
      so that the number of paths within δ grows.
    - `growth`: factor by which δ grows.
    - `widening`: factor by which the limits of a probe grow from one pass over all δ to the next.
    - `probe_labels`: maximum number of labels after an epoch in a probe.
    - `probe_policies`: maximum number of policies of the merged classes in a probe.
    - `target_share`: fraction of the requested gap at which the enumeration stops.
    - `most_labels`: maximum number of labels of a class, or of policies of merged classes; 40 million labels take about
      700 MB.
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
"""`improved(choices, bound)` is called with the choices (epochs,) per class of a better policy, or with a better bound.

It returns whether the policy is within the budget; integer units alone do not guarantee this.
"""


class GapClosing:
    """Raise the bound and improve the incumbent until they meet.

    All policies within `proven` of L(μ) have been enumerated.

    - `r`: the network in integer units.
    - `incumbent`: time of the incumbent, units.
    - `target_bound`: returns the bound, units, at which the search stops for the time of an incumbent.
    - `limits`: limits of time and memory; their exceptions propagate.
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
        self.fastest = incumbent  # time of the fastest policy within the budget in integer units
        self.limits, self.improved, self.parameters = limits, improved, parameters
        self.proven, self.labels = 0.0, 0

    @property
    def gap(self) -> float:
        """Return the fastest policy minus L(μ), including rounding errors: no larger δ is needed."""
        return self.fastest - self.r.lagrangian + 2 * self.r.margin

    @property
    def bound(self) -> float:
        """Return the bound proven so far, units."""
        return min(float(self.fastest), self.r.lagrangian - self.r.margin + self.proven)

    @property
    def is_closed(self) -> bool:
        """Return whether the bound suffices."""
        return self.bound >= self.target_bound(self.incumbent)

    def run(self) -> int:
        """Enumerate with growing δ until the gap is closed, and return the number of labels.

        The first pass over δ truncates the enumerations to the limits of a probe. Each further pass has larger limits.
        So the search looks for incumbents at every δ before it enumerates a large δ completely.
        """
        constants, room = self.parameters, 1
        first = max(self.r.margin, abs(self.r.lagrangian) * constants.first * (10 / len(self.r.epochs)) ** 2)
        while not self.is_closed and self.proven < self.gap:
            delta = max(first, self.proven * constants.growth)
            self._enumerate(delta, room)
            while delta < self.gap and not self.is_closed:
                delta *= constants.growth
                self._enumerate(delta, room)
            room *= constants.widening
        return self.labels

    def _enumerate(self, delta: float, room: int) -> None:
        """Enumerate at δ, or at the gap if it is smaller, and keep a better incumbent and a proven bound.

        - `room`: factor of the limits of a probe.
        """
        delta = min(delta, self.gap)
        result = enumerate_policies(self.r, delta, self.fastest, room, self.parameters, self.limits)
        self.labels += result.labels
        for time, choices in result.policies:
            self.fastest = min(self.fastest, time)
            if time >= self.incumbent:
                break
            if self.improved(choices, None):
                self.incumbent = time
                break
        if result.complete:
            self.proven = max(self.proven, min(delta, self.gap))
            self.improved(None, self.bound)


@dataclass(frozen=True)
class Enumeration:
    """The result of an enumeration.

    - `policies`: time, units, and choices (epochs,) per class: of the best policy, and of the best policy that is
      within the budget whatever the rounding.
    - `complete`: whether no label or policy was truncated.
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
    """Return the best policies whose reduced costs and cost of unused budget are together at most `delta`.

    - `r`: the network in integer units.
    - `delta`: maximum reduced cost and cost of unused budget together, units.
    - `latest`: maximum time of a path, units.
    - `room`: factor of the limits of a probe, for the labels of a class and the policies of merged classes.
    - `parameters`: constants of the method.
    - `limits`: limits of time and memory.
    """
    limit = delta + r.margin
    classes = [class_paths(r, i, limit, latest, room * parameters.probe_labels, limits) for i in range(len(r.epochs))]
    halves, is_complete = _merge_classes(r, classes, limit, room * parameters.probe_policies, room == 1, limits)
    matches = (_match(classes, halves, budget) for budget in (r.budget, r.budget - r.unsure) if halves)
    is_complete &= all(c.complete for c in classes)
    return Enumeration((m for m in matches if m), is_complete, sum(c.labels for c in classes))


@dataclass
class _Half:
    """Some of the classes, and the combinations of their paths.

    - `policies`: the combinations of the paths of all classes merged so far.
    - `span`: minimum and maximum cost of the merged classes.
    - `classes`: the classes in the order of merging.
    - `ways`: for each merged class, the indices of the two parts of each combination.
    """

    policies: ParetoSet
    span: tuple[int, int]
    classes: list[int] = field(default_factory=list)
    ways: list[tuple[IntArray, IntArray]] = field(default_factory=list)


def _merge_classes(
    r: ReducedCosts, classes: Sequence[ClassPaths], limit: float, max_policies: int, is_probe: bool, limits: Limits
) -> tuple[list[_Half], bool]:
    """Merge the classes to two sets of policies, and return them and whether they are complete; none if one is empty.

    Classes with a single path are merged first. A probe merges the classes with the narrowest range of costs last, so
    that it truncates near the budget. Otherwise the classes with the fewest paths are merged last, which gives fewer
    pairs.
    """
    sets = [c.paths for c in classes]
    if not all(len(paths) for paths in sets):
        return [], True
    min_cost = sum(int(paths.cost[0]) for paths in sets)
    max_cost = sum(int(paths.cost[-1]) for paths in sets)
    single = [paths for paths in sets if len(paths) == 1]
    halves, is_complete, count = [_begin_half(single), _begin_half([])], True, 0
    weight = [int(paths.cost[-1] - paths.cost[0]) if is_probe else len(paths) for paths in sets]
    for i in sorted((i for i, paths in enumerate(sets) if len(paths) > 1), key=lambda i: -weight[i]):
        half = min(halves, key=lambda half: len(half.policies))
        half.span = half.span[0] + int(sets[i].cost[0]), half.span[1] + int(sets[i].cost[-1])
        window = Window(limit, r.budget - (max_cost - half.span[1]), r.budget - (min_cost - half.span[0]), r.mu)
        merged = merge(half.policies, sets[i], window, r.bits, limits)
        if not len(merged):
            return [], is_complete
        if len(merged) > max_policies:
            merged, is_complete = merged.thin(max_policies), False
        half.policies = merged
        half.classes.append(i)
        half.ways.append((merged.left, merged.right))
        count += len(merged)
        limits.check(count)
    return halves, is_complete


def _begin_half(single: Sequence[ParetoSet]) -> _Half:
    """Return a half with the classes that have a single path each."""
    reduced_cost = sum((float(paths.reduced_cost[0]) for paths in single), 0.0)
    cost, time = sum(int(paths.cost[0]) for paths in single), sum(int(paths.time[0]) for paths in single)
    no_parts = np.zeros(1, dtype=np.int64)
    policies = ParetoSet(np.array([reduced_cost]), np.array([cost]), np.array([time]), no_parts, no_parts)
    return _Half(policies, (cost, cost))


def _match(classes: Sequence[ClassPaths], halves: Sequence[_Half], budget: int) -> tuple[int, list[IntArray]] | None:
    """Return the time and the choices of the fastest pair of policies of two halves within `budget`, if any.

    In a nondominated set, the most expensive partner within the budget is the fastest.
    """
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
