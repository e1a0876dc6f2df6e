"""The fast exact method for Eva's packing: patterns where they can be listed, column generation where they cannot."""

from __future__ import annotations

from instances import Answer, Options, Report, Result, Solution, Stopwatch, conclude, ignore
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.result import Termination
from models.eva.column_generation import column_generation
from models.eva.configuration import Configuration, groups
from models.eva.covering_master import in_usd, solve_covering
from models.eva.net_saving import solve_net_saving
from models.eva.patterns import covering_patterns

LIMIT = 8_000  # feasible patterns of one type beyond which column generation is faster


def exact(data: EvaPacking, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve an `eva-packing` instance to proven optimality, or as far as the time limit allows.

    `cost`: an integer master over the patterns that matter, or column generation where they are too many.
    `net-saving`: set partitioning over all patterns that pay.
    """
    arrays = packing_arrays(data)
    if data.objective == "net-saving":
        answer = solve_net_saving(arrays, lambda: _least_cost(data, options), options, report)
    else:
        answer = _solve_cost(arrays, options, report)
    return conclude(data, "exact", answer, options, kind="exact")


def _solve_cost(arrays: PackingArrays, options: Options, report: Report) -> Answer:
    return solve_patterns(arrays, options, report) or solve_columns(arrays, options, report)


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
    solved, found = solve_covering(arrays, patterns, options, report)
    return Answer(
        solution=arrays.solution(found) if found else None,
        bound=None if solved.bound is None else arrays.usd(int(solved.bound)),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=in_usd(arrays, solved.trace),
        info={**solved.info, "method": "patterns", "patterns": len(patterns.kind)},
    )


def solve_columns(arrays: PackingArrays, options: Options, report: Report = ignore) -> Answer:
    """Column generation. Its bound rests on integers and rationals alone, save where `info["complete"]` says that HiGHS
    found nothing better among all the columns that a better solution could use."""
    with Stopwatch() as building:
        ordered = arrays.by_demand()

    def solution(configuration: Configuration | None) -> Solution | None:
        return None if configuration is None else ordered.solution(groups(configuration))

    def told(configuration: Configuration | None, bound: int | None) -> None:
        report(solution(configuration), None if bound is None else arrays.usd(bound))

    with Stopwatch(options.time_limit) as clock:
        outcome = column_generation(ordered, options, None if report is ignore else told)
    bound = outcome.cost if outcome.complete else outcome.bound
    closed = outcome.cost - bound <= options.gap * outcome.cost
    stopped: tuple[Termination, str | None] = ("finished", None) if closed else _unclosed(options, clock)
    return Answer(
        solution=solution(outcome.configuration),
        bound=arrays.usd(bound),
        termination=stopped[0],
        reason=stopped[1],
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=in_usd(arrays, outcome.trace),
        info={**outcome.info, "method": "column generation", "complete": outcome.complete},
    )


def _unclosed(options: Options, clock: Stopwatch) -> tuple[Termination, str]:
    """Why column generation ended with a gap."""
    if clock.expired:
        return "time_limit", "time limit"
    if options.effort is not None:
        return "effort_limit", "effort limit"
    return "finished", "no more columns were tried; a bound and an incumbent remain apart"
