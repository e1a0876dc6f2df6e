"""Schedules of elastic jobs with re-allocation at every completion: exact replay, list schedules, local search.

The mean-JCT model starts from the best list schedule found here and gives its own answer as a replayed schedule, so
that what is handed over is exact whatever the tolerances of the solver were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from instances.aryl import ArylElastic

Workers = dict[int, int]  # workers by index of the job; a job that does not run is not in it
Plan = Callable[[Mapping[int, Any], Workers], Workers]
"""`plan(left, held)`: workers until the next completion, given the work left and what running jobs held so far."""
MOST_SCHEDULES, EFFORT = 3_000, 3_000_000  # schedules tried, and schedules times the square of the jobs


@dataclass(frozen=True)
class Jobs:
    """The jobs as lists (n,): base and fastest workers, GPUs per worker, work, throughput by number of workers."""

    least: list[int]
    most: list[int]
    gpus: list[int]
    work: list[Fraction]
    speed: list[dict[int, Fraction]]
    capacity: int

    @staticmethod
    def of(data: ArylElastic) -> Jobs:
        """The jobs of `data`; numbers of workers that do not fit alone or make no progress are left out."""
        capacity = data.whole_gpus
        speed = []
        for job in data.jobs:
            top = min(job.max_workers, capacity // job.gpus_per_worker)
            rates = {w: data.throughput(job, w) for w in range(job.min_workers, top + 1)}
            speed.append({w: rate for w, rate in rates.items() if rate > 0})
        return Jobs(
            least=[job.min_workers for job in data.jobs],
            most=[max(rates, key=lambda w: (rates[w], -w)) for rates in speed],
            gpus=[job.gpus_per_worker for job in data.jobs],
            work=[Fraction(job.min_running_time) * job.max_workers for job in data.jobs],
            speed=speed,
            capacity=capacity,
        )


@dataclass(frozen=True)
class Schedule:
    """Intervals (length in seconds, workers by index of the job) and the sum of the completion times in seconds."""

    intervals: list[tuple[Any, Workers]]
    total: Any

    def solution(self, data: ArylElastic) -> dict[str, Any]:
        """The schedule in JSON form."""
        return {
            "intervals": [
                {"length": float(length), "workers": {data.jobs[j].id: w for j, w in sorted(workers.items())}}
                for length, workers in self.intervals
            ]
        }


def replay(work: Sequence[Any], speed: Sequence[Mapping[int, Any]], plan: Plan) -> Schedule:
    """The schedule that `plan` makes, in the numbers that work and speed are given in."""
    left = dict(enumerate(work))
    intervals: list[tuple[Any, Workers]] = []
    held, total = Workers(), work[0] * 0
    while left:
        workers = plan(left, held)
        times = {j: left[j] / speed[j][w] for j, w in workers.items()}
        length = min(times.values())
        total += length * len(left)
        intervals.append((length, workers))
        done = {j for j, time in times.items() if time == length}
        left = {j: w - length * speed[j][workers[j]] if j in workers else w for j, w in left.items() if j not in done}
        held = {j: w for j, w in workers.items() if j not in done}
    return Schedule(intervals, total)


def list_plan(jobs: Jobs, order: Sequence[int], start_first: bool) -> Plan:
    """Workers by a priority order: running jobs keep their base demand, then the jobs start and grow in order.

    With `start_first` as many jobs as fit start before any job grows.
    """

    def plan(left: Mapping[int, Any], held: Workers) -> Workers:
        workers = {j: jobs.least[j] for j in held}
        free = jobs.capacity - sum(jobs.gpus[j] * w for j, w in workers.items())
        for grow in (False, True) if start_first else (True,):
            for j in order:
                if j in left and j not in workers and jobs.gpus[j] * jobs.least[j] <= free:
                    workers[j] = jobs.least[j]
                    free -= jobs.gpus[j] * jobs.least[j]
                if grow and j in workers and free >= jobs.gpus[j]:
                    extra = min(jobs.most[j] - workers[j], free // jobs.gpus[j])
                    workers[j] += extra
                    free -= extra * jobs.gpus[j]
        return workers

    return plan


def planned(jobs: Jobs, chosen: Sequence[Workers]) -> Plan:
    """The plan of a program's answer: `chosen[m]` until the next completion once m jobs have completed.

    Where rounding made the program see two completions at once that are not, workers stay as they were.
    """
    n = len(jobs.work)
    otherwise = list_plan(jobs, range(n), False)

    def plan(left: Mapping[int, Any], held: Workers) -> Workers:
        workers = {j: k for j, k in chosen[n - len(left)].items() if j in left}
        if workers and all(j in workers for j in held):
            return workers
        return held or otherwise(left, held)

    return plan


def best_list_schedule(jobs: Jobs) -> Schedule:
    """The best list schedule that local search over priority orders finds: deterministic, no guarantee."""
    n = len(jobs.work)
    most = min(MOST_SCHEDULES, EFFORT // n**2)
    speed = [{w: float(rate) for w, rate in rates.items()} for rates in jobs.speed]
    work = [float(w) for w in jobs.work]
    tried: dict[tuple[tuple[int, ...], bool], float] = {}

    def total(order: tuple[int, ...], start_first: bool) -> float:
        key = (order, start_first)
        if key not in tried:
            tried[key] = replay(work, speed, list_plan(jobs, order, start_first)).total
        return tried[key]

    keys: list[Callable[[int], float]] = [
        lambda j: work[j] / speed[j][jobs.most[j]],
        lambda j: work[j] / speed[j][jobs.least[j]],
        lambda j: work[j] * jobs.gpus[j],
    ]
    for key, start_first in itertools.product(keys, (True, False)):
        order, improved = tuple(sorted(range(n), key=key)), True
        total(order, start_first)
        while improved and len(tried) < most:
            improved = False
            for a, b in itertools.permutations(range(n), 2):
                rest = order[:a] + order[a + 1 :]
                moved = (*rest[:b], order[a], *rest[b:])
                if total(moved, start_first) < total(order, start_first) * (1 - 1e-12):
                    order, improved = moved, True
                if len(tried) >= most:
                    break
    order, start_first = min(tried, key=lambda key: (tried[key], key))
    return replay(jobs.work, jobs.speed, list_plan(jobs, order, start_first))
