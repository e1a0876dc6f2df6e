"""Problems (1)/(6) and (7) as a cone program in cvxpy, to be read beside the paper.

For class i, epoch j and GPU type h: p is the share of the jobs of the epoch on that type, x = p z the share times
z = 1/s(k), y the cost p z β(1/z) over the size, where β is the inverse of s. Appendix B shows z β(1/z) to be convex in
z; y is its perspective in (x, p), which keeps problem (7) convex although p and z are multiplied.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Stopwatch
from instances.boa import BoaAllocation, planned, proven
from instances.clock import patience_s
from instances.options import ignore
from instances.result import Termination
from models.boa.convex.convex_dual import LARGE, SMALLEST_SHARE, ConvexDual, policy, repaired
from models.boa.convex.curves import AMDAHL, POWER, TABLE, Curves, curves

ACCURACY = 1e-10  # Clarabel stops at this accuracy in gap and feasibility.


def build_cone(c: Curves, budget: float) -> tuple[cp.Problem, Any, cp.Variable, cp.Variable]:
    """Problem (7), and with a single GPU type problem (6): problem, shares p, times x and costs y, all (N,).

    With one GPU type every p is the constant 1. The first constraint is the budget.
    """
    n = len(c.value)
    x, y = cp.Variable(n), cp.Variable(n)
    p = cp.Variable(n, nonneg=True) if c.types > 1 else cp.Constant(np.ones(n))
    first, last = c.ends()
    rules = [c.price @ y <= budget, x <= cp.multiply(first, p), x >= cp.multiply(last, p)]
    if c.types > 1:
        rules.append(sparse.kron(sparse.eye_array(c.epochs), np.ones((1, c.types))) @ p == 1)
    for add in (_amdahl, _power, _table):
        rules += add(c, p, x, y)
    return cp.Problem(cp.Minimize(c.value @ x), rules), p, x, y


def _amdahl(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """Amdahl's law: z β(1/z) = f + f (1 - f) / (z - (1 - f)), whose perspective is a rotated cone."""
    at = np.flatnonzero(c.kind == AMDAHL)
    inner = at[(c.parameter[at] > 0) & (c.parameter[at] < 1)]
    rules = [y[i] >= p[i] for i in np.setdiff1d(at, inner)]
    if len(inner):
        f = c.parameter[inner]
        over = cp.multiply(1 / (f * (1 - f)), y[inner] - cp.multiply(f, p[inner]))
        under = x[inner] - cp.multiply(1 - f, p[inner])
        rules.append(cp.SOC(over + under, cp.vstack([2 * p[inner], over - under]), axis=0))
    return rules


def _power(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """The power k^a: z β(1/z) = z^(1 - 1/a), whose perspective is y^a x^(1 - a) >= p."""
    at = np.flatnonzero(c.kind == POWER)
    inner = at[(c.parameter[at] > 0) & (c.parameter[at] < 1)]
    rules = [y[i] >= p[i] for i in np.setdiff1d(at, inner)]
    if len(inner):
        rules.append(cp.PowCone3D(y[inner], x[inner], p[inner], c.parameter[inner]))
    return rules


def _table(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """Tables: between two widths of the hull c is linear in z, so y >= the line through both, scaled by p."""
    at = np.flatnonzero(c.kind == TABLE)
    if not len(at):
        return []
    z = 1 / c.speed[c.rows()]
    cost = z * np.arange(1, c.speed.shape[1] + 1)
    fall, rise = z[:, :-1] - z[:, 1:], np.diff(cost, axis=1)
    row, k = np.nonzero(fall > 1e-12)
    slope = -rise[row, k] / fall[row, k]
    base = cost[row, k] - slope * z[row, k]
    rules = [y[at[row]] >= cp.multiply(base, p[at[row]]) + cp.multiply(slope, x[at[row]])]
    least = cost.min(1)
    return [*rules, y[at] >= cp.multiply(least, p[at])]


def literal_cone(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Solve the cone program with Clarabel. The bound is the Lagrangian at the multiplier that Clarabel finds.

    An interior-point method keeps constraints to its tolerances only, so its shares and widths are made to fit, and
    its objective is no bound.
    """
    with Stopwatch() as building:
        c = curves(data)
        dual = ConvexDual(c)
        dual.check_bounded()
        scale, unit = float(c.value.mean()), data.budget / c.epochs
        scaled = replace(c, value=c.value / scale, price=c.price / unit)
        problem, p, x, _ = build_cone(scaled, planned(data.budget) / unit)
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), ACCURACY)
    with Stopwatch(options.time_limit) as clock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # Checker and bound will tell.
        for equilibrated in (True, False):  # without its scaling of rows and columns Clarabel solves some more
            limit = {} if clock.limit_left_s is None else {"time_limit": patience_s(clock.limit_left_s)}
            more = accuracy | limit | {"equilibrate_enable": equilibrated}
            try:
                problem.solve(solver=cp.CLARABEL, max_threads=options.threads, **more)
                break
            except cp.SolverError as error:
                if not equilibrated:
                    return Answer(None, None, "error", f"Clarabel: {error}", building.cpu_s, clock.cpu_s)
    if x.value is None:
        why: Termination = "time_limit" if clock.expired or problem.status == cp.USER_LIMIT else "error"
        return Answer(None, None, why, f"Clarabel: {problem.status}", building.cpu_s, clock.cpu_s)
    bound = dual.bound(max(0.0, float(problem.constraints[0].dual_value) * scale / unit), proven(data.budget))
    share = np.maximum(p.value, 0).reshape(-1, c.types)
    share = np.where(share < SMALLEST_SHARE, 0, share)
    share = (share / share.sum(1, keepdims=True)).ravel()
    z = np.divide(x.value, p.value, out=np.ones(len(share)), where=share > 0)
    solution = policy(data, c, *repaired(data, c, share, z, dual.at(LARGE)))
    report(solution, bound)
    return Answer(
        solution=solution,
        bound=bound,
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, None, bound),),
        info={"rows": sum(r.size for r in problem.constraints), "columns": sum(v.size for v in problem.variables())},
    )
