"""The loop of the label-setting of `labels`, compiled (numba).

The labels after an epoch are sorted by choice, then cost, and nondominated within a choice. Staying shifts all labels
of a choice alike, and so does changing to it, so that both keep their order: two sorted lists are merged, and only the
labels that leave have to be sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.boa.arrays import FloatArray, IntArray
from instances.compiled import compiled

Array = NDArray[Any]
Live = tuple[IntArray, FloatArray, IntArray, IntArray]
"""Choice, reduced cost, cost and time of the labels after an epoch."""

AT_ONCE = 5_000_000  # Labels and pairs of labels after which the loop comes back for a look at the limits.
FIRST = 1_024  # Room for labels to begin with.


@compiled
def _merged(
    positions: IntArray, starts: IntArray, runs: int, cost: IntArray, time: IntArray, spare: tuple[IntArray, IntArray]
) -> IntArray:
    """The nondominated of `positions`, by rising cost, of which the first `runs` of `starts` each begin a sorted run.

    The runs are merged one after another into what is nondominated so far, of which there is far less. `spare` is room
    for as many positions, twice.
    """
    found, other = spare
    n = 0
    for run in range(runs):
        a, a_end, b, b_end, made = 0, n, starts[run], starts[run + 1], 0
        last_cost, last_time = -1, np.iinfo(np.int64).max
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and cost[found[a]] <= cost[positions[b]]):
                p, a = found[a], a + 1
            else:
                p, b = positions[b], b + 1
            if time[p] < last_time:
                made -= cost[p] == last_cost
                other[made] = p
                made += 1
                last_cost, last_time = cost[p], time[p]
        found, other, n = other, found, made
    return found[:n]


@compiled
def extended(
    stay: FloatArray,
    leave: FloatArray,
    enter: FloatArray,
    run_cost: IntArray,
    run_time: IntArray,
    change_cost: IntArray,
    change_time: int,
    j: int,
    epochs: int,
    live: Live,
    limit: float,
    budget: int,
    latest: int,
    most: int,
) -> tuple[int, Live, Array, Array, IntArray, bool]:
    """The labels some epochs on, from epoch `j` to the one returned: as many as `AT_ONCE` allows.

    - `stay`, `leave`, `enter` (L, S), `run_cost`, `run_time` (L, S), `change_cost` (S,), `change_time`: the arcs of
      the class.
    - `live`: the labels before.
    - `limit`, `budget`, `latest`: most reduced cost, cost and time.
    - `most`: number of labels to truncate to after every epoch.

    Returned with them are the predecessor and the choice of every label on the way, the number of labels after each
    epoch, and whether nothing was truncated.
    """
    choice, reduced_cost, cost, time = live
    old, room = len(choice), max(FIRST, 2 * len(choice))
    choice, cost, time = _longer(choice, room), _longer(cost, room), _longer(time, room)
    reduced_cost = _longer(reduced_cost, room)
    new_choice, new_cost, new_time = np.empty_like(choice), np.empty_like(cost), np.empty_like(time)
    new_reduced, new_before = np.empty_like(reduced_cost), np.empty_like(choice)
    leaves, spare = np.empty_like(choice), (np.empty_like(choice), np.empty_like(choice))
    starts = np.empty(enter.shape[1] + 1, dtype=np.int64)
    left, left_cost, left_time = np.empty_like(reduced_cost), np.empty_like(cost), np.empty_like(time)
    trail_before, trail_choice = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    counts = np.empty(epochs - j, dtype=np.int64)
    held, work, whole, done = 0, 0, True, 0
    while j < epochs and work < AT_ONCE:
        out = runs = 0
        for p in range(old):
            if reduced_cost[p] + leave[j, choice[p]] <= limit:
                if out == 0 or choice[p] != choice[leaves[out - 1]]:
                    starts[runs] = out
                    runs += 1
                leaves[out] = p
                out += 1
        starts[runs] = out
        leaving = _merged(leaves, starts, runs, cost, time, spare)
        out, least_left = len(leaving), np.inf
        for q in range(out):
            p = leaving[q]
            left[q], left_cost[q], left_time[q] = reduced_cost[p] + leave[j, choice[p]], cost[p], time[p] + change_time
            least_left = min(least_left, left[q])
        n, p = 0, 0
        for k in range(enter.shape[1]):
            first = p
            while p < old and choice[p] == k:
                p += 1
            entering = enter[j, k] + least_left <= limit
            if first == p and not entering:
                continue
            s, q = first, 0 if entering else out
            work += p - s + out - q
            stay_k, enter_k, change_k = stay[j, k], enter[j, k], change_cost[k]
            cost_k, time_k = run_cost[j, k], run_time[j, k]
            while n + p - s + out - q > room:
                room *= 2
                choice, reduced_cost = _longer(choice, room), _longer(reduced_cost, room)
                cost, time = _longer(cost, room), _longer(time, room)
                new_choice, new_reduced = _longer(new_choice, room), _longer(new_reduced, room)
                new_cost, new_time = _longer(new_cost, room), _longer(new_time, room)
                new_before = _longer(new_before, room)
                left, left_cost, left_time = _longer(left, room), _longer(left_cost, room), _longer(left_time, room)
                leaves, spare = np.empty_like(choice), (np.empty_like(choice), np.empty_like(choice))
            last_cost, last_time = -1, latest + 1
            while True:
                while s < p and reduced_cost[s] + stay_k > limit:
                    s += 1
                while q < out and left[q] + enter_k > limit:
                    q += 1
                if s == p and q == out:
                    break
                if q == out or (s < p and cost[s] <= left_cost[q] + change_k):
                    source, at, c, t = s, reduced_cost[s] + stay_k, cost[s] + cost_k, time[s] + time_k
                    s += 1
                else:
                    source, at = leaving[q], left[q] + enter_k
                    c, t = left_cost[q] + change_k + cost_k, left_time[q] + time_k
                    q += 1
                if c > budget:
                    break
                if t < last_time:
                    n -= c == last_cost
                    new_choice[n], new_before[n], new_reduced[n], new_cost[n], new_time[n] = k, source, at, c, t
                    n += 1
                    last_cost, last_time = c, t
        if n > most:
            n, whole = _truncate(new_reduced, n, most, new_choice, new_before, new_cost, new_time), False
        if held + n > len(trail_before):
            trail_before = _longer(trail_before, 2 * (held + n))
            trail_choice = _longer(trail_choice, 2 * (held + n))
        for m in range(n):
            trail_before[held + m], trail_choice[held + m] = new_before[m], new_choice[m]
        choice, new_choice, cost, new_cost = new_choice, choice, new_cost, cost
        time, new_time, reduced_cost, new_reduced = new_time, time, new_reduced, reduced_cost
        counts[done], old = n, n
        held, done, j = held + n, done + 1, j + 1
    live = (choice[:old].copy(), reduced_cost[:old].copy(), cost[:old].copy(), time[:old].copy())
    return j, live, trail_before[:held].copy(), trail_choice[:held].copy(), counts[:done].copy(), whole


@compiled
def _longer(values: Array, room: int) -> Array:
    """A copy with more room."""
    longer = np.empty(room, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


@compiled
def _truncate(
    reduced_cost: FloatArray, n: int, most: int, choice: IntArray, before: IntArray, cost: IntArray, time: IntArray
) -> int:
    """Move about `most` of the first `n` labels to the front: half of least reduced cost, half spread evenly."""
    half = most // 2
    least = _smallest(reduced_cost[:n].copy(), half - 1)
    kept = near = even = 0
    for p in range(n):
        at_even = p == even * (n - 1) // max(1, half - 1)
        at_near = reduced_cost[p] <= least and near < half
        even, near = even + at_even, near + at_near
        if at_even or at_near:
            choice[kept], before[kept], reduced_cost[kept] = choice[p], before[p], reduced_cost[p]
            cost[kept], time[kept] = cost[p], time[p]
            kept += 1
    return kept


@compiled
def _smallest(values: FloatArray, k: int) -> float:
    """The value at place `k` in order, by Hoare's quickselect; `values` are moved about."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot, a, b = values[(low + high) // 2], low, high
        while a <= b:
            while values[a] < pivot:
                a += 1
            while values[b] > pivot:
                b -= 1
            if a <= b:
                values[a], values[b] = values[b], values[a]
                a, b = a + 1, b - 1
        if k <= b:
            high = b
        elif k >= a:
            low = a
        else:
            break
    return values[k]
