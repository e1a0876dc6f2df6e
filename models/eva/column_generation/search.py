"""The steps of column generation: configurations for an upper bound and cuts for a lower bound, until both meet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import floor, inf
from typing import TYPE_CHECKING

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.aggregate_bound import AggregateBound, Spend
from models.eva.column_generation.generator import ColumnGenerator
from models.eva.column_generation.greedy import pack_greedily, task_sizes
from models.eva.column_generation.integer_master import Cover, solve_integer_master
from models.eva.column_generation.outcome import Outcome
from models.eva.column_generation.parameters import ColumnGenerationParameters
from models.eva.column_generation.price_groups import PriceGroups
from models.eva.column_generation.pricing import Pricer
from models.eva.column_generation.restricted_master import Relaxed
from models.eva.column_generation.spread import Spread
from models.eva.column_generation.start_duals import ResourcePrices, resource_cut, resource_prices
from models.eva.column_generation.type_cuts import TypeCut
from models.eva.configuration import Column, Configuration, alone, holds, missing, price
from models.eva.trimming import on_cheapest_type, trim
from models.highs import OutOfTime
from models.incumbent import Incumbent

if TYPE_CHECKING:
    from models.eva.column_generation.ruin import Ruin

Report = Callable[[Configuration | None, int | None], None]


class Search:
    """The state of a solve: incumbent, columns and cuts so far, and linear solutions that guide integer programs.

    A phase gets the clock of its share of the time. Where effort is limited and time is not, no clock has a limit.
    """

    def __init__(
        self, arrays: PackingArrays, options: Options, report: Report | None, parameters: ColumnGenerationParameters
    ) -> None:
        self.arrays, self.options, self.parameters = arrays, options, parameters
        self.clock = Stopwatch(options.time_limit)
        self.incumbent: Incumbent[Configuration, int] = Incumbent(
            "minimize", self.clock, report, gap=options.gap, bound=0
        )
        self.families = PriceGroups.by_family(arrays)
        self.generator = ColumnGenerator(arrays, self.families, Pricer(arrays, parameters), [], options, self.clock)
        self.spread = Spread.of(arrays, parameters)
        self.random = np.random.default_rng(options.seed)
        self.complete: int | None = None
        self.lp_value: float | None = None
        self.aggregate_rounds = self.integer_programs = 0
        self._longest_packing = 0.0
        self.prices: ResourcePrices
        self.ruin: Ruin | None = None
        self._relaxed: Relaxed
        self._guide: Relaxed
        self._spend: Spend | None = None

    @property
    def over(self) -> bool:
        """Whether the gap is closed or the time is."""
        return self.complete is not None or self.incumbent.closed or self.clock.expired

    @property
    def ceiling(self) -> int:
        """The cost to beat."""
        known = self.incumbent.objective
        return sum(self.arrays.price.tolist()) * sum(self.arrays.count.tolist()) if known is None else known

    def offer(self, cover: Configuration) -> None:
        """Offer a trimmed cover as incumbent, and add the trimmed columns to the master.

        Raises ValueError where the columns are no cover or no patterns.
        """
        short = np.flatnonzero(missing(self.arrays, cover) > 0)
        if len(short):
            raise ValueError(f"the configuration does not hold all tasks of class {short[0]}")
        for column in cover:
            if not holds(self.arrays, column):
                raise ValueError(f"tasks {column.pattern} do not fit an instance of type {column.type}")
        configuration = trim(self.arrays, cover)
        self.incumbent.offer(price(self.arrays, configuration), configuration)
        self.generator.master.add(configuration)

    def start(self, clock: Stopwatch) -> None:
        """Columns of a single class, start duals, and the bound of the cut that the duals prove."""
        self.prices = self.generator.start()
        if self.spread.many:  # The phases that come next need no pricing.
            return
        self.generator.price_start(self.prices.duals)
        bound = AggregateBound(self.arrays, self.families)
        self.incumbent.raise_bound(max(bound.of_one_cut(cut) for cut in self.generator.cuts))

    def bound_by_resources(self, clock: Stopwatch) -> None:
        """The aggregate bound by family, from the cuts of resource prices, which need no pricing."""
        unit, known = self.families.unit, set[TypeCut]()
        bound = AggregateBound(self.arrays, self.families, self.options)
        cut = resource_cut(self.arrays, self.prices)
        while cut not in known:
            known.add(cut)
            bound.add(cut)
            if self.over or clock.expired or len(known) > self.at_most(self.parameters.resource_rounds):
                break
            spend = bound.propose(self.ceiling, self.within(clock, self.parameters.bound_seconds).time_limit)
            if spend is None:
                break
            spent = [u * z for u, z in zip(unit, spend, strict=True)]
            cut = resource_cut(self.arrays, resource_prices(self.arrays, self.options, spent))
            if not bound.violates(spend, cut):
                break
        self.generator.cuts += [cut for cut in known if cut.rhs]
        nodes = self.at_most(self.parameters.bound_nodes)
        seconds = self.within(clock, self.parameters.bound_seconds).time_limit
        self.incumbent.raise_bound(bound.solve(self.ceiling, nodes, seconds, self.clock).cost)

    def pack(self, clock: Stopwatch) -> None:
        """Greedy packings by the start duals, for each bias in turn; fewer where ruin and recreate do the work."""
        if self.spread.few:
            self.offer(alone(self.arrays))
            return
        for bias in self.parameters.biases[: 1 if self.spread.many else None]:
            self._pack({}, self.prices.duals, bias)
            if self.over or clock.expired:
                return

    def relax(self, clock: Stopwatch) -> None:
        """The linear relaxation by column generation, with the bound of each cut on the way."""
        bound, proven = AggregateBound(self.arrays, self.families), 0  # Of one cut: the program may be worth less.

        def enough(relaxed: Relaxed, cut: TypeCut) -> bool:
            nonlocal proven
            proven = max(proven, bound.of_one_cut(cut))
            self.incumbent.raise_bound(proven)
            return self.over or clock.expired or relaxed.value - proven < 1e-9 * relaxed.value

        self._relaxed = self._guide = self.generator.run(self.prices.duals, enough)
        self.lp_value = self._relaxed.value

    def round_down(self, clock: Stopwatch) -> None:
        """Greedy packings of the tasks that the linear solution, rounded down, leaves."""
        for share in (1.0, self.parameters.fixed_share):
            self._pack(self._part(self._relaxed, share), self._relaxed.duals, self.parameters.biases[0])

    def bound_by_family(self, clock: Stopwatch) -> None:
        """The aggregate bound by family."""
        self._spend = self._aggregate_bound(self.families, clock)

    def relax_at_spend(self, clock: Stopwatch) -> None:
        """The linear relaxation where the spend on the group of the largest unit is the whole number proposed."""
        if self._spend is None:
            return
        unit, master = self.families.unit, self.generator.master
        top = max(range(len(unit)), key=lambda g: (unit[g], -g))
        master.set_free_budget([z if g == top else 0 for g, z in enumerate(self._spend)])
        self._guide = self.generator.run(self._relaxed.duals, lambda _, cut: self.over)
        master.set_free_budget([0] * len(unit))

    def dive(self, clock: Stopwatch) -> None:
        """The integer master around the linear solution, most of which is kept."""
        self._integer_master(self._part(self._guide, self.parameters.fixed_share), clock)

    def solve_free(self, clock: Stopwatch) -> None:
        """The integer master over the columns of small reduced cost."""
        self._integer_master({}, clock)

    def bound_by_type(self, clock: Stopwatch) -> None:
        """The aggregate bound by type."""
        self._aggregate_bound(PriceGroups.by_type(self.arrays), clock)

    def solve_complete(self, clock: Stopwatch) -> None:
        """The integer master over all columns that can be part of a cheaper configuration, if few."""
        columns = self.generator.pricer.enumerate(self._relaxed.duals, self.ceiling, self.parameters.complete_columns)
        if columns is not None:
            columns = [c for c in columns if on_cheapest_type(self.arrays, c) == c]
            cover = self._solve_integer_master(columns, {}, self.within(clock, None))
            self.complete = cover.bound if cover.finished else None

    def enrich(self, clock: Stopwatch) -> None:
        """More columns near the optimum: the best patterns at duals disturbed at random."""
        guide, many = self._guide, self.parameters.enrichments
        for _ in range(self.at_most(many)):
            if self.over:
                return
            noise = self.random.normal(0.0, self.parameters.disturbance, len(guide.duals))
            priced = self.generator.pricer.price(guide.duals * (1 + noise), list(guide.prices), many)
            self.generator.master.add(priced.columns)

    def improve(self, clock: Stopwatch) -> None:
        """The integer master around the incumbent, most of which is kept."""
        known = self.incumbent.solution or {}
        self._integer_master(
            {column: floor(self.parameters.kept_share * n + 1e-9) for column, n in known.items()}, clock
        )

    def outcome(self, failure: str | None) -> Outcome:
        """The outcome of the search so far."""
        best = self.incumbent
        if best.solution is None or best.objective is None:
            raise RuntimeError("greedy packing gave no configuration")
        info = {
            "columns": len(self.generator.master.columns),
            "iterations": self.generator.iterations,
            "lp_value": self.lp_value,
            "aggregate_rounds": self.aggregate_rounds,
            "integer_programs": self.integer_programs,
        }
        return Outcome(best.solution, best.objective, best.bound or 0, tuple(best.trace), self.complete, info, failure)

    def at_most(self, rounds: int) -> int:
        """The number of rounds, or fewer where effort is limited."""
        return rounds if self.options.effort is None else min(rounds, self.options.effort)

    def within(self, clock: Stopwatch, seconds: float | None) -> Options:
        """The options of an integer program, with the time limit that `clock` leaves, and `seconds` at most.

        The `seconds` do not count where effort is limited: no clock may touch the outcome then.
        """
        limits = [clock.remaining_s, self.clock.remaining_s]
        if seconds is not None and self.options.effort is None:
            limits.append(seconds)
        least = min(limits)
        return replace(self.options, time_limit=None if least == inf else max(least, 1e-3))

    def _part(self, relaxed: Relaxed, share: float) -> Configuration:
        """A share of the linear solution, rounded down."""
        amounts = zip(self.generator.master.columns, relaxed.amounts, strict=False)
        return {column: floor(share * x + 1e-6) for column, x in amounts if share * x >= 1 - 1e-6}

    def _pack(self, part: Configuration, duals: FloatArray, bias: float) -> None:
        """Complete a part of a configuration greedily; the bias favours large tasks.

        The first is done whatever the time, a later one if there is time for the longest so far.
        """
        known = self.incumbent.objective is not None
        if known and (self.over or self.clock.remaining_s < self._longest_packing):
            return
        with Stopwatch() as packing:
            left = np.maximum(missing(self.arrays, part), 0)
            added = pack_greedily(
                self.arrays, self.generator.pricer, duals * (1 + bias * task_sizes(self.arrays)), left
            )
        self._longest_packing = max(self._longest_packing, packing.cpu_s)
        self.offer({column: part.get(column, 0) + added.get(column, 0) for column in [*part, *added]})

    def _aggregate_bound(self, groups: PriceGroups, clock: Stopwatch) -> Spend | None:
        """Raise the bound to the cheapest whole-number spend at which the linear master is feasible; give the spend."""
        first = self.generator
        generator = ColumnGenerator(self.arrays, groups, first.pricer, first.cuts, self.options, self.clock)
        generator.master.add(self.generator.master.columns)
        bound = AggregateBound(self.arrays, groups, self.options)
        known, rounds, seconds = 0, 0, self.parameters.bound_seconds
        while not self.over and rounds < (self.options.effort or inf):
            for cut in generator.cuts[known:]:
                bound.add(cut)
            known = len(generator.cuts)
            spend = bound.propose(self.ceiling, self.within(clock, seconds).time_limit)
            if spend is None or bound.cost(spend) >= self.ceiling:
                break
            rounds += 1

            def enough(cut: TypeCut, spend: Spend = spend) -> bool:
                return self.over or bound.violates(spend, cut)

            with suppress(OutOfTime):  # the cuts so far prove a bound all the same
                generator.can_spend(spend, enough)
            if not any(bound.violates(spend, cut) for cut in generator.cuts[known:]):
                break
        self.aggregate_rounds += rounds
        self.generator.master.add(generator.master.columns)
        nodes = self.at_most(self.parameters.bound_nodes)
        proven = bound.solve(self.ceiling, nodes, self.within(clock, seconds).time_limit, self.clock)
        self.incumbent.raise_bound(proven.cost)
        return proven.spend

    def _integer_master(self, kept: Configuration, clock: Stopwatch) -> None:
        """The integer master over the columns of small reduced cost, with at least the instances of `kept`."""
        columns = self.generator.master.columns
        if len(columns) > self.parameters.few_columns:
            prices, guide, close = self.arrays.price.tolist(), self._guide, self.parameters.close_columns
            columns = [
                c
                for c in columns
                if c in kept or self.generator.reduced_cost(c, guide.duals, guide.prices) <= close * prices[c.type]
            ]
        seconds = self.parameters.integer_seconds if self.options.time_limit is None else None
        self.integer_programs += 1
        self._solve_integer_master(columns, kept, self.within(clock, seconds))

    def _solve_integer_master(self, columns: list[Column], kept: Configuration, options: Options) -> Cover:
        """Solve the integer master and offer the cover."""
        cover = solve_integer_master(
            self.arrays,
            self.families,
            columns,
            options,
            kept=kept,
            bound=self.incumbent.bound or 0,
            ceiling=self.ceiling,
        )
        if cover.configuration is not None:
            self.offer(cover.configuration)
        return cover
