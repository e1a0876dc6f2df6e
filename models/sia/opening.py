"""What is known before any model: schedules that are at hand, and a bound that takes no solver."""

from __future__ import annotations

import math
from fractions import Fraction

from instances import InputError, Solution, Verdict, check
from instances.sia import SiaOracle


def opening(data: SiaOracle, start: Solution | None = None) -> Solution | None:
    """The best of `start` and of what the cut-offs give for nothing; `None` where nothing is.

    Without sharing each job starts as FCFS has it, which keeps all cut-offs unless some are the user's own: then it is
    tried, and so is everybody at his cut-off. Raises InputError where `start` breaks a constraint.
    """
    found: Solution | None = None
    least = math.inf
    for starts in dict.fromkeys((data.fcfs_starts, data.cutoffs)):
        solution = {"starts": {job.id: t for job, t in zip(data.jobs, starts, strict=True)}}
        verdict = check(data, solution)
        if not verdict.violations and _objective(verdict) < least:
            found, least = solution, _objective(verdict)
    if start is not None:
        verdict = check(data, start)
        if verdict.violations:
            raise InputError(f"start: {verdict.violations[0]}")
        if _objective(verdict) <= least:
            found = start
    return found


def _objective(verdict: Verdict) -> float:
    return math.inf if verdict.objective is None else verdict.objective


def least_objective(data: SiaOracle) -> float:
    """A bound: nobody waits, and no pool uses more of what it owns at once than it must.

    Where all use is charged, Σ_t α_t is at least the GPU time of any pool's jobs over what the pool owns.
    """
    if not data.fairness_weight or data.fair_share != "all-use":
        return 0.0
    owned, work = {pool.name: pool.gpus for pool in data.pools}, dict.fromkeys((pool.name for pool in data.pools), 0)
    for job in data.jobs:
        work[job.pool] += job.duration * job.gpus
    shares = (Fraction(work[name], gpus) for name, gpus in owned.items())
    return float(Fraction(repr(data.fairness_weight)) * max(shares))
