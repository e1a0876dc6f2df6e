"""Safe bounds from the bounds of a floating-point solver: the one place that accounts for a solver's tolerances."""

from __future__ import annotations

import math

from instances.fields import Sense

WHOLE = 0.01  # absolute error of a solver's bound, which may exceed the true integer bound by this much
DIGITS = 1e-10  # relative error of a solver's bound, which matters for large integers
REAL = 1e-7  # relative error that is subtracted from a bound on a real objective


def whole_bound(bound: float, sense: Sense = "minimize") -> int:
    """Return the best integer bound that a solver's `bound` proves for an objective with integer values only."""
    noise = WHOLE + DIGITS * abs(bound)
    return math.ceil(bound - noise) if sense == "minimize" else math.floor(bound + noise)


def real_bound(bound: float, sense: Sense = "minimize", trivial: float | None = None, largest: float = 0.0) -> float:
    """Return the bound that a solver's `bound` proves for a real objective.

    - `trivial`: a bound that holds without a solver.
    - `largest`: the largest term of the objective. A solver does not resolve terms that are tiny compared with it.
    """
    noise = REAL * max(abs(bound), largest)
    if sense == "minimize":
        return bound - noise if trivial is None else max(bound - noise, trivial)
    return bound + noise if trivial is None else min(bound + noise, trivial)
