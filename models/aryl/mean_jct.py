"""Exact mean JCT with re-allocation at every completion (Aryl, section 5.1).

A list schedule starts and tightens an event-interval program; HiGHS seldom finds a better schedule. Numbers of workers
are integers only in those intervals where they were fractional before. So every program is a relaxation, and the
solution of the last one is a schedule.
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
from models.aryl.interval_limits import tighten_program
from models.aryl.list_schedules import ListSearch, convert_schedule, replay_solution, schedule_sequentially
from models.aryl.parameters import DEFAULTS, MeanJctParameters
from models.core.highs import solve_arrays
from models.core.incumbent import Incumbent
from models.core.safe_bounds import real_bound

SETTINGS = {
    "mip_feasibility_tolerance": 1e-7,  # at 1e-9 HiGHS 1.15 has cut off optima; at 1e-6 the proof misses the gap
    "primal_feasibility_tolerance": 1e-7,
    "mip_heuristic_effort": 0.0,  # the start is better than the solutions of HiGHS's heuristics
    "mip_allow_restart": False,
    "mip_allow_cut_separation_at_nodes": False,
}
NEGLIGIBLE_JOBS = "the bound omits the running times of jobs below a millionth of the longest running time"


def solve_mean_jct(
    data: ArylElastic,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: MeanJctParameters = DEFAULTS.mean_jct,
) -> Answer:
    """Minimise the mean JCT; return the best schedule and a lower bound.

    - `start`: a feasible solution. If the time limit is reached before the first schedule, the answer has no solution.
    """
    clock = Stopwatch(options.time_limit)
    last: tuple[Schedule[int], Solution] | None = None

    def convert(schedule: Schedule[int]) -> Solution:
        """Convert a schedule to JSON form once: for thousands of jobs this takes a second."""
        nonlocal last
        if last is None or last[0] is not schedule:
            last = schedule, convert_schedule(schedule, data)
        return last[1]

    def report_incumbent(schedule: Schedule[int] | None, bound: float | None) -> None:
        report(None if schedule is None else convert(schedule), bound)

    incumbent: Incumbent[Schedule[int], float] = Incumbent("minimize", clock, report_incumbent, gap=options.gap)

    def offer(schedule: Schedule[int]) -> None:
        incumbent.offer(float(schedule.total / len(data.jobs)), schedule)

    with Stopwatch() as building:
        jobs = ElasticArrays.of(data)
        n = len(jobs.work)
        trivial = bound_total(jobs) / n
        best = _find_first_schedule(data, jobs, start, clock, parameters, offer)
        if best is None:
            return Answer(None, trivial, "time_limit", "time limit", building.cpu_s)
        incumbent.raise_bound(trivial)
        size_reason = _explain_size(jobs, parameters)
        if size_reason or clock.has_expired:
            reason = f"{size_reason}: a list schedule and a bound in closed form" if size_reason else "time limit"
            termination: Termination = "finished" if size_reason else "time_limit"
            return Answer(convert(best), trivial, termination, reason, building.cpu_s, trace=incumbent.trace)
        program = EventIntervals(jobs, best)
    scale = float(program.scale) / n
    integral, nodes = set[int](), 0
    termination = "time_limit"

    def watch(x: FloatArray | None, bound: float | None) -> None:
        if bound is not None:
            incumbent.raise_bound(real_bound(bound * scale, trivial=trivial))

    with Stopwatch() as solving:
        limit = None if options.time_limit is None else clock.remaining_s * parameters.limits.share
        program = tighten_program(program, options, Stopwatch(limit), parameters.limits)
        while not clock.has_expired:
            time_limit = clock.limit_left_s
            model = program.build(integral)
            solved = solve_arrays(
                model,
                replace(options, time_limit=time_limit, gap=options.gap / 2),
                start=program.encode(best),
                watch=watch,
                extra=SETTINGS,
            )
            nodes += solved.info.get("nodes", 0)
            watch(None, solved.bound)
            split = set[int]()
            if solved.x is not None:
                split = program.find_split_intervals(solved.x) - integral
                best = min(best, program.decode(solved.x), key=lambda schedule: schedule.total)
                offer(best)
            if solved.termination != "finished" or incumbent.is_closed or not split:
                termination = solved.termination
                break
            integral |= split
    return Answer(
        solution=convert(best),
        bound=incumbent.bound,
        termination=termination,
        reason={"time_limit": "time limit", "effort_limit": "effort limit"}.get(
            termination, NEGLIGIBLE_JOBS if program.negligible and not incumbent.is_closed else None
        ),
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        trace=incumbent.trace,
        info={"method": "event intervals", "nodes": nodes, "whole_intervals": len(integral)},
    )


def _find_first_schedule(
    data: ArylElastic,
    jobs: ElasticArrays,
    start: Solution | None,
    clock: Stopwatch,
    parameters: MeanJctParameters,
    offer: Callable[[Schedule[int]], None],
) -> Schedule[int] | None:
    """Find the best of the list schedules and `start`; `None` if the time limit comes first and there is a start.

    Without a start there is always a schedule: if the first list schedule takes too long, the sequential one.
    """
    search = ListSearch(jobs, clock, parameters.list_search)
    try:
        first = search.build_first(late_s=0.0 if start is not None else parameters.late_s)
    except TimeoutError:
        if start is not None:
            return None
        first = schedule_sequentially(jobs)
    offer(first)
    best = search.improve(first)
    if start is not None and not clock.has_expired:
        best = min(best, replay_solution(jobs, data, start), key=lambda schedule: schedule.total)
    offer(best)
    return best


def _explain_size(jobs: ElasticArrays, parameters: MeanJctParameters) -> str | None:
    """Explain why the program is too large to build; `None` if it is not."""
    n, binaries = len(jobs.work), jobs.choices * len(jobs.work)
    if n > parameters.jobs:
        return f"{n} jobs, more than {parameters.jobs}"
    if binaries > parameters.binaries:
        return f"{binaries:,} binaries for numbers of workers, more than {parameters.binaries:,}"
    return None


def bound_total(jobs: ElasticArrays) -> float:
    """Return a lower bound on the sum of completion times, in seconds, in closed form.

    The m-th completion is no earlier than the time that all GPUs need for the m smallest jobs, and than the m-th
    shortest minimum running time. The minimum number of workers does the most work per worker.
    """
    area = sorted(
        float(w * g * least / rates[least])
        for w, g, least, rates in zip(jobs.work, jobs.gpus, jobs.least, jobs.speed, strict=True)
    )
    shortest = sorted(float(jobs.shortest(j)) for j in range(len(jobs.work)))
    packed = np.cumsum(area) / jobs.usable
    return real_bound(float(np.maximum(packed, shortest).sum()))
