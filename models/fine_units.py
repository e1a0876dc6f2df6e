"""Objectives of real numbers in units that suit a solver, whose tolerances are absolute: money and time may be tiny.

HiGHS gives up what is within 1e-6 of its incumbent, and takes 1e-6 of an integer variable for nothing. A unit in which
the largest coefficient is large keeps that small beside it, and what is left of it is added to every bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from models.bounds import whole_bound
from models.highs import LinearModel, Solved

DIGITS = 10  # binary digits of the largest coefficient at least; where it has fewer, it is given twice as many
BESIDE = 2.0**-28  # of the largest coefficient: what the solver may not see beside that
COARSE = 30  # binary digits of a coefficient above which a linear program is solved in a coarser unit


def coarse_unit(model: LinearModel) -> float:
    """A power of two in which no coefficient of an objective is too large for HiGHS to solve linear programs over it.

    Prices of nine decimals are very many units.
    """
    exponent = math.frexp(float(np.abs(np.asarray(model.cost, dtype=float)).max(initial=0.0)))[1]
    return 1.0 if exponent <= COARSE else 2.0 ** (exponent - 2 * DIGITS)


@dataclass(frozen=True)
class CoarseUnits:
    """A `model` of whole costs for the solver, in multiples of `unit`, a power of two: 1 but for very many units.

    Beside such costs HiGHS calls dearer solutions optimal. `slack`: what its bounds may be off, in whole units.
    """

    model: LinearModel
    unit: float
    slack: float

    @staticmethod
    def of(model: LinearModel) -> CoarseUnits:
        """A model that is minimised, of a cost that is not negative."""
        cost, unit = np.asarray(model.cost, dtype=float), coarse_unit(model)
        slack = 0.0 if unit == 1.0 else BESIDE * float(np.abs(cost).max(initial=0.0))
        return CoarseUnits(replace(model, cost=cost / unit, offset=model.offset / unit), unit, slack)

    def proven(self, bound: float) -> int:
        """The whole cost that a bound of the solver proves."""
        return whole_bound(max(0.0, bound * self.unit - self.slack))


@dataclass(frozen=True)
class FineUnits:
    """A `model` for the solver, whose objective is in multiples of `unit`, a power of two.

    `slack`: what its bounds may be off, in the unit of the objective; `trivial`: a bound that holds without a solver.
    """

    model: LinearModel
    unit: float
    slack: float
    trivial: float

    @staticmethod
    def of(model: LinearModel) -> FineUnits:
        """A model in fine units, or as it is where the solver needs none: whole numbers it counts exactly."""
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
        return FineUnits(scaled, unit, sign * BESIDE * largest, trivial)

    def proven(self, bound: float) -> float:
        """What a bound of the solver proves, but for what it may be off as any real number."""
        safe = bound * self.unit + self.slack
        return min(safe, self.trivial) if self.model.sense == "maximize" else max(safe, self.trivial)

    def told(self, solved: Solved) -> Solved:
        """What the solver found, in the model's own unit, with such bounds."""

        def own(value: float | None, bound: float | None) -> tuple[float | None, float | None]:
            return None if value is None else value * self.unit, None if bound is None else self.proven(bound)

        value, bound = own(solved.objective, solved.bound)
        trace = tuple((when, *own(*found)) for when, *found in solved.trace)
        return replace(solved, objective=value, bound=bound, trace=trace)
