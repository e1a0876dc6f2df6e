"""Units for objectives that suit a solver with absolute tolerances: money and time may be tiny numbers.

HiGHS stops within 1e-6 of its incumbent, and ignores deviations of 1e-6 of an integer variable. In a unit in which the
largest coefficient is large, these tolerances are small in comparison. The remaining error is added to every bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from models.core.highs import LinearModel, Solved
from models.core.safe_bounds import whole_bound

DIGITS = 10  # minimum binary digits of the largest coefficient; if it has fewer, it is scaled to twice as many
UNRESOLVED = 2.0**-28  # relative to the largest coefficient: smaller amounts may be lost in the solver
COARSE = 30  # binary digits of a coefficient above which HiGHS gets a coarser unit


def coarse_unit(model: LinearModel) -> float:
    """Return a power of two as a unit in which HiGHS can solve linear programs over the objective.

    Prices with nine decimals, in units of 1e-9, have very large coefficients.
    """
    exponent = math.frexp(float(np.abs(np.asarray(model.cost, dtype=float)).max(initial=0.0)))[1]
    return 1.0 if exponent <= COARSE else 2.0 ** (exponent - 2 * DIGITS)


@dataclass(frozen=True)
class CoarseUnits:
    """A `model` with integer costs for the solver, in multiples of `unit`.

    - `unit`: a power of two; 1 unless the costs are very large. With very large costs HiGHS may call suboptimal
      solutions optimal.
    - `slack`: possible error of the solver's bounds, in the unit of the costs.
    """

    model: LinearModel
    unit: float
    slack: float

    @staticmethod
    def of(model: LinearModel) -> CoarseUnits:
        """Return a minimisation model in coarse units; its optimal cost is not negative."""
        cost, unit = np.asarray(model.cost, dtype=float), coarse_unit(model)
        slack = 0.0 if unit == 1.0 else UNRESOLVED * float(np.abs(cost).max(initial=0.0))
        return CoarseUnits(replace(model, cost=cost / unit, offset=model.offset / unit), unit, slack)

    def proven(self, bound: float) -> int:
        """Return the integer cost that a bound of the solver proves."""
        return whole_bound(max(0.0, bound * self.unit - self.slack))


@dataclass(frozen=True)
class FineUnits:
    """A `model` for the solver, whose objective is in multiples of `unit`, a power of two.

    - `slack`: possible error of the solver's bounds, in the unit of the objective.
    - `trivial`: a bound that holds without a solver.
    """

    model: LinearModel
    unit: float
    slack: float
    trivial: float

    @staticmethod
    def of(model: LinearModel) -> FineUnits:
        """Return a model in fine units, or unchanged if its costs are integers or large."""
        cost = np.asarray(model.cost, dtype=float)
        sign = 1.0 if model.sense == "maximize" else -1.0
        lower, upper = (np.broadcast_to(np.asarray(b, dtype=float), cost.shape) for b in (model.lower, model.upper))
        gains = ((sign * cost > 0) & (upper > 0)) | ((sign * cost < 0) & (lower < 0))
        trivial = sign * math.inf if gains.any() else model.offset
        largest = float(np.abs(cost).max(initial=0.0))
        if not largest or (cost == np.rint(cost)).all():
            return FineUnits(model, 1.0, 0.0, trivial)
        exponent = math.frexp(largest)[1]
        unit = 1.0 if exponent > DIGITS else 2.0 ** (exponent - 2 * DIGITS)
        scaled = replace(model, cost=cost / unit, offset=model.offset / unit)
        return FineUnits(scaled, unit, sign * UNRESOLVED * largest, trivial)

    def proven(self, bound: float) -> float:
        """Return what a bound of the solver proves, apart from the error of `models.core.safe_bounds.real_bound`."""
        safe = bound * self.unit + self.slack
        return min(safe, self.trivial) if self.model.sense == "maximize" else max(safe, self.trivial)

    def convert_result(self, solved: Solved) -> Solved:
        """Return the solver's result in the model's own unit, with bounds that `proven` makes safe."""

        def convert(value: float | None, bound: float | None) -> tuple[float | None, float | None]:
            return None if value is None else value * self.unit, None if bound is None else self.proven(bound)

        value, bound = convert(solved.objective, solved.bound)
        trace = tuple((when, *convert(*values)) for when, *values in solved.trace)
        return replace(solved, objective=value, bound=bound, trace=trace)
