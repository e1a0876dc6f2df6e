"""The volume algorithm (Barahona and Anbil, 2000): prices of a good Lagrangian bound, and an average of its solutions.

Each round moves the prices along what an average of the cheapest solutions so far breaks. The average comes close to a
solution of the linear program, whose prices these approach, in rounds that take no linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from models.sia.parameters import OracleParameters
from models.sia.rows import Rows

LEAST_LEFT = 1e-100  # Shares are kept in units of what later solutions leave of the first one's.
PATIENCE = 16  # Rounds between two looks at the clock.


class PricedProblem(Protocol):
    """A problem of which rows are priced."""

    def cheapest(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """The bound of `prices` (R,), and by how much the cheapest solution breaks each row, (R,), a new array."""

    def project(self, prices: FloatArray) -> None:
        """Put `prices` (R,) to the nearest ones that are allowed."""

    def average(self, share: float) -> None:
        """Take the last solution into the average, with this share."""


def ascend(
    problem: PricedProblem,
    prices: FloatArray,
    target: float,
    parameters: OracleParameters,
    ended: Callable[[int, float], bool],
) -> tuple[float, FloatArray]:
    """The best bound found, and its prices (R,).

    Parameters:

    - `problem`: what is bounded.
    - `prices`: the first prices, (R,).
    - `target`: a value that the bound is not expected to exceed, at which the rounds end.
    - `parameters`: steps and weights.
    - `ended`: whether to end before a round, given its number and the best bound.
    """
    p = parameters
    best, over = problem.cheapest(prices)
    problem.average(1.0)
    step, failures, count, last = p.price_step, 0, 0, prices
    while not (step < p.price_least_step or best >= target or ended(count, best)):
        count += 1
        norm = (over[(over > 0) | (last > 0)] ** 2).sum()
        last = last + step * (target - best) / max(norm, 1e-9) * over
        problem.project(last)
        bound, broken = problem.cheapest(last)
        problem.average(p.price_weight)
        if bound > best:
            if (over * broken).sum() > 0:
                step = min(2.0, step * p.price_growth)
            best, prices, failures = bound, last, 0
        else:
            failures += 1
            if failures == p.price_failures:
                step, failures, last = step * p.price_decay, 0, prices
        over = over + p.price_weight * (broken - over)
    return best, prices


class StartPrices:
    """Prices of `rows` where each job takes its cheapest open start; `share` (K,) is the average of the open starts."""

    def __init__(self, rows: Rows) -> None:
        from models.sia.kernels import CountedStarts  # compiled at first use, which takes seconds

        columns = rows.columns
        self.columns = np.flatnonzero(columns.open)
        counts = np.searchsorted(self.columns, columns.offset)
        places = np.arange(len(self.columns)) + columns.job[self.columns]
        first = counts + np.arange(len(counts))
        row, job = np.nonzero(rows.weight)
        shift = columns.offset[:-1][job] - columns.arrays.submit[job]
        low = np.searchsorted(self.columns, rows.low[row, job] + shift) + job
        high = np.searchsorted(self.columns, rows.high[row, job] + shift + 1) + job
        weight = rows.weight[row, job].astype(float)
        always = (low == first[job]) & (high == first[job + 1] - 1)
        limits = rows.limits - np.bincount(row[always], weight[always], len(rows))
        kept = (low < high) & ~always
        row, job, low, high, weight = row[kept], job[kept], low[kept], high[kept], weight[kept]
        self._scale = np.maximum(np.sqrt(np.bincount(row, weight**2, len(rows))), 1.0)
        # Rows are divided by their lengths, so that steps of prices are alike in all.
        self._over = -limits / self._scale
        delay = np.zeros(int(first[-1]))
        delay[places] = columns.delay[self.columns]
        self.entries = CountedStarts(first, delay, row, job, low, high, weight / self._scale[row])
        self.chosen: IntArray = np.zeros(len(first) - 1, dtype=np.int64)
        self._share, self._places, self._left = np.zeros(len(delay)), places, 1.0

    def ascend(
        self, prices: FloatArray, target: int, delay: int, clock: Stopwatch, parameters: OracleParameters
    ) -> FloatArray:
        """Prices (R,) of a better bound, from `prices` on; `target`: a bound that is enough, in steps."""
        enough = target - 1 + parameters.price_margin

        def ended(count: int, bound: float) -> bool:
            return count >= parameters.node_rounds or bound >= enough or (count % PATIENCE == 0 and clock.expired)

        return ascend(self, prices * self._scale, float(max(delay, target)), parameters, ended)[1] / self._scale

    def average_above(self, least: float) -> tuple[IntArray, FloatArray]:
        """The starts of which the average holds at least that share, columns' numbers, and the shares."""
        share = self._left * self._share[self._places]
        kept = share >= least
        return self.columns[kept], share[kept]

    def cheapest(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """The bound of `prices` (R,), and by how much the cheapest starts break each row, (R,)."""
        from models.sia.kernels import cheapest_starts  # compiled at first use, which takes seconds

        over = self._over.copy()
        least = cheapest_starts(self.entries, prices, self.chosen, over)
        return least + float(prices @ self._over), over

    def project(self, prices: FloatArray) -> None:
        """Make no price negative."""
        np.maximum(prices, 0.0, out=prices)

    def average(self, share: float) -> None:
        """Take the last starts into the average."""
        if share == 1.0:
            self._share[:], self._left = 0.0, 1.0
        else:
            self._left *= 1.0 - share
        self._share[self.chosen] += share / self._left
        if self._left < LEAST_LEFT:
            self._share *= self._left
            self._left = 1.0
