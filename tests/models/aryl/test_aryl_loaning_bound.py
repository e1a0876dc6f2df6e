"""Test that the bound on the mean JCT of loaning is below every policy and every tiny optimum."""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from experiments.aryl.simulation import POLICIES
from experiments.simulator import simulate
from experiments.simulator.aryl import LoaningWorld
from instances import Options
from instances.aryl import ArylLoaning, InferenceLoad, LoaningJob, loaning_days
from models.aryl.loaning_bound import (
    DEFAULTS,
    LoaningBoundParameters,
    RelaxedCluster,
    compute_lagrangian_bound,
    mean_jct_bound,
    optimize_prices,
)
from tests.sampling import few

SEVERAL = ("fifo", "sjf", "aryl", "sjf-two-phase", "sjf-loans-random", "fifo-loans-afs", "aryl-threshold")


def mean_jct(data: ArylLoaning, name: str) -> float:
    world = LoaningWorld(data)
    simulate(world, POLICIES[name](data, Options()))
    return float(world.jobs_table()["jct"].mean())


@pytest.mark.parametrize(
    ("seed", "more"),
    [
        (0, {"load": 4.0}),
        (1, {"load": 1.0, "scheduling_period_seconds": 0.0, "loaned_speed": 1.0}),
        (2, {"load": 6.0, "loaned_workers": "wide", "preemption_seconds": 0.0, "checkpointed_share": 1.0}),
        (3, {"load": 5.0, "scaling_loss": 0.2, "elastic_share": 1.0, "heterogeneous_share": 1.0}),
        (4, {"load": 8.0, "elastic_share": 0.5, "any_gpu_share": 1.0, "loaned_speed": 1.0, "scaling_range": 4}),
    ],
)
def test_no_policy_has_a_smaller_mean_jct(seed: int, more: dict[str, Any]):
    data = loaning_days(0.4, seed, training_servers=6, workers="small", **more).data
    bound = mean_jct_bound(data)
    assert bound > 0
    for name in SEVERAL:
        assert mean_jct(data, name) >= bound


def tiny(rng: np.random.Generator) -> ArylLoaning:
    """Up to four jobs on one training server of 2 GPUs and at times a loaned one, all in whole slots of 10 seconds."""
    jobs = tuple(
        LoaningJob(
            id=f"j{i}",
            arrival_seconds=10.0 * int(rng.integers(0, 4)),
            min_workers=1,
            max_workers=int(rng.integers(1, 3)),
            gpus_per_worker=1,
            min_running_time=10.0 * int(rng.integers(1, 4)),
            any_gpu=bool(rng.random() < 0.5),
        )
        for i in range(int(rng.integers(2, 5)))
    )
    use = tuple(float(u) for u in rng.integers(0, 2, size=12))
    return ArylLoaning(
        training_servers=1,
        inference_servers=1,
        gpus_per_server=2,
        loaned_speed=1.0,
        inference_load=InferenceLoad(step_seconds=10.0, use=use),
        orchestrator_period_seconds=10.0,
        jobs=jobs,
    )


def fewest_slots(data: ArylLoaning) -> int:
    """Least sum of completion slots less arrivals, where any work may be done in any slot: by trying all of them."""
    jobs = sorted(data.jobs, key=lambda job: job.arrival_seconds)
    arrival = [int(job.arrival_seconds / 10) for job in jobs]
    most = [job.max_workers for job in jobs]

    @cache
    def least(slot: int, left: tuple[int, ...]) -> int:
        here = [j for j, amount in enumerate(left) if amount and arrival[j] <= slot]
        if not any(left):
            return 0
        own, lent = 2, 2 * data.lendable(10.0 * slot)
        best = None
        for given in itertools.product(*(range(min(most[j], left[j]) + 1) for j in here)):
            bound_to_training = sum(k for j, k in zip(here, given, strict=True) if not jobs[j].any_gpu)
            if here and not any(given):
                continue  # to do nothing is never better
            if sum(given) <= own + lent and bound_to_training <= own:
                after = list(left)
                for j, k in zip(here, given, strict=True):
                    after[j] -= k
                found = least(slot + 1, tuple(after))
                best = found if best is None else min(best, found)
        assert best is not None
        return best + len(here)

    return least(0, tuple(int(job.work / 10) for job in jobs))


def test_the_best_of_all_schedules_of_whole_slots_is_not_below_the_bound():
    rng, tightness = np.random.default_rng(1), []
    for _ in range(12):
        data = tiny(rng)
        best = 10 * fewest_slots(data) / len(data.jobs)
        bound = mean_jct_bound(data, LoaningBoundParameters(steps=60))
        assert bound <= best + 1e-9
        tightness.append(bound / best)
    assert np.mean(tightness) > 0.85


def test_any_prices_bound_and_good_prices_bound_more_than_running_times_alone():
    data = loaning_days(0.4, 5, training_servers=6, load=8.0).data
    relaxed = RelaxedCluster.from_data(data, DEFAULTS)
    best = min(mean_jct(data, name) for name in SEVERAL) * len(data.jobs) - relaxed.waited.sum()
    rng = np.random.default_rng(0)
    good = optimize_prices(relaxed, DEFAULTS)
    for scale in (0.0, 0.5, 1.0, 3.0):
        assert compute_lagrangian_bound(relaxed, good * scale * rng.uniform(0.5, 1.5, good.shape)) <= best
    assert compute_lagrangian_bound(relaxed, np.zeros_like(good)) == pytest.approx(relaxed.seconds.sum(), rel=1e-8)
    assert compute_lagrangian_bound(relaxed, good) > 1.01 * relaxed.seconds.sum()


def test_a_job_alone_is_as_fast_as_its_most_workers_allow():
    data = loaning_days(0.4, 6, training_servers=6, scheduling_period_seconds=0.0).data
    alone = data.model_copy(update={"jobs": data.jobs[:1]})
    assert mean_jct_bound(alone) == pytest.approx(data.jobs[0].min_running_time, rel=1e-6)


@pytest.mark.parametrize("seed", few(range(60), 12))
def test_the_fastest_speed_of_a_job_is_that_of_the_best_of_all_its_widths(seed: int):
    rng = random.Random(seed)
    data = loaning_days(0.05, 0, training_servers=40).data
    least = rng.randint(1, 4)
    widths = {"gpus_per_worker": 1, "min_workers": least, "max_workers": least + rng.choice((0, 1, 2, 7, 40))}
    job = data.jobs[0].model_copy(update=widths)
    data = data.model_copy(update={"scaling_loss": rng.choice((0.0, 0.001, 0.01, 0.05, 0.2, 1.0, rng.random()))})
    assert data.fastest(job) == max(data.speed(job, w, 0) for w in range(job.min_workers, job.max_workers + 1))
