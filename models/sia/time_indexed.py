"""The model on all starts as a whole in HiGHS: for fairness, and for cut-offs of any kind.

With fairness a schedule is sought and improved by annealing, Lagrangian prices exclude what no better schedule has, and
HiGHS is given the step formulation on what is left.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch, check
from instances.arrays import FloatArray, IntArray
from instances.method import method
from instances.sia import SiaOracle
from instances.sia.arrays import coarse, oracle_arrays, solution_of
from instances.sia.reservations import backfill
from models.highs import TIGHT, Solved, solve_arrays
from models.incumbent import Incumbent
from models.sia.bounds import initial_solution, proven_bound, solver_options, trivial_bound
from models.sia.columns import Columns
from models.sia.fairness import Fairness, fairness_of
from models.sia.neighbourhood_search import advance, improve
from models.sia.parameters import DEFAULTS, ExactParameters
from models.sia.penalty_search import settle
from models.sia.prices import close_columns, lagrangian_prices
from models.sia.rows import Row, cover_row
from models.sia.step_model import step_model


@method("exact")
def time_indexed(data: SiaOracle, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the model of all starts as a whole (`solve_time_indexed`)."""
    return solve_time_indexed(data, options, report, start)


def solve_time_indexed(
    data: SiaOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    """Answer of the model of all starts that are not excluded; see `step_model`.

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
        self.columns = Columns(coarse(arrays, self.parameters.most_units))
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
        from models.sia.penalty_kernels import Shares  # compiled at first use, which takes seconds

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
