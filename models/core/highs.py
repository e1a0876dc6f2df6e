"""The interface to HiGHS: arrays in; incumbent, bound and trace out.

By default HiGHS stops at a relative gap of 1e-4, and ignores invalid options without an exception. Here the gap is
always set, and every option is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from instances.clock import patience_s
from instances.result import Termination, TracePoint

COMPARISON_S = 3e-8  # seconds for presolve to compare two integer columns; no time limit interrupts it
COMPARISON_SHARE = 0.25  # maximum fraction of the time limit for these comparisons, or else presolve is off
SMALLEST_ENTRY = 1e-12  # smallest matrix entry that HiGHS can keep; by default it drops entries below 1e-9
MAX_NODES = 2**31 - 1  # the largest node limit of HiGHS, which means no limit
TIGHT = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}  # for real objectives; see `_Claim`
Watch = Callable[[FloatArray | None, float | None], None]
"""`watch(x, bound)` is called with each new incumbent and each better bound."""


@dataclass(frozen=True)
class LinearModel:
    """A model: minimise or maximise cost'x + offset, row_lower <= matrix x <= row_upper, lower <= x <= upper.

    There are n variables and m rows. `matrix` (m, n) has any scipy sparse format. `integer` (n,) marks the integer
    variables. Scalars are broadcast.
    """

    cost: ArrayLike
    matrix: Any
    row_lower: ArrayLike
    row_upper: ArrayLike
    lower: ArrayLike = 0.0
    upper: ArrayLike = math.inf
    integer: ArrayLike = False
    offset: float = 0.0
    sense: Literal["minimize", "maximize"] = "minimize"

    def drop_small_entries(self) -> LinearModel:
        """Return the model, or a relaxation without the entries that HiGHS would drop.

        A dropped entry of a bounded variable contributes an interval to its row, and the sides of the row are moved by
        it. So each bound of the relaxation is a bound of the model. Entries of unbounded variables stay.
        """
        matrix = sparse.coo_array(self.matrix)
        m, n = matrix.shape
        lower, upper = (_spread(side, n)[matrix.col] for side in (self.lower, self.upper))
        small = (np.abs(matrix.data) <= SMALLEST_ENTRY) & (matrix.data != 0) & np.isfinite(lower) & np.isfinite(upper)
        if not small.any():
            return self
        ends = np.stack([matrix.data[small] * lower[small], matrix.data[small] * upper[small]])
        row = matrix.row[small]
        low, high = (np.bincount(row, weights=end, minlength=m) for end in (ends.min(axis=0), ends.max(axis=0)))
        keep = ~small
        remaining = sparse.coo_array((matrix.data[keep], (matrix.row[keep], matrix.col[keep])), shape=(m, n))
        sides = _spread(self.row_lower, m) - high, _spread(self.row_upper, m) - low
        return replace(self, matrix=remaining, row_lower=sides[0], row_upper=sides[1])

    def lp(self) -> highspy.HighsLp:
        """Return the model in HiGHS's own format."""
        columns = sparse.csc_array(self.matrix)
        m, n = columns.shape
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = n, m
        lp.col_cost_ = _spread(self.cost, n)
        lp.col_lower_, lp.col_upper_ = _spread(self.lower, n), _spread(self.upper, n)
        lp.row_lower_, lp.row_upper_ = _spread(self.row_lower, m), _spread(self.row_upper, m)
        lp.offset_ = float(self.offset)
        lp.sense_ = highspy.ObjSense.kMinimize if self.sense == "minimize" else highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = n, m
        lp.a_matrix_.start_ = columns.indptr.astype(np.int32)
        lp.a_matrix_.index_ = columns.indices.astype(np.int32)
        lp.a_matrix_.value_ = columns.data.astype(float)
        is_integer = np.broadcast_to(np.asarray(self.integer, dtype=bool), (n,))
        if is_integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[w] for w in is_integer.astype(int)]
        return lp


@dataclass(frozen=True)
class Solved:
    """The result of HiGHS.

    - `x`, `objective`: `None` without a solution.
    - `bound`: proven bound on the optimum, up to the solver's tolerances; `None` without one.
    - `duals` (m,): `None` unless the model is a linear program with an optimum.
    - `solve_s`: CPU seconds.
    - `trace`: seconds, objective and bound of each improvement.
    - `reason`: why the search ended.
    - `info`: numbers of nodes and of simplex iterations.
    """

    termination: Termination
    x: FloatArray | None = None
    objective: float | None = None
    bound: float | None = None
    duals: FloatArray | None = None
    solve_s: float = 0.0
    trace: tuple[TracePoint, ...] = ()
    reason: str | None = None
    info: dict[str, Any] = field(default_factory=dict)


def solver(options: Options, extra: Mapping[str, Any] | None = None) -> highspy.Highs:
    """Return a silent HiGHS with these options; raises ValueError if HiGHS rejects one."""
    h = highspy.Highs()
    values: dict[str, Any] = {
        "output_flag": False,
        "threads": options.threads,
        "parallel": "on" if options.threads > 1 else "off",
        "random_seed": options.seed,
        "mip_rel_gap": options.gap,
        "mip_abs_gap": 1e-9,
        "small_matrix_value": SMALLEST_ENTRY,
    }
    if options.time_limit is not None:
        values["time_limit"] = float(options.time_limit)  # `run` enforces it in CPU seconds
    values |= extra or {}
    if options.effort is not None:
        values["mip_max_nodes"] = min(options.effort, values.get("mip_max_nodes", MAX_NODES))
    set_options(h, values)
    return h


def set_options(h: highspy.Highs, wanted: Mapping[str, Any]) -> None:
    """Set options of HiGHS; raises ValueError if HiGHS rejects one."""
    for name, value in wanted.items():
        if h.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS rejects option {name} = {value!r}")


def _is_origin_feasible(h: highspy.Highs) -> bool:
    """Return whether rows without entries hold; HiGHS does not check the rows of a model without columns."""
    lp, slack = h.getLp(), h.getOptionValue("primal_feasibility_tolerance")[1]
    return bool(np.all(np.asarray(lp.row_lower_) <= slack) and np.all(np.asarray(lp.row_upper_) >= -slack))


def _count_comparisons(lp: highspy.HighsLp) -> float:
    """Return the number of pairs of columns that presolve compares to find dominated ones.

    Each column is compared with all other columns of its shortest row.
    """
    begin, row = (np.asarray(part, dtype=np.int64) for part in (lp.a_matrix_.start_, lp.a_matrix_.index_))
    length = np.bincount(row, minlength=lp.num_row_)[row]
    filled = begin[:-1][np.diff(begin) > 0]
    return float(np.minimum.reduceat(length, filled).sum()) if len(filled) else 0.0


def solve_arrays(
    model: LinearModel,
    options: Options,
    *,
    start: ArrayLike | None = None,
    watch: Watch | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Solved:
    """Solve a linear or mixed-integer `model`.

    - `options`: limits, gap, threads and seed.
    - `start` (n,): a solution to begin from.
    - `watch`: called with each new incumbent and each better bound.
    - `extra`: further HiGHS options.

    Raises ValueError for an option or a model that HiGHS rejects. If HiGHS would change the model, the result is an
    `error`.
    """
    h = solver(options, extra)
    try:
        load_model(h, model.drop_small_entries())
    except SolveFailed as error:
        return Solved("error", reason=str(error))
    return run(h, start=start, watch=watch)


def load_model(h: highspy.Highs, model: LinearModel) -> None:
    """Load `model` into HiGHS.

    Raises ValueError if HiGHS rejects it, and SolveFailed if HiGHS warns that it drops entries of the matrix, because
    its result would be about another model. A warning about crossed bounds is no error: the model is infeasible.
    """
    lp = model.lp()
    status = h.passModel(lp)
    if status == highspy.HighsStatus.kError:
        raise ValueError("HiGHS rejects the model")
    if status == highspy.HighsStatus.kWarning and h.getNumNz() < np.count_nonzero(lp.a_matrix_.value_):
        raise SolveFailed("the entries of a constraint are too far apart for HiGHS")


def run(h: highspy.Highs, *, start: ArrayLike | None = None, watch: Watch | None = None) -> Solved:
    """Run a HiGHS that holds a model, and return its result; see `solve_arrays`."""
    lp, limit_s = h.getLp(), h.getOptionValue("time_limit")[1]
    mixed = any(kind != highspy.HighsVarType.kContinuous for kind in lp.integrality_)
    max_comparisons = COMPARISON_SHARE * limit_s / COMPARISON_S
    if mixed and lp.num_col_**2 > max_comparisons and _count_comparisons(lp) > max_comparisons:  # the cheap test first
        set_options(h, {"presolve": "off"})
    highspy.Highs.resetGlobalScheduler(True)  # otherwise the thread count of the first solve stays in force
    if start is not None:
        guess = highspy.HighsSolution()
        guess.col_value = list(np.asarray(start, dtype=float))
        h.setSolution(guess)
    trace: list[TracePoint] = []
    claim = _Claim(h, lp)
    with Stopwatch(limit_s) as clock:
        if mixed:
            _subscribe(h, claim, trace, watch)
            _enforce_time_limit(h, clock)
            h.run()
            set_options(h, {"time_limit": limit_s})
        else:
            _run_linear(h, limit_s)
    wall = clock.wall_s
    status, info = h.getModelStatus(), h.getInfo()
    termination, reason = _termination(h, status)
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    empty = status == highspy.HighsModelStatus.kModelEmpty  # no columns: the solution has no variables
    if empty and not _is_origin_feasible(h):
        empty, termination, reason = False, "infeasible", "a constraint without variables does not hold"
    x = np.array(h.getSolution().col_value) if feasible or empty else None
    objective = float(info.objective_function_value) if x is not None else None
    bound: float | None = None
    duals = None
    if empty:
        objective = bound = lp.offset_
    elif mixed:
        bound = claim.proven(info.mip_dual_bound, objective)
    elif status == highspy.HighsModelStatus.kOptimal:
        bound, duals = objective, np.array(h.getSolution().row_dual)
    trace.append((wall, objective, bound))
    return Solved(
        termination=termination,
        x=x,
        objective=objective,
        bound=bound,
        duals=duals,
        solve_s=clock.cpu_s,
        trace=tuple(trace),
        reason=reason,
        info=_counts(info),
    )


def _counts(info: highspy.HighsInfo) -> dict[str, int]:
    """Return the numbers of nodes and iterations; a linear program has no nodes."""
    counts = {"nodes": int(info.mip_node_count), "simplex_iterations": int(info.simplex_iteration_count)}
    return {name: count for name, count in counts.items() if count >= 0}


class SolveFailed(RuntimeError):
    """HiGHS cannot solve a linear program, usually because its numbers differ too much in size."""


class OutOfTime(SolveFailed):
    """The time limit ended before HiGHS solved a linear program."""


def rerun(h: highspy.Highs, seconds: float = math.inf) -> highspy.HighsModelStatus:
    """Solve the linear program in HiGHS again after a change, from its last basis, and return the model status.

    - `seconds`: limit in CPU seconds. Without a limit, the limit of the last run in wall-clock seconds is still in
      force.
    """
    return _run_linear(h, seconds)


def _run_linear(h: highspy.Highs, seconds: float) -> highspy.HighsModelStatus:
    """Solve a linear program within `seconds` of CPU time, and return the model status.

    HiGHS's own limit counts wall-clock seconds. If it ends the run while CPU seconds remain, the run continues.
    """
    clock = Stopwatch(seconds)
    while True:
        if seconds < math.inf:  # HiGHS adds up the wall-clock time of all its runs
            set_options(h, {"time_limit": h.getRunTime() + clock.remaining_s})
        highspy.Highs.resetGlobalScheduler(True)  # see `run`
        h.run()
        status = h.getModelStatus()
        if status != highspy.HighsModelStatus.kTimeLimit or seconds == math.inf or clock.has_expired:
            return status


def reoptimize(h: highspy.Highs, seconds: float = math.inf, *, empty: bool = False) -> bool:
    """Solve the linear program in HiGHS to optimality, from the last basis, or from scratch if this fails.

    Return whether there is an optimum. Infeasibility is a valid result only if `empty` is true. Raises OutOfTime after
    `seconds`, and SolveFailed if there is no optimum or HiGHS does not find it.
    """
    status = rerun(h, seconds)
    if empty and status == highspy.HighsModelStatus.kInfeasible:
        return False
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit):
        h.clearSolver()
        status = rerun(h)
    if status == highspy.HighsModelStatus.kTimeLimit:
        raise OutOfTime("the linear program ran out of time")
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolveFailed(f"the linear program ended as {h.modelStatusToString(status)}")
    return True


def _enforce_time_limit(h: highspy.Highs, clock: Stopwatch) -> None:
    """Interrupt an integer program when its clock expires.

    HiGHS's own limit counts wall-clock seconds, of which more pass if others use the machine. It is set for the linear
    program at the root, during which HiGHS does not call back.
    """
    if clock.limit_s is None or math.isinf(clock.limit_s):
        return

    def interrupt_if_expired(event: Any) -> None:
        if clock.has_expired:
            event.interrupt()

    set_options(h, {"time_limit": patience_s(clock.limit_s)})
    h.cbMipInterrupt.subscribe(interrupt_if_expired)


class _Claim:
    """The bound that HiGHS's branch and bound proves.

    HiGHS ignores solutions that are better than its incumbent by less than its feasibility tolerance, and then reports
    the incumbent's objective as the bound. Objectives with integer values only are exempt, because they differ by at
    least 1.
    """

    def __init__(self, h: highspy.Highs, lp: highspy.HighsLp) -> None:
        cost = np.append(lp.col_cost_, lp.offset_)
        free = [kind == highspy.HighsVarType.kContinuous for kind in lp.integrality_]
        self.real = bool(np.any(cost % 1)) or bool(np.any(cost[:-1][free]))
        self.sign = 1 if lp.sense_ == highspy.ObjSense.kMinimize else -1
        self.room = (
            2 * h.getOptionValue("mip_feasibility_tolerance")[1]
        )  # twice the tolerance, to cover rounding of the objective

    def proven(self, bound: float, objective: float | None) -> float | None:
        """Return what `bound` proves if there is a solution with this objective; `None` if it proves nothing."""
        if not math.isfinite(bound):
            return None
        if not self.real or objective is None or not math.isfinite(objective):
            return float(bound)
        return self.sign * min(self.sign * bound, self.sign * objective - self.room)


def _subscribe(h: highspy.Highs, claim: _Claim, trace: list[TracePoint], watch: Watch | None) -> None:
    def on_incumbent(event: Any) -> None:
        x, objective = np.array(event.data_out.mip_solution), float(event.data_out.objective_function_value)
        known = claim.proven(event.data_out.mip_dual_bound, objective)
        trace.append((event.data_out.running_time, objective, known))
        if watch is not None:
            watch(x, known)

    def on_log(event: Any) -> None:
        primal = float(event.data_out.mip_primal_bound)
        known = claim.proven(event.data_out.mip_dual_bound, primal)
        if known is None:
            return
        trace.append((event.data_out.running_time, primal if math.isfinite(primal) else None, known))
        if watch is not None:
            watch(None, known)

    h.cbMipImprovingSolution.subscribe(on_incumbent)
    h.cbMipLogging.subscribe(on_log)


def _termination(h: highspy.Highs, status: highspy.HighsModelStatus) -> tuple[Termination, str | None]:
    if status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
        return "finished", None
    if status in (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt):
        return "time_limit", "time limit"
    if status == highspy.HighsModelStatus.kSolutionLimit:
        return "effort_limit", "effort limit"
    if status == highspy.HighsModelStatus.kInfeasible:
        return "infeasible", "HiGHS proves that no solution exists"
    return "error", f"HiGHS: {h.modelStatusToString(status)}"


def _spread(values: ArrayLike, n: int) -> FloatArray:
    return np.array(np.broadcast_to(np.asarray(values, dtype=float), (n,)))
