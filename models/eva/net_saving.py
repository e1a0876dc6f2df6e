"""`net-saving`: the exact counterpart of Eva's heuristic under interference, as a set partitioning over patterns.

maximise sum_p (TNRP(p) - C_p) x_p subject to sum_p a_cp x_p = n_c for each class c, x whole, p over all feasible
patterns, each on the cheapest type that holds it (sections 4.3 to 4.5: the saving S of a configuration). A pattern
whose net is not positive does no better than its tasks alone, whose net is 0, and is left out.

Where the feasible patterns are too many to list, those of few tasks still give solutions, and the reservation prices
less the least cost of a packing still give a bound, since throughputs are at most 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from instances import Answer, Options, Report, Stopwatch
from instances.eva.arrays import FloatArray, Group, IntArray, PackingArrays
from instances.options import ignore
from models.eva.covering_master import in_usd
from models.eva.partition import Partition, solve_partition
from models.eva.patterns import CELLS, Patterns, feasible_patterns

LIMIT = 2_000_000  # feasible patterns of one type beyond which they are not listed
LARGEST = 64  # tasks on one instance, beyond which patterns are not told apart by their number of tasks
NOISE = 1e-12  # relative to what the tasks are worth: how far nets in floating point may be off


def solve_net_saving(
    arrays: PackingArrays,
    least_cost: Callable[[], float | None],
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
) -> Answer:
    """Solve the set partitioning, from `start`, which is returned unless a better solution is found.

    `least_cost()` gives a lower bound in USD/h on the cost of a packing; it is asked only where the patterns are too
    many to list.
    """
    with Stopwatch() as building:
        patterns, net, complete = saving_patterns(arrays)
        alone = np.flatnonzero(patterns.on_it.sum(axis=1) == 1)
        alone = alone[np.argsort(patterns.on_it[alone].argmax(axis=1))]
        x = np.zeros(len(net))
        x[alone] = arrays.count
        if start is not None:
            patterns, net, x = _with_start(arrays, patterns, net, alone, start)
        noise = NOISE * _worth(arrays) if len(net) > len(alone) else 0.0  # tasks alone save nothing, to the last digit
        partition = Partition(net, patterns.on_it, arrays.count, alone, noise)
    unit = float(arrays.price_unit)
    ceiling = None if complete else _ceiling(arrays, least_cost())
    known = None if start is None else partition.value(x)

    def bounded(bound: float | None) -> float | None:
        return (None if bound is None else bound * unit) if complete else ceiling

    def watch(x: FloatArray | None, bound: float | None) -> None:
        if x is not None and known is not None and partition.value(x) <= known + partition.noise:
            x = None
        report(None if x is None else arrays.solution(patterns.groups(x)), bounded(bound))

    solved = solve_partition(partition, x, options, None if report is ignore else watch)
    better = known is None or solved.x is None or partition.value(solved.x) > known + partition.noise
    groups = start if start is not None and not better else None if solved.x is None else patterns.groups(solved.x)
    return Answer(
        solution=None if groups is None else arrays.solution(groups),
        bound=bounded(solved.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=in_usd(arrays, solved.trace),
        info={**solved.info, "method": "set partitioning", "patterns": len(net), "all_patterns": complete},
    )


def _with_start(
    arrays: PackingArrays, patterns: Patterns, net: FloatArray, alone: IntArray, start: Sequence[Group]
) -> tuple[Patterns, FloatArray, FloatArray]:
    """`patterns` and their nets with those of `start` that are not listed, and the start as a solution (P,).

    What does not pay is no column: its tasks are better off alone.
    """
    listed = {row.tobytes(): p for p, row in enumerate(patterns.on_it)}
    used: dict[int, int] = {}
    kinds: list[int] = []
    rows: list[IntArray] = []
    nets: list[float] = []
    for kind, pattern, copies in start:
        on_it = np.zeros(arrays.classes, dtype=np.int64)
        on_it[list(pattern)] = list(pattern.values())
        worth = float(arrays.value(on_it)) - int(arrays.price[kind])
        p = listed.get(on_it.tobytes())
        if p is None and worth > 0:
            p = listed[on_it.tobytes()] = len(net) + len(rows)
            kinds, rows, nets = [*kinds, kind], [*rows, on_it], [*nets, worth]
        if p is not None:
            used[p] = used.get(p, 0) + copies
        else:
            for c, k in pattern.items():
                used[int(alone[c])] = used.get(int(alone[c]), 0) + k * copies
    if rows:
        patterns = Patterns(np.append(patterns.kind, kinds), np.vstack([patterns.on_it, *rows]))
        net = np.append(net, nets)
    x = np.zeros(len(net))
    x[list(used)] = list(used.values())
    return patterns, net, x


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
    tasks, noise = every.sum(axis=1), NOISE * (every.astype(float) @ arrays.reservation_price)
    for p in np.flatnonzero((np.abs(net) <= noise) & (tasks > 1) & (tasks <= LARGEST)):
        net[p] = _exact_net(arrays, int(kind[p]), every[p])
    keep = (net > np.where(tasks <= LARGEST, 0.0, -noise)) & (tasks > 1) | (tasks == 1)
    return Patterns(kind[keep], every[keep]), net[keep]


def _exact_net(arrays: PackingArrays, kind: int, on_it: IntArray) -> float:
    """The net of a pattern in price units, computed in rational numbers: its sign is beyond doubt."""
    tasks = {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}
    net = -Fraction(int(arrays.price[kind]))
    for c, k in tasks.items():
        rate = Fraction(1)
        for other, n in tasks.items():
            rate *= Fraction(repr(float(arrays.pair[c, other]))) ** (n - (other == c))
        net += k * (int(arrays.reservation_price[c]) - (1 - rate) * int(arrays.job_price[c]))
    return float(net)


def _ceiling(arrays: PackingArrays, least_cost: float | None) -> float | None:
    """Reservation prices of all tasks less the least cost: no saving is larger, as no throughput exceeds 1."""
    return None if least_cost is None else arrays.usd(_worth(arrays)) - least_cost * (1 - NOISE)


def _worth(arrays: PackingArrays) -> int:
    """The reservation prices of all tasks, in price units: what they are worth alone."""
    return sum(n * price for n, price in zip(arrays.count.tolist(), arrays.reservation_price.tolist(), strict=True))
