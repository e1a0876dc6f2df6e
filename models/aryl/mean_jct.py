"""Exact mean JCT with re-allocation at every completion (Aryl, section 5.1).

A list schedule, which HiGHS seldom beats, starts and tightens an event-interval program. Workers are whole numbers in
those intervals only where they did not come out whole before: every program is a relaxation, and the last one is
solved by a schedule.

The program as arrays, and tight: interval m ends at the m-th completion; all n of them have a length L_m, possibly 0.
Job j is the m-th to complete if x_jm = 1, holds workers in interval m if q_jm = 1, and k of them if z_jmk = 1; t_jmk is
the part of interval m in which it holds k, all of it or nothing where z is whole. It is tightened by bounds that hold
for every schedule that is no worse than the start:

- t_jmk <= work / speed, the time that k workers need for the whole job, instead of one large constant;
- what job j does after interval m is at most its work times (1 - x_j1 - ... - x_jm);
- the m-th completion is no earlier than the time all GPUs need for the m smallest jobs, than the m-th shortest
  minimum running time, or than the minimum running time of the job that is the m-th to complete;
- interval m delays n + 1 - m jobs, so it is no longer than the total of the start divided by them; and no job is the
  m-th to complete if these bounds together then exceed that total.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray
from instances.aryl import ArylElastic
from instances.aryl.arrays import ElasticArrays, Workers
from instances.aryl.schedule import Schedule
from instances.result import Termination
from models.aryl.list_schedules import ListSearch, from_program, from_solution, in_json, one_by_one
from models.aryl.parameters import DEFAULTS, MeanJctParameters
from models.bounds import real_bound
from models.highs import LinearModel, solve_arrays
from models.incumbent import Incumbent
from models.scaling import SLACK, in_units

TOGETHER = 10 * SLACK  # An interval shorter than this, in units of the longest job, has no length.
SPLIT = 1e-6  # A job splits an interval where this share of it or more is spent on each of several numbers of workers.


class EventIntervals:
    """The event-interval program of `jobs` as arrays, tightened by the schedule `start`.

    Times are in units of the longest minimum running time, speeds in units of the job's fastest, GPUs in units of what
    divides every worker's, so that the coefficients lie as close together as they can.
    """

    def __init__(self, jobs: ElasticArrays, start: Schedule[int]) -> None:
        self.jobs, n = jobs, len(jobs.work)
        self.scale: Fraction = max(jobs.shortest(j) for j in range(n))
        self.work = [float(jobs.shortest(j) / self.scale) for j in range(n)]
        fastest = [jobs.speed[j][jobs.most[j]] for j in range(n)]
        self.speed = [{w: float(rate / fastest[j]) for w, rate in jobs.speed[j].items()} for j in range(n)]
        self.shortest = self.work
        least = [jobs.least[j] / self.speed[j][jobs.least[j]] for j in range(n)]  # Workers for a unit of speed.
        self.area = [work * g * k / jobs.usable for work, g, k in zip(self.work, jobs.gpus, least, strict=True)]
        self.total = real_bound(float(start.total / self.scale), "maximize")  # Floating-point sums may be a digit off.
        self.longest = [self.total / (n - m) for m in range(n)]
        self.places = [[m for m in range(n) if self._at_least(j, m) <= self.total] for j in range(n)]
        self.column: dict[tuple[Any, ...], int] = {}
        self.unit: FloatArray = np.ones(1)  # That of each variable, in a model that has been made.
        self.cost: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self._rows: list[tuple[dict[int, float], float, float]] = []
        self._variables()
        for j in range(n):
            self._job(j)
        for m in range(n):
            self._interval(m)

    def model(self, whole: set[int]) -> LinearModel:
        """Minimise the sum of completion times, with whole numbers of workers in the intervals `whole`."""
        entries = [(r, c, v) for r, (row, _, _) in enumerate(self._rows) for c, v in row.items()]
        rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
        matrix = sparse.csc_array((values, (rows, columns)), shape=(len(self._rows), len(self.cost)))
        lower, upper = np.array([row[1] for row in self._rows]), np.array([row[2] for row in self._rows])
        integer = self.integer.copy()
        for name, column in self.column.items():
            if name[0] == "z":
                integer[column] = name[2] in whole
        model, self.unit = in_units(LinearModel(self.cost, matrix, lower, upper, 0.0, self.upper, integer))
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

    def _variables(self) -> None:
        n = len(self.work)
        for m in range(n):
            self._new(("L", m), self.longest[m], cost=float(n - m))
        for j in range(n):
            for m in range(n):
                self._new(("x", j, m), float(m in self.places[j]), integer=True)
                possible = float(m <= self.places[j][-1])
                self._new(("q", j, m), possible, integer=True)
                for k, speed in self.speed[j].items():
                    self._new(("z", j, m, k), possible, integer=True)
                    self._new(("t", j, m, k), possible * min(self.work[j] / speed, self.longest[m]))

    def _new(self, name: tuple[Any, ...], upper: float, cost: float = 0.0, integer: bool = False) -> None:
        self.column[name] = len(self.cost)
        self.cost.append(cost)
        self.upper.append(upper)
        self.integer.append(integer)

    def _add(self, lower: float, row: dict[tuple[Any, ...], float], upper: float) -> None:
        self._rows.append(({self.column[name]: value for name, value in row.items()}, lower, upper))

    def _job(self, j: int) -> None:
        n, work, speed, far = len(self.work), self.work[j], self.speed[j], float("inf")
        for m in range(n):
            times = {("t", j, m, k): 1.0 for k in speed}
            for k, rate in speed.items():
                self._add(-far, {("t", j, m, k): 1.0, ("z", j, m, k): -min(work / rate, self.longest[m])}, 0.0)
            self._add(0.0, {("q", j, m): -1.0, **{("z", j, m, k): 1.0 for k in speed}}, 0.0)
            self._add(-far, {**times, ("L", m): -1.0}, 0.0)
            self._add(-self.longest[m], {**times, ("L", m): -1.0, ("q", j, m): -self.longest[m]}, far)
            done = {("t", j, m, k): rate for k, rate in speed.items()}
            self._add(-far, {**done, ("q", j, m): -work}, 0.0)
            self._add(-far, {("q", j, m): 1.0, **{("x", j, i): 1.0 for i in range(m)}}, 1.0)
            self._add(0.0, {("q", j, m): 1.0, ("x", j, m): -1.0}, far)
            if m > 0:
                self._add(0.0, {("q", j, m): 1.0, ("q", j, m - 1): -1.0, ("x", j, m - 1): 1.0}, far)
            later = {("t", j, i, k): rate for i in range(m + 1, n) for k, rate in speed.items()}
            if later:
                self._add(-far, {**later, **{("x", j, i): work for i in range(m + 1)}}, work)
        self._add(1.0, {("x", j, m): 1.0 for m in range(n)}, 1.0)
        self._add(work, {("t", j, m, k): rate for m in range(n) for k, rate in speed.items()}, work)

    def _interval(self, m: int) -> None:
        jobs, n, far = self.jobs, len(self.work), float("inf")
        self._add(1.0, {("x", j, m): 1.0 for j in range(n)}, 1.0)
        gpus = {(j, k): float(jobs.gpus[j] // jobs.unit * k) for j in range(n) for k in self.speed[j]}
        capacity = float(jobs.usable // jobs.unit)
        self._add(-far, {("z", j, m, k): g for (j, k), g in gpus.items()}, capacity)
        self._add(-far, {**{("t", j, m, k): g for (j, k), g in gpus.items()}, ("L", m): -capacity}, 0.0)
        until: dict[tuple[Any, ...], float] = {("L", i): 1.0 for i in range(m + 1)}
        self._add(self._earliest(m), until, far)
        self._add(0.0, {**until, **{("x", j, m): -self.shortest[j] for j in range(n)}}, far)

    def values(self, schedule: Schedule[int]) -> FloatArray:
        """The values of the variables in `schedule`: jobs that complete together take intervals of length 0 in turn."""
        x = np.zeros(len(self.cost))
        left = dict(enumerate(self.jobs.work))
        m = 0
        for length, workers in schedule.intervals:
            x[self.column["L", m]] = float(length / self.scale)
            for j, k in workers.items():
                left[j] -= length * self.jobs.speed[j][k]
                x[self.column["t", j, m, k]] = float(length / self.scale)
            done = [j for j in workers if left[j] <= 0]  # A length is rounded up.
            for i, j in enumerate(done):
                x[self.column["x", j, m + i]] = 1.0
                for held, k in workers.items():
                    if held not in done[:i]:
                        x[self.column["q", held, m + i]] = x[self.column["z", held, m + i, k]] = 1.0
            m += len(done)
        return x / self.unit

    def schedule(self, x: FloatArray) -> Schedule[int]:
        """The schedule with the workers of `x` and exact lengths."""
        n, x = len(self.work), x * self.unit
        chosen: list[Workers] = []
        for m in range(n):
            length = x[self.column["L", m]]
            by, least = ("t", 0.5 * length) if length > TOGETHER else ("z", 0.5)  # what is so short is lost in rounding
            chosen.append({j: k for j in range(n) for k in self.speed[j] if x[self.column[by, j, m, k]] > least})
        return from_program(self.jobs, chosen)


SETTINGS = {
    "mip_feasibility_tolerance": 1e-7,  # At 1e-9 HiGHS 1.15 has cut off optima, at 1e-6 no proof is as fine as asked.
    "primal_feasibility_tolerance": 1e-7,
    "mip_heuristic_effort": 0.0,  # The start is better than what the heuristics of HiGHS find.
    "mip_allow_restart": False,
    "mip_allow_cut_separation_at_nodes": False,
}


def solve_mean_jct(
    data: ArylElastic,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: MeanJctParameters = DEFAULTS.mean_jct,
) -> Answer:
    """The least mean JCT, proved, or the best schedule and bound at the time limit.

    - `start`: a feasible solution; the answer may have none of its own where time runs out before the first schedule.
    """
    clock = Stopwatch(options.time_limit)
    last: tuple[Schedule[int], Solution] | None = None

    def stated(schedule: Schedule[int]) -> Solution:
        """The schedule in JSON form, made once: that of thousands of jobs takes a second."""
        nonlocal last
        if last is None or last[0] is not schedule:
            last = schedule, in_json(schedule, data)
        return last[1]

    def reported(schedule: Schedule[int] | None, bound: float | None) -> None:
        report(None if schedule is None else stated(schedule), bound)

    incumbent: Incumbent[Schedule[int], float] = Incumbent("minimize", clock, reported, gap=options.gap)

    def offer(schedule: Schedule[int]) -> None:
        incumbent.offer(float(schedule.total / len(data.jobs)), schedule)

    with Stopwatch() as building:
        jobs = ElasticArrays.of(data)
        n = len(jobs.work)
        trivial = total_at_least(jobs) / n
        best = _first_schedules(data, jobs, start, clock, parameters, offer)
        if best is None:
            return Answer(None, trivial, "time_limit", "time limit", building.cpu_s)
        incumbent.raise_bound(trivial)
        too_large = _too_large(jobs, parameters)
        if too_large or clock.expired:
            reason = f"{too_large}: a list schedule and a bound in closed form" if too_large else "time limit"
            termination: Termination = "finished" if too_large else "time_limit"
            return Answer(stated(best), trivial, termination, reason, building.cpu_s, trace=incumbent.trace)
        program = EventIntervals(jobs, best)
    scale = float(program.scale) / n
    whole, split, nodes = set[int](), set[int](), 0
    termination = "time_limit"

    def watch(x: FloatArray | None, found: float | None) -> None:
        if found is not None:
            incumbent.raise_bound(real_bound(found * scale, trivial=trivial))

    with Stopwatch() as solving:
        while not clock.expired:
            left = None if options.time_limit is None else max(clock.remaining_s, 1e-3)
            model = program.model(whole)
            solved = solve_arrays(
                model,
                replace(options, time_limit=left, gap=options.gap / 2),
                start=program.values(best),
                watch=watch,
                extra=SETTINGS,
            )
            nodes += solved.info.get("nodes", 0)
            watch(None, solved.bound)
            split = set()
            if solved.x is not None:
                split = program.split_intervals(solved.x) - whole
                best = min(best, program.schedule(solved.x), key=lambda schedule: schedule.total)
                offer(best)
            if solved.termination != "finished" or incumbent.closed or not split:
                termination = solved.termination
                break
            whole |= split
    return Answer(
        solution=stated(best),
        bound=incumbent.bound,
        termination=termination,
        reason={"time_limit": "time limit", "effort_limit": "effort limit"}.get(termination),
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        trace=incumbent.trace,
        info={"method": "event intervals", "nodes": nodes, "whole_intervals": len(whole)},
    )


def _first_schedules(
    data: ArylElastic,
    jobs: ElasticArrays,
    start: Solution | None,
    clock: Stopwatch,
    parameters: MeanJctParameters,
    offer: Callable[[Schedule[int]], None],
) -> Schedule[int] | None:
    """The best of the list schedules and `start`; `None` where time runs out before any.

    Without a start there is always a schedule: that of the jobs one by one where the first takes too long.
    """
    search = ListSearch(jobs, clock, parameters.list_search)
    try:
        first = search.first(late_s=0.0 if start is not None else parameters.late_s)
    except TimeoutError:
        if start is not None:
            return None
        first = one_by_one(jobs)
    offer(first)
    best = search.best(first)
    if start is not None and not clock.expired:
        best = min(best, from_solution(jobs, data, start), key=lambda schedule: schedule.total)
    offer(best)
    return best


def _too_large(jobs: ElasticArrays, parameters: MeanJctParameters) -> str | None:
    """The reason why the program is not built; `None` where the program is small enough."""
    n, binaries = len(jobs.work), jobs.choices * len(jobs.work)
    if n > parameters.jobs:
        return f"{n} jobs, more than {parameters.jobs}"
    if binaries > parameters.binaries:
        return f"{binaries:,} binaries for numbers of workers, more than {parameters.binaries:,}"
    return None


def total_at_least(jobs: ElasticArrays) -> float:
    """A lower bound, seconds, on the sum of completion times, in closed form.

    The m-th completion is no earlier than the time all GPUs need for the m smallest jobs, nor than the m-th shortest
    minimum running time. No number of workers does more per worker than the least.
    """
    area = sorted(
        float(w * g * least / rates[least])
        for w, g, least, rates in zip(jobs.work, jobs.gpus, jobs.least, jobs.speed, strict=True)
    )
    shortest = sorted(float(jobs.shortest(j)) for j in range(len(jobs.work)))
    packed = np.cumsum(area) / jobs.usable
    return real_bound(float(np.maximum(packed, shortest).sum()))
