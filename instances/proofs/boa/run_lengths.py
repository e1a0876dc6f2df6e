"""The least lengths of runs over real widths, in whole numbers rounded down, from the data alone.

A run keeps several epochs of a class at one width k. At a price μ of the budget its length is (v + μ c k) T(k), with
v hours of the mean for an hour of the run, cost c for an hour of one GPU, and T(k) the hours of the run, the change
before it included. 1/T is a weighted harmonic mean of concave functions, hence concave; the length is a linear function
over a concave one, hence quasi-convex: where it is more at a than at b > a, it is more left of a as well.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import lcm

from instances.boa.allocation import BoaAllocation
from instances.boa.speedup import Curve
from instances.proofs.boa.rational import DIGITS, corners, exact, last_width, power_at_most, serial, share

WIDTH = 40  # bits of a width behind its point
HOURS = 160  # bits of an hour
LENGTH = 100  # bits of an hour, of a length
NARROW = 32  # a search ends where the widths left are so close, in bits
WIDEST = 1 << (WIDTH + 80)  # no search goes beyond
POWER = Fraction(1, 10 ** (DIGITS - 7))  # relative: more than a power is rounded down by


class Hours:
    """Hours of an epoch of `size` hours at speedup 1 on a `curve` whose widths end at `max_width`.

    Those of a table are scaled size / (a + b width) from corner to corner, those of Amdahl's law (c + d / width) / e.
    """

    def __init__(self, size: Fraction, curve: Curve, max_width: int | None) -> None:
        self.size, self.curve, self.end = size, curve, last_width(curve, max_width)
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

    def at_least(self, width: int) -> tuple[int, int]:
        """Hours at a width, both in their units, rounded down, and by how much they may be rounded."""
        if self.curve.table is not None:
            top, speed, slope = self.pieces[bisect_right(self.corners, width) - 1]
            return top // (speed + slope * width), 1
        if self.curve.amdahl is not None:
            fixed, shrinks, unit = self.pieces[0]
            return (fixed * width + shrinks) // (unit * width), 1
        hours = self.size * power_at_most(Fraction(1 << WIDTH, width), exact(self.curve.power or 0.0))
        found = (hours.numerator << HOURS) // hours.denominator
        return found, 2 + int(found * POWER)

    def for_ever(self) -> int:
        """No more than the hours at any width, in their unit; of formulas."""
        if self.curve.amdahl is None:
            return 0 if self.curve.power else self.at_least(1 << WIDTH)[0]
        return self.pieces[0][0] // self.pieces[0][2]


class RunLengths:
    """Least lengths of the runs of a class at a `price` of the budget, in 2^-LENGTH hours, rounded down."""

    def __init__(self, data: BoaAllocation, job_class: int, price: Fraction) -> None:
        c = data.classes[job_class]
        self.pause = exact(c.rescale_hours)
        self.value = share(data, c)
        self.types = [price * exact(c.arrivals_per_hour) * exact(t.price) for t in data.gpu_types]
        self.hours = [
            [Hours(exact(e.size_hours), e.speedup.on(t.name), data.max_width) for e in c.epochs] for t in data.gpu_types
        ]

    def least(self, kind: int, first: int, after: int) -> int:
        """That of the run of the epochs `first` to `after` - 1 on GPU type `kind`."""
        return _Search(self, kind, first, after).least()


class _Search:
    """The search for the best width of a run: what is left out is longer than what is left."""

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
                    return self._length(one, self.pause + sum(h.for_ever() for h in self.hours))
        low, high = self._narrowed(one, end)
        return self._length(low, self._at(high)[0])

    def _narrowed(self, low: int, high: int) -> tuple[int, int]:
        """Two widths between which the best one is, by golden sections."""
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
        """Whether the run is longer at `width` than at `other`, whatever rounding there is."""
        at_least, at_most = self._at(width)[0], self._at(other)[1]
        return (self.value + self.price * width) * at_least > (self.value + self.price * other) * at_most

    def _at(self, width: int) -> tuple[int, int]:
        """Hours at a width, rounded down and up."""
        if width not in self._known:
            parts = [h.at_least(width) for h in self.hours]
            down = self.pause + sum(hours for hours, _ in parts)
            self._known[width] = down, down + 1 + sum(noise for _, noise in parts)
        return self._known[width]

    def _length(self, width: int, hours: int) -> int:
        return ((self.value + self.price * width) * hours << LENGTH) // (self.unit << HOURS)
