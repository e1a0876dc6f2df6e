"""The convex problem's pieces: for every epoch and GPU type, time against cost as the width varies.

Run at width k, an epoch takes z = 1/s(k) of its size and costs c = k/s(k) of it. On the hull of s, c is a convex
function of z, also where s is linear between the corners of a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances import InputError
from instances.boa import BoaAllocation, shares, width_arrays
from models.boa.network import FloatArray, IntArray

AMDAHL, POWER, TABLE = 0, 1, 2


@dataclass(frozen=True)
class Curves:
    """N = epochs of all classes (n) times GPU types (H) curves, the types of an epoch side by side.

    `value` (N,): hours of mean completion time for z = 1. `price` (N,): cost for c = 1. `kind` (N,) and `parameter`
    (N,): Amdahl's p, the exponent, or the row of the table. `last` (N,): the widest run. `speed` (rows, K): tables on
    1 ... K GPUs, level past their end. `types`: H.
    """

    value: FloatArray
    price: FloatArray
    kind: IntArray
    parameter: FloatArray
    last: FloatArray
    speed: FloatArray
    types: int

    @property
    def epochs(self) -> int:
        return len(self.value) // self.types

    def rows(self) -> IntArray:
        """The rows of `speed` of the table curves, in the order of the curves."""
        return self.parameter[self.kind == TABLE].astype(np.int64)


def curves(data: BoaAllocation) -> Curves:
    """The curves of `data`; where widths are whole, every curve is the table of its values there."""
    whole = data.widths == "integer"
    value, price, kind, parameter, last = [], [], [], [], []
    tables: dict[int, int] = {}
    rows: list[FloatArray] = []
    widest = int(width_arrays(data).width.max()) if whole else 0
    for c, share in zip(data.classes, shares(data), strict=True):
        for epoch in c.epochs:
            for gpu_type in data.gpu_types:
                curve = epoch.speedup.on(gpu_type.name)
                value.append(share * epoch.size_hours)
                price.append(c.arrivals_per_hour * epoch.size_hours * gpu_type.price)
                if curve.table is None and not whole:
                    kind.append(AMDAHL if curve.amdahl is not None else POWER)
                    parameter.append(curve.amdahl if curve.amdahl is not None else curve.power)
                    last.append(float(data.max_width or np.inf))
                    continue
                if id(curve) not in tables:
                    tables[id(curve)] = len(rows)
                    rows.append(data.speedups(curve, widest) if curve.table is None else data.hulls[curve.table])
                row = tables[id(curve)]
                kind.append(TABLE)
                parameter.append(row)
                last.append(len(rows[row]))
    length = max((len(row) for row in rows), default=1)
    speed = np.array([np.pad(row, (0, length - len(row)), mode="edge") for row in rows]).reshape(-1, length)
    return Curves(
        np.array(value),
        np.array(price),
        np.array(kind),
        np.array(parameter, dtype=float),
        np.array(last, dtype=float),
        speed,
        len(data.gpu_types),
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

    def at(self, mu: float) -> Choice:
        """The best point of every epoch at multiplier `mu` >= 0."""
        c = self.c
        amdahl, power, table = self._of
        width, z = np.empty(len(c.value)), np.empty(len(c.value))
        with np.errstate(divide="ignore", invalid="ignore"):
            if len(amdahl):
                p = c.parameter[amdahl]
                k = np.where(self._amdahl > 0, self._amdahl / np.sqrt(mu), 0.0)
                k = np.minimum(np.maximum(k, 1.0), c.last[amdahl])
                width[amdahl], z[amdahl] = k, (1 - p) + p / k
            if len(power):
                k = np.where(self._power > 0, self._power / mu, 0.0)
                k = np.minimum(np.maximum(k, 1.0), c.last[power])
                width[power], z[power] = k, k ** -c.parameter[power]
            if len(table):
                steps = self._slope if self._plain else self._slope[:, self._row]
                at = (steps > mu / self._worth).sum(0, dtype=np.int32)
                width[table], z[table] = at + 1.0, self._z[at, self._row]
            times, costs = c.value * z, c.price * z * width
        best = np.zeros(c.epochs, dtype=np.int64)
        if c.types > 1:
            length = times + mu * costs if mu > 0 else times
            best = length.reshape(-1, c.types).argmin(1)
            chosen = np.arange(c.epochs) * c.types + best
            width, times, costs = width[chosen], times[chosen], costs[chosen]
        return Choice(mu, best, width, times, costs, float(times.sum()), float(costs.sum()))

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
