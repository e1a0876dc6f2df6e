"""`net-saving`: the exact counterpart of Eva's heuristic under interference, as a set partitioning over patterns.

maximise sum_p (TNRP(p) - C_p) x_p subject to sum_p a_cp x_p = n_c for each class c, x whole, p over all feasible
patterns, each on the cheapest type that holds it (sections 4.3 to 4.5: the saving S of a configuration). A pattern
whose net is not positive does no better than its tasks alone, whose net is 0, and is left out.

Where the feasible patterns are too many to list, those of few tasks still give solutions, and the reservation prices
less the least cost of a packing still give a bound, since throughputs are at most 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from instances import Answer, Options, Report, Stopwatch, ignore
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.covering_master import in_usd
from models.eva.partition import Partition, solve_partition
from models.eva.patterns import CELLS, Patterns, feasible_patterns

LIMIT = 2_000_000  # feasible patterns of one type beyond which they are not listed
LARGEST = 64  # tasks on one instance, beyond which patterns are not told apart by their number of tasks


def solve_net_saving(
    arrays: PackingArrays, least_cost: Callable[[], float | None], options: Options, report: Report = ignore
) -> Answer:
    """Solve the set partitioning.

    `least_cost()` gives a lower bound in USD/h on the cost of a packing; it is asked only where the patterns are too
    many to list.
    """
    with Stopwatch() as building:
        patterns, net, complete = saving_patterns(arrays)
    ceiling = None if complete else _ceiling(arrays, least_cost())

    def bounded(bound: float | None) -> float | None:
        return (None if bound is None else bound * float(arrays.price_unit)) if complete else ceiling

    def watch(x: np.ndarray | None, bound: float | None) -> None:
        report(None if x is None else arrays.solution(patterns.groups(x)), bounded(bound))

    alone = np.flatnonzero(patterns.on_it.sum(axis=1) == 1)
    alone = alone[np.argsort(patterns.on_it[alone].argmax(axis=1))]
    solved = solve_partition(
        Partition(net, patterns.on_it, arrays.count, alone), options, None if report is ignore else watch
    )
    return Answer(
        solution=None if solved.x is None else arrays.solution(patterns.groups(solved.x)),
        bound=bounded(solved.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=in_usd(arrays, solved.trace),
        info={**solved.info, "method": "set partitioning", "patterns": len(net), "all_patterns": complete},
    )


def saving_patterns(arrays: PackingArrays, limit: int = LIMIT) -> tuple[Patterns, FloatArray, bool]:
    """The patterns of positive net and the tasks alone, with their nets (P,) in price units.

    The last is false where a type has more than `limit` feasible patterns; then those of the fewest tasks are given.
    """
    found = _listed(arrays, limit, None)
    if found is not None:
        return *found, True
    fewer = _listed(arrays, limit, 1)
    assert fewer is not None, "a task alone is a pattern"
    for largest in range(2, LARGEST):
        more = _listed(arrays, limit // 4, largest)
        if more is None:
            break
        fewer = more
    return *fewer, False


def _listed(arrays: PackingArrays, limit: int, largest: int | None) -> tuple[Patterns, FloatArray] | None:
    """Patterns of at most `largest` tasks: their number is one more resource."""
    kinds: list[IntArray] = []
    on_it: list[IntArray] = []
    for k in np.argsort(arrays.price, kind="stable"):
        most = np.where(arrays.fits[k], arrays.count, 0)
        capacity, demand = arrays.capacity[k], arrays.demand_of_type[k]
        if largest is not None:
            capacity = np.append(capacity, largest)
            demand = np.hstack([demand, np.ones((arrays.classes, 1), dtype=np.int64)])
        found = feasible_patterns(capacity, demand, most, limit)
        if found is None:
            return None
        kinds.append(np.full(len(found), k))
        on_it.append(found)
    every, kind = np.concatenate(on_it), np.concatenate(kinds)
    _, cheapest = np.unique(every, axis=0, return_index=True)  # the first of equals is on the cheapest type
    every, kind = every[cheapest], kind[cheapest]
    step = max(1, CELLS // arrays.classes**2)
    value = np.concatenate([arrays.value(every[i : i + step]) for i in range(0, len(every), step)])
    net = value - arrays.price[kind]
    keep = ((net > 1e-9) | (every.sum(axis=1) == 1)) & every.any(axis=1)
    return Patterns(kind[keep], every[keep]), net[keep]


def _ceiling(arrays: PackingArrays, least_cost: float | None) -> float | None:
    """Reservation prices of all tasks less the least cost: no saving is larger, as no throughput exceeds 1."""
    if least_cost is None:
        return None
    return arrays.usd(int((arrays.count * arrays.reservation_price).sum())) - least_cost
