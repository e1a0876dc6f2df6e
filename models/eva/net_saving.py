"""`net-saving`: the exact counterpart of Eva's heuristic under interference, as a set partitioning over patterns.

maximise sum_p (TNRP(p) - C_p) x_p subject to sum_p a_cp x_p = n_c for each class c, x whole, p over all feasible
patterns, each on the cheapest type that holds it (sections 4.3 to 4.5: the saving S of a configuration). A pattern
whose net is not positive does no better than its tasks alone, whose net is 0, and is left out.
"""

from __future__ import annotations

import numpy as np

from instances import Answer, Options, Report, Stopwatch, ignore
from instances.eva.arrays import FloatArray, Group, IntArray, PackingArrays
from models.eva.patterns import CELLS, Patterns, feasible_patterns
from models.highs import LinearModel, solve_arrays

LIMIT = 2_000_000  # feasible patterns of one type beyond which they are not listed


def solve_net_saving(arrays: PackingArrays, options: Options, report: Report = ignore) -> Answer | None:
    """Solve the set partitioning in HiGHS; `None` where the patterns are too many to list."""
    with Stopwatch() as building:
        found = saving_patterns(arrays)
        if found is None:
            return None
        patterns, net = found

    def groups(x: np.ndarray) -> list[Group]:
        return [
            (int(patterns.kind[p]), {int(c): int(patterns.on_it[p, c]) for c in np.flatnonzero(patterns.on_it[p])}, n)
            for p, n in zip(range(len(x)), np.round(x).astype(int).tolist(), strict=True)
            if n
        ]

    def watch(x: np.ndarray | None, bound: float | None) -> None:
        solution = None if x is None else arrays.solution(groups(x))
        report(solution, None if bound is None else bound * float(arrays.price_unit))

    model = LinearModel(
        cost=net,
        matrix=patterns.on_it.T,
        row_lower=arrays.count,
        row_upper=arrays.count,
        integer=True,
        sense="maximize",
    )
    solved = solve_arrays(model, options, watch=None if report is ignore else watch)
    return Answer(
        solution=None if solved.x is None else arrays.solution(groups(solved.x)),
        bound=None if solved.bound is None else solved.bound * float(arrays.price_unit),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=solved.trace,
        info={**solved.info, "method": "set partitioning", "patterns": len(net)},
    )


def saving_patterns(arrays: PackingArrays, limit: int = LIMIT) -> tuple[Patterns, FloatArray] | None:
    """The patterns of positive net and the tasks alone, with their nets (P,) in price units.

    `None` where a type has more than `limit` feasible patterns.
    """
    kinds: list[IntArray] = []
    on_it: list[IntArray] = []
    for k in np.argsort(arrays.price, kind="stable"):
        most = np.where(arrays.fits[k], arrays.count, 0)
        found = feasible_patterns(arrays.capacity[k], arrays.demand_of_type[k], most, limit)
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
