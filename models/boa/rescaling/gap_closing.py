"""Gap closing (Handler and Zang, 1980, with Lagrangian bounds): enumerate the paths of reduced cost within the gap.

A policy's time is L(μ) + the reduced costs of the paths + μ times the budget left over. So once every class's paths of
reduced cost up to δ are known and put together in every way, no policy faster than L(μ) + δ can have been missed.
δ grows until L(μ) + δ reaches the incumbent. (Handler and Zang, "A dual algorithm for the constrained shortest path
problem", rank paths by length instead.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from instances.arrays import IntArray
from models.boa.rescaling.labels import EMPTY, ClassPaths, Limits, ParetoSet, Window, class_paths, merge
from models.boa.rescaling.path_dual import ReducedCosts


@dataclass(frozen=True)
class GapClosingParameters:
    """The constants of gap closing; none changes what is proven, only how fast and within how much memory.

    - `first`: the first δ, as a share of the bound.
    - `growth`: factor by which δ grows.
    - `probe_labels`: most labels after an epoch in a probe.
    - `target_share`: share of the gap asked for at which the enumeration stops.
    - `most_labels`: most labels of a class; 40 million take about 700 MB.
    """

    first: float = 1e-5
    growth: float = 4.0
    probe_labels: int = 150
    target_share: float = 0.9
    most_labels: int = 40_000_000


DEFAULTS = GapClosingParameters()


Improved = Callable[[list[IntArray] | None, float | None], None]
"""`improved(choices, bound)` is called with a better policy's choices, (epochs,) for each class, or a better bound."""


def close_gap(
    r: ReducedCosts,
    incumbent: int,
    target_bound: Callable[[float], float],
    limits: Limits,
    improved: Improved,
    parameters: GapClosingParameters = DEFAULTS,
) -> int:
    """Raise the bound and improve the incumbent until both meet. Returns the number of labels.

    - `r`: the network in whole units.
    - `incumbent`: time of the incumbent, units.
    - `target_bound`: the bound that is good enough, units, by the time of an incumbent.
    - `limits`: of time and memory; their exceptions pass through.
    - `improved`: called with every improvement.
    - `parameters`: constants of the method.
    """
    return _Closing(r, incumbent, target_bound, limits, improved, parameters).run()


class _Closing:
    """The gap while closing: everything within `proven` of L(μ) is enumerated."""

    def __init__(
        self,
        r: ReducedCosts,
        incumbent: int,
        target_bound: Callable[[float], float],
        limits: Limits,
        improved: Improved,
        parameters: GapClosingParameters,
    ) -> None:
        self.r, self.incumbent, self.target_bound = r, incumbent, target_bound
        self.limits, self.improved, self.parameters = limits, improved, parameters
        self.proven, self.labels = 0.0, 0

    @property
    def gap(self) -> float:
        """The incumbent over L(μ), rounding included: no greater δ is of use."""
        return self.incumbent - self.r.least + 2 * self.r.margin

    @property
    def bound(self) -> float:
        """The bound proven so far, units."""
        return min(float(self.incumbent), self.r.least - self.r.margin + self.proven)

    @property
    def closed(self) -> bool:
        """Whether the bound is good enough."""
        return self.bound >= self.target_bound(self.incumbent)

    def run(self) -> int:
        """Enumerate at growing δ until the gap is closed; a probe with few labels goes ahead of every enumeration.

        A probe looks for an incumbent at a δ before all of that δ is enumerated.
        """
        constants = self.parameters
        delta = abs(self.r.least) * constants.first
        while not self.closed:
            delta = min(delta, self.gap)
            self._enumerate(delta, probe=True)
            if self.proven < delta and not self.closed:
                self._enumerate(min(delta, self.gap))
            delta *= constants.growth
        return self.labels

    def _enumerate(self, delta: float, probe: bool = False) -> None:
        """Enumerate at δ, all or with the labels of a probe; keep a better incumbent, and a bound that is proven."""
        most = self.parameters.probe_labels if probe else None
        found = enumerate_policies(self.r, delta, self.incumbent, most, self.limits)
        self.labels += found.labels
        if found.time is not None and found.time < self.incumbent:
            self.incumbent = found.time
            self.improved(found.choices, None)
        if found.complete:
            self.proven = max(self.proven, min(delta, self.gap))
            self.improved(None, self.bound)


@dataclass(frozen=True)
class Enumeration:
    """The outcome of an enumeration.

    - `time`: time of the best policy, units; `None` where there is no policy.
    - `choices`: choices (epochs,) of that policy for each class.
    - `complete`: whether nothing was truncated.
    - `labels`: number of labels.
    """

    time: int | None
    choices: list[IntArray] | None
    complete: bool
    labels: int


def enumerate_policies(
    r: ReducedCosts,
    delta: float,
    latest: int,
    most: int | None,
    limits: Limits,
) -> Enumeration:
    """The best of all policies with reduced costs and price of unused budget up to `delta`.

    - `r`: the network in whole units.
    - `delta`: most reduced cost and price of unused budget together, units.
    - `latest`: most time of a path, units.
    - `most`: number of labels of a class to truncate to after every epoch; `None` keeps all.
    - `limits`: of time and memory.
    """
    limit = delta + r.margin
    classes = [class_paths(r, i, limit, latest, most, limits) for i in range(len(r.epochs))]
    time, choices = _match(r, classes, _halves(r, classes, limit))
    return Enumeration(time, choices, all(c.complete for c in classes), sum(c.labels for c in classes))


@dataclass(frozen=True)
class _Half:
    """Some of the classes in the order of merging, and the nondominated set before all and after each."""

    classes: list[int]
    sets: list[ParetoSet]


def _halves(r: ReducedCosts, classes: Sequence[ClassPaths], limit: float) -> list[_Half]:
    """Two halves of the classes, each merged to a single set; none where some class has no path."""
    sets = [c.paths for c in classes]
    if not all(len(f) for f in sets):
        return []
    least = sum(int(f.cost[0]) for f in sets)
    greatest = sum(int(f.cost[-1]) for f in sets)
    halves = [_Half([], [EMPTY]), _Half([], [EMPTY])]
    spans = [[0, 0], [0, 0]]
    for i in sorted(range(len(sets)), key=lambda i: -len(sets[i])):
        h = 0 if len(halves[0].sets[-1]) <= len(halves[1].sets[-1]) else 1
        half, span = halves[h], spans[h]
        span[0] += int(sets[i].cost[0])
        span[1] += int(sets[i].cost[-1])
        window = Window(limit, r.budget - (greatest - span[1]), r.budget - (least - span[0]), r.mu)
        merged = merge(half.sets[-1], sets[i], window, r.bits)
        if not len(merged):
            return []
        half.classes.append(i)
        half.sets.append(merged)
    return halves


def _match(
    r: ReducedCosts, classes: Sequence[ClassPaths], halves: Sequence[_Half]
) -> tuple[int | None, list[IntArray] | None]:
    """The fastest pair of policies of two halves: of the partners that fit the budget the dearest is the fastest."""
    if not halves:
        return None, None
    a, b = halves[0].sets[-1], halves[1].sets[-1]
    partner = np.searchsorted(b.cost, r.budget - a.cost, side="right") - 1
    fits = np.flatnonzero(partner >= 0)
    if not len(fits):
        return None, None
    times = a.time[fits] + b.time[partner[fits]]
    best = fits[int(times.argmin())]
    choices: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(classes)
    for half, position in zip(halves, (int(best), int(partner[best])), strict=True):
        for i, merged in zip(reversed(half.classes), reversed(half.sets), strict=False):
            choices[i] = classes[i].path(int(merged.right[position]))
            position = int(merged.left[position])
    return int(times.min()), choices
