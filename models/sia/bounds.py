"""Bounds without a model: the initial solution, the trivial bound, and the proven part of a solver's bound."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from instances import InputError, Options, Solution, check
from instances.sia import SiaOracle
from models.core.safe_bounds import REAL, real_bound, whole_bound


def find_initial_solution(data: SiaOracle, start: Solution | None = None) -> Solution | None:
    """Return the best of `start` and three trivial schedules; `None` if none of them is feasible.

    The trivial schedules are FCFS without sharing, all jobs at their cut-offs, and all jobs at their submissions. FCFS
    is feasible unless `latest_start` sets cut-offs. Raises InputError if `start` violates a constraint.
    """
    best: Solution | None = None
    minimum = math.inf
    for starts in dict.fromkeys((data.fcfs_starts, data.cutoffs, tuple(job.submit for job in data.jobs))):
        solution = {"starts": {job.id: t for job, t in zip(data.jobs, starts, strict=True)}}
        objective = _evaluate(data, solution)
        if objective < minimum:
            best, minimum = solution, objective
    if start is not None:
        if violations := check(data, start).violations:
            raise InputError(f"start: {violations[0]}")
        if _evaluate(data, start) <= minimum:
            best = start
    return best


def _evaluate(data: SiaOracle, solution: Solution) -> float:
    """Return the objective of a solution, infinity if it is infeasible."""
    verdict = check(data, solution)
    return math.inf if verdict.violations or verdict.objective is None else verdict.objective


def compute_trivial_bound(data: SiaOracle) -> float:
    """Return a lower bound on the objective: no job waits, or one job waits a slot and the use is minimum.

    An objective below 1 is therefore that of the only schedule without delay, and a solver need not distinguish such
    objectives. If all use is charged, Σ_t α_t is at least the GPU time of any pool's jobs divided by the pool's GPUs.
    """
    if not data.fairness_weight:
        return 0.0
    gpus, work = {pool.name: pool.gpus for pool in data.pools}, dict.fromkeys((pool.name for pool in data.pools), 0)
    if data.fair_share == "all-use":
        for job in data.jobs:
            work[job.pool] += job.duration * job.gpus
    stretch = max(Fraction(work[name], count) for name, count in gpus.items())
    with_delay = float(1 + Fraction(repr(data.fairness_weight)) * stretch)
    return min(with_delay, _evaluate(data, {"starts": {job.id: job.submit for job in data.jobs}}))


def round_bound(data: SiaOracle, bound: float) -> float:
    """Return the proven part of a solver's `bound`: delays are integers, while an objective with fairness is real.

    The tolerance is that of an objective of at least one slot; `compute_trivial_bound` covers smaller objectives.
    """
    return real_bound(bound, largest=1.0) if data.fairness_weight else float(whole_bound(bound))


def reduce_gap(data: SiaOracle, options: Options) -> Options:
    """Return options with a relative gap that is smaller by the tolerance of `round_bound`, for a solver."""
    return replace(options, gap=max(0.0, options.gap - 2 * REAL)) if data.fairness_weight else options
