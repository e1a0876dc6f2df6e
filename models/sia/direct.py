"""The time-indexed model without Y, whole, in HiGHS: for fairness, and for cut-offs that pools could not keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch, check
from instances.options import ignore
from instances.result import TracePoint
from instances.sia import SiaOracle
from models.highs import LinearModel, Solved, solve_arrays
from models.sia.arrays import MOST_STARTS, MOST_STEPS, FloatArray, IntArray, coarse, oracle_arrays, solution_of
from models.sia.columns import Columns
from models.sia.greedy import pull_forward
from models.sia.improve import advance
from models.sia.opening import finer, least_objective, opening, proven
from models.sia.rows import Row, Rows, cover_row

PLAIN = Options()
SMALL_WEIGHT = 1e-3
MOST_ENTRIES = 20_000_000  # slots of all columns together, each of which is an entry of the matrix or two


def direct(data: SiaOracle, options: Options = PLAIN, report: Report = ignore, start: Solution | None = None) -> Answer:
    """Solve Figure 19 with X and α alone. Columns X_jt of a job come in order of start, then α_t of each slot.

    `start` is a feasible solution to improve on; nothing worse is returned. Raises InputError where it is none.
    """
    return _Direct(data, options, report).run(start)


class _Direct:
    """The best solution with its objective, the best bound, and rows for schedules that are too wide nevertheless."""

    def __init__(self, data: SiaOracle, options: Options, report: Report) -> None:
        self.data, self.options, self.report = data, options, report
        self.clock = Stopwatch(options.time_limit)
        self.best: Solution | None = None
        self.objective = np.inf
        self.bound = least_objective(data)
        self.trace: list[TracePoint] = []
        self.covers: list[Row] = []

    def run(self, start: Solution | None) -> Answer:
        """The result."""
        found = opening(self.data, start)
        if found is not None:
            self._offer(found)
        self.arrays = arrays = oracle_arrays(self.data)
        if arrays.horizon <= MOST_STEPS and arrays.feasible(arrays.cutoff):
            self._pull(arrays.cutoff)
        entries = int(((arrays.cutoff - arrays.submit + 1) * arrays.duration).sum())
        for count, most, what in ((arrays.starts, MOST_STARTS, "starts"), (entries, MOST_ENTRIES, "slots of starts")):
            if count > most:
                reason = f"the windows of its jobs hold {count:,} {what}, more than {most:,}"
                return self._result(Solved("finished", reason=reason), self.clock.cpu_s)
        self.columns = Columns(coarse(arrays))
        build_s = self.clock.cpu_s
        while True:
            solved = self._solve()
            starts = None if solved.x is None else self._read(solved.x)
            if starts is None or arrays.feasible(starts):
                return self._result(solved, build_s)
            use = arrays.use(starts)
            self.covers += [cover_row(arrays, starts, int(t)) for t in np.flatnonzero(use > arrays.capacity)]

    def _pull(self, plan: IntArray) -> None:
        """Schedules of little delay, which may be fair by chance."""
        arrays = self.arrays
        for order in (arrays.duration * arrays.gpus, arrays.duration, arrays.submit):
            pulled = pull_forward(arrays, plan, order.astype(float), self.clock)
            for starts in (pulled, advance(arrays, pulled, self.clock)):
                self._offer(solution_of(self.data, arrays, starts))

    def _solve(self) -> Solved:
        """The model with the covers so far; at the time limit without what it still found."""
        left = self.clock.remaining_s
        if left <= 0:
            return Solved("time_limit", reason="time limit")
        options = replace(finer(self.data, self.options), time_limit=None if left == float("inf") else left)
        start = None
        if self.best is not None:
            starts = self.arrays.starts_of(self.data, self.best)
            if self.arrays.feasible(starts):
                start = self._column_values(starts)
        model = _model(self.data, self.columns, self.covers)
        solved = solve_arrays(model, options, start=start, watch=self._watch)
        self._watch(solved.x, solved.bound)
        if solved.termination == "infeasible" and self.best is not None:
            return replace(solved, termination="error", reason="HiGHS finds no solution where there is one")
        return solved

    def _watch(self, x: FloatArray | None, bound: float | None) -> None:
        if bound is not None:
            self._raise(bound)
        starts = None if x is None else self._read(x)
        if starts is not None and self.arrays.feasible(starts):
            self._offer(solution_of(self.data, self.arrays, starts))

    def _raise(self, bound: float) -> None:
        """Take a solver's bound, in steps, for what it proves."""
        unit = self.arrays.slot * _cost_unit(self.data)
        found = proven(self.data, bound * unit) if self.data.fairness_weight else proven(self.data, bound) * unit
        if found > self.bound:
            self.bound = found
            self.trace.append((self.clock.wall_s, None if self.best is None else self.objective, found))
            self.report(None, found)

    def _offer(self, solution: Solution) -> None:
        objective = check(self.data, solution).objective
        if objective is not None and objective < self.objective:
            self.best, self.objective = solution, objective
            self.trace.append((self.clock.wall_s, objective, self.bound))
            self.report(solution, self.bound)

    def _read(self, x: FloatArray) -> IntArray:
        columns = self.columns
        chosen = np.flatnonzero(x[: len(columns.job)] > 0.5)
        starts = self.arrays.submit.copy()
        starts[columns.job[chosen]] = columns.start[chosen]
        return starts

    def _column_values(self, starts: IntArray) -> FloatArray:
        """X and α of a schedule."""
        x = np.zeros(len(self.columns.job))
        x[self.columns.of(starts)] = 1.0
        if not self.data.fairness_weight:
            return x
        arrays, (owned, pool_of, gpus) = self.arrays, _pools(self.data)
        share = np.zeros(arrays.horizon)
        for i in np.unique(pool_of):
            mine = pool_of == i
            changes = np.zeros(arrays.horizon + 1, dtype=np.int64)
            np.add.at(changes, starts[mine], gpus[mine])
            np.add.at(changes, (starts + arrays.duration)[mine], -gpus[mine])
            share = np.maximum(share, np.cumsum(changes)[:-1] / owned[i])
        return np.concatenate([x, np.maximum(share - _free(self.data), 0.0)])

    def _result(self, solved: Solved, build_s: float) -> Answer:
        reason = solved.reason
        infeasible = solved.termination == "infeasible"
        if infeasible:
            reason = f"no schedule on {self.data.capacity} GPUs keeps every latest_start"
        return Answer(
            solution=self.best,
            bound=None if infeasible else self.bound,
            termination=solved.termination,
            reason=reason,
            build_s=build_s,
            solve_s=self.clock.cpu_s - build_s,
            trace=tuple(self.trace),
            info=dict(solved.info),
        )


def _pools(data: SiaOracle) -> tuple[FloatArray, IntArray, IntArray]:
    """GPUs that each pool with jobs owns, and the pool of each job and its GPUs."""
    used = {job.pool for job in data.jobs}
    pools = [pool for pool in data.pools if pool.name in used]
    names = {pool.name: i for i, pool in enumerate(pools)}
    owned = np.array([pool.gpus for pool in pools], dtype=float)
    return owned, np.array([names[job.pool] for job in data.jobs]), np.array([job.gpus for job in data.jobs])


def _cost_unit(data: SiaOracle) -> float:
    """What the model's costs are counted in, so that a small weight does not drown in a solver's tolerances."""
    return data.fairness_weight if 0 < data.fairness_weight < SMALL_WEIGHT else 1.0


def _free(data: SiaOracle) -> float:
    """Use up to this share of what a pool owns is not charged."""
    return 0.0 if data.fair_share == "all-use" else 1.0


def _model(data: SiaOracle, columns: Columns, covers: list[Row]) -> LinearModel:
    arrays = columns.arrays
    jobs, count, horizon = len(arrays.submit), len(columns.job), arrays.horizon
    held = columns.end - columns.start
    column = np.repeat(np.arange(count), held)
    slot = np.arange(int(held.sum())) - np.repeat(np.cumsum(held) - held, held) + columns.start[column]
    once = sparse.coo_array((np.ones(count), (columns.job, np.arange(count))), shape=(jobs, count))
    capacity = sparse.coo_array((columns.gpus[column].astype(float), (slot, column)), shape=(horizon, count))
    rows = [once, capacity]
    uppers = [np.ones(jobs), np.full(horizon, float(arrays.capacity))]
    if covers:
        table = Rows(columns, covers)
        rows.append(sparse.coo_array(np.array([table.along(r, np.arange(count)) for r in range(len(covers))])))
        uppers.append(table.limits.astype(float))
    cost, integer = columns.delay.astype(float), np.ones(count, dtype=bool)
    matrix, upper = sparse.vstack(rows), np.ones(count)
    if data.fairness_weight:
        owned, pool_of, gpus = _pools(data)
        job = columns.job[column]
        shape = (len(owned) * horizon, count)
        share = sparse.coo_array(((gpus / owned[pool_of])[job], (pool_of[job] * horizon + slot, column)), shape=shape)
        matrix = sparse.block_array([[matrix, None], [share, sparse.vstack([-sparse.eye_array(horizon)] * len(owned))]])
        uppers.append(np.full(shape[0], _free(data)))
        stretch = np.ones(horizon)
        np.add.at(stretch, *arrays.idle)
        cost = np.concatenate([cost, data.fairness_weight * stretch]) / _cost_unit(data)
        integer = np.concatenate([integer, np.zeros(horizon, dtype=bool)])
        upper = np.concatenate([upper, np.full(horizon, np.inf)])
    row_upper = np.concatenate(uppers)
    row_lower = np.where(np.arange(len(row_upper)) < jobs, 1.0, -np.inf)
    return LinearModel(cost, matrix, row_lower, row_upper, upper=upper, integer=integer)
