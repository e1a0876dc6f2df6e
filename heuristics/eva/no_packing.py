"""No-Packing: every task alone on the cheapest instance type it fits on (section 6.1)."""

from __future__ import annotations

import numpy as np

from instances import Solution
from instances.eva import EvaPacking, packing_arrays
from instances.method import ANY, method


@method("heuristic", ANY)
def no_packing(data: EvaPacking) -> Solution:
    """Rent each task its own instance, of the type that sets its reservation price."""
    arrays = packing_arrays(data)
    priced = np.where(arrays.fits, arrays.price[:, None], np.iinfo(np.int64).max)
    cheapest = priced.argmin(axis=0)
    groups = [(int(k), {c: 1}, int(n)) for c, (k, n) in enumerate(zip(cheapest, arrays.count, strict=True))]
    return arrays.solution(groups)
