"""Spaces of workloads of SIA: short jobs of two pools of one GPU each, and short and long ones of two pools of two."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study
from experiments.worst_cases.space import RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options
from instances.sia import Job, Pool, SiaOracle

POOLS = ("p0", "p1")
SUBMITTED, DURATIONS = (0, 1, 2), (1, 2, 3, 5)
LONG = (1, 2, 10, 100)


def two_pools() -> RepeatedEntries:
    """Jobs of up to five slots that come within three, the shortest first."""
    jobs = tuple(
        Job(id=f"{pool}-at-{submit}-for-{duration}", pool=pool, submit=submit, duration=duration, gpus=1)
        for duration in DURATIONS
        for submit in SUBMITTED
        for pool in POOLS
    )
    pools = tuple(Pool(name=name, gpus=1) for name in POOLS)
    data = SiaOracle(slot_minutes=1.0, pools=pools, jobs=jobs)
    return RepeatedEntries(Instance.of(data, "sia-two-pools", "short jobs of two pools of one GPU each"))


def long_jobs() -> RepeatedEntries:
    """Jobs on one or two GPUs of up to a hundred slots that come within four, the shortest first."""
    jobs = tuple(
        Job(id=f"{pool}-{gpus}-gpus-at-{submit}-for-{duration}", pool=pool, submit=submit, duration=duration, gpus=gpus)
        for duration in LONG
        for submit in (0, 1, 3)
        for gpus in (1, 2)
        for pool in POOLS
    )
    pools = tuple(Pool(name=name, gpus=2) for name in POOLS)
    data = SiaOracle(slot_minutes=1.0, pools=pools, jobs=jobs)
    return RepeatedEntries(Instance.of(data, "sia-long-jobs", "short and long jobs of two pools of two GPUs each"))


SPACES = {"sia-oracle": {"two-pools": two_pools, "long-jobs": long_jobs}}
POLICIES = ("sia-vc", "safe-ssf", "gssf", "mmfs", "sia-perfect")
SWEEPS = (
    Sweep("sia-oracle", "two-pools", 2, (4,), POLICIES),
    Sweep("sia-oracle", "long-jobs", 2, (4,), POLICIES),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of SIA."""
    return study_of("sia", SWEEPS, options, quick)
