"""The saving of section 4.4 with every job at its true speed, that of its slowest task; exact for small instances.

The paper subtracts the loss of a job for every task that is slowed down. Here t_j is the speed of job j. Over patterns
p,

maximise sum_j RP_j t_j - sum_p C_p x_p subject to sum_p a_kp x_p = n_k for every entry k of tasks, x integer, and
t_j <= r_jp if x_p >= 1 and pattern p holds tasks of job j, which run there at r_jp or faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse

from instances import Options, Solution
from instances.errors import InputError
from instances.eva import EvaPacking, Throughput, constraints_of
from instances.eva.packing import demand_on, fits
from instances.fields import steps
from models.core.fine_units import FineUnits
from models.core.highs import LinearModel, solve_arrays
from models.core.safe_bounds import real_bound

MOST_PATTERNS = 20_000
On = tuple[int, ...]
"""The number of tasks of each entry on an instance."""


@dataclass(frozen=True)
class TrueSaving:
    """Instances, their saving with jobs at their true speeds, and a bound on the maximum of this saving, in USD/h."""

    solution: Solution
    saving: float
    bound: float | None


class _Tasks:
    """The entries of an instance: reservation prices, jobs, and throughput."""

    def __init__(self, data: EvaPacking) -> None:
        for name in constraints_of(data):
            raise InputError(f"data.{name}: the saving at true speeds has no such constraint")
        self.data = data
        self.kinds = sorted(data.instance_types, key=lambda kind: kind.usd_per_hour)
        self.price = [next(k.usd_per_hour for k in self.kinds if fits(task.demand, k)) for task in data.tasks]
        listed: dict[str, int] = {}
        for task in data.tasks:
            if task.job is not None:
                listed[task.job] = listed.get(task.job, 0) + task.count
        for i, task in enumerate(data.tasks):
            if (task.tasks_in_job or 1) > (1 if task.job is None else listed[task.job]):
                raise InputError(f"tasks[{i}]: the speed of a job needs all of its tasks, got some of {task.key}")
        self.jobs = [task.job if task.job is not None and listed[task.job] > 1 else None for task in data.tasks]
        throughput = data.throughput or Throughput()
        known = {(own, other): value for own, other, value in throughput.pairwise}
        names = [task.workload for task in data.tasks]
        self.pair = [[known.get((own, other), throughput.default) for other in names] for own in names]

    def rate(self, entry: int, on_it: On) -> float:
        """Return the throughput of a task of an entry next to the other tasks `on_it`."""
        return prod(self.pair[entry][other] ** (k - (other == entry)) for other, k in enumerate(on_it) if k)

    def patterns(self) -> Iterator[tuple[int, On]]:
        """Yield all patterns, each with the cheapest type that holds it. Raises InputError for too many patterns."""
        names = self.data.resources
        capacity = [[steps(kind.capacity[r]) for r in names] for kind in self.kinds]
        need = [
            [[steps(demand_on(task.demand, kind.family)[r]) for r in names] for task in self.data.tasks]
            for kind in self.kinds
        ]
        number = 0

        def extend(on_it: On, kinds: Sequence[int]) -> Iterator[tuple[int, On]]:
            nonlocal number
            entry = len(on_it)
            if entry == len(self.data.tasks):
                if any(on_it):
                    number += 1
                    if number > MOST_PATTERNS:
                        raise InputError(f"tasks: more than {MOST_PATTERNS} patterns are too many for true speeds")
                    yield kinds[0], on_it
                return
            for k in range(self.data.tasks[entry].count + 1):
                then = (*on_it, k)
                left = [t for t in kinds if _holds(capacity[t], need[t], then)]
                if not left:
                    return
                yield from extend(then, left)

        yield from extend((), range(len(self.kinds)))


def true_saving(data: EvaPacking, solution: Solution) -> float:
    """Return the saving of a solution with every job at the speed of its slowest task, in USD/h."""
    tasks = _Tasks(data)
    place = {task.key: i for i, task in enumerate(data.tasks)}
    price = {kind.name: kind.usd_per_hour for kind in data.instance_types}
    speed: dict[str, float] = {}
    saving = 0.0
    for group in solution["instances"]:
        on_it = [0] * len(data.tasks)
        for key, k in group["tasks"].items():
            on_it[place[key]] += k
        saving -= group["count"] * price[group["type"]]
        for entry, k in enumerate(on_it):
            if k:
                rate, job = tasks.rate(entry, tuple(on_it)), tasks.jobs[entry]
                if job is None:
                    saving += group["count"] * k * rate * tasks.price[entry]
                else:
                    speed[job] = min(speed.get(job, 1.0), rate)
    worth = _worth_of_jobs(tasks)
    return saving + sum(worth[job] * rate for job, rate in speed.items())


def maximise_true_saving(data: EvaPacking, options: Options = Options()) -> TrueSaving:
    """Maximise the saving with jobs at their true speeds. Raises InputError for too many patterns."""
    tasks = _Tasks(data)
    patterns = list(tasks.patterns())
    worth = _worth_of_jobs(tasks)
    jobs = list(worth)
    most = np.array([min(task.count // k for task, k in zip(data.tasks, p, strict=True) if k) for _, p in patterns])
    slowed = [_find_slowed(tasks, on_it) for _, on_it in patterns]
    n, m = len(patterns), len(jobs)  # variables: x of patterns, whether they are used, speeds of jobs
    gain = [
        sum(k * tasks.rate(i, on_it) * tasks.price[i] for i, k in enumerate(on_it) if k and tasks.jobs[i] is None)
        - tasks.kinds[kind].usd_per_hour
        for kind, on_it in patterns
    ]
    rows: list[dict[int, float]] = []
    lower: list[float] = []
    upper: list[float] = []
    for entry, task in enumerate(data.tasks):
        rows.append({p: float(on_it[entry]) for p, (_, on_it) in enumerate(patterns) if on_it[entry]})
        lower.append(task.count)
        upper.append(task.count)
    for p, rates in enumerate(slowed):
        if rates:
            rows.append({p: 1.0, n + p: -float(most[p])})
            lower.append(-np.inf)
            upper.append(0.0)
        for job, rate in rates.items():
            rows.append({n + p: 1.0 - rate, 2 * n + jobs.index(job): 1.0})
            lower.append(-np.inf)
            upper.append(1.0)
    entries = [(i, column, value) for i, row in enumerate(rows) for column, value in row.items()]
    places, columns, values = zip(*entries, strict=True)
    model = LinearModel(
        cost=[*gain, *([0.0] * n), *worth.values()],
        matrix=sparse.csc_array((values, (places, columns)), shape=(len(rows), 2 * n + m)),
        row_lower=lower,
        row_upper=upper,
        upper=[*most.tolist(), *([1.0] * (n + m))],
        integer=[*([True] * (2 * n)), *([False] * m)],
        sense="maximize",
    )
    fine = FineUnits.of(model)  # HiGHS may treat small prices as 0
    solved = fine.convert_result(solve_arrays(fine.model, options))
    if solved.x is None:
        raise InputError(f"true speeds: {solved.reason or solved.termination}")
    used = np.round(solved.x[:n]).astype(int)
    groups = [
        {
            "type": tasks.kinds[patterns[p][0]].name,
            "count": int(used[p]),
            "tasks": {data.tasks[i].key: k for i, k in enumerate(patterns[p][1]) if k},
        }
        for p in np.flatnonzero(used)
    ]
    solution = {"instances": groups}
    bound = None if solved.bound is None else real_bound(solved.bound, "maximize")
    return TrueSaving(solution, true_saving(data, solution), bound)


def _find_slowed(tasks: _Tasks, on_it: On) -> dict[str, float]:
    """Return the jobs of several tasks that a pattern slows down, with their throughputs."""
    found: dict[str, float] = {}
    for entry, k in enumerate(on_it):
        job = tasks.jobs[entry]
        if k and job is not None and (rate := tasks.rate(entry, on_it)) < 1:
            found[job] = min(found.get(job, 1.0), rate)
    return found


def _worth_of_jobs(tasks: _Tasks) -> Mapping[str, float]:
    """Return the sum of the reservation prices of each job with several tasks, in USD/h."""
    found: dict[str, float] = {}
    for task, job, price in zip(tasks.data.tasks, tasks.jobs, tasks.price, strict=True):
        if job is not None:
            found[job] = found.get(job, 0.0) + task.count * price
    return found


def _holds(capacity: Sequence[int], need: Sequence[Sequence[int]], on_it: On) -> bool:
    return all(sum(k * need[i][r] for i, k in enumerate(on_it)) <= q for r, q in enumerate(capacity))
