"""Start duals from an aggregated linear program: the cost of tasks when resources are bought by the unit."""

from __future__ import annotations

from math import inf

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.parameters import LARGEST_COEFFICIENT
from models.highs import LinearModel, solve_arrays


def start_duals(arrays: PackingArrays, options: Options = Options()) -> FloatArray:
    """Duals (N,) that are feasible (up to rounding) for the dual of the master, in price units.

    maximise `sum_c n_c pi_c` subject to `pi_c <= w_f . D_fc` where class c fits on a type of family f, and `w_f . Q_k
    <= C_k` for the types k of f: every pattern of k is then worth at most `C_k`.
    """
    families, classes, resources = arrays.demand.shape
    family = arrays.family
    of_family = np.eye(families)[family]
    unit = np.maximum(1.0, arrays.capacity.max(axis=0) / LARGEST_COEFFICIENT)
    priced = sparse.coo_array((of_family[:, :, None] * (arrays.capacity / unit)[:, None, :]).reshape(len(family), -1))
    f, c = np.nonzero(np.array([arrays.fits[family == g].any(axis=0) for g in range(families)]))
    rows, columns = np.repeat(np.arange(len(f)), resources), (f[:, None] * resources + np.arange(resources)).ravel()
    demand = sparse.coo_array(
        ((-arrays.demand[f, c] / unit).ravel(), (rows, columns)), shape=(len(f), families * resources)
    )
    pi = sparse.coo_array((np.ones(len(f)), (np.arange(len(f)), c)), shape=(len(f), classes))
    solved = solve_arrays(
        LinearModel(
            cost=np.concatenate([np.zeros(families * resources), -arrays.count.astype(float)]),
            matrix=sparse.block_array([[priced, None], [demand, pi]]),
            row_lower=-inf,
            row_upper=np.concatenate([arrays.price.astype(float), np.zeros(len(f))]),
        ),
        Options(threads=options.threads),
        extra={"parallel": "off"},
    )
    if solved.x is None:
        return np.zeros(classes)
    return np.asarray(np.maximum(solved.x[families * resources :], 0.0))
