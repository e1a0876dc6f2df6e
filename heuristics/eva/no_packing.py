"""No-Packing: every task alone on the cheapest instance type that fits (section 6.1)."""

from __future__ import annotations

from instances import Solution
from instances.eva import EvaPacking, packing_arrays
from instances.method import ANY, method


@method("heuristic", ANY)
def no_packing(data: EvaPacking) -> Solution:
    """No-Packing (section 6.1): an instance for each task, of the type that sets the reservation price."""
    arrays = packing_arrays(data)
    alone = zip(arrays.cheapest_type.tolist(), arrays.count.tolist(), strict=True)
    groups = [(kind, {c: 1}, n) for c, (kind, n) in enumerate(alone)]
    return arrays.solution(groups)
