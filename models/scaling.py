"""Linear models in units in which their numbers lie close together, and loosened where they lie too close.

HiGHS keeps rows to absolute tolerances and takes numbers for one that differ by less, in one row and not in another, so
that a solution may be cut off. A row that is loosened by more than that keeps every solution, and a bound stays one;
so it does where numbers of many digits are rounded in favour of solutions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray
from models.highs import LinearModel

SLACK = 1e-8  # what a row is loosened by, beside a largest coefficient of 1; ten times the tolerance of `TIGHT`
KEPT = 20  # binary digits of a row's numbers: beside more of them HiGHS has cut off solutions that fit exactly
NEAR, SAME = (
    1e-6,
    1e-13,
)  # numbers closer than NEAR may be taken for one; closer than SAME they are one, but for rounding


def in_units(model: LinearModel) -> tuple[LinearModel, FloatArray]:
    """A relaxation of `model`: real variables in units of their upper bounds, rows divided by their largest numbers.

    Rows are loosened by SLACK where HiGHS may take numbers for one that are not. The second is the unit of each
    variable, 1 where it is whole or has no upper bound.
    """
    m, n = sparse.csr_array(model.matrix).shape
    if not (m and n):
        return model, np.ones(n)
    whole, upper, lower = (np.broadcast_to(np.asarray(x), (n,)) for x in (model.integer, model.upper, model.lower))
    unit = np.where(~whole.astype(bool) & np.isfinite(upper) & (upper > 0), upper, 1.0)
    matrix = sparse.csr_array(model.matrix) @ sparse.diags_array(unit)
    largest = abs(matrix).max(axis=1).toarray().ravel()
    row = np.where(largest > 0, largest, 1.0)
    matrix = sparse.csr_array(sparse.diags_array(1 / row) @ matrix)
    low, high = np.asarray(model.row_lower) / row, np.asarray(model.row_upper) / row
    slack = np.zeros(len(row))
    if _alike(np.concatenate([matrix.data, low, high])):
        uneven = abs(matrix - matrix.rint()).max(axis=1).toarray().ravel() > 0
        slack[uneven | _uneven(low) | _uneven(high)] = SLACK
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
    """`model` with rows divided by powers of two, which changes no digit, so that their largest numbers are 1 to 2."""
    matrix = sparse.csr_array(model.matrix)
    if not all(matrix.shape):
        return model
    largest = abs(matrix).max(axis=1).toarray().ravel()
    unit = 2.0 ** np.floor(np.log2(np.where(largest > 0, largest, 1.0)))
    low, high = np.asarray(model.row_lower) / unit, np.asarray(model.row_upper) / unit
    return replace(model, matrix=sparse.csr_array(sparse.diags_array(1 / unit) @ matrix), row_lower=low, row_upper=high)


def rounded_rows(model: LinearModel) -> LinearModel | None:
    """A relaxation of a model of variables >= 0, in which numbers have KEPT binary digits of the largest in their row.

    What is longer is rounded in favour of solutions, so that bounds hold for the model; a long row of two sides becomes
    two. `None` where no number is longer.
    """
    matrix = sparse.csr_array(model.matrix)
    if not all(matrix.shape):
        return None
    low, high = (np.broadcast_to(np.asarray(b, float), matrix.shape[:1]) for b in (model.row_lower, model.row_upper))
    largest = abs(matrix).max(axis=1).toarray().ravel()
    grid = 2.0 ** (np.floor(np.log2(np.where(largest > 0, largest, 1.0))) - (KEPT - 1))
    steps = sparse.csr_array(sparse.diags_array(1 / grid) @ matrix)
    uneven = abs(steps - steps.rint()).max(axis=1).toarray().ravel() > 0
    long = uneven | _uneven(low / grid) | _uneven(high / grid)
    if not long.any():
        return None
    above, below = long & np.isfinite(high), long & np.isfinite(low)
    return replace(
        model,
        matrix=sparse.vstack([matrix[~long], steps[above].floor(), steps[below].ceil()]),
        row_lower=np.concatenate([low[~long], np.full(above.sum(), -np.inf), np.floor((low / grid)[below])]),
        row_upper=np.concatenate([high[~long], np.ceil((high / grid)[above]), np.full(below.sum(), np.inf)]),
    )


def _alike(numbers: FloatArray) -> bool:
    """Whether two of these, 0 among them, are nearly one number and are not."""
    apart = np.diff(np.unique(np.append(np.abs(numbers[np.isfinite(numbers)]), 0.0)))
    return bool(np.any((apart > SAME) & (apart < NEAR)))


def _uneven(side: FloatArray) -> FloatArray:
    return np.isfinite(side) & (side != np.rint(side))
