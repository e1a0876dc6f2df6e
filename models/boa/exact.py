"""The exact methods of `boa-allocation`, each taking the formulation that the instance asks for."""

from __future__ import annotations

from dataclasses import replace

from instances import Options, Report, Result, Stopwatch, conclude, ignore
from instances.boa import BoaAllocation
from models.boa.convex import exact_convex
from models.boa.curves import TABLE, curves
from models.boa.micp import prepare, solve_micp


def exact(data: BoaAllocation, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve a `boa-allocation` instance to proven optimality, or as far as the time limit allows.

    Without rescaling times and with continuous widths, or shares of several GPU types: the convex problem, through its
    optimality conditions. Otherwise the mixed-integer problem over whole widths: Lagrangian bound and enumeration of
    the paths within the gap. `info["hull_deviation"]`: the most by which the hull of a measured table exceeds it, as a
    share. Raises InputError where the instance has no optimum or is too large.
    """
    if data.convex:
        answer = exact_convex(data, options, report)
    else:
        with Stopwatch() as building:
            prepared = prepare(data)
        answer = replace(solve_micp(prepared, data.budget, options, report), build_s=building.cpu_s)
    answer = replace(answer, info={**answer.info, "hull_deviation": data.hulls.deviation})
    return conclude(data, "exact", answer, options, kind="exact")


def literal(data: BoaAllocation, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve the paper's formulation with a general solver.

    The convex problem as a cone program in cvxpy by Clarabel, or as a linear program by HiGHS where every speedup is a
    table; the problem with rescaling (Lemma 4.8) in Pyomo by HiGHS.
    """
    # Pyomo and cvxpy take a second to import, which only this method should cost
    if not data.convex:
        from models.boa.literal_micp import build_literal, read_literal
        from models.literal import solve_literal

        return solve_literal(data, build_literal, read_literal, options, report)
    from models.boa.cone import literal_cone, literal_lp

    solve = literal_lp if (curves(data).kind == TABLE).all() else literal_cone
    return conclude(data, "literal", solve(data, options, report), options, kind="exact")
