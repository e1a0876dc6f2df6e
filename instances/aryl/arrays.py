"""Elastic jobs as lists by index, which the exact methods work on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from instances.aryl.elastic import ArylElastic

Workers = dict[int, int]
"""Workers by index of the job, of jobs that run."""


class Throughputs(Mapping[int, Any]):
    """Throughput by number of workers, worked out on demand: a range may hold a billion numbers."""

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

    def to_floating_point(self) -> Throughputs:
        """Return the same throughputs as floating-point numbers."""
        return Throughputs(self.workers, lambda workers: float(self[workers]))


@dataclass(frozen=True)
class ElasticArrays:
    """The jobs as lists (n,).

    - `least`, `most`: base workers, and the number of workers of the largest throughput.
    - `gpus`: GPUs of each worker.
    - `work`: worker-seconds to be done.
    - `speed`: worker-seconds a second by number of workers.
    - `capacity`: GPUs that all jobs share.
    """

    least: list[int]
    most: list[int]
    gpus: list[int]
    work: list[Fraction]
    speed: list[Throughputs]
    capacity: int

    @staticmethod
    def of(data: ArylElastic) -> ElasticArrays:
        """Convert the jobs of `data`, without numbers of workers that do not fit or make no progress."""
        choices = data.choices()
        jobs = list(zip(data.jobs, choices, strict=True))
        return ElasticArrays(
            least=[job.min_workers for job in data.jobs],
            most=[data.fastest(job, workers[-1]) for job, workers in jobs],
            gpus=[job.gpus_per_worker for job in data.jobs],
            work=[job.exact_work for job in data.jobs],
            speed=[Throughputs(workers, partial(data.throughput, job)) for job, workers in jobs],
            capacity=data.whole_gpus,
        )

    @property
    def unit(self) -> int:
        """Return the most GPUs that divide every worker's."""
        return math.gcd(*self.gpus)

    @property
    def usable(self) -> int:
        """Return the GPUs that workers can use at most."""
        return self.capacity - self.capacity % self.unit

    @property
    def choices(self) -> int:
        """Return the numbers of workers to choose from, over all jobs."""
        return sum(len(rates) for rates in self.speed)

    def shortest(self, j: int) -> Fraction:
        """Return the seconds of job j on its fastest number of workers."""
        return self.work[j] / self.speed[j][self.most[j]]

    def fit(self, workers: Workers) -> bool:
        """Return whether there are GPUs for `workers`."""
        return sum(self.gpus[j] * k for j, k in workers.items()) <= self.capacity
