"""Bounds from both sides without a model: the initial solution, the trivial bound, and what a solver's bound proves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from instances import InputError, Options, Solution, Verdict, check
from instances.sia import SiaOracle
from models.bounds import REAL, real_bound, whole_bound


def initial_solution(data: SiaOracle, start: Solution | None = None) -> Solution | None:
    """The best of `start` and of schedules without a search; `None` where none is feasible.

    These are that of FCFS, and those of all jobs at their cut-offs, or as they are submitted.

    FCFS without sharing keeps all cut-offs unless some of them are given by `latest_start`. Raises InputError where
    `start` breaks a constraint.
    """
    found: Solution | None = None
    least = math.inf
    for starts in dict.fromkeys((data.fcfs_starts, data.cutoffs, _submitted(data))):
        solution = _solution(data, starts)
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


def _submitted(data: SiaOracle) -> tuple[int, ...]:
    return tuple(job.submit for job in data.jobs)


def _solution(data: SiaOracle, starts: Sequence[int]) -> Solution:
    return {"starts": {job.id: t for job, t in zip(data.jobs, starts, strict=True)}}


def trivial_bound(data: SiaOracle) -> float:
    """A bound on the objective that takes no solver: no job waits, or one waits a slot beside the least use.

    So an objective below 1 is that of the one schedule without delay, and a solver need not tell such apart. Where all
    use is charged, Σ_t α_t is at least the GPU time of any pool's jobs over what the pool owns.
    """
    if not data.fairness_weight:
        return 0.0
    owned, work = {pool.name: pool.gpus for pool in data.pools}, dict.fromkeys((pool.name for pool in data.pools), 0)
    if data.fair_share == "all-use":
        for job in data.jobs:
            work[job.pool] += job.duration * job.gpus
    most = max(Fraction(work[name], gpus) for name, gpus in owned.items())
    waited = float(1 + Fraction(repr(data.fairness_weight)) * most)
    verdict = check(data, _solution(data, _submitted(data)))
    return waited if verdict.violations else min(waited, _objective(verdict))


def proven_bound(data: SiaOracle, bound: float) -> float:
    """What a solver's `bound` proves: delays are whole slots, with fairness the objective is a real number.

    A delay is a slot at least, beside which the solver may not see what fairness costs; see `trivial_bound`.
    """
    return real_bound(bound, largest=1.0) if data.fairness_weight else float(whole_bound(bound))


def solver_options(data: SiaOracle, options: Options) -> Options:
    """Options for a solver, with a gap smaller by what `proven_bound` takes off the solver's bound."""
    return replace(options, gap=max(0.0, options.gap - 2 * REAL)) if data.fairness_weight else options
