"""The one definition of a gap, and the one tolerance by which objectives and bounds are compared."""

from __future__ import annotations

from instances.fields import Sense

TOLERANCE = 1e-6  # relative: how far a solver's own tolerances may carry an objective past a bound, which is then met
FLOOR = 1e-9  # what the absolute value of an objective is at least, where a gap is a share of it
NOISE = 1e-12  # absolute, for objectives next to 0: a thousandth of the grid that all amounts and prices lie on


def agree(value: float, other: float) -> bool:
    """Whether two objectives, or an objective and a bound, are one number but for a solver's tolerances."""
    return abs(value - other) <= max(TOLERANCE * max(abs(value), abs(other)), NOISE)


def better(value: float, other: float, sense: Sense) -> bool:
    """Whether the objective `value` is better than `other` by more than a solver's tolerances."""
    ahead = other - value if sense == "minimize" else value - other
    return ahead > 0 and not agree(value, other)


def ahead(objective: float, other: float | None, sense: Sense) -> bool:
    """Whether `objective` is better than `other`, by however little; anything is better than nothing."""
    if other is None:
        return True
    return objective < other if sense == "minimize" else objective > other


def of_nothing(objective: float | None, bound: float | None) -> bool:
    """Whether their gap is a share of nothing: a number without a meaning, which no reader should be shown."""
    return objective is not None and bound is not None and abs(objective) < FLOOR and not agree(objective, bound)


def gap(objective: float | None, bound: float | None, sense: Sense) -> float | None:
    """Relative gap |objective - bound| / max(|objective|, 1e-9), or `None` where either is unknown.

    `bound` bounds `objective` from below in a minimisation and from above in a maximisation.
    Raises ValueError where it lies on the wrong side by more than a solver's tolerances.
    """
    if objective is None or bound is None:
        return None
    short = objective - bound if sense == "minimize" else bound - objective
    if better(objective, bound, sense):
        raise ValueError(f"bound {bound!r} is on the wrong side of objective {objective!r} ({sense})")
    return max(0.0, short) / max(abs(objective), FLOOR)


def reached(closed: float, asked: float) -> bool:
    """Whether a gap is the one that was asked for, or less."""
    return closed <= asked * (1 + 1e-9)
