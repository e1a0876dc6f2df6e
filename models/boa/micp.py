"""The exact method for integer widths with rescaling times: Lagrangian bound, then closing of the duality gap.

This file also determines how wide the network has to be if jobs may be mixed. In that case, a small share of the jobs
may have any width within the budget. Let a run have width k, and let k exceed the best width, at multiplier μ, of every
epoch of the class. Then the length of the run falls as k does, because the length of each epoch falls, and so does the
cost of the change before the run. So no shortest path at μ needs a width beyond the largest of those best widths, which
falls as μ rises. If the shortest paths at μ exceed the budget, the best multiplier is at least μ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import fsum

import numpy as np

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import IntArray
from instances.boa import BoaAllocation, WidthArrays, compute_plan_limit, oversize, proven, shares, width_arrays
from instances.options import ignore
from instances.result import Termination
from models.boa.gap_closing import DEFAULTS, GapClosing, GapClosingParameters
from models.boa.labels import Limits, OutOfMemory
from models.boa.path_dual import (
    Line,
    Network,
    Path,
    PathDual,
    build_network,
    build_path,
    compute_reduced_costs,
    find_affordable_paths,
)
from models.boa.solution import build_solution
from models.core.highs import OutOfTime
from models.core.incumbent import Incumbent


@dataclass(frozen=True)
class Prepared:
    """An instance as arrays, network and dual, which several budgets can share."""

    data: BoaAllocation
    arrays: WidthArrays
    net: Network
    dual: PathDual


def prepare(data: BoaAllocation, last: int | None = None) -> Prepared:
    """Build the arrays of `data` up to the width `last`, for any budget up to that of `data`.

    Raises InputError if the arrays are too large.
    """
    tables, formulas = _max_table_width(data)
    arrays = width_arrays(data, tables if last is None and not formulas else last)
    net = build_network(data, arrays)
    return Prepared(data, arrays, net, PathDual(net))


def solve_micp(
    p: Prepared,
    budget: float,
    options: Options,
    report: Report = ignore,
    start: Solution | None = None,
    parameters: GapClosingParameters = DEFAULTS,
) -> Answer:
    """Solve Lemma 4.8 over integer widths to optimality within `options.gap`, for `budget`.

    - `p`: the prepared instance.
    - `budget`: GPUs or currency per hour, at most that of the instance.
    - `options`: time limit and gap.
    - `report`: called with every improvement.
    - `start`: a policy within the budget to begin from.
    - `parameters`: constants of the gap closing.
    """
    with Stopwatch(options.time_limit) as clock:
        within = p.dual.maximise(compute_plan_limit(budget), lambda: clock.has_expired)[1]
        search = _GapSearch(p, budget, within, options, report, clock, start, parameters)
        search.run()
    return Answer(
        solution=write_policy(p, [q.choices for q in search.paths]),
        bound=search.incumbent.bound,
        termination=search.termination,
        reason=search.reason,
        solve_s=clock.cpu_s,
        trace=tuple(search.incumbent.trace),
        info={"multiplier": search.line.mu, "lagrangian_bound": search.lagrangian, "labels": search.labels},
    )


class _GapSearch:
    """The search for the optimum: it improves the incumbent and raises the bound until they meet."""

    def __init__(
        self,
        p: Prepared,
        budget: float,
        within: Line,
        options: Options,
        report: Report,
        clock: Stopwatch,
        start: Solution | None,
        parameters: GapClosingParameters,
    ) -> None:
        self.p, self.budget, self.options, self.clock, self.parameters = p, budget, options, clock, parameters

        def report_paths(paths: list[Path] | None, bound: float | None) -> None:
            if report is not ignore:
                report(write_policy(p, [q.choices for q in paths or self.paths]), bound)

        self.incumbent: Incumbent[list[Path], float] = Incumbent(
            "minimize", clock, report_paths, gap=options.gap, bound=0.0
        )
        self.line, self.lagrangian = p.dual.best(budget)
        self._offer(find_affordable_paths(p.net, within.mu, compute_plan_limit(budget)))
        if start is not None:
            self._offer_choices(read_choices(p, start))
        self.labels = 0
        self.termination: Termination = "finished"
        self.reason: str | None = None

    @property
    def paths(self) -> list[Path]:
        """Return the path of each class in the incumbent."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def time(self) -> float:
        """Return the mean completion time of the incumbent, hours."""
        assert self.incumbent.objective is not None
        return self.incumbent.objective

    def run(self) -> None:
        """Close the gap, or stop at a limit and set the reason."""
        limits, most_labels = Limits(self.clock, self.parameters.most_labels), self.parameters.most_labels
        if not self.clock.has_expired:
            self.reduced = compute_reduced_costs(self.p.net, self.line, proven(self.budget), self.time)
            self.lagrangian = max(0.0, self._to_hours(self.reduced.lagrangian - self.reduced.margin))
        self.incumbent.raise_bound(self.lagrangian)
        try:
            limits.check(0)
            start = self._count_units(self.paths)
            closing = GapClosing(self.reduced, start, self._target_bound, limits, self._accept, self.parameters)
            self.labels = closing.run()
        except OutOfTime:
            self.termination, self.reason = "time_limit", "time limit"
        except (OutOfMemory, MemoryError):
            self.reason = f"more than {most_labels:,} partial paths or policies at once"

    def _target_bound(self, units: float) -> float:
        """Return the bound at which the search stops for an incumbent, slightly tighter than required; in units."""
        return units * (1 - self.parameters.target_share * self.options.gap)

    def _count_units(self, paths: list[Path]) -> int:
        """Return the time of a policy in units."""
        r = self.reduced
        total = 0
        for i, q in enumerate(paths):
            changes = 1 + int((q.choices[1:] != q.choices[:-1]).sum())
            total += int(r.time[range(len(q.choices)), i, q.choices].sum()) + changes * int(r.change_time[i, 0])
        return total

    def _to_hours(self, units: float) -> float:
        """Return units of time as hours, rounded down."""
        return units * self.reduced.unit * (1 - 1e-15)

    def _accept(self, choices: list[IntArray] | None, bound: float | None) -> bool:
        """Keep a better policy, or a better bound in units, and return whether the policy is within the budget."""
        if bound is not None:
            self.incumbent.raise_bound(self._to_hours(bound))
        return self._offer_choices(choices)

    def _offer_choices(self, choices: list[IntArray] | None) -> bool:
        """Make the policy with these choices the incumbent if it is faster.

        Return whether it is within the budget; integer units alone do not guarantee this.
        """
        paths = [build_path(self.p.net, i, c) for i, c in enumerate(choices or ())]
        is_within_budget = bool(paths) and fsum(q.cost for q in paths) <= compute_plan_limit(self.budget)
        if is_within_budget:
            self._offer(paths)
        return is_within_budget

    def _offer(self, paths: list[Path]) -> None:
        """Make a policy the incumbent if it is faster."""
        self.incumbent.offer(fsum(q.time for q in paths), paths)


def write_policy(p: Prepared, choices: list[IntArray]) -> Solution:
    """Return the solution in JSON form for the `choices` (epochs,) of each class."""
    types, widths = p.arrays.type.tolist(), p.arrays.width.tolist()
    return build_solution(p.data, ([(types[s], widths[s], 1.0)] for k in choices for s in k.tolist()))


def read_choices(p: Prepared, solution: Solution) -> list[IntArray] | None:
    """Return the choices (epochs,) of each class in a checked solution; `None` if it mixes paths."""
    form, content = next(iter(solution.items()))
    names = [t.name for t in p.data.gpu_types]
    choices: list[IntArray] = []
    last = len(p.arrays.width) // len(names)
    for c in p.data.classes:
        rows = content[c.name]
        if form == "paths":
            drawn = [row for row in rows if row["probability"] > 0]
            if len(drawn) != 1:
                return None
            pairs = [(0, width) for width in drawn[0]["widths"]]
        elif form == "assignment":
            used = [[o for o in row if o["fraction"] > 0] for row in rows]
            pairs = [(names.index(o["type"]), o["width"]) for row in used for o in row]
        else:
            pairs = [(0, width) for width in rows]
        if len(pairs) != len(c.epochs) or any(width > last for _, width in pairs):
            return None
        choices.append(np.array([h * last + round(width) - 1 for h, width in pairs]))
    return choices


FIRST_WIDTHS = 64  # widths of a formula in the first network
GROWTH = 4  # factor by which the last width then grows, so that few networks are built


def prepare_mixed(data: BoaAllocation) -> Prepared:
    """Build the arrays of `data` up to the largest width of any optimal mix of paths within the budget.

    The instance has a single GPU type. Raises InputError if the arrays are too large, or no width limits a linear
    speedup.
    """
    tables, formulas = _max_table_width(data)
    end = max(tables, data.max_width or math.inf) if formulas else tables
    last = int(min(end, max(tables, FIRST_WIDTHS)))
    while True:
        prepared = prepare(data, last)
        if last >= end:
            return prepared
        mu = find_sufficient_multiplier(data, last)
        if math.isinf(mu):
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")
        if mu == 0 or prepared.dual.line_at(mu).cost > proven(data.budget):
            return prepared
        last = int(min(end, last * GROWTH))
        too_many = oversize(data, last)
        if too_many is not None:
            raise InputError(too_many)


def _max_table_width(data: BoaAllocation) -> tuple[int, bool]:
    """Return the last width of all tables, and whether there are formulas, which have no last width."""
    speedups = [e.speedup.on(t.name) for c in data.classes for e in c.epochs for t in data.gpu_types]
    last = max((len(s.table.hull(data.max_width).speedup) for s in speedups if s.table is not None), default=1)
    return last, any(s.table is None for s in speedups)


def find_sufficient_multiplier(data: BoaAllocation, last: int) -> float:
    """Return a multiplier from which on no shortest path needs a width over `last`.

    It is infinite if there is no such multiplier, and 0 if no epoch gains from a larger width.
    """
    price, multiplier = data.gpu_types[0].price, 0.0
    for c, share in zip(data.classes, shares(data), strict=True):
        value_for_cost = share / (c.arrivals_per_hour * price)
        linear_hours = 0.0
        for epoch in c.epochs:
            curve = epoch.speedup.on(data.gpu_types[0].name)
            if 1.0 in (curve.amdahl, curve.power):
                linear_hours += epoch.size_hours
            elif curve.amdahl is not None:
                multiplier = max(multiplier, value_for_cost * curve.amdahl / (1 - curve.amdahl) / last**2)
            elif curve.power is not None:
                multiplier = max(multiplier, value_for_cost * curve.power / (1 - curve.power) / last)
        if linear_hours:  # only the change before the run costs more at more GPUs
            multiplier = (
                max(multiplier, value_for_cost * linear_hours / c.rescale_hours / last**2)
                if c.rescale_hours
                else math.inf
            )
    return multiplier * (1 + 1e-12)
