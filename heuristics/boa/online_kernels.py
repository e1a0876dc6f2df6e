"""Compiled loops of Pollux (numba): the best split of a cluster among jobs, for all sizes of the cluster at once."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray as Float
from instances.arrays import IntArray as Int
from instances.compiled import compiled


@compiled
def splits(gain: Float, max_gpus: int) -> Int:
    """Return the choices (n, max_gpus + 1) of a dynamic program over jobs and GPUs, from which `split` reads widths.

    - `gain` (n, K + 1): gain of each job at each width, including 0; the sum is maximised.
    - `max_gpus`: maximum number of GPUs.

    A width is never chosen if a narrower one gains as much. A tie goes to the narrower width.
    """
    jobs, last = gain.shape
    value = np.zeros(max_gpus + 1)
    choice = np.zeros((jobs, max_gpus + 1), dtype=np.int64)
    widths = np.empty(last, dtype=np.int64)
    for j in range(jobs):
        count, best = 0, -np.inf
        for k in range(last):
            if gain[j, k] > best:
                best = gain[j, k]
                widths[count] = k
                count += 1
        new = np.empty(max_gpus + 1)
        for gpus in range(max_gpus + 1):
            top, at = -np.inf, 0
            for i in range(count):
                k = widths[i]
                if k > gpus:
                    break
                sum_here = value[gpus - k] + gain[j, k]
                if sum_here > top:
                    top, at = sum_here, k
            new[gpus] = top
            choice[j, gpus] = at
        value = new
    return choice


@compiled
def split(choice: Int, gpus: int) -> Int:
    """Return the widths (n,) of the jobs in the best split of `gpus` GPUs."""
    jobs = choice.shape[0]
    width = np.zeros(jobs, dtype=np.int64)
    left = gpus
    for j in range(jobs - 1, -1, -1):
        width[j] = choice[j, left]
        left -= width[j]
    return width


@compiled
def efficiencies(choice: Int, speed: Float, gpus_per_node: int) -> Float:
    """Return the sum of speedups over GPUs in the best split of 1, 2, ... nodes; `speed` (n, K + 1)."""
    nodes = (choice.shape[1] - 1) // gpus_per_node
    efficiency = np.zeros(nodes + 1)
    for m in range(1, nodes + 1):
        width = split(choice, m * gpus_per_node)
        total = 0.0
        for j in range(len(width)):
            total += speed[j, width[j]]
        efficiency[m] = total / (m * gpus_per_node)
    return efficiency
