"""Preemptions that no orchestrator avoids, one that knows the whole future included, of jobs that start as they did.

A job that runs on loaned servers holds its GPUs there until it is done, or it is preempted. At every step of the
orchestrator the jobs that are left have to fit on the servers that may be on loan. So at least so many of them are
preempted as have to be dropped until the rest fits, by GPUs alone, at every step: an integer program that knows neither
servers nor places, whatever server goes back first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray, IntArray
from instances.aryl import ArylLoaning, LoaningJob
from models.bounds import whole_bound
from models.highs import LinearModel, solve_arrays

ROUNDING = 1e-6  # of a time in seconds, relative where it is long: a stay that ends at a step does not count there


@dataclass(frozen=True)
class Stay:
    """A job on loaned servers: from `start` it holds at least `gpus` there for at least `seconds`, or is preempted."""

    start: float
    seconds: float
    gpus: int


@dataclass(frozen=True)
class Forced:
    """`preemptions` at least, and whether some choice of jobs by GPUs alone has no more."""

    preemptions: int
    proven: bool


def stay_of(data: ArylLoaning, job: LoaningJob, start: float, *, scales: bool = True) -> Stay | None:
    """The stay of a job that starts on loaned servers; `None` for one that may have its base workers elsewhere.

    Where nobody `scales`, a job has its base workers alone, and takes as long as they do.
    """
    if job.heterogeneous or not job.any_gpu:
        return None
    most = job.max_workers if scales else job.min_workers
    fastest = max(data.speed(job, 0, workers) for workers in range(job.min_workers, most + 1))
    return Stay(start, job.work / fastest, job.min_workers * data.loaned_gpus(job))


def forced_preemptions(stays: Sequence[Stay], data: ArylLoaning, options: Options = Options()) -> Forced:
    """How many of the stays are cut short at least, whoever decides which servers go back."""
    steps, left_gpus = _steps(stays, data)
    rows = _open(stays, steps)
    gpus = np.array([stay.gpus for stay in stays], dtype=np.int64)
    excess = np.array([int(gpus[row].sum()) for row in rows]) - left_gpus
    binding = [k for k in range(len(rows)) if excess[k] > 0]
    if not binding:
        return Forced(0, proven=True)
    named = sorted({int(i) for k in binding for i in rows[k]})
    place = {i: column for column, i in enumerate(named)}
    columns = [place[int(i)] for k in binding for i in rows[k]]
    starts = np.cumsum([0, *(len(rows[k]) for k in binding)])
    entries = gpus[np.concatenate([rows[k] for k in binding])].astype(float)
    matrix = sparse.csr_array((entries, columns, starts), shape=(len(binding), len(named)))
    model = LinearModel(np.ones(len(named)), matrix, excess[binding], math.inf, 0.0, 1.0, True)
    found = solve_arrays(model, options)
    least = max(0, whole_bound(found.bound or 0.0))
    return Forced(least, proven=found.objective is not None and round(found.objective) <= least)


def _steps(stays: Iterable[Stay], data: ArylLoaning) -> tuple[FloatArray, IntArray]:
    """Steps of the orchestrator until the last stay ends, and the GPUs that may be on loan from each on."""
    period = data.orchestrator_period_seconds
    last = max((stay.start + stay.seconds for stay in stays), default=0.0)
    steps = np.arange(math.floor(last / period) + 1, dtype=np.float64) * period
    return steps, np.array([data.lendable(t) * data.gpus_per_server for t in steps.tolist()], dtype=np.int64)


def _open(stays: Sequence[Stay], steps: FloatArray) -> list[IntArray]:
    """For each step the stays that have begun and would not be over."""
    start = np.array([stay.start for stay in stays])
    end = start + np.array([stay.seconds for stay in stays])
    end -= ROUNDING * np.maximum(1.0, end)
    return [np.flatnonzero((start <= t) & (t < end)) for t in steps.tolist()]
