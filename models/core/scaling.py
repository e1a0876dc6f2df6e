"""Rescaling of linear models, and relaxation of rows whose numbers are too close for HiGHS.

HiGHS satisfies rows within absolute tolerances. It may treat numbers that differ by less as equal in one row and as
different in another, which can cut off a solution. A row that is relaxed by more than that keeps every solution, and a
bound stays valid. The same holds if numbers with many digits are rounded in favour of solutions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray
from models.core.highs import LinearModel

SLACK = 1e-8  # relaxation of a row whose largest coefficient is 1: ten times the tolerance of `TIGHT`
KEPT = 20  # binary digits of a row's numbers; with more, HiGHS has cut off feasible solutions
NEAR = 1e-6  # numbers closer than this may be treated as equal by HiGHS
SAME = 1e-13  # numbers closer than this differ by rounding only


def rescale_model(model: LinearModel) -> tuple[LinearModel, FloatArray]:
    """Return a rescaled relaxation of `model`, and the unit (n,) of each variable.

    Real variables are in units of their upper bounds; the unit is 1 for integer variables and those without an upper
    bound. Rows are divided by their largest numbers. Rows are relaxed by SLACK if HiGHS may confuse different numbers.
    """
    m, n = sparse.csr_array(model.matrix).shape
    if not (m and n):
        return model, np.ones(n)
    is_integer, upper, lower = (np.broadcast_to(np.asarray(x), (n,)) for x in (model.integer, model.upper, model.lower))
    unit = np.where(~is_integer.astype(bool) & np.isfinite(upper) & (upper > 0), upper, 1.0)
    matrix = sparse.csr_array(model.matrix) @ sparse.diags_array(unit)
    largest = abs(matrix).max(axis=1).toarray().ravel()
    row = np.where(largest > 0, largest, 1.0)
    matrix = sparse.csr_array(sparse.diags_array(1 / row) @ matrix)
    low, high = np.asarray(model.row_lower) / row, np.asarray(model.row_upper) / row
    slack = np.zeros(len(row))
    if _has_close_numbers(np.concatenate([matrix.data, low, high])):
        uneven = abs(matrix - matrix.rint()).max(axis=1).toarray().ravel() > 0
        slack[uneven | _is_fractional(low) | _is_fractional(high)] = SLACK
    scaled = replace(
        model,
        cost=np.broadcast_to(np.asarray(model.cost, dtype=float), (n,)) * unit,
        matrix=matrix,
        row_lower=low - slack,
        row_upper=high + slack,
        lower=lower / unit,
        upper=upper / unit,
    )
    return scaled, unit


def short_rows(model: LinearModel) -> LinearModel:
    """Return `model` with rows divided by powers of two, so that their largest numbers are between 1 and 2.

    This changes no digits.
    """
    matrix = sparse.csr_array(model.matrix)
    if not all(matrix.shape):
        return model
    largest = abs(matrix).max(axis=1).toarray().ravel()
    unit = 2.0 ** np.floor(np.log2(np.where(largest > 0, largest, 1.0)))
    low, high = np.asarray(model.row_lower) / unit, np.asarray(model.row_upper) / unit
    return replace(model, matrix=sparse.csr_array(sparse.diags_array(1 / unit) @ matrix), row_lower=low, row_upper=high)


def round_rows(model: LinearModel) -> LinearModel | None:
    """Return a relaxation of a model with variables >= 0, in which numbers have few digits.

    Numbers keep KEPT binary digits, counted from the largest in their row. Longer ones are rounded in favour of
    solutions, so bounds are valid for the model. A two-sided row that is rounded becomes two rows. Return `None` if no
    number is longer.
    """
    matrix = sparse.csr_array(model.matrix)
    if not all(matrix.shape):
        return None
    low, high = (np.broadcast_to(np.asarray(b, float), matrix.shape[:1]) for b in (model.row_lower, model.row_upper))
    largest = abs(matrix).max(axis=1).toarray().ravel()
    grid = 2.0 ** (np.floor(np.log2(np.where(largest > 0, largest, 1.0))) - (KEPT - 1))
    steps = sparse.csr_array(sparse.diags_array(1 / grid) @ matrix)
    uneven = abs(steps - steps.rint()).max(axis=1).toarray().ravel() > 0
    is_long = uneven | _is_fractional(low / grid) | _is_fractional(high / grid)
    if not is_long.any():
        return None
    above, below = is_long & np.isfinite(high), is_long & np.isfinite(low)
    return replace(
        model,
        matrix=sparse.vstack([matrix[~is_long], steps[above].floor(), steps[below].ceil()]),
        row_lower=np.concatenate([low[~is_long], np.full(above.sum(), -np.inf), np.floor((low / grid)[below])]),
        row_upper=np.concatenate([high[~is_long], np.ceil((high / grid)[above]), np.full(below.sum(), np.inf)]),
    )


def _has_close_numbers(numbers: FloatArray) -> bool:
    """Return whether two of the numbers, or one and 0, differ by so little that HiGHS may treat them as equal."""
    apart = np.diff(np.unique(np.append(np.abs(numbers[np.isfinite(numbers)]), 0.0)))
    return bool(np.any((apart > SAME) & (apart < NEAR)))


def _is_fractional(side: FloatArray) -> FloatArray:
    """Return which sides of rows are finite and not integral."""
    return np.isfinite(side) & (side != np.rint(side))
