"""What is known without a model: schedules at hand, a bound that takes no solver, and what a solver's bound proves."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from instances import InputError, Options, Solution, Verdict, check
from instances.sia import SiaOracle
from models.bounds import REAL, real_bound, whole_bound


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


def proven(data: SiaOracle, bound: float) -> float:
    """What a solver's `bound` proves: delays are whole slots, with fairness the objective is a real number."""
    if data.fairness_weight:
        return real_bound(bound, trivial=least_objective(data))
    return float(whole_bound(bound))


def finer(data: SiaOracle, options: Options) -> Options:
    """Options for a solver that make up for what `proven` takes off its bound."""
    return replace(options, gap=max(0.0, options.gap - 2 * REAL)) if data.fairness_weight else options
