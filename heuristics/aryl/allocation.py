"""Who gets the spare workers: the two-phase rule (Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


@method("heuristic", ANY)
def two_phase(data: ArylElastic, *, weights: Weights = "extra") -> Solution:
    """Algorithm 2: shortest job first on base demands, then a knapsack of the extra workers' time savings.

    `weights`: `extra`, an item weighs its extra workers and the capacity is what phase one leaves; `whole`, line 17 as
    it is printed: an item weighs the base demand too, against the same capacity. Under `mean-jct` both phases are done
    anew at each completion, on the work left. Raises InputError for other weights, and for a table too large to fill.
    """
    if weights not in ("extra", "whole"):
        raise InputError(f"weights: must be extra or whole, got {weights!r}")
    refuse_jobs(too_many_cells(data, weights))
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


def refuse_jobs(reason: str | None) -> None:
    """Raise InputError where there is a reason why a rule cannot take the jobs."""
    if reason is not None:
        raise InputError(f"data.jobs: {reason}")


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
