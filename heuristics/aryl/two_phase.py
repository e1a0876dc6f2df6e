"""The two-phase rule of Aryl (Algorithm 2, section 5.2), and the snapshot on which every rule of allocation works.

Comments name the lines of the pseudocode. A rule sees the jobs at time 0 or at a completion, and returns integer
numbers of workers until the next completion. It respects each job's range, and running jobs keep their base demand.

The choice of the waiting jobs that begin is separate. By SJF, as in phase one of Algorithm 2, jobs with the shortest
time on the base demand come first, and a job that does not fit is skipped. By FIFO, as in the paper's Baseline, jobs
begin in file order, and no job overtakes one that does not fit.
"""

from __future__ import annotations

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
        """Return T_j^max of the remaining work: seconds on the base demand (lines 4 to 7)."""
        job = self.jobs[name]
        return self.left[name] / self.data.throughput(job, job.min_workers)

    def speed(self, name: str, workers: int) -> Fraction:
        """Return the throughput of a job, worker-seconds per second."""
        return self.data.throughput(self.jobs[name], workers)

    def admit(self, queue: Queue = "sjf") -> tuple[dict[str, int], int]:
        """Run phase one (line 24): return the base demands of the jobs that run from now on, and the free GPUs."""
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
    waiting = tuple(sorted(work, key=alone.__getitem__))  # SortJobs, lines 1 to 9

    def apply_rule(left: Mapping[str, Fraction], held: Mapping[str, int]) -> dict[str, int]:
        nonlocal waiting
        waiting = tuple(name for name in waiting if name in left and name not in held)
        return rule(Moment(data, jobs, left, tuple(held), waiting))

    if data.objective == "jct-reduction":
        return {"workers": apply_rule(work, {})}
    schedule = replay(work, lambda name, workers: data.throughput(jobs[name], workers), apply_rule)
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
        workers, free = moment.admit()  # lines 23 to 26
        wanted = sum((fastest[name] - w) * moment.jobs[name].gpus_per_worker for name, w in workers.items())
        if weights == "extra" and wanted <= free:
            return {name: fastest[name] for name in workers}  # every job gets what it can use
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
    for name, job in zip(admitted, jobs, strict=True):  # line 12
        longest, gpus = moment.longest(name), job.gpus_per_worker // unit
        chosen = np.zeros(capacity + 1, dtype=np.int32)
        after = best.copy()
        for w in range(job.min_workers + 1, job.max_workers + 1):  # line 15
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
    extra, left = {}, capacity  # line 20
    for name, gpus, chosen in reversed(rows):
        extra[name] = int(chosen[left])
        if extra[name]:
            left -= (extra[name] + (moment.jobs[name].min_workers if whole else 0)) * gpus
    return extra
