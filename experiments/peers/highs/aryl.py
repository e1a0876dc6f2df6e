"""Aryl's knapsack in HiGHS: an item for each job and number of extra workers, at most one a job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from experiments.peers.highs import solve_highs
from instances import Answer, InputError, Options, Report, Solution
from instances.arrays import FloatArray
from instances.aryl import ArylElastic, ArylReclaim
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
    value = np.array([_compute_saving(data, j, w) for j, w in items])
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


def _compute_saving(data: ArylElastic, j: int, workers: int) -> float:
    job = data.jobs[j]
    before, after = data.throughput(job, job.min_workers), data.throughput(job, workers)
    return float(job.exact_work / before - job.exact_work / after)


def _unit(data: ArylElastic) -> float:
    """Return the longest time that a job runs on its base demand: HiGHS gets savings as shares of it."""
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
    """Solve the knapsack by HiGHS. Raises InputError for another objective."""
    if data.objective != "jct-reduction":
        raise InputError(f"data.objective: must be jct-reduction for this peer, got {data.objective}")
    return solve_highs(build_items, data, options, report, _unit(data))


def build_union(data: ArylReclaim) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """minimise Σ_j l_j z_j over x_s, server s goes back, and z_j, job j is preempted."""
    loss = [float(loss) for loss in data.losses()]
    hosted, short = _link_preemptions(data), _preempt_if_too_few_remain(data)
    model = LinearModel(
        cost=np.array([0.0] * len(data.servers) + loss),
        matrix=sparse.vstack([_going_back(data), *(row for row, _ in (*hosted, *short))]),
        row_lower=np.array([data.reclaim, *(least for _, least in (*hosted, *short))], dtype=float),
        row_upper=np.array([data.reclaim, *[np.inf] * (len(hosted) + len(short))], dtype=float),
        upper=1.0,
        integer=True,
    )

    def read(x: FloatArray) -> Solution:
        return {"servers": [server for server, back in zip(data.servers, x, strict=False) if back > 0.5]}

    return model, read


Row = tuple[sparse.csr_array, float]
"""A row, and the least that it may come to."""


def _row(data: ArylReclaim, entries: dict[int, float]) -> sparse.csr_array:
    shape = 1, len(data.servers) + len(data.jobs)
    return sparse.csr_array((list(entries.values()), ([0] * len(entries), list(entries))), shape=shape)


def _going_back(data: ArylReclaim) -> sparse.csr_array:
    """Σ_s x_s = k."""
    return _row(data, dict.fromkeys(range(len(data.servers)), 1.0))


def _link_preemptions(data: ArylReclaim) -> list[Row]:
    """z_j >= x_s for each server s of a job j that cannot lose any server."""
    place = {server: s for s, server in enumerate(data.servers)}
    strict = [(j, job) for j, job in enumerate(data.jobs, len(place)) if not job.needs()[1]]
    return [(_row(data, {j: 1.0, place[server]: -1.0}), 0.0) for j, job in strict for server in job.needs()[0]]


def _preempt_if_too_few_remain(data: ArylReclaim) -> list[Row]:
    """(Σ_s n_js - m) z_j >= Σ_s n_js x_s - m for a job j of which m workers may go, fewer than it has."""
    place = {server: s for s, server in enumerate(data.servers)}
    rows = []
    for j, job in enumerate(data.jobs, len(place)):
        workers, spare = job.needs()
        every = sum(workers.values())
        if 0 < spare < every:
            rows.append((_row(data, {j: every - spare, **{place[s]: -n for s, n in workers.items()}}), -float(spare)))
    return rows


@method("exact")
def union(data: ArylReclaim, options: Options, report: Report) -> Answer:
    """Solve the reclaim by HiGHS."""
    return solve_highs(build_union, data, options, report)
