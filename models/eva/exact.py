"""The fast exact method for Eva's packing: patterns where they can be listed, column generation where they cannot."""

from __future__ import annotations

from instances import Answer, Options, Report, Result, Stopwatch, conclude, ignore
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from models.eva.master import in_usd, solve_covering
from models.eva.net_saving import solve_net_saving
from models.eva.patterns import covering_patterns

LIMIT = 8_000  # feasible patterns of one type beyond which column generation takes over


def exact(data: EvaPacking, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve an `eva-packing` instance to proven optimality, or as far as the time limit allows.

    `cost`: an integer master over the patterns that matter. `net-saving`: set partitioning over all patterns that pay.
    """
    arrays = packing_arrays(data)
    if data.objective == "net-saving":
        answer = solve_net_saving(arrays, lambda: _least_cost(data, options), options, report)
    else:
        answer = _solve_cost(arrays, options, report)
    return conclude(data, "exact", answer, options, kind="exact")


def _solve_cost(arrays: PackingArrays, options: Options, report: Report) -> Answer:
    answer = solve_patterns(arrays, options, report)
    if answer is None:
        raise NotImplementedError("column generation is on its way")
    return answer


def _least_cost(data: EvaPacking, options: Options) -> float | None:
    """A lower bound in USD/h on the cost of a packing of the same tasks."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, options, ignore).bound


def solve_patterns(arrays: PackingArrays, options: Options, report: Report = ignore) -> Answer | None:
    """Integer master over all the patterns that matter; `None` where they are too many to list."""
    with Stopwatch() as building:
        patterns = covering_patterns(arrays, LIMIT)
    if patterns is None:
        return None
    solved, groups = solve_covering(arrays, patterns, options, report)
    return Answer(
        solution=arrays.solution(groups) if groups else None,
        bound=None if solved.bound is None else arrays.usd(int(solved.bound)),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=in_usd(arrays, solved.trace),
        info={**solved.info, "method": "patterns", "patterns": len(patterns.kind)},
    )
