"""Phase two of Aryl's allocation as a multiple-choice knapsack (section 5.2, Algorithm 2), solved exactly.

The weight of an item is the GPUs of the extra workers; the capacity is the GPUs beyond the base demand of all jobs. The
linear relaxation decides most jobs by reduced cost: an item that loses more than the gap between the linear bound and a
feasible choice is in no better solution. Dynamic programming over GPUs decides the other jobs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.aryl import ArylElastic
from models.aryl.parameters import DEFAULTS, KnapsackParameters
from models.core.highs import TIGHT, LinearModel, solve_arrays
from models.core.safe_bounds import real_bound

CANCELLING = 1e-6  # relative: speeds that differ by less are subtracted as rationals, because floats lose digits


@dataclass(frozen=True)
class KnapsackItems:
    """The items of all jobs, sorted by job and by number of workers.

    - `first` (n + 1,): index of the first item of each job.
    - `workers`, `weight`, `value`, `job` (items,): workers, GPUs beyond the base demand, seconds of running time saved,
      and index of the job.
    - `capacity`: GPUs beyond the base demand of all jobs.
    """

    first: IntArray
    workers: IntArray
    weight: IntArray
    value: FloatArray
    job: IntArray
    capacity: int


def list_items(data: ArylElastic, max_items: int = DEFAULTS.knapsack.items) -> KnapsackItems:
    """List the items of every job: the base demand and each number of workers that fits and makes progress.

    Raises InputError if there are more than `max_items`.
    """
    choices, reason = data.choices(), explain_too_many_items(data, max_items)
    if reason is not None:
        raise InputError(f"data.jobs: {reason}")
    capacity = data.whole_gpus - sum(job.base_gpus for job in data.jobs)
    sizes = np.array([len(workers) for workers in choices], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(sizes)])
    job = np.repeat(np.arange(len(sizes)), sizes)
    least = np.array([j.min_workers for j in data.jobs], dtype=np.int64)[job]
    extra = np.arange(first[-1]) - first[job]
    workers = least + extra
    weight = extra * np.array([j.gpus_per_worker for j in data.jobs], dtype=np.int64)[job]
    speed = workers.astype(float)
    if data.scaling_loss:
        beyond = np.maximum(0, workers - np.array([j.midpoint for j in data.jobs])[job])
        speed *= np.maximum(0.0, 1 - data.scaling_loss * beyond)
    longest = np.array([j.work / float(data.throughput(j, j.min_workers)) for j in data.jobs])[job]
    base = speed[first[:-1]][job]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (speed - base) / speed
        value = np.where(extra > 0, longest * gain, 0.0)
    for i in np.flatnonzero((extra > 0) & (np.abs(gain) < CANCELLING)).tolist():  # few items
        one = data.jobs[job[i]]
        slow, fast = (data.throughput(one, w) for w in (one.min_workers, int(workers[i])))
        value[i] = float(one.exact_work * (1 / slow - 1 / fast))
    keep = np.isfinite(value)
    counts = np.bincount(job[keep], minlength=len(sizes))
    first = np.concatenate([[0], np.cumsum(counts)])
    return KnapsackItems(first, workers[keep], weight[keep], value[keep], job[keep], capacity)


def explain_too_many_items(data: ArylElastic, max_items: int = DEFAULTS.knapsack.items) -> str | None:
    """Explain why there are too many items, more than `max_items`; `None` if there are not."""
    items = sum(len(workers) for workers in data.choices())
    if data.has_room_for(data.fastest_workers()):
        return None  # every job gets its fastest number of workers
    return f"{items:,} numbers of workers to choose from, more than {max_items:,}" if items > max_items else None


def solve_relaxation(items: KnapsackItems) -> tuple[float, float]:
    """Return the bound of the linear relaxation, in seconds, and the dual price of a GPU, in seconds per GPU.

    The dual has one variable, the price p >= 0. It minimises p * capacity + sum over jobs of the largest value - p *
    weight. Every price gives a bound; bisection on the slope finds the best one.
    """
    starts = items.first[:-1]

    def compute_slope(price: float) -> int:
        profit = items.value - price * items.weight
        best = np.maximum.reduceat(profit, starts)
        chosen = np.where(profit >= best[items.job], items.weight, np.iinfo(np.int64).max)
        return items.capacity - int(np.minimum.reduceat(chosen, starts).sum())

    with np.errstate(divide="ignore", invalid="ignore"):
        high = float(np.max(np.where(items.weight > 0, items.value / items.weight, 0.0), initial=0.0)) * 2
    low = 0.0
    if compute_slope(0.0) >= 0:
        high = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if compute_slope(middle) >= 0 else (middle, high)
    profit = items.value - high * items.weight
    return float(high * items.capacity + np.maximum.reduceat(profit, starts).sum()), high


def solve_knapsack(
    data: ArylElastic,
    options: Options,
    report: Report,
    start: Solution | None = None,
    parameters: KnapsackParameters = DEFAULTS.knapsack,
) -> Answer:
    """Maximise the running time saved; return the best numbers of workers and an upper bound.

    - `start`: a feasible solution to begin from.
    """
    clock = Stopwatch(options.time_limit)
    with Stopwatch() as building:
        fastest = data.fastest_workers()
        if data.has_room_for(fastest):
            return Answer({"workers": fastest}, bound=_compute_savings(data, fastest), info={"method": "room for all"})
        report({"workers": {job.id: job.min_workers for job in data.jobs}}, None)
        items = list_items(data, parameters.items)
    with Stopwatch() as solving:
        bound, price = solve_relaxation(items)
        chosen = _choose_items(items, price, clock)
        if start is not None:
            chosen = max(chosen, _find_items(items, data, start), key=lambda c: float(items.value[c].sum()))
        report(_convert(items, data, chosen), bound)
        undecided = _find_undecided(items, chosen, bound, price)
        chosen, bound = _decide(items, chosen, undecided, bound, options, clock, parameters)
    value = float(items.value[chosen].sum())
    is_closed = bound - value <= options.gap * value
    return Answer(
        solution=_convert(items, data, chosen),
        bound=max(value, bound),
        termination="finished" if is_closed else "time_limit",
        reason=None if is_closed else "time limit",
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        info={"method": "dynamic programming", "undecided_jobs": len(np.unique(undecided[1]))},
    )


def _compute_savings(data: ArylElastic, workers: Mapping[str, int]) -> float:
    """Compute the seconds of running time that `workers` save compared with the base demands."""
    total = Fraction(0)
    for job in data.jobs:
        least, speed = data.throughput(job, job.min_workers), data.throughput(job, workers[job.id])
        total += Fraction(job.min_running_time) * job.max_workers * (1 / least - 1 / speed)
    return float(total)


def _convert(items: KnapsackItems, data: ArylElastic, chosen: IntArray) -> dict[str, Any]:
    return {"workers": {job.id: int(w) for job, w in zip(data.jobs, items.workers[chosen], strict=True)}}


def _find_items(items: KnapsackItems, data: ArylElastic, solution: Solution) -> IntArray:
    """Find the items (n,) of a feasible `solution`."""
    chosen = items.first[:-1].copy()
    for j, job in enumerate(data.jobs):
        workers = items.workers[items.first[j] : items.first[j + 1]]
        index = int(np.searchsorted(workers, solution["workers"][job.id]))
        if index < len(workers) and workers[index] == solution["workers"][job.id]:
            chosen[j] += index
    return chosen


def _choose_items(items: KnapsackItems, price: float, clock: Stopwatch) -> IntArray:
    """Choose a feasible item of each job (n,): the lightest of the best at `price`, then improvements by value."""
    starts = items.first[:-1]
    profit = items.value - price * items.weight
    best = np.maximum.reduceat(profit, starts)
    is_best = np.where(profit >= best[items.job], np.arange(len(profit)), len(profit))
    chosen = np.minimum.reduceat(is_best, starts)
    while True:
        free = items.capacity - int(items.weight[chosen].sum())
        if free < 0:  # rounding made a heavier one of several best items look like the lightest
            chosen[np.argmax(items.weight[chosen])] = items.first[np.argmax(items.weight[chosen])]
            continue
        gain = items.value - items.value[chosen][items.job]
        gain[items.weight - items.weight[chosen][items.job] > free] = 0.0
        best_item = int(np.argmax(gain))
        if gain[best_item] <= 0 or clock.has_expired:
            return chosen
        chosen[items.job[best_item]] = best_item


def _find_undecided(items: KnapsackItems, chosen: IntArray, bound: float, price: float) -> tuple[IntArray, IntArray]:
    """Find the items of a choice that may be better than `chosen`, of jobs with several such items, and their jobs."""
    profit = items.value - price * items.weight
    loss = np.maximum.reduceat(profit, items.first[:-1])[items.job] - profit
    alive = loss <= real_bound(bound, "maximize") - items.value[chosen].sum()
    alive[chosen] = True
    several = np.bincount(items.job[alive], minlength=len(chosen)) > 1
    undecided = np.flatnonzero(alive & several[items.job])
    return undecided, items.job[undecided]


def _decide(
    items: KnapsackItems,
    chosen: IntArray,
    undecided: tuple[IntArray, IntArray],
    bound: float,
    options: Options,
    clock: Stopwatch,
    parameters: KnapsackParameters,
) -> tuple[IntArray, float]:
    """Choose the best item of each undecided job; the other jobs keep theirs. Return the items (n,) and the bound."""
    candidates, owner = undecided
    if not candidates.size:
        return chosen, float(items.value[chosen].sum())
    jobs = np.unique(owner)
    groups = np.split(candidates, np.flatnonzero(np.diff(owner)) + 1)
    fixed = int(items.weight[chosen].sum() - items.weight[chosen[jobs]].sum())
    base = sum(int(items.weight[group[0]]) for group in groups)
    unit = int(np.gcd.reduce(np.concatenate([items.weight[g] - items.weight[g[0]] for g in groups])))
    capacity = items.capacity - fixed - base
    capacity = min(capacity, sum(int(items.weight[g[-1]] - items.weight[g[0]]) for g in groups)) // unit
    result = chosen.copy()
    if len(groups) == 1:
        fitting = candidates[items.weight[candidates] - items.weight[candidates[0]] <= capacity * unit]
        result[jobs] = fitting[np.argmax(items.value[fitting])]
    elif (capacity + 1) * len(jobs) <= parameters.cells and (capacity + 1) * len(candidates) <= parameters.steps:
        result[jobs] = _solve_table(items, groups, capacity, unit)
    else:
        others = float(items.value[chosen].sum() - items.value[chosen[jobs]].sum())
        picked, upper = _solve_program(items, groups, capacity, unit, options, clock)
        if picked is not None:
            result[jobs] = picked
            result = max(chosen, result, key=lambda c: float(items.value[c].sum()))
        return result, min(bound, others + upper)
    return result, float(items.value[result].sum())


def _solve_table(items: KnapsackItems, groups: list[IntArray], capacity: int, unit: int) -> list[int]:
    """Choose an item of each group by dynamic programming over the capacity, in multiples of `unit` GPUs."""
    best = np.zeros(capacity + 1)
    choices = np.zeros((len(groups), capacity + 1), dtype=np.int32)
    for choice, group in zip(choices, groups, strict=True):
        before = best
        best = before + items.value[group[0]]
        for k, item in enumerate(group[1:], start=1):
            shift = int(items.weight[item] - items.weight[group[0]]) // unit
            if shift > capacity:
                break
            candidate = before[: capacity + 1 - shift] + items.value[item]
            better = candidate > best[shift:]
            np.copyto(best[shift:], candidate, where=better)
            choice[shift:][better] = k
    picked, left = [0] * len(groups), capacity
    for g in range(len(groups) - 1, -1, -1):
        picked[g] = int(groups[g][choices[g, left]])
        left -= int(items.weight[picked[g]] - items.weight[groups[g][0]]) // unit
    return picked


def _solve_program(
    items: KnapsackItems, groups: list[IntArray], capacity: int, unit: int, options: Options, clock: Stopwatch
) -> tuple[list[int] | None, float]:
    """Choose an item of each group with HiGHS; return the items, or `None`, and an upper bound on their value."""
    candidates = np.concatenate(groups)
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    lightest = np.array([items.weight[group[0]] for group in groups])[owner]
    weight = (items.weight[candidates] - lightest) // unit
    scale = float(items.value[candidates].max())
    one_each = sparse.csr_array((np.ones(len(candidates)), (owner, np.arange(len(candidates)))))
    model = LinearModel(
        cost=items.value[candidates] / scale,  # HiGHS treats very small values in seconds as 0
        matrix=sparse.vstack([one_each, sparse.csr_array(weight.astype(float)[None, :])]),
        row_lower=np.append(np.ones(len(groups)), 0.0),
        row_upper=np.append(np.ones(len(groups)), float(capacity)),
        upper=1.0,
        integer=True,
        sense="maximize",
    )
    limit = clock.limit_left_s
    solved = solve_arrays(model, replace(options, time_limit=limit, gap=options.gap / 2), extra=TIGHT)
    bound = math.inf if solved.bound is None else real_bound(solved.bound, "maximize") * scale
    if solved.x is None:
        return None, bound
    picked = np.flatnonzero(solved.x > 0.5)
    if len(picked) != len(groups) or int(weight[picked].sum()) > capacity:
        return None, bound  # the solution is feasible only within HiGHS's tolerances
    return [int(item) for item in candidates[picked]], bound
