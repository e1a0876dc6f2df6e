"""The exact methods of `boa-allocation`, each taking the formulation that the instance asks for."""

from __future__ import annotations

from dataclasses import replace

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.boa import BoaAllocation, hull_deviation
from instances.method import method
from models.boa.convex.curves import TABLE, curves
from models.boa.convex.multiplier_search import exact_convex
from models.boa.rescaling.micp import prepare, solve_micp


@method("exact", honours=frozenset({"time_limit", "gap"}))
def exact(data: BoaAllocation, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve a `boa-allocation` instance to proven optimality, or as far as the time limit allows.

    Without rescaling times and with continuous widths, or shares of several GPU types: the convex problem, through its
    optimality conditions. Otherwise the mixed-integer problem over whole widths: Lagrangian bound and enumeration of
    the paths within the gap. Nothing worse than `start`, a solution to begin from, is returned.
    `info["hull_deviation"]`: the most by which the hull of a measured table exceeds it, as a share. Raises InputError
    where the instance has no optimum, is too large, or asks for continuous widths with rescaling times.
    """
    _refuse_unsolved(data)
    if data.convex:
        answer = exact_convex(data, options, report)
    else:
        with Stopwatch() as building:
            prepared = prepare(data)
        answer = replace(solve_micp(prepared, data.budget, options, report, start), build_s=building.cpu_s)
    return replace(answer, info={**answer.info, "hull_deviation": max(hull_deviation(data).values())})


@method("exact")
def literal(data: BoaAllocation, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the paper's formulation with a general solver. Nothing worse than `start` is returned.

    The convex problem as a cone program in cvxpy by Clarabel, or as a linear program by HiGHS where every speedup is a
    table or widths are whole; the problem with rescaling (Lemma 4.8) in Pyomo by HiGHS.
    """
    _refuse_unsolved(data)
    # Pyomo and cvxpy take a second to import, which only this method should cost
    if not data.convex:
        from models.boa.rescaling.milp import solve_milp as solve
    elif data.widths == "integer" or (curves(data).kind == TABLE).all():
        from models.boa.convex.cone_program import literal_lp as solve
    else:
        from models.boa.convex.cone_program import literal_cone as solve
    return solve(data, options, report)


def _refuse_unsolved(data: BoaAllocation) -> None:
    if data.unsolved:
        raise InputError(f"data.widths: {data.unsolved}")
