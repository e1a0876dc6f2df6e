"""Column generation in phases: configurations give an upper bound and cuts a lower bound, until both meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from models.core.column_generation import EXACT
from models.core.highs import OutOfTime, SolveFailed
from models.core.incumbent import Incumbent
from models.core.outcome import Outcome, ending
from models.eva.aggregate_bound import AggregateBound, PriceGroups, TypeCut, pool_family
from models.eva.branch_and_price import branch_and_price
from models.eva.configuration import (
    Configuration,
    configuration,
    groups,
    holds,
    missing,
    pack_alone,
    price,
    single_class_columns,
    trim,
)
from models.eva.covering import Patterns, solve_covering
from models.eva.dive import ColumnDive
from models.eva.family_shares import ShareSearch
from models.eva.greedy import ResourcePrices, pack_greedily, resource_cut, resource_prices, task_sizes
from models.eva.knapsack_pricer import TablePricer
from models.eva.node_program import NodeProgram
from models.eva.parameters import DEFAULTS, BranchAndPriceParameters, ColumnGenerationParameters
from models.eva.pattern_pool import ColumnPool, pattern_rows
from models.eva.pricer import BranchDecision, Pricer, SumsOfPrices
from models.eva.pricers import list_patterns
from models.eva.relaxation import Goal, NodeRelaxation

if TYPE_CHECKING:
    from models.eva.ruin_and_recreate import Ruin


@dataclass(frozen=True)
class ClassSpread:
    """The spread of the tasks over classes.

    - `many`: whether classes are many and have few tasks each. Then ruin and recreate finds more than pricing.
    - `few`: whether there are also few tasks. Then it begins from every task alone instead of a greedy packing.
    """

    many: bool
    few: bool

    @staticmethod
    def of(arrays: PackingArrays, parameters: ColumnGenerationParameters) -> ClassSpread:
        """Return the spread of the tasks of an instance."""
        tasks = sum(arrays.count.tolist())
        few_each = tasks <= min(parameters.ruin_tasks, parameters.spread_copies * arrays.classes)
        many = few_each and arrays.classes >= parameters.spread_classes
        return ClassSpread(many, many and tasks <= parameters.ruin_alone)


FIRST_SHARE = 0.7  # share of the time of a phase of dives for the first dives, at the bound
MORE_COLUMNS = "no more columns were tried"
Report = Callable[[Configuration | None, int | None], None]


class ColumnSearch:
    """The state of a solve: the incumbent, the linear program with its columns, and the cuts so far.

    Each phase gets a clock for its share of the time. If effort is limited and time is not, no clock has a limit.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        options: Options,
        report: Report | None,
        parameters: ColumnGenerationParameters,
        pricer: Pricer | None = None,
    ) -> None:
        self.arrays, self.options, self.parameters = arrays, options, parameters
        self.clock = Stopwatch(options.time_limit)
        self.incumbent: Incumbent[Configuration, int] = Incumbent(
            "minimize", self.clock, report, gap=options.gap, bound=0
        )
        self.pricer: Pricer = TablePricer(arrays, parameters) if pricer is None else pricer
        self.pool = ColumnPool(arrays)
        self.spread = ClassSpread.of(arrays, parameters)
        self.lp_value: float | None = None
        self.lp_converged = False
        self.aggregate_rounds = self.dives = self.nodes = 0
        self.dives_end = False  # whether a dive has ended before its time limit
        self.limits: tuple[BranchDecision, ...] = ()  # the last cost shares at which the linear program is feasible
        self.prices: ResourcePrices
        self.ruin: Ruin | None = None
        self.shares: ShareSearch | None = None

    @property
    def exact(self) -> bool:
        """Return whether tables price all resources exactly, which is fast enough for each step of a dive."""
        return isinstance(self.pricer, TablePricer) and self.pricer.exact

    @property
    def over(self) -> bool:
        """Return whether the gap is closed or the time is over."""
        return self.incumbent.is_closed or self.clock.has_expired

    @property
    def ceiling(self) -> int:
        """Return the cost of the incumbent; without one, an upper bound on the cost of a packing."""
        known = self.incumbent.objective
        return sum(self.arrays.price.tolist()) * sum(self.arrays.count.tolist()) if known is None else known

    @cached_property
    def relaxation(self) -> NodeRelaxation:
        """Return the column generation over the columns so far; it starts with the incumbent at its first use."""
        program = NodeProgram(self.arrays, self.options, self.ceiling, self.clock)
        program.add([*single_class_columns(self.arrays), *(self.incumbent.solution or ())])
        each = self.parameters.columns_each_type, self.parameters.columns_each_round
        most = inf if self.options.effort is None else self.options.effort
        return NodeRelaxation(program, self.pricer, *each, most, self.pool, self.sums.round_up)

    @cached_property
    def sums(self) -> SumsOfPrices:
        """Return the possible costs of packings."""
        return SumsOfPrices(self.arrays.price.tolist(), self.ceiling)

    def offer(self, cover: Configuration) -> None:
        """Offer a trimmed cover as incumbent, and add the trimmed columns to the pool.

        Raises ValueError if the columns do not cover all tasks, or are not patterns.
        """
        short = np.flatnonzero(missing(self.arrays, cover) > 0)
        if len(short):
            raise ValueError(f"the configuration does not hold all tasks of class {short[0]}")
        for column in cover:
            if not holds(self.arrays, column):
                raise ValueError(f"tasks {column.pattern} do not fit an instance of type {column.type}")
        configuration = trim(self.arrays, cover)
        self.incumbent.offer(price(self.arrays, configuration), configuration)
        self.pool.add(configuration)

    def start(self, clock: Stopwatch) -> None:
        """Compute the prices of resources, which guide the next phases, and raise the bound by them."""
        self.prices = resource_prices(self.arrays, self.options)
        bound = AggregateBound(self.arrays, PriceGroups.group_by_family(self.arrays))
        self.incumbent.raise_bound(min(self.ceiling, bound.bound_by_cut(resource_cut(self.arrays, self.prices))))

    def bound_by_resources(self, clock: Stopwatch) -> None:
        """Raise the bound by cuts of resource prices, which need no pricing: by each cut, then by all together."""
        families = PriceGroups.group_by_family(self.arrays)
        known = set[TypeCut]()
        bound = AggregateBound(self.arrays, families, self.options)
        cut = resource_cut(self.arrays, self.prices)
        while cut not in known:
            known.add(cut)
            bound.add(cut)
            self.incumbent.raise_bound(min(self.ceiling, bound.bound_by_cut(cut)))
            if self.over or clock.has_expired or len(known) > self.limit_rounds(self.parameters.resource_rounds):
                break
            spend = bound.propose(self.ceiling, self.limit_time(clock, self.parameters.bound_seconds).time_limit)
            if spend is None:
                break
            spent = [u * z for u, z in zip(families.unit, spend, strict=True)]
            cut = resource_cut(self.arrays, resource_prices(self.arrays, self.options, spent))
            if not bound.violates(spend, cut):
                break
        self.relaxation.cuts += [cut for cut in known if cut.rhs]
        nodes = self.limit_rounds(self.parameters.bound_nodes)
        seconds = self.limit_time(clock, self.parameters.bound_seconds).time_limit
        self.incumbent.raise_bound(bound.solve(self.ceiling, nodes, seconds, clock))

    def pack(self, clock: Stopwatch) -> None:
        """Offer a greedy packing by the start duals, with large tasks favoured.

        If there are few tasks, offer every task alone: ruin and recreate starts from it.
        """
        if self.spread.few:
            self.offer(pack_alone(self.arrays))
            return
        duals = self.prices.duals * (1 + self.parameters.bias * task_sizes(self.arrays))
        assert isinstance(self.pricer, TablePricer)
        self.offer(pack_greedily(self.arrays, self.pricer, duals, self.arrays.count, self.clock))

    def relax(self, clock: Stopwatch) -> None:
        """Solve the linear relaxation by column generation."""
        # Few columns are missing after the pool; exact tables find them at the duals of the linear program.
        near = self.pool.columns and self.exact
        tries = EXACT if near else ((self.parameters.smoothing, True), *EXACT)
        found = self.relaxation.run((), Goal(), clock, tries, self.prices.duals)
        self.lp_value = None if found.relaxed is None else found.relaxed.value
        self.lp_converged = found.is_settled
        self.incumbent.raise_bound(found.bound)

    def bound_by_family(self, clock: Stopwatch) -> None:
        """Raise the bound to the minimum cost of integral cost shares of families that keep the relaxation feasible."""
        self._aggregate_bound(PriceGroups.group_by_family(self.arrays), clock)

    def bound_by_type(self, clock: Stopwatch) -> None:
        """Raise the bound to the minimum cost of numbers of instances per type that keep the relaxation feasible."""
        self._aggregate_bound(PriceGroups.group_by_type(self.arrays), clock)

    def _aggregate_bound(self, groups: PriceGroups, clock: Stopwatch) -> None:
        """Raise the bound to the minimum cost of integral cost shares of groups that keep the relaxation feasible."""
        if len(groups.unit) == 1:  # the relaxation proves as much
            return
        cuts = self.relaxation.cuts
        bound = AggregateBound(self.arrays, groups, self.options)
        known, rounds, seconds = 0, 0, self.parameters.bound_seconds
        while not (self.over or clock.has_expired) and rounds < (self.options.effort or inf):
            for cut in cuts[known:]:
                bound.add(cut)
            known = len(cuts)
            spend = bound.propose(self.ceiling, self.limit_time(clock, seconds).time_limit)
            if spend is None or bound.cost(spend) >= self.ceiling:
                break
            rounds += 1
            limits = self._limit_spend(groups, spend)
            with suppress(OutOfTime):  # the cuts so far still prove a bound
                if self.relaxation.run(limits, Goal(bound.cost(spend) + 1, reach=True), clock).reached:
                    self.limits = limits
            if not any(bound.violates(spend, cut) for cut in cuts[known:]):
                break
        self.aggregate_rounds += rounds
        nodes = self.limit_rounds(self.parameters.bound_nodes)
        proven = bound.solve(self.ceiling, nodes, self.limit_time(clock, seconds).time_limit, clock)
        self.incumbent.raise_bound(proven)

    def _limit_spend(self, groups: PriceGroups, spend: Sequence[int]) -> tuple[BranchDecision, ...]:
        """Return the decisions that limit each group, a type or a family, to its cost share `spend`, in units."""
        found, price, family = [], self.arrays.price.tolist(), self.arrays.family.tolist()
        for g, most in enumerate(spend):
            kinds = [k for k, other in enumerate(groups.group_of) if other == g]
            if len(kinds) == 1:
                found.append(BranchDecision("instances", (kinds[0],), "at most", most))
            elif kinds:
                of = family[kinds[0]], min(price[k] for k in kinds)
                found.append(BranchDecision("spend", of, "at most", most * groups.unit[g]))
        return tuple(found)

    def dive_to_bound(self, clock: Stopwatch) -> None:
        """Dive for a packing at the smallest cost that the bound allows; if this fails, at higher costs."""
        low, steps = self.least, self.parameters.bisections
        first = clock if clock.limit_s is None else Stopwatch(FIRST_SHARE * clock.limit_s)
        if any(self.dive(low, limits, first) for limits in dict.fromkeys((self.limits, ()))):
            return
        while steps and low + 1 < self.ceiling and not (self.over or clock.has_expired):
            middle, steps = self.sums.round_up((low + self.ceiling) // 2), steps - 1
            if not self.dive(middle, (), clock):
                low = middle

    def dive_with_noise(self, clock: Stopwatch) -> None:
        """Dive with noise, alternately for the cost halfway to the incumbent and for the smallest possible cost."""
        for i in range(self.limit_rounds(self.parameters.noisy_dives)):
            if self.over or clock.has_expired or not self.dives_end:
                return
            low = self.least
            goal = low if i % 2 else self.sums.round_up((low + self.ceiling) // 2)
            self.dive(goal, self.limits if i % 2 else (), clock, self.parameters.dive_noise)

    def dive(self, goal: int, limits: tuple[BranchDecision, ...], clock: Stopwatch, noise: float = 0.0) -> bool:
        """Dive for a packing that costs at most a goal below the incumbent; return whether one is found.

        - `goal`: cost in price units.
        - `limits`: decisions that the packing satisfies.
        - `clock`: limits the time.
        - `noise`: noise on the fractions of the columns.
        """
        p, goal = self.parameters, min(goal, self.ceiling - 1)
        if self.over or clock.has_expired:
            return False
        self.dives += 1
        tries = EXACT if self.exact else ((0.0, False),)
        dive = ColumnDive(self.relaxation, goal, limits, clock, self.options.seed + self.dives, tries)
        found = dive.run(p.discrepancies, p.dive_depth, self.limit_rounds(p.dive_steps), noise)
        self.dives_end |= found is not None or not clock.has_expired
        if found is not None:
            self.offer(found)
        return found is not None

    def integer_program(self, clock: Stopwatch) -> None:
        """Solve an integer program over the columns of smallest reduced cost, first within the limits, then without."""
        program, known = self.relaxation.program, self.incumbent.solution
        if known is None:
            return
        program.set(())
        relaxed = program.solve()
        cost = program.prices(relaxed)[program.kind]
        worth = pattern_rows(program.columns, self.arrays.classes) @ relaxed.cover
        near = np.argsort((cost - worth) / np.maximum(cost, 1.0), kind="stable")[: self.parameters.most_columns]
        limits = replace(self.limit_time(clock, None), effort=self.limit_rounds(self.parameters.program_nodes))
        patterns = Patterns(program.kind[near], program.used(near).astype(np.int64))
        amount = {d.of[0]: d.amount for d in self.limits if d.kind == "instances"}
        most = tuple(amount.get(k) for k in range(len(self.arrays.price)))
        for numbers in dict.fromkeys((most, self.arrays.most)):
            if not self.over and not clock.has_expired:
                arrays = replace(self.arrays, most=numbers)
                start = None if arrays.has_limits else groups(known)
                found = solve_covering(arrays, patterns, limits, start=start).groups
                if found:
                    self.offer(configuration(found))

    @property
    def least(self) -> int:
        """Return the smallest sum of prices at or above the bound."""
        return self.sums.round_up(self.incumbent.bound or 0)

    def outcome(self, failure: str | None) -> Outcome[Configuration, None]:
        """Return the outcome of the search so far."""
        best = self.incumbent
        if best.solution is None:
            raise RuntimeError("greedy packing gave no configuration")
        info = {
            "columns": len(self.relaxation.program.columns),
            "iterations": self.relaxation.pricings,
            "lp_value": self.lp_value,
            "lp_converged": self.lp_converged,
            "aggregate_rounds": self.aggregate_rounds,
            "dives": self.dives,
            "nodes": self.nodes,
        }
        ended = ending(best.is_closed, failure, self.clock.has_expired, self.options, MORE_COLUMNS)
        return Outcome(best.solution, best.objective, best.bound or 0, tuple(best.trace), *ended, info)

    def limit_rounds(self, rounds: int) -> int:
        """Return the number of rounds, or fewer if effort is limited."""
        return rounds if self.options.effort is None else min(rounds, self.options.effort)

    def limit_time(self, clock: Stopwatch, seconds: float | None) -> Options:
        """Return the options of an integer program, with the remaining time of `clock`, and `seconds` at most.

        The `seconds` do not count if effort is limited, because the outcome must not depend on a clock then.
        """
        limits = [clock.remaining_s, self.clock.remaining_s]
        if seconds is not None and self.options.effort is None:
            limits.append(seconds)
        least = min(limits)
        return replace(self.options, time_limit=None if least == inf else max(least, 1e-3))


def bound_by_pooling(search: ColumnSearch, clock: Stopwatch) -> None:
    """Raise the bound of a search by pooling one family after another."""
    p, options = search.parameters, search.options
    for f in range(len(search.arrays.demand)):
        if search.over or clock.has_expired:
            return
        pool = pool_family(search.arrays, f, search.ceiling, p.pooled_classes, p.pooled_units)
        if pool is None:
            continue
        patterns = BranchAndPriceParameters(p.pooled_patterns, listing_steps=p.pooled_steps, program_nodes=0)
        pricer = list_patterns(pool, patterns)
        if pricer is not None:
            limit = None if options.time_limit is None else clock.remaining_s
            limits = replace(options, time_limit=limit, gap=0.0, effort=search.limit_rounds(p.pooled_nodes))
            search.incumbent.raise_bound(branch_and_price(pool, pricer, limits, parameters=patterns).bound)


def bound_by_sharing(search: ColumnSearch, clock: Stopwatch) -> None:
    """Raise the bound of a search by assigning the tasks to families, in integers."""
    if search.shares is None:
        search.shares = ShareSearch(search.arrays, search.ceiling, search.options)
    nodes = search.limit_rounds(search.parameters.shared_nodes)
    search.incumbent.raise_bound(search.shares.run(search.ceiling, nodes, clock))


def ruin_alone(search: ColumnSearch, clock: Stopwatch) -> None:
    """Ruin and recreate several times from every task alone; a minimum of rounds runs even without time.

    A greedy packing of a few hundred tasks is a worse start, because its groups of tasks are hard to break up.
    """
    if not search.spread.few:
        return
    parameters = search.parameters
    starts = search.limit_rounds(parameters.ruin_starts)
    for _ in range(starts):
        part = Stopwatch(None if clock.limit_s is None else clock.limit_s / starts)
        least = parameters.sure_ruin_rounds
        _ruin_from(search, pack_alone(search.arrays), part, parameters.ruin_rounds, parameters.ruin_patience, least)
        if part.has_expired or search.over:
            break


def ruin_at_length(search: ColumnSearch, clock: Stopwatch) -> None:
    """Ruin and recreate from the incumbent for many rounds, if classes are many."""
    parameters = search.parameters
    if search.spread.many and not clock.has_expired:
        best = search.incumbent.solution
        _ruin_from(search, best, clock, parameters.long_ruin_rounds, parameters.long_ruin_patience)


def ruin(search: ColumnSearch, clock: Stopwatch) -> None:
    """Ruin and recreate from the incumbent."""
    parameters = search.parameters
    if not clock.has_expired:
        _ruin_from(search, search.incumbent.solution, clock, parameters.ruin_rounds, parameters.ruin_patience)


def _ruin_from(
    search: ColumnSearch, first: Configuration | None, clock: Stopwatch, rounds: int, patience: int, least: int = 1
) -> None:
    """Run rounds of ruin and recreate, and offer the result.

    - `first`: the configuration to begin from.
    - `clock`: limits the time after `least` rounds.
    - `rounds`: most rounds.
    - `patience`: most rounds in a row without a saving.
    """
    arrays, parameters = search.arrays, search.parameters
    if first is None or sum(arrays.count.tolist()) > parameters.ruin_tasks:
        return
    if search.ruin is None:
        from models.eva.ruin_and_recreate import Ruin  # compiled at first use, which takes seconds

        search.ruin = Ruin(arrays, search.prices, parameters, search.options.seed)
    search.ruin.set(first)
    in_vain = 0
    for done in range(1, search.limit_rounds(rounds) + 1):
        in_vain = 0 if search.ruin.run(parameters.ruins) else in_vain + 1
        search.pool.add(search.ruin.configuration)
        if (
            (clock.has_expired and done >= least)
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
    - `share`: largest share of the time limit that the phase takes.
    - `always`: whether the phase runs even if the search is over.
    - `many`: whether it is for many classes with few tasks each, or for others; `None` for all.
    - `exact`: whether it is for instances that tables price exactly, or for others; `None` for all.
    """

    take: Callable[[ColumnSearch, Stopwatch], None]
    until: float = 1.0
    share: float = 1.0
    always: bool = False
    many: bool | None = None
    exact: bool | None = None

    def is_wanted(self, search: ColumnSearch) -> bool:
        """Return whether the phase is for this search and may run now."""
        if self.many not in (None, search.spread.many) or self.exact not in (None, search.exact):
            return False
        return self.always or not search.over

    def clock(self, search: ColumnSearch) -> Stopwatch:
        """Return the clock of a phase that begins now."""
        limit = search.options.time_limit
        if limit is None:
            return Stopwatch()
        return Stopwatch(max(0.0, min(self.until * limit - search.clock.cpu_spent_s, self.share * limit)))


PHASES = (
    Phase(ColumnSearch.start, always=True),
    Phase(ColumnSearch.pack, until=0.2, always=True),
    Phase(ruin_alone, until=0.2, always=True),
    Phase(ColumnSearch.bound_by_resources, until=0.3, share=0.1),
    Phase(ruin, until=0.3, many=True, exact=True),
    Phase(ColumnSearch.relax, until=0.65, many=True, exact=True),
    Phase(ColumnSearch.bound_by_family, until=0.6, share=0.1, many=True, exact=True),
    Phase(ColumnSearch.bound_by_type, until=0.6, share=0.1, many=True, exact=True),
    Phase(ColumnSearch.dive_to_bound, until=0.6, share=0.2, many=True, exact=True),
    Phase(ColumnSearch.dive_with_noise, until=0.8, many=True, exact=True),
    Phase(bound_by_pooling, until=0.6, share=0.15),
    Phase(bound_by_sharing, until=0.6, share=0.05),
    Phase(ruin_at_length, until=0.85, exact=True),
    Phase(ruin_at_length, until=0.7, exact=False),
    Phase(ruin, until=0.5, share=0.25),
    Phase(ColumnSearch.relax, until=0.6, many=True, exact=False),
    Phase(ColumnSearch.relax, until=0.6, many=False),
    Phase(ColumnSearch.integer_program, share=0.3, many=False),
    Phase(ColumnSearch.dive_to_bound, share=0.2, many=False),
    Phase(ruin, share=0.1, many=False),
    Phase(bound_by_sharing, until=0.85, share=0.1, many=True),
    Phase(ColumnSearch.dive_to_bound, until=0.85, share=0.1, many=True),
    Phase(ruin_at_length),
    Phase(ColumnSearch.bound_by_family, share=0.1),
    Phase(ColumnSearch.bound_by_type, share=0.3),
    Phase(ColumnSearch.dive_to_bound, share=0.1),
    Phase(ColumnSearch.integer_program, share=0.25),
    Phase(ColumnSearch.dive_with_noise, share=0.25),
    Phase(ruin, share=0.25),
)


def column_generation(
    arrays: PackingArrays,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    parameters: ColumnGenerationParameters = DEFAULTS.column_generation,
) -> Outcome[Configuration, None]:
    """Minimise the price of instances that hold all tasks by column generation (Gilmore and Gomory, 1961).

    - `arrays`: the instance.
    - `options`: limits, threads and seed, and the gap (cost - bound) / cost at which the search ends.
    - `report`: called with each new configuration and each better bound, in price units.
    - `start`: a configuration to begin from.
    - `parameters`: the constants of column generation.

    Raises ValueError if the start lacks a task, or has an instance with more tasks than fit.
    """
    return run_phases(ColumnSearch(arrays, options, report, parameters), PHASES, start)


def run_phases(
    search: ColumnSearch, phases: Sequence[Phase], start: Configuration | None
) -> Outcome[Configuration, None]:
    """Run the phases of a search one after another, from a configuration if there is one.

    Raises ValueError if the start lacks a task, or has an instance with more tasks than fit.
    """
    if start is not None:
        search.offer(start)
    failure = None
    for phase in phases:
        if phase.is_wanted(search):
            try:
                phase.take(search, phase.clock(search))
            except OutOfTime:  # the phase is over
                pass
            except SolveFailed as error:  # the next phases may succeed with other numbers
                failure = str(error)
    return search.outcome(failure)
