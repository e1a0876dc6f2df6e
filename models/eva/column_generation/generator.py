"""Column generation: the linear master over all patterns, with an exact bound at every iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.price_groups import PriceGroups
from models.eva.column_generation.pricing import Priced, Pricer
from models.eva.column_generation.restricted_master import Relaxed, RestrictedMaster
from models.eva.column_generation.start_duals import ResourcePrices, resource_prices
from models.eva.column_generation.type_cuts import TypeCut
from models.eva.configuration import Column, single_class_columns


class ColumnGenerator:
    """Restricted master and pricing in turn (Gilmore and Gomory, 1961).

    `cuts` are all cuts that pricing has proved, `iterations` the calls of pricing.

    - `arrays`: the instance.
    - `groups`: price groups of the restricted master.
    - `pricer`: exact pricing.
    - `cuts`: a list that each new cut is added to.
    - `options`: threads, and the effort, which limits the calls of pricing in one `run` or `can_spend`.
    - `clock`: the time of the whole search; a linear program that would go beyond it raises OutOfTime.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        groups: PriceGroups,
        pricer: Pricer,
        cuts: list[TypeCut],
        options: Options,
        clock: Stopwatch,
    ) -> None:
        self.arrays, self.groups, self.pricer, self.cuts, self.options = arrays, groups, pricer, cuts, options
        self.clock = clock
        self.master = RestrictedMaster(arrays, groups, options)
        self.iterations = 0

    def start(self) -> ResourcePrices:
        """Add columns of a single class; give the prices of resources."""
        self.master.add(single_class_columns(self.arrays))
        return resource_prices(self.arrays, self.options)

    def price_start(self, duals: FloatArray) -> None:
        """Add columns priced at the start duals."""
        self._price(duals, [0.999 * price for price in self.arrays.price.tolist()])

    def can_spend(self, spend: Sequence[int], enough: Callable[[TypeCut], bool]) -> bool:
        """Whether the linear master is feasible at a spend on the groups; `enough(cut)` may end the search early."""
        self.master.set_free_budget(spend)
        last = self._last_iteration()
        while True:
            relaxed = self.master.solve(self.clock.remaining_s)
            if relaxed.value <= 1e-6:
                return True
            self.iterations += 1
            priced, new = self._price(relaxed.duals, relaxed.prices, relaxed.duals)
            if not new or enough(priced.cut) or self.iterations >= last:
                return False

    def run(self, center: FloatArray, enough: Callable[[Relaxed, TypeCut], bool]) -> Relaxed:
        """Generate columns until none has a negative reduced cost, or until `enough(relaxed, cut)` (Wentges, 1997).

        Duals are smoothed towards `center`, the duals of the best cut so far: the columns of the smoothed duals are
        kept where their reduced cost is negative at the master's; if there is none, the master's duals are priced
        themselves.
        """
        best = -np.inf
        last = self._last_iteration()
        while True:
            relaxed = self.master.solve(self.clock.remaining_s)
            for share in (self.pricer.parameters.smoothing, 0.0):
                self.iterations += 1
                duals = share * center + (1 - share) * relaxed.duals
                priced, new = self._price(duals, relaxed.prices, relaxed.duals)
                value = self.master.cut_bound(priced.cut)
                if value > best:
                    best, center = value, duals
                if enough(relaxed, priced.cut) or self.iterations >= last:
                    return relaxed
                if new:
                    break
            else:
                return relaxed

    def reduced_cost(self, column: Column, duals: FloatArray, prices: Sequence[float] | FloatArray) -> float:
        """Reduced cost of a column of type k at class duals (N,) and type prices (K,)."""
        return float(prices[column.type]) - sum(q * float(duals[c]) for c, q in column.pattern)

    def _last_iteration(self) -> float:
        return np.inf if self.options.effort is None else self.iterations + self.options.effort

    def _price(
        self, duals: FloatArray, prices: Sequence[float] | FloatArray, judge: FloatArray | None = None
    ) -> tuple[Priced, int]:
        """Price, keep the cut, add the columns with negative reduced cost at the duals `judge`."""
        parameters = self.pricer.parameters
        priced = self.pricer.price(duals, list(prices), parameters.columns_each_type)
        self.cuts.append(priced.cut)
        columns = priced.columns
        if judge is not None:
            columns = [c for c in columns if self.reduced_cost(c, judge, prices) < -1e-6]
        return priced, self.master.add(columns[: parameters.columns_each_round])
