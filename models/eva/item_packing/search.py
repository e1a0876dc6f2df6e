"""Spends: how many instances there may be of each type, cheapest first, as far as no cut rules them out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, PackingArrays
from models.core.column_generation import cheap_first
from models.core.outcome import Outcome, ending
from models.eva.aggregate_bound import AggregateBound, PriceGroups, TypeCut
from models.eva.branch_and_price.dive import ColumnDive, at_most
from models.eva.branch_and_price.node_program import NodeProgram
from models.eva.branch_and_price.pricer import BranchDecision, ProvenLeaf, SumsOfPrices, TreeProof
from models.eva.branch_and_price.relaxation import Bounded, Goal, NodeRelaxation, most_pricings
from models.eva.column_generation.greedy import start_duals
from models.eva.column_generation.search import MORE_COLUMNS, Report
from models.eva.configuration import Configuration, holds, missing, price, trim
from models.eva.item_packing.dives import PairBranching, PoolDive, enumerated
from models.eva.item_packing.parameters import DEFAULTS, ItemParameters
from models.eva.item_packing.pricing import ItemPricer
from models.eva.item_packing.single_tasks import SingleTasks, best_fit
from models.highs import OutOfTime, SolveFailed
from models.incumbent import Incumbent

Counts = tuple[int, ...]
STEPS = 20  # So many steps of the listing are taken for each of the numbers that it may find.


class Spends:
    """All numbers of instances of each type that cost at least `low` and less than `high`, sorted by cost.

    Those that no optimal configuration needs are left out (see `PriceGroups.by_type`). `complete` says whether there
    are at most about `limit` of them; otherwise there are none here.
    """

    def __init__(self, arrays: PackingArrays, low: int, high: int, limit: int) -> None:
        groups = PriceGroups.by_type(arrays)
        self.price = arrays.price.tolist()
        self.order = sorted((k for k, g in enumerate(groups.group_of) if g >= 0), key=lambda k: (-self.price[k], k))
        self.upper = [groups.upper[groups.group_of[k]] for k in self.order]
        self.limit, self.high = limit, high
        self.complete = True
        self._steps = 0
        self._found: list[Counts] = []
        self._list(0, low, high, [0] * len(self.price))
        if not self.complete:
            self._found = []
        self._found.sort(key=lambda counts: (self.cost(counts), counts))
        self._counts = np.array(self._found, dtype=object).reshape(len(self._found), len(self.price))
        self._open = np.ones(len(self._found), dtype=bool)

    def cost(self, counts: Sequence[int]) -> int:
        """The price of so many instances."""
        return sum(p * n for p, n in zip(self.price, counts, strict=True))

    def cut(self, cut: TypeCut) -> None:
        """Rule out what a cut rules out."""
        if len(self._found):
            worth = self._counts @ np.array(cut.value, dtype=object)
            self._open &= (worth >= cut.rhs).astype(bool)

    def exclude(self, counts: Counts) -> None:
        """Rule out some numbers of instances that were proved to be too few."""
        self._open[self._found.index(counts)] = False

    def below(self, high: int) -> list[Counts]:
        """What is left that costs less than `high`."""
        return [
            counts for counts, left in zip(self._found, self._open, strict=True) if left and self.cost(counts) < high
        ]

    def _list(self, place: int, low: int, high: int, counts: list[int]) -> None:
        self._steps += 1
        self.complete = self.complete and self._steps <= STEPS * self.limit
        if not self.complete:
            return
        if place == len(self.order):
            if low <= 0 < high:
                self._found.append(tuple(counts))
                self.complete = len(self._found) <= self.limit
            return
        k, most = self.order[place], self.upper[place]
        p = self.price[k]
        last = (high - 1) // p if most is None else min(most, (high - 1) // p)
        first = 0
        if place == len(self.order) - 1:
            first = max(0, -(-low // p))
        for n in range(last, first - 1, -1):
            counts[k] = n
            self._list(place + 1, low - n * p, high - n * p, counts)
        counts[k] = 0


class ItemSearch:
    """The state of a solve: tasks one by one, incumbent, linear program, and the goal that is tried."""

    def __init__(
        self, arrays: PackingArrays, options: Options, report: Report | None, parameters: ItemParameters
    ) -> None:
        self.arrays, self.options, self.parameters = arrays, options, parameters
        self.clock = Stopwatch(options.time_limit)
        self.tasks = SingleTasks(arrays)
        self.items = self.tasks.arrays
        program = NodeProgram(self.items, options, int(self.items.price.max()), self.clock)
        pricer = ItemPricer(self.items, parameters)
        self.relaxation = NodeRelaxation(program, pricer, *(parameters.columns_each_round,) * 2, most_pricings(options))
        self.pricer = pricer
        self.incumbent: Incumbent[Configuration, int] = Incumbent(
            "minimize", self.clock, self._told(report), gap=options.gap, bound=0
        )
        self.proof: tuple[ProvenLeaf, ...] | None = ()
        self.info: dict[str, Any] = {"dives": 0, "nodes": 0, "lp_value": None, "lp_converged": False}
        self._center: FloatArray = np.zeros(self.items.classes)
        self._tried: set[tuple[tuple[BranchDecision, ...], int, int]] = set()
        self._spends: Spends | None = None
        self._dived: set[Counts] = set()
        self._cuts = 0

    @property
    def over(self) -> bool:
        """Whether the gap is closed or the time is."""
        return self.incumbent.closed or self.clock.expired

    @property
    def cost(self) -> int:
        """The cost of the incumbent."""
        assert self.incumbent.objective is not None
        return self.incumbent.objective

    def pack(self, start: Configuration | None) -> None:
        """The start, and packings by best fit."""
        if start is not None:
            self.offer(self.tasks.split(start))
        for packing in best_fit(self.items):
            self.offer(packing)
            self.relaxation.program.add(packing)

    def offer(self, cover: Configuration) -> None:
        """Offer a cover of the tasks, trimmed; its columns go to the linear program.

        Raises ValueError where the columns are no cover or no patterns.
        """
        short = np.flatnonzero(missing(self.items, cover) > 0)
        if len(short):
            raise ValueError(f"the configuration does not hold all tasks of class {self.tasks.class_of[short[0]]}")
        for column in cover:
            if not holds(self.items, column):
                raise ValueError(f"tasks {column.pattern} do not fit an instance of type {column.type}")
        packing = trim(self.items, cover)
        if self.incumbent.offer(price(self.items, packing), packing):
            self.relaxation.program.add(packing)

    def relax(self) -> None:
        """The linear program, and the bounds of the duals on the way."""
        if self.incumbent.closed:
            return
        bounded = self._bounded(Goal(), self.clock, start_duals(self.items, self.options))
        self.info["lp_value"] = None if bounded.relaxed is None else bounded.relaxed.value
        self.info["lp_converged"] = bounded.settled
        if len(self.items.price) > 1 and not self.over:
            bound = AggregateBound(self.items, PriceGroups.by_type(self.items), self.options)
            for cut in self.relaxation.cuts:
                bound.add(cut)
            nodes = self.parameters.aggregate_nodes
            proven = bound.solve(self.cost, nodes, self._within(0.1).time_limit, self.clock)
            self._raise(proven, None)

    def _bounded(self, goal: Goal, clock: Stopwatch, start: FloatArray) -> Bounded:
        """What column generation proves without decisions, from duals to start from."""
        found = self.relaxation.run((), goal, clock, cheap_first(self.parameters.smoothing), start)
        assert found.center is not None
        self._center = found.center
        self._raise(found.bound, (found.leaf,) if found.leaf else ())
        return found

    def step(self) -> bool:
        """One round at the least cost that is not ruled out; whether another may do more."""
        if len(self.items.price) > 1:
            if self._spends is None:
                self._spends = Spends(self.items, self.incumbent.bound or 0, self.cost, self.parameters.spends)
            if self._spends.complete:
                return self._step_by_spend(self._spends)
        goal = self.goal
        if self.cost <= goal:
            self._raise(self.cost, self.proof)
            return False
        if self._dive((), goal, self.parameters.discrepancies):
            return True
        low = goal
        while not self.over and self.cost > low + 1:
            middle = (low + self.cost) // 2
            if not self._dive((), middle, 1):
                low = middle
        return self._search((), goal) is not None

    def _step_by_spend(self, spends: Spends) -> bool:
        """One round over the numbers of instances of each type, cheapest first."""
        first: Counts | None = None
        while not self.over:
            for cut in self.relaxation.cuts[self._cuts :]:
                spends.cut(cut)
            self._cuts = len(self.relaxation.cuts)
            left = spends.below(self.cost)
            if not left:
                self._raise(self.cost, None)
                return False
            self._raise(spends.cost(left[0]), None)
            fresh = [counts for counts in left if counts not in self._dived]
            if not fresh or self.over:
                first = left[0]
                break
            counts, goal = fresh[0], spends.cost(fresh[0])
            node = at_most(counts)
            bounded = self.relaxation.run(node, Goal(goal + 1, reach=True), self.clock, cheap_first(0.0))
            if bounded.reached:
                self._dived.add(counts)
                self._dive(node, goal, self.parameters.discrepancies)
            elif bounded.bound <= goal:
                self._dived.add(counts)
        if self.over or first is None:
            return False
        goal, node = spends.cost(first), at_most(first)
        found = self._search(node, goal)
        if found is False:
            spends.exclude(first)
        return found is not None

    def _search(self, start: tuple[BranchDecision, ...], goal: int) -> bool | None:
        """Whether there is a packing at the goal, by listed patterns and the tree in turn; `None` if time runs out."""
        tree = PairBranching(self.relaxation, goal, self.clock, start)
        pool = self._pool(start, goal)
        random = 0.0
        while not self.over and tree.nodes < self._at_most(self.parameters.tree_nodes):
            nodes = self._at_most(self.parameters.pool_nodes)
            found = None if pool is None else pool.run(self.parameters.pool_tries, nodes, random, self.clock)
            random = self.parameters.pool_noise
            if found is None:
                before = tree.nodes
                tree.run(self._at_most(self.parameters.tree_slice))
                self.info["nodes"] += tree.nodes - before
                found = tree.packing
            if found is not None:
                self.offer(found)
                return True
            if tree.exhausted:
                if not start:
                    self._raise(goal + 1, tree.leaves if len(self.items.price) == 1 else None)
                return False
            if tree.stuck:
                return None
        return None

    @property
    def goal(self) -> int:
        """The least cost from the bound on that prices add up to."""
        return SumsOfPrices(self.items.price.tolist(), self.cost).at_least(self.incumbent.bound or 0)

    def outcome(self, failure: str | None) -> Outcome[Configuration, TreeProof]:
        """The outcome of the search so far.

        The classes of its proof are the tasks, one by one, class after class, its patterns all patterns, maximal or
        not. A bound over several types, which rests on many cuts at once, may be better than any leaf's: then there is
        none.
        """
        best = self.incumbent
        assert best.solution is not None
        assert best.objective is not None
        info = {
            "columns": len(self.relaxation.program.columns),
            "iterations": self.relaxation.pricings,
            **self.info,
        }
        proof = None if self.proof is None else TreeProof(best.objective, False, (), self.proof)
        packing, ended = (
            self.tasks.joined(best.solution),
            ending(best.closed, failure, self.clock.expired, self.options, MORE_COLUMNS),
        )
        return Outcome(packing, best.objective, best.bound or 0, tuple(best.trace), *ended, info, proof)

    def _dive(self, start: tuple[BranchDecision, ...], goal: int, discrepancies: int) -> bool:
        """Whether a dive finds a packing of the goal's cost at most."""
        if self.over or (start, goal, discrepancies) in self._tried:
            return False
        self._tried.add((start, goal, discrepancies))
        dive = ColumnDive(self.relaxation, goal, start, self._clock(self.parameters.dive_share))
        found = dive.run(discrepancies, self.parameters.dive_depth, self._at_most(self.parameters.dive_nodes))
        self.info["dives"] += 1
        if found is not None:
            self.offer(found)
        return found is not None

    def _pool(self, start: tuple[BranchDecision, ...], goal: int) -> PoolDive | None:
        """A dive over all the patterns that a packing of the goal's cost can have, if these are few."""
        if self.over:
            return None
        duals = [self._center]
        if not start:
            with suppress(OutOfTime):
                self._bounded(Goal(polish=True), self._clock(self.parameters.polish_share), self._center)
                duals.append(self._center)
        most = tuple(d.amount for d in start) or None
        columns = enumerated(self.items, self.pricer, duals, goal, most, self.parameters.enumerated)
        if not columns:
            return None
        self.info["enumerated"] = len(columns)
        return PoolDive(self.items, columns, goal, start, self.options)

    def _raise(self, bound: int, proof: tuple[ProvenLeaf, ...] | None) -> None:
        if self.incumbent.raise_bound(bound):
            self.proof = proof

    def _at_most(self, nodes: int) -> int:
        return nodes if self.options.effort is None else min(nodes, self.options.effort)

    def _clock(self, share: float) -> Stopwatch:
        """A clock that is limited to a share of the time limit, and to what is left of it."""
        limit = self.options.time_limit
        return Stopwatch(None if limit is None else max(1e-3, min(share * limit, self.clock.remaining_s)))

    def _within(self, share: float) -> Options:
        return replace(self.options, time_limit=self._clock(share).limit_s)

    def _told(self, report: Report | None) -> Report | None:
        if report is None:
            return None

        def told(found: Configuration | None, bound: int | None) -> None:
            report(None if found is None else self.tasks.joined(found), bound)

        return told


def pack_items(
    arrays: PackingArrays,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    parameters: ItemParameters = DEFAULTS,
) -> Outcome[Configuration, TreeProof]:
    """The least price of instances that hold all tasks, by branch-and-price over single tasks.

    - `arrays`: the instance.
    - `options`: limits, threads and seed, and the gap (cost - bound) / cost at which the search ends.
    - `report`: called with each new configuration and each better bound, in price units.
    - `start`: a configuration to begin from.
    - `parameters`: the constants of the method.

    Raises ValueError where the start does not hold all tasks, or holds more on an instance than fits.
    """
    search = ItemSearch(arrays, options, report, parameters)
    failure = None
    try:
        search.pack(start)
        search.relax()
        while not search.over and search.step():
            pass
    except OutOfTime:
        pass
    except SolveFailed as error:
        if search.incumbent.solution is None:
            raise
        failure = str(error)
    return search.outcome(failure)
