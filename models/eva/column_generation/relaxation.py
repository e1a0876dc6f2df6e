"""Column generation: solve the linear master over all patterns, keeping an exact bound at every iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from models.eva.column_generation.master import Master, Relaxed
from models.eva.column_generation.packing import Column, Packing
from models.eva.column_generation.pricing import Priced, Pricer
from models.eva.column_generation.resources import resource_duals
from models.eva.column_generation.spending import Cut, Purses

COLUMNS_EACH_TYPE = 30
COLUMNS_EACH_ROUND = 400
SMOOTHING = 0.5


class Generator:
    """Master and pricing side by side; ``cuts`` are all that pricing has proved."""

    def __init__(self, packing: Packing, purses: Purses, pricer: Pricer, cuts: list[Cut]) -> None:
        self.packing, self.purses, self.pricer = packing, purses, pricer
        self.master = Master(packing, purses)
        self.cuts = cuts
        self.iterations = 0

    def start(self) -> NDArray[np.float64]:
        """Columns of one class and those of the resource bound's duals; returns these duals (n,)."""
        self.master.add(self.packing.solo_columns())
        duals = resource_duals(self.packing)
        self._price(duals, [0.999 * p for p in self.packing.prices])
        return duals

    def run_granted(self, units: Sequence[int], enough: Callable[[Cut], bool]) -> bool:
        """Whether the linear master is feasible when purses may spend ``units``, unless ``enough(cut)`` ends it
        first."""
        self.master.grant(units)
        while True:
            relaxed = self.master.solve()
            if relaxed.value <= 1e-6:
                return True
            self.iterations += 1
            priced, new = self._price(relaxed.duals, relaxed.prices, relaxed.duals)
            if not new or enough(priced.cut):
                return False

    def run(self, center: NDArray[np.float64], enough: Callable[[Relaxed, Cut], bool]) -> Relaxed:
        """Generate columns until no column has negative reduced cost, or until ``enough(relaxed, cut)``.

        Duals are smoothed towards ``center``, the duals of the best cut so far (Wentges): the columns of the smoothed
        duals are kept where their reduced cost is negative at the master's; if there is none, the master's duals are
        priced themselves.
        """
        best = -np.inf
        smoothing = SMOOTHING
        while True:
            relaxed = self.master.solve()
            for share in (smoothing, 0.0):
                self.iterations += 1
                duals = share * center + (1 - share) * relaxed.duals
                priced, new = self._price(duals, relaxed.prices, relaxed.duals)
                value = self.master.promise(priced.cut)
                if value > best:
                    best, center = value, duals
                if enough(relaxed, priced.cut):
                    return relaxed
                if new:
                    break
            else:
                return relaxed

    def _price(
        self,
        duals: NDArray[np.float64],
        prices: Sequence[float] | NDArray[np.float64],
        judge: NDArray[np.float64] | None = None,
    ) -> tuple[Priced, int]:
        """Price, keep the cut, add the columns with negative reduced cost at the duals ``judge``."""
        priced = self.pricer.price(duals, list(prices), COLUMNS_EACH_TYPE)
        self.cuts.append(priced.cut)
        columns = priced.columns
        if judge is not None:
            columns = [c for c in columns if self.reduced_cost(c, judge, prices) < -1e-6]
        return priced, self.master.add(columns[:COLUMNS_EACH_ROUND])

    def reduced_cost(
        self, column: Column, duals: NDArray[np.float64], prices: Sequence[float] | NDArray[np.float64]
    ) -> float:
        """Reduced cost of a column of type k at class duals (n,) and type prices (K,)."""
        return float(prices[column.type]) - sum(q * float(duals[c]) for c, q in column.pattern)
