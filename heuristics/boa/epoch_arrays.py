"""Widths of all epochs as one array, and what they take and cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances import Solution
from instances.boa import BoaAllocation, WidthArrays, planned, width_arrays

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """An instance with one GPU type as arrays over its n epochs, class after class; K widths 1 ... K.

    `hours` (n, K): run time, infinite past a table's last width. `job_class` (n,), `first` (n,): the class of an epoch
    and whether it is its class's first. `value`, `price`, `rescale` (n,): hours of mean completion time and cost, per
    GPU, of an hour of a job in this epoch, and the hours that a change of width takes.
    """

    data: BoaAllocation
    hours: FloatArray
    job_class: IntArray
    first: NDArray[np.bool_]
    value: FloatArray
    price: FloatArray
    rescale: FloatArray

    def time_and_cost(self, width: IntArray) -> tuple[float, float]:
        """Mean completion time, hours, and time-average cost of the widths (n,), by Lemma 4.8."""
        changed = self.first.copy()
        changed[1:] |= width[1:] != width[:-1]
        hours = self.hours[np.arange(len(width)), width - 1] + changed * self.rescale
        return float(self.value @ hours), float((self.price * width) @ hours)

    def solution(self, width: IntArray) -> Solution:
        """The widths (n,) in JSON form."""
        names = [c.name for c in self.data.classes]
        return {"widths": {name: width[self.job_class == i].tolist() for i, name in enumerate(names)}}


def plan(data: BoaAllocation) -> Plan:
    """The arrays of `data`, which has one GPU type. Raises InputError where they are too large."""
    a: WidthArrays = width_arrays(data)
    job_class = np.repeat(np.arange(len(a.epochs)), a.epochs)
    first = np.concatenate([[True], job_class[1:] != job_class[:-1]])
    hours = np.concatenate([a.hours[: a.epochs[i], i] for i in range(len(a.epochs))])
    price = data.gpu_types[0].price
    return Plan(data, hours, job_class, first, a.share[job_class], a.arrivals[job_class] * price, a.rescale[job_class])


def within(cost: float, budget: float) -> bool:
    """Whether a cost keeps the budget."""
    return cost <= planned(budget)
