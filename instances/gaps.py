"""Define the relative gap, and the tolerance for comparing objectives and bounds."""

from __future__ import annotations

from instances.fields import Sense

TOLERANCE = 1e-6  # relative: a solver's tolerances may carry an objective this far past a bound
FLOOR = 1e-9  # minimum absolute objective in the denominator of a gap
NOISE = 1e-12  # absolute, for objectives next to 0: a thousandth of the grid that all amounts and prices lie on


def agree(value: float, other: float) -> bool:
    """Return whether two objectives, or an objective and a bound, are equal within a solver's tolerances."""
    return abs(value - other) <= max(TOLERANCE * max(abs(value), abs(other)), NOISE)


def better(value: float, other: float, sense: Sense) -> bool:
    """Return whether the objective `value` is better than `other` by more than a solver's tolerances."""
    ahead = other - value if sense == "minimize" else value - other
    return ahead > 0 and not agree(value, other)


def ahead(objective: float, other: float | None, sense: Sense) -> bool:
    """Return whether `objective` is strictly better than `other`; any objective is better than `None`."""
    if other is None:
        return True
    return objective < other if sense == "minimize" else objective > other


def is_gap_meaningless(objective: float | None, bound: float | None) -> bool:
    """Return whether the relative gap is meaningless, because the objective is 0; such a gap should not be shown."""
    return objective is not None and bound is not None and abs(objective) < FLOOR and not agree(objective, bound)


def gap(objective: float | None, bound: float | None, sense: Sense) -> float | None:
    """Return the relative gap |objective - bound| / max(|objective|, 1e-9), or `None` if either is unknown.

    `bound` is a lower bound of a minimisation and an upper bound of a maximisation. Raises ValueError if it is on the
    wrong side of `objective` by more than a solver's tolerances.
    """
    if objective is None or bound is None:
        return None
    short = objective - bound if sense == "minimize" else bound - objective
    if better(objective, bound, sense):
        raise ValueError(f"bound {bound!r} is on the wrong side of objective {objective!r} ({sense})")
    return max(0.0, short) / max(abs(objective), FLOOR)


def is_gap_reached(closed: float, asked: float) -> bool:
    """Return whether the gap `closed` is at most the requested gap `asked`."""
    return closed <= asked * (1 + 1e-9)
