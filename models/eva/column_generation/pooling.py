"""A bound by pooling: the instances of one family are taken for a single large one, the other families are packed.

Where the types of a family are multiples of the smallest in capacity and in price, a packing spends a whole number m of
units on the family, and what it puts there fits an instance of m times the smallest capacity at m times its price. So
no packing costs less than the best one with such instances in place of the family's. There the tasks that fit on no
other family are one task, and what is left is a small problem: how many units, and how the other tasks are packed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from instances import Stopwatch
from instances.arrays import IntArray
from instances.eva.arrays import PackingArrays
from models.eva.branch_and_price import branch_and_price, list_patterns
from models.eva.branch_and_price.parameters import BranchAndPriceParameters

if TYPE_CHECKING:
    from models.eva.column_generation.search import Search


def bound_by_pooling(search: Search, clock: Stopwatch) -> None:
    """Raise the bound of a search by pooling each family in turn."""
    p, options = search.parameters, search.options
    for f in range(len(search.arrays.demand)):
        if search.over or clock.expired:
            return
        pool = pooled(search.arrays, f, search.ceiling, p.pooled_classes, p.pooled_units)
        if pool is None:
            continue
        patterns = BranchAndPriceParameters(listed_patterns=p.pooled_patterns, listing_steps=p.pooled_steps)
        pricer = list_patterns(pool, patterns)
        if pricer is not None:
            limit = None if options.time_limit is None else clock.remaining_s
            limits = replace(options, time_limit=limit, gap=0.0, effort=search.at_most(p.pooled_nodes))
            search.incumbent.raise_bound(branch_and_price(pool, pricer, limits, parameters=patterns).bound)


def pooled(arrays: PackingArrays, family: int, ceiling: int, classes: int, units: int) -> PackingArrays | None:
    """The problem with a family pooled; no packing that costs less than `ceiling` costs less than its best one.

    `None` where the family's types are no multiples of one, where no task needs the family, and where there are more
    than `classes` classes, or than `units` numbers of units.
    """
    own = np.flatnonzero(arrays.family == family)
    needs = arrays.fits[own].any(axis=0) & ~arrays.fits[arrays.family != family].any(axis=0)
    others = np.flatnonzero(~needs)
    if arrays.limited or not needs.any() or not 0 < len(others) < classes:
        return None
    small = own[np.lexsort((own, arrays.price[own]))[0]]
    base, price = arrays.capacity[small], int(arrays.price[small])
    multiple = [_multiple(arrays.capacity[k], base) for k in own]
    if not price or any(m is None or m * price > arrays.price[k] for m, k in zip(multiple, own, strict=True)):
        return None
    room = np.array(base, dtype=object)
    load = arrays.demand[family][needs].T.astype(object) @ arrays.count[needs].astype(object)
    fewest, most = _multiple(load, room), (ceiling - 1) // price
    if fewest is None or not fewest <= most < fewest + units or most * int(room.max()) >= 2**62:
        return None
    number = np.arange(fewest, most + 1)
    kept = np.flatnonzero(arrays.family != family)
    capacity = np.vstack([arrays.capacity[kept], number[:, None] * base])
    demand = np.concatenate([arrays.demand[:, others], np.zeros_like(arrays.demand[:, :1])], axis=1)
    for f in range(len(demand)):
        demand[f, -1] = load if f == family else capacity.max(axis=0) + 1
    nowhere = ~arrays.fits[own][:, others].any(axis=0)
    demand[family, :-1][nowhere] = capacity.max(axis=0) + 1
    prices = np.append(arrays.price[kept], number * price)
    alone = np.append(arrays.reservation_price[others], fewest * price)
    return replace(
        arrays.only(np.append(others, others[:1])),
        demand=demand,
        capacity=capacity,
        family=np.append(arrays.family[kept], np.full(len(number), family)),
        price=prices,
        most=(None,) * len(prices),
        type_of=tuple(range(len(prices))),
        count=np.append(arrays.count[others], 1),
        reservation_price=alone,
    )


def _multiple(amounts: IntArray, base: IntArray) -> int | None:
    """The least number of times that `base` holds `amounts`, `None` where no number does."""
    needed = [(int(a), int(b)) for a, b in zip(amounts, base, strict=True) if a]
    return None if any(b == 0 for _, b in needed) else max((-(-a // b) for a, b in needed), default=1)
