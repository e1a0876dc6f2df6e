"""The resource bound: what tasks cost when instances can be bought by the unit of resource, and duals to start from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from models.eva.column_generation.packing import Packing


def resource_duals(packing: Packing) -> NDArray[np.float64]:
    """(n,) class duals that are feasible (up to rounding) for the master's dual, in price units.

    maximise ``sum_c n_c pi_c`` subject to ``pi_c <= w_f . D_fc`` where class c fits a type of family f, and
    ``w_f . Q_k <= C_k`` for the types k of f: every pattern of k is then worth at most ``C_k``.
    """
    families, classes, resources = packing.demand.shape
    rows: list[tuple[int, int, float]] = []
    limits: list[float] = []
    for k, f in enumerate(packing.family):
        rows.extend((len(limits), f * resources + r, float(packing.capacity[k, r])) for r in range(resources))
        limits.append(float(packing.prices[k]))
    for f in range(families):
        members = [k for k, g in enumerate(packing.family) if g == f]
        for c in np.flatnonzero(packing.fits[members].any(axis=0)):
            rows.append((len(limits), families * resources + int(c), 1.0))
            rows.extend((len(limits), f * resources + r, -float(packing.demand[f, c, r])) for r in range(resources))
            limits.append(0.0)
    i, j, value = (np.array(v) for v in zip(*rows, strict=True))
    width = families * resources + classes
    objective = np.concatenate([np.zeros(families * resources), -packing.counts.astype(float)])
    answer = linprog(
        objective, A_ub=coo_array((value, (i, j)), shape=(len(limits), width)), b_ub=limits, method="highs-ds"
    )
    if answer.x is None:
        return np.zeros(classes)
    return np.asarray(np.maximum(answer.x[families * resources :], 0.0))
