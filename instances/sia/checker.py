"""The independent checker of `sia-oracle`: cut-offs, capacity and objective from the data alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

from instances.errors import MalformedSolution
from instances.options import Solution
from instances.sia.oracle import Job, SiaOracle
from instances.verdict import Verdict


def check_oracle(data: SiaOracle, solution: Solution) -> Verdict:
    """Check `{"starts": {job id: slot}}`.

    No job may start before its submission (10) or after its cut-off (9), and no slot may use more GPUs than there are
    (12). The objective (8) is recomputed exactly. Raises MalformedSolution.
    """
    starts = _starts(data, solution)
    cutoffs = _cutoffs(data)
    violations: list[str] = []
    for job in data.jobs:
        start, cutoff = starts[job.id], cutoffs[job.id]
        if start < job.submit:
            violations.append(f"job {job.id} starts at {start}, submitted at {job.submit}")
        if start > cutoff:
            violations.append(f"job {job.id} starts at {start}, cut-off {cutoff}")
    total = sum(pool.gpus for pool in data.pools)
    fairness = Fraction(0)
    for begin, end, use in _use_over_time(data, starts):
        used = sum(use.values())
        if used > total:
            violations.append(f"{used} GPUs of {total} in use from slot {begin} to {end}")
        if data.fairness_weight:
            share = max((Fraction(use.get(pool.name, 0), pool.gpus) for pool in data.pools), default=Fraction(0))
            charged = share if data.fair_share == "all-use" else max(Fraction(0), share - 1)
            fairness += (end - begin) * charged
    delay = sum(starts[job.id] - job.submit for job in data.jobs)
    objective = delay + Fraction(repr(data.fairness_weight)) * fairness
    return Verdict(float(objective), tuple(violations))


def _starts(data: SiaOracle, solution: Solution) -> dict[str, int]:
    starts = solution.get("starts") if isinstance(solution, Mapping) else None
    if not isinstance(starts, Mapping):
        raise MalformedSolution("must be an object with the object `starts`")
    known = {job.id for job in data.jobs}
    for name, slot in starts.items():
        if name not in known:
            raise MalformedSolution(f"unknown job {name!r:.80}")
        if isinstance(slot, bool) or not isinstance(slot, int):
            raise MalformedSolution(f"job {name} must start at a whole slot, got {slot!r:.80}")
    for name in known - starts.keys():
        raise MalformedSolution(f"job {name} has no start")
    return dict(starts)


def _use_over_time(data: SiaOracle, starts: Mapping[str, int]) -> list[tuple[int, int, dict[str, int]]]:
    """(first slot, slot after the last, GPUs in use by each pool) of every stretch in which the use does not change."""
    changes: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for job in data.jobs:
        changes[starts[job.id]].append((job.pool, job.gpus))
        changes[starts[job.id] + job.duration].append((job.pool, -job.gpus))
    moments, use, stretches = sorted(changes), dict.fromkeys((pool.name for pool in data.pools), 0), []
    for begin, end in pairwise(moments):
        for pool, gpus in changes[begin]:
            use[pool] += gpus
        stretches.append((begin, end, dict(use)))
    return stretches


def _cutoffs(data: SiaOracle) -> dict[str, int]:
    """The cut-offs, on their own: each pool as a row of GPUs with the slot from which each is free.

    A job of n GPUs takes the n that are free first, not before its submission nor before the job ahead of it started.
    """
    found: dict[str, int] = {}
    for pool in data.pools:
        free_from, ahead = [0] * pool.gpus, 0
        queue: list[Job] = sorted((job for job in data.jobs if job.pool == pool.name), key=lambda job: job.submit)
        for job in queue:
            if job.gpus <= pool.gpus:
                ahead = max(job.submit, ahead, free_from[job.gpus - 1])
                free_from[: job.gpus] = [ahead + job.duration] * job.gpus
                free_from.sort()
            found[job.id] = ahead if job.latest_start is None else job.latest_start
    return found
