"""Enumeration: all the patterns that a packing of a given cost can have, as the reduced costs tell (Baldacci, 2008)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
from scipy import sparse

from instances import Options
from instances.eva.arrays import FloatArray, PackingArrays
from models.eva.branch_and_price.pricer import Prices
from models.eva.configuration import Column, Configuration
from models.eva.item_packing.pricing import ItemPricer
from models.highs import LinearModel, solve_arrays

NEAR = Fraction(1, 10**6)  # Duals whose sums are nearer than this share of the goal count as equal.


def even_duals(arrays: PackingArrays) -> FloatArray:
    """Feasible duals (N,) in price units that spread the price of a type evenly over its resources."""
    room = np.maximum(arrays.capacity, 1)[:, None, :]
    share = (arrays.demand_of_type / room).mean(axis=2) * arrays.price[:, None]
    return np.asarray(np.where(arrays.fits, share, np.inf).min(axis=0))


def enumerated(
    arrays: PackingArrays,
    pricer: ItemPricer,
    duals: list[FloatArray],
    goal: int,
    most: tuple[int, ...] | None,
    limit: int,
) -> list[Column] | None:
    """The patterns that a packing of cost `goal` at most can have; `None` where they are more than `limit`.

    At feasible duals pi a packing costs `sum_c pi_c` and the reduced costs of its patterns, none of which is negative:
    no pattern of a reduced cost above `goal - sum_c pi_c` is in it. The duals are first rounded to whole numbers, and
    shrunk until they are feasible; of several, those that add up to most are taken, the first of equals.

    - `arrays`: the instance, of classes of one task each.
    - `pricer`: pricing.
    - `duals`: duals (N,), in price units, to choose from.
    - `goal`: the cost, in price units.
    - `most`: most instances of each type, `None` for any number.
    - `limit`: most patterns.
    """
    price = arrays.price.tolist()
    best: tuple[Fraction, Prices, int] | None = None
    for trial in [even_duals(arrays), *duals]:
        scale = pricer.scale(trial[None, :], arrays.price.astype(float))
        values = np.rint(np.maximum(trial, 0.0) * scale).astype(np.int64)
        target = tuple(p * scale for p in price)
        worth = pricer.price(_prices(arrays, values, target), 0).bound
        shrink = min([Fraction(1)] + [Fraction(t, w) for t, w in zip(target, worth, strict=True) if w])
        values = np.array([floor(v * shrink) for v in values.tolist()], dtype=np.int64)
        total = Fraction(int(values.sum()), scale)
        if best is None or total > best[0] + NEAR * goal:
            best = total, _prices(arrays, values, target), scale
    if best is None:
        return None
    left = floor((goal - best[0]) * best[2])
    if left < 0:
        return []
    least = tuple(
        max(0, t - left) if most is None or most[k] else 2**62 for k, t in enumerate(best[1].target)
    )
    return pricer.every(best[1], least, limit)


def partition(
    arrays: PackingArrays, columns: list[Column], goal: int, most: tuple[int, ...] | None, options: Options
) -> Configuration | None:
    """A packing of cost `goal` at most that consists of the columns, by HiGHS, if it finds one."""
    members = [c for column in columns for c, _ in column.pattern]
    begin = np.cumsum([0] + [len(column.pattern) for column in columns])
    rows = sparse.csc_array((np.ones(len(members)), members, begin), shape=(arrays.classes, len(columns)))
    price = arrays.price[[column.type for column in columns]].astype(float)
    unit = float(arrays.price.max())
    kinds = np.arange(len(arrays.price))[:, None] == np.array([column.type for column in columns])[None, :]
    limits = np.full(len(arrays.price), np.inf) if most is None else np.array(most, dtype=float)
    solved = solve_arrays(
        LinearModel(
            cost=price / unit,
            matrix=sparse.vstack([rows, sparse.csr_array(price[None, :] / unit), sparse.csr_array(kinds.astype(float))]),
            row_lower=np.concatenate([np.ones(arrays.classes), np.zeros(1 + len(limits))]),
            row_upper=np.concatenate([np.ones(arrays.classes), [(goal + 0.5) / unit], limits]),
            upper=1.0,
            integer=True,
        ),
        replace(options, gap=0.0),
        extra={"objective_target": (goal + 0.5) / unit},
    )
    if solved.x is None:
        return None
    return {columns[i]: 1 for i in np.flatnonzero(solved.x > 0.5).tolist()}


def _prices(arrays: PackingArrays, values: np.ndarray, target: tuple[int, ...]) -> Prices:
    return Prices(np.broadcast_to(values, (len(arrays.demand), len(values))), target)
