"""Schedules of elastic jobs with re-allocation at every completion: exact replay, list schedules, local search.

The mean-JCT model starts from the best list schedule found here and gives its own answer as a replayed schedule, so
that what is handed over is exact whatever the tolerances of the solver were.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from instances import Solution, Stopwatch
from instances.aryl import ArylElastic

Workers = dict[int, int]  # workers by index of the job; a job that does not run is not in it
Plan = Callable[[Mapping[int, Any], Workers], Workers]
"""`plan(left, held)`: workers until the next completion, given the work left and what running jobs held so far."""
MOST_SCHEDULES, EFFORT = 3_000, 3_000_000  # schedules tried, and schedules times the square of the jobs


class Rates(Mapping[int, Any]):
    """Throughput by number of workers, worked out where it is asked for: a range may hold a billion numbers."""

    def __init__(self, workers: range, rate: Callable[[int], Any]) -> None:
        self.workers, self.rate = workers, rate
        self._known: dict[int, Any] = {}

    def __getitem__(self, workers: int) -> Any:
        if workers not in self._known:
            if workers not in self.workers:
                raise KeyError(workers)
            self._known[workers] = self.rate(workers)
        return self._known[workers]

    def __iter__(self) -> Iterator[int]:
        return iter(self.workers)

    def __len__(self) -> int:
        return len(self.workers)


@dataclass(frozen=True)
class Jobs:
    """The jobs as lists (n,): base and fastest workers, GPUs per worker, work, throughput by number of workers."""

    least: list[int]
    most: list[int]
    gpus: list[int]
    work: list[Fraction]
    speed: list[Rates]
    capacity: int

    @staticmethod
    def of(data: ArylElastic) -> Jobs:
        """The jobs of `data`; numbers of workers that do not fit or make no progress are left out."""
        choices = data.choices()
        jobs = list(zip(data.jobs, choices, strict=True))
        return Jobs(
            least=[job.min_workers for job in data.jobs],
            most=[data.fastest(job, workers[-1]) for job, workers in jobs],
            gpus=[job.gpus_per_worker for job in data.jobs],
            work=[Fraction(job.min_running_time) * job.max_workers for job in data.jobs],
            speed=[Rates(workers, partial(data.throughput, job)) for job, workers in jobs],
            capacity=data.whole_gpus,
        )

    @property
    def unit(self) -> int:
        """The most GPUs that divide every worker's."""
        return math.gcd(*self.gpus)

    @property
    def usable(self) -> int:
        """GPUs that workers can use at most."""
        return self.capacity - self.capacity % self.unit

    @property
    def choices(self) -> int:
        """Numbers of workers to choose from, over all jobs."""
        return sum(len(rates) for rates in self.speed)

    def shortest(self, j: int) -> Fraction:
        """Seconds of job j on its fastest number of workers."""
        return self.work[j] / self.speed[j][self.most[j]]

    def fit(self, workers: Workers) -> bool:
        """Whether there are GPUs for `workers`."""
        return sum(self.gpus[j] * k for j, k in workers.items()) <= self.capacity


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
    """The schedule that `plan` makes, in the numbers that work and speed are given in.

    Exact lengths are rounded up to floating-point numbers, for those are what a solution states: jobs that complete
    within the rounding complete together, and the numbers stay short however many completions there are.
    """
    left = dict(enumerate(work))
    intervals: list[tuple[Any, Workers]] = []
    held, total = Workers(), work[0] * 0
    while left:
        workers = plan(left, held)
        times = {j: left[j] / speed[j][w] for j, w in workers.items()}
        length = rounded_up(min(times.values()))
        total += length * len(left)
        intervals.append((length, workers))
        held = {}
        for j, w in workers.items():
            if times[j] <= length:
                del left[j]
            else:
                left[j] -= length * speed[j][w]
                held[j] = w
    return Schedule(intervals, total)


def _as_float(rates: Rates, workers: int) -> float:
    return float(rates[workers])


def rounded_up(seconds: Any) -> Any:
    """The least floating-point number that is no less, as a number of the type given."""
    if isinstance(seconds, float):
        return seconds
    nearest = float(seconds)
    return Fraction(nearest if nearest >= seconds else math.nextafter(nearest, math.inf))


def list_plan(jobs: Jobs, order: Sequence[int], start_first: bool) -> Plan:
    """Workers by a priority order: running jobs keep their base demand, then the jobs start and grow in order.

    With `start_first` as many jobs as fit start before any job grows.
    """
    waiting = list(order)  # with jobs that are complete, but no more than there are others
    smallest = min(jobs.gpus)

    def plan(left: Mapping[int, Any], held: Workers) -> Workers:
        nonlocal waiting
        if len(waiting) > 2 * len(left):
            waiting = [j for j in waiting if j in left]
        workers = {j: jobs.least[j] for j in held}
        free = jobs.capacity - sum(jobs.gpus[j] * w for j, w in workers.items())
        for grow in (False, True) if start_first else (True,):
            for j in waiting:
                if free < smallest:
                    break
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

    Where rounding made the program see two completions at once that are not, workers stay as they were; where it made
    it give more GPUs than there are, they go by the list.
    """
    n = len(jobs.work)
    otherwise = list_plan(jobs, range(n), False)

    def plan(left: Mapping[int, Any], held: Workers) -> Workers:
        workers = {j: k for j, k in chosen[n - len(left)].items() if j in left}
        if workers and all(j in workers for j in held) and jobs.fit(workers):
            return workers
        return held or otherwise(left, held)

    return plan


def as_stated(jobs: Jobs, data: ArylElastic, solution: Solution) -> Schedule:
    """The schedule with the workers of a feasible `solution` in JSON form, one allocation after the other."""
    place = {job.id: j for j, job in enumerate(data.jobs)}
    stated = [{place[name]: w for name, w in i["workers"].items() if w} for i in solution["intervals"]]
    ahead = [workers for workers, _ in itertools.groupby(stated)][::-1]
    otherwise = list_plan(jobs, range(len(jobs.work)), False)

    def plan(left: Mapping[int, Any], held: Workers) -> Workers:
        while ahead:
            workers = {j: w for j, w in ahead[-1].items() if j in left}
            if workers and not all(j in workers for j in held):
                break  # a job completes a little later than its rounded length said
            ahead.pop()
            if workers:
                return workers
        return held or otherwise(left, held)

    return replay(jobs.work, jobs.speed, plan)


def best_list_schedule(
    jobs: Jobs, clock: Stopwatch | None = None, found: Callable[[Schedule], None] | None = None
) -> Schedule:
    """The best list schedule that local search over priority orders finds in time: deterministic, no guarantee.

    The first one is told to `found` before the search goes on, and does not wait for the clock.
    """
    n, clock = len(jobs.work), clock or Stopwatch()
    most = min(MOST_SCHEDULES, EFFORT // n**2)
    speed = [Rates(rates.workers, partial(_as_float, rates)) for rates in jobs.speed]
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
    first: Schedule | None = None
    for key, start_first in itertools.product(keys, (True, False)):
        order, improved = tuple(sorted(range(n), key=key)), True
        if first is None:
            first = replay(jobs.work, jobs.speed, list_plan(jobs, order, start_first))
            if found is not None:
                found(first)
        if clock.expired:
            break
        total(order, start_first)
        while improved and len(tried) < most and not clock.expired:
            improved = False
            for a, b in itertools.permutations(range(n), 2):
                rest = order[:a] + order[a + 1 :]
                moved = (*rest[:b], order[a], *rest[b:])
                if total(moved, start_first) < total(order, start_first) * (1 - 1e-12):
                    order, improved = moved, True
                if len(tried) >= most or clock.expired:
                    break
    assert first is not None  # there are jobs
    if not tried:
        return first
    order, start_first = min(tried, key=lambda key: (tried[key], key))
    return min(first, replay(jobs.work, jobs.speed, list_plan(jobs, order, start_first)), key=lambda s: s.total)
