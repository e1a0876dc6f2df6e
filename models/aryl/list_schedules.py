"""List schedules of elastic jobs, and local search over priority orders (list scheduling: Graham, 1966).

The exact mean JCT starts from the best list schedule found here. Schedules are replayed from numbers of workers with
exact lengths, so they are exact whatever the tolerances of a solver were.
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


def make_list_rule(jobs: ElasticArrays, order: Sequence[int], start_first: bool) -> AllocationRule[int]:
    """Make the allocation rule of a priority order.

    Running jobs keep their base demand. Then jobs start and grow in the order. If `start_first`, as many jobs as fit
    start before any job grows.
    """
    unfinished = unstarted = list(order)  # `unfinished` may contain complete jobs, at most as many as others
    smallest = min(jobs.gpus)
    least, most, gpus = jobs.least, jobs.most, jobs.gpus
    base = [g * w for g, w in zip(gpus, least, strict=True)]

    def allocate(left: Mapping[int, Any], held: Workers) -> Workers:
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

    return allocate


def schedule_sequentially(jobs: ElasticArrays) -> Schedule[int]:
    """Schedule one job after the other, the shortest first, each on its fastest number of workers; this is quick."""
    order = sorted(range(len(jobs.work)), key=jobs.shortest)[::-1]

    def allocate(left: Mapping[int, Any], held: Workers) -> Workers:
        j = order.pop()
        return {j: jobs.most[j]}

    return replay_rule(jobs, allocate)


class ListSearch:
    """A deterministic local search over priority orders.

    - `jobs`: the jobs.
    - `clock`: its time limit ends the search.
    - `parameters`: number of schedules, and the minimum improvement.
    """

    def __init__(
        self,
        jobs: ElasticArrays,
        clock: Stopwatch,
        parameters: ListSearchParameters = DEFAULTS.mean_jct.list_search,
    ) -> None:
        self.jobs, self.clock, self.parameters = jobs, clock, parameters
        self.n = len(jobs.work)
        self.max_schedules = min(parameters.schedules, parameters.effort // self.n**2)
        self.tried: dict[tuple[Order, bool], float] = {}
        self._work = {j: float(work) for j, work in enumerate(jobs.work)}
        self._speed = [rates.to_floating_point() for rates in jobs.speed]
        keys: list[Callable[[int], float]] = [
            lambda j: self._work[j] / self._speed[j][jobs.most[j]],
            lambda j: self._work[j] / self._speed[j][jobs.least[j]],
            lambda j: self._work[j] * jobs.gpus[j],
        ]
        orders = [tuple(sorted(range(self.n), key=key)) for key in keys]
        self.starts = list(itertools.product(orders, (True, False)))

    def build_first(self, late_s: float = 0.0) -> Schedule[int]:
        """Build the list schedule of the shortest job first.

        Raises TimeoutError `late_s` CPU seconds after the time limit.
        """
        order, start_first = self.starts[0]
        rule, limit_s = make_list_rule(self.jobs, order, start_first), self.clock.limit_s

        def allocate_in_time(left: Mapping[int, Any], held: Workers) -> Workers:
            if limit_s is not None and self.clock.cpu_spent_s > limit_s + late_s:
                raise TimeoutError
            return rule(left, held)

        return replay_rule(self.jobs, allocate_in_time)

    def improve(self, first: Schedule[int]) -> Schedule[int]:
        """Search better schedules than `first` and return the best one."""
        for order, start_first in self.starts:
            if self.clock.has_expired:
                break
            self._climb(order, start_first)
        if not self.tried:
            return first
        order, start_first = min(self.tried, key=lambda key: (self.tried[key], key))
        if (order, start_first) == self.starts[0]:
            return first
        best = replay_rule(self.jobs, make_list_rule(self.jobs, order, start_first))
        return min(first, best, key=lambda schedule: schedule.total)

    def _climb(self, order: Order, start_first: bool) -> None:
        """Move one job at a time to another position in `order`, as long as the total decreases."""
        self._evaluate(order, start_first)
        is_improved = True
        while is_improved and len(self.tried) < self.max_schedules and not self.clock.has_expired:
            is_improved = False
            for a, b in itertools.permutations(range(self.n), 2):
                rest = order[:a] + order[a + 1 :]
                moved = (*rest[:b], order[a], *rest[b:])
                target = self._evaluate(order, start_first) * (1 - self.parameters.better)
                if self._evaluate(moved, start_first) < target:
                    order, is_improved = moved, True
                if len(self.tried) >= self.max_schedules or self.clock.has_expired:
                    break

    def _evaluate(self, order: Order, start_first: bool) -> float:
        """Return the sum of the completion times, in floating-point arithmetic."""
        key = (order, start_first)
        if key not in self.tried:
            rule = make_list_rule(self.jobs, order, start_first)
            self.tried[key] = replay(self._work, lambda j, w: self._speed[j][w], rule).total
        return self.tried[key]


def replay_rule(jobs: ElasticArrays, rule: AllocationRule[int]) -> Schedule[int]:
    """Return the schedule of an allocation rule, in rational numbers."""
    return replay(dict(enumerate(jobs.work)), lambda j, w: jobs.speed[j][w], rule)


def convert_schedule(schedule: Schedule[int], data: ArylElastic) -> dict[str, Any]:
    """Convert a schedule to a solution in JSON form."""
    names = [job.id for job in data.jobs]
    return {
        "intervals": [
            {"length": float(length), "workers": {names[j]: w for j, w in sorted(workers.items())}}
            for length, workers in schedule.intervals
        ]
    }


def replay_allocations(jobs: ElasticArrays, allocations: Sequence[Workers]) -> Schedule[int]:
    """Return the schedule with the workers `allocations[m]` after m completions.

    All remaining jobs get their fastest numbers of workers as soon as they fit together, because no job can complete
    earlier. If rounding made a program see two completions at once, the workers stay the same. If rounding made it
    allocate too many GPUs, the list rule replaces the allocation.
    """
    n = len(jobs.work)
    fallback = make_list_rule(jobs, range(n), False)

    def allocate(left: Mapping[int, Any], held: Workers) -> Workers:
        fastest = {j: jobs.most[j] for j in left}
        if jobs.fit(fastest):
            return fastest
        workers = {j: k for j, k in allocations[n - len(left)].items() if j in left}
        if workers and all(j in workers for j in held) and jobs.fit(workers):
            return workers
        return held or fallback(left, held)

    return replay_rule(jobs, allocate)


def replay_solution(jobs: ElasticArrays, data: ArylElastic, solution: Solution) -> Schedule[int]:
    """Return the schedule with the allocations of a feasible `solution` in JSON form, one after the other."""
    index = {job.id: j for j, job in enumerate(data.jobs)}
    stated = [{index[name]: w for name, w in i["workers"].items() if w} for i in solution["intervals"]]
    pending = [workers for workers, _ in itertools.groupby(stated)][::-1]
    fallback = make_list_rule(jobs, range(len(jobs.work)), False)

    def allocate(left: Mapping[int, Any], held: Workers) -> Workers:
        while pending:
            workers = {j: w for j, w in pending[-1].items() if j in left}
            if workers and not all(j in workers for j in held):
                break  # a job completes slightly later than the rounded length states
            pending.pop()
            if workers:
                return workers
        return held or fallback(left, held)

    return replay_rule(jobs, allocate)
