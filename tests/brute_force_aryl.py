"""Optima of Aryl's problems by enumeration, sharing no code with the models."""

from __future__ import annotations

import itertools
from fractions import Fraction

from instances import check
from instances.aryl import ArylElastic, ArylReclaim


def best_mean_jct(data: ArylElastic) -> float:
    """The least mean JCT over every allocation of whole workers at time 0 and at each completion."""
    jobs = {job.id: job for job in data.jobs}
    choices = {n: range(j.min_workers, j.max_workers + 1) for n, j in jobs.items()}

    def speed(name: str, w: int) -> Fraction:
        job = jobs[name]
        over = w - (job.min_workers + job.max_workers) // 2
        return w * (1 - Fraction(repr(data.scaling_loss)) * over) if over > 0 else Fraction(w)

    def total(left: dict[str, Fraction], running: frozenset[str]) -> Fraction:
        if not left:
            return Fraction(0)
        best = None
        options = [[*choices[name]] if name in running else [0, *choices[name]] for name in left]
        for picked in itertools.product(*options):
            workers = {name: w for name, w in zip(left, picked, strict=True) if w}
            if not workers or sum(w * jobs[n].gpus_per_worker for n, w in workers.items()) > data.capacity_gpus:
                continue
            rates = {n: speed(n, w) for n, w in workers.items()}
            if min(rates.values()) <= 0:
                continue
            length = min(left[n] / rate for n, rate in rates.items())
            after = {n: work - length * rates.get(n, 0) for n, work in left.items()}
            after = {n: work for n, work in after.items() if work > 0}
            value = length * len(left) + total(after, frozenset(n for n in workers if n in after))
            best = value if best is None else min(best, value)
        assert best is not None  # every base demand fits alone
        return best

    work = {n: Fraction(j.min_running_time) * j.max_workers for n, j in jobs.items()}
    return float(total(work, frozenset()) / len(jobs))


def best_reduction(data: ArylElastic) -> float:
    """The largest reduction over every combination of numbers of workers, each judged by the checker alone."""
    ranges = [range(job.min_workers, job.max_workers + 1) for job in data.jobs]
    verdicts = (
        check(data, {"workers": dict(zip((job.id for job in data.jobs), workers, strict=True))})
        for workers in itertools.product(*ranges)
    )
    return max(v.objective for v in verdicts if not v.violations and v.objective is not None)


def fewest_preemptions(data: ArylReclaim) -> float:
    """The fewest preempted jobs over every choice of servers, each judged by the checker alone."""
    chosen = itertools.combinations(data.servers, data.reclaim)
    return min(check(data, {"servers": list(servers)}).objective or 0.0 for servers in chosen)
