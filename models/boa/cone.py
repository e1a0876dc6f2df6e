"""Problems (1)/(6) and (7) as they read: a cone program in cvxpy, and a linear program where every speedup is a table.

For class i, epoch j and GPU type h: p is the share of the jobs of the epoch on that type, x = p z the share times
z = 1/s(k), y the cost p z β(1/z) over the size, where β is the inverse of s. Appendix B shows z β(1/z) to be convex in
z; y is its perspective in (x, p), which keeps problem (7) convex although p and z are multiplied.
"""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch, ignore
from instances.boa import BUDGET_SLACK, BoaAllocation, least_budget
from instances.result import Termination
from models.boa.convex import by_class, rounded_down
from models.boa.curves import AMDAHL, POWER, TABLE, Curves, Lagrangian, curves, width_at
from models.boa.network import FloatArray
from models.highs import LinearModel, solve_arrays

ACCURACY = 1e-10  # of the cone solver
SOLVER_SLACK = 1e-8  # relative: taken off HiGHS's bound, for its tolerances
SMALLEST = 1e-9  # a share below this is none


def build_cone(c: Curves, budget: float) -> tuple[cp.Problem, Any, cp.Variable, cp.Variable]:
    """Problem (7), and with one GPU type problem (6): the problem, its shares p, times x and costs y, all (N,).

    With one GPU type every p is the constant 1. The first constraint is the budget.
    """
    n = len(c.value)
    x, y = cp.Variable(n), cp.Variable(n)
    p = cp.Variable(n, nonneg=True) if c.types > 1 else cp.Constant(np.ones(n))
    first, last = _ends(c)
    rules = [c.price @ y <= budget, x <= cp.multiply(first, p), x >= cp.multiply(last, p)]
    if c.types > 1:
        rules.append(sparse.kron(sparse.eye_array(c.epochs), np.ones((1, c.types))) @ p == 1)
    for add in (_amdahl, _power, _table):
        rules += add(c, p, x, y)
    return cp.Problem(cp.Minimize(c.value @ x), rules), p, x, y


def _ends(c: Curves) -> tuple[FloatArray, FloatArray]:
    """z at width 1, and at the widest run."""
    first, last = np.ones(len(c.value)), np.zeros(len(c.value))
    a, b, t = (c.kind == kind for kind in (AMDAHL, POWER, TABLE))
    last[a] = 1 - c.parameter[a] + c.parameter[a] / c.last[a]
    last[b] = c.last[b] ** -c.parameter[b]
    if t.any():
        first[t], last[t] = 1 / c.speed[c.rows(), 0], 1 / c.speed[c.rows()].max(1)
    return first, last


def _amdahl(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """s(k) = 1 / (1 - f + f / k): z β(1/z) = f + f (1 - f) / (z - (1 - f)); its perspective by a rotated cone."""
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
    """s(k) = k^a: z β(1/z) = z^(1 - 1/a), whose perspective is y^a x^(1 - a) >= p."""
    at = np.flatnonzero(c.kind == POWER)
    inner = at[(c.parameter[at] > 0) & (c.parameter[at] < 1)]
    rules = [y[i] >= p[i] for i in np.setdiff1d(at, inner)]
    if len(inner):
        rules.append(cp.PowCone3D(y[inner], x[inner], p[inner], c.parameter[inner]))
    return rules


def _table(c: Curves, p: Any, x: Any, y: Any) -> list[Any]:
    """Between two widths of the hull c is linear in z: y >= the line through both, scaled by p."""
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
        lagrangian = Lagrangian(c)
        lagrangian.check_bounded()
        scale, unit = float(c.value.mean()), data.budget / c.epochs
        scaled = Curves(c.value / scale, c.price / unit, c.kind, c.parameter, c.last, c.speed, c.types)
        problem, p, x, _ = build_cone(scaled, data.budget / unit)
    accuracy = {"tol_gap_abs": ACCURACY, "tol_gap_rel": ACCURACY, "tol_feas": ACCURACY}
    limit = {} if options.time_limit is None else {"time_limit": options.time_limit}
    with Stopwatch(options.time_limit) as clock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # the checker and the bound will tell
        try:
            problem.solve(solver=cp.CLARABEL, max_threads=options.threads, **accuracy, **limit)
        except cp.SolverError as error:
            return Answer(None, None, "error", f"Clarabel: {error}", building.cpu_s, clock.cpu_s)
    if x.value is None:
        why: Termination = "time_limit" if clock.expired else "error"
        return Answer(None, None, why, f"Clarabel: {problem.status}", building.cpu_s, clock.cpu_s)
    bound = rounded_down(lagrangian.at(max(0.0, float(problem.constraints[0].dual_value) * scale / unit)), data.budget)
    share = np.maximum(p.value, 0).reshape(-1, c.types)
    share = np.where(share < SMALLEST, 0, share)
    share = (share / share.sum(1, keepdims=True)).ravel()
    z = np.divide(x.value, p.value, out=np.ones(len(share)), where=share > 0)
    solution = _solution(data, c, *_repair(data, c, share, z))
    report(solution, bound)
    return Answer(
        solution=solution,
        bound=bound,
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, None, bound),),
        info={"rows": sum(r.size for r in problem.constraints), "columns": sum(v.size for v in problem.variables())},
    )


def literal_lp(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Problem (7) as a linear program over shares of (type, width), where every speedup is a table; by HiGHS."""
    with Stopwatch() as building:
        c = curves(data)
        z = 1 / c.speed[c.rows()]
        width = np.arange(1, z.shape[1] + 1)
        valid = (width <= c.last[:, None]).ravel()
        n = z.shape[0] * z.shape[1]
        epochs = sparse.kron(sparse.eye_array(c.epochs), np.ones((1, c.types * z.shape[1])))
        cost = (c.price[:, None] * z * width).ravel() / data.budget
        model = LinearModel(
            cost=(c.value[:, None] * z).ravel(),
            matrix=sparse.vstack([cost.reshape(1, n), epochs]),
            row_lower=np.concatenate([[-np.inf], np.ones(c.epochs)]),
            row_upper=np.ones(1 + c.epochs),
            upper=np.where(valid, 1.0, 0.0),
        )
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = solve_arrays(model, options, extra=tight)
    solution = None
    if solved.x is not None:
        share = np.where(solved.x < SMALLEST, 0, solved.x).reshape(c.epochs, c.types, len(width))
        share /= share.sum((1, 2), keepdims=True)
        solution = _lp_solution(data, c, share)
        report(solution, solved.bound)
    return Answer(
        solution=solution,
        bound=None if solved.bound is None else solved.bound * (1 - SOLVER_SLACK),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=solved.trace,
        info={**solved.info, "rows": 1 + c.epochs, "columns": n},
    )


def _repair(data: BoaAllocation, c: Curves, share: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares and widths within the budget: a solver's last digits are paid for by moving towards width 1."""
    first, last = _ends(c)
    z = np.clip(z, last, first)
    for _ in range(60):
        width = np.array([width_at(c, i, v) if s > 0 else 1.0 for i, (v, s) in enumerate(zip(z, share, strict=True))])
        spent = float((c.price * share * z * width).sum())
        excess = spent - data.budget
        if excess <= BUDGET_SLACK / 2 * data.budget:
            break
        back = min(1.0, 1.01 * excess / max(spent - least_budget(data), excess))
        z = z + back * (first - z)
    return share, width


def _solution(data: BoaAllocation, c: Curves, share: FloatArray, width: FloatArray) -> Solution:
    if not data.heterogeneous:
        return {"widths": by_class(data, width)}
    rows = iter(np.stack([share, width], axis=-1).reshape(c.epochs, c.types, 2))
    names = [t.name for t in data.gpu_types]

    def options() -> list[dict[str, Any]]:
        return [
            {"type": name, "width": float(k), "fraction": float(p)}
            for name, (p, k) in zip(names, next(rows), strict=True)
            if p > 0
        ]

    return {"assignment": {job_class.name: [options() for _ in job_class.epochs] for job_class in data.classes}}


def _lp_solution(data: BoaAllocation, c: Curves, share: FloatArray) -> Solution:
    if not data.heterogeneous:
        z = (share[:, 0] / c.speed[c.rows()]).sum(1)
        return {"widths": by_class(data, np.array([width_at(c, i, v) for i, v in enumerate(z)]))}
    rows = iter(share)
    names = [t.name for t in data.gpu_types]

    def options() -> list[dict[str, Any]]:
        row = next(rows)
        return [
            {"type": names[h], "width": float(k + 1), "fraction": float(row[h, k])} for h, k in np.argwhere(row > 0)
        ]

    return {"assignment": {job_class.name: [options() for _ in job_class.epochs] for job_class in data.classes}}
