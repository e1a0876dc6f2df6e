"""Phase two of Aryl's allocation as a multiple-choice knapsack (section 5.2, Algorithm 2), solved exactly.

Items weigh the GPUs of the extra workers alone and the capacity is what the base demand of all jobs leaves. The linear
relaxation decides most jobs: an item whose reduced profit costs more than the gap between the linear bound and a
feasible choice is in no better solution. Dynamic programming over GPUs decides the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from instances import Answer, InputError, Options, Stopwatch
from instances.aryl import ArylElastic
from models.highs import LinearModel, solve_arrays

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
NOISE = 1e-9  # relative: room for rounding before an item is ruled out
MOST_ITEMS = 50_000_000
MOST_CELLS = 25_000_000  # GPUs times undecided jobs, beyond which the rest goes to HiGHS


@dataclass(frozen=True)
class Items:
    """The items of all jobs in a row, the items of one job next to each other by increasing number of workers.

    `first` (n + 1,): where the items of each job begin. For each item `workers`, `weight` (GPUs beyond the base
    demand), `value` (seconds of running time saved) and `job` (its index); `capacity`: GPUs beyond all base demand.
    """

    first: IntArray
    workers: IntArray
    weight: IntArray
    value: FloatArray
    job: IntArray
    capacity: int


def knapsack_items(data: ArylElastic) -> Items:
    """The items of every job: its base demand and each number of workers that fits and makes progress.

    Raises InputError where they are too many to list.
    """
    capacity = data.whole_gpus - sum(job.base_gpus for job in data.jobs)
    most = [min(j.max_workers, j.min_workers + capacity // j.gpus_per_worker) for j in data.jobs]
    sizes = np.array([top - j.min_workers + 1 for top, j in zip(most, data.jobs, strict=True)], dtype=np.int64)
    if sizes.sum() > MOST_ITEMS:
        raise InputError(f"data.jobs: {sizes.sum():,} numbers of workers to choose from, more than {MOST_ITEMS:,}")
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
    longest = np.array([j.work / j.min_workers for j in data.jobs])[job]
    with np.errstate(divide="ignore"):
        value = np.where(extra > 0, longest * (1 - least / speed), 0.0)
    keep = np.isfinite(value)
    counts = np.bincount(job[keep], minlength=len(sizes))
    first = np.concatenate([[0], np.cumsum(counts)])
    return Items(first, workers[keep], weight[keep], value[keep], job[keep], capacity)


def linear_bound(items: Items) -> tuple[float, float]:
    """The bound of the linear relaxation, seconds, and its price of a GPU, seconds per GPU.

    The relaxation's dual has one variable: the price p >= 0 that minimises p * capacity + sum over jobs of the best
    value - p * weight. Every price gives a bound; bisection on its slope finds the best.
    """
    starts = items.first[:-1]

    def slope(price: float) -> int:
        profit = items.value - price * items.weight
        best = np.maximum.reduceat(profit, starts)
        chosen = np.where(profit >= best[items.job], items.weight, np.iinfo(np.int64).max)
        return items.capacity - int(np.minimum.reduceat(chosen, starts).sum())

    with np.errstate(divide="ignore", invalid="ignore"):
        high = float(np.max(np.where(items.weight > 0, items.value / items.weight, 0.0), initial=0.0)) * (1 + NOISE)
    low = 0.0
    if slope(0.0) >= 0:
        high = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if slope(middle) >= 0 else (middle, high)
    profit = items.value - high * items.weight
    return float(high * items.capacity + np.maximum.reduceat(profit, starts).sum()), high


def solve_knapsack(data: ArylElastic, options: Options) -> Answer:
    """The best numbers of workers, with proof."""
    with Stopwatch() as building:
        items = knapsack_items(data)
    with Stopwatch() as solving:
        bound, price = linear_bound(items)
        chosen = _fill(items, price)
        undecided = _undecided(items, chosen, bound, price)
        chosen, proved = _decide(items, chosen, undecided, options)
    value = float(items.value[chosen].sum())
    workers = {job.id: int(w) for job, w in zip(data.jobs, items.workers[chosen], strict=True)}
    info = {"method": "dynamic programming", "linear_bound": bound, "undecided_jobs": len(np.unique(undecided[1]))}
    return Answer(
        solution={"workers": workers},
        bound=value if proved else max(value, bound),
        termination="finished" if proved else "time_limit",
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        info=info,
    )


def _fill(items: Items, price: float) -> IntArray:
    """A feasible item of each job: the lightest of the best at `price`, then whatever still fits by value."""
    starts = items.first[:-1]
    profit = items.value - price * items.weight
    best = np.maximum.reduceat(profit, starts)
    is_best = np.where(profit >= best[items.job], np.arange(len(profit)), len(profit))
    chosen = np.minimum.reduceat(is_best, starts)
    while True:
        free = items.capacity - int(items.weight[chosen].sum())
        if free < 0:  # only by rounding at the very price
            chosen[np.argmax(items.weight[chosen])] = items.first[np.argmax(items.weight[chosen])]
            continue
        gain = items.value - items.value[chosen][items.job]
        gain[items.weight - items.weight[chosen][items.job] > free] = 0.0
        best_item = int(np.argmax(gain))
        if gain[best_item] <= 0:
            return chosen
        chosen[items.job[best_item]] = best_item


def _undecided(items: Items, chosen: IntArray, bound: float, price: float) -> tuple[IntArray, IntArray]:
    """Items that a better choice than `chosen` may hold, of jobs with more than one, and their jobs."""
    profit = items.value - price * items.weight
    loss = np.maximum.reduceat(profit, items.first[:-1])[items.job] - profit
    alive = loss <= bound - items.value[chosen].sum() + NOISE * max(1.0, abs(bound))
    alive[chosen] = True
    several = np.bincount(items.job[alive], minlength=len(chosen)) > 1
    found = np.flatnonzero(alive & several[items.job])
    return found, items.job[found]


def _decide(
    items: Items, chosen: IntArray, undecided: tuple[IntArray, IntArray], options: Options
) -> tuple[IntArray, bool]:
    """The best item of each undecided job and whether it is proved; the other jobs keep theirs."""
    found, owner = undecided
    if not found.size:
        return chosen, True
    jobs = np.unique(owner)
    groups = np.split(found, np.flatnonzero(np.diff(owner)) + 1)
    fixed = int(items.weight[chosen].sum() - items.weight[chosen[jobs]].sum())
    room = items.capacity - fixed - sum(int(items.weight[group[0]]) for group in groups)
    unit = int(np.gcd.reduce(np.concatenate([items.weight[g] - items.weight[g[0]] for g in groups])))
    room = min(room, sum(int(items.weight[g[-1]] - items.weight[g[0]]) for g in groups)) // unit
    if (room + 1) * len(jobs) > MOST_CELLS:
        found_by_highs = _by_highs(items, groups, items.capacity - fixed, options)
        if found_by_highs is None:
            return chosen, False
        picked = found_by_highs
    else:
        picked = _by_dynamic_programming(items, groups, room, unit)
    result = chosen.copy()
    result[jobs] = picked
    return result, True


def _by_dynamic_programming(items: Items, groups: list[IntArray], room: int, unit: int) -> list[int]:
    best = np.zeros(room + 1)
    choices = np.zeros((len(groups), room + 1), dtype=np.int32)
    for choice, group in zip(choices, groups, strict=True):
        before = best
        best = before + items.value[group[0]]
        for k, item in enumerate(group[1:], start=1):
            shift = int(items.weight[item] - items.weight[group[0]]) // unit
            if shift > room:
                break
            candidate = before[: room + 1 - shift] + items.value[item]
            better = candidate > best[shift:]
            np.copyto(best[shift:], candidate, where=better)
            choice[shift:][better] = k
    picked, left = [0] * len(groups), room
    for g in range(len(groups) - 1, -1, -1):
        picked[g] = int(groups[g][choices[g, left]])
        left -= int(items.weight[picked[g]] - items.weight[groups[g][0]]) // unit
    return picked


def _by_highs(items: Items, groups: list[IntArray], room: int, options: Options) -> list[int] | None:
    found = np.concatenate(groups)
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    one_each = sparse.csr_array((np.ones(len(found)), (owner, np.arange(len(found)))))
    weights = sparse.csr_array(items.weight[found].astype(float)[None, :])
    model = LinearModel(
        cost=items.value[found],
        matrix=sparse.vstack([one_each, weights]),
        row_lower=np.append(np.ones(len(groups)), 0.0),
        row_upper=np.append(np.ones(len(groups)), float(room)),
        upper=1.0,
        integer=True,
        sense="maximize",
    )
    solved = solve_arrays(model, replace(options, gap=0.0))
    if solved.termination != "finished" or solved.x is None:
        return None
    return [int(item) for item in found[solved.x > 0.5]]
