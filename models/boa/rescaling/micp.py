"""The fast exact method for whole widths and rescaling times: Lagrangian bound, then the duality gap closed.

Widths that suffice where jobs may be mixed: no budget limits the width of a small share of the jobs.

Let a stretch of epochs run at one width k, and let k be beyond the best width, at multiplier μ, of every epoch that the
class has. Then the length of the stretch falls as k does: each run's does, and so does the price of the change that
begins it. So no shortest path at μ needs a width beyond the greatest of those best widths, which only falls as μ rises.
Once the shortest paths at μ cost more than the budget, the best multiplier is no smaller than μ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import fsum

import numpy as np

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import IntArray
from instances.boa import BoaAllocation, WidthArrays, oversize, planned, proven, shares, width_arrays
from instances.options import ignore
from instances.result import Termination
from models.boa.rescaling.gap_closing import DEFAULTS, GapClosing, GapClosingParameters
from models.boa.rescaling.labels import Limits, OutOfMemory
from models.boa.rescaling.path_dual import Line, Network, Path, PathDual, affordable, network, path, reduced_costs
from models.highs import OutOfTime
from models.incumbent import Incumbent


@dataclass(frozen=True)
class Prepared:
    """An instance as arrays, network and dual, which several budgets can share."""

    data: BoaAllocation
    arrays: WidthArrays
    net: Network
    dual: PathDual


def prepare(data: BoaAllocation, last: int | None = None) -> Prepared:
    """Build the arrays of `data` up to the width `last`; any budget up to that of `data` can then be solved.

    Raises InputError.
    """
    tables, formulas = _tables(data)
    arrays = width_arrays(data, tables if last is None and not formulas else last)
    net = network(data, arrays)
    return Prepared(data, arrays, net, PathDual(net))


def solve_micp(
    p: Prepared,
    budget: float,
    options: Options,
    report: Report = ignore,
    start: Solution | None = None,
    parameters: GapClosingParameters = DEFAULTS,
) -> Answer:
    """A deterministic policy over whole widths that is proven optimal for `budget` (Lemma 4.8), to `options.gap`.

    - `p`: the instance, made ready.
    - `budget`: GPUs or currency an hour, at most that of the instance.
    - `options`: time limit and gap.
    - `report`: called with every improvement.
    - `start`: a policy within the budget to begin from.
    - `parameters`: constants of the gap closing.
    """
    with Stopwatch(options.time_limit) as clock:
        inside = p.dual.maximise(planned(budget), lambda: clock.expired)[1]
        search = _GapSearch(p, budget, inside, options, report, clock, start, parameters)
        search.run()
    return Answer(
        solution=policy(p, [q.choices for q in search.paths]),
        bound=search.incumbent.bound,
        termination=search.termination,
        reason=search.reason,
        solve_s=clock.cpu_s,
        trace=tuple(search.incumbent.trace),
        info={"multiplier": search.line.mu, "lagrangian_bound": search.lagrangian, "labels": search.labels},
    )


class _GapSearch:
    """The search for the optimum: incumbent and bound close in on each other."""

    def __init__(
        self,
        p: Prepared,
        budget: float,
        inside: Line,
        options: Options,
        report: Report,
        clock: Stopwatch,
        start: Solution | None,
        parameters: GapClosingParameters,
    ) -> None:
        self.p, self.budget, self.options, self.clock, self.parameters = p, budget, options, clock, parameters

        def reported(paths: list[Path] | None, bound: float | None) -> None:
            if report is not ignore:
                report(policy(p, [q.choices for q in paths or self.paths]), bound)

        self.incumbent: Incumbent[list[Path], float] = Incumbent(
            "minimize", clock, reported, gap=options.gap, bound=0.0
        )
        self.line, self.lagrangian = p.dual.best(budget)
        self._offer(affordable(p.net, inside.mu, planned(budget)))
        if start is not None:
            self._better(choices_of(p, start))
        self.labels = 0
        self.termination: Termination = "finished"
        self.reason: str | None = None

    @property
    def paths(self) -> list[Path]:
        """The path of each class in the incumbent."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def time(self) -> float:
        """Mean completion time of the incumbent, hours."""
        assert self.incumbent.objective is not None
        return self.incumbent.objective

    def run(self) -> None:
        """Close the gap, or stop at a limit and say why."""
        limits, most_labels = Limits(self.clock, self.parameters.most_labels), self.parameters.most_labels
        if not self.clock.expired:
            self.reduced = reduced_costs(self.p.net, self.line, proven(self.budget), self.time)
            self.lagrangian = max(0.0, self._hours(self.reduced.least - self.reduced.margin))
        self.incumbent.raise_bound(self.lagrangian)
        try:
            limits.check(0)
            start = self._units(self.paths)
            closing = GapClosing(self.reduced, start, self._target_bound, limits, self._improved, self.parameters)
            self.labels = closing.run()
        except OutOfTime:
            self.termination, self.reason = "time_limit", "time limit"
        except (OutOfMemory, MemoryError):
            self.reason = f"more than {most_labels:,} partial paths or policies at once"

    def _target_bound(self, units: float) -> float:
        """The bound that is good enough for an incumbent, a little closer than asked for; both in units."""
        return units * (1 - self.parameters.target_share * self.options.gap)

    def _units(self, paths: list[Path]) -> int:
        """The time of a policy, units."""
        r = self.reduced
        total = 0
        for i, q in enumerate(paths):
            changes = 1 + int((q.choices[1:] != q.choices[:-1]).sum())
            total += int(r.time[range(len(q.choices)), i, q.choices].sum()) + changes * int(r.change_time[i, 0])
        return total

    def _hours(self, units: float) -> float:
        """Units of time as hours, rounded down."""
        return units * self.reduced.unit * (1 - 1e-15)

    def _improved(self, choices: list[IntArray] | None, bound: float | None) -> bool:
        """Keep a better policy, given as choices, or a better bound in units; whether the policy keeps the budget."""
        if bound is not None:
            self.incumbent.raise_bound(self._hours(bound))
        return self._better(choices)

    def _better(self, choices: list[IntArray] | None) -> bool:
        """Make the choices the incumbent where faster; whether they keep the budget, not just in whole units."""
        found = [path(self.p.net, i, c) for i, c in enumerate(choices or ())]
        keeps = bool(found) and fsum(q.cost for q in found) <= planned(self.budget)
        if keeps:
            self._offer(found)
        return keeps

    def _offer(self, paths: list[Path]) -> None:
        """Make a policy the incumbent where that is faster."""
        self.incumbent.offer(fsum(q.time for q in paths), paths)


def policy(p: Prepared, choices: list[IntArray]) -> Solution:
    """The solution, in JSON form, with `choices` (epochs,) in each class."""
    widths, data = p.arrays.width, p.data
    if not data.heterogeneous:
        return {"widths": {c.name: widths[k].tolist() for c, k in zip(data.classes, choices, strict=True)}}
    types = [data.gpu_types[h].name for h in p.arrays.type]
    return {
        "assignment": {
            c.name: [[{"type": types[s], "width": int(widths[s]), "fraction": 1.0}] for s in k]
            for c, k in zip(data.classes, choices, strict=True)
        }
    }


def choices_of(p: Prepared, solution: Solution) -> list[IntArray] | None:
    """The choices (epochs,) of each class in a solution that the checker has passed; `None` for a mix."""
    form, content = next(iter(solution.items()))
    names = [t.name for t in p.data.gpu_types]
    found: list[IntArray] = []
    last = len(p.arrays.width) // len(names)
    for c in p.data.classes:
        rows = content[c.name]
        if form == "paths":
            taken = [row for row in rows if row["probability"] > 0]
            if len(taken) != 1:
                return None
            pairs = [(0, width) for width in taken[0]["widths"]]
        elif form == "assignment":
            used = [[o for o in row if o["fraction"] > 0] for row in rows]
            pairs = [(names.index(o["type"]), o["width"]) for row in used for o in row]
        else:
            pairs = [(0, width) for width in rows]
        if len(pairs) != len(c.epochs) or any(width > last for _, width in pairs):
            return None
        found.append(np.array([h * last + round(width) - 1 for h, width in pairs]))
    return found


FIRST = 64  # Widths up to this one are tried first.
GROWTH = 4  # Then the last width grows by this factor.


def prepare_mixed(data: BoaAllocation) -> Prepared:
    """Build the arrays of `data`, of a single GPU type, as wide as any optimal mix of paths within the budget.

    Raises InputError where these are too large, or where nothing ends a linear speedup.
    """
    tables, formulas = _tables(data)
    end = max(tables, data.max_width or math.inf) if formulas else tables
    last = int(min(end, max(tables, FIRST)))
    while True:
        prepared = prepare(data, last)
        if last >= end:
            return prepared
        mu = sufficient(data, last)
        if math.isinf(mu):
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")
        if mu == 0 or prepared.dual.at(mu).cost > proven(data.budget):
            return prepared
        last = int(min(end, last * GROWTH))
        too_many = oversize(data, last)
        if too_many is not None:
            raise InputError(too_many)


def _tables(data: BoaAllocation) -> tuple[int, bool]:
    """The last width of any table, and whether there are formulas, which have no last width."""
    speedups = [e.speedup.on(t.name) for c in data.classes for e in c.epochs for t in data.gpu_types]
    last = max((len(s.table.hull(data.max_width).speedup) for s in speedups if s.table is not None), default=1)
    return last, any(s.table is None for s in speedups)


def sufficient(data: BoaAllocation, last: int) -> float:
    """A multiplier from which on no shortest path needs a width over `last`.

    Infinite where no multiplier is large enough, 0 where nothing gains from width.
    """
    price, most = data.gpu_types[0].price, 0.0
    for c, share in zip(data.classes, shares(data), strict=True):
        value_for_cost = share / (c.arrivals_per_hour * price)
        linear = 0.0
        for epoch in c.epochs:
            curve = epoch.speedup.on(data.gpu_types[0].name)
            if 1.0 in (curve.amdahl, curve.power):
                linear += epoch.size_hours
            elif curve.amdahl is not None:
                most = max(most, value_for_cost * curve.amdahl / (1 - curve.amdahl) / last**2)
            elif curve.power is not None:
                most = max(most, value_for_cost * curve.power / (1 - curve.power) / last)
        if linear:  # Only the change that begins the stretch is dearer at more GPUs.
            most = max(most, value_for_cost * linear / c.rescale_hours / last**2) if c.rescale_hours else math.inf
    return most * (1 + 1e-12)
