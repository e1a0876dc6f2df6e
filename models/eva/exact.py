"""The fast exact method for Eva's packing: patterns where they can be listed, column generation where they cannot."""

from __future__ import annotations

from collections.abc import Sequence

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import method
from instances.options import ignore
from models.eva.columns import solve_columns
from models.eva.covering_master import in_usd, solve_covering
from models.eva.net_saving import solve_net_saving
from models.eva.patterns import covering_patterns

LIMIT = 8_000  # feasible patterns of one type beyond which column generation is faster


@method("exact")
def exact(data: EvaPacking, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve an `eva-packing` instance to proven optimality, or as far as the time limit allows.

    `cost`: an integer master over the patterns that matter, or column generation where they are too many.
    `net-saving`: set partitioning over all patterns that pay. `start` is a valid solution to begin from; the result is
    never worse.
    """
    arrays = packing_arrays(data)
    groups = None if start is None else arrays.groups(start)
    if data.objective == "net-saving":
        return solve_net_saving(arrays, lambda: _least_cost(data, options), options, report, groups)
    return _solve_cost(arrays, options, report, groups)


def _solve_cost(
    arrays: PackingArrays, options: Options, report: Report, start: Sequence[Group] | None = None
) -> Answer:
    return solve_patterns(arrays, options, report, start) or solve_columns(arrays, options, report, start)


def _least_cost(data: EvaPacking, options: Options) -> float | None:
    """A lower bound in USD/h on the cost of a packing of the same tasks."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, options, ignore).bound


def solve_patterns(
    arrays: PackingArrays, options: Options, report: Report = ignore, start: Sequence[Group] | None = None
) -> Answer | None:
    """Integer master over all the patterns that matter; `None` where they are too many to list."""
    with Stopwatch() as building:
        patterns = covering_patterns(arrays, LIMIT)
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
