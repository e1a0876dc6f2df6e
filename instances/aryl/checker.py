"""Check solutions of Aryl's problems independently: feasibility and objective from the data, in rational numbers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.placement import ArylPlacement, PlacedJob
from instances.aryl.reclaim import ArylReclaim, LoanedJob
from instances.errors import MalformedSolution
from instances.fields import LARGEST, Verdict
from instances.options import Solution
from instances.validation import show

CLOCK = Fraction(1, 10**9)
"""The tolerance of a stated length, relative to the time since the start."""
LONGEST = 1e30
"""The maximum length of an interval in seconds, far above that of any schedule."""


def check_elastic(data: ArylElastic, solution: Solution) -> Verdict:
    """Check `{"workers": {job: w}}`, or for the mean JCT `{"intervals": [{"length": s, "workers": {job: w}}]}`.

    A job that an interval does not name has no workers in it. Raises MalformedSolution.
    """
    if data.objective == "mean-jct":
        return _check_intervals(data, solution)
    jobs = {job.id: job for job in data.jobs}
    workers = _workers(jobs, solution.get("workers") if isinstance(solution, Mapping) else None)
    missing = [name for name in jobs if name not in workers]
    if missing:
        raise MalformedSolution(f"no workers for job {missing[0]!r:.80}")
    violations = _Rates(data, jobs).allocation(workers)
    violations += [f"job {name} has no workers" for name, w in workers.items() if w == 0]
    if violations:
        return Verdict(None, tuple(violations))
    total = Fraction(0)
    for name, w in workers.items():
        work = _work(jobs[name])
        total += work / _speed(data, jobs[name], jobs[name].min_workers) - work / _speed(data, jobs[name], w)
    return Verdict(float(total))


def check_reclaim(data: ArylReclaim, solution: Solution) -> Verdict:
    """Check `{"servers": [id]}`: exactly `reclaim` servers; the objective is the number or the loss of preempted jobs.

    Raises MalformedSolution.
    """
    chosen = solution.get("servers") if isinstance(solution, Mapping) else None
    if not isinstance(chosen, list | tuple) or not all(isinstance(name, str) for name in chosen):
        raise MalformedSolution("must be an object with the list `servers` of names")
    known = set(data.servers)
    for name in chosen:
        if name not in known:
            raise MalformedSolution(f"unknown server {name!r:.80}")
    if len(set(chosen)) != len(chosen):
        raise MalformedSolution("a server is named twice")
    violations = () if len(chosen) == data.reclaim else (f"{len(chosen)} servers are reclaimed, not {data.reclaim}",)
    gone, lost = set(chosen), Fraction(0)
    for job in data.jobs:
        if _is_preempted(job, gone):
            lost += Fraction(1) if data.objective == "preempted-jobs" else Fraction(repr(job.gpu_hours))
    return Verdict(float(lost), violations)


def _is_preempted(job: LoanedJob, gone: set[str]) -> bool:
    """Return whether too few workers remain or, without `min_workers`, a server of a base worker is `gone`."""
    if job.workers is None or job.min_workers is None:
        return bool(gone.intersection(job.servers))
    return sum(workers for server, workers in job.workers.items() if server not in gone) < job.min_workers


def _check_intervals(data: ArylElastic, solution: Solution) -> Verdict:
    """Replay the intervals exactly.

    A stated length is rounded, so an interval ends at the latest completion within the tolerance. Every job that counts
    as complete has all of its work done by the time that the objective uses.
    """
    jobs = {job.id: job for job in data.jobs}
    rates, progress = _Rates(data, jobs), _Progress({name: _work(job) for name, job in jobs.items()})
    violations: list[str] = []
    running: Mapping[str, int] = {}
    total, completed = Fraction(0), True
    intervals = _intervals(jobs, solution)
    for m, (length, workers) in enumerate(intervals):
        found = rates.allocation(workers)
        if not completed and workers != running:
            found.append("workers change though no job completes before it")
        found += [f"job {name} loses its workers before it completes" for name in running if name not in workers]
        found += [f"job {name} has workers after it completed" for name in workers if name not in progress.left]
        progress.run({name: rates.speed(name, w) for name, w in workers.items() if running.get(name) != w}, workers)
        end = progress.now + length
        slack = CLOCK * end
        near = progress.until(end + slack)
        early = {name for name, t in near.items() if t < end - slack}
        found += [f"job {name} completes before the end of the interval" for name in workers if name in early]
        goes_on = intervals[m + 1][1] if m + 1 < len(intervals) else {}
        end = max([end, *(t for name, t in near.items() if name not in goes_on)])
        done = [name for name, t in near.items() if t <= end]
        progress.complete(done, end)
        total += end * len(done)
        completed = bool(done)
        running = {name: w for name, w in workers.items() if name in progress.left}
        violations += [f"interval {m}: {text}" for text in found]
    violations += [f"job {name} does not complete" for name in progress.left]
    return Verdict(float(total / len(jobs)) if not progress.left else None, tuple(violations))


class _Progress:
    """The remaining work of each unfinished job at its last change of workers, and its completion time."""

    def __init__(self, left: dict[str, Fraction]) -> None:
        self.left, self.now = left, Fraction(0)
        self._runs: dict[str, tuple[Fraction, Fraction, Fraction]] = {}  # (throughput, start, end)
        self._queue: list[tuple[Fraction, str]] = []  # Completions, including outdated ones.

    def run(self, changed: Mapping[str, Fraction], workers: Mapping[str, int]) -> None:
        """Run the jobs `changed` at these throughputs from now on, and stop all jobs without `workers`."""
        for name in [name for name in self._runs if name not in workers or name in changed]:
            rate, since, _ = self._runs.pop(name)
            self.left[name] -= (self.now - since) * rate
        for name, rate in changed.items():
            if rate > 0 and name in self.left:
                until = self.now + self.left[name] / rate
                self._runs[name] = rate, self.now, until
                heapq.heappush(self._queue, (until, name))

    def until(self, time: Fraction) -> dict[str, Fraction]:
        """Return the completion times up to `time` by job, if no workers change."""
        near = {}
        while self._queue and self._queue[0][0] <= time:
            until, name = heapq.heappop(self._queue)
            if name in self._runs and self._runs[name][2] == until:
                near[name] = until
        for name, until in near.items():
            heapq.heappush(self._queue, (until, name))
        return near

    def complete(self, jobs: Sequence[str], now: Fraction) -> None:
        """Remove `jobs`, which complete at time `now`."""
        self.now = now
        for name in jobs:
            del self.left[name], self._runs[name]


class _Rates:
    """Throughputs and violations for numbers of workers, each computed once."""

    def __init__(self, data: ArylElastic, jobs: Mapping[str, ElasticJob]) -> None:
        self.data, self.jobs = data, jobs
        self._known: dict[tuple[str, int], tuple[Fraction, str | None]] = {}

    def speed(self, name: str, workers: int) -> Fraction:
        """Return the throughput in worker-seconds per second."""
        return self._place(name, workers)[0]

    def allocation(self, workers: Mapping[str, int]) -> list[str]:
        """Return the constraints that an allocation violates."""
        used, found = 0, []
        for name, w in workers.items():
            used += w * self.jobs[name].gpus_per_worker
            wrong = self._place(name, w)[1]
            if wrong is not None:
                found.append(wrong)
        if used > self.data.capacity_gpus:
            found.append(f"{used} GPUs are in use, there are {self.data.capacity_gpus:g}")
        return found

    def _place(self, name: str, workers: int) -> tuple[Fraction, str | None]:
        key = name, workers
        if key not in self._known:
            job, rate, wrong = self.jobs[name], _speed(self.data, self.jobs[name], workers), None
            if workers and not job.min_workers <= workers <= job.max_workers:
                wrong = f"job {name} has {workers} workers, not {job.min_workers} to {job.max_workers}"
            elif workers and rate <= 0:
                wrong = f"job {name} makes no progress on {workers} workers"
            self._known[key] = rate, wrong
        return self._known[key]


def _intervals(jobs: Mapping[str, ElasticJob], solution: Solution) -> list[tuple[Fraction, dict[str, int]]]:
    listed = solution.get("intervals") if isinstance(solution, Mapping) else None
    if not isinstance(listed, list | tuple):
        raise MalformedSolution("must be an object with the list `intervals`")
    intervals = []
    for interval in listed:
        if not isinstance(interval, Mapping) or set(interval) != {"length", "workers"}:
            raise MalformedSolution(f"an interval must have length and workers, got {show(interval)}")
        length = interval["length"]
        if isinstance(length, bool) or not isinstance(length, int | float) or not 0 < length <= LONGEST:
            raise MalformedSolution(f"length must be a number of seconds > 0, at most {LONGEST:g}, got {show(length)}")
        workers = _workers(jobs, interval["workers"])
        intervals.append((Fraction(length), {name: w for name, w in workers.items() if w}))
    return intervals


def _workers(jobs: Mapping[str, ElasticJob], workers: Any) -> dict[str, int]:
    if not isinstance(workers, Mapping):
        raise MalformedSolution("`workers` must be an object of numbers by job")
    for name, w in workers.items():
        if name not in jobs:
            raise MalformedSolution(f"unknown job {name!r:.80}")
        if isinstance(w, bool) or not isinstance(w, int) or not 0 <= w <= LARGEST:
            raise MalformedSolution(f"workers of job {name} must be a whole number of 0 to {LARGEST:g}, got {show(w)}")
    return dict(workers)


def _work(job: ElasticJob) -> Fraction:
    return Fraction(job.min_running_time) * job.max_workers


def _speed(data: ArylElastic, job: ElasticJob, workers: int) -> Fraction:
    if not data.scaling_loss:
        return Fraction(workers)
    beyond = max(0, workers - (job.min_workers + job.max_workers) // 2)
    return max(Fraction(0), workers * (1 - beyond * Fraction(repr(data.scaling_loss))))


Hosted = dict[str, dict[str, int]]


def check_placement(data: ArylPlacement, solution: Solution) -> Verdict:
    """Check `{"base": {job: {server: n}}, "flexible": {job: {server: n}}}`; a job that is not named is not placed.

    Raises MalformedSolution.
    """
    servers, jobs = {server.id: server for server in data.servers}, {job.id: job for job in data.jobs}
    placed = _read(data, solution)
    used, hosted = Counter[str](), dict[str, set[str]]()
    cost, violations = 0, list[str]()
    for name, job in jobs.items():
        base, flexible = (placed[part].get(name, {}) for part in ("base", "flexible"))
        violations += _check_job(job, base, flexible)
        missing = job.base_workers - sum(base.values()) + job.flexible_workers - sum(flexible.values())
        cost += data.unplaced_cost * job.gpus_per_worker * missing
        for part, hosts in (("base", base), ("flexible", flexible)):
            wanted = "training" if not job.elastic or (job.heterogeneous and part == "base") else "loaned"
            for server, n in hosts.items():
                kind = servers[server].kind
                wide = job.gpus_per_worker if kind == "training" else job.loaned_gpus_per_worker or job.gpus_per_worker
                used[server] += n * wide
                hosted.setdefault(server, set()).add(part)
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
            held = hosted[name] | ({host.group or "base"} if host.free_gpus < host.gpus else set())
            if len(held) > 1:
                violations.append(f"server {name} hosts base and flexible workers")
    return Verdict(float(cost), tuple(violations))


def _check_job(job: PlacedJob, base: Mapping[str, int], flexible: Mapping[str, int]) -> list[str]:
    """Return the constraints that the numbers of workers of a job violate."""
    found, more = [], sum(flexible.values())
    if base and sum(base.values()) != job.base_workers:
        found.append(f"job {job.id} has {sum(base.values())} base workers, not {job.base_workers}")
    if more > job.flexible_workers:
        found.append(f"job {job.id} has {more} flexible workers, more than {job.flexible_workers}")
    if more and job.base_workers and not base:
        found.append(f"job {job.id} has flexible workers and no base workers")
    return found


def _read(data: ArylPlacement, solution: Solution) -> dict[str, Hosted]:
    """Return the workers by part, job and server. Raises MalformedSolution."""
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
