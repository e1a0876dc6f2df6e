"""The independent checker of placement: capacity, gangs, kinds and groups, and the cost, from the data alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from instances.aryl.placement import ArylPlacement, PlacedJob
from instances.errors import MalformedSolution
from instances.fields import LARGEST
from instances.options import Solution
from instances.verdict import Verdict

Hosted = dict[str, dict[str, int]]


def check_placement(data: ArylPlacement, solution: Solution) -> Verdict:
    """Check `{"base": {job: {server: n}}, "flexible": {job: {server: n}}}`; a job that is not named is not placed.

    Raises MalformedSolution.
    """
    servers, jobs = {server.id: server for server in data.servers}, {job.id: job for job in data.jobs}
    placed = _read(data, solution)
    used, parts = Counter[str](), dict[str, set[str]]()
    cost, violations = 0, list[str]()
    for name, job in jobs.items():
        base, flexible = (placed[part].get(name, {}) for part in ("base", "flexible"))
        violations += _of_job(job, base, flexible)
        missing = job.base_workers - sum(base.values()) + job.flexible_workers - sum(flexible.values())
        cost += data.unplaced_cost * job.gpus_per_worker * missing
        for part, hosts in (("base", base), ("flexible", flexible)):
            wanted = "training" if not job.elastic or (job.heterogeneous and part == "base") else "loaned"
            for server, n in hosts.items():
                kind = servers[server].kind
                wide = job.gpus_per_worker if kind == "training" else job.loaned_gpus_per_worker or job.gpus_per_worker
                used[server] += n * wide
                parts.setdefault(server, set()).add(part)
                if kind not in job.kinds:
                    violations.append(f"job {name} has workers on server {server}, a {kind} one")
                if kind != wanted and wanted in job.kinds:
                    cost += data.misplaced_cost * job.gpus_per_worker * n
        kinds = {servers[server].kind for server in (*base, *flexible)}
        if len(kinds) > 1 and not job.heterogeneous:
            violations.append(f"job {name} has workers on both kinds of servers")
    for name, gpus in used.items():
        host = servers[name]
        if gpus > host.free_gpus:
            violations.append(f"server {name} holds {gpus} GPUs more, and has {host.free_gpus} free")
        cost += host.free_gpus == host.gpus
        if host.kind == "loaned" and data.grouped:
            held = parts[name] | ({host.group or "base"} if host.free_gpus < host.gpus else set())
            if len(held) > 1:
                violations.append(f"server {name} hosts base and flexible workers")
    return Verdict(float(cost), tuple(violations))


def _of_job(job: PlacedJob, base: Mapping[str, int], flexible: Mapping[str, int]) -> list[str]:
    """What is wrong with the numbers of workers of a job."""
    found, more = [], sum(flexible.values())
    if base and sum(base.values()) != job.base_workers:
        found.append(f"job {job.id} has {sum(base.values())} base workers, not {job.base_workers}")
    if more > job.flexible_workers:
        found.append(f"job {job.id} has {more} flexible workers, more than {job.flexible_workers}")
    if more and job.base_workers and not base:
        found.append(f"job {job.id} has flexible workers and no base workers")
    return found


def _read(data: ArylPlacement, solution: Solution) -> dict[str, Hosted]:
    """The workers by part, job and server. Raises MalformedSolution."""
    if not isinstance(solution, Mapping) or not set(solution) <= {"base", "flexible"}:
        raise MalformedSolution("must be an object of `base` and `flexible`")
    jobs, servers = {job.id for job in data.jobs}, {server.id for server in data.servers}
    found: dict[str, Hosted] = {}
    for part in ("base", "flexible"):
        found[part] = {}
        for job, hosts in _object(solution.get(part, {}), f"`{part}`").items():
            if job not in jobs:
                raise MalformedSolution(f"unknown job {job!r:.80}")
            found[part][job] = {}
            for server, n in _object(hosts, f"{part} workers of job {job}").items():
                if server not in servers:
                    raise MalformedSolution(f"unknown server {server!r:.80}")
                if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= LARGEST:
                    raise MalformedSolution(f"workers of job {job} on server {server} must be a whole number >= 1")
                found[part][job][server] = n
    return found


def _object(value: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise MalformedSolution(f"{what} must be an object")
    return value
