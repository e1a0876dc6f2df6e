"""Compiled loops of the search with penalties (numba): with fairness, some million tries a second, and without.

A schedule may be too wide for a while, at a penalty for each GPU and slot too many, and jobs move one by one. So wide
jobs find places between others that no exchange of jobs in a feasible schedule comes to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.compiled import compiled
from models.sia.kernels import Jobs, Random

BLOCK = 64  # Steps between two looks at the costs so far.
LEAST_GAIN = 1e-7  # Gains below this one, in steps, are rounding errors.


class Shares(NamedTuple):
    """Fairness, and without it all jobs in pool 0 and an empty `inverse`.

    `pool` of each job (J,), `inverse` of what each pool owns (P,), the share that is `free`, β of each step (T,).
    """

    pool: IntArray
    inverse: FloatArray
    free: float
    weight: FloatArray


class Timeline(NamedTuple):
    """GPUs in use at each step, of each pool (P, T) and of all pools (T,)."""

    use: IntArray
    total: IntArray


@compiled
def _cost(line: Timeline, begin: int, end: int, capacity: int, penalty: float, shares: Shares) -> float:
    """Penalties and fairness of the steps begin..end-1."""
    over, fair = 0, 0.0
    for t in range(begin, end):
        if line.total[t] > capacity:
            over += line.total[t] - capacity
    for t in range(begin, end if len(shares.inverse) else begin):
        most = shares.free
        for i in range(len(shares.inverse)):
            most = max(most, line.use[i, t] * shares.inverse[i])
        fair += shares.weight[t] * (most - shares.free)
    return penalty * over + fair


@compiled
def _hold(line: Timeline, pool: int, begin: int, end: int, gpus: int) -> None:
    for t in range(begin, end):
        line.use[pool, t] += gpus
        line.total[t] += gpus


@compiled
def _over(line: Timeline, begin: int, end: int, capacity: int) -> int:
    over = 0
    for t in range(begin, end):
        over += max(line.total[t] - capacity, 0)
    return over


@compiled
def target(rng: Random, jobs: Jobs, start: IntArray, job: int, pace: float) -> int:
    """Another start of a job: anywhere in its window, near by, or flush with a start or an end of another job."""
    begin, length = jobs.submit[job], jobs.duration[job]
    way = rng.random()
    if way < 0.15:
        return begin + rng.integers(0, jobs.cutoff[job] - begin + 1)
    if way < 0.3:
        return start[job] + int(rng.standard_normal() * pace)
    if way < 0.5:
        return start[job] + rng.integers(-3, 4)
    if way < 0.55:
        return begin
    other = rng.integers(0, len(start))
    if way < 0.73:
        return start[other] + jobs.duration[other]
    if way < 0.86:
        return start[other] - length
    if way < 0.93:
        return start[other]
    return start[other] + jobs.duration[other] - length


@compiled
def exchanged(old: int, new: int, length: int) -> tuple[int, int, int, int]:
    """Begin and end of the steps that a job enters when it moves from one start to another, and of those it leaves."""
    if new < old:
        return new, min(old, new + length), max(old, new + length), old + length
    return max(new, old + length), new + length, old, min(new, old + length)


@compiled
def anneal_with_penalties(
    rng: Random,
    jobs: Jobs,
    shares: Shares,
    line: Timeline,
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
    - `jobs`, `shares`: the problem.
    - `line`: use of `start`; changed.
    - `movable`: jobs with more than one start.
    - `start`: schedule that keeps all cut-offs, (J,); changed.
    - `best`: best schedule met that is nowhere too wide, (J,); changed.
    - `lead`: objective of `start`, without penalties, less that of `best`; -infinite where `best` is too wide.
    - `over`: GPUs too many of `start`, over all steps.
    - `tries`: number of tries.
    - `pace`: a typical duration in steps.
    - `heat`: temperature: a schedule worse by Δ is accepted with probability exp(-Δ/heat).
    - `penalty`: what a GPU too many costs a step, in steps of delay.
    """
    for _ in range(tries):
        j = movable[rng.integers(0, len(movable))]
        old, new, length = start[j], target(rng, jobs, start, j, pace), jobs.duration[j]
        if new < jobs.submit[j] or new > jobs.cutoff[j] or new == old:
            continue
        gain_begin, gain_end, loss_begin, loss_end = exchanged(old, new, length)
        capacity, pool, gpus = jobs.capacity, shares.pool[j], jobs.gpus[j]
        before = _cost(line, gain_begin, gain_end, capacity, penalty, shares)
        before += _cost(line, loss_begin, loss_end, capacity, penalty, shares)
        excess = _over(line, gain_begin, gain_end, capacity) + _over(line, loss_begin, loss_end, capacity)
        _hold(line, pool, gain_begin, gain_end, gpus)
        _hold(line, pool, loss_begin, loss_end, -gpus)
        after = _cost(line, gain_begin, gain_end, capacity, penalty, shares)
        after += _cost(line, loss_begin, loss_end, capacity, penalty, shares)
        excess = _over(line, gain_begin, gain_end, capacity) + _over(line, loss_begin, loss_end, capacity) - excess
        change = after - before + (new - old)
        if change <= 0 or rng.random() < np.exp(-change / heat):
            start[j] = new
            over += excess
            lead += change - penalty * excess
            if over == 0 and lead < -LEAST_GAIN:
                lead = 0.0
                best[:] = start
        else:
            _hold(line, pool, gain_begin, gain_end, -gpus)
            _hold(line, pool, loss_begin, loss_end, gpus)
    return lead, over


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
    """Annealing at one temperature and one penalty where only widths count, some ten million tries a second.

    The parameters are those of `anneal_with_penalties`, but for `use`: GPUs in use at each step by `start`, (T,);
    changed. Most tries are refused. So what a try may cost at most is drawn first, nothing is changed before it is
    accepted, and a job is refused as soon as the steps looked at so far cost more than that.
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
