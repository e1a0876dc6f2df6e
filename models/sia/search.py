"""Heuristics for schedules: construction, large-neighbourhood search, and annealing with penalties.

The large-neighbourhood search (Shaw, 1998) removes a few jobs and reinserts them in another order. Its schedules are
always feasible. Annealing with penalties allows schedules that exceed the capacity, at a penalty that rises.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.sia.arrays import OracleArrays
from instances.sia.reservations import backfill
from models.sia.parameters import DEFAULTS, OracleParameters

if TYPE_CHECKING:
    from models.sia.kernels import Shares


def construct(arrays: OracleArrays, reserved: IntArray, clock: Stopwatch) -> IntArray:
    """Return a good schedule from feasible reservations (J,): backfill in two orders, and advance the better result."""
    orders = (arrays.duration * arrays.gpus).astype(float), arrays.duration.astype(float)
    best = min((backfill(arrays, reserved, order, clock) for order in orders), key=arrays.delay)
    return advance(arrays, best, clock)


def improve(
    arrays: OracleArrays,
    starts: IntArray,
    clock: Stopwatch,
    *,
    seed: int = 0,
    tries: int,
    stop: int = 0,
    movable: IntArray | None = None,
    parameters: OracleParameters = DEFAULTS,
) -> IntArray:
    """Improve a schedule by annealed large-neighbourhood search; deterministic unless the clock ends the search.

    - `arrays`: jobs and capacity.
    - `starts`: a feasible schedule, (J,).
    - `clock`: time limit.
    - `seed`: seed of the random numbers.
    - `tries`: tries per movable job and batch.
    - `stop`: delay in steps at which the search ends, for example a known bound.
    - `movable`: jobs from which tries begin; all jobs with more than one start if `None`.
    - `parameters`: batches, temperatures and moves.

    Returns the best schedule found, (J,), which is never worse than `starts`.
    """
    from models.sia.kernels import Moves, build_jobs, search_neighbourhoods  # compiled at first use, for seconds

    p = parameters
    best = advance(arrays, starts)
    jobs = build_jobs(arrays)
    moves = Moves(p.move_sizes, p.relocation_share, p.max_between, p.move_repairs)
    movable = np.flatnonzero(arrays.cutoff > arrays.submit) if movable is None else movable
    if not len(movable):
        return best
    rng, pace = np.random.default_rng(seed), float(arrays.duration.mean())
    steps = p.moved_jobs * float((arrays.duration + arrays.cutoff - arrays.submit).mean())
    size = max(1, min(p.slice_tries, int(p.slice_steps / steps), tries * len(movable)))
    slices = max(1, -(-tries * len(movable) // size))
    temperatures = pace * p.warm * (p.cold / p.warm) ** (np.arange(slices + 1) / slices)
    for _ in range(p.batches):
        if arrays.delay(best) <= stop:
            break
        start, lead = best.copy(), 0
        for warm, cold in pairwise(temperatures):
            if clock.has_expired:
                return best
            lead = search_neighbourhoods(rng, jobs, moves, movable, start, best, lead, size, pace, warm, cold)
    return best


def schedule_in_order(
    arrays: OracleArrays, key: FloatArray, parameters: OracleParameters = DEFAULTS
) -> IntArray | None:
    """Return a schedule (J,) that starts jobs as early as possible in increasing order of `key` (J,), in steps.

    Jobs that would miss their cut-offs move forward in the order repeatedly. Returns `None` if this does not suffice.
    """
    from models.sia.kernels import build_jobs, insert_jobs

    count, step = len(key), parameters.repair_step * float(arrays.duration.mean())
    use, starts = np.zeros(arrays.horizon + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    order = np.arange(count), count, key.astype(float)
    is_complete = insert_jobs(use, build_jobs(arrays), *order, np.inf, parameters.repairs, step, starts)
    return starts if is_complete else None


def advance(arrays: OracleArrays, starts: IntArray, clock: Stopwatch | None = None) -> IntArray:
    """Move jobs to earlier starts, in order of GPU time, until no job can move alone or the clock expires.

    - `arrays`: jobs and capacity.
    - `starts`: a feasible schedule, (J,).
    - `clock`: time limit.
    """
    starts, use = starts.copy(), arrays.use(starts)
    order = np.lexsort((arrays.submit, arrays.duration * arrays.gpus)).tolist()
    has_moved = True
    while has_moved:
        has_moved = False
        for i in order:
            if clock is not None and clock.has_expired:
                return starts
            old, length, gpus = int(starts[i]), int(arrays.duration[i]), int(arrays.gpus[i])
            if old > arrays.submit[i]:
                use[old : old + length] -= gpus
                new = _find_earliest(use, int(arrays.submit[i]), length, arrays.capacity - gpus, old)
                use[new : new + length] += gpus
                has_moved |= new < old
                starts[i] = new
    return starts


def _find_earliest(use: IntArray, begin: int, length: int, limit: int, last: int) -> int:
    """Return the earliest start in begin..last with at most `limit` GPUs in use for `length` steps; `last` is feasible.

    Written without the compiled loop of `kernels`, so that small instances compile nothing.
    """
    full = np.flatnonzero(use[begin : last + length] > limit) + begin
    edges = np.concatenate([[begin - 1], full, [last + length]])
    gaps = np.flatnonzero(np.diff(edges) > length)
    return int(edges[gaps[0]]) + 1


def anneal_with_penalties(
    arrays: OracleArrays,
    starts: IntArray,
    clock: Stopwatch,
    *,
    seed: int = 0,
    tries: int,
    begin: float = 0.0,
    movable: IntArray | None = None,
    shares: Shares | None = None,
    parameters: OracleParameters = DEFAULTS,
) -> tuple[IntArray | None, IntArray]:
    """Anneal a schedule while the penalty per excess GPU rises; deterministic unless the clock ends the search.

    - `arrays`: jobs and capacity.
    - `starts`: a start of each job in its window, (J,); the schedule may exceed the capacity.
    - `clock`: time limit.
    - `seed`: seed of the random numbers.
    - `tries`: tries per movable job.
    - `begin`: share of the temperatures that is skipped at the beginning.
    - `movable`: jobs that may move; all jobs if `None`.
    - `shares`: fairness, if it is part of the objective.
    - `parameters`: temperatures, in mean durations, and penalties, in steps of delay.

    Returns the best feasible schedule, `None` if there was none, and the last schedule, which may be infeasible.
    """
    from models.sia.kernels import Shares, Timeline, anneal_at_penalty, build_jobs  # compiled at first use

    p = parameters
    total, zeros = arrays.use(starts), np.zeros(len(starts), dtype=np.int64)
    shares = Shares(zeros, np.zeros(0), 0.0, np.zeros(0)) if shares is None else shares
    use = np.zeros((len(shares.inverse), arrays.horizon + 1), dtype=np.int64)
    if len(use):
        np.add.at(use, (shares.pool, starts), arrays.gpus)
        np.add.at(use, (shares.pool, starts + arrays.duration), -arrays.gpus)
    line, jobs = Timeline(np.cumsum(use, axis=1), total), build_jobs(arrays)
    movable = np.arange(len(starts)) if movable is None else movable
    movable = movable[arrays.cutoff[movable] > arrays.submit[movable]]
    excess = int(np.maximum(total - arrays.capacity, 0).sum())
    start, best, lead = starts.copy(), starts.copy(), 0.0 if excess == 0 else -np.inf
    if not len(movable):
        return (best if excess == 0 else None), start
    rng, pace = np.random.default_rng(seed), float(arrays.duration.mean())
    max_tries = int(p.penalty_steps / pace)  # a try inspects as many steps as a job runs
    slice_tries = max(1, min(max_tries, tries * len(movable) // p.penalty_slices))
    for share in np.linspace(begin, 1.0, p.penalty_slices):
        if clock.has_expired:
            break
        temperature = pace * p.penalty_warm * (p.penalty_cold / p.penalty_warm) ** share
        penalty = p.penalty_soft * (p.penalty_hard / p.penalty_soft) ** share
        settings = lead, excess, slice_tries, p.penalty_pace * pace, temperature, penalty
        lead, excess = anneal_at_penalty(rng, jobs, shares, line, movable, start, best, *settings)
    return (best if np.isfinite(lead) else None), start
