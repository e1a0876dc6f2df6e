"""Aryl's reclaim in HiGHS: the k servers whose jobs are the fewest together, a k-union."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from experiments.peers.highs import solve_highs
from instances import Answer, Options, Report, Solution
from instances.arrays import FloatArray
from instances.aryl import ArylReclaim
from instances.method import method
from models.core.highs import LinearModel


def build_union(data: ArylReclaim) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """minimise Σ_j l_j z_j over x_s, server s goes back, and z_j, job j is preempted."""
    loss = [float(loss) for loss in data.losses()]
    hosted, short = _preempted(data), _too_few_remain(data)
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


def _preempted(data: ArylReclaim) -> list[Row]:
    """z_j >= x_s for each server s of a job j that cannot lose any server."""
    place = {server: s for s, server in enumerate(data.servers)}
    strict = [(j, job) for j, job in enumerate(data.jobs, len(place)) if not job.needs()[1]]
    return [(_row(data, {j: 1.0, place[server]: -1.0}), 0.0) for j, job in strict for server in job.needs()[0]]


def _too_few_remain(data: ArylReclaim) -> list[Row]:
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
    """The reclaim by HiGHS."""
    return solve_highs(build_union, data, options, report)
