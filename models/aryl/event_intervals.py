"""The event-interval program of the mean JCT as arrays, and tight (Aryl, section 5.1).

Interval m ends at the m-th completion and has a length L_m, possibly 0. Job j is the m-th to complete if x_jm = 1,
holds workers in interval m if q_jm = 1, and k of them if z_jmk = 1; t_jmk is the part of interval m in which it holds
k, all of it or nothing where z is whole. Completions are told apart only as long as GPUs may be short: from the first
completion on after which all jobs that can be left hold their fastest numbers of workers together, each does so, for no
job can complete earlier, and r_j is the time that job j then takes. The program is tightened by bounds that hold for
every schedule that is no worse than the start:

- t_jmk <= work / speed, the time that k workers need for the whole job, instead of one large constant;
- what job j does after interval m is at most its work times (1 - x_j1 - ... - x_jm);
- the m-th completion is no earlier than the time all GPUs need for the m smallest jobs, than the m-th shortest
  minimum running time, or than the minimum running time of the job that is the m-th to complete;
- interval m delays n + 1 - m jobs, so it is no longer than the total of the start divided by them; and no job is the
  m-th to complete if these bounds together then exceed that total;
- limits that prices of the program's own rows prove (`models/aryl/interval_limits.py`).

A job of less than FAR of the longest is fleeting: HiGHS, which cuts off better schedules beside such numbers, does not
see them. The program has its completion only, e_m = 1 if interval m ends with that of a fleeting job, whichever it is.
Its times, workers and rows are left out and no others, and it costs what passes until its interval ends, or at least
until the last one that is told apart does. So each schedule is a point of no greater cost, and a bound on the program
is one on the mean JCT. (To leave out the job and its completion would not do: workers change at completions only.)
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
from models.aryl.list_schedules import from_program
from models.bounds import real_bound
from models.highs import LinearModel
from models.scaling import SLACK, rescale_model

TOGETHER = 10 * SLACK  # An interval shorter than this, in units of the longest job, has no length.
ROOMY = 128  # the grid of `roomy` limits, in the power of two above each
FAR = 1e-6  # beside shorter times in units of the longest, HiGHS has cut off better schedules
LEAST = 1e-4  # No limit of a length is less, in these units: a hundredth, its room, is ten times HiGHS's tolerance.
SPLIT = 1e-6  # A job splits an interval where this share of it or more is spent on each of several numbers of workers.

Name = tuple[Any, ...]


@dataclass(frozen=True)
class IntervalLimits:
    """What holds for the variables in every schedule that is no worse than the start.

    - `never`: places (job, m), m from 0, at which the job does not complete.
    - `longest`: the most length of interval m, in units of the longest minimum running time.
    - `fixed`: values of `q` and `z`, by name.
    """

    never: frozenset[tuple[int, int]] = frozenset()
    longest: Mapping[int, float] = field(default_factory=dict)
    fixed: Mapping[Name, float] = field(default_factory=dict)


class EventIntervals:
    """The event-interval program of `jobs` as arrays, tightened by the schedule `start` and by `limits`.

    Times are in units of the longest minimum running time, speeds in units of the job's fastest, GPUs in units of what
    divides every worker's, so that the coefficients lie as close together as they can.
    """

    def __init__(self, jobs: ElasticArrays, start: Schedule[int], limits: IntervalLimits | None = None) -> None:
        self.jobs, self.start, self.limits, n = jobs, start, limits or IntervalLimits(), len(jobs.work)
        self.scale: Fraction = max(jobs.shortest(j) for j in range(n))
        times = [float(jobs.shortest(j) / self.scale) for j in range(n)]
        self.work = [time if time >= FAR else 0.0 for time in times]
        self.fleeting = {j for j in range(n) if not self.work[j]}
        fastest = [jobs.speed[j][jobs.most[j]] for j in range(n)]
        self.speed = [{w: float(rate / fastest[j]) for w, rate in jobs.speed[j].items()} for j in range(n)]
        self.shortest = self.work
        least = [jobs.least[j] / self.speed[j][jobs.least[j]] for j in range(n)]  # Workers for a unit of speed.
        self.area = [work * g * k / jobs.usable for work, g, k in zip(self.work, jobs.gpus, least, strict=True)]
        self.total = real_bound(float(start.total / self.scale), "maximize")  # Floating-point sums may be a digit off.
        most = [min(self.total / (n - m), self.limits.longest.get(m, np.inf)) for m in range(n)]
        self.longest = [max(roomy(length), LEAST) for length in most]
        self.places = [
            [m for m in range(n) if (j, m) not in self.limits.never and self._at_least(j, m) <= self.total]
            for j in range(n)
        ]
        self.told = next(m for m in range(n + 1) if self._all_fit(m))  # Completions that are told apart.
        self.column: dict[Name, int] = {}
        self.unit: FloatArray = np.ones(1)  # That of each variable, in a model that has been made.
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self._rows: list[tuple[dict[int, float], float, float]] = []
        self._variables()
        for j in range(n):
            if j not in self.fleeting:
                self._job(j)
        for m in range(self.told):
            self._interval(m)
        self._rest()

    def model(self, whole: set[int]) -> LinearModel:
        """Minimise the sum of completion times, with whole numbers of workers in the intervals `whole`."""
        entries = [(r, c, v) for r, (row, _, _) in enumerate(self._rows) for c, v in row.items()]
        rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
        matrix = sparse.csc_array((values, (rows, columns)), shape=(len(self._rows), len(self.cost)))
        lower, upper = np.array([row[1] for row in self._rows]), np.array([row[2] for row in self._rows])
        integer = [
            kind and (name[0] != "z" or name[2] in whole) and self.lower[column] < self.upper[column]
            for (name, column), kind in zip(self.column.items(), self.integer, strict=True)
        ]  # HiGHS states no bound of a program whose whole numbers are all fixed.
        model, self.unit = rescale_model(LinearModel(self.cost, matrix, lower, upper, self.lower, self.upper, integer))
        return model

    def split_intervals(self, x: FloatArray) -> set[int]:
        """Intervals in which a job has several numbers of workers, one after the other, in `x`."""
        x = x * self.unit
        return {
            name[2]
            for name, column in self.column.items()
            if name[0] == "t"
            and x[self.column["L", name[2]]] > TOGETHER
            and SPLIT < x[column] / x[self.column["L", name[2]]] < 1 - SPLIT
        }

    def _earliest(self, m: int, without: int | None = None, first: int | None = None) -> float:
        """A lower bound on the m-th completion (from 0) if job `without` comes later, or job `first` no later."""
        others = [j for j in range(len(self.work)) if j not in (without, first)]
        k = m + 1 if first is None else m
        area, shortest = (sorted(values[j] for j in others) for values in (self.area, self.shortest))
        fixed = (self.area[first], self.shortest[first]) if first is not None else (0.0, 0.0)
        return max(fixed[0] + sum(area[:k]), fixed[1], shortest[k - 1] if k else 0.0)

    def _at_least(self, j: int, m: int) -> float:
        """A lower bound on the sum of the completion times if job j is the m-th to complete (from 0)."""
        n = len(self.work)
        return sum(self._earliest(i, without=j) if i < m else self._earliest(i, first=j) for i in range(n))

    def _all_fit(self, m: int) -> bool:
        """Whether all jobs left after m completions have their fastest numbers of workers together, whichever they are.

        A job that completes at none of the first m places is left, and one that completes at those only is not.
        """
        jobs, n = self.jobs, len(self.work)
        most = [jobs.gpus[j] * jobs.most[j] for j in range(n)]
        left = [j for j in range(n) if self.places[j] and self.places[j][0] >= m]
        others = sorted(most[j] for j in range(n) if self.places[j] and self.places[j][0] < m <= self.places[j][-1])
        more = n - m - len(left)
        return sum(most[j] for j in left) + sum(others[len(others) - more :] if more > 0 else ()) <= jobs.capacity

    def _variables(self) -> None:
        n = len(self.work)
        for m in range(self.told):
            self._new(("L", m), self.longest[m], cost=float(n - m))
            if self.fleeting:
                self._new(("e", m), 1.0, integer=True)
        for j in range(n):
            if j in self.fleeting:
                continue
            for m in self.places[j]:
                if m < self.told:
                    self._new(("x", j, m), 1.0, integer=True)
            last = max(self.places[j], default=-1)
            for m in range(min(last + 1, self.told)):
                self._new(("q", j, m), 1.0, integer=True)
                for k, speed in self.speed[j].items():
                    if self.upper[self.column["q", j, m]] == 0 or self.limits.fixed.get(("z", j, m, k)) == 0:
                        continue
                    self._new(("z", j, m, k), 1.0, integer=True)
                    self._new(("t", j, m, k), self._most_time(j, m, speed))
            if last >= self.told:
                self._new(("r", j), self.work[j], cost=1.0)

    def _most_time(self, j: int, m: int, speed: float) -> float:
        return min(self.work[j] / speed, self.longest[m])

    def _new(self, name: Name, upper: float, cost: float = 0.0, integer: bool = False) -> None:
        self.column[name] = len(self.cost)
        self.cost.append(cost)
        fixed = self.limits.fixed.get(name)
        self.lower.append(0.0 if fixed is None else fixed)
        self.upper.append(upper if fixed is None else fixed)
        self.integer.append(integer)

    def _add(self, lower: float, row: dict[Name, float], upper: float) -> None:
        known = {self.column[name]: value for name, value in row.items() if name in self.column}
        if known or not lower <= 0 <= upper:
            self._rows.append((known, lower, upper))

    def _job(self, j: int) -> None:
        n, work, speed, far = self.told, self.work[j], self.speed[j], float("inf")
        for m in range(n):
            if ("q", j, m) not in self.column:
                break
            times = {("t", j, m, k): 1.0 for k in speed}
            for k, rate in speed.items():
                self._add(-far, {("t", j, m, k): 1.0, ("z", j, m, k): -self._most_time(j, m, rate)}, 0.0)
            self._add(0.0, {("q", j, m): -1.0, **{("z", j, m, k): 1.0 for k in speed}}, 0.0)
            self._add(-far, {**times, ("L", m): -1.0}, 0.0)
            self._add(-self.longest[m], {**times, ("L", m): -1.0, ("q", j, m): -self.longest[m]}, far)
            done = {("t", j, m, k): rate for k, rate in speed.items()}
            self._add(-far, {**done, ("q", j, m): -work}, 0.0)
            self._add(-far, {("q", j, m): 1.0, **{("x", j, i): 1.0 for i in range(m)}}, 1.0)
            self._add(0.0, {("q", j, m): 1.0, ("x", j, m): -1.0}, far)
            if m > 0:
                self._add(0.0, {("q", j, m): 1.0, ("q", j, m - 1): -1.0, ("x", j, m - 1): 1.0}, far)
            later: dict[Name, float] = {("t", j, i, k): rate for i in range(m + 1, n) for k, rate in speed.items()}
            self._add(-far, {**later, ("r", j): 1.0, **{("x", j, i): work for i in range(m + 1)}}, work)
        places = {("x", j, m): 1.0 for m in range(n)}
        if ("r", j) in self.column:
            self._add(0.0, places, 1.0)
            self._add(-far, {**dict.fromkeys(places, work), ("r", j): 1.0}, work)
        else:
            self._add(1.0, places, 1.0)
        self._add(work, {**{("t", j, m, k): rate for m in range(n) for k, rate in speed.items()}, ("r", j): 1.0}, work)

    def _interval(self, m: int) -> None:
        jobs, n, far = self.jobs, len(self.work), float("inf")
        self._add(1.0, {("e", m): 1.0, **{("x", j, m): 1.0 for j in range(n)}}, 1.0)
        gpus = {(j, k): float(jobs.gpus[j] // jobs.unit * k) for j in range(n) for k in self.speed[j]}
        capacity = float(jobs.usable // jobs.unit)
        self._add(-far, {("z", j, m, k): g for (j, k), g in gpus.items()}, capacity)
        self._add(-far, {**{("t", j, m, k): g for (j, k), g in gpus.items()}, ("L", m): -capacity}, 0.0)
        until: dict[Name, float] = {("L", i): 1.0 for i in range(m + 1)}
        self._add(self._earliest(m), until, far)
        self._add(0.0, {**until, **{("x", j, m): -self.shortest[j] for j in range(n)}}, far)

    def _rest(self) -> None:
        """The completions that are not told apart have the bounds of their places together."""
        n, told = len(self.work), self.told
        left: dict[Name, float] = {("L", m): float(n - told) for m in range(told)}
        ends = {("r", j): 1.0 for j in range(n)}
        self._add(sum(self._earliest(m) for m in range(told, n)), {**left, **ends}, float("inf"))
        self._add(-float("inf"), {("e", m): 1.0 for m in range(told)}, float(len(self.fleeting)))

    def values(self, schedule: Schedule[int]) -> FloatArray:
        """The values of the variables in `schedule`: jobs that complete together take intervals of length 0 in turn."""
        x = np.zeros(len(self.cost))
        left = dict(enumerate(self.jobs.work))
        m = 0
        for length, workers in schedule.intervals:
            if m >= self.told:
                break
            x[self.column["L", m]] = float(length / self.scale)
            for j, k in workers.items():
                left[j] -= length * self.jobs.speed[j][k]
                if j not in self.fleeting:
                    x[self.column["t", j, m, k]] = float(length / self.scale)
            done = [j for j in workers if left[j] <= 0]  # A length is rounded up.
            for i, j in enumerate(done[: self.told - m]):
                x[self.column[("e", m + i) if j in self.fleeting else ("x", j, m + i)]] = 1.0
                for held, k in workers.items():
                    if held not in self.fleeting.union(done[:i]):
                        x[self.column["q", held, m + i]] = x[self.column["z", held, m + i, k]] = 1.0
            m += len(done)
        for j, work in left.items():
            if work > 0 and j not in self.fleeting:
                x[self.column["r", j]] = float(work / self.jobs.speed[j][self.jobs.most[j]] / self.scale)
        return x / self.unit

    def schedule(self, x: FloatArray) -> Schedule[int]:
        """The schedule with the workers of `x` and exact lengths, and fleeting jobs first."""
        jobs, n, x = self.jobs, len(self.work), x * self.unit
        chosen: list[Workers] = []
        for m in range(self.told):
            if self.fleeting and x[self.column["e", m]] > 0.5:
                continue
            length = x[self.column["L", m]]
            by, least = ("t", 0.5 * length) if length > TOGETHER else ("z", 0.5)  # what is so short is lost in rounding
            held = ((j, k, self.column.get((by, j, m, k))) for j in range(n) for k in self.speed[j])
            chosen.append({j: k for j, k, column in held if column is not None and x[column] > least})
        first: list[Workers] = []
        for j in sorted(self.fleeting, key=lambda j: -jobs.gpus[j] * jobs.most[j]):  # those last that fit beside others
            alone = {j: jobs.most[j]}
            beside = alone | (chosen[0] if chosen else {})
            first.append(beside if jobs.fit(beside) else alone)
        return from_program(jobs, [*first, *chosen, *({} for _ in range(n))])


def roomy(limit: float) -> float:
    """A limit of few binary digits that is one to two per cent above `limit`.

    Numbers that differ by a proof's margin only are what HiGHS confounds: it has then cut off points that fit exactly.
    """
    share, exponent = math.frexp(limit)
    return math.ldexp(math.floor(share * ROOMY) + 2, exponent) / ROOMY
