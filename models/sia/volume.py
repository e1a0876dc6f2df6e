"""The volume algorithm (Barahona and Anbil, 2000): multipliers of a good Lagrangian bound, and an average solution.

Each iteration moves the multipliers along the violations of an average of the Lagrangian solutions so far. The average
approaches a solution of the linear program and the multipliers approach its duals, without any linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from models.sia.parameters import OracleParameters
from models.sia.rows import Rows

MIN_AVERAGE_SCALE = 1e-100  # below this factor, the average is rescaled to avoid underflow
CLOCK_INTERVAL = 16  # iterations between two checks of the clock


class LagrangianProblem(Protocol):
    """A Lagrangian relaxation with R relaxed rows."""

    def minimise(self, multipliers: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound of the multipliers (R,) and the row violations (R,) of the minimiser, as a new array."""

    def project(self, multipliers: FloatArray) -> None:
        """Replace the multipliers (R,), in place, by the nearest feasible ones."""

    def update_average(self, weight: float) -> None:
        """Add the last minimiser to the average solution with this weight."""


def ascend(
    problem: LagrangianProblem,
    multipliers: FloatArray,
    target: float,
    parameters: OracleParameters,
    should_stop: Callable[[int, float], bool],
) -> FloatArray:
    """Return multipliers (R,) of the best bound found.

    - `problem`: the Lagrangian relaxation.
    - `multipliers`: initial multipliers, (R,).
    - `target`: upper bound on the optimum; the iterations end when the bound reaches it.
    - `parameters`: step lengths and weights.
    - `should_stop`: called before an iteration with its index and the best bound.
    """
    p = parameters
    best, excess = problem.minimise(multipliers)
    problem.update_average(1.0)
    step, failures, count, last = p.ascent_step, 0, 0, multipliers
    while not (step < p.min_ascent_step or best >= target or should_stop(count, best)):
        count += 1
        norm = (excess[(excess > 0) | (last > 0)] ** 2).sum()
        last = last + step * (target - best) / max(norm, 1e-9) * excess
        problem.project(last)
        bound, violation = problem.minimise(last)
        problem.update_average(p.ascent_weight)
        if bound > best:
            if (excess * violation).sum() > 0:
                step = min(2.0, step * p.ascent_growth)
            best, multipliers, failures = bound, last, 0
        else:
            failures += 1
            if failures == p.ascent_failures:
                step, failures, last = step * p.ascent_decay, 0, multipliers
        excess = excess + p.ascent_weight * (violation - excess)
    return multipliers


class StartSubproblem:
    """The Lagrangian relaxation of `rows`: every job takes its cheapest open start, and the starts are averaged.

    Rows are divided by their norms, so that the multipliers of all rows move by comparable steps.
    """

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
        constant = (low == first[job]) & (high == first[job + 1] - 1)  # the row counts all open starts of the job
        limits = rows.limits - np.bincount(row[constant], weight[constant], len(rows))
        variable = (low < high) & ~constant
        row, job, low, high, weight = row[variable], job[variable], low[variable], high[variable], weight[variable]
        self.norm = np.maximum(np.sqrt(np.bincount(row, weight**2, len(rows))), 1.0)
        self._constant = -limits / self.norm
        delay = np.zeros(int(first[-1]))
        delay[places] = columns.delay[self.columns]
        self.entries = CountedStarts(first, delay, row, job, low, high, weight / self.norm[row])
        self.chosen: IntArray = np.zeros(len(first) - 1, dtype=np.int64)
        # The average is `_scale` times `_share`, so that an update changes one entry per job instead of all entries.
        self._share, self._places, self._scale = np.zeros(len(delay)), places, 1.0

    def ascend(
        self, multipliers: FloatArray, target: int, delay: int, clock: Stopwatch, parameters: OracleParameters
    ) -> FloatArray:
        """Return multipliers (R,) of a better bound, found from initial `multipliers` (R,).

        - `target`: bound in steps at which the ascent may stop.
        - `delay`: delay of the best schedule, in steps.
        - `clock`: ends the ascent.
        - `parameters`: iterations, step lengths and weights.
        """
        cutoff = target - 1 + parameters.ascent_margin

        def should_stop(count: int, bound: float) -> bool:
            is_late = count % CLOCK_INTERVAL == 0 and clock.has_expired
            return count >= parameters.node_ascent_rounds or bound >= cutoff or is_late

        return ascend(self, multipliers * self.norm, float(max(delay, target)), parameters, should_stop) / self.norm

    def read_average(self, min_share: float) -> tuple[IntArray, FloatArray]:
        """Return the columns whose share in the average is at least `min_share`, and these shares, (N,) each."""
        share = self._scale * self._share[self._places]
        chosen = share >= min_share
        return self.columns[chosen], share[chosen]

    def minimise(self, multipliers: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound of the multipliers (R,), and the excess of the cheapest starts in each row, (R,)."""
        from models.sia.kernels import find_cheapest_starts  # compiled at first use, which takes seconds

        excess = self._constant.copy()
        minimum = find_cheapest_starts(self.entries, multipliers, self.chosen, excess)
        return minimum + float(multipliers @ self._constant), excess

    def project(self, multipliers: FloatArray) -> None:
        """Replace negative multipliers by 0."""
        np.maximum(multipliers, 0.0, out=multipliers)

    def update_average(self, weight: float) -> None:
        """Add the last starts to the average with this weight."""
        if weight == 1.0:
            self._share[:], self._scale = 0.0, 1.0
        else:
            self._scale *= 1.0 - weight
        self._share[self.chosen] += weight / self._scale
        if self._scale < MIN_AVERAGE_SCALE:
            self._share *= self._scale
            self._scale = 1.0
