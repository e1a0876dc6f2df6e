"""Compiled loops of the Lagrangian prices (numba): prices of each pool and step, (P, T)."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.compiled import compiled
from models.sia.kernels import Jobs


@compiled
def least_charges(jobs: Jobs, pool: IntArray, prices: FloatArray, use: FloatArray) -> float:
    """Σ_j min_t (delay of j at t + price of the GPUs that it holds from t on); `use` (P, T) is that of these starts."""
    pools, horizon = prices.shape
    total = np.zeros((pools, horizon + 1))
    for i in range(pools):
        for t in range(horizon):
            total[i, t + 1] = total[i, t] + prices[i, t]
            use[i, t] = 0.0
    found = 0.0
    for j in range(len(pool)):
        until, length, gpus = total[pool[j]], jobs.duration[j], jobs.gpus[j]
        least, start = np.inf, jobs.submit[j]
        for t in range(jobs.submit[j], jobs.cutoff[j] + 1):
            charge = t - jobs.submit[j] + gpus * (until[t + length] - until[t])
            if charge < least - 1e-12:
                least, start = charge, t
        found += least
        for t in range(start, start + length):
            use[pool[j], t] += gpus
    return found


@compiled
def project(prices: FloatArray, most: FloatArray) -> None:
    """Put each column of `prices` (P, T) to the nearest point with prices >= 0 that add up to `most` (T,) or less."""
    pools = len(prices)
    ordered = np.empty(pools)
    for t in range(prices.shape[1]):
        total = 0.0
        for i in range(pools):
            prices[i, t] = max(prices[i, t], 0.0)
            total += prices[i, t]
            ordered[i] = -prices[i, t]
        if total <= most[t]:
            continue
        ordered.sort()
        total, cut = 0.0, 0.0
        for k in range(pools):
            total -= ordered[k]
            if -ordered[k] > (total - most[t]) / (k + 1):
                cut = (total - most[t]) / (k + 1)
        for i in range(pools):
            prices[i, t] = max(prices[i, t] - cut, 0.0)
