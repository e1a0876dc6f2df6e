"""The Lagrangian dual of the convex problem: at a price μ of the budget every curve has a best point of its own.

Best points are closed forms on formulas, and on tables the slopes of the segments tell them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from instances import InputError
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa.speedup import amdahl_time, power_time
from models.boa.convex.curves import AMDAHL, POWER, TABLE, Curves

# The rounding is relative: more than that of floats amounts to in a time or a cost and in sums of them.
ROUNDING = 1e-13
CELLS = 1_000_000  # So many numbers at most are worked out at a time.
LARGE = 1e200  # Beside a multiplier this large, time counts for nothing.


@dataclass(frozen=True)
class Choice:
    """The best points of the epochs at a multiplier.

    - `mu`: the multiplier μ of the budget.
    - `type`, `width` (n,): GPU type and number of GPUs of each epoch.
    - `times`, `costs` (n,): hours of mean completion time, and cost, of each epoch.
    - `time`, `cost`: totals.
    """

    mu: float
    type: IntArray
    width: FloatArray
    times: FloatArray
    costs: FloatArray
    time: float
    cost: float

    def dual(self, budget: float) -> float:
        """The Lagrangian L(μ)."""
        return self.time + self.mu * (self.cost - budget)


class ConvexDual:
    """The dual function L(μ) = min time + μ (cost - budget) of the curves `c`, and the choices that attain L."""

    def __init__(self, c: Curves) -> None:
        self.c = c
        self._of = [np.flatnonzero(c.kind == kind) for kind in (AMDAHL, POWER, TABLE)]
        amdahl, power, table = self._of
        worth = c.value / c.price
        p, a = c.parameter[amdahl], c.parameter[power]
        with np.errstate(divide="ignore", invalid="ignore"):
            self._amdahl = np.sqrt(np.where(p > 0, worth[amdahl] * p / (1 - p), 0.0))
            self._power = np.where(a > 0, worth[power] * a / (1 - a), 0.0)
            z = 1 / np.ascontiguousarray(c.speed.T)  # A row holds one width, along which the slopes are counted.
            gain, loss = z[:-1] - z[1:], np.diff(z * np.arange(1.0, len(z) + 1)[:, None], axis=0)
            slope = gain / loss
        slope[(loss <= 0) & (gain > 0)] = np.inf
        slope[gain <= 0] = 0.0
        _keep_to_hull(slope, z, c.on_hull)
        self._slope = slope
        self._z = z
        self._worth = worth[table]
        self._row = c.rows()
        self._plain = len(self._row) == len(c.speed) and bool((self._row == np.arange(len(self._row))).all())

    def _points(self, mu: float) -> tuple[FloatArray, FloatArray]:
        """The best width and time z of every curve at multiplier `mu`, both (N,)."""
        c = self.c
        amdahl, power, table = self._of
        width, z = np.empty(len(c.value)), np.empty(len(c.value))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if len(amdahl):
                k = np.where(self._amdahl > 0, self._amdahl / np.sqrt(mu), 0.0)
                width[amdahl], z[amdahl] = self._settled(amdahl, k, mu)
            if len(power):
                k = np.where(self._power > 0, self._power / mu, 0.0)
                width[power], z[power] = self._settled(power, k, mu)
        if len(table):
            steps = self._slope if self._plain else self._slope[:, self._row]
            at = (steps > mu / self._worth).sum(0, dtype=np.int32)
            width[table], z[table] = at + 1.0, self._z[at, self._row]
        return width, z

    def _settled(self, of: IntArray, width: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
        """Best widths of the curves `of`, all Amdahl's or all powers, cut to the limits, and the times z there.

        Where widths are whole the better of the two on either side: the length falls up to the best width and rises
        from there on.
        """
        c = self.c
        width = np.minimum(np.maximum(width, 1.0), c.last[of])
        z = self._time(of, width)
        if not c.whole:
            return width, z
        below, above = np.floor(width), np.minimum(np.floor(width) + 1, c.last[of])
        z, z_above = self._time(of, below), self._time(of, above)
        gain, loss = c.value[of] * (z - z_above), mu * c.price[of] * (z_above * above - z * below)
        up = gain > loss
        return np.where(up, above, below), np.where(up, z_above, z)

    def at(self, mu: float) -> Choice:
        """The best point of every epoch at multiplier `mu` >= 0."""
        c = self.c
        width, z = self._points(mu)
        with np.errstate(invalid="ignore", over="ignore"):
            times, costs = c.value * z, np.where(np.isinf(width), np.inf, c.price * z * width)
        best = np.zeros(c.epochs, dtype=np.int64)
        if c.types > 1:
            length = times + mu * costs if mu > 0 else times
            best = length.reshape(-1, c.types).argmin(1)
            chosen = np.arange(c.epochs) * c.types + best
            width, times, costs = width[chosen], times[chosen], costs[chosen]
        return Choice(mu, best, width, times, costs, float(times.sum()), float(costs.sum()))

    def _time(self, of: IntArray, width: FloatArray) -> FloatArray:
        """Times z = 1/s at `width` (m,) of the curves `of` (m,), which are all Amdahl's or all powers."""
        time = amdahl_time if self.c.kind[of[0]] == AMDAHL else power_time
        return time(self.c.parameter[of], width)

    def bound(self, mu: float, budget: float) -> float:
        """The Lagrangian bound L(μ) on every policy that keeps `budget`, less what rounding can have added.

        Tables are read at every width: slopes that differ by rounding alone may be out of order.
        """
        c, table = self.c, self._of[TABLE]
        width, z = self._points(mu)
        length = c.value * z
        if mu > 0:
            length += mu * c.price * z * width
        if len(table):
            width_of_row, step = np.arange(1.0, len(self._z) + 1)[:, None], max(1, CELLS // len(self._z))
            for begin in range(0, len(table), step):
                part = table[begin : begin + step]
                z_of = self._z[:, self._row[begin : begin + step]]
                length[part] = (z_of * (c.value[part] + mu * c.price[part] * width_of_row)).min(0)
        least, paid = float(length.reshape(-1, c.types).min(1).sum()), mu * budget
        return max(0.0, least - paid - ROUNDING * (least + paid))

    def widest(self, mu: float) -> float:
        """The widest of the best points of the formulas at multiplier `mu`; every table has an end of its own."""
        formulas = self.c.kind != TABLE
        return float(self._points(mu)[0][formulas].max(initial=1.0))

    def check_bounded(self) -> None:
        """Raise InputError where a curve speeds up without limit at no more cost, and no width ends it."""
        linear = (self.c.kind != TABLE) & (self.c.parameter == 1) & np.isinf(self.c.last)
        if linear.any():
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")


@dataclass(frozen=True)
class Mix:
    """A mix of two choices, and a bound on all policies within the budget.

    - `dear`, `cheap`: a choice over the budget, and a choice within.
    - `share`: weight of the dear choice; the cheap one has the rest.
    - `bound`: mean completion time, hours, that no policy beats.
    """

    dear: Choice
    cheap: Choice
    share: float
    bound: float

    @property
    def time(self) -> float:
        """Mean completion time, hours."""
        return self.share * self.dear.time + (1 - self.share) * self.cheap.time


def _keep_to_hull(slope: FloatArray, z: FloatArray, on_hull: BoolArray) -> None:
    """Give all steps (K - 1, rows) between two widths that can be run at the slope of the line through these.

    Rounding alone would tell them apart, and the best point would be a width in between.
    """
    for row in np.flatnonzero(~on_hull.all(axis=1)):
        corners = np.flatnonzero(on_hull[row])
        for a, b in pairwise(corners):
            gain, loss = z[a, row] - z[b, row], z[b, row] * (b + 1) - z[a, row] * (a + 1)
            slope[a:b, row] = 0.0 if gain <= 0 else np.inf if loss <= 0 else gain / loss
        slope[corners[-1] :, row] = 0.0
