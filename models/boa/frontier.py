"""The frontier of budget against mean completion time, with a proof at every point, and its inverse.

Arrays, network and the lines of the dual are computed once and shared by all budgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from instances import Answer, InputError, Options, Result, conclude
from instances.boa import BoaAllocation, affords, compute_min_budget, on_grid_from
from instances.fields import on_grid
from instances.renamed import OldName
from models.boa.convex_dual import ConvexDual, convex_answer
from models.boa.curves import curves
from models.boa.micp import prepare, solve_micp
from models.boa.run_branching import solve_real
from models.boa.run_dual import RunDual

ACCURACY = 1e-6  # relative accuracy of the minimum budget for a given time
MAX_BUDGET = 1e9  # the limit of the file format


@dataclass(frozen=True)
class Frontier:
    """The frontier of an instance: the optimum for any budget from the minimum to the instance's own.

    - `data`: the instance.
    - `solve`: solves the instance for another budget.
    - `fastest_budget`: cost of the fastest policy; infinite if speedups never level off.
    """

    data: BoaAllocation
    solve: Callable[[float, Options], Answer]
    fastest_budget: float

    @cached_property
    def least(self) -> float:
        """Return the minimum budget."""
        return compute_min_budget(self.data)

    def at(self, budget: float, options: Options = Options()) -> Result:
        """Return the proven optimum for `budget`.

        Raises InputError if it is below the minimum budget or above the instance's own.
        """
        data = replace_budget(self.data, budget, self.least)
        if data.budget > self.data.budget:
            raise InputError(f"budget: must be <= {self.data.budget:g}, got {budget:g}")
        return conclude(data, "exact", self.solve(data.budget, options), options, kind="exact")

    least_budget_for: ClassVar[OldName] = OldName("find_min_budget")

    def find_min_budget(self, mean_jct: float, options: Options = Options()) -> tuple[float, Result]:
        """Return the minimum budget that reaches `mean_jct` hours, to a relative 1e-6, and the optimum for it.

        Raises InputError if no budget up to the instance's own suffices.
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
        while high - low > ACCURACY * high:
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
    """Return the frontier of `data` up to its own budget; raises InputError if the instance has no optimum."""
    if data.real:
        runs = RunDual(data)

        def solve_runs(budget: float, options: Options) -> Answer:
            return solve_real(replace_budget(data, budget), runs, options)

        return Frontier(data, solve_runs, runs.fastest_cost)
    if data.convex:
        dual = ConvexDual(curves(data))
        dual.check_bounded()

        def solve_convex(budget: float, options: Options) -> Answer:
            return convex_answer(replace_budget(data, budget), dual, options)

        return Frontier(data, solve_convex, dual.evaluate(0.0).cost)
    prepared = prepare(data)

    def solve(budget: float, options: Options) -> Answer:
        return solve_micp(prepared, budget, options)

    return Frontier(data, solve, prepared.dual.fastest.cost)


def replace_budget(data: BoaAllocation, budget: float, least: float | None = None) -> BoaAllocation:
    """Return `data` with another budget, rounded to the grid of budgets.

    - `least`: the minimum budget, if known.

    Raises InputError if the budget is below the minimum.
    """
    least = compute_min_budget(data) if least is None else least
    if not (affords(budget, least) and budget <= MAX_BUDGET):
        raise InputError(f"budget: must be in [{least:.6g}, {MAX_BUDGET:g}], got {budget:g}")
    nearest = on_grid(float(budget))
    return data.model_copy(update={"budget": nearest if affords(nearest, least) else on_grid_from(least)})


def fastest_budget(data: BoaAllocation) -> float:
    """Return the cost of the fastest policy, above which a budget has no effect; infinite if speedups never end."""
    if data.real:
        return RunDual(data).fastest_cost
    if data.convex:
        return ConvexDual(curves(data)).evaluate(0.0).cost
    curves_of = (epoch.speedup.on(t.name) for c in data.classes for epoch in c.epochs for t in data.gpu_types)
    if data.max_width is None and any(curve.amdahl or curve.power for curve in curves_of):
        return math.inf
    widened = data
    while True:
        cost = prepare(widened).dual.fastest.cost
        if cost <= widened.budget or widened.budget >= MAX_BUDGET:
            return cost
        widened = replace_budget(data, min(MAX_BUDGET, max(cost, 2 * widened.budget)))
