"""The frontier of budget against mean completion time, every point proven, and the inverse.

Arrays, network and the lines of the dual are made once and shared by all budgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from instances import Answer, InputError, Options, Result, conclude
from instances.boa import BoaAllocation, affords, least_budget, on_grid_from
from instances.fields import on_grid
from models.boa.convex.convex_dual import ConvexDual, convex_answer
from models.boa.convex.curves import curves
from models.boa.real_widths.branching import solve_real
from models.boa.real_widths.run_dual import RunDual
from models.boa.rescaling.micp import prepare, solve_micp

WANTED = 1e-6  # The least budget for a wanted time is found to this share of the budget.
MOST_BUDGET = 1e9  # No budget is greater.


@dataclass(frozen=True)
class Frontier:
    """The frontier of an instance: the optimum for any budget from the least up to the instance's own.

    `fastest_budget`: what the fastest policy costs; infinite where speedups never level off.
    """

    data: BoaAllocation
    solve: Callable[[float, Options], Answer]
    fastest_budget: float

    @cached_property
    def least(self) -> float:
        """The least budget."""
        return least_budget(self.data)

    def at(self, budget: float, options: Options = Options()) -> Result:
        """The proven optimum for `budget`. Raises InputError where under the least or over the instance's own."""
        data = with_budget(self.data, budget, self.least)
        if data.budget > self.data.budget:
            raise InputError(f"budget: must be <= {self.data.budget:g}, got {budget:g}")
        return conclude(data, "exact", self.solve(data.budget, options), options, kind="exact")

    def least_budget_for(self, mean_jct: float, options: Options = Options()) -> tuple[float, Result]:
        """The least budget, to a relative 1e-6, that reaches `mean_jct` hours, and the optimum there.

        Raises InputError where no budget up to the instance's own does.
        """
        high, best = self.data.budget, self.at(self.data.budget, options)
        if best.objective is None or best.objective > mean_jct:
            raise InputError(
                f"mean JCT: must be >= {best.objective:.6g} hours, the least at budget {high:.6g}, got {mean_jct:g}"
            )
        low = on_grid_from(self.least)
        first = self.at(low, options)
        if first.objective is not None and first.objective <= mean_jct:
            return low, first
        while high - low > WANTED * high:
            middle = on_grid((low + high) / 2)
            if not low < middle < high:
                break
            result = self.at(middle, options)
            if result.objective is not None and result.objective <= mean_jct:
                high, best = middle, result
            else:
                low = middle
        return high, best


def frontier(data: BoaAllocation) -> Frontier:
    """The frontier of `data` up to the budget there. Raises InputError."""
    if data.real:
        runs = RunDual(data)

        def solve_runs(budget: float, options: Options) -> Answer:
            return solve_real(with_budget(data, budget), runs, options)

        return Frontier(data, solve_runs, runs.fastest_cost)
    if data.convex:
        dual = ConvexDual(curves(data))
        dual.check_bounded()

        def solve_convex(budget: float, options: Options) -> Answer:
            return convex_answer(with_budget(data, budget), dual, options)

        return Frontier(data, solve_convex, dual.evaluate(0.0).cost)
    prepared = prepare(data)

    def solve(budget: float, options: Options) -> Answer:
        return solve_micp(prepared, budget, options)

    return Frontier(data, solve, prepared.dual.fastest.cost)


def with_budget(data: BoaAllocation, budget: float, least: float | None = None) -> BoaAllocation:
    """The instance `data` with another budget, put on the grid. Raises InputError where that is under the least.

    `least`: the least budget, where that is known.
    """
    least = least_budget(data) if least is None else least
    if not (affords(budget, least) and budget <= MOST_BUDGET):
        raise InputError(f"budget: must be in [{least:.6g}, {MOST_BUDGET:g}], got {budget:g}")
    nearest = on_grid(float(budget))
    return data.model_copy(update={"budget": nearest if affords(nearest, least) else on_grid_from(least)})


def fastest_budget(data: BoaAllocation) -> float:
    """The cost of the fastest policy, infinite where speedups never level off: a greater budget buys nothing."""
    if data.real:
        return RunDual(data).fastest_cost
    if data.convex:
        return ConvexDual(curves(data)).evaluate(0.0).cost
    curves_of = (epoch.speedup.on(t.name) for c in data.classes for epoch in c.epochs for t in data.gpu_types)
    if data.max_width is None and any(curve.amdahl or curve.power for curve in curves_of):
        return math.inf
    most = data
    while True:
        found = prepare(most).dual.fastest.cost
        if found <= most.budget or most.budget >= MOST_BUDGET:
            return found
        most = with_budget(data, min(MOST_BUDGET, max(found, 2 * most.budget)))
