"""The net saving where the patterns are too many to list: column generation, then all patterns that still matter.

Let U be the bound of the duals. A solution that uses a pattern of reduced net below -δ saves less than U - δ. So once
all patterns above that are listed, and the best solution over them is found, nothing better than the greater of this
solution and U - δ can have been missed. δ grows until U - δ is down at the incumbent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, Group, IntArray, PackingArrays
from instances.result import Termination
from models.bounds import real_bound
from models.eva.counts import CountTree, Listed
from models.eva.saving.exact_net import COUNTED_TASKS, NOISE, exact_net
from models.eva.saving.generation import Generated, generate, net_of
from models.eva.saving.greedy import pack_greedily
from models.eva.saving.parameters import DEFAULTS, SavingParameters
from models.eva.saving.pricing import Pricer
from models.highs import LinearModel, Solved, solve_arrays

LEAST_S = 0.05  # Seconds that an integer program has in any case.
GENERATING = 0.5  # The share of the time limit that column generation has.
PROBE_SHARE = 0.3  # The share of the time left that an integer program has which cannot prove the optimum.

Improved = Callable[[list[Group] | None, float | None], None]
"""`improved(groups, bound)` is called with a better configuration, or a better bound in price units."""


class SavingSearch:
    """The search for the configuration of most net saving: incumbent and bound, in price units.

    It begins from `start`, or greedily. `ceiling(seconds)` is another bound, found within so many seconds; it is asked
    for where the linear program is not solved to the end.

    - `incumbent` (M, N), `copies` (M,): the patterns of the incumbent, tasks alone included, and how many of each.
    - `value`, `bound`: net saving of the incumbent, and the bound.
    - `lp_bound`: the bound of the linear program, and `converged` whether that was solved to the end.
    - `rounds`, `listed`: rounds of pricing, and patterns of the last list.
    - `termination`, `reason`: how and why the search ended.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        start: Sequence[Group] | None,
        ceiling: Callable[[float | None], float | None],
        options: Options,
        clock: Stopwatch,
        improved: Improved,
        parameters: SavingParameters = DEFAULTS,
    ) -> None:
        self.arrays, self.options, self.clock = arrays, options, clock
        self.ceiling, self.improved, self.parameters = ceiling, improved, parameters
        self.pricer = Pricer(arrays, parameters, clock)
        self.noise = NOISE * arrays.price_alone
        self.alone = np.eye(arrays.classes, dtype=np.int64)
        self.incumbent, self.copies, self.value = self._configuration(start or pack_greedily(arrays))
        self.bound = float(arrays.price_alone)
        self.lp_bound = self.bound
        self.rounds, self.listed, self.converged = 0, 0, False
        self.termination: Termination = "finished"
        self.reason: str | None = None

    @property
    def groups(self) -> list[Group]:
        """The incumbent."""
        kind = self.pricer.kind_of(self.incumbent)
        return [
            (int(k), {int(c): int(row[c]) for c in np.flatnonzero(row)}, int(copies))
            for k, row, copies in zip(kind, self.incumbent, self.copies, strict=True)
            if copies
        ]

    @property
    def closed(self) -> bool:
        """Whether the bound is as close to the incumbent as asked for."""
        return self.bound - self.value <= self.options.gap * abs(self.value)

    def run(self) -> None:
        """Raise the incumbent and lower the bound until both meet, or a limit is reached."""
        used = self.incumbent[(self.copies > 0) & (self.incumbent.sum(axis=1) > 1)]
        generating = Stopwatch(None if self.options.time_limit is None else GENERATING * self.clock.remaining_s)
        pricer = Pricer(self.arrays, self.parameters, generating)
        made = generate(self.arrays, pricer, used, self.options, generating, self.parameters)
        self.rounds, self.converged, self.lp_bound = made.rounds, made.converged, made.bound
        self._lower(made.bound)
        if not made.converged:
            ceiling = self.ceiling(
                None if self.options.time_limit is None else max(LEAST_S, self.clock.remaining_s / 2)
            )
            self._lower(self.bound if ceiling is None else ceiling)
        limited = self.options.time_limit is not None
        if made.converged:
            if not self.closed:
                self._count(made)
            if not self.closed:
                self._solve(made.on_it, final=False)
                self._close(made, limited)
        else:
            self._solve(made.on_it, final=limited)
        if not self.closed and self.reason is None:
            self.termination = "time_limit" if self.clock.expired else "effort_limit"
            self.reason = "time limit" if self.clock.expired else "the linear program was not solved to the end"

    def _count(self, made: Generated) -> None:
        """Branch on how many instances of each type are in use, where the patterns that may matter are few."""
        delta = self.parameters.count_share * made.bound
        for _ in range(2):
            needed = made.bound - self.value + self.noise
            listed = self.pricer.within(made.duals, min(delta, needed))
            if listed is None or len(listed) > self.parameters.counted or self.clock.expired:
                return
            used = self.incumbent[self.copies > 0]
            rows = np.unique(np.vstack([self.alone, used, listed[self._net(listed) > 0]]), axis=0)
            self.listed = len(rows)
            tree = CountTree(self._program(rows), self.value, self.options, self.clock, self.parameters.counts)
            found = tree.search()
            if found.x is not None:
                self._offer(rows, found.x.astype(float))
            self._lower(max(found.bound + self.noise, made.bound - min(delta, needed)))
            if self.closed or not found.finished or delta >= needed:
                return
            delta = made.bound - self.value + self.noise

    def _program(self, rows: IntArray) -> Listed:
        """The program over the patterns (P, N), those of single tasks among them."""
        arrays, net = self.arrays, self._net(rows)
        count = [Fraction(n) for n in arrays.count.tolist()]

        def bound(duals: FloatArray, most: float) -> float:
            held = sum((Fraction(d) * n for d, n in zip(duals.tolist(), count, strict=True)), Fraction(0))
            return math.nextafter(float(held + sum(count) * Fraction(max(0.0, most))), math.inf)

        return Listed(
            model=LinearModel(net, rows.T, arrays.count, arrays.count, sense="maximize"),
            kind=self.pricer.kind_of(rows),
            net=net,
            offset=0.0,
            dear=2.0 * (float(arrays.price_alone) + 1.0),
            noise=self.pricer.noise,
            reduced=lambda duals: np.asarray(net - rows @ duals),
            bound=bound,
            worth=lambda copies: float(net @ copies),
        )

    def _close(self, made: Generated, limited: bool) -> None:
        """List the patterns that may still matter at growing δ, and find the best solution over them."""
        delta, growth = max(self.parameters.first_share * made.bound, self.noise), self.parameters.growth
        last = made.on_it
        while not self.closed and not self.clock.expired:
            gap = made.bound - self.value
            final = delta * growth >= gap or delta == 0
            tried = gap + self.noise if final else delta
            listed = self.pricer.within(made.duals, tried)
            if listed is None and growth > self.parameters.least_growth:
                delta /= growth
                growth **= 0.5
                delta *= growth
                continue
            if listed is None:
                self.reason = f"more than {self.parameters.listed:,} patterns may still matter"
                if limited:
                    self._solve(last, final=True)
                return
            solved, last = self._solve(listed, final), listed
            if solved.termination == "finished" and solved.bound is not None:
                over_list = 0.0
                if max(solved.bound, self.value) > 0:
                    over_list = real_bound(max(solved.bound, self.value) + self.noise, "maximize", trivial=made.bound)
                self._lower(max(over_list, made.bound - tried))
            if final:
                self.termination, self.reason = solved.termination, solved.reason
                return
            delta *= growth

    def _configuration(self, groups: Sequence[Group]) -> tuple[IntArray, IntArray, float]:
        """Patterns (M, N), how many (M,) of each, and the net saving: those of `groups` that pay, and tasks alone."""
        arrays = self.arrays
        rows, copies = np.zeros((len(groups), arrays.classes), dtype=np.int64), np.zeros(len(groups), dtype=np.int64)
        for row, (_, on_it, same) in enumerate(groups):
            rows[row, list(on_it)], copies[row] = list(on_it.values()), same
        pays = self._net(rows) > 0  # The tasks of an instance that does not pay are better off alone.
        rows, copies = rows[pays], copies[pays]
        return (
            np.vstack([self.alone, rows]),
            np.concatenate([arrays.count - copies @ rows, copies]),
            float(self._net(rows) @ copies),
        )

    def _solve(self, on_it: IntArray, final: bool) -> Solved:
        """The integer program over the patterns (P, N), the incumbent's and the tasks alone; keeps what is better.

        Of the patterns only those that pay. The bound is exactly 0 where none does.
        """
        used = self.incumbent[self.copies > 0]
        pays = on_it[self._net(on_it) > 0]  # The tasks of an instance that does not pay are no worse off alone.
        rows = np.unique(np.vstack([self.alone, used, pays]), axis=0)
        if not len(pays):
            return Solved("finished", bound=0.0)
        where = {row.tobytes(): p for p, row in enumerate(rows)}
        start = np.zeros(len(rows))
        for row, copies in zip(used, self.copies[self.copies > 0], strict=True):
            start[where[row.tobytes()]] += copies
        self.listed = len(rows)
        left = self.clock.remaining_s * (1.0 if final else PROBE_SHARE)
        limit = None if self.options.time_limit is None else max(LEAST_S, left)
        solved = solve_arrays(
            LinearModel(self._net(rows), rows.T, self.arrays.count, self.arrays.count, integer=True, sense="maximize"),
            replace(self.options, time_limit=limit),
            start=start,
            extra=None if final else {"mip_max_nodes": self.parameters.probe_nodes},
        )
        if solved.x is not None:
            self._offer(rows, solved.x)
        return solved

    def _offer(self, rows: IntArray, x: FloatArray) -> None:
        """Make a solution `x` (P,) over patterns (P, N) the incumbent where that is better."""
        copies = np.rint(x).astype(np.int64)
        value = float(self._net(rows) @ copies)
        if value > self.value + self.noise and (copies >= 0).all() and (copies @ rows == self.arrays.count).all():
            self.incumbent, self.copies, self.value = rows[copies > 0], copies[copies > 0], value
            self.improved(self.groups, None)

    def _lower(self, bound: float) -> None:
        """Keep a lower bound."""
        if bound < self.bound:
            self.bound = bound
            self.improved(None, bound)

    def _net(self, on_it: IntArray) -> FloatArray:
        """The nets (P,) of patterns; that of a task alone is exactly 0."""
        net, kind, tasks = net_of(self.arrays, self.pricer, on_it), self.pricer.kind_of(on_it), on_it.sum(axis=1)
        net[tasks == 1] = 0.0
        doubtful = np.abs(net) <= NOISE * (on_it.astype(float) @ self.arrays.reservation_price)
        for p in np.flatnonzero(doubtful & (tasks > 1) & (tasks <= COUNTED_TASKS)):
            net[p] = exact_net(self.arrays, int(kind[p]), on_it[p])
        return net
