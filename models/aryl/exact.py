"""The exact methods of `aryl-elastic` and `aryl-reclaim`, the fast and the literal one, by the type of the data."""

from __future__ import annotations

from dataclasses import replace

from instances import InputError, MalformedSolution, Options, Report, Result, Solution, check, conclude, ignore
from instances.aryl import ArylElastic, ArylReclaim
from models.aryl.knapsack import solve_knapsack
from models.aryl.literal_elastic import literal_elastic
from models.aryl.literal_reclaim import literal_reclaim
from models.aryl.mean_jct import solve_mean_jct
from models.aryl.reclaim import solve_reclaim

Data = ArylElastic | ArylReclaim


def exact(data: Data, options: Options = Options(), report: Report = ignore, start: Solution | None = None) -> Result:
    """Solve an instance to proven optimality, or as far as the time limit allows.

    `jct-reduction` by dynamic programming, `mean-jct` by an event-interval program, `aryl-reclaim` by decomposition and
    integer programming. The result is never worse than the solution `start`, which each of them begins from.
    Raises InputError for a `start` that is none.
    """
    known = None
    if start is not None:
        known = _objective(data, start)
        report(start, None)
    if isinstance(data, ArylReclaim):
        answer = solve_reclaim(data, options, report, None if start is None else start["servers"])
    elif data.objective == "mean-jct":
        answer = solve_mean_jct(data, options, report, start)
    else:
        answer = solve_knapsack(data, options, report, start)
    result = conclude(data, "exact", answer, options, kind="exact")
    if known is None or result.objective is None:
        return result
    ahead = known < result.objective if data.sense == "minimize" else known > result.objective
    return conclude(data, "exact", replace(answer, solution=start), options, kind="exact") if ahead else result


def _objective(data: Data, start: Solution) -> float:
    """The objective of `start`. Raises InputError where it is no solution."""
    try:
        verdict = check(data, start)
    except MalformedSolution as error:
        raise InputError(f"start: {error}") from error
    if verdict.violations or verdict.objective is None:
        raise InputError(f"start: {next(iter(verdict.violations), 'no solution')}")
    return verdict.objective


def literal(data: Data, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve the paper's formulation as it is written, with HiGHS."""
    if isinstance(data, ArylReclaim):
        return literal_reclaim(data, options, report)
    return literal_elastic(data, options, report)
