"""A round as one problem: column generation, then all columns that still matter.

Let U be the bound of the duals. A solution that uses a column of reduced net below -δ is worth less than U - δ. So once
all columns above that are listed, and the best solution over them is found, nothing better than the greater of this
solution and U - δ can have been missed. δ is a small share of U at first, then the distance of U from the incumbent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import IntArray
from instances.eva.reconfiguration_arrays import NEW, Placed, ReconfigurationArrays
from instances.result import Termination
from models.eva.counts import Best, CountTree
from models.eva.reconfiguration.columns import Columns, Master
from models.eva.reconfiguration.generation import Generated, generate
from models.eva.reconfiguration.parameters import DEFAULTS, RoundParameters
from models.eva.reconfiguration.pricing import Pricer
from models.eva.saving.suits import most_tasks
from models.highs import solve_arrays

LEAST_S = 0.05  # Seconds that an integer program has in any case.
GENERATING = 0.5  # The share of the time limit that column generation has.
WHOLE = 1e-7  # A solution of the linear program this close to whole numbers is one.
ROUNDING = 2.0**-44  # The worth of a solution is off by less than this share of its terms.

Improved = Callable[[list[Placed] | None, float | None], None]
"""`improved(placed, bound)` is called with a better solution, or a better bound in the unit of the arrays."""


class RoundSearch:
    """The search for the best contents of all instances: incumbent and bound, in the unit of the arrays.

    It begins from `start`, or from existing instances as they are and a new one for each task that waits.

    - `columns`, `copies`: the columns of the incumbent, and how many of each.
    - `value`, `bound`: worth of the incumbent, and the bound.
    - `lp_bound`: the bound of the linear program, and `converged` whether that was solved to the end.
    - `rounds`, `listed`: rounds of pricing, and columns of the last list.
    - `termination`, `reason`: how and why the search ended.
    """

    def __init__(
        self,
        arrays: ReconfigurationArrays,
        start: Sequence[Placed] | None,
        options: Options,
        clock: Stopwatch,
        improved: Improved,
        parameters: RoundParameters = DEFAULTS,
    ) -> None:
        self.arrays, self.options, self.clock = arrays, options, clock
        self.improved, self.parameters = improved, parameters
        self.master = Master(arrays)
        classes = arrays.packing.classes
        self.alone = Columns.of(NEW, np.eye(classes, dtype=np.int64))
        self.stay = Columns(
            np.arange(len(arrays.groups), dtype=np.int64),
            np.array([group.on_it for group in arrays.groups], dtype=np.int64).reshape(-1, classes),
        )
        stays = self._staying()
        self.columns, self.copies = stays
        self.net = self.master.net(self.columns)
        self.value = self._value(*stays)
        if start is not None:
            self.offer(*self.master.columns_of(start), told=False)
        self.bound = arrays.scale * float(arrays.packing.price_alone)
        self.lp_bound = self.bound
        self.rounds, self.listed, self.converged = 0, 0, False
        self.termination: Termination = "finished"
        self.reason: str | None = None

    @property
    def placed(self) -> list[Placed]:
        """The incumbent."""
        rows = zip(
            self.columns.group.tolist(),
            self.master.kind_of(self.columns).tolist(),
            self.columns.on_it,
            self.copies.tolist(),
            strict=True,
        )
        return [(g, k, {int(c): int(on[c]) for c in np.flatnonzero(on)}, n) for g, k, on, n in rows if n]

    @property
    def closed(self) -> bool:
        """Whether the bound is as close to the incumbent as asked for."""
        return self.bound - self.value <= self.options.gap * abs(self.value)

    def run(self) -> None:
        """Raise the incumbent and lower the bound until both meet, or a limit is reached."""
        if any(most_tasks(self.arrays.packing, k) > self.parameters.most_tasks for k in self.master.kinds):
            self._stop(f"an instance can hold more than {self.parameters.most_tasks} tasks")
            return
        generating = Stopwatch(None if self.options.time_limit is None else GENERATING * self.clock.remaining_s)
        pricer = Pricer(self.master, self.parameters, generating)
        first = Columns.joined([self.alone, self.stay, self.columns])
        made = generate(self.master, pricer, first, self.options, generating, self.parameters)
        self.rounds, self.converged = made.rounds, made.converged
        self._lower(made.bound - self.arrays.moving_all)
        self.lp_bound = self.bound
        x = np.rint(made.x)
        if made.converged and np.abs(made.x - x).max(initial=0.0) < WHOLE:
            self.offer(made.columns.chosen(np.arange(len(x))), x.astype(np.int64))
        if not self.closed:
            if made.converged:
                pricer.clock = self.clock
                self._close(made, pricer)
            else:
                self._integer(made.columns)
        if not self.closed and self.reason is None:
            self.termination = "time_limit" if self.clock.expired else "effort_limit"
            self.reason = "time limit" if self.clock.expired else "the linear program was not solved to the end"

    def offer(self, columns: Columns, copies: IntArray, told: bool = True) -> None:
        """Make a solution the incumbent where that is better."""
        many = [len(group.ids) for group in self.arrays.groups]
        used = [int(copies[columns.group == g].sum()) for g in range(len(many))]
        if (copies < 0).any() or (copies @ columns.on_it != self.arrays.packing.count).any():
            return
        if any(n > most for n, most in zip(used, many, strict=True)):
            return
        value = self._value(columns, copies)
        if value > self.value:
            chosen = np.flatnonzero(copies)
            self.columns, self.copies, self.value = columns.chosen(chosen), copies[chosen], value
            if told:
                self.improved(self.placed, None)

    def _staying(self) -> tuple[Columns, IntArray]:
        """All existing instances as they are, and a new one for each task that waits."""
        many = np.array([len(group.ids) for group in self.arrays.groups], dtype=np.int64)
        waiting = self.arrays.packing.count - many @ self.stay.on_it
        columns = Columns.joined([self.stay, self.alone])
        return columns, np.concatenate([many, waiting])

    def _value(self, columns: Columns, copies: IntArray) -> float:
        used = columns.chosen(np.flatnonzero(copies))
        times = copies[copies > 0]
        return float(self.master.net(used) @ times) - self.master.moves(used, times) - self.arrays.moving_all

    def _noise(self) -> float:
        """More than all rounding of floats can amount to in the worth of a solution."""
        terms = self.arrays.scale * float(self.arrays.packing.price_alone) + self.arrays.moving_all
        return ROUNDING * (terms + float(self.arrays.new.max()) * self.arrays.tasks + float(self.arrays.spread.sum()))

    def _close(self, made: Generated, pricer: Pricer) -> None:
        """List the columns that may still matter, few at first, and find the best solution over them."""
        whole = made.bound - self.arrays.moving_all
        needed = whole - self.value + self._noise()
        delta, lists = min(needed, self.parameters.first_delta * abs(made.bound)), 0
        while not self.closed and not self.clock.expired:
            if lists == self.parameters.lists:
                self._stop("a longer list of columns was not asked for")
                return
            listed = pricer.within(made.duals, delta)
            while listed is None and not self.clock.expired:
                delta /= 2
                listed = pricer.within(made.duals, delta)
            if listed is None:
                return
            lists += 1
            found = self._over(listed, pricer)
            self._lower(max(found.bound + self._noise() - self.arrays.moving_all, whole - delta))
            needed = whole - self.value + self._noise()
            if delta >= needed or not found.finished:
                if not self.closed and not found.finished and not self.clock.expired:
                    self._stop("effort limit")
                return
            if lists > 1:
                self._stop(f"more than {self.parameters.listed:,} columns may still matter")
                return
            delta = needed

    def _over(self, listed: Columns, pricer: Pricer) -> Best:
        """The best solution over a list and the columns of the incumbent."""
        columns = Columns.joined([self.alone, self.stay, self.columns, listed])
        self.listed = len(columns.group)
        program = self.master.listed(columns, pricer.noise)
        value = self.value + self.arrays.moving_all
        found = CountTree(program, value, self.options, self.clock, self.parameters.counts).search()
        if found.x is not None:
            self.offer(columns, found.x)
        return found

    def _stop(self, reason: str) -> None:
        self.termination, self.reason = "effort_limit", reason

    def _integer(self, columns: Columns) -> None:
        """The integer program over columns of which not all are known, the incumbent's and the first ones."""
        columns = Columns.joined([self.alone, self.stay, self.columns, columns])
        net = self.master.net(columns)
        self.listed = len(net)
        limit = None if self.options.time_limit is None else max(LEAST_S, self.clock.remaining_s)
        solved = solve_arrays(self.master.model(columns, net, integer=True), replace(self.options, time_limit=limit))
        if solved.x is not None:
            self.offer(columns, np.rint(solved.x[: len(net)]).astype(np.int64))

    def _lower(self, bound: float) -> None:
        """Keep a lower bound."""
        if bound < self.bound:
            self.bound = bound
            self.improved(None, bound)
