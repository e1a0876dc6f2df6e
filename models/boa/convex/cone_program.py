"""Problems (1)/(6) and (7) as they read: a cone program in cvxpy, and a linear program where every speedup is a table.

For class i, epoch j and GPU type h: p is the share of the jobs of the epoch on that type, x = p z the share times
z = 1/s(k), y the cost p z β(1/z) over the size, where β is the inverse of s. Appendix B shows z β(1/z) to be convex in
z; y is its perspective in (x, p), which keeps problem (7) convex although p and z are multiplied.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.boa import BoaAllocation, planned, proven
from instances.options import ignore
from instances.result import Termination
from models.boa.convex.curves import AMDAHL, POWER, TABLE, Choice, Curves, Lagrangian, cost_at, curves, width_at
from models.boa.convex.multiplier_search import LARGE, by_class
from models.boa.rescaling.network import FloatArray
from models.highs import LinearModel, solve_arrays

ACCURACY = 1e-10  # of the cone solver
FIRST = 64  # whole widths of a formula that the linear program has to begin with
GROWTH = 4
LARGEST = 1e12  # in a linear program, as a multiple of the budget or of the scale: HiGHS refuses larger numbers
MOST_COLUMNS = 2_000_000  # of a linear program
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
        scaled = replace(c, value=c.value / scale, price=c.price / unit)
        problem, p, x, _ = build_cone(scaled, planned(data.budget) / unit)
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
    bound = lagrangian.bound(max(0.0, float(problem.constraints[0].dual_value) * scale / unit), proven(data.budget))
    share = np.maximum(p.value, 0).reshape(-1, c.types)
    share = np.where(share < SMALLEST, 0, share)
    share = (share / share.sum(1, keepdims=True)).ravel()
    z = np.divide(x.value, p.value, out=np.ones(len(share)), where=share > 0)
    solution = _solution(data, c, *_repair(data, c, share, z, lagrangian.at(LARGE)))
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
    """Problem (7) as a linear program over shares of (type, width), where every speedup is a table; by HiGHS.

    A formula over whole widths is a table without an end. It is cut at a width, and more widths are added until the
    best one at the program's own multiplier is among them; the bound is the Lagrangian there, over all widths.
    """
    with Stopwatch() as building:
        lagrangian = Lagrangian(curves(data))
        lagrangian.check_bounded()
        program = _program(data, FIRST)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    with Stopwatch(options.time_limit) as clock:
        while True:
            left = None if options.time_limit is None else max(clock.remaining_s, 1e-3)
            solved = solve_arrays(program.model, replace(options, time_limit=left), extra=tight)
            if solved.x is None or solved.duals is None:
                return Answer(None, None, solved.termination, solved.reason, building.cpu_s, clock.cpu_s)
            mu = max(0.0, -float(solved.duals[0])) * program.scale / data.budget
            wanted = lagrangian.widest(mu)
            if wanted <= program.last or clock.expired:
                break
            program = _program(data, int(min(max(wanted, program.last * GROWTH), program.last * GROWTH**4)))
    bound = lagrangian.bound(mu, proven(data.budget))
    solution = _lp_solution(data, program, solved.x, lagrangian)
    report(solution, bound)
    rows, columns = program.model.matrix.shape
    return Answer(
        solution=solution,
        bound=bound,
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, None, bound),),
        info={**solved.info, "rows": rows, "columns": columns},
    )


@dataclass(frozen=True)
class _Program:
    """Problem (7) over whole widths up to `last`; its objective is in units of `scale` hours, its budget 1.

    Widths far too dear or slow for floats are left out, which the bound does not know of.
    """

    c: Curves
    model: LinearModel
    last: int
    scale: float


def _program(data: BoaAllocation, last: int) -> _Program:
    c = curves(data, last)
    z = 1 / c.speed[c.rows()]
    if z.size > MOST_COLUMNS:
        raise InputError(
            f"max_width: must be given, or smaller: the linear program has {z.size:,} columns, over {MOST_COLUMNS:,}"
        )
    width = np.arange(1, z.shape[1] + 1)
    epochs = sparse.kron(sparse.eye_array(c.epochs), np.ones((1, c.types * z.shape[1])))
    cost, scale = (c.price[:, None] * z * width).ravel() / data.budget, float((c.value * z.min(1)).max())
    time = (c.value[:, None] * z).ravel() / scale
    valid = (width <= c.last[:, None]).ravel() & (cost <= LARGEST) & (time <= LARGEST)
    model = LinearModel(
        cost=np.where(valid, time, 0.0),
        matrix=sparse.vstack([np.where(valid, cost, 0.0).reshape(1, z.size), epochs]).tocsc(),
        row_lower=np.concatenate([[-np.inf], np.ones(c.epochs)]),
        row_upper=np.concatenate([[planned(data.budget) / data.budget], np.ones(c.epochs)]),
        upper=np.where(valid, 1.0, 0.0),
    )
    return _Program(c, model, last, scale)


def _repair(
    data: BoaAllocation, c: Curves, share: FloatArray, z: FloatArray, cheapest: Choice
) -> tuple[FloatArray, FloatArray]:
    """Shares and widths within the budget: a solver's last digits are paid for by mixing in the cheapest policy."""
    first, last = _ends(c)
    z = np.clip(z, last, first)
    keeps, chosen = planned(data.budget), np.arange(c.epochs) * c.types + cheapest.type
    for _ in range(60):
        used = np.flatnonzero(share > 0)
        width = np.ones(len(share))
        width[used] = [width_at(c, int(i), z[i]) for i in used]
        spent = sum(share[i] * cost_at(c, int(i), width[i]) for i in used)
        if spent <= keeps:
            return share, width
        part = min(1.0, 1.01 * (spent - keeps) / max(spent - cheapest.cost, spent - keeps))
        time = (1 - part) * share * z
        share = (1 - part) * share
        time[chosen] += part * cheapest.times / c.value[chosen]
        share[chosen] += part
        z = np.clip(np.divide(time, share, out=np.ones(len(share)), where=share > 0), last, first)
    share, width = np.zeros(len(share)), np.ones(len(share))
    share[chosen], width[chosen] = 1.0, cheapest.width
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


def _lp_solution(data: BoaAllocation, program: _Program, x: FloatArray, lagrangian: Lagrangian) -> Solution:
    c, cheapest = program.c, lagrangian.at(LARGE)
    share = np.where(x < SMALLEST, 0, x).reshape(c.epochs, c.types, -1)
    share /= share.sum((1, 2), keepdims=True)
    z = (1 / c.speed[c.rows()]).reshape(share.shape)
    if not data.heterogeneous:
        return _solution(data, c, *_repair(data, c, np.ones(c.epochs), (share * z).sum((1, 2)), cheapest))
    width = np.arange(1, share.shape[2] + 1)
    spent, keeps = float((c.price.reshape(c.epochs, c.types, 1) * share * z * width).sum()), planned(data.budget)
    if spent > keeps:  # the program keeps its budget to a solver's tolerance
        part = min(1.0, 1.01 * (spent - keeps) / max(spent - cheapest.cost, spent - keeps))
        share *= 1 - part
        share[np.arange(c.epochs), cheapest.type, cheapest.width.astype(np.int64) - 1] += part
    rows = iter(share)
    names = [t.name for t in data.gpu_types]

    def options() -> list[dict[str, Any]]:
        row = next(rows)
        return [
            {"type": names[h], "width": float(k + 1), "fraction": float(row[h, k])} for h, k in np.argwhere(row > 0)
        ]

    return {"assignment": {job_class.name: [options() for _ in job_class.epochs] for job_class in data.classes}}
