"""Compiled loop of the bound on the mean JCT (numba): what each job costs at least under prices."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray
from instances.compiled import compiled


@compiled
def priced(
    release: FloatArray, size: FloatArray, seconds: FloatArray, grid: FloatArray, price: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The least of mean time since release plus half the running time plus what is paid, of each job; and work by step.

    A job does its work at its highest speed during `seconds` of its choice after `release`. A second at time t after
    release costs t + size * price, over `seconds`; those below a threshold are chosen. Whatever the threshold is, the
    figure is a lower bound, and with the one that chooses `seconds` in all it is the least.
    """
    n, m = len(release), len(price)
    cost = np.empty(n)
    used = np.zeros(m)
    begin, length = np.empty(m + 1), np.empty(m + 1)
    for j in range(n):
        first = np.searchsorted(grid, release[j], side="right") - 1
        # The threshold of the seconds right after release is the most that it can be.
        most, t, i = 0.0, 0.0, first
        while t < seconds[j] and i < m:
            step = grid[i + 1] - max(grid[i], release[j])
            t += step
            most = max(most, min(t, seconds[j]) + size[j] * price[i])
            i += 1
        if t < seconds[j]:
            most = max(most, seconds[j])
        count = 0
        for i in range(first, m + 1):
            start = grid[i] - release[j] if i > first else 0.0
            if i == m:
                start = max(start, 0.0)
            if start >= most:
                break
            begin[count] = start + (size[j] * price[i] if i < m else 0.0)
            length[count] = (grid[i + 1] - release[j] - start) if i < m else 1e18
            count += 1
        low, high = 0.0, most
        for _ in range(60):
            middle = 0.5 * (low + high)
            chosen = 0.0
            for k in range(count):
                chosen += min(length[k], max(0.0, middle - begin[k]))
            if chosen < seconds[j]:
                low = middle
            else:
                high = middle
            if high - low <= 1e-13 * most:
                break
        below = 0.0
        for k in range(count):
            h = high - begin[k]
            if h > 0.0:
                below += 0.5 * h * h if h <= length[k] else (h - 0.5 * length[k]) * length[k]
                if first + k < m:
                    used[first + k] += size[j] / seconds[j] * min(length[k], h)
        cost[j] = 0.5 * seconds[j] + high - below / seconds[j]
    return cost, used
