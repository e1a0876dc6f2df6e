"""Column generation at the nodes of a search: their linear program, and the bound that its duals prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from operator import mul

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray
from models.core.column_generation import EXACT, ColumnGeneration, Relaxed, Try
from models.core.highs import OutOfTime
from models.eva.aggregate_bound import TypeCut
from models.eva.configuration import Column, Configuration, missing, price
from models.eva.node_program import NodeProgram, ProvenDuals, prove, shift_decisions
from models.eva.pattern_pool import ColumnPool
from models.eva.pricer import BranchDecision, Pricer, ProvenLeaf

TOO_DEAR = 1e-6  # a larger sum of artificial columns, in a linear program below the goal, raises their cost
SLACK = 1e-6  # tolerance of comparisons between a value of the linear program and an integer
POOLED_AT_ONCE = 300  # most columns of the pool that enter before the linear program is solved again
PAYS = 1e-7  # share of its price that a column priced at other duals must save at the duals of the linear program


@dataclass(frozen=True)
class Goal:
    """The stopping rule of column generation at a node.

    - `bound`: stop at this lower bound; without it, at the value of the linear program rounded up.
    - `reach`: stop as well if the linear program costs at most `bound` - 1.
    """

    bound: int | None = None
    reach: bool = False


def limit_pricings(options: Options) -> float:
    """Return the limit on pricings at a node: 100 for each unit of effort."""
    return inf if options.effort is None else 100 * options.effort


class NodeRelaxation:
    """Column generation for the nodes of a search, with all columns in one linear program.

    `pricings` counts the pricings so far. `cuts` are valid inequalities on the numbers of instances, from the duals of
    nodes with decisions on instances and spending alone.

    - `program`, `pricer`: the linear program, and exact pricing.
    - `each_type`, `each_round`: most columns that one pricing finds for a type, and adds in total.
    - `most`: most pricings at a node.
    - `pool`: columns that enter the linear program without pricing if their reduced cost is negative.
    - `round_up`: returns the smallest possible cost of a packing at or above a bound.
    - `lifts`: whether exact pricing searches only for patterns that keep the bound below the goal. This saves time, but
      the proved bound exceeds the goal only slightly. A certificate may lose the excess when it rounds the duals.
    """

    def __init__(
        self,
        program: NodeProgram,
        pricer: Pricer,
        each_type: int,
        each_round: int | None = None,
        most: float = inf,
        pool: ColumnPool | None = None,
        round_up: Callable[[int], int] = lambda bound: bound,
        lifts: bool = True,
    ) -> None:
        self.program, self.pricer, self.arrays = program, pricer, program.arrays
        self.pricings, self.cuts, self.lifts = 0, list[TypeCut](), lifts
        self.each_type, self.each_round, self.round_up = each_type, each_round, round_up
        self.most, self.pool = most, pool

    def run(
        self,
        decisions: Sequence[BranchDecision],
        goal: Goal,
        clock: Stopwatch,
        tries: Sequence[Try] = EXACT,
        start: FloatArray | None = None,
        taken: Configuration | None = None,
    ) -> Bounded:
        """Generate columns at a node until the goal is met, no column is left, or a limit is reached.

        - `decisions`: the decisions of the node.
        - `goal`: the stopping rule.
        - `clock`: limits the time; at least one pricing is made.
        - `tries`, `start`: see `ColumnGeneration`; `start` are its first duals (N,).
        - `taken`: instances that are fixed already.

        Raises OutOfTime if there is no time for a linear program and a pricing.
        """
        self.program.clock = clock
        node = Bounded(self, decisions, goal, clock, taken or {})
        # The start duals are priced first: they stay the center until other duals prove more.
        loop = ColumnGeneration(node, tries, start, () if start is None else ((1.0, False), tries[-1]))
        try:
            loop.run()
        except OutOfTime:
            if node.proven is None:
                raise
        node.relaxed, node.center = loop.relaxed, loop.center
        return node


class Bounded:
    """A node and the result of column generation there.

    - `relaxed`: the last optimum of the linear program over the present columns.
    - `bound`: a lower bound on the cost of every packing at the node, in price units. The duals `proven` prove it.
    - `center`: the duals that gave the largest bound.
    - `reached`: whether the linear program reaches the goal.
    """

    def __init__(
        self,
        relaxation: NodeRelaxation,
        decisions: Sequence[BranchDecision],
        goal: Goal,
        clock: Stopwatch,
        taken: Configuration,
    ) -> None:
        self.relaxed: Relaxed | None = None
        self.center: FloatArray | None = None
        self.proven: ProvenDuals | None = None
        self.bound, self.reached = 0, False
        self._relaxation, self._goal, self._clock = relaxation, goal, clock
        self._first = relaxation.pricings
        self._own, self._decisions, self._left = tuple(decisions), tuple(decisions), relaxation.arrays.count
        self._spent, self._taken = 0, bool(taken)
        if taken:
            self._left = np.maximum(missing(relaxation.arrays, taken), 0)
            self._decisions = shift_decisions(relaxation.program, decisions, taken)
            self._spent = price(relaxation.arrays, taken)
        relaxation.program.set(self._decisions, self._left)

    @property
    def leaf(self) -> ProvenLeaf | None:
        """Return the proof of the node as a leaf, for a node without fixed instances; `None` before a pricing."""
        return None if self.proven is None else ProvenLeaf(self._own, self.bound, self.proven.duals)

    @property
    def is_settled(self) -> bool:
        """Return whether no more columns are needed: the goal is reached, or the bound excludes it."""
        return self.reached or (self.relaxed is not None and self.bound >= self._find_needed_bound(self.relaxed))

    def solve(self) -> Relaxed:
        """See `Master`."""
        program, pool = self._relaxation.program, self._relaxation.pool
        while True:
            relaxed = program.solve()
            if pool is None or not program.add(pool.paying(relaxed.cover, program.prices(relaxed), POOLED_AT_ONCE)):
                return relaxed

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """See `Master`."""
        goal, done = self._goal, self._relaxation.pricings - self._first
        if goal.reach and goal.bound is not None:
            self.reached = self._spent + relaxed.value <= goal.bound - 1 + SLACK and relaxed.short <= SLACK
        met = self.reached or self.bound >= self._find_needed_bound(relaxed)
        return met or (done > 0 and (self._clock.has_expired or done >= self._relaxation.most))

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """See `Master`."""
        to, goal = self._relaxation, self._goal
        aim = self._find_needed_bound(relaxed) - 1 - self._spent
        proven, new = self._price_once(relaxed, duals, exact, aim if self._relaxation.lifts else 0.0)
        if proven.lifted and not new and not self._taken and not self.enough(relaxed, priced=True):
            # The rounded duals miss the aim narrowly. A second pricing searches for all improving patterns.
            again, new = self._price_once(relaxed, duals, exact, 0.0)
            proven = max(proven, again, key=_value)
        dear = exact and not new and relaxed.short > TOO_DEAR
        if dear and (goal.bound is None or relaxed.value < goal.bound) and to.program.dearer():
            new = 1
        return _value(proven), new

    def _price_once(self, relaxed: Relaxed, duals: FloatArray, exact: bool, aim: float) -> tuple[ProvenDuals, int]:
        """Price once, as in `price`; return the proof and the number of new columns."""
        to = self._relaxation
        to.pricings += 1
        proven = prove(
            to.arrays,
            to.program,
            to.pricer,
            self._decisions,
            replace(relaxed, cover=duals),
            to.each_type,
            exact,
            aim,
            self._left,
        )
        bound = to.round_up(self._spent + proven.bound)
        if self.proven is None or bound >= self.bound:
            self.bound, self.proven = bound, proven
        if all(d.kind in ("instances", "spend") for d in self._decisions) and not self._taken:
            worth = sum(map(mul, proven.prices.value[0].tolist(), to.arrays.count.tolist()))
            to.cuts.append(TypeCut(proven.priced.bound, worth))
        columns = proven.priced.columns
        # A dive proves no bound: columns that save almost nothing only delay its next step.
        if duals is not relaxed.cover or self._taken:
            columns = self._paying(relaxed, columns)
        return proven, to.program.add(columns[: to.each_round])

    def _find_needed_bound(self, relaxed: Relaxed) -> int:
        """Return the bound at which no more columns are needed."""
        if self._goal.bound is not None:
            return self._goal.bound
        return ceil(self._spent + relaxed.value - SLACK)

    def _paying(self, relaxed: Relaxed, columns: Sequence[Column]) -> list[Column]:
        """Return the columns of negative reduced cost at the duals of the linear program."""
        prices = self._relaxation.program.prices(relaxed)
        worth = (sum(q * relaxed.cover[c] for c, q in column.pattern) for column in columns)
        return [c for c, w in zip(columns, worth, strict=True) if prices[c.type] - w < -PAYS * abs(prices[c.type])]


def _value(proven: ProvenDuals) -> float:
    """Return the bound that the duals prove, as a float."""
    return proven.duals.value / proven.duals.scale
