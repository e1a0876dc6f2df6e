"""Mixed-integer rounding cuts (Nemhauser and Wolsey, 1990) on the jobs that run at one time, from capacity rows.

Whole jobs do not fill up GPUs as fractions of jobs do: beside 25 single GPUs that are taken all the time, no eighth of
a job of 8 GPUs can run on 32. Rounding (12) at one slot, with the jobs in a set S complemented, says so. The cut holds
as well for the jobs that run throughout an interval, beside one job that runs at any slot of the interval: which stops
a relaxation from running parts of that job one after the other.
"""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray, IntArray
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.rows import NOBODY, IntervalRow, StartColumns

POSITIVE = 1e-9  # Shares of a job up to this one are a solver's noise.


def separate(
    columns: StartColumns, chosen: IntArray, x: FloatArray, parameters: OracleParameters = DEFAULTS
) -> list[IntervalRow]:
    """Cuts that the fractional schedule `x` of the columns `chosen`, (N,) each, violates, the most violated first."""
    positive = x > POSITIVE
    chosen, x = chosen[positive], x[positive]
    order = np.argsort(chosen)
    chosen, x = chosen[order], x[order]
    intervals = np.vstack([_pieces(columns, chosen, x), _between(columns, chosen, parameters.later_pieces)])
    found: list[tuple[float, IntervalRow]] = []
    for begin in range(0, len(intervals), parameters.intervals_at_once):
        part = intervals[begin : begin + parameters.intervals_at_once]
        found += _round(columns, part, _shares(columns, chosen, x, part), parameters)
    found.sort(key=lambda cut: -cut[0])
    taken: list[IntervalRow] = []
    count: dict[int, int] = {}
    for _, row in found:
        if row.touching != NOBODY:
            count[row.touching] = count.get(row.touching, 0) + 1
            if count[row.touching] > parameters.later_pieces:
                continue
        taken.append(row)
        if len(taken) == parameters.new_cuts:
            break
    return taken


def _pieces(columns: StartColumns, chosen: IntArray, x: FloatArray) -> IntArray:
    """(first, last, NOBODY) of one slot of each stretch in which the fractional schedule does not change."""
    slots = np.unique(np.concatenate([columns.start[chosen], columns.end[chosen]]))
    return np.column_stack([slots, slots, np.full(len(slots), NOBODY)])


def _between(columns: StartColumns, chosen: IntArray, most: int) -> IntArray:
    """(first, last, job): from the last slot of a piece of a job to the first slot of one of `most` later pieces."""
    found = []
    job, start, end = columns.job[chosen], columns.start[chosen], columns.end[chosen]
    for mine in np.split(np.arange(len(chosen)), np.flatnonzero(np.diff(job)) + 1):
        for place, p in enumerate(mine[:-1]):
            later = mine[place + 1 :]
            later = later[start[later] >= end[p] - 1][:most]
            found += [(end[p] - 1, start[q], job[p]) for q in later]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _shares(columns: StartColumns, chosen: IntArray, x: FloatArray, intervals: IntArray) -> FloatArray:
    """The share z of each job that counts in each interval, (I, J); see `IntervalRow`."""
    job, start, end = columns.job[chosen], columns.start[chosen], columns.end[chosen]
    first, last, touching = intervals[:, :1], intervals[:, 1:2], intervals[:, 2:]
    counts = np.where(job == touching, (start <= last) & (end > first), (start <= first) & (end > last))
    jobs, begin = np.unique(job, return_index=True)
    shares = np.zeros((len(intervals), len(columns.arrays.submit)))
    shares[:, jobs] = np.add.reduceat(counts * x, begin, axis=1)
    return shares


def _round(
    columns: StartColumns, intervals: IntArray, shares: FloatArray, parameters: OracleParameters
) -> list[tuple[float, IntervalRow]]:
    """The most violated cut of each interval (I, 3) for the `shares` (I, J), with the violation.

    For every divisor and remainder the jobs of a set S are complemented: those of the largest shares, every prefix of
    which is tried at once, one column of the (I, size of S) arrays for each.
    """
    gpus, capacity = columns.arrays.gpus, columns.arrays.capacity
    near = shares @ gpus > capacity - gpus.max()
    if not near.any():
        return []
    intervals, shares = intervals[near], shares[near]
    best = (shares @ gpus - capacity) / gpus.max()
    divisor = np.where(best > parameters.least_violation, 1, 0)  # 0: nothing is violated, 1: the capacity row
    size = np.zeros(len(intervals), dtype=np.int64)
    order = np.argsort(np.where(shares > POSITIVE, 1 - shares, 2.0), axis=1, kind="stable")
    order = order[:, : int((shares > POSITIVE).sum(axis=1).max())]
    sorted_shares = np.take_along_axis(shares, order, axis=1)
    sorted_gpus = gpus[order]
    for c in _divisors(gpus, parameters.most_divisors):
        inside = np.where(sorted_shares > POSITIVE, sorted_gpus % c, 0) > 0  # Multiples of c gain nothing.
        total = np.cumsum(np.where(inside, sorted_gpus, 0), axis=1)
        rest = (total - capacity) % c
        for r in np.setdiff1d(rest[inside], 0)[: parameters.most_remainders].tolist():  # no other remainder occurs
            complemented, plain = _coefficients(gpus, int(c), r)
            into, out = complemented[order], plain[order]
            gain = np.where(inside, into * (sorted_shares - 1) - out * sorted_shares, 0.0)
            value = np.cumsum(gain, axis=1) + (shares @ plain)[:, None] - r * ((capacity - total) // c)
            value = np.where((rest == r) & inside, value / r, -1.0)
            place = value.argmax(axis=1)
            top = value[np.arange(len(value)), place]
            better = top > np.maximum(best, parameters.least_violation)
            best[better], divisor[better], size[better] = top[better], c, place[better] + 1
    found = []
    for i in np.flatnonzero(divisor):
        first, last, touching = (int(v) for v in intervals[i])
        if divisor[i] == 1:  # as it stands, for the jobs that count in an interval
            row = IntervalRow(first, last, gpus, capacity, touching)
        else:
            members = order[i, : size[i]]
            members = members[gpus[members] % divisor[i] > 0]
            row = rounded(gpus, capacity, members, int(divisor[i]), (first, last, touching))
        found.append((float(best[i]), row))
    return found


def _divisors(gpus: IntArray, most: int) -> IntArray:
    """The widths to divide by: all that occur, or the `most` commonest."""
    widths, times = np.unique(gpus[gpus > 1], return_counts=True)
    return widths[np.sort(np.argsort(-times, kind="stable")[:most])]


def _coefficients(gpus: IntArray, c: int, r: int) -> tuple[IntArray, IntArray]:
    """Coefficients, r times, of jobs in S and outside of S, when the right-hand side is r below a multiple of c."""
    complemented = -(r * (-gpus // c) + np.maximum(0, -gpus % c - (c - r)))
    plain = r * (gpus // c) + np.maximum(0, gpus % c - (c - r))
    return complemented, plain


def rounded(gpus: IntArray, capacity: int, members: IntArray, c: int, where: tuple[int, int, int]) -> IntervalRow:
    """The mixed-integer rounding cut of a capacity row.

    Parameters:

    - `gpus`: width of each job, (J,).
    - `capacity`: GPUs of all pools.
    - `members`: the jobs of S, which are complemented.
    - `c`: the divisor.
    - `where`: (first, last, touching) of the row.
    """
    total = int(gpus[members].sum())
    r = (total - capacity) % c
    complemented, plain = _coefficients(gpus, c, r)
    weight = plain.copy()
    weight[members] = complemented[members]
    limit = r * ((capacity - total) // c) + int(complemented[members].sum())
    first, last, touching = where
    return IntervalRow(first, last, weight, limit, touching, c, tuple(members.tolist()))
