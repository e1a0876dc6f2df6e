"""Allocation of spare workers: the two-phase rule (Algorithm 2), the schemes of section 7.1, and fixed orders of jobs.

All rules assign integer numbers of workers, respect each job's range, and keep the base demand of running jobs. A rule
sees a snapshot at time 0 or at a completion, and returns the workers until the next completion.

The choice of the waiting jobs that begin is separate. By SJF, as in phase one of Algorithm 2, jobs with the shortest
time on the base demand come first, and a job that does not fit is skipped. By FIFO, as in the paper's Baseline, jobs
begin in file order, and no job overtakes one that does not fit.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from instances import InputError, Solution
from instances.aryl import ArylElastic, ElasticJob
from instances.aryl.schedule import replay
from instances.method import ANY, method

Queue = Literal["sjf", "fifo"]
"""The waiting job that begins first: the shortest, or the first in the file."""


@dataclass(frozen=True)
class Moment:
    """A snapshot of the jobs at time 0 or at a completion.

    - `left`: work left of each unfinished job, worker-seconds, by job id in file order.
    - `running`: jobs that have started and keep their base demand.
    - `waiting`: the other jobs, by increasing time on the base demand.
    """

    data: ArylElastic
    jobs: Mapping[str, ElasticJob]
    left: Mapping[str, Fraction]
    running: tuple[str, ...]
    waiting: tuple[str, ...]

    def longest(self, name: str) -> Fraction:
        """Return T_j^max of the remaining work: seconds on the base demand."""
        job = self.jobs[name]
        return self.left[name] / self.data.throughput(job, job.min_workers)

    def speed(self, name: str, workers: int) -> Fraction:
        """Return the throughput of a job, worker-seconds per second."""
        return self.data.throughput(self.jobs[name], workers)

    def admit(self, queue: Queue = "sjf") -> tuple[dict[str, int], int]:
        """Run phase one: return the base demands of the jobs that run from now on, and the number of free GPUs.

        Running jobs keep their base demand. By SJF, the job with the shortest running time comes first, and a job that
        does not fit is skipped (section 5.2). By FIFO, the first job in the file comes first, and no job is skipped.
        """
        workers = {name: self.jobs[name].min_workers for name in self.running}
        free = self.data.whole_gpus - sum(self.jobs[name].base_gpus for name in self.running)
        for name in self.waiting if queue == "sjf" else [name for name in self.left if name not in workers]:
            if free <= 0:
                break
            if self.jobs[name].base_gpus <= free:
                workers[name] = self.jobs[name].min_workers
                free -= self.jobs[name].base_gpus
            elif queue == "fifo":
                break
        return workers, free


Rule = Callable[[Moment], dict[str, int]]
"""Return the workers by job until the next completion."""


def allocate(data: ArylElastic, rule: Rule) -> Solution:
    """Apply a rule once for `jct-reduction`, or at every completion until the last one for `mean-jct`."""
    jobs = {job.id: job for job in data.jobs}
    work = {job.id: job.exact_work for job in data.jobs}
    alone = {name: left / data.throughput(jobs[name], jobs[name].min_workers) for name, left in work.items()}
    waiting = tuple(sorted(work, key=alone.__getitem__))

    def at(left: Mapping[str, Fraction], held: Mapping[str, int]) -> dict[str, int]:
        nonlocal waiting
        waiting = tuple(name for name in waiting if name in left and name not in held)
        return rule(Moment(data, jobs, left, tuple(held), waiting))

    if data.objective == "jct-reduction":
        return {"workers": at(work, {})}
    schedule = replay(work, lambda name, workers: data.throughput(jobs[name], workers), at)
    return {"intervals": [{"length": float(length), "workers": workers} for length, workers in schedule.intervals]}


Weights = Literal["extra", "whole"]
MAX_CELLS = 50_000_000  # GPUs times jobs of the table of a knapsack, which limits memory
MAX_UPDATES = 2_000_000_000  # GPUs times items of the table, which limits time


@method("heuristic", ANY)
def two_phase(data: ArylElastic, *, weights: Weights = "extra") -> Solution:
    """Run Algorithm 2: shortest job first on base demands, then a knapsack of the extra workers' time savings.

    - `weights`: `extra`: an item weighs its extra workers, and the capacity is the number of GPUs that phase one
      leaves. `whole`: line 17 as printed, an item weighs the base demand too, against the same capacity.

    Under `mean-jct` both phases run again at each completion, on the remaining work. Raises InputError for other
    weights, and if the table of the knapsack is too large.
    """
    if weights not in ("extra", "whole"):
        raise InputError(f"weights: must be extra or whole, got {weights!r}")
    reject_jobs(explain_large_table(data, weights))
    fastest = data.fastest_workers()

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admit()  # lines 23 and 24
        wanted = sum((fastest[name] - w) * moment.jobs[name].gpus_per_worker for name, w in workers.items())
        if weights == "extra" and wanted <= free:
            return {name: fastest[name] for name in workers}
        for name, extra in _allocate_elastic(moment, list(workers), free, weights == "whole").items():  # line 27
            workers[name] += extra
        return workers

    return allocate(data, rule)


def explain_large_table(data: ArylElastic, weights: Weights = "extra") -> str | None:
    """Return why the table of the two-phase rule's knapsack is too large, `None` if it is not."""
    if weights == "extra" and data.has_room_for(data.fastest_workers()):
        return None
    unit = math.gcd(*(job.gpus_per_worker for job in data.jobs))
    all_wanted = sum(job.max_workers * job.gpus_per_worker for job in data.jobs)
    base = [job.base_gpus for job in data.jobs]
    held, rows = min(base), min(len(base), data.whole_gpus // min(base))
    if data.objective == "jct-reduction":
        held, rows = sum(base), len(base)
    gpus = min(data.whole_gpus - held, all_wanted) // unit + 1
    items = sum(workers[-1] - workers[0] for workers in data.choices())
    cells, updates = gpus * rows, gpus * items
    if cells > MAX_CELLS:
        return f"a table of {cells:,} cells, more than {MAX_CELLS:,}"
    return f"{updates:,} updates of a table, more than {MAX_UPDATES:,}" if updates > MAX_UPDATES else None


def reject_jobs(reason: str | None) -> None:
    """Raise InputError if there is a reason why a rule cannot handle the jobs."""
    if reason is not None:
        raise InputError(f"data.jobs: {reason}")


def _allocate_elastic(moment: Moment, admitted: Sequence[str], capacity: int, whole: bool) -> dict[str, int]:
    """Return extra workers of the jobs by dynamic programming over GPUs (AllocateElastic, lines 10 to 21)."""
    if not admitted:
        return {}
    jobs = [moment.jobs[name] for name in admitted]
    unit = math.gcd(*(job.gpus_per_worker for job in jobs))
    capacity = min(capacity, sum(job.max_workers * job.gpus_per_worker for job in jobs)) // unit
    best = np.zeros(capacity + 1)
    rows: list[tuple[str, int, NDArray[np.int32]]] = []
    for name, job in zip(admitted, jobs, strict=True):
        longest, gpus = moment.longest(name), job.gpus_per_worker // unit
        chosen = np.zeros(capacity + 1, dtype=np.int32)
        after = best.copy()
        for w in range(job.min_workers + 1, job.max_workers + 1):
            speed = moment.speed(name, w)
            weight = (w if whole else w - job.min_workers) * gpus  # line 17
            if weight > capacity or speed <= 0:
                break
            value = float(longest - moment.left[name] / speed)  # line 18, for any scaling loss
            candidate = best[: capacity + 1 - weight] + value
            better = candidate > after[weight:]
            after[weight:][better] = candidate[better]
            chosen[weight:][better] = w - job.min_workers
        best = after
        rows.append((name, gpus, chosen))
    extra, left = {}, capacity
    for name, gpus, chosen in reversed(rows):
        extra[name] = int(chosen[left])
        if extra[name]:
            left -= (extra[name] + (moment.jobs[name].min_workers if whole else 0)) * gpus
    return extra


MAX_STEPS = 100_000  # workers that are given one at a time, which limits time
Gain = Callable[[Moment, str, int], tuple[Fraction, ...]]
"""`gain(moment, job, w)`: the gain of worker w + 1 of a job; the next numbers break ties of the first."""


@method("heuristic", ANY)
def fifo(data: ArylElastic) -> Solution:
    """Start jobs in file order on their base demand, and never scale them: Baseline (section 7.1)."""
    return allocate(data, lambda moment: moment.admit("fifo")[0])


@method("heuristic", ANY)
def afs(data: ArylElastic) -> Solution:
    """Run AFS (section 7.1): base demands by SJF, then one worker at a time to the largest throughput gain per GPU.

    Throughput is relative to that on the base demand, because jobs of several models have no other common unit. The
    paper has no rule for ties; they go to the first job in the file.
    """
    return _afs(data, lambda moment, name, w: (_relative_gain(moment, name, w),))


@method("heuristic", ANY)
def afs_gpus(data: ArylElastic) -> Solution:
    """Run AFS with throughput in GPUs that scale without loss, the unit of Appendix C; ties go in file order.

    Without a scaling loss, every worker gains one GPU per GPU, so all jobs tie.
    """

    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        return (moment.speed(name, w + 1) - moment.speed(name, w),)

    return _afs(data, gain)


@method("heuristic", ANY)
def afs_shorter(data: ArylElastic) -> Solution:
    """Run AFS on relative throughput; ties go to the job that is shorter on its base demand, unlike in the paper."""
    return _afs(data, lambda moment, name, w: (_relative_gain(moment, name, w), -moment.longest(name)))


@method("heuristic", ANY)
def equal_split(data: ArylElastic) -> Solution:
    """Start jobs by FIFO on base demands, then give one worker at a time to the job with the fewest GPUs."""
    return _equal_split(data, "fifo")


@method("heuristic", ANY)
def equal_split_sjf(data: ArylElastic) -> Solution:
    """Start jobs by SJF on base demands, then give one worker at a time to the job with the fewest GPUs."""
    return _equal_split(data, "sjf")


@method("heuristic", ANY)
def gandiva(data: ArylElastic) -> Solution:
    """Grow jobs in file order while no job waits; they begin by FIFO as in Baseline (Gandiva, section 7.1)."""
    return _gandiva(data, "fifo")


@method("heuristic", ANY)
def gandiva_sjf(data: ArylElastic) -> Solution:
    """Grow jobs in file order while no job waits, as in `gandiva`, but start them by SJF."""
    return _gandiva(data, "sjf")


@method("heuristic", ANY)
def favour(data: ArylElastic, *, order: Sequence[str]) -> Solution:
    """Start jobs by SJF on base demands, then give all free GPUs to the jobs in `order`, as in Tables 3 and 4.

    Raises InputError unless `order` names every job once.
    """
    if sorted(order) != sorted(job.id for job in data.jobs):
        raise InputError(f"order: must name every job once, got {', '.join(order)}")

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admit()
        return _grow(moment, workers, free, [name for name in order if name in moment.left])

    return allocate(data, rule)


def explain_many_steps(data: ArylElastic) -> str | None:
    """Return why workers cannot be given one at a time, `None` if they can."""
    fastest = data.fastest_workers()
    wanted = sum(fastest[job.id] - job.min_workers for job in data.jobs)
    steps = min(wanted, data.whole_gpus // min(job.gpus_per_worker for job in data.jobs))
    return f"{steps:,} workers to give one at a time, more than {MAX_STEPS:,}" if steps > MAX_STEPS else None


def _relative_gain(moment: Moment, name: str, w: int) -> Fraction:
    """Return the throughput gain of worker w + 1 per GPU, relative to the throughput on the base demand."""
    job = moment.jobs[name]
    base = moment.speed(name, job.min_workers)
    return (moment.speed(name, w + 1) - moment.speed(name, w)) / base / job.gpus_per_worker


def _afs(data: ArylElastic, gain: Gain) -> Solution:
    if data.scaling_loss:
        reject_jobs(explain_many_steps(data))
    jobs = {job.id: job for job in data.jobs}

    def alike(name: str, w: int) -> int:
        job = jobs[name]
        return max(1, (job.midpoint if data.scaling_loss else job.max_workers) - w)

    return allocate(data, lambda moment: _give_one_at_a_time(moment, gain, alike))


def _equal_split(data: ArylElastic, queue: Queue) -> Solution:
    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        faster = moment.speed(name, w + 1) > moment.speed(name, w)
        return (Fraction(int(faster)), -Fraction(w * moment.jobs[name].gpus_per_worker))

    reject_jobs(explain_many_steps(data))
    return allocate(data, lambda moment: _give_one_at_a_time(moment, gain, lambda name, w: 1, queue))


def _gandiva(data: ArylElastic, queue: Queue) -> Solution:
    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admit(queue)
        return workers if len(workers) < len(moment.left) else _grow(moment, workers, free, list(moment.left))

    return allocate(data, rule)


def _grow(moment: Moment, workers: dict[str, int], free: int, order: Sequence[str]) -> dict[str, int]:
    for name in order:
        if name in workers:
            job = moment.jobs[name]
            more = moment.data.fastest(job, min(job.max_workers, workers[name] + free // job.gpus_per_worker))
            free -= (more - workers[name]) * job.gpus_per_worker
            workers[name] = more
    return workers


def _give_one_at_a_time(
    moment: Moment, gain: Gain, alike: Callable[[str, int], int], queue: Queue = "sjf"
) -> dict[str, int]:
    """Give one worker at a time to the job of the largest gain while a gain is positive; ties go in file order.

    - `alike(name, w)`: number of workers after the w-th that have the same gain; they are given at once.
    - `queue`: which waiting jobs begin first.
    """
    workers, free = moment.admit(queue)
    offers: list[tuple[tuple[Fraction, ...], int, str]] = []

    def enqueue(place: int, name: str) -> None:
        if workers[name] < moment.jobs[name].max_workers:
            value = gain(moment, name, workers[name])
            if value[0] > 0:
                heapq.heappush(offers, (tuple(-v for v in value), place, name))

    for place, name in enumerate(moment.left):
        if name in workers:
            enqueue(place, name)
    while offers:
        _, place, name = heapq.heappop(offers)
        gpus = moment.jobs[name].gpus_per_worker
        if gpus <= free:  # a worker that does not fit now will not fit later
            more = min(alike(name, workers[name]), free // gpus)
            workers[name] += more
            free -= more * gpus
            enqueue(place, name)
    return workers
