"""One fixed width per class of jobs for all epochs: simpler policies for comparison."""

from __future__ import annotations

import numpy as np

from heuristics.boa.epoch_arrays import EpochArrays, build_epoch_arrays, compute_hull_hours
from instances import Answer
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, Segments, compute_plan_limit, is_within_budget, merge_segments
from instances.boa.allocation import HAIR
from instances.method import ANY, method


@method("heuristic", ANY)
def one_width(data: BoaAllocation) -> Answer:
    """Give each class one integer width by a knapsack heuristic (Definition 1 of the short paper).

    The start-up cost is included. The problem is a multiple-choice knapsack over classes, solved by the greedy
    heuristic of Sinha and Zoltners (1979). Steps are taken in the order of time gained per cost, if they fit. Then the
    single widening that fits and gains most is taken, repeatedly.
    """
    p = build_epoch_arrays(data)
    time, cost = _class_totals(p)
    return _answer(p, _greedy(time, cost, data.budget, p.uneven))


@method("heuristic", ANY)
def equal_share(data: BoaAllocation) -> Answer:
    """Split the budget equally: every class gets the fastest single width within its share.

    If the minimum cost of a class exceeds an equal share, the class gets this cost, and the others share the rest
    equally.
    """
    p = build_epoch_arrays(data)
    time, cost = _class_totals(p)
    shares = share_budget(cost.min(1), compute_plan_limit(data.budget) * (1 - HAIR))
    affordable = cost <= np.maximum(shares, cost.min(1))[:, None]
    return _answer(p, np.where(affordable, time, np.inf).argmin(1) + 1)


def _class_totals(p: EpochArrays) -> tuple[FloatArray, FloatArray]:
    """Return the mean completion time and cost of each class at each width, (classes, K); infinite beyond a table."""
    first = np.flatnonzero(p.first)
    hours = np.add.reduceat(p.hours, first, axis=0) + p.rescale[first][:, None]
    width = np.arange(1, hours.shape[1] + 1)
    return p.value[first][:, None] * hours, p.price[first][:, None] * hours * width


def _greedy(time: FloatArray, cost: FloatArray, budget: float, uneven: bool = False) -> IntArray:
    """Return widths (classes,) by the greedy heuristic of the multiple-choice knapsack problem.

    If speedups are `uneven`, steps use only the widths at which the hull of a class touches. The last widening may use
    any width.
    """
    here = np.arange(len(time))
    order, usable = np.broadcast_to(np.arange(time.shape[1]), time.shape), [time, cost]
    if uneven:
        touches = compute_hull_hours(time)[1]
        order = np.argsort(~touches, axis=1, kind="stable")  # widths on the hull first, each group by increasing width
        usable = [np.take_along_axis(np.where(touches, of, np.inf), order, 1) for of in (time, cost)]
    steps = merge_segments(*usable)
    chosen = steps.cheapest.copy()
    _take_steps(chosen, steps, usable[1], budget)
    chosen = order[here, chosen]
    while True:
        unused = compute_plan_limit(budget) - cost[here, chosen].sum()
        fits = cost - cost[here, chosen][:, None] <= unused
        gain = np.where(fits, time[here, chosen][:, None] - time, -np.inf)
        i, k = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[i, k] <= 0:
            return chosen + 1
        chosen[i] = k


def _take_steps(at: IntArray, steps: Segments, cost: FloatArray, budget: float) -> None:
    """Take the steps in order, as far as they fit, and update the widths `at` (m,) in place.

    A step that does not fit will not fit later, because the unused budget only shrinks. So the steps that fit are taken
    in rounds, as many per round as fit together.
    """
    here, order = np.arange(len(at)), np.arange(len(steps.curve))
    while True:
        unused = compute_plan_limit(budget) - cost[here, at].sum()
        run, end = steps.curve[order], steps.end[order]
        fits = (cost[run, end] - cost[run, at[run]] <= unused) & (end > at[run])
        order, run, end = order[fits], run[fits], end[fits]
        if not len(order):
            return
        # A step begins where the previous step of the same class ends. The ends of a class increase along the order.
        by_run = np.lexsort((np.arange(len(run)), run))
        first = np.concatenate([[True], run[by_run][1:] != run[by_run][:-1]])
        ends_by_run = end[by_run]
        before = np.where(first, at[run[by_run]], np.concatenate([[0], ends_by_run[:-1]]))
        extra = np.empty(len(run))
        extra[by_run] = cost[run[by_run], ends_by_run] - cost[run[by_run], before]
        taken = max(1, int(np.searchsorted(np.maximum.accumulate(np.cumsum(extra)), unused, side="right")))
        np.maximum.at(at, run[:taken], end[:taken])
        order = order[taken:]


def share_budget(min_cost: FloatArray, budget: float) -> FloatArray:
    """Return shares (classes,) of the budget: equal, except for classes whose minimum cost is higher."""
    shares, open_ = min_cost.copy(), np.ones(len(min_cost), dtype=bool)
    while open_.any():
        share = (budget - shares[~open_].sum()) / open_.sum()
        exceeds = open_ & (min_cost > share)
        if not exceeds.any():
            shares[open_] = share
            break
        open_ &= ~exceeds
    return shares


def _answer(p: EpochArrays, width: IntArray) -> Answer:
    """Return the widths (classes,) as an answer if they are within the budget."""
    epochs = width[p.job_class]
    if is_within_budget(p.time_and_cost(epochs)[1], p.data.budget):
        return Answer(p.solution(epochs))
    return Answer(None, reason="no single width per class is within the budget")
