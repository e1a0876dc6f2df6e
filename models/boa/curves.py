"""Curves of the convex problem: time against cost of every epoch on every GPU type, as the width varies.

At width k, an epoch takes z = 1/s(k) of its size in time and c = k/s(k) of its size in GPU-hours. On the concave hull
of s, c is a convex function of z. This also holds if s is linear between the corners of a table.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from instances import InputError
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, shares
from instances.boa.arrays import MOST_CELLS
from instances.boa.speedup import amdahl_time, power_time

AMDAHL, POWER, TABLE = 0, 1, 2


@dataclass(frozen=True)
class Curves:
    """The N = n H curves of n epochs of all classes on H GPU types; the H curves of an epoch are adjacent.

    - `value` (N,): hours of mean completion time for z = 1.
    - `price` (N,): cost for c = 1, in the unit of the budget.
    - `kind` (N,): AMDAHL, POWER or TABLE.
    - `parameter` (N,): Amdahl's parallel fraction p, the exponent of the power, or the row of the table.
    - `last` (N,): maximum width, GPUs.
    - `speed` (rows, K): speedups of each table on 1 ... K GPUs; constant beyond the end of a table.
    - `on_hull` (rows, K): whether a job may run at the speed of a table at this width. Only false if tables are read as
      measured and the hull is above the measurement.
    - `types`: number of GPU types, H.
    - `whole`: whether widths are integer.
    """

    value: FloatArray
    price: FloatArray
    kind: IntArray
    parameter: FloatArray
    last: FloatArray
    speed: FloatArray
    on_hull: BoolArray
    types: int
    whole: bool = False

    @property
    def epochs(self) -> int:
        """Return the number of epochs of all classes, n."""
        return len(self.value) // self.types

    def rows(self) -> IntArray:
        """Return the row of `speed` of each table curve, in the order of the curves."""
        return self.parameter[self.kind == TABLE].astype(np.int64)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the times z (N,) at width 1, and at the maximum width."""
        first, last = np.ones(len(self.value)), np.zeros(len(self.value))
        a, b, t = (self.kind == kind for kind in (AMDAHL, POWER, TABLE))
        last[a] = amdahl_time(self.parameter[a], self.last[a])
        last[b] = power_time(self.parameter[b], self.last[b])
        if t.any():
            first[t], last[t] = 1 / self.speed[self.rows(), 0], 1 / self.speed[self.rows()].max(1)
        return first, last


def curves(data: BoaAllocation, tabulated: int | None = None) -> Curves:
    """Return the curves of `data`.

    - `tabulated`: if given, formulas are replaced by tables of the integer widths up to `tabulated`.

    Raises InputError if the tables have too many entries.
    """
    value, price, kind, parameter, last = [], [], [], [], []
    row_of: dict[Hashable, int] = {}
    rows: list[FloatArray] = []
    on_hull: list[BoolArray] = []
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
                        raw = curve.table.raw(data.max_width)
                        on_hull.append(raw >= hull.speedup if data.is_measured else np.ones(len(raw), dtype=bool))
                else:
                    row = row_of.setdefault((curve.amdahl, curve.power), len(rows))
                    if row == len(rows):
                        rows.append(curve.at(np.arange(1.0, end + 1)))
                        on_hull.append(np.ones(end, dtype=bool))
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
    may_run = np.array([np.pad(row, (0, length - len(row)), constant_values=False) for row in on_hull])
    return Curves(
        np.array(value),
        np.array(price),
        np.array(kind),
        np.array(parameter, dtype=float),
        np.array(last, dtype=float),
        speed,
        may_run.reshape(-1, length),
        len(data.gpu_types),
        whole=data.widths == "integer",
    )


def width_at(c: Curves, curve: int, z: float) -> float:
    """Return the width at which `curve` takes the time `z`, which lies between the minimum and 1 / s(1)."""
    kind, parameter = c.kind[curve], c.parameter[curve]
    if kind == AMDAHL:
        return float(min(parameter / (z - (1 - parameter)), c.last[curve])) if parameter > 0 else 1.0
    if kind == POWER:
        return float(min(z ** (-1 / parameter), c.last[curve])) if parameter > 0 else 1.0
    speed = c.speed[int(parameter)]
    top = int(speed.argmax()) + 1
    return float(np.interp(1 / z, speed[:top], np.arange(1, top + 1)))


def cost_at(c: Curves, curve: int, width: float) -> float:
    """Return the cost of `curve` at `width`, in the unit of the budget."""
    kind, parameter = c.kind[curve], float(c.parameter[curve])
    if kind == AMDAHL:
        return float(c.price[curve] * ((1 - parameter) * width + parameter))
    if kind == POWER:
        return float(c.price[curve] * width ** (1 - parameter))
    speed = c.speed[int(parameter)]
    return float(c.price[curve] * width / np.interp(width, np.arange(1, len(speed) + 1), speed))
