"""Compute times and minimum Lagrangian costs of `boa-allocation` in rational numbers.

Formulas of Amdahl are rational. Powers are not, so their times are rounded down, at 50 digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import isqrt, lcm

from instances.boa.allocation import BoaAllocation, JobClass, proven
from instances.boa.speedup import Curve
from instances.errors import InputError
from instances.validation import show

RATIONAL = re.compile(r"\d{1,2000}(/\d{1,2000})?", re.ASCII)
DIGITS = 50
NOISE = Fraction(1, 10 ** (DIGITS - 5))  # relative: an upper bound on the rounding error of a power of Decimal
Corner = tuple[int, Fraction]


def exact(number: float) -> Fraction:
    """Return a number of the data exactly as its decimal representation states it."""
    return Fraction(repr(number))


def budget(data: BoaAllocation) -> Fraction:
    """Return the maximum cost of a policy that the checker accepts, including the rounding of the checker's sum."""
    return Fraction(proven(data.budget))


def price_of(text: str, name: str) -> Fraction:
    """Return the rational number >= 0 that a certificate states. Raises InputError."""
    if RATIONAL.fullmatch(text):
        with suppress(ZeroDivisionError):
            return Fraction(text)
    raise InputError(f"{name}: must be a rational number p/q >= 0, got {show(text)}")


def serial(parallel: float) -> Fraction:
    """Return a lower bound on 1 - p of Amdahl's law: the minimum of the exact and the float difference.

    Near p = 1 the two differ by more than rounding errors elsewhere, and the checker adds up floats.
    """
    return min(1 - exact(parallel), Fraction(1 - parallel))


def share(data: BoaAllocation, job_class: JobClass) -> Fraction:
    """Return the factor of a class's completion time in the mean, w_i λ_i / Σ w λ."""
    total = sum(exact(c.weight) * exact(c.arrivals_per_hour) for c in data.classes)
    return exact(job_class.weight) * exact(job_class.arrivals_per_hour) / total


def power_at_most(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a close lower bound on base^exponent."""
    context = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
    root = context.divide(Decimal(base.numerator), Decimal(base.denominator))
    raised = context.power(root, context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    return Fraction(raised) * (1 - NOISE)


def root_at_most(square: Fraction) -> Fraction:
    """Return a close lower bound on the square root of `square`."""
    scale = 10**DIGITS
    return Fraction(isqrt(square.numerator * scale**2 // square.denominator), scale)


def corners(curve: Curve, max_width: int | None) -> list[Corner]:
    """Return the corners of the non-decreasing concave hull of a measured table, cut at `max_width`."""
    assert curve.table is not None
    speeds = [exact(s) for s in curve.table.speedup]
    unit = lcm(*(s.denominator for s in speeds))
    points = [(k, s.numerator * (unit // s.denominator)) for k, s in zip(curve.table.gpus, speeds, strict=True)]
    if max_width is not None and max_width < points[-1][0]:
        at = next(i for i, (k, _) in enumerate(points) if k > max_width)
        (k0, s0), (k1, s1) = points[at - 1], points[at]
        points = [(k, s * (k1 - k0)) for k, s in points[:at]]
        points.append((max_width, s0 * (k1 - max_width) + s1 * (max_width - k0)))
        unit *= k1 - k0
    found: list[tuple[int, int]] = []
    for k, s in points:
        if found and s <= found[-1][1]:
            continue
        while len(found) >= 2:
            (k0, s0), (k1, s1) = found[-2:]
            if (s1 - s0) * (k - k0) > (s - s0) * (k1 - k0):
                break
            found.pop()
        found.append((k, s))
    return [(k, Fraction(s, unit)) for k, s in found]


def _list_measured(curve: Curve) -> list[Corner]:
    """Return the points of a measured table."""
    assert curve.table is not None
    return [(k, exact(s)) for k, s in zip(curve.table.gpus, curve.table.speedup, strict=True)]


def find_max_width(curve: Curve, max_width: int | None) -> int | None:
    """Return the maximum width that a curve allows, `None` if there is no limit."""
    if curve.table is None:
        return max_width
    return curve.table.gpus[-1] if max_width is None else min(max_width, curve.table.gpus[-1])


def times(curve: Curve, max_width: int | None, last: int, measured: bool = False) -> list[Fraction | None]:
    """Return the times 1/s(k), or close lower bounds, on 1, ..., `last` GPUs; `None` past the last width of a table.

    A table gives the times on its concave hull, or the `measured` ones.
    """
    widths = range(1, last + 1)
    if curve.amdahl is not None:
        p, fixed = exact(curve.amdahl), serial(curve.amdahl)
        return [fixed + p / k for k in widths]
    if curve.power is not None:
        a = exact(curve.power)
        return [power_at_most(Fraction(1, k), a) for k in widths]
    end = find_max_width(curve, max_width) or 0
    points = _list_measured(curve) if measured else corners(curve, max_width)
    found: list[Fraction | None] = []
    for (k0, s0), (k1, s1) in pairwise(points):
        first, second = s0.numerator * s1.denominator, s1.numerator * s0.denominator
        unit = s0.denominator * s1.denominator * (k1 - k0)
        found += [Fraction(unit, first * (k1 - k) + second * (k - k0)) for k in range(k0, min(k1, last + 1))]
    found += [1 / points[-1][1]] * max(0, min(end, last) - len(found))
    found = found[:end]
    return found + [None] * (last - len(found))


def bound_length(curve: Curve, value: Fraction, price: Fraction, max_width: int | None, whole: bool) -> Fraction:
    """Return a close lower bound on the minimum of value / s(k) + price k / s(k) over the widths k >= 1.

    `whole` restricts the widths to integers. Both formulas decrease up to a best width and increase after it. Between
    the corners of a table the length is a ratio of linear functions of k, whose minimum is at an end. Raises ValueError
    if the length decreases without end.
    """
    if curve.table is not None:
        speeds: Sequence[Corner] = corners(curve, max_width)
        if whole:
            run = times(curve, max_width, find_max_width(curve, max_width) or 1)
            return min((value + price * k) * z for k, z in enumerate(run, 1) if z is not None)
        return min((value + price * k) / s for k, s in speeds)
    end = None if max_width is None else Fraction(max_width)
    share_of = exact(curve.amdahl if curve.amdahl is not None else curve.power or 0.0)
    if share_of == 0:
        return value + price
    square = curve.amdahl is not None
    rest = 1 - share_of if curve.amdahl is None else serial(curve.amdahl)
    if share_of == 1 or price == 0:
        if end is None:
            if price == 0 and share_of < 1:
                return value * rest if square else Fraction(0)
            raise ValueError("the length falls for ever")
        return _length(curve, value, price, end)
    best = value * share_of / (price * rest)  # the best width, or its square
    if best <= 1:
        return _length(curve, value, price, Fraction(1))
    if end is not None and best >= (end**2 if square else end):
        return _length(curve, value, price, end)
    if whole:
        low = Fraction(isqrt(int(best)) if square else int(best))
        high = low + 1 if end is None else min(low + 1, end)
        return min(_length(curve, value, price, k) for k in (low, high))
    if square:
        p = share_of
        return value * rest + price * p + 2 * root_at_most(value * p * price * rest)
    return value * power_at_most(1 / best, share_of) / rest


def _length(curve: Curve, value: Fraction, price: Fraction, width: Fraction) -> Fraction:
    if curve.amdahl is not None:
        p = exact(curve.amdahl)
        return (value + price * width) * (serial(curve.amdahl) + p / width)
    return (value + price * width) * power_at_most(1 / width, exact(curve.power or 0.0))
