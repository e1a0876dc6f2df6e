"""List schedules of elastic jobs, and local search over priority orders (list scheduling: Graham, 1966).

The exact mean JCT starts from the best list schedule found here. Schedules from the numbers of workers that a program
or a solution states have exact lengths: what is handed over is exact whatever the tolerances of a solver were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from instances import Solution, Stopwatch
from instances.aryl import ArylElastic
from instances.aryl.arrays import ElasticArrays, Workers
from instances.aryl.schedule import AllocationRule, Schedule, replay
from models.aryl.parameters import DEFAULTS, ListSearchParameters

Order = tuple[int, ...]


def list_rule(jobs: ElasticArrays, order: Sequence[int], start_first: bool) -> AllocationRule[int]:
    """Workers by a priority order: running jobs keep their base demand, then the jobs start and grow in order.

    With `start_first` as many jobs as fit start before any job grows.
    """
    unfinished = unstarted = list(order)  # The first has jobs that are complete, but no more than there are others.
    smallest = min(jobs.gpus)
    least, most, gpus = jobs.least, jobs.most, jobs.gpus
    base = [g * w for g, w in zip(gpus, least, strict=True)]

    def rule(left: Mapping[int, Any], held: Workers) -> Workers:
        nonlocal unfinished, unstarted
        if len(unfinished) > 2 * len(left):
            unfinished = [j for j in unfinished if j in left]
        workers = {j: least[j] for j in held}
        free = jobs.capacity - sum(map(base.__getitem__, held))
        if start_first:
            for j in unstarted:
                if free < smallest:
                    break
                if base[j] <= free:
                    workers[j] = least[j]
                    free -= base[j]
        for j in unfinished:
            if free < smallest:
                break
            if j not in workers and base[j] <= free and j in left:
                workers[j] = least[j]
                free -= base[j]
            if free >= gpus[j] and j in workers:
                extra = min(most[j] - workers[j], free // gpus[j])
                workers[j] += extra
                free -= extra * gpus[j]
        if len(workers) > len(held):
            unstarted = [j for j in unstarted if j not in workers]
        return workers

    return rule


def one_by_one(jobs: ElasticArrays) -> Schedule[int]:
    """One job after the other, the shortest first, each on the fastest number of workers: no time to make."""
    order = sorted(range(len(jobs.work)), key=jobs.shortest)[::-1]

    def rule(left: Mapping[int, Any], held: Workers) -> Workers:
        j = order.pop()
        return {j: jobs.most[j]}

    return exactly(jobs, rule)


class ListSearch:
    """Local search over priority orders: deterministic, no guarantee."""

    def __init__(
        self,
        jobs: ElasticArrays,
        clock: Stopwatch,
        parameters: ListSearchParameters = DEFAULTS.mean_jct.list_search,
    ) -> None:
        self.jobs, self.clock, self.parameters = jobs, clock, parameters
        self.n = len(jobs.work)
        self.most = min(parameters.schedules, parameters.effort // self.n**2)
        self.tried: dict[tuple[Order, bool], float] = {}
        self._work = {j: float(work) for j, work in enumerate(jobs.work)}
        self._speed = [rates.in_floating_point() for rates in jobs.speed]
        keys: list[Callable[[int], float]] = [
            lambda j: self._work[j] / self._speed[j][jobs.most[j]],
            lambda j: self._work[j] / self._speed[j][jobs.least[j]],
            lambda j: self._work[j] * jobs.gpus[j],
        ]
        orders = [tuple(sorted(range(self.n), key=key)) for key in keys]
        self.starts = list(itertools.product(orders, (True, False)))

    def first(self, late_s: float = 0.0) -> Schedule[int]:
        """The list schedule of the shortest job first. Raises TimeoutError `late_s` CPU seconds past the limit."""
        order, start_first = self.starts[0]
        rule, limit_s = list_rule(self.jobs, order, start_first), self.clock.limit_s

        def timed(left: Mapping[int, Any], held: Workers) -> Workers:
            if limit_s is not None and self.clock.spent_s > limit_s + late_s:
                raise TimeoutError
            return rule(left, held)

        return exactly(self.jobs, timed)

    def best(self, first: Schedule[int]) -> Schedule[int]:
        """The best schedule found in time, `first` where none is better."""
        for order, start_first in self.starts:
            if self.clock.expired:
                break
            self._improve(order, start_first)
        if not self.tried:
            return first
        order, start_first = min(self.tried, key=lambda key: (self.tried[key], key))
        if (order, start_first) == self.starts[0]:
            return first
        return min(first, exactly(self.jobs, list_rule(self.jobs, order, start_first)), key=lambda s: s.total)

    def _improve(self, order: Order, start_first: bool) -> None:
        """Move one job at a time to another place in `order`, as long as the total falls."""
        self._total(order, start_first)
        improved = True
        while improved and len(self.tried) < self.most and not self.clock.expired:
            improved = False
            for a, b in itertools.permutations(range(self.n), 2):
                rest = order[:a] + order[a + 1 :]
                moved = (*rest[:b], order[a], *rest[b:])
                target = self._total(order, start_first) * (1 - self.parameters.better)
                if self._total(moved, start_first) < target:
                    order, improved = moved, True
                if len(self.tried) >= self.most or self.clock.expired:
                    break

    def _total(self, order: Order, start_first: bool) -> float:
        """The sum of the completion times, in floating point."""
        key = (order, start_first)
        if key not in self.tried:
            rule = list_rule(self.jobs, order, start_first)
            self.tried[key] = replay(self._work, lambda j, w: self._speed[j][w], rule).total
        return self.tried[key]


def exactly(jobs: ElasticArrays, rule: AllocationRule[int]) -> Schedule[int]:
    """The schedule that `rule` makes, in rational numbers."""
    return replay(dict(enumerate(jobs.work)), lambda j, w: jobs.speed[j][w], rule)


def in_json(schedule: Schedule[int], data: ArylElastic) -> dict[str, Any]:
    """The schedule in JSON form."""
    names = [job.id for job in data.jobs]
    return {
        "intervals": [
            {"length": float(length), "workers": {names[j]: w for j, w in sorted(workers.items())}}
            for length, workers in schedule.intervals
        ]
    }


def from_program(jobs: ElasticArrays, chosen: Sequence[Workers]) -> Schedule[int]:
    """The schedule of a program's answer: `chosen[m]` until the next completion once m jobs have completed.

    Jobs that have their fastest numbers of workers together get them, for none can complete earlier.
    Where rounding made the program see two completions at once that are not, workers stay as they were; where rounding
    made the program give more GPUs than there are, they go by the list.
    """
    n = len(jobs.work)
    otherwise = list_rule(jobs, range(n), False)

    def rule(left: Mapping[int, Any], held: Workers) -> Workers:
        fastest = {j: jobs.most[j] for j in left}
        if jobs.fit(fastest):
            return fastest
        workers = {j: k for j, k in chosen[n - len(left)].items() if j in left}
        if workers and all(j in workers for j in held) and jobs.fit(workers):
            return workers
        return held or otherwise(left, held)

    return exactly(jobs, rule)


def from_solution(jobs: ElasticArrays, data: ArylElastic, solution: Solution) -> Schedule[int]:
    """The schedule with the workers of a feasible `solution` in JSON form, one allocation after the other."""
    place = {job.id: j for j, job in enumerate(data.jobs)}
    stated = [{place[name]: w for name, w in i["workers"].items() if w} for i in solution["intervals"]]
    ahead = [workers for workers, _ in itertools.groupby(stated)][::-1]
    otherwise = list_rule(jobs, range(len(jobs.work)), False)

    def rule(left: Mapping[int, Any], held: Workers) -> Workers:
        while ahead:
            workers = {j: w for j, w in ahead[-1].items() if j in left}
            if workers and not all(j in workers for j in held):
                break  # A job completes a little later than the rounded length says.
            ahead.pop()
            if workers:
                return workers
        return held or otherwise(left, held)

    return exactly(jobs, rule)
