"""Closes the duality gap: enumerate the paths whose reduced cost is within it and put the best of them together.

A policy's time is L(μ) + the reduced costs of its paths + μ times the budget it leaves. So once every class's paths of
reduced cost up to δ are known and put together in every way, no policy faster than L(μ) + δ can have been missed.
δ grows until it reaches the incumbent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models.boa.rescaling.labels import ClassPaths, class_paths
from models.boa.rescaling.network import IntArray
from models.boa.rescaling.nondominated import NOTHING, Front, Window, merge, thin
from models.boa.rescaling.reduced_costs import Reduced

PROBE_LABELS = 150  # labels an epoch in a probe
PROBE_FRONT = 1_000  # policies in a merged front of a probe
GROWTH = 4.0

Check = Callable[[int], None]
Found = Callable[[list[IntArray] | None, float | None], None]


@dataclass(frozen=True)
class Sweep:
    """The outcome of one enumeration: the best policy's time in units and its choices by class, if there is one."""

    time: int | None
    choices: list[IntArray] | None
    complete: bool
    labels: int


def close(r: Reduced, incumbent: int, wanted: Callable[[float], float], check: Check, found: Found) -> int:
    """Raise the bound and improve the incumbent, times in units, until they meet. Returns the number of labels.

    `wanted(incumbent)` is the bound that is good enough. `found(choices, bound)` is told of each improvement.
    """
    return _Closing(r, incumbent, wanted, check, found).run()


class _Closing:
    """The gap as it closes: everything within `proven` of L(μ) is enumerated."""

    def __init__(
        self, r: Reduced, incumbent: int, wanted: Callable[[float], float], check: Check, found: Found
    ) -> None:
        self.r, self.incumbent, self.wanted, self.check, self.found = r, incumbent, wanted, check, found
        self.proven, self.labels = 0.0, 0

    @property
    def gap(self) -> float:
        """The incumbent over L(μ), rounding included: no greater δ is of use."""
        return self.incumbent - self.r.least + 2 * self.r.margin

    @property
    def bound(self) -> float:
        return min(float(self.incumbent), self.r.least - self.r.margin + self.proven)

    @property
    def closed(self) -> bool:
        return self.bound >= self.wanted(self.incumbent)

    def run(self) -> int:
        """Probes with thinned labels look for an incumbent at a greater δ before all of a smaller one is enumerated.

        An enumeration that stops short of the incumbent proves nothing final, so it waits until two probes have failed.
        """
        delta = max(self.gap * 1e-9, abs(self.r.least) * 1e-6)
        waiting: float | None = None  # a δ that was probed in vain
        while not self.closed:
            delta = min(delta, self.gap)
            self._sweep(delta, PROBE_LABELS)
            if self.proven >= delta or self.closed:
                waiting = None
            elif self.gap <= delta:
                self._sweep(self.gap, None)
            elif waiting is not None:
                self._sweep(waiting, None)
                waiting = delta
            else:
                waiting = delta
            delta *= GROWTH
        return self.labels

    def _sweep(self, delta: float, most: int | None) -> None:
        swept = sweep(self.r, delta, self.incumbent, most, self.check)
        self.labels += swept.labels
        if swept.time is not None and swept.time < self.incumbent:
            self.incumbent = swept.time
            self.found(swept.choices, None)
        if swept.complete:
            self.proven = max(self.proven, min(delta, self.gap))
            self.found(None, self.bound)


def sweep(r: Reduced, delta: float, latest: int, most: int | None, check: Check) -> Sweep:
    """Every policy with reduced costs and price of unused budget up to `delta`, thinned where `most` is given."""
    limit = delta + r.margin
    classes = [class_paths(r, i, limit, latest, most, check) for i in range(len(r.epochs))]
    complete = all(c.complete for c in classes)
    labels = sum(c.labels for c in classes)
    halves, whole = _halves(r, classes, limit, None if most is None else PROBE_FRONT)
    time, choices = _match(r, classes, halves)
    return Sweep(time, choices, complete and whole, labels)


@dataclass(frozen=True)
class _Half:
    """Some of the classes, in the order they were merged, and the front after each of them."""

    classes: list[int]
    fronts: list[Front]


def _halves(r: Reduced, classes: Sequence[ClassPaths], limit: float, most: int | None) -> tuple[list[_Half], bool]:
    """Two halves of the classes, each merged to one front, and whether nothing was thinned."""
    fronts = [c.front for c in classes]
    if not all(len(f) for f in fronts):
        return [], True
    least = sum(int(f.cost[0]) for f in fronts)
    greatest = sum(int(f.cost[-1]) for f in fronts)
    halves, whole = [_Half([], [NOTHING]), _Half([], [NOTHING])], True
    spans = [[0, 0], [0, 0]]
    for i in sorted(range(len(fronts)), key=lambda i: -len(fronts[i])):
        h = 0 if len(halves[0].fronts[-1]) <= len(halves[1].fronts[-1]) else 1
        half, span = halves[h], spans[h]
        span[0] += int(fronts[i].cost[0])
        span[1] += int(fronts[i].cost[-1])
        window = Window(limit, r.budget - (greatest - span[1]), r.budget - (least - span[0]), r.mu)
        merged = merge(half.fronts[-1], fronts[i], window, r.bits)
        if not len(merged):
            return [], whole
        if most is not None and len(merged) > most:
            merged, whole = merged.take(thin(merged.excess, most)), False
        half.classes.append(i)
        half.fronts.append(merged)
    return halves, whole


def _match(
    r: Reduced, classes: Sequence[ClassPaths], halves: Sequence[_Half]
) -> tuple[int | None, list[IntArray] | None]:
    """The fastest pair of policies of two halves: of the partners that fit the budget the dearest is the fastest."""
    if not halves:
        return None, None
    a, b = halves[0].fronts[-1], halves[1].fronts[-1]
    partner = np.searchsorted(b.cost, r.budget - a.cost, side="right") - 1
    fits = np.flatnonzero(partner >= 0)
    if not len(fits):
        return None, None
    times = a.time[fits] + b.time[partner[fits]]
    best = fits[int(times.argmin())]
    choices: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(classes)
    for half, position in zip(halves, (int(best), int(partner[best])), strict=True):
        for i, front in zip(reversed(half.classes), reversed(half.fronts), strict=False):
            choices[i] = classes[i].path(int(front.right[position]))
            position = int(front.left[position])
    return int(times.min()), choices
