"""The compiled loop (numba) of the label setting in `labels`.

The labels after an epoch are sorted by choice, then by cost, and are nondominated within a choice. To keep a choice
adds the same amount to all labels of the choice, and so does a change to it, so both keep the order. Two sorted lists
are then merged; only the labels that leave their choice are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.boa.arrays import FloatArray, IntArray
from instances.compiled import compile_lazily

Array = NDArray[Any]
Live = tuple[IntArray, FloatArray, IntArray, IntArray]
"""Choice, reduced cost, cost and time of the labels after an epoch."""

AT_ONCE = 5_000_000  # operations on labels per call; the limits are checked between calls
INITIAL_CAPACITY = 1_024  # labels; the arrays grow by doubling


@compile_lazily
def _merge_sorted_runs(
    positions: IntArray, starts: IntArray, runs: int, cost: IntArray, time: IntArray, spare: tuple[IntArray, IntArray]
) -> IntArray:
    """Return the nondominated labels of `positions` by increasing cost.

    - `positions`: indices of labels, in sorted runs.
    - `starts`: the first position of each run, and the end of the last; `runs` is the number of runs.
    - `cost`, `time`: of all labels.
    - `spare`: two arrays of working memory, each as long as `positions`.

    The runs are merged one after another into the current nondominated labels, which are far fewer.
    """
    merged, other = spare
    n = 0
    for run in range(runs):
        a, a_end, b, b_end, size = 0, n, starts[run], starts[run + 1], 0
        last_cost, last_time = -1, np.iinfo(np.int64).max
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and cost[merged[a]] <= cost[positions[b]]):
                p, a = merged[a], a + 1
            else:
                p, b = positions[b], b + 1
            if time[p] < last_time:
                size -= cost[p] == last_cost
                other[size] = p
                size += 1
                last_cost, last_time = cost[p], time[p]
        merged, other, n = other, merged, size
    return merged[:n]


@compile_lazily
def extend_labels(
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
    max_labels: int,
) -> tuple[int, Live, Array, Array, IntArray, bool]:
    """Extend the labels epoch by epoch from epoch `j`, until `AT_ONCE` operations are done.

    - `stay`, `leave`, `enter` (L, S): reduced costs of the class.
    - `run_cost`, `run_time` (L, S), `change_cost` (S,), `change_time`: units of the class.
    - `live`: the labels before epoch `j`.
    - `limit`, `budget`, `latest`: maximum reduced cost, cost and time.
    - `max_labels`: number of labels to which the set is truncated after every epoch.

    Return the next epoch, its labels, the predecessor and the choice of every label of the epochs in between, the
    number of labels after each of these epochs, and whether no label was truncated.
    """
    choice, reduced_cost, cost, time = live
    old, room = len(choice), max(INITIAL_CAPACITY, 2 * len(choice))
    choice, cost, time = _resize(choice, room), _resize(cost, room), _resize(time, room)
    reduced_cost = _resize(reduced_cost, room)
    new_choice, new_cost, new_time = np.empty_like(choice), np.empty_like(cost), np.empty_like(time)
    new_reduced, new_before = np.empty_like(reduced_cost), np.empty_like(choice)
    leaver_order, spare = np.empty_like(choice), (np.empty_like(choice), np.empty_like(choice))
    starts = np.empty(enter.shape[1] + 1, dtype=np.int64)
    leaver_reduced, leaver_cost, leaver_time = np.empty_like(reduced_cost), np.empty_like(cost), np.empty_like(time)
    trail_before, trail_choice = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    counts = np.empty(epochs - j, dtype=np.int64)
    trail_length, work, is_whole, epochs_done = 0, 0, True, 0
    while j < epochs and work < AT_ONCE:
        out = runs = 0
        for p in range(old):
            if reduced_cost[p] + leave[j, choice[p]] <= limit:
                if out == 0 or choice[p] != choice[leaver_order[out - 1]]:
                    starts[runs] = out
                    runs += 1
                leaver_order[out] = p
                out += 1
        starts[runs] = out
        leaving = _merge_sorted_runs(leaver_order, starts, runs, cost, time, spare)
        out, min_left = len(leaving), np.inf
        for q in range(out):
            p = leaving[q]
            leaver_reduced[q], leaver_cost[q], leaver_time[q] = (
                reduced_cost[p] + leave[j, choice[p]],
                cost[p],
                time[p] + change_time,
            )
            min_left = min(min_left, leaver_reduced[q])
        n, p = 0, 0
        for k in range(enter.shape[1]):
            first = p
            while p < old and choice[p] == k:
                p += 1
            entering = enter[j, k] + min_left <= limit
            if first == p and not entering:
                continue
            s, q = first, 0 if entering else out
            work += p - s + out - q
            stay_k, enter_k, change_k = stay[j, k], enter[j, k], change_cost[k]
            cost_k, time_k = run_cost[j, k], run_time[j, k]
            while n + p - s + out - q > room:
                room *= 2
                choice, reduced_cost = _resize(choice, room), _resize(reduced_cost, room)
                cost, time = _resize(cost, room), _resize(time, room)
                new_choice, new_reduced = _resize(new_choice, room), _resize(new_reduced, room)
                new_cost, new_time = _resize(new_cost, room), _resize(new_time, room)
                new_before = _resize(new_before, room)
                leaver_reduced, leaver_cost, leaver_time = (
                    _resize(leaver_reduced, room),
                    _resize(leaver_cost, room),
                    _resize(leaver_time, room),
                )
                leaver_order, spare = np.empty_like(choice), (np.empty_like(choice), np.empty_like(choice))
            last_cost, last_time = -1, latest + 1
            while True:
                while s < p and reduced_cost[s] + stay_k > limit:
                    s += 1
                while q < out and leaver_reduced[q] + enter_k > limit:
                    q += 1
                if s == p and q == out:
                    break
                if q == out or (s < p and cost[s] <= leaver_cost[q] + change_k):
                    source, reduced, c, t = s, reduced_cost[s] + stay_k, cost[s] + cost_k, time[s] + time_k
                    s += 1
                else:
                    source, reduced = leaving[q], leaver_reduced[q] + enter_k
                    c, t = leaver_cost[q] + change_k + cost_k, leaver_time[q] + time_k
                    q += 1
                if c > budget:
                    break
                if t < last_time:
                    n -= c == last_cost
                    new_choice[n], new_before[n], new_reduced[n], new_cost[n], new_time[n] = k, source, reduced, c, t
                    n += 1
                    last_cost, last_time = c, t
        if n > max_labels:
            n, is_whole = _truncate(new_reduced, n, max_labels, new_choice, new_before, new_cost, new_time), False
        if trail_length + n > len(trail_before):
            trail_before = _resize(trail_before, 2 * (trail_length + n))
            trail_choice = _resize(trail_choice, 2 * (trail_length + n))
        for m in range(n):
            trail_before[trail_length + m], trail_choice[trail_length + m] = new_before[m], new_choice[m]
        choice, new_choice, cost, new_cost = new_choice, choice, new_cost, cost
        time, new_time, reduced_cost, new_reduced = new_time, time, new_reduced, reduced_cost
        counts[epochs_done], old = n, n
        trail_length, epochs_done, j = trail_length + n, epochs_done + 1, j + 1
    live = (choice[:old].copy(), reduced_cost[:old].copy(), cost[:old].copy(), time[:old].copy())
    return (
        j,
        live,
        trail_before[:trail_length].copy(),
        trail_choice[:trail_length].copy(),
        counts[:epochs_done].copy(),
        is_whole,
    )


@compile_lazily
def _resize(values: Array, room: int) -> Array:
    """Return a copy with a capacity of `room` entries."""
    longer = np.empty(room, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


@compile_lazily
def _truncate(
    reduced_cost: FloatArray,
    n: int,
    max_labels: int,
    choice: IntArray,
    before: IntArray,
    cost: IntArray,
    time: IntArray,
) -> int:
    """Keep about `max_labels` of the first `n` labels, half of minimum reduced cost, half evenly spread, in front."""
    half = max_labels // 2
    threshold = _select(reduced_cost[:n].copy(), half - 1)
    count = near = even = 0
    for p in range(n):
        at_even = p == even * (n - 1) // max(1, half - 1)
        at_near = reduced_cost[p] <= threshold and near < half
        even, near = even + at_even, near + at_near
        if at_even or at_near:
            choice[count], before[count], reduced_cost[count] = choice[p], before[p], reduced_cost[p]
            cost[count], time[count] = cost[p], time[p]
            count += 1
    return count


@compile_lazily
def _select(values: FloatArray, k: int) -> float:
    """Return the value at index `k` in sorted order by Hoare's quickselect; `values` are reordered."""
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
