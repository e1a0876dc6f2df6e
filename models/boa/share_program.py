"""Problem (7) as a linear program over fractions of (type, width): for tables only, or for integer widths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray
from instances.boa import BoaAllocation, compute_plan_limit, proven
from instances.options import ignore
from instances.result import Termination
from models.boa.convex_dual import LARGE, SMALLEST_SHARE, ConvexDual, repair_budget, write_policy
from models.boa.curves import Curves, curves
from models.boa.solution import build_solution
from models.core.highs import LinearModel, Solved, solve_arrays

FIRST_WIDTHS = 64  # widths of a formula in the first program
GROWTH = 4  # minimum factor by which the number of widths grows, so that few programs are solved
MAX_COLUMNS = 2_000_000  # larger programs are rejected, which limits memory
LARGEST = 1e12  # HiGHS rejects larger numbers; costs are in multiples of the budget, times of the scale


def literal_lp(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Solve the linear program with HiGHS, and return a policy with its Lagrangian bound at HiGHS's multiplier.

    A formula over integer widths is a table without an end. The program begins with the first `FIRST_WIDTHS` widths of
    it and adds widths until the best width at the program's own multiplier is among them. The bound holds for all
    widths.

    - `options`: time limit, threads and seed.
    - `report`: called once with the policy and the bound.

    Raises InputError if no width limits a linear speedup, or the program has too many columns.
    """
    with Stopwatch() as building:
        dual = ConvexDual(curves(data))
        dual.check_bounded()
        program = _build_program(data, FIRST_WIDTHS)
    with Stopwatch(options.time_limit) as clock:
        while True:
            left = clock.limit_left_s
            solved = _solve(program.model, replace(options, time_limit=left))
            if solved.x is None or solved.duals is None:
                return Answer(None, None, *_explain_failure(solved), building.cpu_s, clock.cpu_s)
            mu = max(0.0, -float(solved.duals[0])) * program.scale / data.budget
            wanted = dual.widest(mu)
            if wanted <= program.last or clock.has_expired:
                break
            program = _build_program(data, int(min(max(wanted, program.last * GROWTH), program.last * GROWTH**4)))
    bound = dual.bound(mu, proven(data.budget))
    solution = _policy_from(data, program, solved.x, dual)
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


def _solve(model: LinearModel, options: Options) -> Solved:
    """Solve the program with HiGHS at tight tolerances, or at its default ones if this gives no duals.

    The caller repairs violations within the tolerance. Presolve is off because it calls programs infeasible whose
    feasible range is narrower than its own tolerance.
    """
    for tolerance in (1e-10, 1e-7):
        keys = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        solved = solve_arrays(model, options, extra={"presolve": "off"} | dict.fromkeys(keys, tolerance))
        if solved.duals is not None or solved.termination == "time_limit":
            break
    return solved


def _explain_failure(solved: Solved) -> tuple[Termination, str]:
    """Return why HiGHS has no solution; infeasibility is reported as an error because valid data have a solution."""
    if solved.termination in ("time_limit", "effort_limit"):
        return solved.termination, solved.reason or "limit"
    return "error", "HiGHS finds no optimum of the linear program"


@dataclass(frozen=True)
class _Program:
    """Problem (7) over the integer widths up to `last`; the objective is in units of `scale` hours, the budget is 1.

    Widths that are far too expensive or slow for floating-point arithmetic are fixed to 0. The bound covers them.
    """

    c: Curves
    model: LinearModel
    last: int
    scale: float


def _build_program(data: BoaAllocation, last: int) -> _Program:
    """Build the program over the integer widths up to `last`; raises InputError if it has too many columns."""
    c = curves(data, last)
    z = 1 / c.speed[c.rows()]
    if z.size > MAX_COLUMNS:
        raise InputError(
            f"max_width: must be given, or smaller: the linear program has {z.size:,} columns, over {MAX_COLUMNS:,}"
        )
    width = np.arange(1, z.shape[1] + 1)
    epochs = sparse.kron(sparse.eye_array(c.epochs), np.ones((1, c.types * z.shape[1])))
    cost, scale = (c.price[:, None] * z * width).ravel() / data.budget, float((c.value * z.min(1)).max())
    time = (c.value[:, None] * z).ravel() / scale
    valid = (width <= c.last[:, None]).ravel() & (cost <= LARGEST) & (time <= LARGEST) & c.on_hull[c.rows()].ravel()
    model = LinearModel(
        cost=np.where(valid, time, 0.0),
        matrix=sparse.vstack([np.where(valid, cost, 0.0).reshape(1, z.size), epochs]).tocsc(),
        row_lower=np.concatenate([[-np.inf], np.ones(c.epochs)]),
        row_upper=np.concatenate([[compute_plan_limit(data.budget) / data.budget], np.ones(c.epochs)]),
        upper=np.where(valid, 1.0, 0.0),
    )
    return _Program(c, model, last, scale)


def _policy_from(data: BoaAllocation, program: _Program, x: FloatArray, dual: ConvexDual) -> Solution:
    """Return the policy of the values `x` of the program, in JSON form.

    If HiGHS exceeds the budget within its tolerance, the cheapest policy of `dual` is mixed in.
    """
    c, cheapest = program.c, dual.evaluate(LARGE)
    share = np.where(x < SMALLEST_SHARE, 0, x).reshape(c.epochs, c.types, -1)
    share /= share.sum((1, 2), keepdims=True)
    z = (1 / c.speed[c.rows()]).reshape(share.shape)
    if not data.heterogeneous:
        return write_policy(data, *repair_budget(data, c, np.ones(c.epochs), (share * z).sum((1, 2)), cheapest))
    width = np.arange(1, share.shape[2] + 1)
    spent, limit = (
        float((c.price.reshape(c.epochs, c.types, 1) * share * z * width).sum()),
        compute_plan_limit(data.budget),
    )
    if spent > limit:  # HiGHS keeps the budget only up to a tolerance
        part = min(1.0, 1.01 * (spent - limit) / max(spent - cheapest.cost, spent - limit))
        share *= 1 - part
        share[np.arange(c.epochs), cheapest.type, cheapest.width.astype(np.int64) - 1] += part
    options = ([(int(h), float(k + 1), float(row[h, k])) for h, k in np.argwhere(row > 0)] for row in share)
    return build_solution(data, options)
