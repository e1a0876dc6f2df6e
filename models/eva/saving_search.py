"""The maximum saving of a packing or of a round: column generation, then a search over all relevant columns.

Let U be the bound of the duals. A solution that uses a column of reduced net below -δ saves less than U - δ. So the
search lists all other columns and finds the best solution over them. The larger of its value and U - δ is a bound. For
a short list, it branches on the numbers of instances. There, δ is first a small share of U, then the distance of U from
the incumbent. For a packing with a longer list, it solves integer programs at increasing δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.reconfiguration_arrays import NEW, Placed
from instances.result import Termination
from models.core.column_generation import ColumnGeneration, Relaxed
from models.core.fine_units import FineUnits, coarse_unit
from models.core.highs import Solved, SolveFailed, solve_arrays
from models.core.linear_program import LinearProgram
from models.core.safe_bounds import real_bound
from models.eva.counts import BestListed, CountBranching
from models.eva.parameters import SavingParameters
from models.eva.saving_columns import SavingColumns, SavingDuals, SavingMaster
from models.eva.saving_pricing import SavingPricer

LEAST_S = 0.05  # smallest time limit of an integer program in seconds
GENERATING = 0.5  # share of the time for column generation
PROBE_SHARE = 0.3  # share of the remaining time for an integer program that cannot prove the optimum
LIST_GAP = 1e-3  # largest gap of an integer program that cannot prove the optimum
WHOLE = 1e-7  # a solution of the linear program this close to integers is integral

Improved = Callable[[list[Placed] | None, float | None], None]
"""`improved(placed, bound)` is called with a better solution, or a better bound in the unit of the arrays."""


class SavingSearch:
    """The search for the best tasks of all instances: incumbent and bound, in the unit of the arrays.

    It begins from the existing instances, with a new instance for each waiting task, or from `start` if that is better.
    `ceiling(seconds)` computes another bound within a time limit. It is called if the linear program is not solved.

    - `columns`, `copies`: the columns of the incumbent, and the number of each.
    - `value`, `bound`: the saving of the incumbent, and the bound.
    - `lp_bound`: the bound of the linear program; `converged`: whether it is solved.
    - `dual_bound`: the bound of the duals at which columns are listed.
    - `rounds`, `listed`: rounds of pricing, and columns of the last list.
    - `termination`, `reason`: how and why the search ended.
    """

    def __init__(
        self,
        master: SavingMaster,
        start: Iterable[Placed],
        options: Options,
        clock: Stopwatch,
        improved: Improved,
        parameters: SavingParameters,
        ceiling: Callable[[float | None], float | None] | None = None,
    ) -> None:
        self.master, self.options, self.clock = master, options, clock
        self.improved, self.parameters, self.ceiling = improved, parameters, ceiling
        arrays = master.arrays
        classes = arrays.packing.classes
        self.moving_all, self.noise = arrays.moving_all, master.noise()
        self.alone = SavingColumns.of(NEW, np.eye(classes, dtype=np.int64))
        self.stay = SavingColumns(
            np.arange(len(arrays.groups), dtype=np.int64),
            np.array([group.on_it for group in arrays.groups], dtype=np.int64).reshape(-1, classes),
        )
        self.many = np.array([len(group.ids) for group in arrays.groups], dtype=np.int64)
        self.columns = SavingColumns.join([self.stay, self.alone])
        self.copies = np.concatenate([self.many, arrays.packing.count - self.many @ self.stay.on_it])
        self.value = self._value(self.columns, self.copies)
        self._begin(start)
        self.bound = self.lp_bound = self.dual_bound = arrays.scale * float(arrays.packing.price_alone)
        self.rounds, self.listed, self.converged, self._timed_out = 0, 0, False, False
        self.termination: Termination = "finished"
        self.reason: str | None = None

    @property
    def incumbent_instances(self) -> list[Placed]:
        """Return the incumbent."""
        rows = zip(
            self.columns.group.tolist(),
            self.master.kind_of(self.columns).tolist(),
            self.columns.on_it,
            self.copies.tolist(),
            strict=True,
        )
        return [(g, k, {int(c): int(on[c]) for c in np.flatnonzero(on)}, n) for g, k, on, n in rows if n]

    @property
    def is_closed(self) -> bool:
        """Return whether the gap is at most that of the options."""
        return self.bound - self.value <= self.options.gap * abs(self.value)

    def run(self) -> None:
        """Raise the incumbent and lower the bound until both meet, or a limit is reached."""
        if not self.parameters.suits(self.master.arrays.packing):
            self._stop(f"an instance can hold more than {self.parameters.most_tasks} tasks")
            return
        first = SavingColumns.join([self.alone, self.stay, self.columns])
        pricer = SavingPricer(self.master, self.parameters, self.clock)
        generation = Generation(self.master, pricer, first, self.options, self.clock, self.parameters)
        made = self._generate_columns(generation, GENERATING)
        if self._timed_out:
            made = self._generate_columns(generation, 1 - PROBE_SHARE)
        if made.converged:
            self._close(made, pricer)
        else:
            self._lower_otherwise()
            self._integer(made.columns, final=False)
        if not self.is_closed:
            missing = (
                "what is left may be rounding" if made.converged else "the linear program was not solved to the end"
            )
            self._stop(self.reason or ("time limit" if self._timed_out else missing))

    def _generate_columns(self, generation: Generation, share: float) -> Generated:
        """Run or continue column generation in a share of the remaining time."""
        generation.clock = generation.pricer.clock = self._share_of_time(share)
        made = generation.run()
        self._timed_out = generation.clock.has_expired and not made.converged
        generation.pricer.clock = self.clock
        self.rounds, self.converged = made.rounds, made.converged
        self.lp_bound = min(self.lp_bound, made.bound - self.moving_all)
        self.dual_bound = made.at_duals - self.moving_all
        self._lower(self.lp_bound)
        return made

    def offer(self, columns: SavingColumns, copies: IntArray, told: bool = True) -> None:
        """Make a valid solution the incumbent if it is better; report it if `told`."""
        used = np.array([int(copies[columns.group == g].sum()) for g in range(len(self.many))])
        whole = (copies @ columns.on_it == self.master.arrays.packing.count).all()
        if not whole or (copies < 0).any() or (used > self.many).any():
            return
        value = self._value(columns, copies)
        if value > self.value + self.noise:
            chosen = np.flatnonzero(copies)
            self.columns, self.copies, self.value = columns.chosen(chosen), copies[chosen], value
            if told:
                self.improved(self.incumbent_instances, None)

    def _share_of_time(self, share: float) -> Stopwatch:
        """Return a clock with a share of the remaining time."""
        return Stopwatch(None if self.options.time_limit is None else share * self.clock.remaining_s)

    def _begin(self, start: Iterable[Placed]) -> None:
        """Offer a start; the tasks of new instances without an advantage are each alone."""
        columns, copies = self.master.columns_of(start)
        pays = self.master.pays(columns)
        kept, left = columns.chosen(np.flatnonzero(pays)), copies[~pays] @ columns.on_it[~pays]
        both = SavingColumns.join([self.alone, kept])
        self.offer(both, both.copies_of(self.alone, left) + both.copies_of(kept, copies[pays]), told=False)

    def _value(self, columns: SavingColumns, copies: IntArray) -> float:
        used = columns.chosen(np.flatnonzero(copies))
        times = copies[copies > 0]
        return float(self.master.net(used) @ times) - self.master.moves(used, times) - self.moving_all

    def _close(self, made: Generated, pricer: SavingPricer) -> None:
        """Find the best solution over all columns of a better solution."""
        x = np.rint(made.x)
        if np.abs(made.x - x).max(initial=0.0) < WHOLE:
            self.offer(made.columns.chosen(np.arange(len(x))), x.astype(np.int64))
        if not self.is_closed:
            self._count(made, pricer)
        if self.is_closed or not self.parameters.programs:
            return
        self._integer(made.columns, final=False)
        self._list(made, pricer)

    def _compute_needed_delta(self) -> float:
        """Return the δ at which a list has all columns of a better solution."""
        return self.dual_bound - self.value + self.noise

    def _count(self, made: Generated, pricer: SavingPricer) -> None:
        """Branch on the numbers of instances of each type, over lists of columns that are short enough."""
        p = self.parameters
        delta = min(self._compute_needed_delta(), p.count_share * abs(made.bound))
        reason = "a longer list of columns was not asked for"
        for number in range(p.lists):
            listed = pricer.list_columns(made.duals, delta, p.counted)
            while listed is None and number == 0 and not p.programs and not self.clock.has_expired:
                delta /= 2
                listed = pricer.list_columns(made.duals, delta, p.counted)
            if listed is None or self.clock.has_expired:
                reason = f"more than {p.counted:,} columns may still matter"
                break
            found = self._solve_over(listed, pricer)
            self._lower(max(found.bound - self.moving_all, self.dual_bound - delta))
            needed = self._compute_needed_delta()
            if self.is_closed or not found.finished or delta >= needed:
                reason = "what is left may be rounding" if found.finished else "the search was cut short"
                break
            delta = needed
        if not p.programs and not self.is_closed and not self.clock.has_expired:
            self._stop(reason)

    def _solve_over(self, listed: SavingColumns, pricer: SavingPricer) -> BestListed:
        """Find the best solution over a list and the incumbent's columns, and a bound that includes rounding errors."""
        columns = self._add_known(listed)
        self.listed = len(columns.group)
        value = self.value + self.moving_all
        if self._has_no_paying_column(columns):
            return BestListed(None, value, 0.0, True)
        program = self.master.build_listed_program(columns, pricer.noise)
        found = CountBranching(program, value, self.options, self.clock, self.parameters.counts).search()
        if found.x is not None:
            self.offer(columns, found.x)
        return replace(found, bound=found.bound + self.noise)

    def _list(self, made: Generated, pricer: SavingPricer) -> None:
        """List columns at increasing δ, and find the best solution over them by integer programs."""
        p = self.parameters
        delta, growth = max(p.first_share * abs(made.bound), self.noise), p.growth
        last, limited = made.columns, self.options.time_limit is not None
        while not self.is_closed and not self.clock.has_expired:
            gap = self.dual_bound - self.value
            final = delta * growth >= gap or delta == 0
            tried = gap + self.noise if final else delta
            listed = pricer.list_columns(made.duals, tried, self.parameters.listed)
            if listed is None and growth > self.parameters.least_growth:
                delta /= growth
                growth **= 0.5
                delta *= growth
                continue
            if listed is None:
                if limited:
                    self._integer(last, final=True)
                self.reason = f"more than {self.parameters.listed:,} columns may still matter"
                return
            solved, last = self._integer(listed, final, self.options.gap if final else None), listed
            if solved.termination == "finished" and solved.bound is not None:
                self._lower(max(solved.bound - self.moving_all, self.dual_bound - tried))
            if final:
                self.reason = solved.reason
                return
            delta *= growth

    def _integer(self, listed: SavingColumns, final: bool, gap: float | None = None) -> Solved:
        """Solve the integer program over a list and the incumbent's columns; the bound includes rounding errors.

        Without a `gap`, the list cannot prove the optimum, and the gap is at most `LIST_GAP`.
        """
        columns = self._add_known(listed)
        self.listed = len(columns.group)
        if self._has_no_paying_column(columns):
            return Solved("finished", bound=0.0)
        start = columns.copies_of(self.columns, self.copies)
        moved = self.master.find_moved_jobs(columns, start).astype(float)
        left = self.clock.remaining_s * (1.0 if final else PROBE_SHARE)
        limit = None if self.options.time_limit is None else max(LEAST_S, left)
        fine = FineUnits.of(self.master.model(columns, self.master.net(columns), integer=True))
        solved = fine.convert_result(
            solve_arrays(
                fine.model,
                replace(self.options, time_limit=limit, gap=min(self.options.gap, LIST_GAP) if gap is None else gap),
                start=np.concatenate([start, moved]),
                extra=None if final else {"mip_max_nodes": self.parameters.probe_nodes},
            )
        )
        if solved.x is not None:
            self.offer(columns, np.rint(solved.x[: len(start)]).astype(np.int64))
        if solved.bound is None:
            return solved
        least = max(solved.bound, self.value + self.moving_all)
        return replace(solved, bound=real_bound(least + self.noise, "maximize"))

    def _add_known(self, listed: SavingColumns) -> SavingColumns:
        """Return the useful columns of a list, with the tasks alone, the existing instances, and the incumbent."""
        kept = listed.chosen(np.flatnonzero(self.master.pays(listed)))
        return SavingColumns.join([self.alone, self.stay, self.columns, kept])

    def _has_no_paying_column(self, columns: SavingColumns) -> bool:
        """Return whether it is certain that no column has a positive net."""
        return self.master.exact_signs and not (self.master.net(columns) > 0).any()

    def _lower_otherwise(self) -> None:
        """Lower the bound by the ceiling, because the linear program is not solved."""
        if self.ceiling is not None:
            limited = self.options.time_limit is not None
            found = self.ceiling(max(LEAST_S, self.clock.remaining_s / 2) if limited else None)
            self._lower(self.bound if found is None else found)

    def _lower(self, bound: float) -> None:
        """Lower the bound, and report it."""
        if bound < self.bound:
            self.bound = bound
            self.improved(None, bound)

    def _stop(self, reason: str) -> None:
        """End without a proof: at a limit of the options, or at a constant of the method."""
        self.termination, self.reason = "finished", reason
        if self.clock.has_expired or self._timed_out:
            self.termination = "time_limit"
        elif self.options.effort is not None:
            self.termination = "effort_limit"


CONVERGED = 1e-9  # a reduced net below this share of the highest price counts as 0


@dataclass(frozen=True)
class Generated:
    """The result of column generation.

    - `columns`: all columns.
    - `x` (P,): the last solution of the linear program, over the first columns.
    - `duals`: the duals of the best bound, or those of the last round if it converged.
    - `at_duals`: the bound that these duals prove.
    - `bound`: the best bound on the saving, before the cost of moving all tasks is subtracted.
    - `rounds`: rounds of pricing.
    - `converged`: whether no column of positive reduced net is left, up to rounding.
    """

    columns: SavingColumns
    x: FloatArray
    duals: SavingDuals
    at_duals: float
    bound: float
    rounds: int
    converged: bool


class Generation:
    """Column generation from first columns that contain a solution; `best` is the best result so far."""

    def __init__(
        self,
        master: SavingMaster,
        pricer: SavingPricer,
        columns: SavingColumns,
        options: Options,
        clock: Stopwatch,
        parameters: SavingParameters,
    ) -> None:
        self.saving, self.pricer, self.clock, self.parameters = master, pricer, clock, parameters
        model = master.model(columns, master.net(columns), integer=False)
        self.unit = coarse_unit(model)
        coarse = replace(model, cost=np.asarray(model.cost) / self.unit)
        moves = len(master.arrays.spread)  # their z are the last variables
        self.program = LinearProgram(coarse, Options(threads=options.threads), {"presolve": "choose"}, short=moves)
        self.known, self.parts = set(columns.names), [columns]
        self.least = CONVERGED * float(master.arrays.new.max())
        self.most = parameters.rounds if options.effort is None else min(parameters.rounds, options.effort)
        self.rounds, self.nodes = 0, parameters.nodes
        nothing = SavingDuals(np.zeros(0), np.zeros(0), np.zeros(0))
        self.best = Generated(columns, np.zeros(0), nothing, math.inf, math.inf, 0, False)

    def run(self) -> Generated:
        """Solve the linear program as far as the limits allow."""
        with suppress(SolveFailed):  # includes OutOfTime
            ColumnGeneration(self).run()
        return replace(self.best, columns=SavingColumns.join(self.parts), rounds=self.rounds)

    def solve(self) -> Relaxed:
        """See `models.core.column_generation.Master`."""
        found = self.program.solve(self.clock.remaining_s)
        return Relaxed(found.value, found.duals * self.unit, found.x)

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """See `models.core.column_generation.Master`."""
        return self.clock.has_expired or self.rounds >= self.most

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """See `models.core.column_generation.Master`."""
        master, at = self.saving, self.saving.read_duals(duals)
        self.rounds += 1
        found = self.pricer.improving(at, self.least, self.nodes)
        if math.isinf(found.bound):
            return -math.inf, 0
        fresh = found.columns.chosen(
            np.array([p for p, name in enumerate(found.columns.names) if name not in self.known], dtype=np.int64)
        )
        net = master.net(fresh)
        gains = np.flatnonzero(self.pricer.compute_reduced(fresh, net, at) > self.least)
        bound = master.bound(at, found.bound + self.pricer.noise(at), master.max_paying_instances)
        converged = found.complete and not len(gains)
        if bound < self.best.bound or converged:
            self.best = replace(
                self.best,
                x=relaxed.x,
                duals=at,
                at_duals=bound,
                bound=min(bound, self.best.bound),
                converged=converged,
            )
        if not len(gains):
            if found.complete or self.nodes >= self.parameters.listing_nodes:
                return -bound, 0
            self.nodes = min(self.parameters.more_nodes * self.nodes, self.parameters.listing_nodes)
            return -bound, 1
        fresh, net = fresh.chosen(gains), net[gains]
        self.known.update(fresh.names)
        self.parts.append(fresh)
        entries = sparse.csc_array(master.entries(fresh))
        self.program.add(net / self.unit, entries.indptr[:-1], entries.indices, entries.data)
        return -bound, len(gains)
