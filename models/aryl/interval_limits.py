"""IntervalLimits of the event-interval program's variables by prices of its rows (bound tightening by optimality).

A schedule that is no worse than the start is a point of the linear relaxation whose total is at most the start's. Where
prices of the rows show that there is no such point in which a variable has a value, the variable never has it; and they
limit the length of each interval. Limits make the large constants of the program smaller, and limits follow from those.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from models.aryl.event_intervals import LEAST, EventIntervals, IntervalLimits
from models.aryl.parameters import DEFAULTS, LimitsParameters
from models.bounds import DIGITS
from models.core.linear_program import LinearProgram, Optimum
from models.highs import LinearModel, SolveFailed

SHORTER = 0.99  # An interval whose most length falls by less is none that is found.


def tightened(
    program: EventIntervals, options: Options, clock: Stopwatch, parameters: LimitsParameters = DEFAULTS.mean_jct.limits
) -> EventIntervals:
    """The program with all limits that are found in so many rounds, or until the clock says so."""
    for _ in range(parameters.rounds):
        search = _LimitSearch(program, options, clock)
        search.run()
        if not search.found:
            break
        program = EventIntervals(program.jobs, program.start, search.limits)
        if clock.expired or search.found < parameters.few * len(program.column):
            break
    return program


class _LimitSearch:
    """One round: each limit holds for the linear program from then on."""

    def __init__(self, program: EventIntervals, options: Options, clock: Stopwatch) -> None:
        self.program, self.clock = program, clock
        model = program.model(set())
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
        self.never, self.longest = set(program.limits.never), dict(program.limits.longest)
        self.fixed = dict(program.limits.fixed)
        self.found = 0

    @property
    def limits(self) -> IntervalLimits:
        return IntervalLimits(frozenset(self.never), self.longest, self.fixed)

    def run(self) -> None:
        """Look for limits until time runs out; HiGHS's failure to solve a program ends the search, too."""
        try:
            first = self.lp.solve(self.clock.remaining_s).x
            self._places(first)
            self._lengths()
            self._workers(first)
        except SolveFailed:
            return

    def _places(self, first: FloatArray) -> None:
        """Places at which jobs do not complete; those that are not told apart are one."""
        column, told = self.program.column, self.program.told
        for j, places in enumerate(self.program.places):
            own = [column["x", j, m] for m in places if m < told and j not in self.program.fleeting]
            for m, c in zip(places, own, strict=False):
                if first[c] < 1 and self._never([c], 1.0):
                    self.never.add((j, m))
            if ("r", j) in column and own and self._never(own, 0.0):
                self.never |= {(j, m) for m in places if m >= told}

    def _lengths(self) -> None:
        """The most length of each interval."""
        everything = np.arange(len(self.cost))
        for m in range(self.program.told):
            c = self.program.column["L", m]
            cost = np.where(everything == c, -1.0, 0.0)
            self.lp.price(everything, cost)
            solved = self.lp.solve_or_refute(self.clock.remaining_s)
            if isinstance(solved, Optimum):
                most = max(-priced_bound(replace(self.model, cost=cost), solved.duals), LEAST / self.program.unit[c])
                if most < self.upper[c]:
                    self.found += int(most < SHORTER * self.upper[c])
                    self.upper[c] = most
                    self.lp.bound([c], 0.0, most)
                    self.longest[m] = float(most * self.program.unit[c])
        self.lp.price(everything, self.cost)

    def _workers(self, first: FloatArray) -> None:
        """Intervals in which a job holds workers, or none, or not so many."""
        for name, c in self.program.column.items():
            if name[0] not in "qz" or self.lower[c] == self.upper[c]:
                continue
            for value in (1.0, 0.0) if name[0] == "q" else (1.0,):
                if first[c] != value and self._never([c], value):
                    self.fixed[name] = 1 - value
                    break

    def _never(self, columns: list[int], value: float) -> bool:
        """Whether the columns, which are binary, never all have this `value`; if so, one alone has the other."""
        lower, upper = self.lower[columns], self.upper[columns]
        self._bound(columns, np.full(len(columns), value), np.full(len(columns), value))
        solved = self.lp.solve_or_refute(self.clock.remaining_s)
        rays = [] if solved is None or isinstance(solved, Optimum) else [solved, -solved]
        refuted = any(priced_bound(self.model, ray) > 0 for ray in rays)
        self.found += refuted
        if refuted and len(columns) == 1:
            lower = upper = np.array([1 - value])
        self._bound(columns, lower, upper)
        return refuted

    def _bound(self, columns: list[int], lower: FloatArray, upper: FloatArray) -> None:
        self.lower[columns], self.upper[columns] = lower, upper
        self.lp.bound(columns, lower, upper)


def priced_bound(model: LinearModel, prices: FloatArray) -> float:
    """A lower bound on a linear program whose variables are all bounded, from any `prices` (m,) of its rows.

    For each y, sum_i y_i b_i + sum_j min over x_j of (c - A'y)_j x_j, where b_i is the side of row i that the sign of
    y_i calls for; a price that calls for none is left out. The bound gives up DIGITS of the sum of its terms' absolute
    values, for their rounding and that of the coefficients, which are a few units in the sixteenth digit.
    """
    matrix = sparse.csr_array(model.matrix)
    m, n = matrix.shape
    low, high = (np.broadcast_to(np.asarray(side, dtype=float), (m,)) for side in (model.row_lower, model.row_upper))
    cost, lower, upper = (
        np.broadcast_to(np.asarray(part, dtype=float), (n,)) for part in (model.cost, model.lower, model.upper)
    )
    side = np.where(prices > 0, low, high)
    known = np.isfinite(side) & (prices != 0)
    y, side = np.where(known, prices, 0.0), np.where(known, side, 0.0)
    net = cost - matrix.T @ y
    terms = float(abs(y) @ abs(side) + (abs(cost) + abs(matrix).T @ abs(y)) @ np.maximum(abs(lower), abs(upper)))
    return float(y @ side + np.minimum(net * lower, net * upper).sum()) - DIGITS * terms
