"""Mixed-integer rounding cuts (Nemhauser and Wolsey, 1990) on the jobs that run at the same time.

Jobs cannot be divided: if 25 of 32 GPUs run jobs of 1 GPU, not even an eighth of a job of 8 GPUs can run next to them.
Rounding constraint (12) at one slot, with the jobs of a set S complemented, expresses this. The cut is also valid for
the jobs that run throughout an interval together with one job that runs at any slot of the interval. This prevents a
relaxation from running fractions of that job one after the other.
"""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray, IntArray
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.rows import NO_JOB, IntervalRow, StartColumns

POSITIVE = 1e-9  # smaller shares of a job are rounding errors of the solver


def separate(
    columns: StartColumns, chosen: IntArray, x: FloatArray, parameters: OracleParameters = DEFAULTS
) -> list[IntervalRow]:
    """Return cuts that a fractional schedule violates, the most violated cut first.

    - `columns`: columns of the model.
    - `chosen`, `x`: indices and values of the columns of the fractional schedule, (N,) each.
    - `parameters`: limits of the separation.
    """
    p = parameters
    positive = x > POSITIVE
    chosen, x = chosen[positive], x[positive]
    order = np.argsort(chosen)
    chosen, x = chosen[order], x[order]
    slots = np.unique(np.concatenate([columns.start[chosen], columns.end[chosen]]))  # the schedule changes here only
    single = np.column_stack([slots, slots, np.full(len(slots), NO_JOB)])
    intervals = np.vstack([single, _pair_pieces(columns, chosen, p.later_pieces)])
    cuts: list[tuple[float, IntervalRow]] = []
    for begin in range(0, len(intervals), p.interval_batch):
        batch = intervals[begin : begin + p.interval_batch]
        cuts += _round_capacity(columns, batch, _compute_shares(columns, chosen, x, batch), p)
    cuts.sort(key=lambda cut: -cut[0])
    selected: list[IntervalRow] = []
    count: dict[int, int] = {}
    for _, row in cuts:
        if row.overlapping != NO_JOB:
            count[row.overlapping] = count.get(row.overlapping, 0) + 1
            if count[row.overlapping] > p.later_pieces:
                continue
        selected.append(row)
        if len(selected) == p.max_new_cuts:
            break
    return selected


def _pair_pieces(columns: StartColumns, chosen: IntArray, max_pairs: int) -> IntArray:
    """Return (first, last, job), (N, 3): intervals from the last slot of a job's piece to the first of a later piece.

    Each piece of a job, that is, each of its fractional starts, is paired with at most `max_pairs` later pieces.
    """
    pairs = []
    job, start, end = columns.job[chosen], columns.start[chosen], columns.end[chosen]
    for own in np.split(np.arange(len(chosen)), np.flatnonzero(np.diff(job)) + 1):
        for index, p in enumerate(own[:-1]):
            later = own[index + 1 :]
            later = later[start[later] >= end[p] - 1][:max_pairs]
            pairs += [(end[p] - 1, start[q], job[p]) for q in later]
    return np.array(pairs, dtype=np.int64).reshape(-1, 3)


def _compute_shares(columns: StartColumns, chosen: IntArray, x: FloatArray, intervals: IntArray) -> FloatArray:
    """Return the share z of each job that counts in each interval, (I, J); see `IntervalRow`."""
    job, start, end = columns.job[chosen], columns.start[chosen], columns.end[chosen]
    first, last, overlapping = intervals[:, :1], intervals[:, 1:2], intervals[:, 2:]
    counts = np.where(job == overlapping, (start <= last) & (end > first), (start <= first) & (end > last))
    jobs, begin = np.unique(job, return_index=True)
    shares = np.zeros((len(intervals), len(columns.arrays.submit)))
    shares[:, jobs] = np.add.reduceat(counts * x, begin, axis=1)
    return shares


def _round_capacity(
    columns: StartColumns, intervals: IntArray, shares: FloatArray, parameters: OracleParameters
) -> list[tuple[float, IntervalRow]]:
    """Return the most violated cut of each interval (I, 3) for the `shares` (I, J), with its violation.

    For every divisor and remainder, S is a prefix of the jobs in order of decreasing share. All prefixes are evaluated
    at once, as the columns of arrays of shape (I, largest size of S).
    """
    gpus, capacity = columns.arrays.gpus, columns.arrays.capacity
    near = shares @ gpus > capacity - gpus.max()
    if not near.any():
        return []
    intervals, shares = intervals[near], shares[near]
    best = (shares @ gpus - capacity) / gpus.max()
    divisor = np.where(best > parameters.min_violation, 1, 0)  # 0: no violated row; 1: the capacity row itself
    size = np.zeros(len(intervals), dtype=np.int64)
    order = np.argsort(np.where(shares > POSITIVE, 1 - shares, 2.0), axis=1, kind="stable")
    order = order[:, : int((shares > POSITIVE).sum(axis=1).max())]
    sorted_shares, sorted_gpus = np.take_along_axis(shares, order, axis=1), gpus[order]
    for c in _choose_divisors(gpus, parameters.max_divisors):
        inside = (sorted_shares > POSITIVE) & (sorted_gpus % c > 0)  # complementing multiples of c is useless
        total = np.cumsum(np.where(inside, sorted_gpus, 0), axis=1)
        rest = (total - capacity) % c
        for r in np.setdiff1d(rest[inside], 0)[: parameters.max_remainders].tolist():  # the remainders that occur
            complemented, plain = _round_coefficients(gpus, int(c), r)
            gain = np.where(inside, complemented[order] * (sorted_shares - 1) - plain[order] * sorted_shares, 0.0)
            value = np.cumsum(gain, axis=1) + (shares @ plain)[:, None] - r * ((capacity - total) // c)
            value = np.where((rest == r) & inside, value / r, -1.0)
            index = value.argmax(axis=1)
            top = value[np.arange(len(value)), index]
            better = top > np.maximum(best, parameters.min_violation)
            best[better], divisor[better], size[better] = top[better], c, index[better] + 1
    cuts = []
    for i in np.flatnonzero(divisor):
        first, last, overlapping = (int(v) for v in intervals[i])
        if divisor[i] == 1:
            row = IntervalRow(first, last, gpus, capacity, overlapping)
        else:
            members = order[i, : size[i]]
            members = members[gpus[members] % divisor[i] > 0]
            row = round_row(gpus, capacity, members, int(divisor[i]), (first, last, overlapping))
        cuts.append((float(best[i]), row))
    return cuts


def _choose_divisors(gpus: IntArray, max_count: int) -> IntArray:
    """Return the `max_count` most frequent widths above 1, in increasing order."""
    widths, times = np.unique(gpus[gpus > 1], return_counts=True)
    return widths[np.sort(np.argsort(-times, kind="stable")[:max_count])]


def _round_coefficients(gpus: IntArray, c: int, r: int) -> tuple[IntArray, IntArray]:
    """Return the rounded coefficients, times r, of jobs in S and of other jobs, (J,) each.

    The right-hand side of the capacity row with S complemented is r below a multiple of c.
    """
    complemented = -(r * (-gpus // c) + np.maximum(0, -gpus % c - (c - r)))
    return complemented, r * (gpus // c) + np.maximum(0, gpus % c - (c - r))


def round_row(
    gpus: IntArray, capacity: int, members: IntArray, divisor: int, interval: tuple[int, int, int]
) -> IntervalRow:
    """Return the mixed-integer rounding cut of a capacity row.

    - `gpus`: width of each job, (J,).
    - `capacity`: GPUs of all pools.
    - `members`: jobs of S, which are complemented.
    - `divisor`: the divisor c.
    - `interval`: (first, last, overlapping) of the row.
    """
    total = int(gpus[members].sum())
    r = (total - capacity) % divisor
    complemented, weight = _round_coefficients(gpus, divisor, r)
    weight[members] = complemented[members]
    limit = r * ((capacity - total) // divisor) + int(complemented[members].sum())
    first, last, overlapping = interval
    return IntervalRow(first, last, weight, limit, overlapping, divisor, tuple(members.tolist()))
