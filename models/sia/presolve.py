"""Presolve: shorter windows and independent components; no optimal schedule is lost.

Suppose that the windows contain the starts of all optimal schedules. A step is *overloaded* if the jobs that can occupy
it, each with some start in its window, exceed the capacity together.

1. In an optimal schedule, no job can start one step earlier. A job with start t > s_j would then also occupy step t - 1
   and exceed the capacity there. Hence t - 1 is overloaded: windows end right after an overloaded step, or at s_j.
2. A job *competes* at the overloaded steps that it occupies with some of its starts but not with all. Jobs that compete
   at a common step are in the same component. Jobs that compete nowhere start at s_j, by 1. At an overloaded step, only
   jobs of one component have a choice, and all other steps have enough capacity. The components are thus independent.
3. Hence no component has more delay in an optimal schedule than in a given schedule, and none of its jobs waits longer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances.arrays import IntArray
from instances.sia.arrays import OracleArrays
from models.sia.rows import NO_JOB

Ranges = tuple[IntArray, IntArray]
NO_COMPONENT = NO_JOB  # the component of a job that competes nowhere


def presolve(arrays: OracleArrays, best: IntArray) -> tuple[OracleArrays, IntArray, IntArray]:
    """Shorten the windows and divide the problem into independent components.

    - `arrays`: the problem.
    - `best`: a feasible schedule, (J,).

    Returns the arrays with earlier cut-offs, the component of each job (J,), numbered from 0 or NO_COMPONENT, and the
    schedule with all jobs outside components at s_j. Within the windows, the starts of a component are feasible if they
    are feasible together with the steps that the other jobs occupy for all their starts.
    """
    cutoff = np.minimum(arrays.cutoff, arrays.submit + arrays.delay(best))
    while True:
        before = cutoff = _shorten_windows(arrays, cutoff, best)
        component = _find_components(arrays, cutoff)
        best = np.where(component == NO_COMPONENT, arrays.submit, best)
        delay = np.bincount(component + 1, best - arrays.submit)
        delay[0] = 0  # jobs outside components
        cutoff = np.minimum(cutoff, arrays.submit + delay.astype(np.int64)[component + 1])
        if (cutoff == before).all():
            return replace(arrays, cutoff=cutoff), component, best


def isolate_jobs(arrays: OracleArrays, chosen: IntArray, best: IntArray) -> tuple[OracleArrays, IntArray]:
    """Return the problem of the `chosen` jobs (N,) and its schedule according to `best` (J,).

    Other jobs occupy only the steps that they occupy for all their starts. They follow the chosen jobs in the arrays,
    with a single start each.
    """
    submit, cutoff, duration = arrays.submit, arrays.cutoff, arrays.duration
    occupied = duration - (cutoff - submit)  # steps that a job occupies for all its starts, from its cut-off on
    begin, end = submit[chosen].min(), (cutoff + duration)[chosen].max()
    is_other = (occupied > 0) & (cutoff < end) & (cutoff + occupied > begin)
    is_other[chosen] = False
    others = np.flatnonzero(is_other)
    jobs = np.concatenate([chosen, others])
    own = replace(
        arrays,
        submit=np.concatenate([submit[chosen], cutoff[others]]),
        duration=np.concatenate([duration[chosen], occupied[others]]),
        gpus=arrays.gpus[jobs],
        cutoff=cutoff[jobs],
        origin=arrays.origin[jobs],
    )
    return own, np.concatenate([best[chosen], cutoff[others]])


def _find_overloads(arrays: OracleArrays, cutoff: IntArray, breaks: IntArray) -> Ranges:
    """Return begin and end of each interval of overloaded steps; intervals are split at the time points `breaks`."""
    times = np.concatenate([arrays.submit, cutoff + arrays.duration, breaks])
    order = np.argsort(times, kind="stable")
    change = np.concatenate([arrays.gpus, -arrays.gpus, np.zeros(len(breaks), dtype=np.int64)])
    demand, times = np.cumsum(change[order])[:-1], times[order]
    overloaded = np.flatnonzero((demand > arrays.capacity) & (times[1:] > times[:-1]))
    return times[overloaded], times[overloaded + 1]


def _shorten_windows(arrays: OracleArrays, cutoff: IntArray, best: IntArray) -> IntArray:
    """Return cut-offs (J,) that are submissions or ends of overloaded steps, but not before `best`; see 1."""
    while True:
        begin, end = _find_overloads(arrays, cutoff, cutoff[:0])
        last = np.concatenate([[-1], end])[
            np.searchsorted(begin, cutoff)
        ]  # end of the last interval that begins before
        shorter = np.maximum(np.minimum(cutoff, last), best)  # `best` is never before the submission
        if (shorter == cutoff).all():
            return cutoff
        cutoff = shorter


def _find_components(arrays: OracleArrays, cutoff: IntArray) -> IntArray:
    """Return the component of each job, (J,); NO_COMPONENT for jobs that compete nowhere."""
    submit, earliest_end = arrays.submit, arrays.submit + arrays.duration
    begin, end = _find_overloads(arrays, cutoff, np.concatenate([cutoff, earliest_end]))

    def find_intervals(first: IntArray, behind: IntArray) -> Ranges:
        """Return the indices [low, high) of the overloaded intervals in the steps from `first` to before `behind`."""
        return np.searchsorted(begin, first), np.maximum(np.searchsorted(end, behind, side="right"), 0)

    # A job competes before its cut-off and after its earliest end, or everywhere if it may avoid any step.
    early = find_intervals(submit, np.minimum(cutoff, earliest_end))
    late = find_intervals(np.maximum(cutoff, earliest_end), cutoff + arrays.duration)
    is_split = cutoff <= earliest_end
    early = early[0], np.where(is_split, early[1], late[1])
    late = np.where(is_split, late[0], late[1]), late[1]
    links = np.zeros(len(begin) + 1, dtype=np.int64)  # differences of the number of jobs that link neighbours
    for low, high in (early, late):
        is_nonempty = low < high
        np.add.at(links, low[is_nonempty], 1)
        np.add.at(links, high[is_nonempty] - 1, -1)
    chain = np.concatenate([[0], np.cumsum(np.cumsum(links[:-1]) == 0)])[: len(begin)]
    parent = list(range(len(chain)))

    def find_root(node: int) -> int:
        while parent[node] != node:
            node = parent[node]
        return node

    both = (early[0] < early[1]) & (late[0] < late[1])
    for one, other in zip(chain[early[0][both]].tolist(), chain[late[0][both]].tolist(), strict=True):
        parent[find_root(one)] = find_root(other)
    component = np.full(len(submit), NO_COMPONENT)
    for low, high in (early, late):
        is_nonempty = low < high
        component[is_nonempty] = [find_root(k) for k in chain[low[is_nonempty]].tolist()]
    names, component = np.unique(component, return_inverse=True)
    return component + (0 if NO_COMPONENT in names else 1) + NO_COMPONENT
