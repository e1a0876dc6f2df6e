"""Arrays over the epochs of all classes, and the time and cost of given widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances import Solution
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, WidthArrays, concave_hull, width_arrays

TOUCHING = 1e-12  # relative distance within which a speedup counts as being on the hull, for rounding


@dataclass(frozen=True)
class EpochArrays:
    """An instance with a single GPU type as arrays over n epochs, class by class, and the widths 1 ... K.

    - `data`: the instance.
    - `hours` (n, K): run time; infinite beyond a table's last width.
    - `job_class` (n,): index of the epoch's class.
    - `first` (n,): whether the epoch is the first of its class.
    - `value` (n,): hours of mean completion time per hour of a job in the epoch.
    - `price` (n,): cost of one GPU for such an hour.
    - `rescale` (n,): hours of a change of width.
    """

    data: BoaAllocation
    hours: FloatArray
    job_class: IntArray
    first: BoolArray
    value: FloatArray
    price: FloatArray
    rescale: FloatArray

    @property
    def uneven(self) -> bool:
        """Return whether jobs run at measured speeds, which may be below the hull."""
        name = self.data.gpu_types[0].name
        curves = (epoch.speedup.on(name) for c in self.data.classes for epoch in c.epochs)
        return self.data.is_measured and any(curve.table is not None for curve in curves)

    def time_and_cost(self, width: IntArray) -> tuple[float, float]:
        """Return the mean completion time, hours, and the average cost of the widths (n,), by Lemma 4.8."""
        changed = self.first.copy()
        changed[1:] |= width[1:] != width[:-1]
        hours = self.hours[np.arange(len(width)), width - 1] + changed * self.rescale
        return float(self.value @ hours), float((self.price * width) @ hours)

    def solution(self, width: IntArray) -> Solution:
        """Return the widths (n,) in JSON form."""
        names = [c.name for c in self.data.classes]
        return {"widths": {name: width[self.job_class == i].tolist() for i, name in enumerate(names)}}


def build_epoch_arrays(data: BoaAllocation) -> EpochArrays:
    """Return the arrays of `data`, which has a single GPU type; raises InputError if they are too large."""
    a: WidthArrays = width_arrays(data)
    job_class = np.repeat(np.arange(len(a.epochs)), a.epochs)
    first = np.concatenate([[True], job_class[1:] != job_class[:-1]])
    hours = np.concatenate([a.hours[: a.epochs[i], i] for i in range(len(a.epochs))])
    price = data.gpu_types[0].price
    return EpochArrays(
        data, hours, job_class, first, a.share[job_class], a.arrivals[job_class] * price, a.rescale[job_class]
    )


def compute_hull_hours(hours: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return run times (n, K) on the concave hulls of 1 over `hours` (n, K), and whether the hull touches the speed."""
    speed = 1 / hours
    hull = concave_hull(speed)
    touches = speed >= hull * (1 - TOUCHING)
    return np.where(np.isinf(hours), np.inf, 1 / hull), touches
