"""The tightened event-interval program of the mean JCT as arrays (Aryl, section 5.1).

Interval m ends at the m-th completion and has a length L_m, possibly 0. x_jm = 1 if job j is the m-th to complete, q_jm
= 1 if it holds workers in interval m, and z_jmk = 1 if it holds k of them. t_jmk is the time in interval m for which it
holds k workers: all of the interval or nothing if z is integral.

Completions are modelled separately only as long as GPUs may be scarce. After enough completions, all remaining jobs,
whichever they are, fit together with their fastest numbers of workers. From then on they have these numbers, because no
job can complete earlier. r_j is the running time that job j then needs.

The following bounds hold for every schedule that is no worse than the start:

- t_jmk <= work / speed, the time that k workers need for the whole job, instead of one big-M constant;
- the work of job j after interval m is at most its work times (1 - x_j1 - ... - x_jm);
- the m-th completion is no earlier than the time that all GPUs need for the m smallest jobs, the m-th shortest minimum
  running time, and the minimum running time of the m-th job to complete;
- interval m delays n + 1 - m jobs, so it is at most the total of the start divided by this number; a job cannot be the
  m-th to complete if these bounds together exceed the total;
- the limits that dual multipliers of the program's own rows prove (`models/aryl/interval_limits.py`).

A job is negligible if its running time is less than NEGLIGIBLE of the longest one: with such coefficients, HiGHS has
cut off better schedules. The program has only the completion of such a job: e_m = 1 if interval m ends with the
completion of a negligible job, whichever it is. The program omits its times, workers and rows. The job costs the time
until its interval ends, or at least until the last modelled completion. Each schedule is therefore a point of at most
the same cost, and a bound on the program is a bound on the mean JCT. (The completion itself must remain, because
workers change at completions only.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray
from instances.aryl.arrays import ElasticArrays, Workers
from instances.aryl.schedule import Schedule
from models.aryl.list_schedules import replay_allocations
from models.core.highs import LinearModel
from models.core.safe_bounds import real_bound
from models.core.scaling import SLACK, rescale_model

TOGETHER = 10 * SLACK  # times the longest job: a shorter interval counts as length 0
GRID = 128  # limits are multiples of 1/128 of the power of two above them, so they have few binary digits
NEGLIGIBLE = 1e-6  # times the longest job: HiGHS has cut off better schedules next to shorter times
MIN_LIMIT = 1e-4  # times the longest job, of lengths: the slack of a limit, a hundredth, is then ten HiGHS tolerances
SPLIT = 1e-6  # share of an interval with one number of workers from which the interval counts as split

Name = tuple[Any, ...]


@dataclass(frozen=True)
class IntervalLimits:
    """Limits of the variables in every schedule that is no worse than the start.

    - `excluded`: pairs (job, m), m from 0: the job is not the m-th to complete.
    - `max_length`: maximum length of interval m, in units of the longest minimum running time.
    - `fixed`: values of the variables `q` and `z`, by name.
    """

    excluded: frozenset[tuple[int, int]] = frozenset()
    max_length: Mapping[int, float] = field(default_factory=dict)
    fixed: Mapping[Name, float] = field(default_factory=dict)


class EventIntervals:
    """The event-interval program of `jobs`, tightened by the schedule `start` and by `limits`.

    Times are in units of the longest minimum running time, speeds in units of the job's fastest speed, and GPUs in
    units of their common divisor, which keeps the coefficients close together.

    - `negligible`: jobs whose times are omitted.
    - `positions`: for each job the positions m at which it may complete.
    - `modelled`: number of completions that are modelled separately.
    """

    def __init__(self, jobs: ElasticArrays, start: Schedule[int], limits: IntervalLimits | None = None) -> None:
        self.jobs, self.start, self.limits, n = jobs, start, limits or IntervalLimits(), len(jobs.work)
        self.scale: Fraction = max(jobs.shortest(j) for j in range(n))
        times = [float(jobs.shortest(j) / self.scale) for j in range(n)]
        self.work = [time if time >= NEGLIGIBLE else 0.0 for time in times]  # also the shortest running times
        self.negligible = {j for j in range(n) if not self.work[j]}
        fastest = [jobs.speed[j][jobs.most[j]] for j in range(n)]
        self.speed = [{w: float(rate / fastest[j]) for w, rate in jobs.speed[j].items()} for j in range(n)]
        per_speed = [jobs.least[j] / self.speed[j][jobs.least[j]] for j in range(n)]  # fewest workers per unit of speed
        self.area = [work * g * k / jobs.usable for work, g, k in zip(self.work, jobs.gpus, per_speed, strict=True)]
        self.total = real_bound(float(start.total / self.scale), "maximize")  # with a margin for rounded sums
        lengths = [min(self.total / (n - m), self.limits.max_length.get(m, np.inf)) for m in range(n)]
        self.max_length = [max(round_up_limit(length), MIN_LIMIT) for length in lengths]
        self.positions = [
            [m for m in range(n) if (j, m) not in self.limits.excluded and self._bound_total(j, m) <= self.total]
            for j in range(n)
        ]
        self.modelled = next(m for m in range(n + 1) if self._can_all_be_fastest(m))
        self.column: dict[Name, int] = {}
        self.unit: FloatArray = np.ones(1)  # of each variable, in the last model that was built
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self._rows: list[tuple[dict[int, float], float, float]] = []
        self._add_variables()
        for j in range(n):
            if j not in self.negligible:
                self._add_job(j)
        for m in range(self.modelled):
            self._add_interval(m)
        self._add_remainder()

    def build(self, integral: set[int]) -> LinearModel:
        """Build the model: minimise the sum of completion times, with integer workers in the intervals `integral`."""
        entries = [(r, c, v) for r, (row, _, _) in enumerate(self._rows) for c, v in row.items()]
        rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
        matrix = sparse.csc_array((values, (rows, columns)), shape=(len(self._rows), len(self.cost)))
        lower, upper = np.array([row[1] for row in self._rows]), np.array([row[2] for row in self._rows])
        integer = [
            is_integer and (name[0] != "z" or name[2] in integral) and self.lower[column] < self.upper[column]
            for (name, column), is_integer in zip(self.column.items(), self.integer, strict=True)
        ]  # HiGHS returns no bound if all integer variables are fixed
        model, self.unit = rescale_model(LinearModel(self.cost, matrix, lower, upper, self.lower, self.upper, integer))
        return model

    def find_split_intervals(self, x: FloatArray) -> set[int]:
        """Find the intervals in which a job has several numbers of workers, one after the other, in the point `x`."""
        x = x * self.unit
        return {
            name[2]
            for name, column in self.column.items()
            if name[0] == "t"
            and x[self.column["L", name[2]]] > TOGETHER
            and SPLIT < x[column] / x[self.column["L", name[2]]] < 1 - SPLIT
        }

    def _bound_completion(self, m: int, without: int | None = None, first: int | None = None) -> float:
        """Bound the m-th completion (from 0) from below.

        `without`: a job that completes later; `first`: a job that completes no later.
        """
        others = [j for j in range(len(self.work)) if j not in (without, first)]
        k = m + 1 if first is None else m
        area, shortest = (sorted(values[j] for j in others) for values in (self.area, self.work))
        fixed = (self.area[first], self.work[first]) if first is not None else (0.0, 0.0)
        return max(fixed[0] + sum(area[:k]), fixed[1], shortest[k - 1] if k else 0.0)

    def _bound_total(self, j: int, m: int) -> float:
        """Bound the sum of completion times from below if job j is the m-th to complete (from 0)."""
        n = len(self.work)
        bounds = (
            self._bound_completion(i, without=j) if i < m else self._bound_completion(i, first=j) for i in range(n)
        )
        return sum(bounds)

    def _can_all_be_fastest(self, m: int) -> bool:
        """Return whether all jobs that remain after m completions fit together with their fastest numbers of workers.

        This must hold for every possible set of remaining jobs: a job surely remains if it cannot complete at the first
        m positions, and surely does not if it can complete only there.
        """
        jobs, n = self.jobs, len(self.work)
        gpus = [jobs.gpus[j] * jobs.most[j] for j in range(n)]
        remaining = [j for j in range(n) if self.positions[j] and self.positions[j][0] >= m]
        others = sorted(
            gpus[j] for j in range(n) if self.positions[j] and self.positions[j][0] < m <= self.positions[j][-1]
        )
        more = n - m - len(remaining)
        return sum(gpus[j] for j in remaining) + sum(others[len(others) - more :] if more > 0 else ()) <= jobs.capacity

    def _add_variables(self) -> None:
        n = len(self.work)
        for m in range(self.modelled):
            self._add_variable(("L", m), self.max_length[m], cost=float(n - m))
            if self.negligible:
                self._add_variable(("e", m), 1.0, integer=True)
        for j in range(n):
            if j in self.negligible:
                continue
            for m in self.positions[j]:
                if m < self.modelled:
                    self._add_variable(("x", j, m), 1.0, integer=True)
            last = max(self.positions[j], default=-1)
            for m in range(min(last + 1, self.modelled)):
                self._add_variable(("q", j, m), 1.0, integer=True)
                for k, speed in self.speed[j].items():
                    if self.upper[self.column["q", j, m]] == 0 or self.limits.fixed.get(("z", j, m, k)) == 0:
                        continue
                    self._add_variable(("z", j, m, k), 1.0, integer=True)
                    self._add_variable(("t", j, m, k), self._limit_time(j, m, speed))
            if last >= self.modelled:
                self._add_variable(("r", j), self.work[j], cost=1.0)

    def _limit_time(self, j: int, m: int, speed: float) -> float:
        return min(self.work[j] / speed, self.max_length[m])

    def _add_variable(self, name: Name, upper: float, cost: float = 0.0, integer: bool = False) -> None:
        self.column[name] = len(self.cost)
        self.cost.append(cost)
        fixed = self.limits.fixed.get(name)
        self.lower.append(0.0 if fixed is None else fixed)
        self.upper.append(upper if fixed is None else fixed)
        self.integer.append(integer)

    def _add_row(self, lower: float, row: dict[Name, float], upper: float) -> None:
        entries = {self.column[name]: value for name, value in row.items() if name in self.column}
        if entries or not lower <= 0 <= upper:
            self._rows.append((entries, lower, upper))

    def _add_job(self, j: int) -> None:
        n, work, speed, far = self.modelled, self.work[j], self.speed[j], float("inf")
        add = self._add_row
        for m in range(n):
            if ("q", j, m) not in self.column:
                break
            times = {("t", j, m, k): 1.0 for k in speed}
            for k, rate in speed.items():
                add(-far, {("t", j, m, k): 1.0, ("z", j, m, k): -self._limit_time(j, m, rate)}, 0.0)
            add(0.0, {("q", j, m): -1.0, **{("z", j, m, k): 1.0 for k in speed}}, 0.0)
            add(-far, {**times, ("L", m): -1.0}, 0.0)
            add(-self.max_length[m], {**times, ("L", m): -1.0, ("q", j, m): -self.max_length[m]}, far)
            done = {("t", j, m, k): rate for k, rate in speed.items()}
            add(-far, {**done, ("q", j, m): -work}, 0.0)
            add(-far, {("q", j, m): 1.0, **{("x", j, i): 1.0 for i in range(m)}}, 1.0)
            add(0.0, {("q", j, m): 1.0, ("x", j, m): -1.0}, far)
            if m > 0:
                add(0.0, {("q", j, m): 1.0, ("q", j, m - 1): -1.0, ("x", j, m - 1): 1.0}, far)
            later: dict[Name, float] = {("t", j, i, k): rate for i in range(m + 1, n) for k, rate in speed.items()}
            add(-far, {**later, ("r", j): 1.0, **{("x", j, i): work for i in range(m + 1)}}, work)
        completions = {("x", j, m): 1.0 for m in range(n)}
        if ("r", j) in self.column:
            add(0.0, completions, 1.0)
            add(-far, {**dict.fromkeys(completions, work), ("r", j): 1.0}, work)
        else:
            add(1.0, completions, 1.0)
        add(work, {**{("t", j, m, k): rate for m in range(n) for k, rate in speed.items()}, ("r", j): 1.0}, work)

    def _add_interval(self, m: int) -> None:
        jobs, n, far = self.jobs, len(self.work), float("inf")
        self._add_row(1.0, {("e", m): 1.0, **{("x", j, m): 1.0 for j in range(n)}}, 1.0)
        gpus = {(j, k): float(jobs.gpus[j] // jobs.unit * k) for j in range(n) for k in self.speed[j]}
        capacity = float(jobs.usable // jobs.unit)
        self._add_row(-far, {("z", j, m, k): g for (j, k), g in gpus.items()}, capacity)
        self._add_row(-far, {**{("t", j, m, k): g for (j, k), g in gpus.items()}, ("L", m): -capacity}, 0.0)
        until: dict[Name, float] = {("L", i): 1.0 for i in range(m + 1)}
        self._add_row(self._bound_completion(m), until, far)
        self._add_row(0.0, {**until, **{("x", j, m): -self.work[j] for j in range(n)}}, far)

    def _add_remainder(self) -> None:
        """Add one bound on the sum of the completions that are not modelled separately."""
        n, modelled = len(self.work), self.modelled
        before: dict[Name, float] = {("L", m): float(n - modelled) for m in range(modelled)}
        ends = {("r", j): 1.0 for j in range(n)}
        bound = sum(self._bound_completion(m) for m in range(modelled, n))
        self._add_row(bound, {**before, **ends}, float("inf"))
        self._add_row(-float("inf"), {("e", m): 1.0 for m in range(modelled)}, float(len(self.negligible)))

    def encode(self, schedule: Schedule[int]) -> FloatArray:
        """Return the values of the variables in `schedule`; jobs that complete together get intervals of length 0."""
        x = np.zeros(len(self.cost))
        left = dict(enumerate(self.jobs.work))
        m = 0
        for length, workers in schedule.intervals:
            if m >= self.modelled:
                break
            x[self.column["L", m]] = float(length / self.scale)
            for j, k in workers.items():
                left[j] -= length * self.jobs.speed[j][k]
                if j not in self.negligible:
                    x[self.column["t", j, m, k]] = float(length / self.scale)
            done = [j for j in workers if left[j] <= 0]  # lengths are rounded up
            for i, j in enumerate(done[: self.modelled - m]):
                x[self.column[("e", m + i) if j in self.negligible else ("x", j, m + i)]] = 1.0
                for running, k in workers.items():
                    if running not in self.negligible.union(done[:i]):
                        x[self.column["q", running, m + i]] = x[self.column["z", running, m + i, k]] = 1.0
            m += len(done)
        for j, work in left.items():
            if work > 0 and j not in self.negligible:
                x[self.column["r", j]] = float(work / self.jobs.speed[j][self.jobs.most[j]] / self.scale)
        return x / self.unit

    def decode(self, x: FloatArray) -> Schedule[int]:
        """Return the schedule with the workers of the point `x`, exact lengths, and negligible jobs first."""
        jobs, n, x = self.jobs, len(self.work), x * self.unit
        allocations: list[Workers] = []
        for m in range(self.modelled):
            if self.negligible and x[self.column["e", m]] > 0.5:
                continue
            length = x[self.column["L", m]]
            # The times of a very short interval are lost in rounding.
            variable, threshold = ("t", 0.5 * length) if length > TOGETHER else ("z", 0.5)
            columns = ((j, k, self.column.get((variable, j, m, k))) for j in range(n) for k in self.speed[j])
            allocations.append({j: k for j, k, column in columns if column is not None and x[column] > threshold})
        first: list[Workers] = []
        for j in sorted(self.negligible, key=lambda j: -jobs.gpus[j] * jobs.most[j]):  # small ones fit next to others
            alone = {j: jobs.most[j]}
            together = alone | (allocations[0] if allocations else {})
            first.append(together if jobs.fit(together) else alone)
        return replay_allocations(jobs, [*first, *allocations, *({} for _ in range(n))])


def round_up_limit(limit: float) -> float:
    """Return a limit with few binary digits that exceeds `limit` by one to two per cent.

    HiGHS confuses numbers that differ only by the margin of a proof, and has then cut off feasible points.
    """
    share, exponent = math.frexp(limit)
    return math.ldexp(math.floor(share * GRID) + 2, exponent) / GRID
