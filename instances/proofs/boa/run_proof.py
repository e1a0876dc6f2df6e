"""Verify a bound with real widths and rescaling times: a tree over the width changes, with a multiplier in every leaf.

A run keeps several epochs of a class at one width k. At a multiplier μ of the budget, the length of a run is its
Lagrangian cost (v + μ c k) T(k). An hour of the run adds v hours to the mean, and an hour of one GPU costs c. The run
takes T(k) hours, including the change before it. The function 1/T is a weighted harmonic mean of concave functions,
hence concave. The length is a linear function divided by a concave one, hence quasi-convex. So if it is larger at a
than at b > a, it is also larger to the left of a. Minimum lengths are integers, rounded down, from the data alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from instances.boa.allocation import BoaAllocation
from instances.boa.speedup import Curve
from instances.errors import CheckFailed
from instances.fields import Frozen, refuse
from instances.proofs.boa.rational import (
    DIGITS,
    budget,
    corners,
    exact,
    find_max_width,
    power_at_most,
    price_of,
    serial,
    share,
)
from instances.proofs.certificate import NoCertificate, Proven, walk_tree
from instances.validation import show

WIDTH = 40  # fractional bits of a width
HOURS = 160  # fractional bits of hours
LENGTH = 100  # fractional bits of hours in a length
NARROW = 32  # a search ends if the remaining widths agree to this many bits
WIDEST = 1 << (WIDTH + 80)  # no search goes beyond
POWER = Fraction(1, 10 ** (DIGITS - 7))  # relative: an upper bound on the rounding error of a power


class Hours:
    """The hours of an epoch of `size` hours at speedup 1 on a `curve` whose widths end at `max_width`.

    Between the corners of a table they are size / (a + b width), scaled; for Amdahl's law (c + d / width) / e.
    """

    def __init__(self, size: Fraction, curve: Curve, max_width: int | None) -> None:
        self.size, self.curve, self.end = size, curve, find_max_width(curve, max_width)
        self.corners: list[int] = []
        self.pieces: list[tuple[int, int, int]] = []
        if curve.table is not None:
            hull = corners(curve, max_width)
            self.corners = [k << WIDTH for k, _ in hull]
            for i, (k, s) in enumerate(hull):
                slope = (hull[i + 1][1] - s) / (hull[i + 1][0] - k) if i + 1 < len(hull) else Fraction(0)
                self._piece(s - slope * k, slope / (1 << WIDTH))
        elif curve.amdahl is not None:
            p = exact(curve.amdahl)
            fixed, shrinks = size * serial(curve.amdahl), size * p * (1 << WIDTH)
            unit = fixed.denominator * shrinks.denominator
            self.pieces.append((int(fixed * unit) << HOURS, int(shrinks * unit) << HOURS, unit))

    def _piece(self, speed: Fraction, slope: Fraction) -> None:
        unit = lcm(speed.denominator, slope.denominator)
        top = self.size.numerator * unit << HOURS
        self.pieces.append((top, int(speed * unit) * self.size.denominator, int(slope * unit) * self.size.denominator))

    def bound_hours(self, width: int) -> tuple[int, int]:
        """Return the hours at a width, rounded down, and an upper bound on the rounding error.

        The width is in units of 2^-WIDTH, the hours are in units of 2^-HOURS.
        """
        if self.curve.table is not None:
            top, speed, slope = self.pieces[bisect_right(self.corners, width) - 1]
            return top // (speed + slope * width), 1
        if self.curve.amdahl is not None:
            fixed, shrinks, unit = self.pieces[0]
            return (fixed * width + shrinks) // (unit * width), 1
        hours = self.size * power_at_most(Fraction(1 << WIDTH, width), exact(self.curve.power or 0.0))
        found = (hours.numerator << HOURS) // hours.denominator
        return found, 2 + int(found * POWER)

    def bound_at_any_width(self) -> int:
        """Return a lower bound on the hours of a formula at any width, in units of 2^-HOURS."""
        if self.curve.amdahl is None:
            return 0 if self.curve.power else self.bound_hours(1 << WIDTH)[0]
        return self.pieces[0][0] // self.pieces[0][2]


class RunLengths:
    """Minimum lengths of the runs of a class at a multiplier `price`, in units of 2^-LENGTH hours, rounded down."""

    def __init__(self, data: BoaAllocation, job_class: int, price: Fraction) -> None:
        c = data.classes[job_class]
        self.pause = exact(c.rescale_hours)
        self.value = share(data, c)
        self.types = [price * exact(c.arrivals_per_hour) * exact(t.price) for t in data.gpu_types]
        self.hours = [
            [Hours(exact(e.size_hours), e.speedup.on(t.name), data.max_width) for e in c.epochs] for t in data.gpu_types
        ]

    def least(self, kind: int, first: int, after: int) -> int:
        """Return the minimum length of the run of the epochs `first` to `after` - 1 on GPU type `kind`."""
        return _Search(self, kind, first, after).least()


class _Search:
    """The search for the best width of a run; it excludes only widths with a larger length."""

    def __init__(self, runs: RunLengths, kind: int, first: int, after: int) -> None:
        self.hours = runs.hours[kind][first:after]
        self.pause = (runs.pause.numerator << HOURS) // runs.pause.denominator
        ends = [h.end for h in self.hours if h.end is not None]
        self.end = min(ends) << WIDTH if ends else None
        v, p = runs.value, runs.types[kind]
        self.unit = v.denominator * p.denominator << WIDTH
        self.value, self.price = v.numerator * p.denominator << WIDTH, p.numerator * v.denominator
        self._known: dict[int, tuple[int, int]] = {}

    def least(self) -> int:
        one, end = 1 << WIDTH, self.end
        if end is None:
            end = 2 * one
            while not self._longer(end, end // 2):
                end *= 2
                if end > WIDEST:
                    return self._length(one, self.pause + sum(h.bound_at_any_width() for h in self.hours))
        low, high = self._narrow(one, end)
        return self._length(low, self._compute_hours(high)[0])

    def _narrow(self, low: int, high: int) -> tuple[int, int]:
        """Return two widths that enclose the best one, by golden-section search."""
        while high - low > max(2, low >> NARROW):
            step = (high - low) * 382 // 1000 or 1
            left, right = low + step, high - step
            if left >= right:
                break
            if self._longer(left, right):
                low = left
            elif self._longer(right, left):
                high = right
            else:
                break
        return low, high

    def _longer(self, width: int, other: int) -> bool:
        """Return whether the run is longer at `width` than at `other`, for every possible rounding error."""
        at_least, at_most = self._compute_hours(width)[0], self._compute_hours(other)[1]
        return (self.value + self.price * width) * at_least > (self.value + self.price * other) * at_most

    def _compute_hours(self, width: int) -> tuple[int, int]:
        """Return the hours at a width, rounded down and rounded up."""
        if width not in self._known:
            hours = [h.bound_hours(width) for h in self.hours]
            down = self.pause + sum(least for least, _ in hours)
            self._known[width] = down, down + 1 + sum(noise for _, noise in hours)
        return self._known[width]

    def _length(self, width: int, hours: int) -> int:
        return ((self.value + self.price * width) * hours << LENGTH) // (self.unit << HOURS)


MOST = 5_000_000  # epochs of runs whose lengths are computed, over all prices
Place = Annotated[int, Field(strict=True, ge=0, le=10**9)]


class RunDecision(NamedTuple):
    """A decision on whether the width changes before `epoch` of a class, or whether that epoch is on GPU `type`."""

    job_class: int
    epoch: int
    type: int | None
    holds: bool

    def allows(self, kind: int, first: int, after: int) -> bool:
        """Return whether the decision permits a run of the class on GPU type `kind`."""
        if self.type is None:
            return not first < self.epoch < after if self.holds else self.epoch not in (first, after)
        return not first <= self.epoch < after or (kind == self.type) == self.holds


Decisions = tuple[RunDecision, ...]


class RunBranch(Frozen):
    """What is decided at a node: the first child has it so, the second has not."""

    job_class: Place
    epoch: Place
    type: Place | None = None


class RunNode(Frozen):
    """An inner node with its `branch` and the places of its two `children`, or a leaf.

    A leaf has a `price` and the `bound` that it proves, or neither where no policy obeys its decisions.
    """

    branch: RunBranch | None = None
    children: tuple[Place, Place] | None = None
    price: str | None = None
    bound: str | None = None

    @model_validator(mode="after")
    def _inner_or_leaf(self) -> Self:
        if (self.branch is None) != (self.children is None):
            refuse("children", "must be given with a branch, and only then", self.children)
        if self.branch is not None and self.price is not None:
            refuse("price", "must not be given with a branch", self.price)
        if (self.price is None) != (self.bound is None):
            refuse("bound", "must be given with a price, and only then", self.bound)
        return self


class RunProof(Frozen):
    """`bound` is the least of the leaves of `nodes`, the root first."""

    kind: Literal["runs"]
    bound: str
    nodes: Annotated[tuple[RunNode, ...], Field(min_length=1)]


class RunBounds:
    """Lagrangian bounds of the policies that satisfy decisions; the lengths of runs are cached by multiplier."""

    def __init__(self, data: BoaAllocation) -> None:
        self.data, self.budget = data, budget(data)
        self.types = range(len(data.gpu_types))
        entries = [n * (n + 1) * (n + 2) // 6 for n in (len(c.epochs) for c in data.classes)]
        self._each, self._spent = sum(entries) * len(self.types), 0
        self._lengths: dict[Fraction, list[RunLengths]] = {}
        self._known: dict[tuple[Fraction, int, int, int, int], int] = {}

    def at(self, price: Fraction, decisions: Sequence[RunDecision]) -> Fraction | None:
        """Return a lower bound in hours on the minimum of time + price * (cost - budget).

        It is `None` if no policy satisfies the decisions. Raises NoCertificate if there are too many runs.
        """
        if price not in self._lengths:
            self._spent += self._each
            if self._spent > MOST:
                raise NoCertificate(f"more than {MOST:,} epochs of runs to go through")
            self._lengths[price] = [RunLengths(self.data, i, price) for i in range(len(self.data.classes))]
        total = 0
        for i, c in enumerate(self.data.classes):
            own = [d for d in decisions if d.job_class == i]
            reached: list[int | None] = [0]
            for after in range(1, len(c.epochs) + 1):
                found = None
                for first in range(after):
                    before = reached[first]
                    for kind in self.types:
                        if before is None or not all(d.allows(kind, first, after) for d in own):
                            continue
                        length = before + self._bound_run(price, i, kind, first, after)
                        found = length if found is None else min(found, length)
                reached.append(found)
            if reached[-1] is None:
                return None
            total += reached[-1]
        return max(Fraction(total, 1 << LENGTH) - price * self.budget, Fraction(0))

    def _bound_run(self, price: Fraction, i: int, kind: int, first: int, after: int) -> int:
        key = price, i, kind, first, after
        if key not in self._known:
            self._known[key] = self._lengths[price][i].least(kind, first, after)
        return self._known[key]


def prove_runs(data: BoaAllocation, proof: RunProof) -> Proven:
    """Return the bound of a proof. Raises InputError, NoCertificate, or CheckFailed if the proof does not hold."""
    bounds, least, leaves = RunBounds(data), list[Fraction](), 0

    def visit(place: int, node: RunNode, decisions: Decisions) -> list[tuple[int, Decisions]]:
        nonlocal leaves
        b = node.branch
        if b is None or node.children is None:
            leaves += 1
            least.extend(_leaf(bounds, node, decisions, f"nodes[{place}]"))
            return []
        _see_branch(data, b, f"nodes[{place}]")
        sides = (RunDecision(b.job_class, b.epoch, b.type, holds) for holds in (True, False))
        return [(child, (*decisions, side)) for child, side in zip(node.children, sides, strict=True)]

    none: Decisions = ()
    walk_tree(proof.nodes, none, visit)
    bound, found = price_of(proof.bound, "bound"), min(least, default=None)
    if found != bound:
        proved = "nothing is" if found is None else f"{show(found)} is"
        raise CheckFailed(f"bound: {show(bound)} is claimed, {proved} proved")
    return Proven(bound, f"Lagrangians of runs, {leaves} {'leaf' if leaves == 1 else 'leaves'}")


def _leaf(bounds: RunBounds, node: RunNode, decisions: tuple[RunDecision, ...], where: str) -> list[Fraction]:
    """Return the bound of a leaf as a list, empty if no policy satisfies its decisions."""
    price = None if node.price is None else price_of(node.price, f"{where}.price")
    found = bounds.at(price or Fraction(0), decisions)
    if found is None and price is not None:
        raise CheckFailed(f"{where}: no policy is left, and a price is given")
    if found is not None and (price is None or node.bound is None):
        raise CheckFailed(f"{where}: there are policies left, and no price is given")
    if found is None or node.bound is None:
        return []
    if found != (stated := price_of(node.bound, f"{where}.bound")):
        raise CheckFailed(f"{where}: {show(stated)} is claimed, the price proves {show(found)}")
    return [found]


def _see_branch(data: BoaAllocation, branch: RunBranch, where: str) -> None:
    """Check that a branch names a change of width within a class, or an existing epoch and type."""
    least = 1 if branch.type is None else 0
    if (
        branch.job_class >= len(data.classes)
        or not least <= branch.epoch < len(data.classes[branch.job_class].epochs)
        or (branch.type is not None and branch.type >= len(data.gpu_types))
    ):
        raise CheckFailed(f"{where}.branch: there is no such class, epoch or type")
