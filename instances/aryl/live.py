"""The view of a loaning cluster as arrays: jobs by their places in order of arrival, for policies that decide often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.aryl.loaning import ArylLoaning

TRAINING, LOANED = 0, 1
"""Kinds of servers, as places in pairs."""


@dataclass(frozen=True)
class Demands:
    """What every job of a workload asks for, in order of arrival.

    `gpus` (2, n): GPUs of a worker on training and on loaned servers. `any_gpu`: whether loaned servers will do, which
    they do not where they are too small for a worker. `inelastic`: a job that no policy can scale.
    """

    ids: tuple[str, ...]
    min_workers: IntArray
    max_workers: IntArray
    gpus: IntArray
    any_gpu: BoolArray
    heterogeneous: BoolArray
    inelastic: BoolArray

    @classmethod
    def of(cls, data: ArylLoaning) -> Demands:
        """The demands of the jobs of a workload."""
        jobs = sorted(data.jobs, key=lambda job: job.arrival_seconds)
        own = np.array([job.gpus_per_worker for job in jobs], dtype=np.int64)
        loaned = np.array([data.loaned_gpus(job) for job in jobs], dtype=np.int64)
        fits = loaned <= data.gpus_per_server
        least, most = (np.array([getattr(job, f"{end}_workers") for job in jobs], np.int64) for end in ("min", "max"))
        return cls(
            ids=tuple(job.id for job in jobs),
            min_workers=least,
            max_workers=most,
            gpus=np.stack([own, loaned]),
            any_gpu=np.array([job.any_gpu for job in jobs], dtype=bool) & fits,
            heterogeneous=np.array([job.heterogeneous for job in jobs], dtype=bool) & fits,
            inelastic=least == most,
        )


@dataclass(frozen=True)
class Live:
    """What changes, as arrays; `waiting` and `elastic` are places of jobs that wait, and of elastic jobs that run.

    Of kinds of servers: `free_gpus`, GPUs that nobody has; `flexible_gpus`, those of flexible workers; `widest`, the
    most GPUs on one server that base workers could have. `workers` of every job now, `kind` of the servers of its base
    workers, and `left(places)`, the worker-seconds that policies believe to be left. `hosted()`: of each server on loan
    its id, and the ids of the jobs with base and with flexible workers there.
    """

    demands: Demands
    waiting: IntArray
    elastic: IntArray
    free_gpus: Sequence[int]
    flexible_gpus: Sequence[int]
    widest: Sequence[int]
    workers: IntArray
    kind: IntArray
    left: Callable[[IntArray], FloatArray]
    hosted: Callable[[], Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]]
