"""Convert the data of `boa-allocation` with integer widths to arrays: time and cost of each epoch at each width."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.boa.allocation import BoaAllocation, compute_min_budget, compute_min_cost, proven
from instances.errors import InputError

MOST_CELLS = 10_000_000  # The limit on the entries of one array: 80 MB, and a method holds a dozen of them.


@dataclass(frozen=True)
class WidthArrays:
    """Arrays by class, epoch and choice of (GPU type, width), with M classes, at most L epochs and S choices.

    - `hours` (L, M, S): run time of the epoch, E[X]/s(k); infinite past a table's last width, 0 past a class's last
      epoch.
    - `rescale` (M,): hours of a change of width.
    - `rate` (S,): cost of the choice per hour, price times width.
    - `type`, `width` (S,): the choice, a position in `gpu_types` and a number of GPUs.
    - `epochs` (M,): number of epochs of each class.
    - `arrivals` (M,): λ_i, jobs per hour.
    - `share` (M,): factor of class i's completion time in the mean, w_i λ_i / Σ w λ.
    """

    hours: FloatArray
    rescale: FloatArray
    rate: FloatArray
    type: IntArray
    width: IntArray
    epochs: IntArray
    arrivals: FloatArray
    share: FloatArray


def shares(data: BoaAllocation) -> FloatArray:
    """Return the factors of the classes in the (weighted) mean completion time, shape (classes,): w_i λ_i / Σ w λ."""
    weighted = np.array([c.weight * c.arrivals_per_hour for c in data.classes])
    return weighted / weighted.sum()


def width_arrays(data: BoaAllocation, last: int | None = None) -> WidthArrays:
    """Build the arrays of `data` for the integer widths up to `last`.

    By default, `last` is the maximum width that the budget can pay for if each class and epoch has one width. If
    policies may mix widths, a small share of jobs can be wider. Raises InputError if the arrays are too large.
    """
    widest = affordable_width(data) if last is None else last
    too_many = oversize(data, widest)
    if too_many is not None:
        raise InputError(too_many)
    last = int(widest)
    epochs = np.array([len(c.epochs) for c in data.classes])
    shape = int(epochs.max()), len(data.classes), len(data.gpu_types) * last
    hours = np.zeros(shape)
    width = np.arange(1, last + 1)
    for i, c in enumerate(data.classes):
        for j, epoch in enumerate(c.epochs):
            for h, kind in enumerate(data.gpu_types):
                speed = data.speeds(epoch.speedup.on(kind.name), width.astype(float))
                with np.errstate(divide="ignore"):
                    hours[j, i, h * last : (h + 1) * last] = epoch.size_hours / speed
    prices = np.array([t.price for t in data.gpu_types], dtype=float)
    return WidthArrays(
        hours=hours,
        rescale=np.array([c.rescale_hours for c in data.classes]),
        rate=np.outer(prices, width).ravel(),
        type=np.repeat(np.arange(len(prices)), last),
        width=np.tile(width, len(prices)),
        epochs=epochs,
        arrivals=np.array([c.arrivals_per_hour for c in data.classes]),
        share=shares(data),
    )


def oversize(data: BoaAllocation, last: float | None = None) -> str | None:
    """Return a message if the arrays of widths up to `last` (by default the affordable ones) are too large."""
    widest = affordable_width(data) if last is None else last
    if math.isinf(widest):
        return "max_width: must be given where a speedup is linear (amdahl 1 or power 1), or nearly so"
    cells = max(len(c.epochs) for c in data.classes) * len(data.classes) * len(data.gpu_types) * widest
    if cells <= MOST_CELLS:
        return None
    return (
        f"max_width: must be given, or smaller: the arrays of widths up to {widest:,.0f} have {cells:,.0f} entries, "
        f"over the limit of {MOST_CELLS:,}"
    )


def affordable_width(data: BoaAllocation) -> float:
    """Return the maximum width of any epoch within the budget, if all other epochs have their minimum cost."""
    spare = max(0.0, proven(data.budget) - compute_min_budget(data))
    price = min(t.price for t in data.gpu_types)
    last = 1.0
    for c in data.classes:
        budget = spare / c.arrivals_per_hour + compute_min_cost(data, c)
        for epoch in c.epochs:
            for curve in (epoch.speedup.on(t.name) for t in data.gpu_types):
                if curve.table is not None:
                    last = max(last, len(curve.table.hull(data.max_width).speedup))
                    continue
                run = _widest(curve.amdahl, curve.power, budget / (price * epoch.size_hours))
                change = budget / (price * c.rescale_hours) if c.rescale_hours else math.inf
                last = max(last, min(run, change, data.max_width or math.inf))
    return last if math.isinf(last) else float(math.floor(last * (1 + 1e-9)))


def _widest(amdahl: float | None, power: float | None, cost: float) -> float:
    """Return the width at which k/s(k) reaches `cost` >= 1, infinite if no width reaches it."""
    if amdahl is not None:
        return math.inf if amdahl == 1 else (cost - amdahl) / (1 - amdahl)
    assert power is not None
    cost = max(1.0, cost)
    exponent = math.log(cost) / (1 - power) if power < 1 else math.inf
    return math.exp(exponent) if exponent < 700 else math.inf


@dataclass(frozen=True)
class Segments:
    """Segments of n curves sorted by the ratio of saved time to cost, the best first.

    - `cheapest` (n,): the point of minimum cost of each curve, at which its segments start.
    - `curve`, `end` (m,): the curve of each segment, and the point at its end.
    - `cost`, `time` (m + 1,): totals of all curves after 0, 1, ..., m segments.
    """

    cheapest: IntArray
    curve: IntArray
    end: IntArray
    cost: FloatArray
    time: FloatArray


def merge_segments(time: FloatArray, cost: FloatArray) -> Segments:
    """Return the segments of the curves `time` over `cost`, both (n, points), infinite if a curve has no point.

    Taken in this order, the segments solve the linear multiple-choice knapsack problem for every budget at once (Sinha
    and Zoltners, "The multiple-choice knapsack problem", 1979).
    """
    cheapest = cost.argmin(1)
    n = np.arange(len(cost))
    with np.errstate(invalid="ignore", divide="ignore"):
        gain, rise = time[:, :-1] - time[:, 1:], np.diff(cost, axis=1)
        loss = np.maximum(rise, 0.0)  # A decrease after the minimum is a rounding error; free segments come first.
        slope = gain / loss
    used = (np.arange(cost.shape[1] - 1) >= cheapest[:, None]) & (gain > 0) & np.isfinite(rise)
    # Rounding must not put collinear segments of one curve out of order: each segment begins where the last one ends.
    slope = np.minimum.accumulate(np.where(used, slope, np.inf), axis=1)
    curve, start = np.nonzero(used)
    order = np.argsort(-slope[curve, start], kind="stable")
    curve, start = curve[order], start[order]
    return Segments(
        cheapest=cheapest,
        curve=curve,
        end=start + 1,
        cost=cost[n, cheapest].sum() + np.concatenate([[0.0], np.cumsum(loss[curve, start])]),
        time=time[n, cheapest].sum() - np.concatenate([[0.0], np.cumsum(gain[curve, start])]),
    )
