"""The time-indexed model without Y, whole, in HiGHS: for fairness, and for cut-offs that pools could not keep."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Result, Stopwatch, conclude, ignore
from instances.sia import SiaOracle
from models.highs import LinearModel, solve_arrays
from models.sia.arrays import IntArray, OracleArrays, oracle_arrays, solution_of
from models.sia.columns import Columns

PLAIN = Options()
BOUND_NOISE = 1e-7  # relative: taken off the solver's bound where delays are weighed against fairness
WHOLE_NOISE = 1e-3  # slots: the same where the objective is a whole number


def direct(data: SiaOracle, options: Options = PLAIN, report: Report = ignore) -> Result:
    """Solve Figure 19 with X and α alone. Columns X_jt of a job come in order of start, then α_t of each slot."""
    with Stopwatch() as building:
        arrays = oracle_arrays(data)
        columns = Columns(arrays)
        model = _model(data, arrays, columns)
    count = len(columns.job)

    def read(x: np.ndarray) -> IntArray:
        chosen = np.flatnonzero(x[:count] > 0.5)
        starts = arrays.submit.copy()
        starts[columns.job[chosen]] = columns.start[chosen]
        return starts

    def safe(bound: float) -> float:
        if data.fairness_weight:
            return bound - BOUND_NOISE * max(1.0, abs(bound))
        return float(math.ceil(bound - WHOLE_NOISE))  # delays are whole

    def watch(x: np.ndarray | None, bound: float | None) -> None:
        report(None if x is None else solution_of(data, arrays, read(x)), None if bound is None else safe(bound))

    start = None
    if arrays.feasible(arrays.cutoff) and not data.fairness_weight:
        start = np.zeros(count)
        start[columns.of(arrays.cutoff)] = 1.0
    solved = solve_arrays(model, options, start=start, watch=None if report is ignore else watch)
    reason = solved.reason
    if solved.termination == "infeasible":
        reason = f"no schedule on {arrays.capacity} GPUs keeps every latest_start"
    answer = Answer(
        solution=None if solved.x is None else solution_of(data, arrays, read(solved.x)),
        bound=None if solved.bound is None else safe(solved.bound),
        termination=solved.termination,
        reason=reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=solved.trace,
        info=dict(solved.info),
    )
    return conclude(data, "exact", answer, options, kind="exact")


def _model(data: SiaOracle, arrays: OracleArrays, columns: Columns) -> LinearModel:
    jobs, count, horizon = len(arrays.submit), len(columns.job), arrays.horizon
    held = columns.end - columns.start
    column = np.repeat(np.arange(count), held)
    slot = np.arange(int(held.sum())) - np.repeat(np.cumsum(held) - held, held) + columns.start[column]
    once = sparse.coo_array((np.ones(count), (columns.job, np.arange(count))), shape=(jobs, count))
    gpus = columns.gpus[column].astype(float)
    capacity = sparse.coo_array((gpus, (slot, column)), shape=(horizon, count))
    if not data.fairness_weight:
        return LinearModel(
            cost=columns.delay.astype(float),
            matrix=sparse.vstack([once, capacity]),
            row_lower=np.concatenate([np.ones(jobs), np.full(horizon, -np.inf)]),
            row_upper=np.concatenate([np.ones(jobs), np.full(horizon, float(arrays.capacity))]),
            upper=1.0,
            integer=True,
        )
    names = {pool.name: i for i, pool in enumerate(data.pools)}
    pool_of = np.array([names[job.pool] for job in data.jobs])[columns.job[column]]
    owned = np.array([pool.gpus for pool in data.pools], dtype=float)
    shape = (len(owned) * horizon, count)
    share = sparse.coo_array((gpus / owned[pool_of], (pool_of * horizon + slot, column)), shape=shape)
    alpha = sparse.vstack([-sparse.eye_array(horizon)] * len(owned))
    matrix = sparse.block_array([[once, None], [capacity, None], [share, alpha]])
    free = 0.0 if data.fair_share == "all-use" else 1.0  # use up to this share is not charged
    uppers = np.ones(jobs), np.full(horizon, float(arrays.capacity)), np.full(shape[0], free)
    return LinearModel(
        cost=np.concatenate([columns.delay, np.full(horizon, data.fairness_weight)]),
        matrix=matrix,
        row_lower=np.concatenate([np.ones(jobs), np.full(horizon + shape[0], -np.inf)]),
        row_upper=np.concatenate(uppers),
        upper=np.concatenate([np.ones(count), np.full(horizon, np.inf)]),
        integer=np.concatenate([np.ones(count, dtype=bool), np.zeros(horizon, dtype=bool)]),
    )
