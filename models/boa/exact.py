"""The fast exact method of `boa-allocation`, by the formulation that the instance asks for."""

from __future__ import annotations

from dataclasses import replace

from instances import Answer, Options, Report, Solution, Stopwatch, check
from instances.boa import BoaAllocation, hull_deviation
from instances.method import method
from models.boa.convex.convex_dual import exact_convex
from models.boa.real_widths.branching import solve_real
from models.boa.real_widths.run_dual import RunDual
from models.boa.rescaling.micp import prepare, solve_micp


@method("exact", honours=frozenset({"time_limit", "gap"}))
def exact(data: BoaAllocation, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve a `boa-allocation` instance to proven optimality, or as far as the time limit allows.

    Without rescaling times and with continuous widths, or shares of several GPU types: the convex problem, through its
    optimality conditions. With both, the mixed-integer convex problem: branch and bound over where widths change.
    Otherwise the mixed-integer problem over whole widths: Lagrangian bound and enumeration of the paths within the gap.
    Nothing worse than `start`, a solution to begin from, is returned.

    `info["hull_deviation"]`: the most by which the hull exceeds a measured table, as a share. Raises InputError
    where the instance has no optimum or is too large.
    """
    if data.real:
        with Stopwatch() as building:
            dual = RunDual(data)
        known = None if start is None else check(data, start).objective
        answer = replace(solve_real(data, dual, options, report, known), build_s=building.cpu_s)
    elif data.convex:
        answer = exact_convex(data, options, report)
    else:
        with Stopwatch(options.time_limit) as building:
            prepared = prepare(data)
        left = building.limit_left_s
        rest = replace(options, time_limit=left)
        answer = replace(solve_micp(prepared, data.budget, rest, report, start), build_s=building.cpu_s)
    return replace(answer, info={**answer.info, "hull_deviation": max(hull_deviation(data).values())})
