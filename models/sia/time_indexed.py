"""The model on all starts as a whole in HiGHS: for fairness, and for cut-offs of any kind.

With fairness a schedule is sought and improved by annealing, Lagrangian prices exclude what no better schedule has, and
HiGHS is given the step formulation on what is left.

The step formulation (Artigues, 2017) of Figure 19 on the open starts, with few entries however long jobs run.

z_jk = 1 where job j starts at its k-th open start or before; z of its last one is the constant 1. The job runs at a
slot where z at the last open start up to the slot is 1 and z at the last one `duration` slots before is 0: two entries
a job and slot, where X has one for each start with which the job runs.
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
from models.highs import TIGHT, LinearModel, Solved, solve_arrays
from models.incumbent import Incumbent
from models.sia.bounds import initial_solution, proven_bound, solver_options, trivial_bound
from models.sia.fairness import Fairness, close_columns, fairness_of, lagrangian_prices
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.rows import IntervalRow, StartColumns, cover_row
from models.sia.search import advance, improve, settle


class _Entries(NamedTuple):
    """Σ sign z over the entries, plus 1 where `constant`: 1 if the job starts in an interval; rows of intervals."""

    row: IntArray
    z: IntArray
    sign: IntArray
    constant: IntArray


@dataclass(frozen=True)
class StepModel:
    """The model for HiGHS: variables z in order of job, then α of the `charged` steps; see `step_model`.

    `starts`: the open starts of each job; `offset` (J + 1,): the first z of each job.
    """

    linear: LinearModel
    starts: tuple[IntArray, ...]
    offset: IntArray
    charged: IntArray

    def read(self, x: FloatArray) -> IntArray:
        """The schedule (J,) of a solution vector."""
        z = (x[a:b] > 0.5 for a, b in zip(self.offset[:-1], self.offset[1:], strict=True))
        found = [own[int(np.argmax(np.append(own_z, True)))] for own, own_z in zip(self.starts, z, strict=True)]
        return np.array(found, dtype=np.int64)

    def values(self, starts: IntArray, stretch: FloatArray) -> FloatArray:
        """The solution vector of a schedule (J,) of open starts, with α (T,)."""
        z = [(own[:-1] >= t).astype(float) for own, t in zip(self.starts, starts, strict=True)]
        return np.concatenate([*z, stretch[self.charged]])


def step_model(
    columns: StartColumns, covers: list[IntervalRow], fairness: Fairness | None, cost_unit: float = 1.0
) -> StepModel:
    """The model: capacity (12) and fair shares (13) wherever they can bind, covers, and z_k <= z_k+1.

    Nothing changes between one start or end that can be and the next: these steps are one. Costs are in steps.

    Parameters:

    - `columns`: columns with an open start of each job.
    - `covers`: further rows.
    - `fairness`: shares and weights, if fairness is in the objective.
    - `cost_unit`: the unit of the costs.
    """
    arrays = columns.arrays
    jobs = range(len(arrays.submit))
    bounds = zip(columns.offset[:-1], columns.offset[1:], strict=True)
    starts = tuple(columns.start[a:b][columns.open[a:b]] for a, b in bounds)
    offset = np.concatenate([[0], np.cumsum([len(own) - 1 for own in starts])])
    ends = [own + length for own, length in zip(starts, arrays.duration, strict=True)]
    steps = np.unique(np.concatenate([*starts, *ends]))
    runs = [_started(starts[j], steps - arrays.duration[j] + 1, steps, offset[j]) for j in jobs]
    blocks = [_rows(runs, arrays.gpus, arrays.capacity, (len(steps), int(offset[-1])))]
    blocks += [_cover(columns, row, starts, offset) for row in covers]
    matrix, upper = sparse.vstack([block for block, _ in blocks]), np.concatenate([limit for _, limit in blocks])
    cost = np.concatenate([-np.diff(own) for own in starts]).astype(float)
    charged: IntArray = np.zeros(0, dtype=np.int64)
    if fairness is not None:
        shares, limits, at = _shares(runs, fairness, steps, int(offset[-1]))
        charged, alpha = np.unique(at, return_inverse=True)
        stretched = sparse.coo_array((-np.ones(len(at)), (np.arange(len(at)), alpha)), shape=(len(at), len(charged)))
        matrix = sparse.block_array([[matrix, None], [shares, stretched]])
        upper = np.concatenate([upper, limits])
        weight = np.add.reduceat(np.append(fairness.weight, 0.0), steps)  # nothing runs from the last step on
        cost, charged = np.concatenate([cost, weight[charged]]), steps[charged]
    chain = np.setdiff1d(np.arange(offset[-1]), offset[1:] - 1)
    order = np.tile(np.arange(len(chain)), 2)
    sign = np.repeat([1.0, -1.0], len(chain))
    chains = sparse.coo_array((sign, (order, np.concatenate([chain, chain + 1]))), shape=(len(chain), len(cost)))
    whole = np.arange(len(cost)) < offset[-1]
    linear = LinearModel(
        cost=cost / cost_unit,
        matrix=sparse.vstack([matrix, chains]),
        row_lower=-np.inf,
        row_upper=np.concatenate([upper, np.zeros(len(chain))]),
        upper=np.where(whole, 1.0, np.inf),
        integer=whole,
        offset=float(sum(int(own[-1]) for own in starts) - int(arrays.submit.sum())) / cost_unit,
    )
    return StepModel(linear, starts, offset, charged)


def _started(own: IntArray, low: IntArray, high: IntArray, first: int) -> _Entries:
    """Whether a job of open starts `own` starts in low..high (R,); its z begin at `first`."""
    until, since = np.searchsorted(own, high, side="right") - 1, np.searchsorted(own, low) - 1
    counted, last = until > since, len(own) - 1
    plus, minus = np.flatnonzero(counted & (until < last)), np.flatnonzero(counted & (since >= 0))
    return _Entries(
        np.concatenate([plus, minus]),
        first + np.concatenate([until[plus], since[minus]]),
        np.repeat([1, -1], [len(plus), len(minus)]),
        np.flatnonzero(counted & (until == last)),
    )


def _rows(
    runs: list[_Entries], weight: IntArray, limit: int, shape: tuple[int, int]
) -> tuple[sparse.csr_array, FloatArray]:
    """Rows Σ_j weight_j (j runs) <= limit of the steps where more can run; their matrix and right-hand sides."""
    matrix, constant, most = _summed(runs, weight.astype(float), shape)
    needed = most > limit
    return matrix[needed], limit - constant[needed]


def _summed(
    runs: list[_Entries], weight: FloatArray, shape: tuple[int, int]
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """Σ_j weight_j (j runs) at each step (S,): the matrix, the constant, and the most that it can be."""
    constant, most = np.zeros(shape[0]), np.zeros(shape[0])
    for run, w in zip(runs, weight, strict=True):
        constant[run.constant] += w
        most[np.union1d(run.row, run.constant)] += w
    values = np.concatenate([w * run.sign for run, w in zip(runs, weight, strict=True)])
    row, z = np.concatenate([run.row for run in runs]), np.concatenate([run.z for run in runs])
    return sparse.coo_array((values, (row, z)), shape=shape).tocsr(), constant, most


def _shares(
    runs: list[_Entries], fairness: Fairness, steps: IntArray, count: int
) -> tuple[sparse.csr_array, FloatArray, IntArray]:
    """Rows of (13) that can bind: matrix, right-hand sides before α, and the number of the step of each row."""
    matrices, limits, at = [], [], []
    for i, owned in enumerate(fairness.owned):
        weight = np.where(fairness.pool == i, fairness.gpus / owned, 0.0)
        members = [run for run, w in zip(runs, weight, strict=True) if w]
        matrix, constant, most = _summed(members, weight[weight > 0], (len(steps), count))
        needed: BoolArray = most > fairness.free
        matrices.append(matrix[needed])
        limits.append(fairness.free - constant[needed])
        at.append(np.flatnonzero(needed))
    return sparse.vstack(matrices), np.concatenate(limits), np.concatenate(at)


def _cover(
    columns: StartColumns, row: IntervalRow, starts: tuple[IntArray, ...], offset: IntArray
) -> tuple[sparse.csr_array, FloatArray]:
    low, high = row.starts(columns.arrays)
    runs = [_started(own, low[j : j + 1], high[j : j + 1], offset[j]) for j, own in enumerate(starts)]
    return _rows(runs, row.weight, row.limit, (1, int(offset[-1])))


@method("exact")
def time_indexed(data: SiaOracle, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the model of all starts as a whole (`solve_time_indexed`)."""
    return solve_time_indexed(data, options, report, start)


def solve_time_indexed(
    data: SiaOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: OracleParameters = DEFAULTS,
) -> Answer:
    """Answer of the model of all starts that are not excluded; see `step_model`.

    Raises InputError for a `start` that is not feasible.

    Parameters:

    - `data`: the problem.
    - `options`: limits and gap of the solve.
    - `report`: given each better solution and bound.
    - `start`: a feasible solution; nothing worse is returned.
    - `parameters`: sizes beyond which no model is built.
    """
    return _TimeIndexed(data, options, report, parameters).run(start)


class _TimeIndexed:
    """A solve: the incumbent, in slots, and cover rows for schedules that keep the model's rows and are too wide."""

    def __init__(self, data: SiaOracle, options: Options, report: Report, parameters: OracleParameters) -> None:
        self.parameters = parameters
        self.data, self.options = data, options
        self.clock = Stopwatch(options.time_limit)
        self.incumbent: Incumbent[Solution, float] = Incumbent(
            "minimize", self.clock, report, gap=options.gap, bound=trivial_bound(data)
        )
        self.covers: list[IntervalRow] = []
        self.fairness: Fairness | None = None

    def run(self, start: Solution | None) -> Answer:
        """The answer, no worse than `start`."""
        found = initial_solution(self.data, start)
        if found is not None:
            self._offer(found)
        data = self.data
        self.arrays = arrays = oracle_arrays(data)
        most = self.parameters.most_starts
        if arrays.horizon <= self.parameters.most_steps and arrays.feasible(arrays.cutoff):
            self._construct(arrays.cutoff)
        if arrays.starts > most:
            return self._refused(f"{arrays.starts:,} starts", most)
        self.columns = StartColumns(coarse(arrays, self.parameters.most_units))
        if data.fairness_weight:
            self.fairness = fairness_of(data, arrays)
            if arrays.starts > self.parameters.few_starts and arrays.horizon <= self.parameters.most_priced_steps:
                self._exclude()
        left, most = int(self.columns.open.sum()), self.parameters.most_open_starts
        if left > most:
            return self._refused(f"{left:,} starts that are not excluded", most)
        build_s = self.clock.cpu_s
        while True:
            solved = self._solve()
            starts = None if solved.x is None else self.model.read(solved.x)
            if starts is None or arrays.feasible(starts):
                return self._result(solved, build_s)
            known = {row.key for row in self.covers}
            covers = [cover_row(arrays, starts, int(t)) for t in np.flatnonzero(arrays.use(starts) > arrays.capacity)]
            self.covers += [row for row in covers if row.key not in known]
            if len(self.covers) == len(known):  # or else this would go on for ever
                return self._result(replace(solved, termination="error", reason="HiGHS breaks a row"), build_s)

    def _refused(self, found: str, most: int) -> Answer:
        reason = f"the windows of its jobs hold {found}, more than {most:,}"
        return self._result(Solved("finished", reason=reason), self.clock.cpu_s)

    def _exclude(self) -> None:
        """Improve the schedule at hand by annealing, and close the columns that prices prove to be in none better."""
        from models.sia.kernels import Shares  # compiled at first use, which takes seconds

        arrays, p, fairness = self.arrays, self.parameters, self.fairness
        assert fairness is not None
        if self.incumbent.solution is None or self.columns.arrays.unit != arrays.unit:
            return
        shares = Shares(fairness.pool, arrays.unit / fairness.owned, fairness.free, np.append(fairness.weight, 0.0))
        early = arrays.starts_of(self.data, self.incumbent.solution)
        if arrays.feasible(early):
            clock = Stopwatch(p.searching_share * self.clock.remaining_s)
            early = improve(arrays, early, clock, seed=self.options.seed, tries=p.first_tries, parameters=p)
            self._offer(solution_of(self.data, arrays, early))
        for seed, warm in enumerate(p.fair_warm, self.options.seed):
            starts = arrays.starts_of(self.data, self.incumbent.solution)
            clock = Stopwatch(p.searching_share * self.clock.remaining_s)
            at = replace(
                p, penalty_warm=warm, penalty_cold=p.fair_cold, penalty_soft=p.fair_penalty, penalty_hard=p.fair_penalty
            )
            found, _ = settle(arrays, starts, clock, seed=seed, tries=p.fair_tries, shares=shares, parameters=at)
            if found is not None:
                self._offer(solution_of(self.data, arrays, found))
        assert self.incumbent.objective is not None
        objective, clock = self.incumbent.objective / arrays.slot, Stopwatch(p.searching_share * self.clock.remaining_s)
        prices = lagrangian_prices(arrays, fairness, objective, clock, p)
        bound = close_columns(self.data, self.columns, fairness, prices, objective)
        if bound is not None:
            self.incumbent.raise_bound(math.nextafter(float(bound * arrays.slot), -math.inf))

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
        self.model = step_model(self.columns, self.covers, self.fairness, self._cost_unit)
        start = None
        if self.incumbent.solution is not None:
            starts = self.arrays.starts_of(self.data, self.incumbent.solution)
            if self.arrays.feasible(starts):
                stretch = np.zeros(0) if self.fairness is None else self.fairness.stretch(self.arrays, starts)
                start = self.model.values(starts, stretch)
        extra = TIGHT if self.data.fairness_weight else None
        solved = solve_arrays(self.model.linear, options, start=start, watch=self._watch, extra=extra)
        self._watch(solved.x, solved.bound)
        if solved.termination == "infeasible" and self.incumbent.solution is not None:
            return replace(solved, termination="error", reason="HiGHS finds no solution where there is one")
        return solved

    def _watch(self, x: FloatArray | None, bound: float | None) -> None:
        if bound is not None:
            self._raise(bound)
        starts = None if x is None else self.model.read(x)
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

    @property
    def _cost_unit(self) -> float:
        """The unit of the model's costs, so that a small weight does not drown in a solver's tolerances."""
        weight = self.data.fairness_weight
        return weight if 0 < weight < self.parameters.small_weight else 1.0

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
