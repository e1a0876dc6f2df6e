"""Bounds of a floating-point solver, made safe: the one place where a proof allows for a solver's tolerances."""

from __future__ import annotations

import math

from instances.fields import Sense

WHOLE = 0.01  # a solver's bound may lie this far past a whole number that is the true bound
DIGITS = 1e-10  # relative: the digits that a solver keeps of a large whole number
REAL = 1e-7  # relative: what a bound on a real number gives up


def whole_bound(bound: float, sense: Sense = "minimize") -> int:
    """The best whole number that a solver's `bound` proves for an objective that takes whole values only."""
    noise = WHOLE + DIGITS * abs(bound)
    return math.ceil(bound - noise) if sense == "minimize" else math.floor(bound + noise)


def real_bound(bound: float, sense: Sense = "minimize", trivial: float | None = None, largest: float = 0.0) -> float:
    """The bound that a solver's `bound` proves for a real objective; `trivial` is one that holds without a solver.

    `largest`: the largest term of the objective, where terms are far apart: a solver does not see what is tiny beside
    it.
    """
    noise = REAL * max(abs(bound), largest)
    if sense == "minimize":
        return bound - noise if trivial is None else max(bound - noise, trivial)
    return bound + noise if trivial is None else min(bound + noise, trivial)
