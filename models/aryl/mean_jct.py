"""Exact mean JCT with re-allocation at every completion (Aryl, section 5.1).

A list schedule, which HiGHS seldom beats, starts and tightens an event-interval program. Workers are whole numbers in
those intervals only where they did not come out whole before: every program is a relaxation, and the last one is
solved by a schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray
from instances.aryl import ArylElastic
from instances.aryl.arrays import ElasticArrays
from instances.aryl.schedule import Schedule
from instances.result import Termination
from models.aryl.event_intervals import EventIntervals
from models.aryl.interval_limits import tightened
from models.aryl.list_schedules import ListSearch, from_solution, in_json, one_by_one
from models.aryl.parameters import DEFAULTS, MeanJctParameters
from models.bounds import real_bound
from models.highs import solve_arrays
from models.incumbent import Incumbent

SETTINGS = {
    "mip_feasibility_tolerance": 1e-7,  # At 1e-9 HiGHS 1.15 has cut off optima, at 1e-6 no proof is as fine as asked.
    "primal_feasibility_tolerance": 1e-7,
    "mip_heuristic_effort": 0.0,  # The start is better than what the heuristics of HiGHS find.
    "mip_allow_restart": False,
    "mip_allow_cut_separation_at_nodes": False,
}
FLEETING = "jobs of less than a millionth of the longest one's time have none in the bound"


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
        most = None if options.time_limit is None else clock.remaining_s * parameters.limits.share
        program = tightened(program, options, Stopwatch(most), parameters.limits)
        while not clock.expired:
            left = clock.limit_left_s
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
        reason={"time_limit": "time limit", "effort_limit": "effort limit"}.get(
            termination, FLEETING if program.fleeting and not incumbent.closed else None
        ),
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
