"""The independent checkers of Aryl's problems: feasibility and objective from the data alone, in rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.reclaim import ArylReclaim
from instances.errors import MalformedSolution
from instances.options import Solution
from instances.verdict import Verdict

WORK_DONE = Fraction(1, 10**6)  # worker-seconds: lengths of intervals are binary numbers, work left need not be 0
WORK_SHARE = Fraction(1, 10**12)  # the same, relative to the work of the job


def check_elastic(data: ArylElastic, solution: Solution) -> Verdict:
    """Check `{"workers": {job: w}}`, or for the mean JCT `{"intervals": [{"length": s, "workers": {job: w}}]}`.

    In intervals a job that is not named has no workers. Raises MalformedSolution.
    """
    if data.objective == "mean-jct":
        return _check_intervals(data, solution)
    jobs = {job.id: job for job in data.jobs}
    workers = _workers(jobs, solution.get("workers") if isinstance(solution, Mapping) else None)
    missing = [name for name in jobs if name not in workers]
    if missing:
        raise MalformedSolution(f"no workers for job {missing[0]!r}")
    violations = _allocation(data, jobs, workers)
    violations += [f"job {name} has no workers" for name, w in workers.items() if w == 0]
    if violations:
        return Verdict(None, tuple(violations))
    total = Fraction(0)
    for name, w in workers.items():
        work = _work(jobs[name])
        total += work / _speed(data, jobs[name], jobs[name].min_workers) - work / _speed(data, jobs[name], w)
    return Verdict(float(total))


def check_reclaim(data: ArylReclaim, solution: Solution) -> Verdict:
    """Check `{"servers": [id]}`: exactly `reclaim` servers; the objective counts preempted jobs.

    Raises MalformedSolution.
    """
    chosen = solution.get("servers") if isinstance(solution, Mapping) else None
    if not isinstance(chosen, list | tuple) or not all(isinstance(name, str) for name in chosen):
        raise MalformedSolution("must be an object with the list `servers` of names")
    known = set(data.servers)
    for name in chosen:
        if name not in known:
            raise MalformedSolution(f"unknown server {name!r}")
    if len(set(chosen)) != len(chosen):
        raise MalformedSolution("a server is named twice")
    violations = () if len(chosen) == data.reclaim else (f"{len(chosen)} servers are reclaimed, not {data.reclaim}",)
    gone = set(chosen)
    return Verdict(float(sum(1 for job in data.jobs if gone.intersection(job.servers))), violations)


def _check_intervals(data: ArylElastic, solution: Solution) -> Verdict:
    jobs = {job.id: job for job in data.jobs}
    left = {name: _work(job) for name, job in jobs.items()}
    spare = {name: max(WORK_DONE, WORK_SHARE * work) for name, work in left.items()}
    violations: list[str] = []
    running: dict[str, int] = {}
    now, total, completed = Fraction(0), Fraction(0), True
    for m, (length, workers) in enumerate(_intervals(jobs, solution)):
        found = _allocation(data, jobs, workers)
        if not completed and workers != running:
            found.append("workers change though no job completes before it")
        for name in running:
            if name in left and name not in workers:
                found.append(f"job {name} loses its workers before it completes")
        now, completed = now + length, False
        for name, w in workers.items():
            if name not in left:
                found.append(f"job {name} has workers after it completed")
                continue
            left[name] -= length * _speed(data, jobs[name], w)
            if left[name] < -spare[name]:
                found.append(f"job {name} completes before the end of the interval")
            if left[name] <= spare[name]:
                total, completed = total + now, True
                del left[name]
        running = workers
        violations += [f"interval {m}: {text}" for text in found]
    violations += [f"job {name} does not complete" for name in left]
    return Verdict(float(total / len(jobs)) if not left else None, tuple(violations))


def _allocation(data: ArylElastic, jobs: Mapping[str, ElasticJob], workers: Mapping[str, int]) -> list[str]:
    found = []
    for name, w in workers.items():
        if w and not jobs[name].min_workers <= w <= jobs[name].max_workers:
            found.append(f"job {name} has {w} workers, not {jobs[name].min_workers} to {jobs[name].max_workers}")
        elif w and _speed(data, jobs[name], w) <= 0:
            found.append(f"job {name} makes no progress on {w} workers")
    used = sum(w * jobs[name].gpus_per_worker for name, w in workers.items())
    if used > data.capacity_gpus:
        found.append(f"{used} GPUs are in use, there are {data.capacity_gpus:g}")
    return found


def _intervals(jobs: Mapping[str, ElasticJob], solution: Solution) -> list[tuple[Fraction, dict[str, int]]]:
    listed = solution.get("intervals") if isinstance(solution, Mapping) else None
    if not isinstance(listed, list | tuple):
        raise MalformedSolution("must be an object with the list `intervals`")
    intervals = []
    for interval in listed:
        if not isinstance(interval, Mapping) or set(interval) != {"length", "workers"}:
            raise MalformedSolution(f"an interval must have length and workers, got {interval!r:.80}")
        length = interval["length"]
        if isinstance(length, bool) or not isinstance(length, int | float) or not 0 <= length < float("inf"):
            raise MalformedSolution(f"length must be a number of seconds >= 0, got {length!r:.80}")
        workers = _workers(jobs, interval["workers"])
        intervals.append((Fraction(length), {name: w for name, w in workers.items() if w}))
    return intervals


def _workers(jobs: Mapping[str, ElasticJob], workers: Any) -> dict[str, int]:
    if not isinstance(workers, Mapping):
        raise MalformedSolution("`workers` must be an object of numbers by job")
    for name, w in workers.items():
        if name not in jobs:
            raise MalformedSolution(f"unknown job {name!r}")
        if isinstance(w, bool) or not isinstance(w, int) or w < 0:
            raise MalformedSolution(f"workers of job {name} must be a whole number >= 0, got {w!r:.80}")
    return dict(workers)


def _work(job: ElasticJob) -> Fraction:
    return Fraction(job.min_running_time) * job.max_workers


def _speed(data: ArylElastic, job: ElasticJob, workers: int) -> Fraction:
    if not data.scaling_loss:
        return Fraction(workers)
    beyond = max(0, workers - (job.min_workers + job.max_workers) // 2)
    return max(Fraction(0), workers * (1 - beyond * Fraction(repr(data.scaling_loss))))
