"""Compiled loops of Aryl's online policies (numba): admission of jobs, and distribution of spare GPUs."""

from __future__ import annotations

import numpy as np

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.compiled import compile_lazily


@compile_lazily
def admit(
    order: IntArray,
    base_workers: IntArray,
    gpus: IntArray,
    any_gpu: BoolArray,
    mixed: BoolArray,
    prefers_loaned: BoolArray,
    room: IntArray,
    widest: IntArray,
    strict: bool,
) -> tuple[IntArray, IntArray]:
    """Return the waiting jobs whose base demand fits, and for each the kind of servers that is reserved.

    - `order`: waiting jobs by priority.
    - `base_workers`, `gpus`: base workers, and GPUs per worker on each kind of servers.
    - `any_gpu`, `mixed`: whether a job may run on loaned servers, and on both kinds at once.
    - `prefers_loaned`: whether loaned servers are tried first.
    - `room`: GPUs of training and of loaned servers for base workers; it is reduced in place.
    - `widest`: maximum number of GPUs on one server that base workers could use, for each kind.
    - `strict`: whether a job that does not fit ends the search, instead of being skipped.
    """
    admitted = np.empty(len(order), dtype=np.int64)
    kinds = np.empty(len(order), dtype=np.int64)
    n = 0
    for j in order:
        kind = -1
        for attempt in range(2):
            k = 1 - attempt if prefers_loaned[j] else attempt
            if (k == 0 or any_gpu[j]) and gpus[k, j] <= widest[k] and base_workers[j] * gpus[k, j] <= room[k]:
                kind = k
                room[k] -= base_workers[j] * gpus[k, j]
                break
        if kind < 0 and mixed[j] and gpus[0, j] <= widest[0] and gpus[1, j] <= widest[1]:
            on_training = min(base_workers[j], room[0] // gpus[0, j])
            if (base_workers[j] - on_training) * gpus[1, j] <= room[1]:
                kind = 0
                room[0] -= on_training * gpus[0, j]
                room[1] -= (base_workers[j] - on_training) * gpus[1, j]
        if kind >= 0:
            admitted[n] = j
            kinds[n] = kind
            n += 1
        elif strict:
            break
        if room[0] <= 0 and room[1] <= 0:
            break
    return admitted[:n], kinds[:n]


@compile_lazily
def speed(workers: int, midpoint: int, loss: float) -> float:
    """Return the throughput on a number of workers (section 7.2)."""
    return workers * max(0.0, 1.0 - loss * max(0, workers - midpoint))


@compile_lazily
def knapsack(
    min_workers: IntArray, max_workers: IntArray, gpus: IntArray, left: FloatArray, loss: float, capacity: int
) -> IntArray:
    """Return the workers of each job that save the most running time compared with the base demands (section 5.2).

    - `capacity`: GPUs beyond the base demands.

    The method is dynamic programming over GPUs.
    """
    n = len(min_workers)
    wanted = 0
    for j in range(n):
        wanted += (max_workers[j] - min_workers[j]) * gpus[j]
    workers = max_workers.copy()
    if wanted <= capacity and loss == 0.0:
        return workers
    room = min(capacity, wanted)
    best = np.zeros(room + 1)
    choice = np.zeros((n, room + 1), dtype=np.int32)
    for j in range(n):
        middle = (min_workers[j] + max_workers[j]) // 2
        alone = left[j] / speed(min_workers[j], middle, loss)
        steps = max_workers[j] - min_workers[j]
        saved = np.zeros(steps + 1)
        for k in range(1, steps + 1):
            fast = speed(min_workers[j] + k, middle, loss)
            saved[k] = alone - left[j] / fast if fast > 0.0 else -1.0
        for g in range(room, gpus[j] - 1, -1):
            top, pick = best[g], 0
            for k in range(1, min(steps, g // gpus[j]) + 1):
                value = best[g - k * gpus[j]] + saved[k]
                if value > top:
                    top, pick = value, k
            best[g], choice[j, g] = top, pick
    g = room
    for j in range(n - 1, -1, -1):
        workers[j] = min_workers[j] + choice[j, g]
        g -= choice[j, g] * gpus[j]
    return workers


@compile_lazily
def largest_gain(
    relative: bool,
    min_workers: IntArray,
    max_workers: IntArray,
    gpus: IntArray,
    left: FloatArray,
    loss: float,
    capacity: int,
) -> IntArray:
    """Run AFS: one worker at a time to the job whose throughput gains most per GPU; ties go to the first job.

    - `relative`: whether throughput is relative to that on the base demand, instead of in workers.
    """
    workers = min_workers.copy()
    while True:
        best, top = -1, 0.0
        for j in range(len(min_workers)):
            if workers[j] < max_workers[j] and gpus[j] <= capacity:
                middle = (min_workers[j] + max_workers[j]) // 2
                gain = speed(workers[j] + 1, middle, loss) - speed(workers[j], middle, loss)
                gain /= gpus[j] * (speed(min_workers[j], middle, loss) if relative else 1.0)
                if gain > top:
                    best, top = j, gain
        if best < 0:
            return workers
        workers[best] += 1
        capacity -= gpus[best]


@compile_lazily
def grow(
    min_workers: IntArray, max_workers: IntArray, gpus: IntArray, left: FloatArray, loss: float, capacity: int
) -> IntArray:
    """Run Gandiva: jobs in order take all free GPUs that make them faster."""
    workers = min_workers.copy()
    for j in range(len(min_workers)):
        middle = (min_workers[j] + max_workers[j]) // 2
        while workers[j] < max_workers[j] and gpus[j] <= capacity:
            if speed(workers[j] + 1, middle, loss) <= speed(workers[j], middle, loss):
                break
            workers[j] += 1
            capacity -= gpus[j]
    return workers
