"""Bounds of a floating-point solver, made safe: the one place where a proof allows for a solver's tolerances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray
from instances.fields import Sense

if TYPE_CHECKING:
    from models.highs import LinearModel

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


def priced_bound(model: LinearModel, prices: FloatArray) -> float:
    """A lower bound on a linear program whose variables are all bounded, from any `prices` (m,) of its rows.

    For each y, sum_i y_i b_i + sum_j min over x_j of (c - A'y)_j x_j, where b_i is the side of row i that the sign of
    y_i calls for; a price that calls for none is left out. The bound gives up DIGITS of the sum of its terms' absolute
    values, for their rounding and that of the coefficients, which are a few units in the sixteenth digit.
    """
    matrix = sparse.csr_array(model.matrix)
    m, n = matrix.shape
    low, high = (np.broadcast_to(np.asarray(side, dtype=float), (m,)) for side in (model.row_lower, model.row_upper))
    cost, lower, upper = (
        np.broadcast_to(np.asarray(part, dtype=float), (n,)) for part in (model.cost, model.lower, model.upper)
    )
    side = np.where(prices > 0, low, high)
    known = np.isfinite(side) & (prices != 0)
    y, side = np.where(known, prices, 0.0), np.where(known, side, 0.0)
    net = cost - matrix.T @ y
    terms = float(abs(y) @ abs(side) + (abs(cost) + abs(matrix).T @ abs(y)) @ np.maximum(abs(lower), abs(upper)))
    return float(y @ side + np.minimum(net * lower, net * upper).sum()) - DIGITS * terms
