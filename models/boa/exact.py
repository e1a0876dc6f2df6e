"""The exact methods of `boa-allocation`, each taking the formulation that the instance asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Options, Report, Result, Stopwatch, conclude, ignore
from instances.boa import BoaAllocation
from models.boa.cone import literal_cone, literal_lp
from models.boa.convex import exact_convex
from models.boa.curves import TABLE, curves
from models.boa.literal import build_literal, read_literal
from models.boa.micp import prepare, solve_micp
from models.literal import solve_literal


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
    if not data.convex:
        return solve_literal(data, build_literal, read_literal, options, report)
    solve = literal_lp if bool(np.all(curves(data).kind == TABLE)) else literal_cone
    return conclude(data, "literal", solve(data, options, report), options, kind="exact")
