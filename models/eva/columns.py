"""Eva's packing by column generation: from the arrays of an instance to columns, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.eva import PackingArrays
from instances.eva.arrays import Group
from instances.options import ignore
from models.core.outcome import APART, Outcome
from models.eva.column_generation import column_generation
from models.eva.configuration import Configuration, configuration, groups
from models.eva.covering import convert_to_usd
from models.eva.parameters import DEFAULTS, ColumnGenerationParameters, ItemParameters

LARGEST = 2**50  # largest amount, because column generation computes sums in 64-bit integers


def solve_columns(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: ColumnGenerationParameters | ItemParameters = DEFAULTS.column_generation,
) -> Answer:
    """Solve by column generation (Gilmore and Gomory, 1961), or by branch-and-price over single tasks.

    The bound is computed in integers and rationals.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of column generation, or `ItemParameters` for branch-and-price over single tasks.
    """
    with Stopwatch() as building:
        order = arrays.sort_by_demand()
        place = np.argsort(order).tolist()
        ordered = arrays.select_classes(order)
        rounded, coarse = _scale_to_range(ordered)
        known: list[Group] = [(kind, {place[c]: k for c, k in on_it.items()}, n) for kind, on_it, n in start or ()]

    def instances(found: Configuration) -> list[Group]:
        if not coarse:
            return groups(found)
        unpacked = _unpack(ordered, groups(found))
        return known if known and ordered.cost(known) < ordered.cost(unpacked) else unpacked

    def solution(found: Configuration | None) -> Solution | None:
        return None if found is None else ordered.solution(instances(found))

    def report_incumbent(found: Configuration | None, bound: int | None) -> None:
        report(solution(found), None if bound is None else arrays.usd(bound))

    with Stopwatch(options.time_limit) as clock:
        first, listen = configuration(known) if known else None, None if report is ignore else report_incumbent
        if isinstance(parameters, ItemParameters):
            from models.eva.item_packing import pack_items  # imports compiled kernels, which takes a while

            method = "branch-and-price over tasks"
            outcome: Outcome[Configuration, Any] = pack_items(rounded, options, listen, first, parameters)
        else:
            method = "column generation"
            outcome = column_generation(rounded, options, listen, first, parameters)
    assert outcome.configuration is not None
    found = instances(outcome.configuration)
    cost, bound = arrays.cost(found), outcome.bound
    closed = cost - bound <= options.gap * cost
    return Answer(
        solution=ordered.solution(found),
        bound=arrays.usd(bound),
        termination="finished" if closed else outcome.termination,
        reason=None if closed else outcome.reason or APART,
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=convert_to_usd(arrays, outcome.trace),
        info={
            **outcome.info,
            "method": method,
            "bound_by": method,
        },
    )


def _scale_to_range(arrays: PackingArrays) -> tuple[PackingArrays, bool]:
    """Return the arrays with amounts of at most `LARGEST`, and whether digits were dropped.

    A capacity above the total demand of all tasks is reduced to this demand. If this is not enough, the last digits of
    demands and capacities are dropped. Tasks that fit together still do, so a bound remains valid.
    """
    demand, capacity = arrays.demand, arrays.capacity
    if max(capacity.max(), demand.max()) <= LARGEST:
        return arrays, False
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
    return replace(arrays, demand=demand, capacity=capacity), coarse


def _unpack(arrays: PackingArrays, groups: Sequence[Group]) -> list[Group]:
    """Return the instances of `groups`, with the tasks of overfull instances each alone on the cheapest type."""
    found: list[Group] = []
    for kind, pattern, copies in groups:
        demand = arrays.demand_of_type[kind].tolist()
        used = [sum(k * demand[c][r] for c, k in pattern.items()) for r in range(arrays.capacity.shape[1])]
        if all(u <= q for u, q in zip(used, arrays.capacity[kind].tolist(), strict=True)):
            found.append((kind, pattern, copies))
        else:
            found += [(int(arrays.cheapest_type[c]), {c: 1}, k * copies) for c, k in pattern.items()]
    return found
