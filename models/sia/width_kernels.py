"""Compiled loop of the search with penalties where only widths count (numba): some ten million tries a second.

Most tries are refused. So what a try may cost at most is drawn first, nothing is changed before it is accepted, and a
job is refused as soon as the steps looked at so far cost more than that.
"""

from __future__ import annotations

import numpy as np

from instances.arrays import IntArray
from instances.compiled import compiled
from models.sia.kernels import Jobs, Random
from models.sia.penalty_kernels import exchanged, target

BLOCK = 64  # Steps between two looks at the costs so far.


@compiled
def _added(use: IntArray, begin: int, end: int, gpus: int, capacity: int, most: int) -> int:
    """GPUs too many that a job of `gpus` adds in the steps begin..end-1; or some figure past `most`."""
    found = 0
    while begin < end and found <= most:
        stop = min(end, begin + BLOCK)
        for t in range(begin, stop):
            over = use[t] - capacity
            found += max(over + gpus, 0) - max(over, 0)
        begin = stop
    return found


@compiled
def _taken(use: IntArray, begin: int, end: int, gpus: int, capacity: int) -> int:
    """GPUs too many that go with a job of `gpus` when it leaves the steps begin..end-1."""
    found = 0
    for t in range(begin, end):
        over = use[t] - capacity
        found += max(over, 0) - max(over - gpus, 0)
    return found


@compiled
def anneal_widths(
    rng: Random,
    jobs: Jobs,
    use: IntArray,
    movable: IntArray,
    start: IntArray,
    best: IntArray,
    lead: float,
    over: int,
    tries: int,
    pace: float,
    heat: float,
    penalty: float,
) -> tuple[float, int]:
    """Annealing at one temperature and one penalty; `lead` and `over` in the end.

    Parameters:

    - `rng`: source of all that is random.
    - `jobs`: the problem.
    - `use`: GPUs in use at each step by `start`, (T,); changed.
    - `movable`: jobs with more than one start.
    - `start`: schedule that keeps all cut-offs, (J,); changed.
    - `best`: best schedule met that is nowhere too wide, (J,); changed.
    - `lead`: delay of `start` less that of `best`; -infinite where `best` is too wide.
    - `over`: GPUs too many of `start`, over all steps.
    - `tries`: number of tries.
    - `pace`: a typical duration in steps.
    - `heat`: temperature: a schedule worse by Δ is accepted with probability exp(-Δ/heat).
    - `penalty`: what a GPU too many costs a step, in steps of delay.
    """
    capacity = jobs.capacity
    for _ in range(tries):
        j = movable[rng.integers(0, len(movable))]
        old, new, length, gpus = start[j], target(rng, jobs, start, j, pace), jobs.duration[j], jobs.gpus[j]
        if new < jobs.submit[j] or new > jobs.cutoff[j] or new == old:
            continue
        most = (old - new - heat * np.log(1.0 - rng.random())) / penalty  # that is accepted, in GPUs too many
        if most < -over:
            continue
        gain_begin, gain_end, loss_begin, loss_end = exchanged(old, new, length)
        allowed = int(np.floor(most)) + min(over, gpus * (loss_end - loss_begin))
        excess = _added(use, gain_begin, gain_end, gpus, capacity, allowed)
        if excess > allowed:
            continue
        if over > 0:
            excess -= _taken(use, loss_begin, loss_end, gpus, capacity)
        if excess > most:
            continue
        for t in range(gain_begin, gain_end):
            use[t] += gpus
        for t in range(loss_begin, loss_end):
            use[t] -= gpus
        start[j] = new
        over += excess
        lead += new - old
        if over == 0 and lead < 0:
            lead = 0.0
            best[:] = start
    return lead, over
