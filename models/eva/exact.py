"""The fast exact method for Eva's packing: listed patterns, or column generation where the patterns are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import method
from instances.options import ignore
from models.eva.columns import solve_columns
from models.eva.covering_master import in_usd, solve_covering
from models.eva.net_saving import solve_net_saving
from models.eva.parameters import DEFAULTS, ExactParameters
from models.eva.patterns import covering_patterns


@method("exact")
def exact(
    data: EvaPacking,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    """Solve an `eva-packing` instance over patterns (Gilmore and Gomory, 1961), as far as the limits allow.

    `cost`: an integer master over the patterns that matter, or column generation where these are too many.
    `net-saving`: set partitioning over all patterns that pay.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution to begin from; the result is never worse.
    - `parameters`: the constants of the method.
    """
    arrays = packing_arrays(data)
    groups = None if start is None else arrays.groups(start)
    if data.objective == "net-saving":
        return solve_net_saving(
            arrays, partial(_least_cost, data, options, parameters), options, report, groups, parameters
        )
    return _solve_cost(arrays, options, report, groups, parameters)


def _solve_cost(
    arrays: PackingArrays,
    options: Options,
    report: Report,
    start: Sequence[Group] | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    return solve_patterns(arrays, options, report, start, parameters) or solve_columns(
        arrays, options, report, start, parameters.column_generation, parameters.item_packing
    )


def _least_cost(data: EvaPacking, options: Options, parameters: ExactParameters, seconds: float | None) -> float | None:
    """A lower bound in USD/h on the cost of a packing of the same tasks, from so many seconds of work."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, replace(options, time_limit=seconds), ignore, None, parameters).bound


def solve_patterns(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Answer | None:
    """Solve the integer master over all the patterns that matter; `None` where the patterns are too many to list.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of the method, of which `covering_patterns` counts here.
    """
    with Stopwatch() as building:
        patterns = covering_patterns(arrays, parameters.covering_patterns)
    if patterns is None:
        return None
    covered = solve_covering(arrays, patterns, options, report, start)
    solved = covered.solved
    return Answer(
        solution=arrays.solution(covered.groups) if covered.groups else None,
        bound=None if covered.bound is None else arrays.usd(covered.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=in_usd(arrays, solved.trace),
        info={**solved.info, "method": "patterns", "patterns": len(patterns.kind)},
    )
