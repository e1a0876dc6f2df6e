"""Who gets the spare workers: the two-phase rule (Algorithm 2) and the schemes of section 7.1.

All of them take whole workers only, never more than the range allows, and keep the base demand of running jobs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.aryl.moment import Moment, allocate
from instances import InputError, Solution
from instances.aryl import ArylElastic
from instances.method import ANY, method

Weights = Literal["extra", "whole"]
MOST_CELLS, MOST_UPDATES = 50_000_000, 2_000_000_000
"""The table of a knapsack may have so many cells, GPUs times jobs, and so many updates, GPUs times items."""
MOST_STEPS = 100_000
"""So many workers may be given one at a time."""


@method("heuristic", ANY)
def two_phase(data: ArylElastic, *, weights: Weights = "extra") -> Solution:
    """Algorithm 2: shortest job first on base demands, then a knapsack of the extra workers' time savings.

    `weights`: `extra`, an item weighs its extra workers and the capacity is what phase one leaves; `whole`, line 17 as
    it is printed: an item weighs the base demand too, against the same capacity. Under `mean-jct` both phases are done
    anew at each completion, on the work left. Raises InputError for other weights, and for a table too large to fill.
    """
    if weights not in ("extra", "whole"):
        raise InputError(f"weights: must be extra or whole, got {weights!r}")
    _refuse(too_many_cells(data, weights))
    fastest = data.fastest_workers()

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        wanted = sum((fastest[name] - w) * moment.jobs[name].gpus_per_worker for name, w in workers.items())
        if weights == "extra" and wanted <= free:
            return {name: fastest[name] for name in workers}
        for name, extra in _knapsack(moment, list(workers), free, weights == "whole").items():
            workers[name] += extra
        return workers

    return allocate(data, rule)


@method("heuristic", ANY)
def afs(data: ArylElastic) -> Solution:
    """AFS as in section 7.1: base demands first, then one worker at a time to the largest throughput gain per GPU.

    Throughput is relative to that on the base demand, for the instance has no other unit that jobs share. Ties go to
    the job that is shorter on its base demand, then to the one first in the file.
    """

    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        job = moment.jobs[name]
        base = moment.speed(name, job.min_workers)
        return ((moment.speed(name, w + 1) - moment.speed(name, w)) / base / job.gpus_per_worker, -moment.longest(name))

    def alike(name: str, w: int) -> int:
        job = jobs[name]
        return max(1, (job.midpoint if data.scaling_loss else job.max_workers) - w)

    if data.scaling_loss:
        _refuse(too_many_steps(data))
    jobs = {job.id: job for job in data.jobs}
    return allocate(data, lambda moment: _one_at_a_time(moment, gain, alike))


@method("heuristic", ANY)
def equal_split(data: ArylElastic) -> Solution:
    """Base demands first, then one worker at a time to the job with the fewest GPUs."""

    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        faster = moment.speed(name, w + 1) > moment.speed(name, w)
        return (Fraction(int(faster)), -Fraction(w * moment.jobs[name].gpus_per_worker))

    _refuse(too_many_steps(data))
    return allocate(data, lambda moment: _one_at_a_time(moment, gain, lambda name, w: 1))


@method("heuristic", ANY)
def gandiva(data: ArylElastic) -> Solution:
    """Opportunistic growth (Gandiva, section 7.1): jobs in file order take all GPUs, while no job is waiting."""

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        return workers if len(workers) < len(moment.left) else _grow(moment, workers, free, list(moment.left))

    return allocate(data, rule)


@method("heuristic", ANY)
def favour(data: ArylElastic, *, order: Sequence[str]) -> Solution:
    """Base demands first, then all that is left to the jobs in `order`, as in Tables 3 and 4.

    Raises InputError unless `order` names every job once.
    """
    if sorted(order) != sorted(job.id for job in data.jobs):
        raise InputError(f"order: must name every job once, got {', '.join(order)}")

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        return _grow(moment, workers, free, [name for name in order if name in moment.left])

    return allocate(data, rule)


def too_many_cells(data: ArylElastic, weights: Weights = "extra") -> str | None:
    """Why the table of the two-phase rule's knapsack is too large to fill, `None` where it is not."""
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
    if cells > MOST_CELLS:
        return f"a table of {cells:,} cells, more than {MOST_CELLS:,}"
    return f"{updates:,} updates of a table, more than {MOST_UPDATES:,}" if updates > MOST_UPDATES else None


def too_many_steps(data: ArylElastic) -> str | None:
    """Why workers cannot be given one at a time, `None` where they can."""
    fastest = data.fastest_workers()
    wanted = sum(fastest[job.id] - job.min_workers for job in data.jobs)
    steps = min(wanted, data.whole_gpus // min(job.gpus_per_worker for job in data.jobs))
    return f"{steps:,} workers to give one at a time, more than {MOST_STEPS:,}" if steps > MOST_STEPS else None


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise InputError(f"data.jobs: {reason}")


def _grow(moment: Moment, workers: dict[str, int], free: int, order: Sequence[str]) -> dict[str, int]:
    for name in order:
        if name in workers:
            job = moment.jobs[name]
            more = moment.data.fastest(job, min(job.max_workers, workers[name] + free // job.gpus_per_worker))
            free -= (more - workers[name]) * job.gpus_per_worker
            workers[name] = more
    return workers


def _one_at_a_time(
    moment: Moment, gain: Callable[[Moment, str, int], tuple[Fraction, ...]], alike: Callable[[str, int], int]
) -> dict[str, int]:
    """One worker at a time to the job of the largest gain, ties in file order, as long as the gain is positive.

    `alike(name, w)`: how many workers more than `w` have the same gain one after the other; they are given at once.
    """
    workers, free = moment.admitted()
    queue: list[tuple[tuple[Fraction, ...], int, str]] = []

    def enqueue(place: int, name: str) -> None:
        if workers[name] < moment.jobs[name].max_workers:
            value = gain(moment, name, workers[name])
            if value[0] > 0:
                heapq.heappush(queue, (tuple(-v for v in value), place, name))

    for place, name in enumerate(moment.left):
        if name in workers:
            enqueue(place, name)
    while queue:
        _, place, name = heapq.heappop(queue)
        gpus = moment.jobs[name].gpus_per_worker
        if gpus <= free:  # A worker that does not fit now never will.
            more = min(alike(name, workers[name]), free // gpus)
            workers[name] += more
            free -= more * gpus
            enqueue(place, name)
    return workers


def _knapsack(moment: Moment, admitted: Sequence[str], capacity: int, whole: bool) -> dict[str, int]:
    """MaxValueDP of Algorithm 2: extra workers of the jobs, a row of the table each, over GPUs."""
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
            weight = (w if whole else w - job.min_workers) * gpus
            if weight > capacity or speed <= 0:
                break
            value = float(longest - moment.left[name] / speed)
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
