"""The independent checker of `sia-local-oracle`: cut-offs, servers and objective from the data alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from instances.errors import MalformedSolution
from instances.options import Solution
from instances.sia.checker import LAST
from instances.sia.local_oracle import LocalJob, SiaLocalOracle
from instances.validation import show
from instances.verdict import Verdict

GPUS = 8


def check_local_oracle(data: SiaLocalOracle, solution: Solution) -> Verdict:
    """Check `{"starts": {job id: slot}, "servers": {job id: server}}`.

    No job may start before its submission or after its cut-off, and no server may hold more than 8 GPUs' jobs at any
    slot. Raises MalformedSolution.
    """
    starts, servers = _whole(data, solution, "starts"), _whole(data, solution, "servers")
    violations: list[str] = []
    count = sum(pool.gpus for pool in data.pools) // GPUS
    cutoffs = _cutoffs(data)
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


def _whole(data: SiaLocalOracle, solution: Solution, name: str) -> dict[str, int]:
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


def _cutoffs(data: SiaLocalOracle) -> dict[str, int]:
    """The cut-offs, computed independently: each GPU of a pool has the slot from which it is free.

    A job in order starts at the first slot, not before its submission nor before the job ahead of it started, at which
    an aligned block of its width is free. Of all such blocks it takes the first that lies in the smallest aligned free
    block there is.
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
    """The size of the largest aligned free block around a free block."""
    size = gpus
    while size < GPUS:
        begin = first - first % (2 * size)
        if max(free_from[begin : begin + 2 * size]) > now:
            break
        size *= 2
    return size
