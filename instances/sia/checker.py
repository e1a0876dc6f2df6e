"""Check solutions of SIA's problems independently: cut-offs, capacity and objective from the data alone."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

from instances.errors import MalformedSolution
from instances.fields import Verdict
from instances.options import Solution
from instances.sia.local_oracle import LocalJob, SiaLocalOracle
from instances.sia.oracle import Job, SiaOracle
from instances.validation import show

LAST = 1 << 62
"""An upper bound on the slots of every instance that fits in a file."""


def check_oracle(data: SiaOracle, solution: Solution) -> Verdict:
    """Check `{"starts": {job id: slot}}`.

    No job may start before its submission (10) or after its cut-off (9), and no slot may use more GPUs than there are
    (12). The objective (8) is recomputed exactly. Raises MalformedSolution.
    """
    starts = _whole(data, solution, "starts")
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


def _use_over_time(data: SiaOracle, starts: Mapping[str, int]) -> Iterator[tuple[int, int, int, Fraction]]:
    """Yield (first slot, slot after the last, GPUs in use, largest share) of every stretch of constant use.

    The share of a pool is its use relative to the GPUs that it owns; it is only valid with a fairness weight.
    """
    changes: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for job in data.jobs:
        changes[starts[job.id]].append((job.pool, job.gpus))
        changes[starts[job.id] + job.duration].append((job.pool, -job.gpus))
    owned = {pool.name: pool.gpus for pool in data.pools}
    total, use = 0, dict.fromkeys(owned, 0)
    shares = [(Fraction(0), name) for name in owned]  # negative for a min-heap; outdated entries are dropped later
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
    """Compute the cut-offs independently: each pool is a list of GPUs, sorted by the slot from which they are free.

    A job of n GPUs takes the n that are free first, not before its submission or the start of the job ahead of it. GPUs
    that become free together are one entry, so the list is at most as long as the queue.
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


GPUS = 8


def check_local_oracle(data: SiaLocalOracle, solution: Solution) -> Verdict:
    """Check `{"starts": {job id: slot}, "servers": {job id: server}}`.

    No job may start before its submission or after its cut-off, and no server may hold more than 8 GPUs' jobs at any
    slot. Raises MalformedSolution.
    """
    starts, servers = _whole(data, solution, "starts"), _whole(data, solution, "servers")
    violations: list[str] = []
    count = sum(pool.gpus for pool in data.pools) // GPUS
    cutoffs = _local_cutoffs(data)
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for job in data.jobs:
        start, server = starts[job.id], servers[job.id]
        if not 0 <= server < count:
            raise MalformedSolution(f"job {job.id} must be on a server from 0 to {count - 1}, got {server}")
        if start < job.submit:
            violations.append(f"job {job.id} starts at {start}, submitted at {job.submit}")
        if start > cutoffs[job.id]:
            violations.append(f"job {job.id} starts at {start}, cut-off {cutoffs[job.id]}")
        changes[server] += [(start, job.gpus), (start + job.duration, -job.gpus)]
    for server in sorted(changes):
        used = 0
        for slot, change in sorted(changes[server]):  # at one slot, jobs end before others start
            used += change
            if used > GPUS:
                violations.append(f"{used} GPUs of {GPUS} of server {server} in use at slot {slot}")
                break
    return Verdict(float(sum(starts[job.id] - job.submit for job in data.jobs)), tuple(violations))


def _whole(data: SiaOracle | SiaLocalOracle, solution: Solution, name: str) -> dict[str, int]:
    found: Any = solution.get(name) if isinstance(solution, Mapping) else None
    if not isinstance(found, Mapping):
        raise MalformedSolution(f"must be an object with the object `{name}`")
    known = {job.id for job in data.jobs}
    for job, value in found.items():
        if job not in known:
            raise MalformedSolution(f"unknown job {job!r:.80}")
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LAST:
            raise MalformedSolution(f"{name} of job {job} must be a whole number, got {show(value)}")
    for job in sorted(known - found.keys()):
        raise MalformedSolution(f"job {job} is not among the {name}")
    return dict(found)


def _local_cutoffs(data: SiaLocalOracle) -> dict[str, int]:
    """Compute the cut-offs independently: each GPU of a pool has the slot from which it is free.

    A job starts at the first slot at which an aligned block of its width is free. It never starts before its submission
    or the start of the job ahead of it. Among these blocks it takes the first in the smallest aligned free block.
    """
    found: dict[str, int] = {}
    for pool in data.pools:
        free_from, ahead = [0] * pool.gpus, 0
        queue: list[LocalJob] = [job for job in data.jobs if job.pool == pool.name]
        for job in sorted(queue, key=lambda job: job.submit):
            blocks = range(0, pool.gpus, job.gpus)
            ready = min(max(free_from[first : first + job.gpus]) for first in blocks)
            ahead = max(ahead, job.submit, ready)
            idle = [first for first in blocks if max(free_from[first : first + job.gpus]) <= ahead]
            chosen = min(idle, key=lambda first: (_around(free_from, first, job.gpus, ahead), first))
            free_from[chosen : chosen + job.gpus] = [ahead + job.duration] * job.gpus
            found[job.id] = ahead
    return found


def _around(free_from: list[int], first: int, gpus: int, now: int) -> int:
    """Return the size of the largest aligned free block around a free block."""
    size = gpus
    while size < GPUS:
        begin = first - first % (2 * size)
        if max(free_from[begin : begin + 2 * size]) > now:
            break
        size *= 2
    return size
