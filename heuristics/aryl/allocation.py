"""Who gets the spare workers: the two-phase rule (Algorithm 2) and the schemes of section 7.1.

All of them take whole workers only, never more than the range allows, and keep the base demand of running jobs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from heuristics.aryl.events import Moment, allocate
from instances import InputError, Result
from instances.aryl import ArylElastic

Weights = Literal["extra", "whole"]


def two_phase(data: ArylElastic, *, weights: Weights = "extra") -> Result:
    """Algorithm 2: shortest job first on base demands, then a knapsack of the extra workers' time savings.

    `weights`: `extra`, an item weighs its extra workers and the capacity is what phase one leaves; `whole`, line 17 as
    it is printed: an item weighs the base demand too, against the same capacity. Under `mean-jct` both phases are done
    anew at each completion, on the work left. Raises InputError for other weights.
    """
    if weights not in ("extra", "whole"):
        raise InputError(f"weights: must be extra or whole, got {weights!r}")

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        for name, extra in _knapsack(moment, list(workers), free, weights == "whole").items():
            workers[name] += extra
        return workers

    return allocate(data, "two-phase", rule)


def afs(data: ArylElastic) -> Result:
    """AFS as in section 7.1: base demands first, then one worker at a time to the largest throughput gain per GPU.

    Throughput is relative to that on the base demand, for the instance has no other unit that jobs share. Ties go to
    the job that is shorter on its base demand, then to the one first in the file.
    """

    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        job = moment.jobs[name]
        base = moment.speed(name, job.min_workers)
        return ((moment.speed(name, w + 1) - moment.speed(name, w)) / base / job.gpus_per_worker, -moment.longest(name))

    return allocate(data, "afs", lambda moment: _one_at_a_time(moment, gain))


def equal_split(data: ArylElastic) -> Result:
    """Base demands first, then one worker at a time to the job with the fewest GPUs."""

    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        faster = moment.speed(name, w + 1) > moment.speed(name, w)
        return (Fraction(int(faster)), -Fraction(w * moment.jobs[name].gpus_per_worker))

    return allocate(data, "equal-split", lambda moment: _one_at_a_time(moment, gain))


def gandiva(data: ArylElastic) -> Result:
    """Opportunistic growth: jobs take all they can, in the order they came, but only while no job is waiting."""

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        return workers if len(workers) < len(moment.left) else _grow(moment, workers, free, list(moment.left))

    return allocate(data, "gandiva", rule)


def favour(data: ArylElastic, order: Sequence[str]) -> Result:
    """Base demands first, then all that is left to the jobs in `order`, as in Tables 3 and 4.

    Raises InputError unless `order` names every job once.
    """
    if sorted(order) != sorted(job.id for job in data.jobs):
        raise InputError(f"order: must name every job once, got {', '.join(order)}")

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        return _grow(moment, workers, free, [name for name in order if name in moment.left])

    return allocate(data, "favour", rule)


def _grow(moment: Moment, workers: dict[str, int], free: int, order: Sequence[str]) -> dict[str, int]:
    for name in order:
        job = moment.jobs[name]
        while name in workers and workers[name] < job.max_workers and job.gpus_per_worker <= free:
            if moment.speed(name, workers[name] + 1) <= moment.speed(name, workers[name]):
                break
            workers[name] += 1
            free -= job.gpus_per_worker
    return workers


def _one_at_a_time(moment: Moment, gain: Callable[[Moment, str, int], tuple[Fraction, ...]]) -> dict[str, int]:
    """One worker at a time to the job of the largest gain, ties in file order, as long as the gain is positive."""
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
        if moment.jobs[name].gpus_per_worker <= free:  # what does not fit now never will
            workers[name] += 1
            free -= moment.jobs[name].gpus_per_worker
            enqueue(place, name)
    return workers


def _knapsack(moment: Moment, admitted: Sequence[str], capacity: int, whole: bool) -> dict[str, int]:
    """MaxValueDP of Algorithm 2: extra workers of the jobs of one table row each, over GPUs."""
    best = np.zeros(capacity + 1)
    rows: list[tuple[str, np.ndarray]] = []
    for name in admitted:
        job, longest = moment.jobs[name], moment.longest(name)
        chosen = np.zeros(capacity + 1, dtype=np.int64)
        after = best.copy()
        for w in range(job.min_workers + 1, job.max_workers + 1):
            speed = moment.speed(name, w)
            weight = (w if whole else w - job.min_workers) * job.gpus_per_worker
            if weight > capacity or speed <= 0:
                break
            value = float(longest - moment.left[name] / speed)
            candidate = best[: capacity + 1 - weight] + value
            better = candidate > after[weight:]
            after[weight:][better] = candidate[better]
            chosen[weight:][better] = w - job.min_workers
        best = after
        rows.append((name, chosen))
    extra, left = {}, capacity
    for name, chosen in reversed(rows):
        extra[name] = int(chosen[left])
        job = moment.jobs[name]
        if extra[name]:
            left -= (extra[name] + (job.min_workers if whole else 0)) * job.gpus_per_worker
    return extra
