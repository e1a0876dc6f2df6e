"""Limits of the variables of the event-interval program (optimality-based bound tightening).

A schedule that is no worse than the start is a point of the linear relaxation whose total is at most that of the start.
If dual multipliers of the rows prove that no such point gives a variable a certain value, the variable never has this
value. Multipliers also limit the length of each interval. Limits make the big-M constants of the program smaller, and
smaller constants give further limits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from models.aryl.event_intervals import MIN_LIMIT, EventIntervals, IntervalLimits
from models.aryl.parameters import DEFAULTS, LimitsParameters
from models.core.highs import LinearModel, SolveFailed
from models.core.linear_program import LinearProgram, Optimum
from models.core.safe_bounds import DIGITS

SHORTER = 0.99  # a limit of a length counts as new if it falls below this share of the old one


def tighten_program(
    program: EventIntervals, options: Options, clock: Stopwatch, parameters: LimitsParameters = DEFAULTS.mean_jct.limits
) -> EventIntervals:
    """Return the program with the limits of several rounds, or of those until the time limit of `clock`."""
    for _ in range(parameters.rounds):
        search = _LimitSearch(program, options, clock)
        search.run()
        if not search.number:
            break
        limits = IntervalLimits(frozenset(search.excluded), search.max_length, search.fixed)
        program = EventIntervals(program.jobs, program.start, limits)
        if clock.has_expired or search.number < parameters.few * len(program.column):
            break
    return program


class _LimitSearch:
    """One round: each new limit tightens the linear program at once. `number` counts the new limits."""

    def __init__(self, program: EventIntervals, options: Options, clock: Stopwatch) -> None:
        self.program, self.clock = program, clock
        model = program.build(set())
        n = len(program.cost)
        self.cost = np.array(np.broadcast_to(np.asarray(model.cost, dtype=float), (n,)))
        self.lower, self.upper = np.array(model.lower, dtype=float), np.array(model.upper, dtype=float)
        self.model = replace(
            model,
            cost=0.0,
            matrix=sparse.csr_array(sparse.vstack([model.matrix, self.cost[None, :] / program.total])),
            row_lower=np.append(model.row_lower, -np.inf),
            row_upper=np.append(model.row_upper, 1.0),
            lower=self.lower,
            upper=self.upper,
            integer=False,
        )
        self.lp = LinearProgram(replace(self.model, cost=self.cost), options)
        self.excluded, self.max_length = set(program.limits.excluded), dict(program.limits.max_length)
        self.fixed = dict(program.limits.fixed)
        self.number = 0

    def run(self) -> None:
        """Search limits until the time limit, or until HiGHS fails to solve a program."""
        try:
            first = self.lp.solve(self.clock.remaining_s).x
            self._exclude_positions(first)
            self._limit_lengths()
            self._fix_workers(first)
        except SolveFailed:
            return

    def _exclude_positions(self, first: FloatArray) -> None:
        """Exclude positions of jobs; the positions that are not modelled separately are excluded together."""
        column, modelled = self.program.column, self.program.modelled
        for j, positions in enumerate(self.program.positions):
            own = [column["x", j, m] for m in positions if m < modelled and j not in self.program.negligible]
            for m, c in zip(positions, own, strict=False):
                if first[c] < 1 and self._refute([c], 1.0):
                    self.excluded.add((j, m))
            if ("r", j) in column and own and self._refute(own, 0.0):
                self.excluded |= {(j, m) for m in positions if m >= modelled}

    def _limit_lengths(self) -> None:
        """Limit the length of each interval."""
        everything = np.arange(len(self.cost))
        for m in range(self.program.modelled):
            c = self.program.column["L", m]
            cost = np.where(everything == c, -1.0, 0.0)
            self.lp.price(everything, cost)
            solved = self.lp.solve_or_refute(self.clock.remaining_s)
            if isinstance(solved, Optimum):
                proven = -compute_dual_bound(replace(self.model, cost=cost), solved.duals)
                limit = max(proven, MIN_LIMIT / self.program.unit[c])
                if limit < self.upper[c]:
                    self.number += int(limit < SHORTER * self.upper[c])
                    self.upper[c] = limit
                    self.lp.bound([c], 0.0, limit)
                    self.max_length[m] = float(limit * self.program.unit[c])
        self.lp.price(everything, self.cost)

    def _fix_workers(self, first: FloatArray) -> None:
        """Fix variables q and z: whether a job holds workers in an interval, and k of them."""
        for name, c in self.program.column.items():
            if name[0] not in "qz" or self.lower[c] == self.upper[c]:
                continue
            for value in (1.0, 0.0) if name[0] == "q" else (1.0,):
                if first[c] != value and self._refute([c], value):
                    self.fixed[name] = 1 - value
                    break

    def _refute(self, columns: list[int], value: float) -> bool:
        """Return whether the binary `columns` cannot all have this `value`; if so, fix a single one to the other."""
        lower, upper = self.lower[columns], self.upper[columns]
        self._set_bounds(columns, np.full(len(columns), value), np.full(len(columns), value))
        solved = self.lp.solve_or_refute(self.clock.remaining_s)
        rays = [] if solved is None or isinstance(solved, Optimum) else [solved, -solved]
        is_refuted = any(compute_dual_bound(self.model, ray) > 0 for ray in rays)
        self.number += is_refuted
        if is_refuted and len(columns) == 1:
            lower = upper = np.array([1 - value])
        self._set_bounds(columns, lower, upper)
        return is_refuted

    def _set_bounds(self, columns: list[int], lower: FloatArray, upper: FloatArray) -> None:
        self.lower[columns], self.upper[columns] = lower, upper
        self.lp.bound(columns, lower, upper)


def compute_dual_bound(model: LinearModel, multipliers: FloatArray) -> float:
    """Compute a lower bound on a linear program with bounded variables from any `multipliers` (m,) of its rows.

    For each y, the bound is sum_i y_i b_i + sum_j min over x_j of (c - A'y)_j x_j. b_i is the side of row i that the
    sign of y_i selects; a multiplier whose side is infinite counts as 0. The bound gives up DIGITS of the sum of the
    absolute values of its terms, which covers their rounding and that of the coefficients (a few units in the sixteenth
    digit).
    """
    matrix = sparse.csr_array(model.matrix)
    m, n = matrix.shape
    low, high = (np.broadcast_to(np.asarray(side, dtype=float), (m,)) for side in (model.row_lower, model.row_upper))
    cost, lower, upper = (
        np.broadcast_to(np.asarray(part, dtype=float), (n,)) for part in (model.cost, model.lower, model.upper)
    )
    side = np.where(multipliers > 0, low, high)
    is_finite = np.isfinite(side) & (multipliers != 0)
    y, side = np.where(is_finite, multipliers, 0.0), np.where(is_finite, side, 0.0)
    net = cost - matrix.T @ y
    terms = float(abs(y) @ abs(side) + (abs(cost) + abs(matrix).T @ abs(y)) @ np.maximum(abs(lower), abs(upper)))
    return float(y @ side + np.minimum(net * lower, net * upper).sum()) - DIGITS * terms
