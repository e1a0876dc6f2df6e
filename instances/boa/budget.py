"""The rule of what keeps a budget: costs are sums of irrational numbers, which no grid can hold.

The checker grants every policy the budget and `SLACK` of it. Methods plan for a hair less, so that what they add up is
never over for the checker, and bounds allow for a hair more, so that they hold for all that the checker lets pass.
"""

from __future__ import annotations

import math
from fractions import Fraction

from instances.fields import STEPS

# The slack is relative, under 1e-9, and no step of the grid, so that whole figures are never on the edge.
SLACK = 2.0**-30
# The hair is relative: more than the rounding of floats amounts to in a cost.
HAIR = 1e-12


def granted(budget: float) -> float:
    """The most that a policy may cost."""
    return budget * (1 + SLACK)


def planned(budget: float) -> float:
    """The most that a method may let a policy cost by the method's own sums."""
    return granted(budget) * (1 - HAIR)


def proven(budget: float) -> float:
    """The budget that a bound has to be computed with."""
    return granted(budget) * (1 + HAIR)


def within_budget(cost: float, budget: float) -> bool:
    """Whether a cost that a method has added up keeps the budget."""
    return cost <= planned(budget)


def affords(budget: float, least: float) -> bool:
    """Whether `budget` pays for a policy that costs `least`, for every method alike."""
    return least <= granted(budget) * (1 - 2 * HAIR)


def on_grid_from(least: float) -> float:
    """The least budget of the grid that is not under `least`."""
    return math.ceil(Fraction(least) * STEPS) / STEPS
