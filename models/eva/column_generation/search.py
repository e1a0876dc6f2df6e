"""Column generation in phases: configurations for an upper bound and cuts for a lower bound, until both meet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import floor, inf
from typing import TYPE_CHECKING

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from models.core.column_generation import Relaxed
from models.core.outcome import Outcome, ending
from models.eva.aggregate_bound import AggregateBound, PriceGroups, Spend, TypeCut, pooled
from models.eva.branch_and_price import branch_and_price, list_patterns
from models.eva.branch_and_price.pricer import BranchAndPriceParameters
from models.eva.column_generation.generator import ColumnGenerator, ColumnPool, solve_integer_master
from models.eva.column_generation.greedy import ResourcePrices, pack_greedily, resource_cut, resource_prices, task_sizes
from models.eva.column_generation.parameters import DEFAULTS, ColumnGenerationParameters
from models.eva.column_generation.pricing import TablePricer
from models.eva.configuration import Configuration, alone, holds, missing, price, trim
from models.eva.family_shares import ShareSearch
from models.highs import OutOfTime, SolveFailed
from models.incumbent import Incumbent

if TYPE_CHECKING:
    from models.eva.column_generation.ruin import Ruin


@dataclass(frozen=True)
class ClassSpread:
    """Whether classes are `many` and of few tasks each, so that ruin and recreate finds more than pricing does.

    `few`: whether the tasks are then so few that it begins from every task alone, instead of from a greedy packing.
    """

    many: bool
    few: bool

    @staticmethod
    def of(arrays: PackingArrays, parameters: ColumnGenerationParameters) -> ClassSpread:
        """What the tasks of an instance are like."""
        tasks = sum(arrays.count.tolist())
        few_each = tasks <= min(parameters.ruin_tasks, parameters.spread_copies * arrays.classes)
        many = few_each and arrays.classes >= parameters.spread_classes
        return ClassSpread(many, many and tasks <= parameters.ruin_alone)


MORE_COLUMNS = "no more columns were tried"
Report = Callable[[Configuration | None, int | None], None]


class ColumnSearch:
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
        self.generator = ColumnGenerator(
            arrays, self.families, TablePricer(arrays, parameters), [], options, self.clock, ColumnPool(arrays.classes)
        )
        self.spread = ClassSpread.of(arrays, parameters)
        self.lp_value: float | None = None
        self.aggregate_rounds = self.integer_programs = 0
        self.prices: ResourcePrices
        self.ruin: Ruin | None = None
        self.shares: ShareSearch | None = None
        self._relaxed: Relaxed

    @property
    def over(self) -> bool:
        """Whether the gap is closed or the time is."""
        return self.incumbent.closed or self.clock.expired

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
        self.incumbent.raise_bound(bound.solve(self.ceiling, nodes, seconds, self.clock))

    def pack(self, clock: Stopwatch) -> None:
        """A greedy packing by the start duals, with large tasks favoured; every task alone where ruin does the work."""
        if self.spread.few:
            self.offer(alone(self.arrays))
            return
        duals = self.prices.duals * (1 + self.parameters.bias * task_sizes(self.arrays))
        self.offer(pack_greedily(self.arrays, self.generator.pricer, duals, self.arrays.count, self.clock))

    def relax(self, clock: Stopwatch) -> None:
        """The linear relaxation by column generation, with the bound of each cut on the way."""
        bound, proven = AggregateBound(self.arrays, self.families), 0  # Of one cut: the program may be worth less.

        def enough(relaxed: Relaxed, cut: TypeCut) -> bool:
            nonlocal proven
            proven = max(proven, bound.of_one_cut(cut))
            self.incumbent.raise_bound(proven)
            return self.over or clock.expired or relaxed.value - proven < 1e-9 * relaxed.value

        self._relaxed = self.generator.run(self.prices.duals, enough)
        self.lp_value = self._relaxed.value

    def bound_by_family(self, clock: Stopwatch) -> None:
        """The aggregate bound by family."""
        self._aggregate_bound(self.families, clock)

    def dive(self, clock: Stopwatch) -> None:
        """The integer master around the linear solution, most of which is kept, over columns of small reduced cost."""
        guide, share = self._relaxed, self.parameters.fixed_share
        amounts = zip(self.generator.master.columns, guide.x, strict=False)
        kept = {column: floor(share * x + 1e-6) for column, x in amounts if share * x >= 1 - 1e-6}
        columns = self.generator.master.columns
        if len(columns) > self.parameters.few_columns:
            prices, paid = self.arrays.price.tolist(), self.generator.master.prices(guide)
            cost = {c: self.generator.reduced_cost(c, guide.cover, paid) for c in columns if c not in kept}
            close = [c for c, y in cost.items() if y <= self.parameters.close_columns * prices[c.type]]
            columns = [
                *kept,
                *sorted(close, key=lambda c: cost[c] / max(1, prices[c.type]))[: self.parameters.most_columns],
            ]
        seconds = self.parameters.integer_seconds if self.options.time_limit is None else None
        self.integer_programs += 1
        cover = solve_integer_master(
            self.arrays,
            self.families,
            columns,
            self.within(clock, seconds),
            kept=kept,
            bound=self.incumbent.bound or 0,
            ceiling=self.ceiling,
        )
        if cover is not None:
            self.offer(cover)

    def bound_by_type(self, clock: Stopwatch) -> None:
        """The aggregate bound by type."""
        self._aggregate_bound(PriceGroups.by_type(self.arrays), clock)

    def outcome(self, failure: str | None) -> Outcome[Configuration, None]:
        """The outcome of the search so far."""
        best = self.incumbent
        if best.solution is None:
            raise RuntimeError("greedy packing gave no configuration")
        info = {
            "columns": len(self.generator.master.columns),
            "iterations": self.generator.iterations,
            "lp_value": self.lp_value,
            "aggregate_rounds": self.aggregate_rounds,
            "integer_programs": self.integer_programs,
        }
        ended = ending(best.closed, failure, self.clock.expired, self.options, MORE_COLUMNS)
        return Outcome(best.solution, best.objective, best.bound or 0, tuple(best.trace), *ended, info)

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

    def _aggregate_bound(self, groups: PriceGroups, clock: Stopwatch) -> None:
        """Raise the bound to the cheapest whole-number spend at which the linear master is feasible."""
        first = self.generator
        generator = ColumnGenerator(self.arrays, groups, first.pricer, first.cuts, self.options, self.clock, first.pool)
        generator.master.add(self.generator.master.columns)
        bound = AggregateBound(self.arrays, groups, self.options)
        known, rounds, seconds = 0, 0, self.parameters.bound_seconds
        while not (self.over or clock.expired) and rounds < (self.options.effort or inf):
            for cut in generator.cuts[known:]:
                bound.add(cut)
            known = len(generator.cuts)
            spend = bound.propose(self.ceiling, self.within(clock, seconds).time_limit)
            if spend is None or bound.cost(spend) >= self.ceiling:
                break
            rounds += 1

            def enough(cut: TypeCut, spend: Spend = spend) -> bool:
                return self.over or clock.expired or bound.violates(spend, cut)

            with suppress(OutOfTime):  # the cuts so far prove a bound all the same
                generator.can_spend(spend, enough)
            if not any(bound.violates(spend, cut) for cut in generator.cuts[known:]):
                break
        self.aggregate_rounds += rounds
        self.generator.master.add(generator.master.columns)
        nodes = self.at_most(self.parameters.bound_nodes)
        proven = bound.solve(self.ceiling, nodes, self.within(clock, seconds).time_limit, self.clock)
        self.incumbent.raise_bound(proven)


def bound_by_pooling(search: ColumnSearch, clock: Stopwatch) -> None:
    """Raise the bound of a search by pooling each family in turn."""
    p, options = search.parameters, search.options
    for f in range(len(search.arrays.demand)):
        if search.over or clock.expired:
            return
        pool = pooled(search.arrays, f, search.ceiling, p.pooled_classes, p.pooled_units)
        if pool is None:
            continue
        patterns = BranchAndPriceParameters(listed_patterns=p.pooled_patterns, listing_steps=p.pooled_steps)
        pricer = list_patterns(pool, patterns)
        if pricer is not None:
            limit = None if options.time_limit is None else clock.remaining_s
            limits = replace(options, time_limit=limit, gap=0.0, effort=search.at_most(p.pooled_nodes))
            search.incumbent.raise_bound(branch_and_price(pool, pricer, limits, parameters=patterns).bound)


def bound_by_sharing(search: ColumnSearch, clock: Stopwatch) -> None:
    """Raise the bound of a search by sharing the tasks out among families, in whole numbers."""
    if search.shares is None:
        search.shares = ShareSearch(search.arrays, search.ceiling, search.options)
    nodes = search.at_most(search.parameters.shared_nodes)
    search.incumbent.raise_bound(search.shares.run(search.ceiling, nodes, clock))


def ruin_alone(search: ColumnSearch, clock: Stopwatch) -> None:
    """Ruin and recreate from every task alone, some times; whatever the time, the first packing is no bad one.

    What a greedy packing of a few hundred tasks has put together is hard to take apart again.
    """
    if not search.spread.few:
        return
    parameters = search.parameters
    starts = search.at_most(parameters.ruin_starts)
    for _ in range(starts):
        part = Stopwatch(None if clock.limit_s is None else clock.limit_s / starts)
        least = parameters.sure_ruin_rounds
        _ruin_from(search, alone(search.arrays), part, parameters.ruin_rounds, parameters.ruin_patience, least)
        if part.expired or search.over:
            break


def ruin_at_length(search: ColumnSearch, clock: Stopwatch) -> None:
    """Ruin and recreate from the incumbent for long, where classes are many."""
    parameters = search.parameters
    if search.spread.many and not clock.expired:
        best = search.incumbent.solution
        _ruin_from(search, best, clock, parameters.long_ruin_rounds, parameters.long_ruin_patience)


def ruin(search: ColumnSearch, clock: Stopwatch) -> None:
    """Ruin and recreate from the incumbent."""
    parameters = search.parameters
    if not clock.expired:
        _ruin_from(search, search.incumbent.solution, clock, parameters.ruin_rounds, parameters.ruin_patience)


def _ruin_from(
    search: ColumnSearch, first: Configuration | None, clock: Stopwatch, rounds: int, patience: int, least: int = 1
) -> None:
    """Rounds of ruin and recreate, at most so many and at least the least; so many in a row may save nothing."""
    arrays, parameters = search.arrays, search.parameters
    if first is None or sum(arrays.count.tolist()) > parameters.ruin_tasks:
        return
    if search.ruin is None:
        from models.eva.column_generation.ruin import Ruin  # compiled at first use, which takes seconds

        search.ruin = Ruin(arrays, search.prices, parameters, search.options.seed)
    search.ruin.set(first)
    in_vain = 0
    for done in range(1, search.at_most(rounds) + 1):
        in_vain = 0 if search.ruin.run(parameters.ruins) else in_vain + 1
        search.generator.pool.add(search.ruin.configuration)
        if (
            (clock.expired and done >= least)
            or in_vain >= patience
            or search.ruin.cost <= (search.incumbent.bound or 0)
        ):
            break
    search.offer(search.ruin.configuration)


@dataclass(frozen=True)
class Phase:
    """A phase of column generation.

    - `take`: the step of the search.
    - `until`: share of the time limit, counted from the start, at which the phase stops.
    - `share`: most that the phase takes of the time limit, as a share.
    - `always`: whether the phase is taken even where the search is over.
    - `many`: whether it is for classes that are many and of few tasks each, or for others; `None` for all.
    - `exact`: whether it is for instances that tables price exactly, or for others; `None` for all.
    """

    take: Callable[[ColumnSearch, Stopwatch], None]
    until: float = 1.0
    share: float = 1.0
    always: bool = False
    many: bool | None = None
    exact: bool | None = None

    def wanted(self, search: ColumnSearch) -> bool:
        """Whether the phase is for this search, and may be taken now."""
        if self.many not in (None, search.spread.many) or self.exact not in (None, search.generator.pricer.exact):
            return False
        return self.always or not search.over

    def clock(self, search: ColumnSearch) -> Stopwatch:
        """The clock of a phase that begins now."""
        limit = search.options.time_limit
        if limit is None:
            return Stopwatch()
        return Stopwatch(max(0.0, min(self.until * limit - search.clock.spent_s, self.share * limit)))


PHASES = (
    Phase(ColumnSearch.start, always=True),
    Phase(ColumnSearch.pack, until=0.2, always=True),
    Phase(ruin_alone, until=0.2, always=True),
    Phase(ColumnSearch.bound_by_resources, until=0.3),
    Phase(bound_by_pooling, until=0.4, share=0.15),
    Phase(bound_by_sharing, until=0.4, share=0.05),
    Phase(ruin, until=0.3, many=True, exact=True),
    Phase(ColumnSearch.relax, until=0.6, many=True, exact=True),
    Phase(ruin_at_length, until=0.85, exact=True),
    Phase(ruin_at_length, until=0.7, exact=False),
    Phase(ruin, until=0.5, share=0.25),
    Phase(ColumnSearch.relax, until=0.6, many=True, exact=False),
    Phase(ColumnSearch.relax, until=0.6, many=False),
    Phase(bound_by_sharing, until=0.85, share=0.1, many=True),
    Phase(ColumnSearch.bound_by_family, until=0.85, many=True),
    Phase(ColumnSearch.bound_by_family, many=False),
    Phase(ColumnSearch.dive, share=0.1, many=True),
    Phase(ColumnSearch.dive, share=0.25, many=False),
    Phase(ruin_at_length),
    Phase(ColumnSearch.bound_by_type),
    Phase(ColumnSearch.dive, share=0.25),
    Phase(ruin, share=0.25),
)


def column_generation(
    arrays: PackingArrays,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    parameters: ColumnGenerationParameters = DEFAULTS,
) -> Outcome[Configuration, None]:
    """Column generation (Gilmore and Gomory, 1961) for the least price of instances that hold all tasks.

    - `arrays`: the instance.
    - `options`: limits, threads and seed, and the gap (cost - bound) / cost at which the search ends.
    - `report`: called with each new configuration and each better bound, in price units.
    - `start`: a configuration to begin from.
    - `parameters`: the constants of column generation.

    Raises ValueError where the start does not hold all tasks, or holds more on an instance than fits.
    """
    search = ColumnSearch(arrays, options, report, parameters)
    if start is not None:
        search.offer(start)
    failure = None
    try:
        for phase in PHASES:
            if phase.wanted(search):
                phase.take(search, phase.clock(search))
    except OutOfTime:
        pass
    except SolveFailed as error:  # after the first packing: there is an incumbent and a bound
        failure = str(error)
    return search.outcome(failure)
