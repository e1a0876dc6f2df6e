"""The independent checkers of Aryl's problems: feasibility and objective from the data alone, in rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.reclaim import ArylReclaim
from instances.errors import MalformedSolution
from instances.fields import LARGEST
from instances.options import Solution
from instances.verdict import Verdict

CLOCK = Fraction(1, 10**9)  # relative to the clock: how far the stated length of an interval may be from a completion
LONGEST = 1e30  # seconds of an interval; no schedule comes near


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
    """Replay the intervals exactly.

    A stated length is a rounded number: an interval ends no sooner than the completions that it is to end with. Every
    job that counts as complete has all of its work done, and by the time that counts.
    """
    jobs = {job.id: job for job in data.jobs}
    left = {name: _work(job) for name, job in jobs.items()}
    violations: list[str] = []
    running: Mapping[str, int] = {}
    now, total, completed = Fraction(0), Fraction(0), True
    intervals = _intervals(jobs, solution)
    for m, (length, workers) in enumerate(intervals):
        found = _allocation(data, jobs, workers)
        if not completed and workers != running:
            found.append("workers change though no job completes before it")
        found += [f"job {name} loses its workers before it completes" for name in running if name not in workers]
        found += [f"job {name} has workers after it completed" for name in workers if name not in left]
        speed = {name: _speed(data, jobs[name], w) for name, w in workers.items() if name in left}
        speed = {name: rate for name, rate in speed.items() if rate > 0}
        needs = {name: left[name] / rate for name, rate in speed.items()}
        room = CLOCK * (now + length)
        found += [
            f"job {name} completes before the end of the interval" for name, t in needs.items() if t < length - room
        ]
        goes_on = intervals[m + 1][1] if m + 1 < len(intervals) else {}
        ending = [t for name, t in needs.items() if t <= length + room and name not in goes_on]
        length = max(length, *ending) if ending else length
        now += length
        done = [name for name, t in needs.items() if t <= length]
        for name, rate in speed.items():
            left[name] -= length * rate
        for name in done:
            total += now
            del left[name]
        completed = bool(done)
        running = {name: w for name, w in workers.items() if name in left}
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
            raise MalformedSolution(f"an interval must have length and workers{_got(interval)}")
        length = interval["length"]
        if isinstance(length, bool) or not isinstance(length, int | float) or not 0 < length <= LONGEST:
            raise MalformedSolution(f"length must be a number of seconds > 0, at most {LONGEST:g}{_got(length)}")
        workers = _workers(jobs, interval["workers"])
        intervals.append((Fraction(length), {name: w for name, w in workers.items() if w}))
    return intervals


def _workers(jobs: Mapping[str, ElasticJob], workers: Any) -> dict[str, int]:
    if not isinstance(workers, Mapping):
        raise MalformedSolution("`workers` must be an object of numbers by job")
    for name, w in workers.items():
        if name not in jobs:
            raise MalformedSolution(f"unknown job{_got(name)}")
        if isinstance(w, bool) or not isinstance(w, int) or not 0 <= w <= LARGEST:
            raise MalformedSolution(f"workers of job {name} must be a whole number of 0 to {LARGEST:g}{_got(w)}")
    return dict(workers)


def _got(value: Any) -> str:
    """What was found, where it can be shown."""
    try:
        return f", got {value!r:.80}"
    except ValueError:  # Python refuses to write whole numbers of thousands of digits
        return ""


def _work(job: ElasticJob) -> Fraction:
    return Fraction(job.min_running_time) * job.max_workers


def _speed(data: ArylElastic, job: ElasticJob, workers: int) -> Fraction:
    if not data.scaling_loss:
        return Fraction(workers)
    beyond = max(0, workers - (job.min_workers + job.max_workers) // 2)
    return max(Fraction(0), workers * (1 - beyond * Fraction(repr(data.scaling_loss))))
