"""Spaces of workloads of SIA: short jobs of two pools of one GPU each, and short and long ones of two pools of two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from experiments.harness.experiment import Quick, Study
from experiments.worst_cases.space import RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options
from instances.sia import Job, Pool, SiaOracle

POOLS = ("p0", "p1")


def _jobs(name: str, source: str, gpus: int, durations: Sequence[int], submitted: Sequence[int]) -> RepeatedEntries:
    """Build the space of jobs on up to as many GPUs as each of two pools has, the shortest first, in slots."""
    jobs = tuple(
        Job(
            id=f"{pool}{f'-{width}-gpus' if gpus > 1 else ''}-at-{submit}-for-{duration}",
            pool=pool,
            submit=submit,
            duration=duration,
            gpus=width,
        )
        for duration in durations
        for submit in submitted
        for width in range(1, gpus + 1)
        for pool in POOLS
    )
    data = SiaOracle(slot_minutes=1.0, pools=tuple(Pool(name=pool, gpus=gpus) for pool in POOLS), jobs=jobs)
    return RepeatedEntries(Instance.of(data, name, source))


two_pools = partial(_jobs, "sia-two-pools", "short jobs of two pools of one GPU each", 1, (1, 2, 3, 5), (0, 1, 2))
long_jobs = partial(
    _jobs, "sia-long-jobs", "short and long jobs of two pools of two GPUs each", 2, (1, 2, 10, 100), (0, 1, 3)
)
SPACES = {"sia-oracle": {"two-pools": two_pools, "long-jobs": long_jobs}}
POLICIES = ("sia-vc", "safe-ssf", "gssf", "mmfs", "sia-perfect")
SWEEPS = [Sweep("sia-oracle", space, 2, (4,), POLICIES) for space in ("two-pools", "long-jobs")]


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of SIA."""
    return study_of("sia", SWEEPS, options, quick)
