"""Limits of the event-interval program's variables by prices of its rows (bound tightening by optimality).

A schedule that is no worse than the start is a point of the linear relaxation whose total is at most the start's. Where
prices of the rows show that there is no such point in which a variable has a value, the variable never has it; and they
limit the length of each interval. Limits make the large constants of the program smaller, and limits follow from those.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from models.aryl.event_intervals import EventIntervals, Limits
from models.aryl.parameters import DEFAULTS, LimitsParameters
from models.bounds import priced_bound
from models.core.linear_program import LinearProgram, Optimum
from models.highs import SolveFailed

SHORTER = 0.99  # An interval whose most length falls by less is as long as it was.


def tightened(
    program: EventIntervals, options: Options, clock: Stopwatch, parameters: LimitsParameters = DEFAULTS.mean_jct.limits
) -> EventIntervals:
    """The program with all limits that are found in so many rounds, or until the clock says so."""
    for _ in range(parameters.rounds):
        search = _Search(program, options, clock)
        search.run()
        if not search.found:
            break
        program = EventIntervals(program.jobs, program.start, search.limits)
        if clock.expired or search.found < parameters.few * len(program.column):
            break
    return program


class _Search:
    """One round: each limit holds for the linear program from then on."""

    def __init__(self, program: EventIntervals, options: Options, clock: Stopwatch) -> None:
        self.program, self.clock = program, clock
        model = program.model(set())
        reach = sparse.csr_array(np.asarray(model.cost)[None, :] / program.total)
        self.model = replace(
            model,
            matrix=sparse.csr_array(sparse.vstack([model.matrix, reach])),
            row_lower=np.append(model.row_lower, -np.inf),
            row_upper=np.append(model.row_upper, 1.0),
            lower=np.array(model.lower, dtype=float),
            upper=np.array(model.upper, dtype=float),
            integer=False,
        )
        self.cost = np.asarray(model.cost)
        self.lp = LinearProgram(self.model, options)
        self.never, self.longest = set(program.limits.never), dict(program.limits.longest)
        self.fixed = dict(program.limits.fixed)
        self.found = self.solved = 0

    @property
    def limits(self) -> Limits:
        return Limits(frozenset(self.never), self.longest, self.fixed)

    def run(self) -> None:
        """Look for limits until time runs out; HiGHS's failure to solve a program ends the search, too."""
        try:
            first = self.lp.solve(self.clock.remaining_s)
            self._places(first)
            self._lengths()
            self._workers(first)
        except SolveFailed:
            return

    def _places(self, first: Optimum) -> None:
        """Places at which jobs do not complete, those after all that are told apart together."""
        program = self.program
        column, told = program.column, program.told
        for j, places in enumerate(program.places):
            own = [column["x", j, m] for m in places if m < told]
            for m, c in zip(places, own, strict=False):
                if first.x[c] < 1 and self._never([c], 1.0):
                    self.never.add((j, m))
            if ("r", j) in column and own and self._never(own, 0.0):
                self.never |= {(j, m) for m in places if m >= told}

    def _never(self, columns: list[int], value: float) -> bool:
        """Whether these columns never have this value; one of them alone has the other one from then on."""
        lower, upper = self.model.lower[columns].copy(), self.model.upper[columns].copy()
        self.lp.bound(columns, value, value)
        self.model.lower[columns] = self.model.upper[columns] = value
        solved = self.lp.solve_or_refute(self.clock.remaining_s)
        self.solved += 1
        rays = [] if solved is None or isinstance(solved, Optimum) else [solved, -solved]
        no_cost = replace(self.model, cost=0.0)
        refuted = any(priced_bound(no_cost, ray) > 0 for ray in rays)
        self.found += refuted
        if refuted and len(columns) == 1:
            lower = upper = np.array([1 - value])
        self.model.lower[columns], self.model.upper[columns] = lower, upper
        self.lp.bound(columns, lower, upper)
        return refuted

    def _lengths(self) -> None:
        """The most length of each interval."""
        for m in range(self.program.told):
            c = self.program.column["L", m]
            self.lp.price(np.arange(len(self.cost)), -(np.arange(len(self.cost)) == c).astype(float))
            solved = self.lp.solve_or_refute(self.clock.remaining_s)
            if isinstance(solved, Optimum):
                most = -priced_bound(
                    replace(self.model, cost=-(np.arange(len(self.cost)) == c).astype(float)), solved.duals
                )
                if most < self.model.upper[c]:
                    self.found += most < SHORTER * self.model.upper[c]
                    self.model.upper[c] = most
                    self.lp.bound([c], 0.0, most)
                    self.longest[m] = most * float(self.program.unit[c])
        self.lp.price(np.arange(len(self.cost)), self.cost)

    def _workers(self, first: Optimum) -> None:
        """Intervals in which a job holds workers, or none, or not so many."""
        for name, c in self.program.column.items():
            if name[0] not in "qz" or self.model.lower[c] == self.model.upper[c]:
                continue
            for value in (1.0, 0.0) if name[0] == "q" else (1.0,):
                if first.x[c] != value and self._never([c], value):
                    self.fixed[name] = 1 - value
                    break
