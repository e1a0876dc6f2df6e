"""Compiled loops (numba): neighbourhood search, annealing with penalties, and minimisers of Lagrangian relaxations.

All arrays are int64 unless stated otherwise: `start` and `best` have shape (J,), `use` has shape (horizon,). `pace` is
a typical duration in steps; random distances in time are proportional to it.

Annealing with penalties moves single jobs and allows schedules that exceed the capacity, at a penalty per excess GPU
and step. It finds places for wide jobs that exchanges of jobs in feasible schedules do not reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.compiled import compile_lazily
from instances.sia.arrays import OracleArrays

Random = np.random.Generator


class Jobs(NamedTuple):
    """Jobs and capacity of `OracleArrays` for compiled code; arrays of shape (J,)."""

    submit: IntArray
    duration: IntArray
    gpus: IntArray
    cutoff: IntArray
    capacity: int


def build_jobs(arrays: OracleArrays) -> Jobs:
    """Return the jobs and the capacity for compiled code."""
    return Jobs(arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, arrays.capacity)


class Moves(NamedTuple):
    """Parameters of a try: `move_sizes`, `relocation_share`, `max_between` and `move_repairs` of `OracleParameters`."""

    sizes: tuple[int, ...]
    relocation_share: float
    max_between: int
    repairs: int


@compile_lazily
def _add_use(use: IntArray, start: int, length: int, gpus: int) -> None:
    for t in range(start, start + length):
        use[t] += gpus


@compile_lazily
def _find_earliest(use: IntArray, begin: int, length: int, limit: int, last: int) -> int:
    """Return the earliest start in begin..last with at most `limit` in use for `length` steps; last + 1 if none exists.

    The steps of a candidate are checked backwards, so that an overloaded step excludes all candidates before it.
    """
    start = clear = begin
    while start <= last:
        slot = start + length - 1
        while slot >= clear and use[slot] <= limit:
            slot -= 1
        if slot < clear:
            return start
        clear = start + length  # the steps between the overloaded one and this one are not overloaded
        start = slot + 1
    return last + 1


@compile_lazily
def _choose_neighbours(
    rng: Random, pace: float, job: int, jobs: Jobs, sizes: tuple[int, ...], start: IntArray, chosen: IntArray
) -> int:
    """List in `chosen` some jobs that run while `job` waits, then `job`, and return their number."""
    begin = jobs.submit[job] - 0.4 * pace * rng.random()
    end = start[job] + 1 + 0.8 * pace * rng.random()
    count = 0
    for i in range(len(start)):
        if i != job and start[i] <= end and start[i] + jobs.duration[i] >= begin:
            chosen[count] = i
            count += 1
    size = min(count, sizes[rng.integers(0, len(sizes))])
    for q in range(size):
        r = q + rng.integers(0, count - q)
        chosen[q], chosen[r] = chosen[r], chosen[q]
    chosen[size] = job
    return size + 1


@compile_lazily
def _draw_order(
    rng: Random, pace: float, jobs: Jobs, start: IntArray, chosen: IntArray, count: int, key: FloatArray
) -> None:
    """Fill `key` with a perturbed order of the chosen jobs: by start, by GPU time, by submission, or at random."""
    rule = rng.random()
    for q in range(count):
        i = chosen[q]
        if rule < 0.4:
            key[q] = start[i] + 0.13 * pace * rng.standard_normal()
        elif rule < 0.7:
            key[q] = jobs.duration[i] * jobs.gpus[i] * np.exp(0.5 * rng.standard_normal())
        elif rule < 0.85:
            key[q] = jobs.submit[i] + 0.2 * pace * rng.standard_normal()
        else:
            key[q] = rng.random()
    if rule < 0.2:
        key[count - 1] = jobs.submit[chosen[count - 1]] - 1


@compile_lazily
def _choose_relocation(
    rng: Random, pace: float, job: int, jobs: Jobs, max_between: int, start: IntArray, chosen: IntArray, key: FloatArray
) -> int:
    """List the jobs between the start of `job` and a random distant one, then `job`, and return their number.

    Returns 0 if there are more than `max_between` jobs in between.
    """
    submit, cutoff = jobs.submit, jobs.cutoff
    if rng.random() < 0.5:
        target = start[job] + 1.3 * pace * rng.standard_normal()
    else:
        target = submit[job] + (cutoff[job] - submit[job]) * rng.random() * rng.random()
    target = min(max(target, submit[job]), cutoff[job])
    begin = min(start[job], target)
    end = max(start[job], target) + jobs.duration[job] * rng.random()
    noise = 0.07 * pace if rng.random() < 0.5 else 0.0
    count = 0
    for i in range(len(start)):
        if i != job and begin <= start[i] <= end and (start[i] > submit[i] or rng.random() < 0.7):
            if count == max_between:
                return 0
            chosen[count] = i
            key[count] = start[i] + noise * rng.standard_normal()
            count += 1
    chosen[count] = job
    key[count] = target
    return count + 1


@compile_lazily
def insert_jobs(
    use: IntArray,
    jobs: Jobs,
    chosen: IntArray,
    count: int,
    key: FloatArray,
    limit: float,
    repairs: int,
    step: float,
    new: IntArray,
) -> bool:
    """Start jobs as early as possible in order of `key`; return whether all keep their cut-offs and Σ start <= `limit`.

    If all attempts fail, `use` is unchanged.

    - `use`: GPUs in use at each step by all other jobs; changed.
    - `jobs`: all jobs.
    - `chosen`, `count`: the first `count` entries of `chosen` are the jobs to insert.
    - `key`: order of these jobs, float64, (count,); changed.
    - `limit`: upper bound on the sum of the starts.
    - `repairs`, `step`: number of further attempts, each with the key of a late job decreased by `step`.
    - `new`: the resulting starts, (count,); changed.
    """
    submit, duration, gpus, cutoff = jobs.submit, jobs.duration, jobs.gpus, jobs.cutoff
    minimum, horizon = 0, float(len(use))
    for q in range(count):
        minimum += submit[chosen[q]]
    for _ in range(repairs + 1):
        order = np.argsort(key[:count])
        total, done, late = minimum, 0, -1
        for q in order:
            i = chosen[q]
            last = min(cutoff[i], int(min(limit - total, horizon)) + submit[i])
            t = _find_earliest(use, submit[i], duration[i], jobs.capacity - gpus[i], last)
            total += t - submit[i]
            if t > cutoff[i]:
                late = q
                break
            if t > last:
                break
            _add_use(use, t, duration[i], gpus[i])
            new[q] = t
            done += 1
        if done == count:
            return True
        for q in order[:done]:
            _add_use(use, new[q], duration[chosen[q]], -gpus[chosen[q]])
        if late < 0:
            return False
        key[late] -= step
    return False


@compile_lazily
def search_neighbourhoods(
    rng: Random,
    jobs: Jobs,
    moves: Moves,
    movable: IntArray,
    start: IntArray,
    best: IntArray,
    lead: int,
    tries: int,
    pace: float,
    warm: float,
    cold: float,
) -> int:
    """Improve a feasible schedule by annealed large-neighbourhood search, and return the final `lead`.

    A try removes some jobs and reinserts them in another order. A schedule that is worse by Δ steps is accepted with
    probability exp(-Δ/T), where the temperature T falls from `warm` to `cold`.

    - `rng`: source of the random numbers.
    - `jobs`: all jobs.
    - `moves`: rules for the choice of jobs.
    - `movable`: jobs from which tries begin; other jobs may be removed with them.
    - `start`: feasible schedule, (J,); changed.
    - `best`: best schedule found, (J,); changed.
    - `lead`: delay of `start` minus delay of `best`, in steps.
    - `tries`: number of tries.
    - `pace`: typical duration, in steps.
    - `warm`, `cold`: first and last temperature, in steps.
    """
    submit, duration, gpus = jobs.submit, jobs.duration, jobs.gpus
    count = len(submit)
    use = np.zeros((jobs.cutoff + duration).max() + 1, dtype=np.int64)
    for i in range(count):
        _add_use(use, start[i], duration[i], gpus[i])
    work = np.cumsum((duration[movable] * gpus[movable]).astype(np.float64))
    chosen, old, new = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    key = np.empty(count, np.float64)
    for k in range(tries):
        if rng.random() < moves.relocation_share:
            job = movable[min(len(movable) - 1, int(np.searchsorted(work, rng.random() * work[-1])))]
            size = _choose_relocation(rng, pace, job, jobs, moves.max_between, start, chosen, key)
        else:
            job = movable[rng.integers(0, len(movable))]
            for _ in range(50):
                if start[job] > submit[job]:
                    break
                job = movable[rng.integers(0, len(movable))]
            if start[job] == submit[job]:
                continue
            size = _choose_neighbours(rng, pace, job, jobs, moves.sizes, start, chosen)
            _draw_order(rng, pace, jobs, start, chosen, size, key)
        before = 0
        for q in range(size):
            i = chosen[q]
            old[q] = start[i]
            before += start[i]
            _add_use(use, start[i], duration[i], -gpus[i])
        temperature = warm * (cold / warm) ** (k / tries)
        limit = before - temperature * np.log(max(rng.random(), 1e-12))
        if not insert_jobs(use, jobs, chosen, size, key, limit, moves.repairs, np.inf, new):
            for q in range(size):
                _add_use(use, old[q], duration[chosen[q]], gpus[chosen[q]])
            continue
        for q in range(size):
            start[chosen[q]] = new[q]
            lead += new[q] - old[q]
        if lead < 0:
            lead = 0
            best[:] = start
    return lead


BLOCK = 64  # steps between two comparisons of the excess with its limit
UNLIMITED = 1 << 60  # GPUs; above every possible excess
MIN_GAIN = 1e-7  # smaller gains, in steps, are rounding errors


class Shares(NamedTuple):
    """Fairness; `inverse` is empty if fairness is not part of the objective.

    The `pool` of each job (J,), the `inverse` of the GPUs that each pool owns (P,), the share up to which use is
    `free`, and the cost of α at each step, `weight` (T,).
    """

    pool: IntArray
    inverse: FloatArray
    free: float
    weight: FloatArray


class Timeline(NamedTuple):
    """GPUs in use at each step: by each pool, (P, T), empty without fairness, and by all pools, (T,)."""

    use: IntArray
    total: IntArray


@compile_lazily
def _evaluate_fairness(line: Timeline, begin: int, end: int, shares: Shares) -> float:
    """Return the cost of fairness in the steps begin..end-1."""
    cost = 0.0
    for t in range(begin, end):
        largest = shares.free
        for i in range(len(shares.inverse)):
            largest = max(largest, line.use[i, t] * shares.inverse[i])
        cost += shares.weight[t] * (largest - shares.free)
    return cost


@compile_lazily
def _add_pool_use(line: Timeline, pool: int, begin: int, end: int, gpus: int) -> None:
    for t in range(begin, end):
        line.total[t] += gpus
    for t in range(begin, end if len(line.use) else begin):
        line.use[pool, t] += gpus


@compile_lazily
def _draw_start(rng: Random, jobs: Jobs, start: IntArray, job: int, pace: float) -> int:
    """Return another start of a job: anywhere in its window, near its start, or adjacent to an event of another job."""
    begin, length = jobs.submit[job], jobs.duration[job]
    rule = rng.random()
    if rule < 0.15:
        return begin + rng.integers(0, jobs.cutoff[job] - begin + 1)
    if rule < 0.3:
        return start[job] + int(rng.standard_normal() * pace)
    if rule < 0.5:
        return start[job] + rng.integers(-3, 4)
    if rule < 0.55:
        return begin
    other = rng.integers(0, len(start))
    if rule < 0.73:
        return start[other] + jobs.duration[other]
    if rule < 0.86:
        return start[other] - length
    if rule < 0.93:
        return start[other]
    return start[other] + jobs.duration[other] - length


@compile_lazily
def _find_changes(old: int, new: int, length: int) -> tuple[int, int, int, int]:
    """Return begin and end of the steps that a job enters, and of those that it leaves, if its start changes."""
    if new < old:
        return new, min(old, new + length), max(old, new + length), old + length
    return max(new, old + length), new + length, old, min(new, old + length)


@compile_lazily
def _count_added(use: IntArray, begin: int, end: int, gpus: int, capacity: int, limit: int) -> int:
    """Return the excess that a job of `gpus` adds in the steps begin..end-1, or some value above `limit`."""
    added = 0
    while begin < end and added <= limit:
        stop = min(end, begin + BLOCK)
        for t in range(begin, stop):
            excess = use[t] - capacity
            added += max(excess + gpus, 0) - max(excess, 0)
        begin = stop
    return added


@compile_lazily
def _count_removed(use: IntArray, begin: int, end: int, gpus: int, capacity: int) -> int:
    """Return the excess that a job of `gpus` removes if it leaves the steps begin..end-1."""
    removed = 0
    for t in range(begin, end):
        excess = use[t] - capacity
        removed += max(excess, 0) - max(excess - gpus, 0)
    return removed


@compile_lazily
def anneal_at_penalty(
    rng: Random,
    jobs: Jobs,
    shares: Shares,
    line: Timeline,
    movable: IntArray,
    start: IntArray,
    best: IntArray,
    lead: float,
    excess: int,
    tries: int,
    pace: float,
    temperature: float,
    penalty: float,
) -> tuple[float, int]:
    """Anneal a schedule at one temperature and one penalty, and return the final `lead` and `excess`.

    Most tries are rejected. Therefore, the largest acceptable cost is drawn first. Without fairness, a try is rejected
    as soon as the inspected steps exceed it. This allows about ten million tries per second (a few with fairness).

    - `rng`: source of the random numbers.
    - `jobs`, `shares`: the problem.
    - `line`: use of `start`; changed.
    - `movable`: jobs with more than one start.
    - `start`: schedule that keeps all cut-offs, (J,); changed.
    - `best`: best schedule within the capacity, (J,); changed.
    - `lead`: objective of `start`, without penalties, minus that of `best`; -infinity if `best` exceeds the capacity.
    - `excess`: excess GPUs of `start`, summed over all steps.
    - `tries`: number of tries.
    - `pace`: scale of small moves, in steps.
    - `temperature`: a schedule worse by Δ is accepted with probability exp(-Δ/temperature).
    - `penalty`: cost of an excess GPU per step, in steps of delay.
    """
    capacity, is_fair = jobs.capacity, len(shares.inverse) > 0
    for _ in range(tries):
        j = movable[rng.integers(0, len(movable))]
        old, new, length, gpus = start[j], _draw_start(rng, jobs, start, j, pace), jobs.duration[j], jobs.gpus[j]
        if new < jobs.submit[j] or new > jobs.cutoff[j] or new == old:
            continue
        limit = (old - new - temperature * np.log(1.0 - rng.random())) / penalty  # acceptable change of the excess
        if limit < -excess and not is_fair:
            continue
        gain_begin, gain_end, loss_begin, loss_end = _find_changes(old, new, length)
        max_added = UNLIMITED if is_fair else int(np.floor(limit)) + min(excess, gpus * (loss_end - loss_begin))
        change = _count_added(line.total, gain_begin, gain_end, gpus, capacity, max_added)
        if change > max_added:
            continue
        if excess > 0:
            change -= _count_removed(line.total, loss_begin, loss_end, gpus, capacity)
        if change > limit and not is_fair:
            continue
        pool, cost = shares.pool[j], 0.0
        if is_fair:
            cost -= _evaluate_fairness(line, gain_begin, gain_end, shares) + _evaluate_fairness(
                line, loss_begin, loss_end, shares
            )
        _add_pool_use(line, pool, gain_begin, gain_end, gpus)
        _add_pool_use(line, pool, loss_begin, loss_end, -gpus)
        if is_fair:
            cost += _evaluate_fairness(line, gain_begin, gain_end, shares) + _evaluate_fairness(
                line, loss_begin, loss_end, shares
            )
            if cost + penalty * change > penalty * limit:
                _add_pool_use(line, pool, gain_begin, gain_end, -gpus)
                _add_pool_use(line, pool, loss_begin, loss_end, gpus)
                continue
        start[j] = new
        excess += change
        lead += new - old + cost
        if excess == 0 and lead < -MIN_GAIN:
            lead = 0.0
            best[:] = start
    return lead, excess


@compile_lazily
def minimise_with_shares(jobs: Jobs, pool: IntArray, multipliers: FloatArray, use: FloatArray) -> float:
    """Return Σ_j min_t (delay + n_j times the sum of the pool's multipliers while j runs); set `use` of the minimiser.

    `pool` (J,) is the pool of each job; `multipliers` and `use` have shape (P, T).
    """
    pools, horizon = multipliers.shape
    total = np.zeros((pools, horizon + 1))
    for i in range(pools):
        for t in range(horizon):
            total[i, t + 1] = total[i, t] + multipliers[i, t]
            use[i, t] = 0.0
    value = 0.0
    for j in range(len(pool)):
        until, length, gpus = total[pool[j]], jobs.duration[j], jobs.gpus[j]
        minimum, start = np.inf, jobs.submit[j]
        for t in range(jobs.submit[j], jobs.cutoff[j] + 1):
            cost = t - jobs.submit[j] + gpus * (until[t + length] - until[t])
            if cost < minimum - 1e-12:
                minimum, start = cost, t
        value += minimum
        for t in range(start, start + length):
            use[pool[j], t] += gpus
    return value


@compile_lazily
def project_columns(values: FloatArray, limit: FloatArray) -> None:
    """Replace each column of `values` (P, T) by the nearest non-negative vector with sum at most `limit` (T,)."""
    pools = len(values)
    ordered = np.empty(pools)
    for t in range(values.shape[1]):
        total = 0.0
        for i in range(pools):
            values[i, t] = max(values[i, t], 0.0)
            total += values[i, t]
            ordered[i] = -values[i, t]
        if total <= limit[t]:
            continue
        ordered.sort()
        total, shift = 0.0, 0.0
        for k in range(pools):
            total -= ordered[k]
            if -ordered[k] > (total - limit[t]) / (k + 1):
                shift = (total - limit[t]) / (k + 1)
        for i in range(pools):
            values[i, t] = max(values[i, t] - shift, 0.0)


class CountedStarts(NamedTuple):
    """The open starts that rows count, for compiled code.

    Open starts have positions in order of job, with one unused position after those of each job. `first` (J + 1,) is
    the first position of each job, `delay` the delay at each position. The other arrays have one element per entry: the
    `row` counts the starts of `job` at the positions from `low` to before `high` with a `weight`.
    """

    first: IntArray
    delay: FloatArray
    row: IntArray
    job: IntArray
    low: IntArray
    high: IntArray
    weight: FloatArray


@compile_lazily
def find_cheapest_starts(
    entries: CountedStarts, multipliers: FloatArray, chosen: IntArray, activity: FloatArray
) -> float:
    """Return Σ_j min (delay of a start + multipliers of the rows that count it); see `CountedStarts`.

    `chosen` (J,) is set to the positions of the minimisers. Their row activities are added to `activity` (R,).
    """
    first, row, job, weight = entries.first, entries.row, entries.job, entries.weight
    low, high = entries.low, entries.high
    change = np.zeros(len(entries.delay) + 1)
    for e in range(len(row)):
        cost = multipliers[row[e]] * weight[e]
        change[low[e]] += cost
        change[high[e]] -= cost
    value = 0.0
    for j in range(len(first) - 1):
        cost, minimum, position = 0.0, np.inf, first[j]
        for k in range(first[j], first[j + 1] - 1):
            cost += change[k]
            if entries.delay[k] + cost < minimum - 1e-12:
                minimum, position = entries.delay[k] + cost, k
        value += minimum
        chosen[j] = position
    for e in range(len(row)):
        if low[e] <= chosen[job[e]] < high[e]:
            activity[row[e]] += weight[e]
    return value
