"""Eva's packing by column generation: from classes and price units to columns, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from instances import Answer, Options, Report, Stopwatch, ignore
from instances.eva import PackingArrays
from instances.eva.arrays import Group, IntArray
from instances.result import Termination
from models.eva.column_generation import Column, Configuration, Packing, column_generation
from models.eva.master import in_usd

LARGEST = 2**50  # amounts that column generation adds up and prices in 64-bit integers


def solve_columns(
    arrays: PackingArrays, options: Options, report: Report = ignore, start: Sequence[Group] | None = None
) -> Answer:
    """Column generation, from `start`. Its bound rests on integers and rationals alone, save where `info["complete"]`
    says that HiGHS found nothing better among all the columns that a better solution could use."""
    with Stopwatch() as building:
        # by demand, so that the order of the tasks in the instance makes no difference
        order = np.lexsort(arrays.demand.transpose(0, 2, 1).reshape(-1, arrays.classes)[::-1])
        place = np.argsort(order).tolist()
        demand, capacity, coarse = _amounts(arrays)
        packing = Packing.of(
            arrays.count[order], arrays.price.tolist(), capacity, arrays.family.tolist(), demand[:, order]
        )
        warm: Configuration = {}
        for kind, pattern, copies in start or ():
            column = Column.of(kind, ((place[c], k) for c, k in pattern.items()))
            warm[column] = warm.get(column, 0) + copies

    def groups(configuration: Configuration) -> list[Group]:
        found: list[Group] = [
            (column.type, {int(order[c]): k for c, k in column.pattern}, n) for column, n in configuration.items()
        ]
        if coarse:
            found = _unpacked(arrays, found)
            if start is not None and arrays.cost(start) < arrays.cost(found):
                return list(start)
        return found

    def solution(configuration: Configuration | None) -> dict[str, Any] | None:
        return None if configuration is None else arrays.solution(groups(configuration))

    def told(configuration: Configuration | None, bound: int | None) -> None:
        report(solution(configuration), None if bound is None else arrays.usd(bound))

    with Stopwatch() as clock:
        outcome = column_generation(
            packing,
            time_limit=options.time_limit,
            gap=options.gap,
            seed=options.seed,
            warm_start=warm or None,
            report=None if report is ignore else told,
        )
    found = groups(outcome.configuration)
    cost = arrays.cost(found)
    bound = max(outcome.bound, outcome.complete or 0)
    closed = cost - bound <= options.gap * cost
    stopped: tuple[Termination, str | None] = ("time_limit", "time limit") if not closed else ("finished", None)
    if not closed and options.time_limit is None:
        stopped = ("finished", "no more columns were tried; a bound and an incumbent remain apart")
    return Answer(
        solution=arrays.solution(found),
        bound=arrays.usd(bound),
        termination=stopped[0],
        reason=stopped[1],
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=in_usd(arrays, outcome.trace),
        info={**outcome.info, "method": "column generation", "complete": outcome.complete is not None},
    )


def _amounts(arrays: PackingArrays) -> tuple[IntArray, IntArray, bool]:
    """Demands (F, N, R) and capacities (K, R) within `LARGEST`, and whether digits were dropped for that.

    A capacity beyond what all tasks together demand is as good as that demand. Where that is not enough the last
    digits of both are cut off: tasks that fit together still do, so that a bound remains one.
    """
    demand, capacity = arrays.demand, arrays.capacity
    if max(capacity.max(), demand.max()) <= LARGEST:
        return demand, capacity, False
    demand, capacity = demand.copy(), capacity.copy()
    coarse = False
    fits = arrays.fits
    for r in range(capacity.shape[1]):
        for f in range(len(demand)):
            members = np.flatnonzero(arrays.family == f)
            placed = np.flatnonzero(fits[members].any(axis=0))
            total = sum(int(arrays.count[c]) * int(demand[f, c, r]) for c in placed)
            if total < int(capacity[members, r].max()):
                capacity[members, r] = np.minimum(capacity[members, r], total)
            beyond = int(capacity[members, r].max()) + 1
            demand[f, :, r] = np.minimum(demand[f, :, r], beyond)
        digits = max(0, int(max(capacity[:, r].max(), demand[:, :, r].max())).bit_length() - LARGEST.bit_length() + 1)
        capacity[:, r] >>= digits
        demand[:, :, r] >>= digits
        coarse = coarse or digits > 0
    return demand, capacity, coarse


def _unpacked(arrays: PackingArrays, groups: Sequence[Group]) -> list[Group]:
    """`groups` with the tasks of overfull instances on instances of their own."""
    price = np.where(arrays.fits, arrays.price[:, None], np.iinfo(np.int64).max)
    found: list[Group] = []
    for kind, pattern, copies in groups:
        demand = arrays.demand_of_type[kind].tolist()
        used = [sum(k * demand[c][r] for c, k in pattern.items()) for r in range(arrays.capacity.shape[1])]
        if all(u <= q for u, q in zip(used, arrays.capacity[kind].tolist(), strict=True)):
            found.append((kind, pattern, copies))
        else:
            found += [(int(price[:, c].argmin()), {c: 1}, k * copies) for c, k in pattern.items()]
    return found
