"""Patterns of an instance: numbers of tasks of each class that fit together, and the integer master over them.

A pattern of type k is maximal where no further task fits (Gilmore and Gomory, 1961). In a covering model maximal
patterns suffice, and of them those that no cheaper instance, or two cheaper instances together, can stand in for. The
master, in whole price units:

minimise sum_p C_p x_p subject to sum_p a_cp x_p >= n_c for each class c, and sum_p x_p <= m_k over the patterns of each
type k with a limit m_k, x whole: a covering, trimmed to a packing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from instances import Options, Report
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.eva.arrays import Group, PackingArrays
from instances.options import ignore
from instances.result import TracePoint
from models.eva.configuration import WHOLE, configuration, dearest, groups, missing, trim, within_limits
from models.fine_units import CoarseUnits
from models.highs import LinearModel, Solved, solve_arrays

CELLS = 4_000_000  # A block of a comparison holds at most so many numbers, which bounds the memory.


@dataclass(frozen=True)
class Patterns:
    """P patterns: `kind` (P,) the instance type of each, `on_it` (P, N) the tasks of each class."""

    kind: IntArray
    on_it: IntArray

    def chosen(self, which: BoolArray) -> Patterns:
        """The patterns for which `which` (P,) is true."""
        return Patterns(self.kind[which], self.on_it[which])

    def groups(self, x: NDArray[np.float64]) -> list[Group]:
        """The instances of a solution `x` (P,): how many of each pattern."""
        times = np.round(x).astype(np.int64)
        return [
            (int(self.kind[p]), {int(c): int(self.on_it[p, c]) for c in np.flatnonzero(self.on_it[p])}, int(times[p]))
            for p in np.flatnonzero(times > 0)
        ]


def feasible_patterns(capacity: IntArray, demand: IntArray, most: IntArray, limit: int) -> IntArray | None:
    """All patterns (P, N) that fit in `capacity` (R,), at most `most` (N,) tasks of a class, or `None` if over `limit`.

    `demand` is (N, R). A class of no demand at all is held as often as `most` allows.
    """
    found = np.zeros((1, len(demand)), dtype=np.int64)
    left = capacity[None, :].astype(np.int64)
    for c in range(len(demand)):
        needs = demand[c] > 0
        room = (left[:, needs] // demand[c, needs]).min(axis=1) if needs.any() else np.full(len(left), most[c])
        copies = np.minimum(room, most[c]) + 1
        if copies.sum() > limit:
            return None
        row = np.repeat(np.arange(len(found)), copies)
        k = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        found, left = found[row], left[row] - k[:, None] * demand[c]
        found[:, c] = k
    return found


def maximal(patterns: IntArray, capacity: IntArray, demand: IntArray, most: IntArray) -> IntArray:
    """The maximal patterns of `patterns` (P, N), to which no task can be added."""
    left = capacity - patterns @ demand
    extendable = np.zeros(len(patterns), dtype=bool)
    for c in range(len(demand)):
        extendable |= (left >= demand[c]).all(axis=1) & (patterns[:, c] < most[c])
    return patterns[~extendable]


def covering_patterns(arrays: PackingArrays, limit: int) -> Patterns | None:
    """Patterns that suffice for an optimal covering, or `None` where a type has more than `limit` feasible patterns.

    Where patterns are few they may hold more tasks than there are, so that instances that differ in the counts of tasks
    alone share their patterns.
    """
    unlimited = np.full(arrays.classes, np.iinfo(np.int32).max, dtype=np.int64)
    for most in (unlimited, arrays.count):
        if ((arrays.demand.sum(axis=2) == 0).any(axis=0) & (most > arrays.count)).any():
            continue  # A class that needs nothing on some type is bounded by the count alone.
        found = _covering_patterns(
            arrays.demand_of_type.tobytes(),
            arrays.capacity.tobytes(),
            tuple(arrays.price.tolist()),
            most.tobytes(),
            limit,
        )
        if found is not None:
            return found
    return None


@lru_cache(maxsize=16)
def _covering_patterns(
    demand: bytes, capacity: bytes, price: tuple[int, ...], most: bytes, limit: int
) -> Patterns | None:
    from models.eva.pattern_kernels import more_patterns_than  # compiled at first use, which takes seconds

    capacities = np.frombuffer(capacity, dtype=np.int64).reshape(len(price), -1)
    bounds = np.frombuffer(most, dtype=np.int64)
    demands = np.frombuffer(demand, dtype=np.int64).reshape(len(price), len(bounds), -1)
    fitting = np.where((demands <= capacities[:, None]).all(axis=2), bounds, 0)
    for room, needs, most_on_it in zip(capacities, demands, fitting, strict=True):
        if more_patterns_than(limit, room, needs, most_on_it):
            return None
    full: list[IntArray] = []
    for k in range(len(price)):
        found = feasible_patterns(capacities[k], demands[k], fitting[k], limit)
        assert found is not None
        full.append(maximal(found, capacities[k], demands[k], fitting[k]))
    outdone = _outdone(capacities, demands)
    kept = [_irreplaceable(k, full, capacities, demands, price, outdone) for k in range(len(price))]
    return Patterns(np.repeat(np.arange(len(price)), [len(p) for p in kept]), np.concatenate(kept))


def _irreplaceable(
    k: int, full: list[IntArray], capacity: IntArray, demand: IntArray, price: tuple[int, ...], outdone: BoolArray
) -> IntArray:
    """Patterns of type k that neither an instance of no higher price nor two cheaper instances can hold.

    What stands in for a pattern costs less, or as much and comes first in order, so nothing is dropped in a circle.
    """
    patterns = full[k][full[k].any(axis=1)]
    rank = [(price[i], i) for i in range(len(price))]
    for other in range(len(price)):
        if rank[other] < rank[k]:
            patterns = patterns[~_fits(patterns, capacity[other], demand[other])]
    for first in range(len(price)):
        for second in _affordable(price[k] - price[first], price, outdone):
            if price[first] < price[k] and price[second] <= price[first] and len(patterns):
                patterns = patterns[~_splits(patterns, full[first], capacity[second], demand[second])]
    return patterns


def _outdone(capacity: IntArray, demand: IntArray) -> BoolArray:
    """Whether type i is outdone by type j (K, K): in every resource, or the same and j comes first."""
    types = np.arange(len(capacity))
    as_large = (capacity[None] >= capacity[:, None]).all(axis=2)
    larger = (capacity[None] > capacity[:, None]).any(axis=2) | (types[None] < types[:, None])
    alike = np.array([(demand == needs).all(axis=(1, 2)) for needs in demand])
    return np.asarray(as_large & larger & alike)


def _affordable(budget: int, price: tuple[int, ...], outdone: BoolArray) -> list[int]:
    """Types within `budget`, without types that another affordable type outdoes."""
    within = np.array([p <= budget for p in price])
    return np.flatnonzero(within & ~outdone[:, within].any(axis=1)).tolist()


def _fits(patterns: IntArray, capacity: IntArray, demand: IntArray) -> BoolArray:
    """Whether `patterns` (..., N) fit in `capacity` (R,), also where the total demand is beyond 64-bit integers.

    What fits within twice the capacity in floating point is small enough for whole numbers, which then decide.
    """
    roughly = patterns.astype(float) @ demand.astype(float)
    if roughly.max(initial=0.0) < WHOLE:
        return np.asarray((roughly <= capacity).all(axis=-1))
    fits: BoolArray = (roughly <= 2.0 * capacity).all(axis=-1)
    near = np.nonzero(fits)
    fits[near] = (patterns[near] @ demand <= capacity).all(axis=-1)
    return fits


def _splits(patterns: IntArray, first: IntArray, capacity: IntArray, demand: IntArray) -> BoolArray:
    """Whether each of `patterns` (P, N) is a pattern of `first` (Q, N) and a rest that fits `capacity` (R,)."""
    found = np.zeros(len(patterns), dtype=bool)
    step = max(1, CELLS // max(1, patterns.size))
    for start in range(0, len(first), step):
        open_ = np.flatnonzero(~found)
        rest = np.maximum(patterns[open_, None, :] - first[None, start : start + step, :], 0)
        found[open_] = _fits(rest, capacity, demand).any(axis=1)
    return found


AT_THE_ROOT = ("mip_heuristic_run_root_reduced_cost", "mip_heuristic_run_feasibility_jump")  # heuristics of HiGHS


@dataclass(frozen=True)
class Covered:
    """The result of the master problem: instances, an empty list without a solution, and a `bound` in price units."""

    groups: list[Group]
    bound: int | None
    solved: Solved


def covering_master(arrays: PackingArrays, patterns: Patterns) -> LinearModel:
    """The master problem (Gilmore and Gomory, 1961): a column for each pattern, a row for each class and each limit."""
    rows = [np.isin(patterns.kind, limit.types).astype(float) for limit in arrays.limits]
    most = [limit.most for limit in arrays.limits]
    return LinearModel(
        cost=arrays.price[patterns.kind],
        matrix=np.vstack([patterns.on_it.T, *rows]) if rows else patterns.on_it.T,
        row_lower=np.append(arrays.count, np.full(len(rows), -np.inf)) if rows else arrays.count,
        row_upper=np.append(np.full(arrays.classes, np.inf), most) if rows else np.inf,
        integer=True,
    )


def solve_covering(
    arrays: PackingArrays,
    patterns: Patterns,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    *,
    few: bool = False,
) -> Covered:
    """Solve the master in HiGHS; the start is returned unless a cheaper solution is found.

    Costs are whole, so a bound well above c - 1 proves a solution of cost c. No instance of a better solution costs
    more than the start, or than every task alone, where nothing is limited: dearer patterns are left out.

    - `arrays`: the instance.
    - `patterns`: the patterns (P, N) to cover the tasks by.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from.
    - `few`: whether patterns are few, so that heuristics at the root take longer than the tree that they are to spare.
    """
    alone = dearest(arrays) if arrays.limited else arrays.price_alone
    ceiling = alone if start is None else min(alone, arrays.cost(start))
    patterns = patterns.chosen(arrays.price[patterns.kind] <= ceiling)
    x = None
    if start is not None:
        patterns, x = _with_start(arrays, patterns, start)

    coarse = CoarseUnits.of(covering_master(arrays, patterns))
    unit = coarse.unit

    def proven(bound: float | None) -> int | None:
        return None if bound is None else coarse.proven(bound)

    def watch(x: FloatArray | None, bound: float | None) -> None:
        found = None if x is None else packing(arrays, patterns, x)
        if found and start is not None and arrays.cost(found) >= arrays.cost(start):
            found = None
        report(arrays.solution(found) if found else None, None if bound is None else arrays.usd(proven(bound) or 0))

    solved = solve_arrays(
        coarse.model,
        options,
        start=x,
        watch=None if report is ignore else watch,
        extra={"mip_abs_gap": 0.5 / unit, **(dict.fromkeys(AT_THE_ROOT, False) if few else {})},
    )
    bound = proven(solved.bound)
    trace = tuple((t, None if v is None else v * unit, proven(b)) for t, v, b in solved.trace)
    solved = replace(solved, objective=None if solved.objective is None else solved.objective * unit, trace=trace)
    found = (None if solved.x is None else packing(arrays, patterns, solved.x)) or []
    if start is not None and (not found or arrays.cost(found) >= arrays.cost(start)):
        found = list(start)
    if not found and (solved.x is not None or (solved.termination == "infeasible" and not arrays.limited)):
        solved = replace(solved, termination="error", reason="HiGHS's solution is one by its tolerances only")
    return Covered(found, bound, solved)


def _with_start(arrays: PackingArrays, patterns: Patterns, start: Sequence[Group]) -> tuple[Patterns, FloatArray]:
    """The patterns, joined by patterns of the start that none can replace, and the start as a solution (P,)."""
    x = np.zeros(len(patterns.kind))
    kinds: list[int] = []
    rows: list[IntArray] = []
    times: list[int] = []
    price = arrays.price[patterns.kind]
    for kind, pattern, copies in start:
        on_it = np.zeros(arrays.classes, dtype=np.int64)
        on_it[list(pattern)] = list(pattern.values())
        stands_in = patterns.kind == kind if arrays.limited else price <= arrays.price[kind]
        over = np.flatnonzero(stands_in & (patterns.on_it >= on_it).all(axis=1))
        if len(over):
            x[over[np.argmin(price[over])]] += copies
        else:
            kinds, rows, times = [*kinds, kind], [*rows, on_it], [*times, copies]
    if not rows:
        return patterns, x
    both = Patterns(np.append(patterns.kind, kinds), np.vstack([patterns.on_it, *rows]))
    return both, np.append(x, np.array(times, dtype=float))


def packing(arrays: PackingArrays, patterns: Patterns, x: FloatArray) -> list[Group] | None:
    """The instances of a master solution `x` (P,), without the tasks that are covered too often.

    `None` where a task is left out, or a limit broken: `x` keeps them by the tolerances of the solver, and rounded not.
    """
    cover = configuration(patterns.groups(x))
    if (missing(arrays, cover) > 0).any() or not within_limits(arrays, cover):
        return None
    return groups(trim(arrays, cover))


def in_usd(arrays: PackingArrays, trace: Iterable[TracePoint]) -> list[TracePoint]:
    """The trace in USD/h of a trace in price units."""
    unit = float(arrays.price_unit)
    return [(t, None if v is None else v * unit, None if b is None else b * unit) for t, v, b in trace]
