"""No-Packing: every task alone on the cheapest instance type it fits on (section 6.1)."""

from __future__ import annotations

import numpy as np

from instances import Answer, Options, Result, Stopwatch, conclude
from instances.eva import EvaPacking, packing_arrays


def no_packing(data: EvaPacking) -> Result:
    """Rent each task its own instance, of the type that sets its reservation price."""
    with Stopwatch() as building:
        arrays = packing_arrays(data)
    with Stopwatch() as clock:
        priced = np.where(arrays.fits, arrays.price[:, None], np.iinfo(np.int64).max)
        cheapest = priced.argmin(axis=0)
        groups = [(int(k), {c: 1}, int(n)) for c, (k, n) in enumerate(zip(cheapest, arrays.count, strict=True))]
    answer = Answer(arrays.solution(groups), build_s=building.cpu_s, solve_s=clock.cpu_s)
    return conclude(data, "no-packing", answer, Options(), kind="heuristic")
