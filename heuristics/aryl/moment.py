"""What an allocation rule of Aryl sees at time 0 and at each completion, and the schedule that a rule makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from instances import Solution
from instances.aryl import ArylElastic, ElasticJob
from instances.aryl.schedule import replay

Queue = Literal["sjf", "fifo"]
"""Which waiting job begins first: the shortest, or the first in the file."""


@dataclass(frozen=True)
class Moment:
    """Time 0 or a completion, as a rule sees the jobs.

    - `left`: work left of each unfinished job, worker-seconds, by job id in file order.
    - `running`: jobs that have started and keep their base demand.
    - `waiting`: the others, the shortest on the base demand first.
    """

    data: ArylElastic
    jobs: Mapping[str, ElasticJob]
    left: Mapping[str, Fraction]
    running: tuple[str, ...]
    waiting: tuple[str, ...]

    def longest(self, name: str) -> Fraction:
        """T_j^max of what is left: seconds on the base demand."""
        job = self.jobs[name]
        return self.left[name] / self.data.throughput(job, job.min_workers)

    def speed(self, name: str, workers: int) -> Fraction:
        """Throughput of a job, worker-seconds a second."""
        return self.data.throughput(self.jobs[name], workers)

    def admitted(self, queue: Queue = "sjf") -> tuple[dict[str, int], int]:
        """Phase one: the base demands of the jobs that run from now on, and the GPUs that are left.

        Running jobs keep theirs. By SJF the shortest running time is first, and a job that does not fit is passed over
        (section 5.2); by FIFO the first in the file is, and nobody is passed over.
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
"""Workers by job until the next completion."""


def allocate(data: ArylElastic, rule: Rule) -> Solution:
    """One allocation for `jct-reduction`, all allocations until the last completion for `mean-jct`."""
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
