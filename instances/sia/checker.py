"""The independent checker of `sia-oracle`: cut-offs, capacity and objective from the data alone."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise

from instances.errors import MalformedSolution
from instances.options import Solution
from instances.sia.oracle import Job, SiaOracle
from instances.validation import show
from instances.verdict import Verdict

LAST = 1 << 62
"""No slot is later, in any queue of any length that fits a file."""


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
    for begin, end, used, share in _use_over_time(data, starts):
        if used > total:
            violations.append(f"{used} GPUs of {total} in use from slot {begin} to {end}")
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
        if isinstance(slot, bool) or not isinstance(slot, int) or abs(slot) > LAST:
            raise MalformedSolution(f"job {name} must start at a whole slot, got {show(slot)}")
    for name in known - starts.keys():
        raise MalformedSolution(f"job {name} has no start")
    return dict(starts)


def _use_over_time(data: SiaOracle, starts: Mapping[str, int]) -> Iterator[tuple[int, int, int, Fraction]]:
    """(first slot, slot after the last, GPUs in use, largest share) of every stretch in which the use does not change.

    The largest share is that of a pool's use of what it owns; without a fairness weight nobody asks for it.
    """
    changes: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for job in data.jobs:
        changes[starts[job.id]].append((job.pool, job.gpus))
        changes[starts[job.id] + job.duration].append((job.pool, -job.gpus))
    owned = {pool.name: pool.gpus for pool in data.pools}
    total, use = 0, dict.fromkeys(owned, 0)
    shares = [(Fraction(0), name) for name in owned]  # least first, so negative; entries out of date are dropped later
    heapify(shares)
    for begin, end in pairwise(sorted(changes)):
        for pool, gpus in changes[begin]:
            total += gpus
            use[pool] += gpus
            if data.fairness_weight:
                heappush(shares, (-Fraction(use[pool], owned[pool]), pool))
        while -shares[0][0] * owned[shares[0][1]] != use[shares[0][1]] and data.fairness_weight:
            heappop(shares)
        yield begin, end, total, -shares[0][0]


def _cutoffs(data: SiaOracle) -> dict[str, int]:
    """The cut-offs, computed independently: each pool as a row of GPUs, in order of the slot from which each is free.

    A job of n GPUs takes the n that are free first, not before its submission nor before the job ahead of it started.
    GPUs that become free together are one entry of the row, so that its length is that of the queue at most.
    """
    queues: dict[str, list[Job]] = {pool.name: [] for pool in data.pools}
    for job in sorted(data.jobs, key=lambda job: job.submit):
        queues[job.pool].append(job)
    found: dict[str, int] = {}
    for pool in data.pools:
        free_from, ahead = [(0, pool.gpus)], 0
        for job in queues[pool.name]:
            if job.gpus <= pool.gpus:
                taken, slot = 0, 0
                while taken < job.gpus:
                    slot, count = free_from.pop(0)
                    taken += count
                if taken > job.gpus:
                    free_from.insert(0, (slot, taken - job.gpus))
                ahead = max(job.submit, ahead, slot)
                insort(free_from, (ahead + job.duration, job.gpus))
            found[job.id] = ahead if job.latest_start is None else job.latest_start
    return found
