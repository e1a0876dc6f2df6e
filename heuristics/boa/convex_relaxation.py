"""The convex relaxation of BOA, problem (1), solved for every budget at once by merged segments."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray
from instances.boa import merged_segments


class ConvexRelaxation:
    """The relaxation of n runs, each at a width of a grid or at a mix of two neighbouring widths.

    - `hours` (n, grid): run time at each width, infinite where there is no such width.
    - `grid` (grid,): widths, GPUs, rising.
    - `value` (n,): hours of mean completion time of an hour of the run.
    - `price` (n,): cost of an hour of the run, per GPU.
    """

    def __init__(self, hours: FloatArray, grid: FloatArray, value: FloatArray, price: FloatArray) -> None:
        self.value_over_price = value / price
        self.time, self.cost = value[:, None] * hours, price[:, None] * hours * grid
        self.segments = merged_segments(self.time, self.cost)

    @property
    def least_cost(self) -> float:
        """The cost of the cheapest widths."""
        return float(self.segments.cost[0])

    def solve(self, budget: float) -> FloatArray:
        """Optimal widths (n,) for `budget`, or the cheapest widths where the budget is less than the least cost."""
        s = self.segments
        taken = max(0, int(np.searchsorted(s.cost, budget, side="right")) - 1)
        position = s.cheapest.copy()
        np.maximum.at(position, s.curve[:taken], s.end[:taken])
        n = np.arange(len(position))
        time, cost = self.time[n, position], self.cost[n, position]
        if taken < len(s.curve) and budget > s.cost[taken]:
            run, end = s.curve[taken], s.end[taken]
            share = (budget - s.cost[taken]) / (s.cost[taken + 1] - s.cost[taken])
            time[run] += share * (self.time[run, end] - time[run])
            cost[run] += share * (self.cost[run, end] - cost[run])
        # Cost over time is the width times price over value.
        return cost / time * self.value_over_price
