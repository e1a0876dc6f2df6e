"""The convex problem's pieces: for every epoch and GPU type, time against cost as the width varies.

Run at width k, an epoch takes z = 1/s(k) of its size and costs c = k/s(k) of it. On the hull of s, c is a convex
function of z, also where s is linear between the corners of a table.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from instances import InputError
from instances.boa import BoaAllocation, shares
from instances.boa.arrays import MOST_CELLS
from models.boa.rescaling.network import FloatArray, IntArray

AMDAHL, POWER, TABLE = 0, 1, 2
ROUNDING = 1e-13  # relative: more than the rounding of floats amounts to in a time or a cost and in their sums


@dataclass(frozen=True)
class Curves:
    """N = epochs of all classes (n) times GPU types (H) curves, the types of an epoch side by side.

    `value` (N,): hours of mean completion time for z = 1. `price` (N,): cost for c = 1. `kind` (N,) and `parameter`
    (N,): Amdahl's p, the exponent, or the row of the table. `last` (N,): the widest run. `speed` (rows, K): tables on
    1 ... K GPUs, level past their end. `types`: H. `whole`: whether only whole widths count.
    """

    value: FloatArray
    price: FloatArray
    kind: IntArray
    parameter: FloatArray
    last: FloatArray
    speed: FloatArray
    types: int
    whole: bool = False

    @property
    def epochs(self) -> int:
        return len(self.value) // self.types

    def rows(self) -> IntArray:
        """The rows of `speed` of the table curves, in the order of the curves."""
        return self.parameter[self.kind == TABLE].astype(np.int64)


def curves(data: BoaAllocation, tabulated: int | None = None) -> Curves:
    """The curves of `data`; with `tabulated`, formulas are tables of their values at the whole widths up to that.

    Raises InputError where the tables are too many.
    """
    value, price, kind, parameter, last = [], [], [], [], []
    row_of: dict[Hashable, int] = {}
    rows: list[FloatArray] = []
    end = min(tabulated or 1, data.max_width or tabulated or 1)
    for c, share in zip(data.classes, shares(data), strict=True):
        for epoch in c.epochs:
            for gpu_type in data.gpu_types:
                curve = epoch.speedup.on(gpu_type.name)
                value.append(share * epoch.size_hours)
                price.append(c.arrivals_per_hour * epoch.size_hours * gpu_type.price)
                if curve.table is None and tabulated is None:
                    kind.append(AMDAHL if curve.amdahl is not None else POWER)
                    parameter.append(curve.amdahl if curve.amdahl is not None else curve.power)
                    last.append(float(data.max_width or np.inf))
                    continue
                if curve.table is not None:
                    hull = curve.table.hull(data.max_width)
                    row = row_of.setdefault(hull, len(rows))
                    if row == len(rows):
                        rows.append(hull.speedup)
                else:
                    row = row_of.setdefault((curve.amdahl, curve.power), len(rows))
                    if row == len(rows):
                        rows.append(curve.at(np.arange(1.0, end + 1)))
                kind.append(TABLE)
                parameter.append(row)
                last.append(len(rows[row]))
    length = max((len(row) for row in rows), default=1)
    if length * len(value) > MOST_CELLS:
        raise InputError(
            f"max_width: must be given, or smaller: {len(value):,} epochs and types at {length:,} widths are over the "
            f"limit of {MOST_CELLS:,} together"
        )
    speed = np.array([np.pad(row, (0, length - len(row)), mode="edge") for row in rows]).reshape(-1, length)
    return Curves(
        np.array(value),
        np.array(price),
        np.array(kind),
        np.array(parameter, dtype=float),
        np.array(last, dtype=float),
        speed,
        len(data.gpu_types),
        whole=data.widths == "integer",
    )


@dataclass(frozen=True)
class Choice:
    """The best point of each epoch at a multiplier; all (n,): its GPU type, width, time and cost; and their sums."""

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


class Lagrangian:
    """Minimises time + μ cost on every curve by closed forms, and on tables by the slopes of their segments."""

    def __init__(self, c: Curves) -> None:
        self.c = c
        self._of = [np.flatnonzero(c.kind == kind) for kind in (AMDAHL, POWER, TABLE)]
        amdahl, power, table = self._of
        worth = c.value / c.price
        p, a = c.parameter[amdahl], c.parameter[power]
        with np.errstate(divide="ignore", invalid="ignore"):
            self._amdahl = np.sqrt(np.where(p > 0, worth[amdahl] * p / (1 - p), 0.0))
            self._power = np.where(a > 0, worth[power] * a / (1 - a), 0.0)
            z = 1 / np.ascontiguousarray(c.speed.T)  # one width a row: that is how the slopes are counted
            gain, loss = z[:-1] - z[1:], np.diff(z * np.arange(1.0, len(z) + 1)[:, None], axis=0)
            slope = gain / loss
        slope[(loss <= 0) & (gain > 0)] = np.inf
        slope[gain <= 0] = 0.0
        self._slope = slope
        self._z = z
        self._worth = worth[table]
        self._row = c.rows()
        self._plain = len(self._row) == len(c.speed) and bool((self._row == np.arange(len(self._row))).all())

    def _points(self, mu: float) -> tuple[FloatArray, FloatArray]:
        """The best width of every curve at multiplier `mu`, and its z, both (N,)."""
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
        """Best widths of the curves `of`, all Amdahl's or all powers, within their limits, and their z.

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
        """z = 1/s at these widths of the curves `of`, which are all Amdahl's or all powers."""
        parameter = self.c.parameter[of]
        if self.c.kind[of[0]] == AMDAHL:
            return (1 - parameter) + parameter / width
        return np.asarray(width**-parameter)

    def bound(self, mu: float, budget: float) -> float:
        """L(μ), which bounds every policy that keeps `budget` from below, less what its rounding can have added.

        Tables are read at every width: slopes that differ by rounding alone may be out of order.
        """
        c, table = self.c, self._of[TABLE]
        width, z = self._points(mu)
        length = c.value * z
        if mu > 0:
            length += mu * c.price * z * width
        if len(table):
            cost = self._z * np.arange(1.0, len(self._z) + 1)[:, None]
            for i, row in zip(table, self._row, strict=True):
                length[i] = (c.value[i] * self._z[:, row] + mu * c.price[i] * cost[:, row]).min()
        least, paid = float(length.reshape(-1, c.types).min(1).sum()), mu * budget
        return max(0.0, least - paid - ROUNDING * (least + paid))

    def widest(self, mu: float) -> float:
        """The widest of the best points of the formulas at multiplier `mu`; tables end by themselves."""
        formulas = self.c.kind != TABLE
        return float(self._points(mu)[0][formulas].max(initial=1.0))

    def check_bounded(self) -> None:
        """Raise InputError where a curve speeds up without limit at no more cost, and no width ends it."""
        linear = (self.c.kind != TABLE) & (self.c.parameter == 1) & np.isinf(self.c.last)
        if linear.any():
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")


def width_at(c: Curves, curve: int, z: float) -> float:
    """The width at which `curve` takes the time `z`, between 1 / s(1) and the least there is."""
    kind, parameter = c.kind[curve], c.parameter[curve]
    if kind == AMDAHL:
        return float(min(parameter / (z - (1 - parameter)), c.last[curve])) if parameter > 0 else 1.0
    if kind == POWER:
        return float(min(z ** (-1 / parameter), c.last[curve])) if parameter > 0 else 1.0
    speed = c.speed[int(parameter)]
    top = int(speed.argmax()) + 1
    return float(np.interp(1 / z, speed[:top], np.arange(1, top + 1)))


def cost_at(c: Curves, curve: int, width: float) -> float:
    """What `curve` costs at `width`."""
    kind, parameter = c.kind[curve], float(c.parameter[curve])
    if kind == AMDAHL:
        return float(c.price[curve] * ((1 - parameter) * width + parameter))
    if kind == POWER:
        return float(c.price[curve] * width ** (1 - parameter))
    speed = c.speed[int(parameter)]
    return float(c.price[curve] * width / np.interp(width, np.arange(1, len(speed) + 1), speed))
