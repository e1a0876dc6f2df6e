"""Search for schedules: advancing jobs, annealed large-neighbourhood search, and annealing with penalties.

The large-neighbourhood search (Shaw, 1998) takes out a few jobs and inserts all in another order; its schedules stay
feasible throughout, so that no cut-off is ever broken. With penalties schedules are too wide for a while, at a price
that rises until none pays.
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
    """A good schedule from feasible reservations (J,): backfilling in two orders, then advancing the better."""
    orders = (arrays.duration * arrays.gpus).astype(float), arrays.duration.astype(float)
    found = min((backfill(arrays, reserved, order, clock) for order in orders), key=arrays.delay)
    return advance(arrays, found, clock)


def improve(
    arrays: OracleArrays,
    starts: IntArray,
    clock: Stopwatch,
    *,
    seed: int = 0,
    tries: int,
    stop: int = 0,
    among: IntArray | None = None,
    parameters: OracleParameters = DEFAULTS,
) -> IntArray:
    """A schedule no worse than the feasible `starts`, by annealed large-neighbourhood search.

    Deterministic for a seed unless the clock ends the search.

    Parameters:

    - `arrays`: jobs and capacity.
    - `starts`: feasible schedule, (J,).
    - `clock`: ends the search when the time is over.
    - `seed`: seed of all that is random.
    - `tries`: tries for each job in a batch.
    - `among`: the jobs that tries begin with, where not with all that have a choice; there are
      as many tries for each of these.
    - `stop`: delay in steps at which the search ends, a known bound.
    - `parameters`: number of batches, temperatures and moves.
    """
    from models.sia.kernels import Moves, anneal, jobs_of  # compiled at first use, which takes seconds

    p = parameters
    best = advance(arrays, starts)
    jobs = jobs_of(arrays)
    moves = Moves(p.sizes, p.elsewhere, p.most_between, p.try_repairs)
    among = np.flatnonzero(arrays.cutoff > arrays.submit) if among is None else among
    if not len(among):
        return best
    rng, pace = np.random.default_rng(seed), float(arrays.duration.mean())
    steps = p.moved_jobs * float((arrays.duration + arrays.cutoff - arrays.submit).mean())
    size = max(1, min(p.slice_tries, int(p.slice_steps / steps), tries * len(among)))
    slices = max(1, -(-tries * len(among) // size))
    heat = pace * p.warm * (p.cold / p.warm) ** (np.arange(slices + 1) / slices)
    for _ in range(p.batches):
        if arrays.delay(best) <= stop:
            break
        start, lead = best.copy(), 0
        for warm, cold in pairwise(heat):
            if clock.expired:
                return best
            lead = anneal(rng, jobs, moves, among, start, best, lead, size, pace, warm, cold)
    return best


def in_order(arrays: OracleArrays, key: FloatArray, parameters: OracleParameters = DEFAULTS) -> IntArray | None:
    """A schedule (J,) of jobs one by one in order of `key` (J,), in steps; `None` where cut-offs cannot be kept.

    Each job starts as early as it fits. Jobs that come too late are moved ahead in the order, little by little.
    """
    from models.sia.kernels import insert, jobs_of

    count, step = len(key), parameters.repair_step * float(arrays.duration.mean())
    use, starts = np.zeros(arrays.horizon + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    jobs = jobs_of(arrays)
    found = insert(use, jobs, np.arange(count), count, key.astype(float), np.inf, parameters.repairs, step, starts)
    return starts if found else None


def advance(arrays: OracleArrays, starts: IntArray, clock: Stopwatch | None = None) -> IntArray:
    """A schedule in which no job can start earlier by itself, from `starts`, unless the clock ends the moves.

    Jobs move to the earliest step where they fit, in order of GPU time, as long as one moves.
    """
    starts, use = starts.copy(), arrays.use(starts)
    order = np.lexsort((arrays.submit, arrays.duration * arrays.gpus)).tolist()
    moved = True
    while moved:
        moved = False
        for i in order:
            if clock is not None and clock.expired:
                return starts
            old, length, gpus = int(starts[i]), int(arrays.duration[i]), int(arrays.gpus[i])
            if old > arrays.submit[i]:
                use[old : old + length] -= gpus
                new = _earliest(use, int(arrays.submit[i]), length, arrays.capacity - gpus, old)
                use[new : new + length] += gpus
                moved |= new < old
                starts[i] = new
    return starts


def _earliest(use: IntArray, begin: int, length: int, limit: int, last: int) -> int:
    """The earliest start in begin..last with at most `limit` GPUs in use for `length` steps; `last` is feasible.

    Not the compiled loop of `kernels`, so that small instances compile nothing.
    """
    full = np.flatnonzero(use[begin : last + length] > limit) + begin
    edges = np.concatenate([[begin - 1], full, [last + length]])
    gaps = np.flatnonzero(np.diff(edges) > length)
    return int(edges[gaps[0]]) + 1


def settle(
    arrays: OracleArrays,
    starts: IntArray,
    clock: Stopwatch,
    *,
    seed: int = 0,
    tries: int,
    begin: float = 0.0,
    among: IntArray | None = None,
    shares: Shares | None = None,
    parameters: OracleParameters = DEFAULTS,
) -> tuple[IntArray | None, IntArray]:
    """The best feasible schedule met from `starts` on, `None` where none was, and the last one, which may be too wide.

    `starts` keep the cut-offs and may be too wide. Temperature falls and the penalty for a GPU too many rises.
    Deterministic for a seed unless the clock ends the search.

    Parameters:

    - `arrays`: jobs and capacity.
    - `starts`: a start of each job in its window, (J,).
    - `clock`: ends the search when the time is over.
    - `seed`: seed of all that is random.
    - `tries`: tries for each job.
    - `begin`: share of the way from the first temperature to the last that is left out.
    - `among`: the jobs that move, where not all do.
    - `shares`: fairness, if it is in the objective.
    - `parameters`: temperatures, in mean durations, and penalties, in steps of delay.
    """
    from models.sia.kernels import Shares, Timeline, anneal_with_penalties, jobs_of  # compiled at first use

    p = parameters
    total, none = arrays.use(starts), np.zeros(len(starts), dtype=np.int64)
    shares = Shares(none, np.zeros(0), 0.0, np.zeros(0)) if shares is None else shares
    use = np.zeros((len(shares.inverse), arrays.horizon + 1), dtype=np.int64)
    if len(use):
        np.add.at(use, (shares.pool, starts), arrays.gpus)
        np.add.at(use, (shares.pool, starts + arrays.duration), -arrays.gpus)
    line, jobs = Timeline(np.cumsum(use, axis=1), total), jobs_of(arrays)
    movable = np.arange(len(starts)) if among is None else among
    movable = movable[arrays.cutoff[movable] > arrays.submit[movable]]
    over = int(np.maximum(total - arrays.capacity, 0).sum())
    start, best, lead = starts.copy(), starts.copy(), 0.0 if over == 0 else -np.inf
    if not len(movable):
        return (best if over == 0 else None), start
    rng, pace = np.random.default_rng(seed), float(arrays.duration.mean())
    longest = int(p.penalty_steps / pace)  # a try looks at as many steps as a job runs
    each = max(1, min(longest, tries * len(movable) // p.penalty_slices))
    for share in np.linspace(begin, 1.0, p.penalty_slices):
        if clock.expired:
            break
        heat = pace * p.penalty_warm * (p.penalty_cold / p.penalty_warm) ** share
        penalty = p.penalty_soft * (p.penalty_hard / p.penalty_soft) ** share
        how = lead, over, each, p.penalty_pace * pace, heat, penalty
        lead, over = anneal_with_penalties(rng, jobs, shares, line, movable, start, best, *how)
    return (best if np.isfinite(lead) else None), start
