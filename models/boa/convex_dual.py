"""Problems (1)/(6) and (7) by a search for the multiplier of the budget, with closed forms for the rest.

At a multiplier μ of the budget every curve has its own best point: a closed form for formulas, a comparison of slopes
for tables. At the optimal multiplier the best points of the epochs use up the budget. The cost may jump at this
multiplier, at a segment of a table or if an epoch changes its GPU type. Then the points just below and just above the
jump are mixed, and the mix is converted to a policy in JSON form that satisfies the budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, compute_plan_limit, proven
from instances.boa.speedup import amdahl_time, power_time
from instances.options import ignore
from models.boa.curves import AMDAHL, POWER, TABLE, Curves, cost_at, curves, width_at
from models.boa.multiplier import Bracketing, bracket, height, narrow
from models.boa.solution import Option, build_solution

ROUNDING = 1e-13  # relative; above the rounding error of a time or a cost, and of sums of these
CELLS = 1_000_000  # table entries that a bound evaluates at a time, which limits memory
LARGE = 1e200  # a multiplier at which only the cost matters


@dataclass(frozen=True)
class BestPoints:
    """The best points of the n epochs at a multiplier.

    - `mu`: the multiplier μ of the budget.
    - `type`, `width` (n,): GPU type and number of GPUs of each epoch.
    - `times`, `costs` (n,): hours of mean completion time, and cost, of each epoch.
    - `time`, `cost`: totals.
    """

    mu: float
    type: IntArray
    width: FloatArray
    times: FloatArray
    costs: FloatArray
    time: float
    cost: float

    def dual(self, budget: float) -> float:
        """Return the Lagrangian L(μ)."""
        return height(self, self.mu, budget)


class ConvexDual:
    """The dual function L(μ) = min time + μ (cost - budget) of the curves `c`, and the points that attain it."""

    def __init__(self, c: Curves) -> None:
        self.c = c
        self._indices = [np.flatnonzero(c.kind == kind) for kind in (AMDAHL, POWER, TABLE)]
        amdahl, power, table = self._indices
        value_for_cost = c.value / c.price
        p, a = c.parameter[amdahl], c.parameter[power]
        with np.errstate(divide="ignore", invalid="ignore"):
            self._amdahl = np.sqrt(np.where(p > 0, value_for_cost[amdahl] * p / (1 - p), 0.0))
            self._power = np.where(a > 0, value_for_cost[power] * a / (1 - a), 0.0)
            z = 1 / np.ascontiguousarray(c.speed.T)  # one row per width, so that a sum counts slopes fast
            gain, loss = z[:-1] - z[1:], np.diff(z * np.arange(1.0, len(z) + 1)[:, None], axis=0)
            slope = gain / loss
        slope[(loss <= 0) & (gain > 0)] = np.inf
        slope[gain <= 0] = 0.0
        _keep_to_hull(slope, z, c.on_hull)
        self._slope = slope
        self._z = z
        self._value_for_cost = value_for_cost[table]
        self._row = c.rows()
        self._plain = len(self._row) == len(c.speed) and bool((self._row == np.arange(len(self._row))).all())

    def _points(self, mu: float) -> tuple[FloatArray, FloatArray]:
        """Return the best width and time z of every curve at multiplier `mu`, both (N,)."""
        c = self.c
        amdahl, power, table = self._indices
        width, z = np.empty(len(c.value)), np.empty(len(c.value))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if len(amdahl):
                k = np.where(self._amdahl > 0, self._amdahl / np.sqrt(mu), 0.0)
                width[amdahl], z[amdahl] = self._clip_widths(amdahl, k, mu)
            if len(power):
                k = np.where(self._power > 0, self._power / mu, 0.0)
                width[power], z[power] = self._clip_widths(power, k, mu)
        if len(table):
            steps = self._slope if self._plain else self._slope[:, self._row]
            steps_taken = (steps > mu / self._value_for_cost).sum(0, dtype=np.int32)
            width[table], z[table] = steps_taken + 1.0, self._z[steps_taken, self._row]
        return width, z

    def _clip_widths(self, of: IntArray, width: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
        """Clip the best widths of formulas to their limits, round them if required, and return widths and times z.

        The length falls up to the best width and rises beyond it. So the better of the two adjacent integers is the
        best integer.

        - `of` (m,): indices of the curves, all Amdahl's or all powers.
        - `width` (m,): best real widths.
        - `mu`: the multiplier.
        """
        c = self.c
        width = np.minimum(np.maximum(width, 1.0), c.last[of])
        z = self._time(of, width)
        if not c.whole:
            return width, z
        below, above = np.floor(width), np.minimum(np.floor(width) + 1, c.last[of])
        z, z_above = self._time(of, below), self._time(of, above)
        gain, loss = c.value[of] * (z - z_above), mu * c.price[of] * (z_above * above - z * below)
        up = gain > loss
        return np.where(up, above, below), np.where(up, z_above, z)

    def evaluate(self, mu: float) -> BestPoints:
        """Return the best point of every epoch at multiplier `mu` >= 0."""
        c = self.c
        width, z = self._points(mu)
        with np.errstate(invalid="ignore", over="ignore"):
            times, costs = c.value * z, np.where(np.isinf(width), np.inf, c.price * z * width)
        best = np.zeros(c.epochs, dtype=np.int64)
        if c.types > 1:
            length = times + mu * costs if mu > 0 else times
            best = length.reshape(-1, c.types).argmin(1)
            chosen = np.arange(c.epochs) * c.types + best
            width, times, costs = width[chosen], times[chosen], costs[chosen]
        return BestPoints(mu, best, width, times, costs, float(times.sum()), float(costs.sum()))

    def _time(self, of: IntArray, width: FloatArray) -> FloatArray:
        """Return the times z = 1/s at `width` (m,) of the curves `of` (m,), which are all Amdahl's or all powers."""
        time = amdahl_time if self.c.kind[of[0]] == AMDAHL else power_time
        return time(self.c.parameter[of], width)

    def bound(self, mu: float, budget: float) -> float:
        """Return the Lagrangian bound L(μ) on every policy within `budget`, less the largest possible rounding error.

        Tables are evaluated at every width, because slopes that differ by rounding only may be out of order.
        """
        c, table = self.c, self._indices[TABLE]
        width, z = self._points(mu)
        length = c.value * z
        if mu > 0:
            length += mu * c.price * z * width
        if len(table):
            width_of_row, step = np.arange(1.0, len(self._z) + 1)[:, None], max(1, CELLS // len(self._z))
            for begin in range(0, len(table), step):
                part = table[begin : begin + step]
                z_of = self._z[:, self._row[begin : begin + step]]
                length[part] = (z_of * (c.value[part] + mu * c.price[part] * width_of_row)).min(0)
        min_length, budget_charge = float(length.reshape(-1, c.types).min(1).sum()), mu * budget
        return max(0.0, min_length - budget_charge - ROUNDING * (min_length + budget_charge))

    def widest(self, mu: float) -> float:
        """Return the largest best width of the formulas at multiplier `mu`; tables are excluded."""
        formulas = self.c.kind != TABLE
        return float(self._points(mu)[0][formulas].max(initial=1.0))

    def check_bounded(self) -> None:
        """Raise InputError if a speedup is linear and no maximum width limits it."""
        linear = (self.c.kind != TABLE) & (self.c.parameter == 1) & np.isinf(self.c.last)
        if linear.any():
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")


@dataclass(frozen=True)
class Mix:
    """A mix of two choices, and a bound on all policies within the budget.

    - `over`, `within`: a choice that exceeds the budget, and a choice within it.
    - `share`: weight of `over`; `within` has the weight 1 - `share`.
    - `bound`: lower bound on the mean completion time of all policies, hours.
    """

    over: BestPoints
    within: BestPoints
    share: float
    bound: float

    @property
    def time(self) -> float:
        """Return the mean completion time of the mix, hours."""
        return self.share * self.over.time + (1 - self.share) * self.within.time


def _keep_to_hull(slope: FloatArray, z: FloatArray, on_hull: BoolArray) -> None:
    """Replace the slopes (K - 1, rows) between two adjacent allowed widths by the slope of the line through these two.

    Otherwise the slopes differ by rounding, and the best point might be a width in between, which is not allowed.
    """
    for row in np.flatnonzero(~on_hull.all(axis=1)):
        corners = np.flatnonzero(on_hull[row])
        for a, b in pairwise(corners):
            gain, loss = z[a, row] - z[b, row], z[b, row] * (b + 1) - z[a, row] * (a + 1)
            slope[a:b, row] = 0.0 if gain <= 0 else np.inf if loss <= 0 else gain / loss
        slope[corners[-1] :, row] = 0.0


MAX_MOVES = 400  # then the choice within the budget is taken; each move closes 101% of a linear excess
MAX_REPAIRS = 60  # then the cheapest policy is taken; each repair closes 101% of a linear excess
SMALLEST_SHARE = 1e-9  # smaller fractions are noise of a solver, and are set to 0


def mix_widths(c: Curves, mix: Mix, limit: float) -> FloatArray:
    """Return the widths (n,) of a mix on a single GPU type.

    If the two choices of an epoch differ, its width is the one with the mixed time. A width that is computed from a
    time has a rounding error. If the budget is exceeded because of it, the widths move towards those of the choice
    within the budget.
    """
    k = mix.within.width.copy()
    mixed = np.flatnonzero(mix.over.width != mix.within.width)
    for n in mixed:
        z = (mix.share * mix.over.times[n] + (1 - mix.share) * mix.within.times[n]) / c.value[n]
        k[n] = min(max(width_at(c, int(n), z), mix.within.width[n]), mix.over.width[n])
    rest = mix.within.cost - float(mix.within.costs[mixed].sum())
    for _ in range(MAX_MOVES):
        spent = rest + sum(cost_at(c, int(n), k[n]) for n in mixed)
        if spent <= limit:
            return k
        k = k + min(1.0, 1.01 * (spent - limit) / max(spent - mix.within.cost, spent * 1e-300)) * (mix.within.width - k)
    return mix.within.width.copy()


def _mix_options(mix: Mix) -> Iterator[list[Option]]:
    """Yield the options of each epoch: those of the two choices, equal ones together."""
    for n in range(len(mix.within.width)):
        parts: dict[tuple[int, float], float] = {}
        for choice, share in ((mix.over, mix.share), (mix.within, 1 - mix.share)):
            point = int(choice.type[n]), float(choice.width[n])
            parts[point] = parts.get(point, 0.0) + share
        total = sum(parts.values())
        yield [(h, k, share / total) for (h, k), share in parts.items() if share > 0]


def repair_budget(
    data: BoaAllocation, c: Curves, share: FloatArray, z: FloatArray, cheapest: BestPoints
) -> tuple[FloatArray, FloatArray]:
    """Return fractions and widths (N,) within the budget, close to those of a solver.

    If the solver exceeds the budget within its tolerance, the cheapest policy is mixed in.

    - `data`, `c`: the instance, and the curves of the instance.
    - `share` (N,): fraction of the jobs of an epoch on each GPU type.
    - `z` (N,): time at the width that the solver chose, relative to width 1.
    - `cheapest`: the choice of minimum cost.
    """
    first, last = c.ends()
    z = np.clip(z, last, first)
    limit, chosen = compute_plan_limit(data.budget), np.arange(c.epochs) * c.types + cheapest.type
    for _ in range(MAX_REPAIRS):
        used = np.flatnonzero(share > 0)
        width = np.ones(len(share))
        width[used] = [width_at(c, int(i), z[i]) for i in used]
        spent = sum(share[i] * cost_at(c, int(i), width[i]) for i in used)
        if spent <= limit:
            return share, width
        part = min(1.0, 1.01 * (spent - limit) / max(spent - cheapest.cost, spent - limit))
        time = (1 - part) * share * z
        share = (1 - part) * share
        time[chosen] += part * cheapest.times / c.value[chosen]
        share[chosen] += part
        z = np.clip(np.divide(time, share, out=np.ones(len(share)), where=share > 0), last, first)
    share, width = np.zeros(len(share)), np.ones(len(share))
    share[chosen], width[chosen] = 1.0, cheapest.width
    return share, width


def write_policy(data: BoaAllocation, share: FloatArray, width: FloatArray) -> Solution:
    """Return the solution in JSON form with fractions and widths (N,)."""
    types = len(data.gpu_types)
    rows = zip(share.reshape(-1, types).tolist(), width.reshape(-1, types).tolist(), strict=True)
    return build_solution(data, (list(zip(range(types), k, p, strict=True)) for p, k in rows))


TOLERANCE = 1e-13  # relative duality gap at which the search stops, near the rounding error
MAX_ROUNDS = 400  # then the search stops at any gap
BRACKETING = Bracketing(64.0, 1e-280, 1e280)  # close to the limits of floating-point numbers


def solve_convex(dual: ConvexDual, budget: float, clock: Stopwatch | None = None) -> Mix:
    """Return the optimal mix for `budget`, and its Lagrangian bound.

    - `dual`: dual of the curves of an instance.
    - `budget`: GPUs or currency per hour.
    - `clock`: ends the search early.
    """
    limit = compute_plan_limit(budget)
    fastest = dual.evaluate(0.0)
    if fastest.cost <= limit:
        return Mix(fastest, fastest, 1.0, dual.bound(0.0, proven(budget)))
    tried = [cheapest := dual.evaluate(LARGE)]

    def evaluate(mu: float) -> BestPoints:
        tried.append(dual.evaluate(mu))
        return tried[-1]

    def is_converged(over: BestPoints, within: BestPoints) -> bool:
        mix = _mix(over, within, limit)
        return mix.time - mix.bound <= TOLERANCE * mix.time or (clock is not None and clock.has_expired)

    over, within = bracket(evaluate, evaluate(cheapest.time / budget), limit, BRACKETING)
    if within.cost > limit:
        over = within = cheapest
    over, within = narrow(evaluate, over, within, limit, MAX_ROUNDS, 3, is_converged)
    best = max(tried, key=lambda choice: _safe_dual(choice, proven(budget)))
    return replace(_mix(over, within, limit), bound=dual.bound(best.mu, proven(budget)))


def _mix(over: BestPoints, within: BestPoints, limit: float) -> Mix:
    """Return the mix of two choices that uses up the budget `limit`, and the better bound of the two."""
    extra = over.cost - within.cost
    share = min(1.0, max(0.0, (limit - within.cost) / extra)) if extra > 0 else 0.0
    return Mix(over, within, share, max(over.dual(limit), within.dual(limit)))


def _safe_dual(choice: BestPoints, budget: float) -> float:
    """Return the dual value L(μ) less its rounding error, without the rounding error of the choice itself."""
    return choice.dual(budget) - ROUNDING * (choice.time + 2 * choice.mu * budget)


def exact_convex(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Solve the convex problem: no rescaling times, and continuous widths or a mix of GPU types.

    - `options`: the time limit.
    - `report`: called once with the policy and the bound.

    Raises InputError if no width limits a linear speedup.
    """
    with Stopwatch() as building:
        dual = ConvexDual(curves(data))
        dual.check_bounded()
    answer = convex_answer(data, dual, options)
    report(answer.solution, answer.bound)
    return replace(answer, build_s=building.cpu_s)


def convex_answer(data: BoaAllocation, dual: ConvexDual, options: Options) -> Answer:
    """Return the optimum for the budget of `data`; `dual` is the dual of the curves of `data`."""
    with Stopwatch(options.time_limit) as clock:
        mix = solve_convex(dual, data.budget, clock)
        if data.heterogeneous:
            solution = build_solution(data, _mix_options(mix))
        else:
            width = mix_widths(dual.c, mix, compute_plan_limit(data.budget))
            solution = write_policy(data, np.ones(len(width)), width)
    return Answer(
        solution=solution,
        bound=mix.bound,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, mix.time, mix.bound),),
        info={"multiplier": mix.within.mu},
    )
