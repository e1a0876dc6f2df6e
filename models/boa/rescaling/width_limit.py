"""Widths that suffice where jobs may be mixed: no budget limits the width of a small share of the jobs.

Let a stretch of epochs run at one width k, and let k be beyond the best width, at multiplier μ, of every epoch that the
class has. Then the length of the stretch falls as k does: each run's does, and so does the price of the change that
begins it. So no shortest path at μ needs a width beyond the greatest of those best widths, which only falls as μ rises.
Once the shortest paths at μ cost more than the budget, the best multiplier is no smaller than μ.
"""

from __future__ import annotations

import math

from instances import InputError
from instances.boa import BoaAllocation, oversize, proven, shares
from models.boa.rescaling.micp import Prepared, prepare

FIRST = 64  # Widths up to this one are tried first.
GROWTH = 4  # Then the last width grows by this factor.


def prepare_mixed(data: BoaAllocation) -> Prepared:
    """Build the arrays of `data`, of a single GPU type, as wide as any optimal mix of paths within the budget.

    Raises InputError where these are too large, or where nothing ends a linear speedup.
    """
    speedups = [epoch.speedup.on(data.gpu_types[0].name) for c in data.classes for epoch in c.epochs]
    tables = max((len(s.table.hull(data.max_width).speedup) for s in speedups if s.table is not None), default=1)
    formulas = any(s.table is None for s in speedups)
    end = max(tables, data.max_width or math.inf) if formulas else tables
    last = int(min(end, max(tables, FIRST)))
    while True:
        prepared = prepare(data, last)
        if last >= end:
            return prepared
        mu = sufficient(data, last)
        if math.isinf(mu):
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")
        if mu == 0 or prepared.dual.at(mu).cost > proven(data.budget):
            return prepared
        last = int(min(end, last * GROWTH))
        too_many = oversize(data, last)
        if too_many is not None:
            raise InputError(too_many)


def sufficient(data: BoaAllocation, last: int) -> float:
    """A multiplier from which on no shortest path needs a width over `last`.

    Infinite where no multiplier is large enough, 0 where nothing gains from width.
    """
    price, most = data.gpu_types[0].price, 0.0
    for c, share in zip(data.classes, shares(data), strict=True):
        worth = share / (c.arrivals_per_hour * price)
        linear = 0.0
        for epoch in c.epochs:
            curve = epoch.speedup.on(data.gpu_types[0].name)
            if 1.0 in (curve.amdahl, curve.power):
                linear += epoch.size_hours
            elif curve.amdahl is not None:
                most = max(most, worth * curve.amdahl / (1 - curve.amdahl) / last**2)
            elif curve.power is not None:
                most = max(most, worth * curve.power / (1 - curve.power) / last)
        if linear:  # Only the change that begins the stretch is dearer at more GPUs.
            most = max(most, worth * linear / c.rescale_hours / last**2) if c.rescale_hours else math.inf
    return most * (1 + 1e-12)
