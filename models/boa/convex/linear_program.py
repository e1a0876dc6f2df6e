"""Problem (7) as a linear program over shares of (type, width), where every speedup is a table or widths are whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray
from instances.boa import BoaAllocation, planned, proven
from instances.options import ignore
from instances.result import Termination
from models.boa.convex.convex_dual import LARGE, SMALLEST_SHARE, ConvexDual, policy, repaired
from models.boa.convex.curves import Curves, curves
from models.highs import LinearModel, Solved, solve_arrays

FIRST = 64  # The program begins with so many whole widths of a formula.
GROWTH = 4  # The number of widths grows at least by this factor.
MOST_COLUMNS = 2_000_000  # A program with more columns is refused.
# Costs in multiples of the budget, and times in multiples of the scale, are no larger: HiGHS refuses larger numbers.
LARGEST = 1e12


def literal_lp(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Solve the linear program with HiGHS. The bound is the Lagrangian bound at the multiplier that HiGHS finds.

    A formula over whole widths is a table without an end. The table is cut at a width, and more widths are added until
    the best width at the program's own multiplier is among them; the bound is over all widths.
    """
    with Stopwatch() as building:
        dual = ConvexDual(curves(data))
        dual.check_bounded()
        program = _program(data, FIRST)
    with Stopwatch(options.time_limit) as clock:
        while True:
            left = clock.limit_left_s
            solved = _solved(program.model, replace(options, time_limit=left))
            if solved.x is None or solved.duals is None:
                return Answer(None, None, *_failed(solved), building.cpu_s, clock.cpu_s)
            mu = max(0.0, -float(solved.duals[0])) * program.scale / data.budget
            wanted = dual.widest(mu)
            if wanted <= program.last or clock.expired:
                break
            program = _program(data, int(min(max(wanted, program.last * GROWTH), program.last * GROWTH**4)))
    bound = dual.bound(mu, proven(data.budget))
    solution = _solution(data, program, solved.x, dual)
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


def _solved(model: LinearModel, options: Options) -> Solved:
    """HiGHS's solution, at its usual tolerances where it has none at the least: what these cost is repaired.

    Without presolve, which calls programs infeasible that have room for less than its own tolerance.
    """
    for tolerance in (1e-10, 1e-7):
        keys = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        solved = solve_arrays(model, options, extra={"presolve": "off"} | dict.fromkeys(keys, tolerance))
        if solved.duals is not None or solved.termination == "time_limit":
            break
    return solved


def _failed(solved: Solved) -> tuple[Termination, str]:
    """Why there is no solution; never that none exists, for valid data have one."""
    if solved.termination in ("time_limit", "effort_limit"):
        return solved.termination, solved.reason or "limit"
    return "error", "HiGHS finds no optimum of the linear program"


@dataclass(frozen=True)
class _Program:
    """Problem (7) over whole widths up to `last`; the objective is in units of `scale` hours, the budget is 1.

    widths far too costly or slow for floats are left out, which the bound does not know of.
    """

    c: Curves
    model: LinearModel
    last: int
    scale: float


def _program(data: BoaAllocation, last: int) -> _Program:
    """The program over whole widths up to `last`. Raises InputError where the columns are too many."""
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
    valid = (width <= c.last[:, None]).ravel() & (cost <= LARGEST) & (time <= LARGEST) & c.on_hull[c.rows()].ravel()
    model = LinearModel(
        cost=np.where(valid, time, 0.0),
        matrix=sparse.vstack([np.where(valid, cost, 0.0).reshape(1, z.size), epochs]).tocsc(),
        row_lower=np.concatenate([[-np.inf], np.ones(c.epochs)]),
        row_upper=np.concatenate([[planned(data.budget) / data.budget], np.ones(c.epochs)]),
        upper=np.where(valid, 1.0, 0.0),
    )
    return _Program(c, model, last, scale)


def _solution(data: BoaAllocation, program: _Program, x: FloatArray, dual: ConvexDual) -> Solution:
    c, cheapest = program.c, dual.at(LARGE)
    share = np.where(x < SMALLEST_SHARE, 0, x).reshape(c.epochs, c.types, -1)
    share /= share.sum((1, 2), keepdims=True)
    z = (1 / c.speed[c.rows()]).reshape(share.shape)
    if not data.heterogeneous:
        return policy(data, c, *repaired(data, c, np.ones(c.epochs), (share * z).sum((1, 2)), cheapest))
    width = np.arange(1, share.shape[2] + 1)
    spent, keeps = float((c.price.reshape(c.epochs, c.types, 1) * share * z * width).sum()), planned(data.budget)
    if spent > keeps:  # HiGHS keeps the budget to a tolerance only.
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
