"""Start duals from an aggregated linear program: the cost of tasks when resources are bought by the unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.parameters import LARGEST_COEFFICIENT
from models.eva.column_generation.type_cuts import TypeCut
from models.highs import LinearModel, solve_arrays

FINEST = 2**70  # Resource prices of a cut are whole multiples of a price unit over this, for units may be tiny.


@dataclass(frozen=True)
class ResourcePrices:
    """Prices of resources, and what they say of tasks.

    - `unit` (F, R): price of a unit of each resource in each family, in price units.
    - `duals` (N,): what a task of each class pays, at most the price of its resources in every family that holds it.
    - `worth`: price of all tasks less that of the spend, in price units.
    """

    unit: FloatArray
    duals: FloatArray
    worth: float


def start_duals(arrays: PackingArrays, options: Options = Options()) -> FloatArray:
    """Duals (N,) that are feasible (up to rounding) for the dual of the master, in price units."""
    return resource_prices(arrays, options).duals


def resource_prices(
    arrays: PackingArrays, options: Options = Options(), spend: Sequence[int] | None = None
) -> ResourcePrices:
    """The resource prices at which tasks are worth most, beyond a `spend` (F,) in price units on each family.

    maximise `sum_c n_c pi_c - sum_f spend_f t_f` subject to `pi_c <= w_f . D_fc` where class c fits on a type of family
    f, `w_f . Q_k <= t_f C_k` for the types k of f, and `t <= 1`: every pattern of k is then worth at most `t_f C_k`.
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
    most = max(1.0, float(arrays.price.max()) / LARGEST_COEFFICIENT)  # t is counted in such parts.
    paid = sparse.coo_array(-of_family * (arrays.price / most)[:, None])
    spent = np.zeros(families) if spend is None else np.array(spend, dtype=float) / most
    solved = solve_arrays(
        LinearModel(
            cost=np.concatenate([np.zeros(families * resources), -arrays.count.astype(float), spent]),
            matrix=sparse.block_array([[priced, None, paid], [demand, pi, None]]),
            row_lower=-inf,
            row_upper=0.0,
            lower=np.concatenate([np.zeros(families * resources + classes), np.full(families, most * (spend is None))]),
            upper=np.concatenate([np.full(families * resources + classes, inf), np.full(families, most)]),
        ),
        Options(threads=options.threads),
        extra={"parallel": "off"},
    )
    if solved.x is None:
        return ResourcePrices(np.zeros((families, resources)), np.zeros(classes), 0.0)
    x = np.maximum(solved.x, 0.0)
    w, duals = x[: families * resources].reshape(families, resources), x[families * resources :][:classes]
    worth = float(arrays.count @ duals - spent @ x[families * resources + classes :])
    return ResourcePrices(w / unit, duals, worth)


def resource_cut(arrays: PackingArrays, prices: ResourcePrices) -> TypeCut:
    """The cut of resource prices: a task is worth no more than its resources, a pattern no more than the type's.

    The prices are rounded to whole multiples of a fraction of a price unit; the rest is whole numbers.
    """
    family, types = arrays.family.tolist(), range(len(arrays.price))
    units = [[round(w * FINEST) for w in row] for row in prices.unit.tolist()]
    room = arrays.capacity.tolist()
    value = tuple(sum(w * q for w, q in zip(units[family[k]], room[k], strict=True)) for k in types)
    holding = [arrays.fits[arrays.family == f].any(axis=0).tolist() for f in range(len(units))]
    demand, rhs = arrays.demand.tolist(), 0
    for c, n in enumerate(arrays.count.tolist()):
        rhs += n * min(
            (
                sum(w * d for w, d in zip(row, demand[f][c], strict=True))
                for f, row in enumerate(units)
                if holding[f][c]
            ),
            default=0,
        )
    return TypeCut(value, rhs)
