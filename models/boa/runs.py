"""Runs: sequences of epochs of a class at one width, and the best width of each run at a multiplier.

Let T(k) be the hours of a run at width k, including the change before it. 1/T is a weighted mean of concave speedups
and a constant, so it is concave in k. The length of the run at the multiplier μ of the budget is (v + μ c k) T(k). Here
v is the hours of mean completion time per hour of the run, and c the cost of one GPU for an hour.

A few widths give a lower bound on the length. Beyond two points, a concave function is below the line through them. If
1/T is below a line, the length is at least (v + μ c k) divided by the line. This quotient attains its minimum at an end
of an interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances import InputError
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, shares
from models.boa.curves import AMDAHL, POWER, TABLE, Curves, curves

MAX_ENTRIES = 20_000_000  # pairs of a run and one of its epochs: 160 MB per array
STEP = 3e-5  # relative distance from the best width to the next width that the bound uses
WIDTH_TOLERANCE = 1e-9  # relative accuracy of a best width
WHOLE = 1e-8  # relative distance within which a width is rounded to an integer, where tables have their corners
MAX_BISECTIONS = 200  # bisections of a search for best widths, far more than `WIDTH_TOLERANCE` needs
LARGEST = 1e60  # maximum width that the search considers


@dataclass(frozen=True, eq=False)
class Runs:
    """R runs, and the F epochs of all runs, one run after another.

    - `c`: curves of the instance.
    - `job_class`, `first`, `after`, `type` (R,): class, first epoch, the epoch after the last, GPU type.
    - `value`, `price` (R,): hours of mean completion time per hour, and cost of one GPU for an hour.
    - `pause` (R,): hours of the change before the run.
    - `end` (R,): the largest width that all epochs of the run allow.
    - `curve` (F,): curve of each epoch, an index into `c`.
    - `start` (R,): position of the first epoch of each run in `curve`.
    - `weight` (F,): hours of each epoch at width 1 with speedup 1.
    """

    c: Curves
    job_class: IntArray
    first: IntArray
    after: IntArray
    type: IntArray
    value: FloatArray
    price: FloatArray
    pause: FloatArray
    end: FloatArray
    curve: IntArray
    start: IntArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.value)

    @property
    def epoch_counts(self) -> IntArray:
        """Return the number of epochs of each run."""
        return self.after - self.first

    def take(self, chosen: IntArray) -> Runs:
        """Return the runs with the indices `chosen`."""
        counts = self.epoch_counts[chosen]
        start = np.concatenate([[0], np.cumsum(counts)[:-1]])
        flat = np.repeat(self.start[chosen] - start, counts) + np.arange(counts.sum())
        return Runs(
            self.c,
            self.job_class[chosen],
            self.first[chosen],
            self.after[chosen],
            self.type[chosen],
            self.value[chosen],
            self.price[chosen],
            self.pause[chosen],
            self.end[chosen],
            self.curve[flat],
            start,
            self.weight[flat],
        )

    def hours(self, width: FloatArray) -> FloatArray:
        """Return T(k) of each run at `width` (R,)."""
        return self.pause + np.add.reduceat(self.weight * self._times(np.repeat(width, self.epoch_counts)), self.start)

    def length_slopes(self, width: FloatArray, mu: float) -> FloatArray:
        """Return the slope (R,) of the length of each run, to the right of `width` (R,), at multiplier `mu`."""
        k = np.repeat(width, self.epoch_counts)
        hours = self.pause + np.add.reduceat(self.weight * self._times(k), self.start)
        slope = np.add.reduceat(self.weight * self._slopes(k), self.start)
        paid = mu * self.price
        return paid * hours + (self.value + paid * width) * slope

    def _times(self, k: FloatArray) -> FloatArray:
        """Return 1/s(k) of each epoch of the runs at widths `k` (F,)."""
        z = np.empty(len(k))
        for kind, at, parameter in self._kinds():
            if kind == AMDAHL:
                z[at] = 1 - parameter + parameter / k[at]
            elif kind == POWER:
                z[at] = k[at] ** -parameter
            else:
                low, speed, gain = self._pieces(k[at], parameter)
                z[at] = 1 / (speed + gain * (k[at] - low))
        return z

    def _slopes(self, k: FloatArray) -> FloatArray:
        """Return the slope of 1/s of each epoch to the right of `k` (F,)."""
        slope = np.empty(len(k))
        for kind, at, parameter in self._kinds():
            if kind == AMDAHL:
                slope[at] = -parameter / k[at] ** 2
            elif kind == POWER:
                slope[at] = -parameter * k[at] ** (-parameter - 1)
            else:
                low, speed, gain = self._pieces(k[at], parameter)
                slope[at] = -gain / (speed + gain * (k[at] - low)) ** 2
        return slope

    def _kinds(self) -> list[tuple[int, IntArray, FloatArray]]:
        """Return the indices (F,) of the epochs of each kind of curve, and their parameters."""
        if not hasattr(self, "_of_kind"):
            kinds, parameters = self.c.kind[self.curve], self.c.parameter[self.curve]
            found = [(kind, np.flatnonzero(kinds == kind)) for kind in (AMDAHL, POWER, TABLE)]
            object.__setattr__(self, "_of_kind", [(kind, at, parameters[at]) for kind, at in found if len(at)])
        cached: list[tuple[int, IntArray, FloatArray]] = self.__dict__["_of_kind"]
        return cached

    def _pieces(self, k: FloatArray, parameter: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the integer width below `k`, its speedup, and the gain of the next GPU, for tables."""
        speed, row = self.c.speed, parameter.astype(np.int64)
        low = np.minimum(k, float(speed.shape[1])).astype(np.int64)
        here = speed[row, low - 1]
        return low.astype(float), here, speed[row, np.minimum(low, speed.shape[1] - 1)] - here


def enumerate_runs(data: BoaAllocation) -> Runs:
    """Return every run of `data`; a class that changes at no cost has runs of single epochs only.

    Raises InputError if there are too many runs, or if no width limits a linear speedup.
    """
    c, types = curves(data), len(data.gpu_types)
    sizes = [len(job_class.epochs) for job_class in data.classes]
    entries = types * sum(n * (n + 1) * (n + 2) // 6 for n in sizes)
    if entries > MAX_ENTRIES:
        raise InputError(
            f"classes: real widths with rescaling times take {entries:,} pairs of a run and an epoch, over the limit "
            f"of {MAX_ENTRIES:,}: have fewer epochs, or integer widths"
        )
    columns: list[tuple[int, int, int, int]] = []
    curve: list[int] = []
    offset = 0
    for i, job_class in enumerate(data.classes):
        for a in range(sizes[i]):
            for b in range(a + 1, (sizes[i] if job_class.rescale_hours else a + 1) + 1):
                for h in range(types):
                    columns.append((i, a, b, h))
                    curve += range((offset + a) * types + h, (offset + b) * types + h, types)
        offset += sizes[i]
    i, a, b, h = np.array(columns).T
    arrivals, factor = np.array([x.arrivals_per_hour for x in data.classes]), shares(data)
    pause = np.array([x.rescale_hours for x in data.classes])
    prices, flat = np.array([t.price for t in data.gpu_types]), np.array(curve)
    start = np.concatenate([[0], np.cumsum(b - a)[:-1]])
    hours = np.array([e.size_hours for x in data.classes for e in x.epochs])[flat // types]
    linear = (c.kind != TABLE) & (c.parameter == 1) & np.isinf(c.last)
    if (np.logical_and.reduceat(linear[flat], start) & (pause[i] == 0)).any():
        raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")
    end = np.minimum.reduceat(c.last[flat], start)
    return Runs(c, i, a, b, h, factor[i], arrivals[i] * prices[h], pause[i], end, flat, start, hours)


@dataclass(frozen=True)
class RunEvaluation:
    """The runs at a multiplier.

    - `width`, `hours` (R,): the best width, and the time of the run at this width.
    - `bound` (R,): lower bound on the length over all widths.
    """

    width: FloatArray
    hours: FloatArray
    bound: FloatArray


def evaluate_runs(runs: Runs, mu: float) -> RunEvaluation:
    """Return the best widths at the multiplier `mu`, and bounds on the lengths."""
    width = _find_best_widths(runs, mu)
    return RunEvaluation(width, runs.hours(width), _bound_lengths(runs, mu, width))


def _find_best_widths(runs: Runs, mu: float) -> FloatArray:
    """Return the widths (R,) that minimise the lengths.

    1/T is concave, so each length falls up to its minimum and then rises. The sign of the slope therefore guides a
    bisection.
    """
    low, high = np.ones(len(runs)), runs.end.copy()
    wide = np.isinf(high)
    if wide.any():
        high[wide] = 2 * low[wide]
        while True:
            falls = wide & (runs.length_slopes(np.minimum(high, LARGEST), mu) < 0) & (high < LARGEST)
            if not falls.any():
                break
            low[falls], high[falls] = high[falls], high[falls] ** 2
    high = np.where(runs.length_slopes(low, mu) >= 0, low, high)
    for _ in range(MAX_BISECTIONS):
        if (high - low <= WIDTH_TOLERANCE * high).all():
            break
        middle = np.where(high > 4 * low, np.sqrt(low * high), (low + high) / 2)
        falls = runs.length_slopes(middle, mu) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    whole = np.round(high)
    return np.where(np.abs(high - whole) <= WHOLE * high, np.clip(whole, 1.0, runs.end), high)


def _bound_lengths(runs: Runs, mu: float, width: FloatArray) -> FloatArray:
    """Return lower bounds (R,) on the lengths over all widths, tight if `width` is the best one or close to it."""
    at = [np.clip(width * (1 + step * STEP), 1.0, runs.end) for step in (-2, -1, 0, 1, 2)]
    noise = (runs.epoch_counts + 20) * 2.0**-51
    speed = [1 / runs.hours(k) for k in at]
    paid = mu * runs.price

    def below(i: int, j: int, k: FloatArray, is_right: bool) -> FloatArray:
        """Return a bound on the length at `k` by the line through points i and j, which `k` is beyond."""
        gap = at[j] - at[i]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = (speed[j] - speed[i]) / gap
            loss = 3 * noise * speed[j] / gap
            rise = (slope + loss) * (k - at[j]) if is_right else -(slope - loss) * (at[i] - k)
            height = (speed[j] if is_right else speed[i]) * (1 + noise) + rise
            bound = np.where(np.isinf(k), paid / np.maximum(slope + loss, 0.0), (runs.value + paid * k) / height)
        return np.where((gap > 0) & ~np.isnan(bound) & (bound > 0), bound, 0.0)

    def piece(low: FloatArray, high: FloatArray, lines: list[tuple[int, int, bool]]) -> FloatArray:
        """Return the best bound on the lengths between two widths by `lines`; infinite if they are equal."""
        bounds = [np.minimum(below(i, j, low, right), below(i, j, high, right)) for i, j, right in lines]
        return np.where(high > low, np.max(bounds, axis=0), np.inf)

    at_best = (runs.value + paid * at[2]) / speed[2]
    pieces = [
        at_best,
        np.maximum(piece(at[3], runs.end, [(2, 3, True)]), _bound_lengths_beyond(runs, paid, at[3])),
        piece(np.ones(len(runs)), at[1], [(1, 2, False)]),
        piece(at[2], at[3], [(1, 2, True), (3, 4, False)]),
        piece(at[1], at[2], [(2, 3, False), (0, 1, True)]),
    ]
    return np.asarray(np.min(pieces, axis=0) * (1 - noise))


def _bound_lengths_beyond(runs: Runs, paid: FloatArray, width: FloatArray) -> FloatArray:
    """Return lower bounds (R,) on the lengths at `width` (R,) and beyond.

    - `paid` (R,): cost of one GPU for an hour, in hours of mean completion time.

    A line through two close widths loses its digits far beyond them. This bound does not: T(k) is at least T(K) up to
    any width K. Only formulas have no end, and for them k T(k) never falls. So for K = w + v / μ c and all k from w =
    `width` on, the length is at least (v + μ c w) T(K).
    """
    with np.errstate(divide="ignore", over="ignore"):
        furthest = np.where(np.isinf(runs.end), width + runs.value / paid, runs.end)
        return (runs.value + paid * width) * runs.hours(furthest)
