"""The convex problem (1), solved for every budget at once: time against cost in segments, merged by slope."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Segments:
    """n runs of which each has one width out of a grid, or between two neighbours of it.

    `hours` (n, grid) at each width of `grid` (grid,), infinite where there is no such width; `value` and `price` (n,):
    hours of mean completion time, and cost per GPU, of an hour of the run.
    """

    def __init__(self, hours: FloatArray, grid: FloatArray, value: FloatArray, price: FloatArray) -> None:
        self.worth = value / price
        self.time, self.cost = value[:, None] * hours, price[:, None] * hours * grid
        self.cost[~np.isfinite(self.cost)] = np.inf
        self.cheapest = self.cost.argmin(1)
        n = np.arange(len(hours))
        with np.errstate(invalid="ignore", divide="ignore"):
            gain, rise = self.time[:, :-1] - self.time[:, 1:], np.diff(self.cost, axis=1)
            loss = np.maximum(rise, 0.0)  # past the least cost it only falls by rounding; a free segment comes first
            slope = gain / loss
        used = (np.arange(len(grid) - 1) >= self.cheapest[:, None]) & (gain > 0) & np.isfinite(rise)
        run, start = np.nonzero(used)
        order = np.argsort(-slope[run, start], kind="stable")
        self.run, self.end = run[order], start[order] + 1
        least = self.cost[n, self.cheapest].sum()
        self.spent = least + np.concatenate([[0.0], np.cumsum(loss[run, start][order])])

    def solve(self, budget: float) -> FloatArray:
        """Optimal widths (n,) for `budget`; those of least cost where it is less than that."""
        whole = max(0, int(np.searchsorted(self.spent, budget, side="right")) - 1)
        position = self.cheapest.copy()
        np.maximum.at(position, self.run[:whole], self.end[:whole])
        n = np.arange(len(position))
        time, cost = self.time[n, position], self.cost[n, position]
        if whole < len(self.run) and budget > self.spent[whole]:
            r, end = self.run[whole], self.end[whole]
            share = (budget - self.spent[whole]) / (self.spent[whole + 1] - self.spent[whole])
            time[r] += share * (self.time[r, end] - time[r])
            cost[r] += share * (self.cost[r, end] - cost[r])
        return cost / time * self.worth  # cost over time is the width times price over value
