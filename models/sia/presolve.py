"""Presolve: windows no longer than any optimal schedule needs, and the parts into which the problem falls.

No optimal schedule is lost. Let windows hold the starts of all optimal schedules, and let a step be *full* if the jobs
that may hold GPUs at it, each with some start in its window, are too wide together.

1. In an optimal schedule no job can start a step earlier by itself. A job that starts at t > s_j would also hold step
   t - 1 then, which is too much there. So step t - 1 is full, and a window ends behind a full step or is s_j alone.
2. A job *competes* at the full steps that it holds with some start in its window and not with some other. Jobs that
   compete at one step are of one part. Jobs that compete nowhere start at s_j by 1. At a full step only jobs of one
   part have a choice, and at other steps everything fits: the starts of each part can be chosen as if there were no
   other.
3. So an optimal schedule has no more delay in any part than a schedule at hand, and none of the part's jobs waits
   longer than that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances.arrays import IntArray
from instances.sia.arrays import OracleArrays
from models.sia.rows import NOBODY

Ranges = tuple[IntArray, IntArray]


def presolved(arrays: OracleArrays, best: IntArray) -> tuple[OracleArrays, IntArray, IntArray]:
    """Arrays with cut-offs as early as is proven, the part of each job (J,), and the schedule with jobs of none at s_j.

    Parts are numbers from 0 on, NOBODY of a job that competes nowhere. Within the windows, the starts of a part fit if
    they do beside what the other jobs hold wherever they start. `best` (J,), feasible, stays in the windows.
    """
    cutoff = np.minimum(arrays.cutoff, arrays.submit + arrays.delay(best))
    while True:
        before = cutoff = _behind_full_steps(arrays, cutoff, best)
        part = _parts(arrays, cutoff)
        best = np.where(part == NOBODY, arrays.submit, best)
        waits = np.bincount(part + 1, best - arrays.submit)
        waits[0] = 0  # of the jobs of no part
        cutoff = np.minimum(cutoff, arrays.submit + waits.astype(np.int64)[part + 1])
        if (cutoff == before).all():
            return replace(arrays, cutoff=cutoff), part, best


def alone(arrays: OracleArrays, chosen: IntArray, best: IntArray) -> tuple[OracleArrays, IntArray]:
    """The problem of the `chosen` jobs (N,) beside what others hold wherever they start, and the starts of `best` (J,).

    The others are jobs with a single start, behind the chosen ones.
    """
    submit, cutoff, duration = arrays.submit, arrays.cutoff, arrays.duration
    held = duration - (cutoff - submit)  # steps that a job runs wherever it starts, from its cut-off on
    begin, end = submit[chosen].min(), (cutoff + duration)[chosen].max()
    other = (held > 0) & (cutoff < end) & (cutoff + held > begin)
    other[chosen] = False
    others = np.flatnonzero(other)
    jobs = np.concatenate([chosen, others])
    own = replace(
        arrays,
        submit=np.concatenate([submit[chosen], cutoff[others]]),
        duration=np.concatenate([duration[chosen], held[others]]),
        gpus=arrays.gpus[jobs],
        cutoff=cutoff[jobs],
        origin=arrays.origin[jobs],
    )
    return own, np.concatenate([best[chosen], cutoff[others]])


def _full(arrays: OracleArrays, cutoff: IntArray, moments: IntArray) -> Ranges:
    """The first step of each stretch of full steps, and the step behind it, with an end at each of the `moments`."""
    times = np.concatenate([arrays.submit, cutoff + arrays.duration, moments])
    order = np.argsort(times, kind="stable")
    change = np.concatenate([arrays.gpus, -arrays.gpus, np.zeros(len(moments), dtype=np.int64)])
    held, times = np.cumsum(change[order])[:-1], times[order]
    full = np.flatnonzero((held > arrays.capacity) & (times[1:] > times[:-1]))
    return times[full], times[full + 1]


def _behind_full_steps(arrays: OracleArrays, cutoff: IntArray, best: IntArray) -> IntArray:
    """Cut-offs (J,) that are submissions, or behind a full step, until no window is shorter for it."""
    while True:
        begin, end = _full(arrays, cutoff, cutoff[:0])
        place = np.searchsorted(begin, cutoff)  # the stretches before this one begin before the cut-off
        behind = np.minimum(cutoff, np.concatenate([[-1], end])[place])
        found = np.maximum(behind, best)  # which submissions are before, and which may have been left as it was
        if (found == cutoff).all():
            return cutoff
        cutoff = found


def _parts(arrays: OracleArrays, cutoff: IntArray) -> IntArray:
    """The part of each job (J,), NOBODY of a job that competes nowhere."""
    submit, run_out = arrays.submit, arrays.submit + arrays.duration
    begin, end = _full(arrays, cutoff, np.concatenate([cutoff, run_out]))

    def stretches(first: IntArray, behind: IntArray) -> Ranges:
        """The stretches of full steps from some step to before another: the first one, and the one behind the last."""
        return np.searchsorted(begin, first), np.maximum(np.searchsorted(end, behind, side="right"), 0)

    early = stretches(submit, np.minimum(cutoff, run_out))
    late = stretches(np.maximum(cutoff, run_out), cutoff + arrays.duration)
    apart = cutoff <= run_out  # else the job may leave out any step of its window
    early = early[0], np.where(apart, early[1], late[1])
    late = np.where(apart, late[0], late[1]), late[1]
    linked = np.zeros(len(begin) + 1, dtype=np.int64)  # how often a stretch goes with the next one
    for low, high in (early, late):
        some = low < high
        np.add.at(linked, low[some], 1)
        np.add.at(linked, high[some] - 1, -1)
    chain = np.concatenate([[0], np.cumsum(np.cumsum(linked[:-1]) == 0)])[: len(begin)]
    union = list(range(len(chain)))

    def root(one: int) -> int:
        while union[one] != one:
            one = union[one]
        return one

    both = (early[0] < early[1]) & (late[0] < late[1])
    for one, other in zip(chain[early[0][both]].tolist(), chain[late[0][both]].tolist(), strict=True):
        union[root(one)] = root(other)
    found = np.full(len(submit), NOBODY)
    for low, high in (early, late):
        some = low < high
        found[some] = [root(k) for k in chain[low[some]].tolist()]
    names, found = np.unique(found, return_inverse=True)
    return found + (0 if NOBODY in names else 1) + NOBODY
