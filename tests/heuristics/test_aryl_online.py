"""Test Aryl's compiled allocations against independent code, and the admission of jobs."""

from __future__ import annotations

import numpy as np
import pytest

from heuristics.aryl.online import ALLOCATORS
from heuristics.aryl.online_kernels import admit, knapsack
from instances.aryl import ArylElastic, ElasticJob
from models.aryl import exact


def pool(seed: int, n: int = 6):
    rng = np.random.default_rng(seed)
    least = rng.integers(1, 4, n)
    most = least + rng.integers(0, 5, n)
    return least, most, rng.integers(1, 5, n), np.round(rng.uniform(100, 10_000, n), 3), int(rng.integers(0, 40))


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_phase_two_saves_as_much_time_as_the_exact_knapsack(seed: int, loss: float):
    least, most, gpus, left, capacity = pool(seed)
    found = knapsack(least, most, gpus, left, loss, capacity)
    assert ((found >= least) & (found <= most)).all()
    assert ((found - least) * gpus).sum() <= capacity
    jobs = tuple(
        ElasticJob(
            id=str(i),
            min_workers=int(least[i]),
            max_workers=int(most[i]),
            gpus_per_worker=int(gpus[i]),
            min_running_time=float(left[i] / most[i]),
        )
        for i in range(len(least))
    )
    total = float((least * gpus).sum() + capacity)
    data = ArylElastic(capacity_gpus=total, jobs=jobs, objective="jct-reduction", scaling_loss=loss)
    saved = sum(
        job.work / float(data.throughput(job, job.min_workers)) - job.work / float(data.throughput(job, int(w)))
        for job, w in zip(jobs, found, strict=True)
    )
    assert saved == pytest.approx(exact(data).objective, rel=1e-6)


@pytest.mark.parametrize("name", sorted(ALLOCATORS))
@pytest.mark.parametrize("seed", range(5))
def test_every_allocation_is_within_the_ranges_and_the_gpus(name: str, seed: int):
    least, most, gpus, left, capacity = pool(seed)
    found = np.asarray(ALLOCATORS[name](least, most, gpus, left, 0.1, capacity))
    assert ((found >= least) & (found <= most)).all()
    assert ((found - least) * gpus).sum() <= capacity


def test_afs_serves_the_narrow_first_by_workers_and_the_short_range_first_by_share():
    least, most, gpus, left = np.array([1, 2]), np.array([4, 4]), np.array([2, 1]), np.array([1.0, 1.0])
    assert ALLOCATORS["afs-workers"](least, most, gpus, left, 0.0, 2).tolist() == [1, 4]
    assert ALLOCATORS["afs"](least, most, np.array([1, 1]), left, 0.0, 2).tolist() == [3, 2]


def test_the_first_job_that_does_not_fit_holds_up_the_others_only_where_the_order_is_strict():
    order, least = np.arange(3), np.array([4, 20, 2])
    gpus = np.ones((2, 3), dtype=np.int64)
    free, mixed = np.array([False, False, True]), np.array([False] * 3)

    def admitted(strict: bool) -> list[int]:
        room, widest = np.array([8, 8]), np.array([8, 8])
        return admit(order, least, gpus, free, mixed, mixed, room, widest, strict)[0].tolist()

    assert admitted(True) == [0]
    assert admitted(False) == [0, 2]
