"""Column generation over tasks: the linear program at a node, and the whole-number bound that its duals prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, PackingArrays
from models.eva.branch_and_price.pricer import Pair, Prices
from models.eva.branch_and_price.proof import Decision, Leaf
from models.eva.item_packing.master import ItemMaster, Mask, Relaxed
from models.eva.item_packing.parameters import ItemParameters
from models.eva.item_packing.pricing import ItemPricer

SLACK = 1e-6  # A value of the linear program is compared with a whole number with so much room.


@dataclass(frozen=True)
class Node:
    """A node: pairs of tasks that share an instance, pairs that do not, tasks already packed and what that cost."""

    together: tuple[Pair, ...] = ()
    apart: tuple[Pair, ...] = ()
    covered: Mask | None = None
    spent: int = 0

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The pairs as decisions of a proof."""
        return tuple(Decision("together", p) for p in self.together) + tuple(Decision("apart", p) for p in self.apart)


@dataclass(frozen=True)
class Bounded:
    """What column generation found at a node.

    - `relaxed`: the last optimum of the restricted master.
    - `bound`: a lower bound on the cost of every packing at the node, in price units, proved by `leaf`.
    - `settled`: whether no more columns are needed: to go below the goal is possible in the linear program, or is
      proved impossible.
    """

    relaxed: Relaxed
    bound: int
    leaf: Leaf | None
    settled: bool


class Relaxation:
    """Column generation for the nodes of a search, with all columns in one linear program."""

    def __init__(self, arrays: PackingArrays, options: Options, parameters: ItemParameters) -> None:
        self.arrays, self.options, self.parameters = arrays, options, parameters
        self.master = ItemMaster(arrays, options)
        self.pricer = ItemPricer(arrays, parameters)
        self.calls = 0
        self._price = arrays.price.tolist()

    def run(self, node: Node, goal: int | None, clock: Stopwatch, center: FloatArray | None = None) -> Bounded:
        """Generate columns at a node until the cost `goal` is in reach of the linear program or proved out of reach.

        Without a goal, until the bound is the value of the linear program rounded up.
        """
        master = self.master
        covered = np.zeros(self.arrays.classes, dtype=bool) if node.covered is None else node.covered
        master.cover(covered)
        bound, leaf = node.spent, None
        last = None if self.options.effort is None else self.calls + 100 * self.options.effort
        best = -1.0
        while True:
            master.restrict(node.together, node.apart)
            relaxed = master.solve()
            value = node.spent + relaxed.value
            if goal is not None and value <= goal + SLACK:
                return Bounded(relaxed, bound, leaf, True)
            aim = ceil(value - SLACK) - 1 if goal is None else goal
            if bound > aim:
                return Bounded(relaxed, bound, leaf, True)
            if clock.expired or (last is not None and self.calls >= last):
                return Bounded(relaxed, bound, leaf, False)
            duals = np.where(covered, 0.0, relaxed.duals)
            for share, exact in ((self.parameters.smoothing, False), (0.0, False), (0.0, True)):
                if share > 0.0 and center is None:
                    continue
                trial = duals if center is None else share * center + (1 - share) * duals
                proved = self._price_at(node, trial, duals, aim - node.spent, exact)
                if proved.value > best:
                    best, center = proved.value, trial
                if node.spent + proved.leaf_bound > bound:
                    bound, leaf = node.spent + proved.leaf_bound, proved.leaf
                if proved.new or bound > aim:
                    break
            else:
                return Bounded(relaxed, bound, leaf, bound > aim)

    def _price_at(self, node: Node, duals: FloatArray, judge: FloatArray, aim: int, exact: bool) -> _Proved:
        """Price at duals (N,): what this proves, and the number of columns added.

        Columns are kept where their reduced cost is negative at the duals `judge`. `aim`: a bound above it suffices.
        """
        self.calls += 1
        arrays, price = self.arrays, self._price
        duals = np.maximum(duals, 0.0)
        scale = self.pricer.scale(duals[None, :], arrays.price.astype(float))
        values = np.rint(duals * scale).astype(np.int64)
        total = int(values.sum())
        target = [p * scale for p in price]
        if exact and aim > 0:
            target = [max(t, (total * p - 1) // aim) for t, p in zip(target, price, strict=True)]
        prices = Prices(
            np.broadcast_to(values, (len(arrays.demand), len(values))), tuple(target), node.together, node.apart
        )
        priced = self.pricer.price(prices, self.parameters.columns_each_round, exact)
        columns = [
            c
            for c in priced.columns
            if price[c.type] - float(judge[[i for i, _ in c.pattern]].sum()) < -1e-7 * price[c.type]
        ]
        new = self.master.add(columns[: self.parameters.columns_each_round])
        bound = least_cost(price, priced.bound, total)
        value = min((total * p / w for p, w in zip(price, priced.bound, strict=True) if w), default=0.0)
        return _Proved(bound, value, Leaf(node.decisions, "bound", bound, scale, tuple(values.tolist())), new)


@dataclass(frozen=True)
class _Proved:
    leaf_bound: int
    value: float
    leaf: Leaf
    new: int


def least_cost(price: Sequence[int], worth: Sequence[int], total: int) -> int:
    """The bound of one cut: `sum_k worth_k X_k >= total` costs at least so much (after Farley, 1990)."""
    return min((-(-total * p // w) for p, w in zip(price, worth, strict=True) if w), default=0)
