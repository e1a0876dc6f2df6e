"""Aryl's knapsack in HiGHS: an item for each job and number of extra workers, at most one a job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from experiments.peers.highs import solve_highs
from instances import Answer, InputError, Options, Report, Solution
from instances.arrays import FloatArray
from instances.aryl import ArylElastic
from instances.method import method
from models.core.highs import LinearModel


def build_items(data: ArylElastic) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """maximise Σ v_jw x_jw over items (j, w): job j has w workers, more than its base demand.

    v_jw: the running time that it saves, of the longest that any does; c_jw: GPUs beyond the base demand.
    """
    items = [
        (j, w)
        for j, (job, workers) in enumerate(zip(data.jobs, data.choices(), strict=True))
        for w in workers
        if data.throughput(job, w) > data.throughput(job, job.min_workers)
    ]
    value = np.array([_saved(data, j, w) for j, w in items])
    spare = data.whole_gpus - sum(job.base_gpus for job in data.jobs)
    model = LinearModel(
        cost=value / _unit(data),
        matrix=sparse.vstack([_items_of_jobs(data, items), _gpus(data, items)]),
        row_lower=-np.inf,
        row_upper=np.append(np.ones(len(data.jobs)), spare),
        upper=1.0,
        integer=True,
        sense="maximize",
    )

    def read(x: FloatArray) -> Solution:
        taken = {data.jobs[j].id: w for (j, w), chosen in zip(items, x, strict=True) if chosen > 0.5}
        return {"workers": {job.id: taken.get(job.id, job.min_workers) for job in data.jobs}}

    return model, read


def _saved(data: ArylElastic, j: int, workers: int) -> float:
    job = data.jobs[j]
    before, after = data.throughput(job, job.min_workers), data.throughput(job, workers)
    return float(job.exact_work / before - job.exact_work / after)


def _unit(data: ArylElastic) -> float:
    """The longest time that a job runs on its base demand: HiGHS gets savings as shares of it."""
    return max(job.work / job.min_workers for job in data.jobs)


def _items_of_jobs(data: ArylElastic, items: list[tuple[int, int]]) -> sparse.csr_array:
    """At most one item a job."""
    job = [j for j, _ in items]
    return sparse.csr_array((np.ones(len(items)), (job, range(len(items)))), shape=(len(data.jobs), len(items)))


def _gpus(data: ArylElastic, items: list[tuple[int, int]]) -> sparse.csr_array:
    """Σ c_jw x_jw within the GPUs that the base demands leave."""
    extra = [(w - data.jobs[j].min_workers) * data.jobs[j].gpus_per_worker for j, w in items]
    return sparse.csr_array(np.array([extra], dtype=float))


@method("exact", name="items")
def items(data: ArylElastic, options: Options, report: Report) -> Answer:
    """The knapsack by HiGHS. Raises InputError for another objective."""
    if data.objective != "jct-reduction":
        raise InputError(f"data.objective: must be jct-reduction for this peer, got {data.objective}")
    return solve_highs(build_items, data, options, report, _unit(data))
