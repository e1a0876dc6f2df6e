"""Large-neighbourhood search for schedules (Shaw, 1998): take out a few jobs and insert all in another order.

A schedule stays feasible throughout, so that no cut-off is ever broken.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.sia.arrays import OracleArrays
from instances.sia.reservations import backfill
from models.sia.parameters import DEFAULTS, ExactParameters


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
    parameters: ExactParameters = DEFAULTS,
) -> IntArray:
    """A schedule no worse than the feasible `starts`, by annealed large-neighbourhood search.

    Deterministic for a seed unless the clock ends the search.

    Parameters:

    - `arrays`: jobs and capacity.
    - `starts`: feasible schedule, (J,).
    - `clock`: ends the search when the time is over.
    - `seed`: seed of all that is random.
    - `tries`: tries for each job in a batch.
    - `among`: the jobs that tries begin with, where not with all; there are as many tries for each of these.
    - `stop`: delay in steps at which the search ends, a known bound.
    - `parameters`: number of batches, temperatures and moves.
    """
    from models.sia.kernels import Jobs, Moves, anneal  # compiled at first use, which takes seconds

    p = parameters
    best = advance(arrays, starts)
    jobs = Jobs(arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, arrays.capacity)
    moves = Moves(p.sizes, p.elsewhere, p.most_between, p.try_repairs)
    among = np.arange(len(best)) if among is None else among
    rng, pace, stale = np.random.default_rng(seed), float(arrays.duration.mean()), 0
    steps = p.moved_jobs * float((arrays.duration + arrays.cutoff - arrays.submit).mean())
    size = max(1, min(p.slice_tries, int(p.slice_steps / steps)))
    slices = max(1, -(-tries * len(among) // size))
    heat = pace * p.warm * (p.cold / p.warm) ** (np.arange(slices + 1) / slices)
    for _ in range(p.batches):
        if stale == p.stale_batches or arrays.delay(best) <= stop:
            break
        before, start, lead = arrays.delay(best), best.copy(), 0
        for warm, cold in pairwise(heat):
            if clock.expired:
                return best
            lead = anneal(rng, jobs, moves, among, start, best, lead, size, pace, warm, cold)
        stale = stale + 1 if arrays.delay(best) == before else 0
    return best


def in_order(arrays: OracleArrays, key: FloatArray, parameters: ExactParameters = DEFAULTS) -> IntArray | None:
    """A schedule (J,) of jobs one by one in order of `key` (J,), in steps; `None` where cut-offs cannot be kept.

    Each job starts as early as it fits. Jobs that come too late are moved ahead in the order, little by little.
    """
    from models.sia.kernels import Jobs, insert

    count, step = len(key), parameters.repair_step * float(arrays.duration.mean())
    use, starts = np.zeros(arrays.horizon + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    jobs = Jobs(arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, arrays.capacity)
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
