"""The exact method of `boa-allocation`; the instance determines the formulation."""

from __future__ import annotations

from dataclasses import replace

from instances import Answer, Options, Report, Solution, Stopwatch, check
from instances.boa import BoaAllocation, hull_deviation
from instances.method import method
from models.boa.convex_dual import exact_convex
from models.boa.micp import prepare, solve_micp
from models.boa.run_branching import solve_real
from models.boa.run_dual import RunDual


@method("exact", honours=frozenset({"time_limit", "gap"}))
def exact(data: BoaAllocation, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve a `boa-allocation` instance to proven optimality, or until the time limit.

    The instance determines one of three problems:

    - without rescaling times, and with continuous widths or fractions on several GPU types: the convex problem, solved
      by a search for the multiplier of the budget;
    - with rescaling times and continuous widths: branch and bound on the epochs at which the width changes;
    - with integer widths: a Lagrangian bound, and an enumeration of the paths within the gap.

    - `start`: a solution to begin from. The answer is never worse.

    `info["hull_deviation"]` is the largest relative excess of the hull over a measured table. Raises InputError if the
    instance has no optimum or is too large.
    """
    if data.real:
        with Stopwatch() as building:
            dual = RunDual(data)
        start_objective = None if start is None else check(data, start).objective
        answer = replace(solve_real(data, dual, options, report, start_objective), build_s=building.cpu_s)
    elif data.convex:
        answer = exact_convex(data, options, report)
    else:
        with Stopwatch(options.time_limit) as building:
            prepared = prepare(data)
        left = building.limit_left_s
        remaining_options = replace(options, time_limit=left)
        answer = replace(solve_micp(prepared, data.budget, remaining_options, report, start), build_s=building.cpu_s)
    return replace(answer, info={**answer.info, "hull_deviation": max(hull_deviation(data).values())})
