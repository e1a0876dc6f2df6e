"""Convert an `eva-cloud` workload to arrays: types, classes of tasks, and their work."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.cloud import CloudJob, EvaCloud, TaskClass
from instances.eva.packing import demand_on
from instances.fields import STEPS, steps


@dataclass(frozen=True)
class CloudArrays:
    """The arrays of K instance types, C classes of tasks and R resources, with amounts as integers.

    - `demand` (K, C, R): of a task of each class on each type.
    - `capacity` (K, R): of each type.
    - `price` (K,): in USD/h.
    - `cheapest_type` (C,): the first of the cheapest types on which a task fits alone.
    - `reservation_price` (C,): the price of that type in USD/h.
    - `unit` (R,): the amount of each resource that corresponds to 1.
    """

    types: tuple[str, ...]
    classes: tuple[str, ...]
    demand: IntArray
    capacity: IntArray
    price: FloatArray
    cheapest_type: IntArray
    reservation_price: FloatArray
    unit: FloatArray


def cloud_arrays(data: EvaCloud) -> CloudArrays:
    """Build the arrays of a workload."""
    kinds, names = data.instance_types, data.resources
    capacity = np.array([[steps(k.capacity[r]) for r in names] for k in kinds], dtype=np.int64)
    of_family = {
        family: [[steps(demand_on(c.demand, family)[r]) for r in names] for c in data.classes]
        for family in {k.family for k in kinds}
    }
    demand = np.array([of_family[k.family] for k in kinds], dtype=np.int64)
    units = [gcd(*np.unique(demand[:, :, r]).tolist(), *capacity[:, r].tolist()) or 1 for r in range(len(names))]
    demand //= np.array(units)
    capacity //= np.array(units)
    price = np.array([k.usd_per_hour for k in kinds])
    fits = (demand <= capacity[:, None, :]).all(axis=2)
    cheapest = np.where(fits, price[:, None], np.inf).argmin(axis=0)
    return CloudArrays(
        types=tuple(k.name for k in kinds),
        classes=tuple(c.name for c in data.classes),
        demand=demand,
        capacity=capacity,
        price=price,
        cheapest_type=cheapest,
        reservation_price=price[cheapest],
        unit=np.array(units) / STEPS,
    )


SECONDS = 3600.0


def work_seconds(job: CloudJob, first: TaskClass) -> float:
    """Return the seconds of work of a job at full speed, in complete iterations if its `first` class counts them."""
    speed = first.iterations_per_second
    return job.duration_seconds if speed is None else int(job.duration_seconds * speed) / speed


def pairs_of_classes(data: EvaCloud) -> FloatArray:
    """Return pairwise throughputs (C, C) whose products bound the throughput of every task on an instance.

    These are the true pairwise throughputs, or 1 with `larger_sets`, whose throughputs are not products.
    """
    if data.larger_sets is not None:
        return np.ones((len(data.classes), len(data.classes)))
    known = {(workload, beside): value for workload, beside, value in data.throughput.pairwise}
    names = [c.workload for c in data.classes]
    return np.array([[known.get((own, other), data.throughput.default) for other in names] for own in names])
