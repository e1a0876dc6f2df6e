"""Compiled loops (numba): neighbourhood search, annealing with penalties, with fairness and without, and prices.

All arrays are int64 unless said otherwise: `start` and `best` of shape (J,), `use` of shape (horizon,). `pace` is a
typical duration in steps: distances in time are drawn in proportion to the pace.

With penalties a schedule may be too wide for a while, at a penalty for each GPU and slot too many, and jobs move one by
one. So wide jobs find places between others that no exchange of jobs in a feasible schedule comes to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.compiled import compiled
from instances.sia.arrays import OracleArrays

Random = np.random.Generator


class Jobs(NamedTuple):
    """Jobs and capacity of `OracleArrays`, arrays of shape (J,), as compiled code takes them."""

    submit: IntArray
    duration: IntArray
    gpus: IntArray
    cutoff: IntArray
    capacity: int


def jobs_of(arrays: OracleArrays) -> Jobs:
    """The jobs as compiled code takes them."""
    return Jobs(arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, arrays.capacity)


class Moves(NamedTuple):
    """How a try chooses jobs; see `OracleParameters`."""

    sizes: tuple[int, ...]
    elsewhere: float
    most_between: int
    repairs: int


@compiled
def _hold(use: IntArray, start: int, length: int, gpus: int) -> None:
    for t in range(start, start + length):
        use[t] += gpus


@compiled
def _earliest(use: IntArray, begin: int, length: int, limit: int, last: int) -> int:
    """The earliest start in begin..last with no more than `limit` in use for `length` steps; past `last` if none.

    Steps are looked at from the last one of a place backwards, so that a full step there rules out all places before.
    """
    start = clear = begin
    while start <= last:
        slot = start + length - 1
        while slot >= clear and use[slot] <= limit:
            slot -= 1
        if slot < clear:
            return start
        clear = start + length  # The steps between the full one and this one are not full.
        start = slot + 1
    return last + 1


@compiled
def _near(
    rng: Random, pace: float, job: int, jobs: Jobs, sizes: tuple[int, ...], start: IntArray, chosen: IntArray
) -> int:
    """The number of jobs taken out: some that run while `job` waits, and `job` last, all listed in `chosen`."""
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


@compiled
def _order(
    rng: Random, pace: float, jobs: Jobs, start: IntArray, chosen: IntArray, count: int, key: FloatArray
) -> None:
    """Fill `key` with a disturbed order of the chosen jobs: by start, by GPU time, by submission, or at random."""
    way = rng.random()
    for q in range(count):
        i = chosen[q]
        if way < 0.4:
            key[q] = start[i] + 0.13 * pace * rng.standard_normal()
        elif way < 0.7:
            key[q] = jobs.duration[i] * jobs.gpus[i] * np.exp(0.5 * rng.standard_normal())
        elif way < 0.85:
            key[q] = jobs.submit[i] + 0.2 * pace * rng.standard_normal()
        else:
            key[q] = rng.random()
    if way < 0.2:
        key[count - 1] = jobs.submit[chosen[count - 1]] - 1


@compiled
def _elsewhere(
    rng: Random, pace: float, job: int, jobs: Jobs, most: int, start: IntArray, chosen: IntArray, key: FloatArray
) -> int:
    """The number of jobs taken out: `job`, with another place in the order of starts, and the jobs that start between.

    0 where these are more than `most`.
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
            if count == most:
                return 0
            chosen[count] = i
            key[count] = start[i] + noise * rng.standard_normal()
            count += 1
    chosen[count] = job
    key[count] = target
    return count + 1


@compiled
def insert(
    use: IntArray,
    jobs: Jobs,
    chosen: IntArray,
    count: int,
    key: FloatArray,
    most: float,
    repairs: int,
    step: float,
    new: IntArray,
) -> bool:
    """Start jobs in order of `key`, each as early as possible; whether all keep the cut-offs and Σ start <= `most`.

    If all attempts fail, none of the jobs holds GPUs.

    Parameters:

    - `use`: GPUs in use at each step by the jobs that are not inserted; changed.
    - `jobs`: all jobs.
    - `chosen`, `count`: the first `count` entries are the numbers of the jobs to insert.
    - `key`: order of these jobs, float64, (count,); changed.
    - `most`: most that the starts may add up to.
    - `repairs`, `step`: for so many more attempts the key of a job past its cut-off is made less by `step`.
    - `new`: starts found, (count,); changed.
    """
    submit, duration, gpus, cutoff = jobs.submit, jobs.duration, jobs.gpus, jobs.cutoff
    least, limitless = 0, float(len(use))
    for q in range(count):
        least += submit[chosen[q]]
    for _ in range(repairs + 1):
        order = np.argsort(key[:count])
        total, done, late = least, 0, -1
        for q in order:
            i = chosen[q]
            last = min(cutoff[i], int(min(most - total, limitless)) + submit[i])
            t = _earliest(use, submit[i], duration[i], jobs.capacity - gpus[i], last)
            total += t - submit[i]
            if t > cutoff[i]:
                late = q
                break
            if t > last:
                break
            _hold(use, t, duration[i], gpus[i])
            new[q] = t
            done += 1
        if done == count:
            return True
        for q in order[:done]:
            _hold(use, new[q], duration[chosen[q]], -gpus[chosen[q]])
        if late < 0:
            return False
        key[late] -= step
    return False


@compiled
def anneal(
    rng: Random,
    jobs: Jobs,
    moves: Moves,
    among: IntArray,
    start: IntArray,
    best: IntArray,
    lead: int,
    tries: int,
    pace: float,
    warm: float,
    cold: float,
) -> int:
    """Annealed large-neighbourhood search from a feasible schedule; the final delay of `start` less that of `best`.

    A try takes out some jobs and inserts them in another order. A schedule worse by Δ steps is accepted with
    probability exp(-Δ/T), where T falls from `warm` to `cold`.

    Parameters:

    - `rng`: source of all that is random.
    - `jobs`: all jobs.
    - `moves`: how jobs are chosen.
    - `among`: the jobs that tries begin with; others are taken out beside them.
    - `start`: feasible schedule, (J,); changed.
    - `best`: best schedule met, (J,); changed.
    - `lead`: delay of `start` less that of `best`, in steps.
    - `tries`: number of tries.
    - `pace`: typical duration, in steps.
    - `warm`, `cold`: first and last temperature, in steps.
    """
    submit, duration, gpus = jobs.submit, jobs.duration, jobs.gpus
    count = len(submit)
    use = np.zeros((jobs.cutoff + duration).max() + 1, dtype=np.int64)
    for i in range(count):
        _hold(use, start[i], duration[i], gpus[i])
    work = np.cumsum((duration[among] * gpus[among]).astype(np.float64))
    chosen, old, new = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    key = np.empty(count, np.float64)
    for k in range(tries):
        if rng.random() < moves.elsewhere:
            job = among[min(len(among) - 1, int(np.searchsorted(work, rng.random() * work[-1])))]
            size = _elsewhere(rng, pace, job, jobs, moves.most_between, start, chosen, key)
        else:
            job = among[rng.integers(0, len(among))]
            for _ in range(50):
                if start[job] > submit[job]:
                    break
                job = among[rng.integers(0, len(among))]
            if start[job] == submit[job]:
                continue
            size = _near(rng, pace, job, jobs, moves.sizes, start, chosen)
            _order(rng, pace, jobs, start, chosen, size, key)
        before = 0
        for q in range(size):
            i = chosen[q]
            old[q] = start[i]
            before += start[i]
            _hold(use, start[i], duration[i], -gpus[i])
        warmth = warm * (cold / warm) ** (k / tries)
        most = before - warmth * np.log(max(rng.random(), 1e-12))
        if not insert(use, jobs, chosen, size, key, most, moves.repairs, np.inf, new):
            for q in range(size):
                _hold(use, old[q], duration[chosen[q]], gpus[chosen[q]])
            continue
        for q in range(size):
            start[chosen[q]] = new[q]
            lead += new[q] - old[q]
        if lead < 0:
            lead = 0
            best[:] = start
    return lead


BLOCK = 64  # Steps between two looks at the costs so far.
MANY = 1 << 60  # More GPUs than can be too many.
LEAST_GAIN = 1e-7  # Gains below this one, in steps, are rounding errors.


class Shares(NamedTuple):
    """Fairness; an empty `inverse` where it is not in the objective.

    `pool` of each job (J,), `inverse` of what each pool owns (P,), the share that is `free`, β of each step (T,).
    """

    pool: IntArray
    inverse: FloatArray
    free: float
    weight: FloatArray


class Timeline(NamedTuple):
    """GPUs in use at each step, of each pool with fairness (P, T), and of all pools (T,)."""

    use: IntArray
    total: IntArray


@compiled
def _fairness(line: Timeline, begin: int, end: int, shares: Shares) -> float:
    """What fairness costs in the steps begin..end-1."""
    fair = 0.0
    for t in range(begin, end):
        most = shares.free
        for i in range(len(shares.inverse)):
            most = max(most, line.use[i, t] * shares.inverse[i])
        fair += shares.weight[t] * (most - shares.free)
    return fair


@compiled
def _hold_in_pool(line: Timeline, pool: int, begin: int, end: int, gpus: int) -> None:
    for t in range(begin, end):
        line.total[t] += gpus
    for t in range(begin, end if len(line.use) else begin):
        line.use[pool, t] += gpus


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

    Some ten million tries a second, a few million with fairness. Most are refused. So what a try may cost at most is
    drawn first, and where only widths count a job is refused as soon as the steps looked at so far cost more than that.

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
    capacity, fair = jobs.capacity, len(shares.inverse) > 0
    for _ in range(tries):
        j = movable[rng.integers(0, len(movable))]
        old, new, length, gpus = start[j], target(rng, jobs, start, j, pace), jobs.duration[j], jobs.gpus[j]
        if new < jobs.submit[j] or new > jobs.cutoff[j] or new == old:
            continue
        most = (old - new - heat * np.log(1.0 - rng.random())) / penalty  # that is accepted, in GPUs too many
        if most < -over and not fair:
            continue
        gain_begin, gain_end, loss_begin, loss_end = exchanged(old, new, length)
        allowed = MANY if fair else int(np.floor(most)) + min(over, gpus * (loss_end - loss_begin))
        excess = _added(line.total, gain_begin, gain_end, gpus, capacity, allowed)
        if excess > allowed:
            continue
        if over > 0:
            excess -= _taken(line.total, loss_begin, loss_end, gpus, capacity)
        if excess > most and not fair:
            continue
        pool, change = shares.pool[j], 0.0
        if fair:
            change -= _fairness(line, gain_begin, gain_end, shares) + _fairness(line, loss_begin, loss_end, shares)
        _hold_in_pool(line, pool, gain_begin, gain_end, gpus)
        _hold_in_pool(line, pool, loss_begin, loss_end, -gpus)
        if fair:
            change += _fairness(line, gain_begin, gain_end, shares) + _fairness(line, loss_begin, loss_end, shares)
            if change + penalty * excess > penalty * most:
                _hold_in_pool(line, pool, gain_begin, gain_end, -gpus)
                _hold_in_pool(line, pool, loss_begin, loss_end, gpus)
                continue
        start[j] = new
        over += excess
        lead += new - old + change
        if over == 0 and lead < -LEAST_GAIN:
            lead = 0.0
            best[:] = start
    return lead, over


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


class CountedStarts(NamedTuple):
    """The open starts that rows count, as compiled code takes them.

    Open starts have places in order of job, with one more place behind those of each job. `first` (J + 1,): the first
    place of each job; `delay`: that of the start at each place. Arrays of an entry each: the `row` counts the starts of
    the `job` at the places from `low` to before `high` with a `weight`.
    """

    first: IntArray
    delay: FloatArray
    row: IntArray
    job: IntArray
    low: IntArray
    high: IntArray
    weight: FloatArray


@compiled
def cheapest_starts(entries: CountedStarts, prices: FloatArray, chosen: IntArray, over: FloatArray) -> float:
    """Σ_j min (delay of a start + price of what it counts), less the rows' own; see `CountedStarts`.

    `chosen` (J,): the places of the cheapest starts; `over` (R,): what these count is added to it.
    """
    first, row, job, weight = entries.first, entries.row, entries.job, entries.weight
    low, high = entries.low, entries.high
    change = np.zeros(len(entries.delay) + 1)
    for e in range(len(row)):
        price = prices[row[e]] * weight[e]
        change[low[e]] += price
        change[high[e]] -= price
    found = 0.0
    for j in range(len(first) - 1):
        charge, least, place = 0.0, np.inf, first[j]
        for k in range(first[j], first[j + 1] - 1):
            charge += change[k]
            if entries.delay[k] + charge < least - 1e-12:
                least, place = entries.delay[k] + charge, k
        found += least
        chosen[j] = place
    for e in range(len(row)):
        if low[e] <= chosen[job[e]] < high[e]:
            over[row[e]] += weight[e]
    return found
