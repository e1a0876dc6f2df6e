"""The least budget: what the jobs cost however slowly they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from instances.boa.allocation import BoaAllocation, JobClass
    from instances.boa.speedup import Curve

FloatArray = NDArray[np.float64]


def least_budget(data: BoaAllocation) -> float:
    """Least time-average cost of any policy, in the unit of the budget (equation 3 without the factor 1/λ)."""
    return sum(c.arrivals_per_hour * least_cost(data, c) for c in data.classes)


def least_cost(data: BoaAllocation, job_class: JobClass) -> float:
    """Least cost of one job of `job_class`: GPU-hours, or currency.

    Width 1 is the cheapest, since k/s(k) rises with k, unless a measured table is steeper than linear at its start or
    there are several GPU types; then a shortest path over the epochs and the widths that are cheapest somewhere
    decides.
    """
    prices = {t.name: t.price for t in data.gpu_types}
    cheapest = max(_cheapest_width(data, e.speedup.on(name)) for e in job_class.epochs for name in prices)
    sizes = np.array([e.size_hours for e in job_class.epochs])
    r = job_class.rescale_hours
    if cheapest == 1 and not data.heterogeneous:
        name = data.gpu_types[0].name
        first = np.array([data.speedups(e.speedup.on(name), 1)[0] for e in job_class.epochs])
        return float(data.gpu_types[0].price * (np.sum(sizes / first) + r))
    width = np.arange(1, cheapest + 1)
    rate = np.concatenate([price * width for price in prices.values()])
    path = np.zeros(1)
    for size, epoch in zip(sizes, job_class.epochs, strict=True):
        speed = np.concatenate([data.speedups(epoch.speedup.on(name), cheapest) for name in prices])
        with np.errstate(divide="ignore"):
            run = rate * size / speed
        path = np.minimum(path if len(path) > 1 else np.inf, path.min() + r * rate) + run
    return float(path.min())


def _cheapest_width(data: BoaAllocation, curve: Curve) -> int:
    if curve.table is None:
        return 1
    hull = data.hulls[curve.table]
    return int((np.arange(1, len(hull) + 1) / hull).argmin()) + 1
