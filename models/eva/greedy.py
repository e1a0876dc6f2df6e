"""Greedy packing by duals, and its start duals: the prices of the resources that tasks use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from models.core.highs import LinearModel, solve_arrays
from models.eva.aggregate_bound import TypeCut
from models.eva.configuration import Configuration, pack_alone
from models.eva.knapsack_pricer import TablePricer

LARGEST_COEFFICIENT = 2.0**40  # larger coefficients are scaled down, because HiGHS rejects 1e15
FINEST = 2**70  # resource prices of a cut are multiples of a price unit divided by this, because they may be tiny


@dataclass(frozen=True)
class ResourcePrices:
    """Prices of resources, and the resulting duals of tasks.

    - `unit` (F, R): price of a unit of each resource in each family, in price units.
    - `duals` (N,): dual of each class, at most the price of its resources in every family that holds it.
    - `worth`: sum of the duals of all tasks less the price of the cost shares, in price units.
    """

    unit: FloatArray
    duals: FloatArray
    worth: float


def start_duals(arrays: PackingArrays, options: Options = Options()) -> FloatArray:
    """Return duals (N,) that are feasible (up to rounding) for the dual of the master, in price units."""
    return resource_prices(arrays, options).duals


def resource_prices(
    arrays: PackingArrays, options: Options = Options(), spend: Sequence[int] | None = None
) -> ResourcePrices:
    """Return the resource prices that maximise the value of the tasks less that of cost shares `spend` (F,).

    Maximise `sum_c n_c pi_c - sum_f spend_f t_f` subject to `pi_c <= w_f . D_fc` if class c fits on a type of family f,
    `w_f . Q_k <= t_f C_k` for the types k of f, and `t <= 1`. So every pattern of type k has a value of at most `t_f
    C_k`. Without a `spend`, `t` is 1.
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
    most = max(1.0, float(arrays.price.max()) / LARGEST_COEFFICIENT)  # unit of t
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
    """Return the cut of resource prices: they bound the value of a task, and that of a pattern by the type's capacity.

    The prices are rounded to multiples of a fraction of a price unit, so the cut is computed in integers.
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


def pack_greedily(
    arrays: PackingArrays, pricer: TablePricer, duals: FloatArray, counts: IntArray, clock: Stopwatch
) -> Configuration:
    """Return a configuration that holds `counts` (N,) tasks, with patterns of high value per price.

    The remaining task of the highest dual goes first. The tables select its type and the other tasks of the pattern, by
    value per price. A table is filled again if the remaining tasks can no longer reach its bound. If the clock reaches
    its limit, each remaining task is alone.
    """
    left, parameters = counts.copy(), pricer.parameters
    scale = pricer.scale(duals[None], arrays.price.astype(float))
    values = np.rint(np.maximum(duals, 1e-6 * float(duals.max(initial=1.0))) * scale).astype(np.int64)
    values, _ = pricer.coarsen(values)
    order = [int(c) for c in np.lexsort((np.arange(len(left)), -values))]
    configuration: Configuration = {}
    filled: set[int] = set()
    at = 0
    while at < len(order) and not clock.has_expired:
        first = order[at]
        if left[first] == 0:
            at += 1
            continue
        for i, table in enumerate(pricer.tables):
            if i not in filled and first in table.classes:
                table.fill(values, 0, left)
                filled.add(i)
        i, kind = _best_type(arrays, pricer, first)
        table = pricer.tables[i]
        position = int(np.flatnonzero(table.classes == first)[0])
        bound = int(table.bound_with_each(kind)[position])
        available = np.minimum(left[table.classes], table.most)
        found = table.search(kind, 0, parameters.greedy_nodes, available, position)
        value, packed = found.packings[-1] if found.packings else (0, {position: 1})  # the class may have no value
        stale = not np.array_equal(table.limit, available)
        if stale and value < (1 - parameters.greedy_slack) * bound:
            filled.discard(i)
            continue
        column = table.column(kind, packed)
        times = min(int(left[c]) // q for c, q in column.pattern)
        configuration[column] = configuration.get(column, 0) + times
        for c, q in column.pattern:
            left[c] -= q * times
    return dict(Counter(configuration) + Counter(pack_alone(replace(arrays, count=left))))


def task_sizes(arrays: PackingArrays) -> FloatArray:
    """Return the size (N,) of a task of each class: its largest share of a resource of a family's largest capacity.

    The maximum is over all families and resources; a size is at most 1.
    """
    families = range(len(arrays.demand))
    room = np.array([arrays.capacity[arrays.family == f].max(axis=0) for f in families])[:, None, :]
    share = np.where(arrays.demand > 0, arrays.demand / np.maximum(room, 1), 0.0)
    return np.asarray(np.minimum(share.max(axis=(0, 2)), 1.0))


def _best_type(arrays: PackingArrays, pricer: TablePricer, first: int) -> tuple[int, int]:
    """Return the best table and type for a pattern with a task of class `first`, by the bound on value per price.

    Among nearly equal ones, the most expensive type is the best.
    """
    price = arrays.price.tolist()
    bounds: list[tuple[float, int, int]] = []
    for i, table in enumerate(pricer.tables):
        positions = np.flatnonzero(table.classes == first)
        for kind in table.kinds if len(positions) else []:
            bounds.append((int(table.bound_with_each(kind)[positions[0]]) / price[kind], i, kind))
    best = max(bound for bound, _, _ in bounds)
    near = [(i, kind) for bound, i, kind in bounds if bound >= (1 - pricer.parameters.greedy_slack) * best]
    return max(near, key=lambda choice: (price[choice[1]], -choice[1]))
