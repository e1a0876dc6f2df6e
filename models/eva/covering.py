"""Patterns of an instance: numbers of tasks of each class that fit together, and the integer master over them.

A pattern of type k is maximal if no further task fits (Gilmore and Gomory, 1961). In a covering model, maximal patterns
suffice. A pattern is dominated if a cheaper instance, or two cheaper instances together, can hold it, and dominated
patterns may be omitted. The master, in integer price units:

minimise sum_p C_p x_p subject to sum_p a_cp x_p >= n_c for each class c, and sum_p x_p <= m_k over the patterns of each
type k with a limit m_k, x integer. The solution is a cover, which is trimmed to a packing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from instances import Options, Report
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.eva.arrays import Group, PackingArrays
from instances.options import ignore
from instances.result import TracePoint
from models.core.fine_units import CoarseUnits
from models.core.highs import LinearModel, Solved, solve_arrays
from models.eva.configuration import configuration, dearest, groups, is_within_limits, missing, trim

CELLS = 4_000_000  # most numbers in a block of a comparison, which bounds the memory


@dataclass(frozen=True)
class Patterns:
    """P patterns: `kind` (P,) the instance type of each, `on_it` (P, N) the tasks of each class."""

    kind: IntArray
    on_it: IntArray

    def chosen(self, which: BoolArray) -> Patterns:
        """Return the patterns for which `which` (P,) is true."""
        return Patterns(self.kind[which], self.on_it[which])

    def groups(self, x: NDArray[np.float64]) -> list[Group]:
        """Return the instances of a solution `x` (P,), the number of each pattern."""
        times = np.round(x).astype(np.int64)
        return [
            (int(self.kind[p]), {int(c): int(self.on_it[p, c]) for c in np.flatnonzero(self.on_it[p])}, int(times[p]))
            for p in np.flatnonzero(times > 0)
        ]


def feasible_patterns(capacity: IntArray, demand: IntArray, most: IntArray, limit: int) -> IntArray | None:
    """Return all patterns (P, N) that fit in `capacity` (R,), or `None` if they are more than `limit`.

    - `demand` (N, R): demand of a task of each class. A class without demand is limited by `most` alone.
    - `most` (N,): most tasks of each class.
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


@dataclass(frozen=True)
class Covered:
    """The result of the master problem: instances, an empty list without a solution, and a `bound` in price units."""

    groups: list[Group]
    bound: int | None
    solved: Solved


def covering_master(arrays: PackingArrays, patterns: Patterns) -> LinearModel:
    """Build the master problem (Gilmore and Gomory, 1961), with a column for each pattern.

    It has a row for each class and one for each limit.
    """
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
) -> Covered:
    """Solve the master in HiGHS; the start is returned unless a cheaper solution is found.

    Costs are integers, so a bound well above c - 1 proves a solution of cost c. No instance of a better solution costs
    more than the start, or without limits, than every task alone. More expensive patterns are omitted.

    - `arrays`: the instance.
    - `patterns`: the patterns (P, N) to cover the tasks by.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from.
    """
    alone = dearest(arrays) if arrays.has_limits else arrays.price_alone
    ceiling = alone if start is None else min(alone, arrays.cost(start))
    patterns = patterns.chosen(arrays.price[patterns.kind] <= ceiling)
    x = None
    if start is not None:
        patterns, x = _add_start(arrays, patterns, start)

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
        extra={"mip_abs_gap": 0.5 / unit},
    )
    bound = proven(solved.bound)
    trace = tuple((t, None if v is None else v * unit, proven(b)) for t, v, b in solved.trace)
    solved = replace(solved, objective=None if solved.objective is None else solved.objective * unit, trace=trace)
    found = (None if solved.x is None else packing(arrays, patterns, solved.x)) or []
    if start is not None and (not found or arrays.cost(found) >= arrays.cost(start)):
        found = list(start)
    if not found and (solved.x is not None or (solved.termination == "infeasible" and not arrays.has_limits)):
        solved = replace(solved, termination="error", reason="HiGHS's solution is one by its tolerances only")
    return Covered(found, bound, solved)


def _add_start(arrays: PackingArrays, patterns: Patterns, start: Sequence[Group]) -> tuple[Patterns, FloatArray]:
    """Return the patterns, with those of the start that no other pattern covers, and the start as a solution (P,)."""
    x = np.zeros(len(patterns.kind))
    kinds: list[int] = []
    rows: list[IntArray] = []
    times: list[int] = []
    price = arrays.price[patterns.kind]
    for kind, pattern, copies in start:
        on_it = np.zeros(arrays.classes, dtype=np.int64)
        on_it[list(pattern)] = list(pattern.values())
        stands_in = patterns.kind == kind if arrays.has_limits else price <= arrays.price[kind]
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
    """Return the instances of a master solution `x` (P,), without the tasks that are covered too often.

    Return `None` if the rounded `x` lacks a task or violates a limit: `x` is feasible only by the solver's tolerances.
    """
    cover = configuration(patterns.groups(x))
    if (missing(arrays, cover) > 0).any() or not is_within_limits(arrays, cover):
        return None
    return groups(trim(arrays, cover))


def convert_to_usd(arrays: PackingArrays, trace: Iterable[TracePoint]) -> list[TracePoint]:
    """Convert a trace from price units to USD/h."""
    unit = float(arrays.price_unit)
    return [(t, None if v is None else v * unit, None if b is None else b * unit) for t, v, b in trace]
