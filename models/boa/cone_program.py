"""Problems (1)/(6) and (7) as a cone program in cvxpy, to be compared with the paper line by line.

For class i, epoch j and GPU type h: p is the fraction of the jobs of the epoch on that type, x = p z this fraction
times z = 1/s(k), and y = p z β(1/z) the cost over the size. β is the inverse of s. Appendix B shows that z β(1/z) is
convex in z. y is its perspective in (x, p), so problem (7) stays convex although p and z are multiplied.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Stopwatch
from instances.boa import BoaAllocation, compute_plan_limit, proven
from instances.clock import patience_s
from instances.options import ignore
from instances.result import Termination
from models.boa.convex_dual import LARGE, SMALLEST_SHARE, ConvexDual, repair_budget, write_policy
from models.boa.curves import AMDAHL, POWER, TABLE, Curves, curves

ACCURACY = 1e-10  # Clarabel's tolerance in gap and feasibility, tighter than its default of 1e-8


def build_cone(c: Curves, budget: float) -> tuple[cp.Problem, Any, cp.Variable, cp.Variable]:
    """Return problem (7), which is problem (6) for a single GPU type, and its variables p, x and y, all (N,).

    - `c`: the curves of the instance, N in total.
    - `budget`: right-hand side of the first constraint.

    With one GPU type every p is the constant 1.
    """
    n = len(c.value)
    x, y = cp.Variable(n), cp.Variable(n)
    p = cp.Variable(n, nonneg=True) if c.types > 1 else cp.Constant(np.ones(n))
    first, last = c.ends()
    constraints = [c.price @ y <= budget, x <= cp.multiply(first, p), x >= cp.multiply(last, p)]
    if c.types > 1:
        constraints.append(sparse.kron(sparse.eye_array(c.epochs), np.ones((1, c.types))) @ p == 1)
    for add in (_amdahl, _power, _table):
        constraints += add(c, p, x, y)
    return cp.Problem(cp.Minimize(c.value @ x), constraints), p, x, y


def _amdahl(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """Return the constraints on y for Amdahl's law, a rotated cone.

    z β(1/z) = f + f (1 - f) / (z - (1 - f)), so the perspective is (y - f p) (x - (1 - f) p) >= f (1 - f) p².
    """
    at = np.flatnonzero(c.kind == AMDAHL)
    inner = at[(c.parameter[at] > 0) & (c.parameter[at] < 1)]
    constraints = [y[i] >= p[i] for i in np.setdiff1d(at, inner)]
    if len(inner):
        f = c.parameter[inner]
        over = cp.multiply(1 / (f * (1 - f)), y[inner] - cp.multiply(f, p[inner]))
        under = x[inner] - cp.multiply(1 - f, p[inner])
        constraints.append(cp.SOC(over + under, cp.vstack([2 * p[inner], over - under]), axis=0))
    return constraints


def _power(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """Return the constraints on y for the power k^a, a power cone.

    z β(1/z) = z^(1 - 1/a), so the perspective is y^a x^(1 - a) >= p.
    """
    at = np.flatnonzero(c.kind == POWER)
    inner = at[(c.parameter[at] > 0) & (c.parameter[at] < 1)]
    constraints = [y[i] >= p[i] for i in np.setdiff1d(at, inner)]
    if len(inner):
        constraints.append(cp.PowCone3D(y[inner], x[inner], p[inner], c.parameter[inner]))
    return constraints


def _table(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """Return the constraints on y for tables.

    Between two adjacent widths of the hull the cost is linear in z. So y is at least the line through both, scaled by
    p.
    """
    at = np.flatnonzero(c.kind == TABLE)
    if not len(at):
        return []
    z = 1 / c.speed[c.rows()]
    cost = z * np.arange(1, c.speed.shape[1] + 1)
    fall, rise = z[:, :-1] - z[:, 1:], np.diff(cost, axis=1)
    row, k = np.nonzero(fall > 1e-12)
    slope = -rise[row, k] / fall[row, k]
    intercept = cost[row, k] - slope * z[row, k]
    constraints = [y[at[row]] >= cp.multiply(intercept, p[at[row]]) + cp.multiply(slope, x[at[row]])]
    min_cost = cost.min(1)
    return [*constraints, y[at] >= cp.multiply(min_cost, p[at])]


def literal_cone(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Solve the cone program with Clarabel, and return a policy with its Lagrangian bound.

    An interior-point method keeps constraints only up to its tolerances. So the shares and widths are repaired to
    satisfy the budget, and the bound is the Lagrangian at Clarabel's multiplier instead of Clarabel's objective.

    - `options`: time limit and threads.
    - `report`: called once with the policy and the bound.

    Raises InputError if no width limits a linear speedup.
    """
    with Stopwatch() as building:
        c = curves(data)
        dual = ConvexDual(c)
        dual.check_bounded()
        scale, unit = float(c.value.mean()), data.budget / c.epochs
        scaled = replace(c, value=c.value / scale, price=c.price / unit)
        problem, p, x, _ = build_cone(scaled, compute_plan_limit(data.budget) / unit)
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), ACCURACY)
    with Stopwatch(options.time_limit) as clock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # we check it
        for equilibrated in (True, False):  # Clarabel solves some more programs without its scaling of rows and columns
            limit = {} if clock.limit_left_s is None else {"time_limit": patience_s(clock.limit_left_s)}
            more = accuracy | limit | {"equilibrate_enable": equilibrated}
            try:
                problem.solve(solver=cp.CLARABEL, max_threads=options.threads, **more)
                break
            except cp.SolverError as error:
                if not equilibrated:
                    return Answer(None, None, "error", f"Clarabel: {error}", building.cpu_s, clock.cpu_s)
    if x.value is None:
        termination: Termination = "time_limit" if clock.has_expired or problem.status == cp.USER_LIMIT else "error"
        return Answer(None, None, termination, f"Clarabel: {problem.status}", building.cpu_s, clock.cpu_s)
    bound = dual.bound(max(0.0, float(problem.constraints[0].dual_value) * scale / unit), proven(data.budget))
    share = np.maximum(p.value, 0).reshape(-1, c.types)
    share = np.where(share < SMALLEST_SHARE, 0, share)
    share = (share / share.sum(1, keepdims=True)).ravel()
    z = np.divide(x.value, p.value, out=np.ones(len(share)), where=share > 0)
    solution = write_policy(data, *repair_budget(data, c, share, z, dual.evaluate(LARGE)))
    report(solution, bound)
    return Answer(
        solution=solution,
        bound=bound,
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, None, bound),),
        info={"rows": sum(r.size for r in problem.constraints), "columns": sum(v.size for v in problem.variables())},
    )
