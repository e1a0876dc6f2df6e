"""The time-indexed model (Sousa and Wolsey, 1992) as a whole in HiGHS: for fairness, and for cut-offs of any kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch, check
from instances.arrays import FloatArray, IntArray
from instances.method import method
from instances.sia import SiaOracle
from instances.sia.arrays import coarse, oracle_arrays, solution_of
from instances.sia.reservations import backfill
from models.highs import LinearModel, Solved, solve_arrays
from models.incumbent import Incumbent
from models.sia.bounds import initial_solution, proven_bound, solver_options, trivial_bound
from models.sia.columns import Columns
from models.sia.neighbourhood_search import advance
from models.sia.parameters import DEFAULTS, ExactParameters
from models.sia.rows import Row, Rows, cover_row


@method("exact")
def time_indexed(data: SiaOracle, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the time-indexed model with X and α alone, as a whole (`solve_time_indexed`)."""
    return solve_time_indexed(data, options, report, start)


def solve_time_indexed(
    data: SiaOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    """Answer of the time-indexed model: columns X_jt in order of job, then start, then α_t of each slot.

    Raises InputError for a `start` that is not feasible.

    Parameters:

    - `data`: the problem.
    - `options`: limits and gap of the solve.
    - `report`: told each better solution and bound.
    - `start`: a feasible solution; nothing worse is returned.
    - `parameters`: sizes beyond which no model is built.
    """
    return _TimeIndexed(data, options, report, parameters).run(start)


class _TimeIndexed:
    """A solve: the incumbent, in slots, and cover rows for schedules that keep the model's rows and are too wide."""

    def __init__(self, data: SiaOracle, options: Options, report: Report, parameters: ExactParameters) -> None:
        self.parameters = parameters
        self.data, self.options = data, options
        self.clock = Stopwatch(options.time_limit)
        self.incumbent: Incumbent[Solution, float] = Incumbent(
            "minimize", self.clock, report, gap=options.gap, bound=trivial_bound(data)
        )
        self.covers: list[Row] = []

    def run(self, start: Solution | None) -> Answer:
        """The answer, no worse than `start`."""
        found = initial_solution(self.data, start)
        if found is not None:
            self._offer(found)
        self.arrays = arrays = oracle_arrays(self.data)
        most_starts, most_entries = self.parameters.most_starts, self.parameters.most_entries
        if arrays.horizon <= self.parameters.most_steps and arrays.feasible(arrays.cutoff):
            self._construct(arrays.cutoff)
        entries = int(((arrays.cutoff - arrays.submit + 1) * arrays.duration).sum())
        for count, most, what in ((arrays.starts, most_starts, "starts"), (entries, most_entries, "slots of starts")):
            if count > most:
                reason = f"the windows of its jobs hold {count:,} {what}, more than {most:,}"
                return self._result(Solved("finished", reason=reason), self.clock.cpu_s)
        self.columns = Columns(coarse(arrays, self.parameters.most_units))
        build_s = self.clock.cpu_s
        while True:
            solved = self._solve()
            starts = None if solved.x is None else self._read(solved.x)
            if starts is None or arrays.feasible(starts):
                return self._result(solved, build_s)
            use = arrays.use(starts)
            self.covers += [cover_row(arrays, starts, int(t)) for t in np.flatnonzero(use > arrays.capacity)]

    def _construct(self, reserved: IntArray) -> None:
        """Offer schedules of little delay, which may be fair by chance."""
        arrays = self.arrays
        for order in (arrays.duration * arrays.gpus, arrays.duration, arrays.submit):
            early = backfill(arrays, reserved, order.astype(float), self.clock)
            for starts in (early, advance(arrays, early, self.clock)):
                self._offer(solution_of(self.data, arrays, starts))

    def _solve(self) -> Solved:
        """Solve the model with the covers so far."""
        left = self.clock.remaining_s
        if left <= 0:
            return Solved("time_limit", reason="time limit")
        options = replace(solver_options(self.data, self.options), time_limit=None if left == float("inf") else left)
        start = None
        if self.incumbent.solution is not None:
            starts = self.arrays.starts_of(self.data, self.incumbent.solution)
            if self.arrays.feasible(starts):
                start = self._column_values(starts)
        model = _model(self.data, self.columns, self.covers, self._cost_unit)
        solved = solve_arrays(model, options, start=start, watch=self._watch)
        self._watch(solved.x, solved.bound)
        if solved.termination == "infeasible" and self.incumbent.solution is not None:
            return replace(solved, termination="error", reason="HiGHS finds no solution where there is one")
        return solved

    def _watch(self, x: FloatArray | None, bound: float | None) -> None:
        if bound is not None:
            self._raise(bound)
        starts = None if x is None else self._read(x)
        if starts is not None and self.arrays.feasible(starts):
            self._offer(solution_of(self.data, self.arrays, starts))

    def _raise(self, bound: float) -> None:
        """Raise the bound to the proven part of a solver's bound, in steps."""
        data, unit = self.data, self.arrays.slot * self._cost_unit
        found = proven_bound(data, bound * unit) if data.fairness_weight else proven_bound(data, bound) * unit
        self.incumbent.raise_bound(found)

    def _offer(self, solution: Solution) -> None:
        objective = check(self.data, solution).objective
        if objective is not None:
            self.incumbent.offer(objective, solution)

    def _read(self, x: FloatArray) -> IntArray:
        columns = self.columns
        chosen = np.flatnonzero(x[: len(columns.job)] > 0.5)
        starts = self.arrays.submit.copy()
        starts[columns.job[chosen]] = columns.start[chosen]
        return starts

    @property
    def _cost_unit(self) -> float:
        """The unit of the model's costs, so that a small weight does not drown in a solver's tolerances."""
        weight = self.data.fairness_weight
        return weight if 0 < weight < self.parameters.small_weight else 1.0

    def _column_values(self, starts: IntArray) -> FloatArray:
        """The solution vector of a schedule (J,): X, then α."""
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
            solution=self.incumbent.solution,
            bound=None if infeasible else self.incumbent.bound,
            termination=solved.termination,
            reason=reason,
            build_s=build_s,
            solve_s=self.clock.cpu_s - build_s,
            trace=tuple(self.incumbent.trace),
            info=dict(solved.info),
        )


def _pools(data: SiaOracle) -> tuple[FloatArray, IntArray, IntArray]:
    """The GPUs that each pool with jobs owns, the pool of each job, and the GPUs of each job."""
    used = {job.pool for job in data.jobs}
    pools = [pool for pool in data.pools if pool.name in used]
    names = {pool.name: i for i, pool in enumerate(pools)}
    owned = np.array([pool.gpus for pool in pools], dtype=float)
    return owned, np.array([names[job.pool] for job in data.jobs]), np.array([job.gpus for job in data.jobs])


def _free(data: SiaOracle) -> float:
    """The share of a pool's own GPUs up to which use is not charged."""
    return 0.0 if data.fair_share == "all-use" else 1.0


def _model(data: SiaOracle, columns: Columns, covers: list[Row], cost_unit: float) -> LinearModel:
    """The time-indexed model: each job starts once, capacity at each slot (12), covers, and fair shares (13)."""
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
        cost = np.concatenate([cost, data.fairness_weight * stretch]) / cost_unit
        integer = np.concatenate([integer, np.zeros(horizon, dtype=bool)])
        upper = np.concatenate([upper, np.full(horizon, np.inf)])
    row_upper = np.concatenate(uppers)
    row_lower = np.where(np.arange(len(row_upper)) < jobs, 1.0, -np.inf)
    return LinearModel(cost, matrix, row_lower, row_upper, upper=upper, integer=integer)
