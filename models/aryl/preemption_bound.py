"""A lower bound on the preemptions of every orchestrator, even a clairvoyant one, for given starts of the jobs.

A job on loaned servers holds its GPUs there until it completes or is preempted. At every step of the orchestrator, the
remaining jobs must fit on the servers that may be on loan. An integer program minimises the number of jobs to drop so
that the GPUs of the others fit at every step. It is a relaxation: it has no servers and no placement.
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
from models.core.highs import LinearModel, solve_arrays
from models.core.safe_bounds import whole_bound

ROUNDING = 1e-6  # of times in seconds, relative for long ones: a stay that ends at a step must not count at this step


@dataclass(frozen=True)
class Stay:
    """A job on loaned servers: it holds at least `gpus` there from `start` for at least `seconds`, or is preempted."""

    start: float
    seconds: float
    gpus: int


@dataclass(frozen=True)
class PreemptionBound:
    """At least `preemptions` preemptions; `proven`: whether this is the optimum of the integer program."""

    preemptions: int
    proven: bool


def make_stay(data: ArylLoaning, job: LoaningJob, start: float, *, scales: bool = True) -> Stay | None:
    """Make the stay of a job that starts on loaned servers; `None` for a job that may have base workers elsewhere.

    `scales`: whether jobs get extra workers. If not, a job runs on its base workers only.
    """
    if job.heterogeneous or not job.any_gpu:
        return None
    max_workers = job.max_workers if scales else job.min_workers
    fastest = max(data.speed(job, 0, workers) for workers in range(job.min_workers, max_workers + 1))
    return Stay(start, job.work / fastest, job.min_workers * data.count_gpus_on_loan(job))


def bound_preemptions(stays: Sequence[Stay], data: ArylLoaning, options: Options = Options()) -> PreemptionBound:
    """Bound the number of preempted stays from below, for every choice of the returned servers."""
    steps, available = _list_steps(stays, data)
    rows = _list_active(stays, steps)
    gpus = np.array([stay.gpus for stay in stays], dtype=np.int64)
    excess = np.array([int(gpus[row].sum()) for row in rows]) - available
    binding = [k for k in range(len(rows)) if excess[k] > 0]
    if not binding:
        return PreemptionBound(0, proven=True)
    jobs = sorted({int(i) for k in binding for i in rows[k]})
    column_of = {i: column for column, i in enumerate(jobs)}
    columns = [column_of[int(i)] for k in binding for i in rows[k]]
    starts = np.cumsum([0, *(len(rows[k]) for k in binding)])
    entries = gpus[np.concatenate([rows[k] for k in binding])].astype(float)
    matrix = sparse.csr_array((entries, columns, starts), shape=(len(binding), len(jobs)))
    model = LinearModel(np.ones(len(jobs)), matrix, excess[binding], math.inf, 0.0, 1.0, True)
    solved = solve_arrays(model, options)
    bound = max(0, whole_bound(solved.bound or 0.0))
    return PreemptionBound(bound, proven=solved.objective is not None and round(solved.objective) <= bound)


def _list_steps(stays: Iterable[Stay], data: ArylLoaning) -> tuple[FloatArray, IntArray]:
    """List the steps of the orchestrator until the last stay ends, and the GPUs that may be on loan from each step."""
    period = data.orchestrator_period_seconds
    last = max((stay.start + stay.seconds for stay in stays), default=0.0)
    steps = np.arange(math.floor(last / period) + 1, dtype=np.float64) * period
    return steps, np.array([data.lendable(t) * data.gpus_per_server for t in steps.tolist()], dtype=np.int64)


def _list_active(stays: Sequence[Stay], steps: FloatArray) -> list[IntArray]:
    """List for each step the stays that have begun and would not have ended."""
    start = np.array([stay.start for stay in stays])
    end = start + np.array([stay.seconds for stay in stays])
    end -= ROUNDING * np.maximum(1.0, end)
    return [np.flatnonzero((start <= t) & (t < end)) for t in steps.tolist()]
