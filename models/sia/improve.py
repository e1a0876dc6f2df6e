"""Good schedules: move jobs forward one by one, then take out a few at a time and put them back in another order.

A schedule stays feasible throughout, so that no cut-off is ever broken.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from instances import Stopwatch
from models.sia.arrays import FloatArray, IntArray, OracleArrays

WARM, COLD = 0.4, 0.007  # mean durations of delay that are accepted at the start and the end of a batch
SLICE, WORK = 10_000, 1e9  # tries between two looks at the clock, fewer where they would go through so many steps
EACH = 20  # jobs that a try moves, about
STALE = 2  # batches in a row without gain that end it
REPAIRS, REPAIR_STEP = 1_000, 0.7  # attempts to keep all cut-offs, and mean durations that a late job is moved ahead


def improve(
    arrays: OracleArrays, starts: IntArray, clock: Stopwatch, *, seed: int = 0, tries: int, batches: int, stop: int = 0
) -> IntArray:
    """A schedule no worse than the feasible `starts` (J,), by annealed large-neighbourhood search.

    `batches` of `tries` tries for each job, fewer where two of them gain nothing, `clock` is over, or the delay reaches
    `stop`, a known bound. Deterministic for a seed unless `clock` ends it.
    """
    from models.sia.search import anneal  # compiled at first use, which takes seconds

    best = advance(arrays, starts)
    jobs = arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, arrays.capacity
    rng, pace, stale = np.random.default_rng(seed), float(arrays.duration.mean()), 0
    steps = EACH * float((arrays.duration + arrays.cutoff - arrays.submit).mean())
    size = max(1, min(SLICE, int(WORK / steps)))
    slices = -(-tries * len(best) // size)
    heat = pace * WARM * (COLD / WARM) ** (np.arange(slices + 1) / slices)
    for _ in range(batches):
        if stale == STALE or arrays.delay(best) <= stop:
            break
        before, start, lead = arrays.delay(best), best.copy(), 0
        for warm, cold in pairwise(heat):
            if clock.expired:
                return best
            lead = anneal(rng, *jobs, start, best, lead, size, pace, warm, cold)
        stale = stale + 1 if arrays.delay(best) == before else 0
    return best


def in_order(arrays: OracleArrays, key: FloatArray) -> IntArray | None:
    """Jobs one by one in order of `key` (J,), slots, each as early as it fits; `None` where cut-offs cannot be kept.

    Jobs that come too late are moved ahead in the order, little by little.
    """
    from models.sia.search import put

    count, step = len(key), REPAIR_STEP * float(arrays.duration.mean())
    use, starts = np.zeros(arrays.horizon + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    jobs = arrays.capacity, arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff
    found = put(use, *jobs, np.arange(count), count, key.astype(float), np.inf, REPAIRS, step, starts)
    return starts if found else None


def advance(arrays: OracleArrays, starts: IntArray, clock: Stopwatch | None = None) -> IntArray:
    """Move each job to the earliest slot where it fits, least GPU time first, as long as one moves and `clock` runs."""
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
    """The earliest start in begin..last; `last` is one. Not `search.earliest`: small instances compile nothing."""
    full = np.flatnonzero(use[begin : last + length] > limit) + begin
    edges = np.concatenate([[begin - 1], full, [last + length]])
    gaps = np.flatnonzero(np.diff(edges) > length)
    return int(edges[gaps[0]]) + 1
