"""Convex curves of time against cost, cut into segments and merged by slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Segments:
    """Segments of n curves in order of time gained for cost, the best first.

    - `cheapest` (n,): the point of least cost of each curve, where its segments begin.
    - `curve`, `end` (m,): the curve of each segment, and the point of the curve that the segment leads to.
    - `cost`, `time` (m + 1,): totals of all curves after none, one, ... of the segments.
    """

    cheapest: IntArray
    curve: IntArray
    end: IntArray
    cost: FloatArray
    time: FloatArray


def merged_segments(time: FloatArray, cost: FloatArray) -> Segments:
    """The segments of the curves `time` over `cost`, both (n, points), infinite where a curve has no point.

    Taken in this order, the segments solve the linear multiple-choice knapsack problem for every budget at once (Sinha
    and Zoltners, "The multiple-choice knapsack problem", 1979).
    """
    cheapest = cost.argmin(1)
    n = np.arange(len(cost))
    with np.errstate(invalid="ignore", divide="ignore"):
        gain, rise = time[:, :-1] - time[:, 1:], np.diff(cost, axis=1)
        loss = np.maximum(rise, 0.0)  # Past the least cost a fall is rounding; a free segment comes first.
        slope = gain / loss
    used = (np.arange(cost.shape[1] - 1) >= cheapest[:, None]) & (gain > 0) & np.isfinite(rise)
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
