"""The integer master problem over patterns, in whole price units.

minimise sum_p C_p x_p subject to sum_p a_cp x_p >= n_c for each class c, x whole: a covering, trimmed to a packing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from instances import Options, Report, ignore
from instances.eva.arrays import Group, PackingArrays
from instances.result import TracePoint
from models.bounds import whole_bound
from models.eva.configuration import configuration, groups
from models.eva.patterns import Patterns
from models.eva.trimming import trim
from models.highs import LinearModel, Solved, solve_arrays


def covering_master(arrays: PackingArrays, patterns: Patterns) -> LinearModel:
    """The master problem: one column a pattern, one row a class."""
    return LinearModel(
        cost=arrays.price[patterns.kind],
        matrix=patterns.on_it.T,
        row_lower=arrays.count,
        row_upper=np.inf,
        integer=True,
    )


def solve_covering(
    arrays: PackingArrays, patterns: Patterns, options: Options, report: Report = ignore
) -> tuple[Solved, list[Group]]:
    """Solve the master in HiGHS. Costs are whole, so a bound well above c - 1 proves a solution of cost c."""

    def watch(x: np.ndarray | None, bound: float | None) -> None:
        solution = None if x is None else arrays.solution(packing(arrays, patterns, x))
        report(solution, None if bound is None else arrays.usd(whole_bound(bound)))

    solved = solve_arrays(
        covering_master(arrays, patterns),
        options,
        watch=None if report is ignore else watch,
        extra={"mip_abs_gap": 0.5},
    )
    bound = None if solved.bound is None else float(whole_bound(solved.bound))
    return replace(solved, bound=bound), [] if solved.x is None else packing(arrays, patterns, solved.x)


def packing(arrays: PackingArrays, patterns: Patterns, x: np.ndarray) -> list[Group]:
    """The instances of a master solution `x` (P,), without the tasks that it covers too often."""
    return groups(trim(arrays, configuration(patterns.groups(x))))


def in_usd(arrays: PackingArrays, trace: Iterable[TracePoint]) -> list[TracePoint]:
    """A trace in price units as one in USD/h."""
    unit = float(arrays.price_unit)
    return [(t, None if v is None else v * unit, None if b is None else b * unit) for t, v, b in trace]
