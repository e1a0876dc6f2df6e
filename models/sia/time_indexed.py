"""The complete time-indexed model in HiGHS, for fairness and for cut-offs without an initial schedule.

With fairness, annealing improves a schedule, and Lagrangian multipliers exclude starts that no better schedule
contains. HiGHS solves the step formulation (Artigues, 2017) of Figure 19 on the open starts. Its size does not depend
on the durations: z_jk = 1 if job j starts at its k-th open start or before; z of the last start is the constant 1. The
job runs at a slot if z is 1 at the last open start up to the slot and 0 at the last open start at least `duration`
slots before. These are two entries per job and slot, while X has one entry per start with which the job runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch, check
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.method import method
from instances.sia import SiaOracle
from instances.sia.arrays import coarse, oracle_arrays, solution_of
from instances.sia.reservations import backfill
from models.core.highs import TIGHT, LinearModel, Solved, solve_arrays
from models.core.incumbent import Incumbent
from models.sia.bounds import compute_trivial_bound, find_initial_solution, reduce_gap, round_bound
from models.sia.fairness import Fairness, build_fairness, close_columns, find_multipliers
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.rows import IntervalRow, StartColumns, build_cover_row, find_counted_starts
from models.sia.search import advance, anneal_with_penalties, improve


class _Entries(NamedTuple):
    """Indicators of one job for rows of intervals: does it start in the interval?

    The indicator of a row is Σ sign z over the entries of the row, plus 1 if the row is in `constant`.
    """

    row: IntArray
    z: IntArray
    sign: IntArray
    constant: IntArray


@dataclass(frozen=True)
class StepModel:
    """The model for HiGHS: variables z in order of job, then α of the `charged` steps; see `build_step_model`.

    `starts` are the open starts of each job; `offset` (J + 1,) is the index of each job's first z.
    """

    linear: LinearModel
    starts: tuple[IntArray, ...]
    offset: IntArray
    charged: IntArray

    def decode(self, x: FloatArray) -> IntArray:
        """Return the schedule (J,) of a solution vector."""
        z = (x[a:b] > 0.5 for a, b in zip(self.offset[:-1], self.offset[1:], strict=True))
        schedule = [own[int(np.argmax(np.append(own_z, True)))] for own, own_z in zip(self.starts, z, strict=True)]
        return np.array(schedule, dtype=np.int64)

    def encode(self, starts: IntArray, stretch: FloatArray) -> FloatArray:
        """Return the solution vector of a schedule (J,) of open starts with α (T,)."""
        z = [(own[:-1] >= t).astype(float) for own, t in zip(self.starts, starts, strict=True)]
        return np.concatenate([*z, stretch[self.charged]])


def build_step_model(
    columns: StartColumns, covers: list[IntervalRow], fairness: Fairness | None, cost_unit: float = 1.0
) -> StepModel:
    """Build the model with capacity (12) and fair shares (13) at steps where they can bind, covers, and z_k <= z_k+1.

    Consecutive slots without a possible start or end between them share their rows.

    - `columns`: columns with at least one open start per job.
    - `covers`: additional rows.
    - `fairness`: shares and weights, if fairness is part of the objective.
    - `cost_unit`: unit of the objective, in steps.
    """
    arrays = columns.arrays
    jobs = range(len(arrays.submit))
    bounds = zip(columns.offset[:-1], columns.offset[1:], strict=True)
    starts = tuple(columns.start[a:b][columns.open[a:b]] for a, b in bounds)
    offset = np.concatenate([[0], np.cumsum([len(own) - 1 for own in starts])])
    ends = [own + length for own, length in zip(starts, arrays.duration, strict=True)]
    steps = np.unique(np.concatenate([*starts, *ends]))
    runs = [_indicate_starts(starts[j], steps - arrays.duration[j] + 1, steps, offset[j]) for j in jobs]
    blocks = [_build_rows(runs, arrays.gpus, arrays.capacity, (len(steps), int(offset[-1])))]
    for row in covers:
        (low,), (high,) = find_counted_starts(arrays, [row])
        covered = [_indicate_starts(starts[j], low[j : j + 1], high[j : j + 1], offset[j]) for j in jobs]
        blocks.append(_build_rows(covered, row.weight, row.limit, (1, int(offset[-1]))))
    matrix, upper = sparse.vstack([block for block, _ in blocks]), np.concatenate([limit for _, limit in blocks])
    cost = np.concatenate([-np.diff(own) for own in starts]).astype(float)
    charged: IntArray = np.zeros(0, dtype=np.int64)
    if fairness is not None:
        shares, limits, at = _build_share_rows(runs, fairness, steps, int(offset[-1]))
        charged, alpha = np.unique(at, return_inverse=True)
        stretch = sparse.coo_array((-np.ones(len(at)), (np.arange(len(at)), alpha)), shape=(len(at), len(charged)))
        matrix = sparse.block_array([[matrix, None], [shares, stretch]])
        upper = np.concatenate([upper, limits])
        weight = np.add.reduceat(np.append(fairness.weight, 0.0), steps)  # no job runs from the last step on
        cost, charged = np.concatenate([cost, weight[charged]]), steps[charged]
    chain = np.setdiff1d(np.arange(offset[-1]), offset[1:] - 1)
    order = np.tile(np.arange(len(chain)), 2)
    sign = np.repeat([1.0, -1.0], len(chain))
    chains = sparse.coo_array((sign, (order, np.concatenate([chain, chain + 1]))), shape=(len(chain), len(cost)))
    is_integer = np.arange(len(cost)) < offset[-1]
    linear = LinearModel(
        cost=cost / cost_unit,
        matrix=sparse.vstack([matrix, chains]),
        row_lower=-np.inf,
        row_upper=np.concatenate([upper, np.zeros(len(chain))]),
        upper=np.where(is_integer, 1.0, np.inf),
        integer=is_integer,
        offset=float(sum(int(own[-1]) for own in starts) - int(arrays.submit.sum())) / cost_unit,
    )
    return StepModel(linear, starts, offset, charged)


def _indicate_starts(own: IntArray, low: IntArray, high: IntArray, first: int) -> _Entries:
    """Return indicators of a job's start in low..high (R,).

    - `own`: open starts of the job.
    - `low`, `high`: first and last start of each row, (R,).
    - `first`: index of the job's first z.
    """
    until, since = np.searchsorted(own, high, side="right") - 1, np.searchsorted(own, low) - 1
    counted, last = until > since, len(own) - 1
    plus, minus = np.flatnonzero(counted & (until < last)), np.flatnonzero(counted & (since >= 0))
    return _Entries(
        np.concatenate([plus, minus]),
        first + np.concatenate([until[plus], since[minus]]),
        np.repeat([1, -1], [len(plus), len(minus)]),
        np.flatnonzero(counted & (until == last)),
    )


def _build_rows(
    runs: list[_Entries], weight: IntArray, limit: int, shape: tuple[int, int]
) -> tuple[sparse.csr_array, FloatArray]:
    """Return matrix and right-hand sides of the rows Σ_j weight_j indicator_j <= limit that can bind."""
    matrix, constant, largest = _sum_indicators(runs, weight.astype(float), shape)
    can_bind = largest > limit
    return matrix[can_bind], limit - constant[can_bind]


def _sum_indicators(
    runs: list[_Entries], weight: FloatArray, shape: tuple[int, int]
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """Return matrix, constant and largest possible value of Σ_j weight_j indicator_j of each row."""
    constant, largest = np.zeros(shape[0]), np.zeros(shape[0])
    for run, w in zip(runs, weight, strict=True):
        constant[run.constant] += w
        largest[np.union1d(run.row, run.constant)] += w
    values = np.concatenate([w * run.sign for run, w in zip(runs, weight, strict=True)])
    row, z = np.concatenate([run.row for run in runs]), np.concatenate([run.z for run in runs])
    return sparse.coo_array((values, (row, z)), shape=shape).tocsr(), constant, largest


def _build_share_rows(
    runs: list[_Entries], fairness: Fairness, steps: IntArray, count: int
) -> tuple[sparse.csr_array, FloatArray, IntArray]:
    """Return the rows of (13) that can bind: matrix without α, right-hand sides, and the index of each row's step."""
    matrices, limits, at = [], [], []
    for i, owned in enumerate(fairness.owned):
        weight = np.where(fairness.pool == i, fairness.gpus / owned, 0.0)
        members = [run for run, w in zip(runs, weight, strict=True) if w]
        matrix, constant, largest = _sum_indicators(members, weight[weight > 0], (len(steps), count))
        can_bind: BoolArray = largest > fairness.free
        matrices.append(matrix[can_bind])
        limits.append(fairness.free - constant[can_bind])
        at.append(np.flatnonzero(can_bind))
    return sparse.vstack(matrices), np.concatenate(limits), np.concatenate(at)


@method("exact")
def time_indexed(data: SiaOracle, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the complete time-indexed model with HiGHS; see `solve_time_indexed`."""
    return solve_time_indexed(data, options, report, start)


def solve_time_indexed(
    data: SiaOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: OracleParameters = DEFAULTS,
) -> Answer:
    """Solve the model of all starts that are not excluded; see `build_step_model`.

    Raises InputError if `start` is infeasible.

    - `data`: the problem.
    - `options`: limits and gap.
    - `report`: called with each better solution and bound.
    - `start`: a feasible solution; the answer is never worse.
    - `parameters`: limits of the model's size.
    """
    return _TimeIndexedSolve(data, options, report, parameters).run(start)


class _TimeIndexedSolve:
    """A solve: the incumbent, in slots, and cover rows for schedules that satisfy the model but exceed the capacity."""

    def __init__(self, data: SiaOracle, options: Options, report: Report, parameters: OracleParameters) -> None:
        self.parameters = parameters
        self.data, self.options = data, options
        self.clock = Stopwatch(options.time_limit)
        self.incumbent: Incumbent[Solution, float] = Incumbent(
            "minimize", self.clock, report, gap=options.gap, bound=compute_trivial_bound(data)
        )
        self.covers: list[IntervalRow] = []
        self.fairness: Fairness | None = None

    def run(self, start: Solution | None) -> Answer:
        """Solve the model, and return an answer that is not worse than `start`."""
        data, p = self.data, self.parameters
        initial = find_initial_solution(data, start)
        if initial is not None:
            self._offer(initial)
        self.arrays = arrays = oracle_arrays(data)
        if arrays.horizon <= p.max_steps and arrays.feasible(arrays.cutoff):
            self._construct(arrays.cutoff)
        if arrays.starts > p.max_starts:
            return self._reject(f"{arrays.starts:,} starts", p.max_starts)
        self.columns = StartColumns(coarse(arrays, p.max_units))
        if data.fairness_weight:
            self.fairness = build_fairness(data, arrays)
            if arrays.starts > p.fair_min_starts and arrays.horizon <= p.fair_max_steps:
                self._exclude_starts(self.fairness)
        open_starts = int(self.columns.open.sum())
        if open_starts > p.max_open_starts:
            return self._reject(f"{open_starts:,} starts that are not excluded", p.max_open_starts)
        build_s = self.clock.cpu_s
        while True:
            solved = self._solve()
            starts = None if solved.x is None else self.model.decode(solved.x)
            if starts is None or arrays.feasible(starts):
                return self._answer(solved, build_s)
            known = {row.key for row in self.covers}
            overloaded = np.flatnonzero(arrays.use(starts) > arrays.capacity)
            covers = [build_cover_row(arrays, starts, int(t)) for t in overloaded]
            self.covers += [row for row in covers if row.key not in known]
            if len(self.covers) == len(known):  # without a new row, the loop would not end
                return self._answer(replace(solved, termination="error", reason="HiGHS breaks a row"), build_s)

    def _reject(self, size: str, limit: int) -> Answer:
        reason = f"the windows of its jobs hold {size}, more than {limit:,}"
        return self._answer(Solved("finished", reason=reason), self.clock.cpu_s)

    def _exclude_starts(self, fairness: Fairness) -> None:
        """Improve the incumbent by annealing, and close the columns that no better schedule contains."""
        from models.sia.kernels import Shares  # compiled at first use, which takes seconds

        arrays, p, incumbent = self.arrays, self.parameters, self.incumbent
        if incumbent.solution is None or self.columns.arrays.unit != arrays.unit:
            return
        shares = Shares(fairness.pool, arrays.unit / fairness.owned, fairness.free, np.append(fairness.weight, 0.0))
        starts = arrays.starts_of(self.data, incumbent.solution)
        if arrays.feasible(starts):
            starts = improve(
                arrays, starts, self._start_clock(), seed=self.options.seed, tries=p.first_tries, parameters=p
            )
            self._offer(solution_of(self.data, arrays, starts))
        for seed, warm in enumerate(p.fair_warm, self.options.seed):
            starts = arrays.starts_of(self.data, incumbent.solution)
            fair = replace(
                p, penalty_warm=warm, penalty_cold=p.fair_cold, penalty_soft=p.fair_penalty, penalty_hard=p.fair_penalty
            )
            clock, tries = self._start_clock(), p.fair_tries
            best, _ = anneal_with_penalties(
                arrays, starts, clock, seed=seed, tries=tries, shares=shares, parameters=fair
            )
            if best is not None:
                self._offer(solution_of(self.data, arrays, best))
        assert incumbent.objective is not None
        objective = incumbent.objective / arrays.slot
        multipliers = find_multipliers(arrays, fairness, objective, self._start_clock(), p)
        bound = close_columns(self.data, self.columns, fairness, multipliers, objective)
        if bound is not None:
            incumbent.raise_bound(math.nextafter(float(bound * arrays.slot), -math.inf))

    def _start_clock(self) -> Stopwatch:
        """Return the clock of one search."""
        return Stopwatch(self.parameters.searching_share * self.clock.remaining_s)

    def _construct(self, reserved: IntArray) -> None:
        """Offer schedules with little delay; their fairness is not controlled."""
        arrays = self.arrays
        for order in (arrays.duration * arrays.gpus, arrays.duration, arrays.submit):
            early = backfill(arrays, reserved, order.astype(float), self.clock)
            for starts in (early, advance(arrays, early, self.clock)):
                self._offer(solution_of(self.data, arrays, starts))

    def _solve(self) -> Solved:
        """Solve the model with the current covers."""
        remaining_s = self.clock.remaining_s
        if remaining_s <= 0:
            return Solved("time_limit", reason="time limit")
        time_limit = None if remaining_s == float("inf") else remaining_s
        options = replace(reduce_gap(self.data, self.options), time_limit=time_limit)
        self.model = build_step_model(self.columns, self.covers, self.fairness, self._cost_unit)
        start = None
        if self.incumbent.solution is not None:
            starts = self.arrays.starts_of(self.data, self.incumbent.solution)
            if self.arrays.feasible(starts):
                stretch = self.fairness.evaluate_stretch(self.arrays, starts) if self.fairness else np.zeros(0)
                start = self.model.encode(starts, stretch)
        extra = TIGHT if self.data.fairness_weight else None
        solved = solve_arrays(self.model.linear, options, start=start, watch=self._receive, extra=extra)
        self._receive(solved.x, solved.bound)
        if solved.termination == "infeasible" and self.incumbent.solution is not None:
            return replace(solved, termination="error", reason="HiGHS finds no solution where there is one")
        return solved

    def _receive(self, x: FloatArray | None, bound: float | None) -> None:
        """Offer a solution of the solver, and raise the bound to the proven part of the solver's bound."""
        if bound is not None:
            data, unit = self.data, self.arrays.slot * self._cost_unit
            proven = round_bound(data, bound * unit) if data.fairness_weight else round_bound(data, bound) * unit
            self.incumbent.raise_bound(proven)
        starts = None if x is None else self.model.decode(x)
        if starts is not None and self.arrays.feasible(starts):
            self._offer(solution_of(self.data, self.arrays, starts))

    def _offer(self, solution: Solution) -> None:
        objective = check(self.data, solution).objective
        if objective is not None:
            self.incumbent.offer(objective, solution)

    @property
    def _cost_unit(self) -> float:
        """The unit of the model's costs, so that a small weight stays above the solver's tolerances."""
        weight = self.data.fairness_weight
        return weight if 0 < weight < self.parameters.small_weight else 1.0

    def _answer(self, solved: Solved, build_s: float) -> Answer:
        is_infeasible = solved.termination == "infeasible"
        no_schedule = f"no schedule on {self.data.capacity} GPUs keeps every latest_start"
        return Answer(
            solution=self.incumbent.solution,
            bound=None if is_infeasible else self.incumbent.bound,
            termination=solved.termination,
            reason=no_schedule if is_infeasible else solved.reason,
            build_s=build_s,
            solve_s=self.clock.cpu_s - build_s,
            trace=tuple(self.incumbent.trace),
            info=dict(solved.info),
        )
