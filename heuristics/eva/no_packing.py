"""No-Packing: every task alone on the cheapest instance type that fits (section 6.1)."""

from __future__ import annotations

import numpy as np

from heuristics.eva.stock import OutOfInstances, Stock, planned
from instances import Answer
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import ANY, method


@method("heuristic", ANY)
def no_packing(data: EvaPacking) -> Answer:
    """No-Packing (section 6.1): an instance for each task, of the type that sets the reservation price.

    Where instances are limited it is the cheapest one left, tasks with the fewest types coming first.
    """
    arrays = packing_arrays(data)
    if arrays.limited:
        return planned(arrays, lambda: _one_by_one(arrays))
    alone = zip(arrays.cheapest_type.tolist(), arrays.count.tolist(), strict=True)
    return Answer(arrays.solution((kind, {c: 1}, n) for c, (kind, n) in enumerate(alone)))


def _one_by_one(arrays: PackingArrays) -> list[Group]:
    stock, groups = Stock(arrays), []
    fits, price = arrays.fits, arrays.price.tolist()
    for c in sorted(range(arrays.classes), key=lambda c: (int(fits[:, c].sum()), c)):
        left = int(arrays.count[c])
        for kind in sorted(np.flatnonzero(fits[:, c]).tolist(), key=lambda k: (price[k], k)):
            copies = min(left, stock.left[kind])
            left -= copies
            if copies:
                groups.append(stock.take(kind, {c: 1}, copies))
        if left:
            raise OutOfInstances
    return groups
