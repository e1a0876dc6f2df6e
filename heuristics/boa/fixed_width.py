"""A fixed width for each class of jobs, kept through all epochs: simpler policies to compare with."""

from __future__ import annotations

import numpy as np

from heuristics.boa.epoch_arrays import EpochArrays, epoch_arrays, hull_hours
from instances import Answer
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, Segments, merged_segments, planned, within_budget
from instances.boa.allocation import HAIR
from instances.method import ANY, method


@method("heuristic", ANY)
def one_width(data: BoaAllocation) -> Answer:
    """The fixed width of each job type (Definition 1 of the short paper), whole and with the cost of the start-up.

    The multiple-choice knapsack problem over classes by the greedy heuristic (Sinha and Zoltners, 1979): steps in the
    order of time gained for cost, as long as they fit, then whatever single widening still fits and gains most.
    """
    p = epoch_arrays(data)
    time, cost = _class_totals(p)
    return _answer(p, _greedy(time, cost, data.budget, p.uneven))


@method("heuristic", ANY)
def equal_share(data: BoaAllocation) -> Answer:
    """The budget in equal shares: every class gets the widest single width that a share pays for.

    A class whose least cost is more than an equal share gets that cost, and the others share the rest equally.
    """
    p = epoch_arrays(data)
    time, cost = _class_totals(p)
    shares = _equal_shares(cost.min(1), planned(data.budget) * (1 - HAIR))
    affordable = cost <= np.maximum(shares, cost.min(1))[:, None]
    return _answer(p, np.where(affordable, time, np.inf).argmin(1) + 1)


def _class_totals(p: EpochArrays) -> tuple[FloatArray, FloatArray]:
    """Mean completion time and cost that each class adds at each width, both (classes, K); infinite past a table."""
    first = np.flatnonzero(p.first)
    hours = np.add.reduceat(p.hours, first, axis=0) + p.rescale[first][:, None]
    width = np.arange(1, hours.shape[1] + 1)
    return p.value[first][:, None] * hours, p.price[first][:, None] * hours * width


def _greedy(time: FloatArray, cost: FloatArray, budget: float, uneven: bool = False) -> IntArray:
    """Widths (classes,) by the greedy heuristic of the multiple-choice knapsack problem.

    Where speedups are `uneven`, steps lead over the widths where the hull of a class touches; the last of all goes to
    any width.
    """
    here = np.arange(len(time))
    order, few = np.broadcast_to(np.arange(time.shape[1]), time.shape), [time, cost]
    if uneven:
        touches = hull_hours(time)[1]
        order = np.argsort(~touches, axis=1, kind="stable")  # those that touch first, the narrowest before
        few = [np.take_along_axis(np.where(touches, of, np.inf), order, 1) for of in (time, cost)]
    steps = merged_segments(*few)
    at = steps.cheapest.copy()
    _take_steps(at, steps, few[1], budget)
    at = order[here, at]
    while True:
        spare = planned(budget) - cost[here, at].sum()
        fits = cost - cost[here, at][:, None] <= spare
        gain = np.where(fits, time[here, at][:, None] - time, -np.inf)
        i, k = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[i, k] <= 0:
            return at + 1
        at[i] = k


def _take_steps(at: IntArray, steps: Segments, cost: FloatArray, budget: float) -> None:
    """Move the widths `at` (m,) in order along the steps, where a step fits when the turn comes.

    A step that does not fit never will: what is taken meanwhile only leaves less. So the steps that fit go in rounds,
    in each as many as fit together.
    """
    here, order = np.arange(len(at)), np.arange(len(steps.curve))
    while True:
        spare = planned(budget) - cost[here, at].sum()
        run, end = steps.curve[order], steps.end[order]
        fits = (cost[run, end] - cost[run, at[run]] <= spare) & (end > at[run])
        order, run, end = order[fits], run[fits], end[fits]
        if not len(order):
            return
        # A step begins at the end of the previous step of the same class. Ends of one class rise along the order.
        by_run = np.lexsort((np.arange(len(run)), run))
        first = np.concatenate([[True], run[by_run][1:] != run[by_run][:-1]])
        reached = end[by_run]
        before = np.where(first, at[run[by_run]], np.concatenate([[0], reached[:-1]]))
        extra = np.empty(len(run))
        extra[by_run] = cost[run[by_run], reached] - cost[run[by_run], before]
        taken = max(1, int(np.searchsorted(np.maximum.accumulate(np.cumsum(extra)), spare, side="right")))
        np.maximum.at(at, run[:taken], end[:taken])
        order = order[taken:]


def _equal_shares(least: FloatArray, budget: float) -> FloatArray:
    """Shares (classes,) of the budget: equal, but for the classes that need more."""
    shares, open_ = least.copy(), np.ones(len(least), dtype=bool)
    while open_.any():
        share = (budget - shares[~open_].sum()) / open_.sum()
        short = open_ & (least > share)
        if not short.any():
            shares[open_] = share
            break
        open_ &= ~short
    return shares


def _answer(p: EpochArrays, width: IntArray) -> Answer:
    """The widths (classes,) as an answer, where the budget is kept."""
    epochs = width[p.job_class]
    if within_budget(p.time_and_cost(epochs)[1], p.data.budget):
        return Answer(p.solution(epochs))
    return Answer(None, reason="no single width of each class keeps the budget")
