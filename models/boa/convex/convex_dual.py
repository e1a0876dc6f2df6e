"""Problems (1)/(6) and (7) through optimality conditions: a multiplier for the budget, closed forms for the rest.

At a price μ of the budget every curve has a best point of its own: closed forms on formulas, slopes of segments on
tables. At the right multiplier the best points of the epochs use up the budget. Where the cost jumps there, as it does
at a segment of a table or where an epoch changes its GPU type, the points just under and just over the jump are mixed,
and the mix becomes a policy in JSON form that keeps the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, planned, proven
from instances.boa.speedup import amdahl_time, power_time
from instances.options import ignore
from models.boa.convex.curves import AMDAHL, POWER, TABLE, Curves, cost_at, curves, width_at

# The rounding is relative: more than that of floats amounts to in a time or a cost and in sums of them.
ROUNDING = 1e-13
CELLS = 1_000_000  # So many numbers at most are worked out at a time.
LARGE = 1e200  # Beside a multiplier this large, time counts for nothing.


@dataclass(frozen=True)
class BestPoints:
    """The best points of the epochs at a multiplier.

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
        """The Lagrangian L(μ)."""
        return self.time + self.mu * (self.cost - budget)


class ConvexDual:
    """The dual function L(μ) = min time + μ (cost - budget) of the curves `c`, and the choices that attain L."""

    def __init__(self, c: Curves) -> None:
        self.c = c
        self._of = [np.flatnonzero(c.kind == kind) for kind in (AMDAHL, POWER, TABLE)]
        amdahl, power, table = self._of
        value_for_cost = c.value / c.price
        p, a = c.parameter[amdahl], c.parameter[power]
        with np.errstate(divide="ignore", invalid="ignore"):
            self._amdahl = np.sqrt(np.where(p > 0, value_for_cost[amdahl] * p / (1 - p), 0.0))
            self._power = np.where(a > 0, value_for_cost[power] * a / (1 - a), 0.0)
            z = 1 / np.ascontiguousarray(c.speed.T)  # A row holds one width, along which the slopes are counted.
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
        """The best width and time z of every curve at multiplier `mu`, both (N,)."""
        c = self.c
        amdahl, power, table = self._of
        width, z = np.empty(len(c.value)), np.empty(len(c.value))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if len(amdahl):
                k = np.where(self._amdahl > 0, self._amdahl / np.sqrt(mu), 0.0)
                width[amdahl], z[amdahl] = self._settled(amdahl, k, mu)
            if len(power):
                k = np.where(self._power > 0, self._power / mu, 0.0)
                width[power], z[power] = self._settled(power, k, mu)
        if len(table):
            steps = self._slope if self._plain else self._slope[:, self._row]
            at = (steps > mu / self._value_for_cost).sum(0, dtype=np.int32)
            width[table], z[table] = at + 1.0, self._z[at, self._row]
        return width, z

    def _settled(self, of: IntArray, width: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
        """Best widths of the curves `of`, all Amdahl's or all powers, cut to the limits, and the times z there.

        Where widths are whole the better of the two on either side: the length falls up to the best width and rises
        from there on.
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

    def at(self, mu: float) -> BestPoints:
        """The best point of every epoch at multiplier `mu` >= 0."""
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
        """Times z = 1/s at `width` (m,) of the curves `of` (m,), which are all Amdahl's or all powers."""
        time = amdahl_time if self.c.kind[of[0]] == AMDAHL else power_time
        return time(self.c.parameter[of], width)

    def bound(self, mu: float, budget: float) -> float:
        """The Lagrangian bound L(μ) on every policy that keeps `budget`, less what rounding can have added.

        Tables are read at every width: slopes that differ by rounding alone may be out of order.
        """
        c, table = self.c, self._of[TABLE]
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
        least, paid = float(length.reshape(-1, c.types).min(1).sum()), mu * budget
        return max(0.0, least - paid - ROUNDING * (least + paid))

    def widest(self, mu: float) -> float:
        """The widest of the best points of the formulas at multiplier `mu`; every table has an end of its own."""
        formulas = self.c.kind != TABLE
        return float(self._points(mu)[0][formulas].max(initial=1.0))

    def check_bounded(self) -> None:
        """Raise InputError where a curve speeds up without limit at no more cost, and no width ends it."""
        linear = (self.c.kind != TABLE) & (self.c.parameter == 1) & np.isinf(self.c.last)
        if linear.any():
            raise InputError("max_width: must be given where a speedup is linear (amdahl 1 or power 1)")


@dataclass(frozen=True)
class Mix:
    """A mix of two choices, and a bound on all policies within the budget.

    - `over`, `within`: a choice over the budget, and a choice within.
    - `share`: weight of the choice over the budget; the other has the rest.
    - `bound`: mean completion time, hours, that no policy beats.
    """

    over: BestPoints
    within: BestPoints
    share: float
    bound: float

    @property
    def time(self) -> float:
        """Mean completion time, hours."""
        return self.share * self.over.time + (1 - self.share) * self.within.time


def _keep_to_hull(slope: FloatArray, z: FloatArray, on_hull: BoolArray) -> None:
    """Give all steps (K - 1, rows) between two widths that can be run at the slope of the line through these.

    Rounding alone would tell them apart, and the best point would be a width in between.
    """
    for row in np.flatnonzero(~on_hull.all(axis=1)):
        corners = np.flatnonzero(on_hull[row])
        for a, b in pairwise(corners):
            gain, loss = z[a, row] - z[b, row], z[b, row] * (b + 1) - z[a, row] * (a + 1)
            slope[a:b, row] = 0.0 if gain <= 0 else np.inf if loss <= 0 else gain / loss
        slope[corners[-1] :, row] = 0.0


MOVES = 400  # Widths move towards those of the within choice at most so often.
REPAIRS = 60  # Shares are repaired at most so often before the cheapest policy is taken.
SMALLEST_SHARE = 1e-9  # A share below this counts as 0.


def widths(c: Curves, mix: Mix, keeps: float) -> FloatArray:
    """The widths (n,) of a mix on a single GPU type: where the two choices differ, the width of the mixed time.

    What rounding costs when a width is found from a time is paid for by moving towards the within choice.
    """
    k = mix.within.width.copy()
    mixed = np.flatnonzero(mix.over.width != mix.within.width)
    for n in mixed:
        z = (mix.share * mix.over.times[n] + (1 - mix.share) * mix.within.times[n]) / c.value[n]
        k[n] = min(max(width_at(c, int(n), z), mix.within.width[n]), mix.over.width[n])
    rest = mix.within.cost - float(mix.within.costs[mixed].sum())
    for _ in range(MOVES):
        spent = rest + sum(cost_at(c, int(n), k[n]) for n in mixed)
        if spent <= keeps:
            return k
        k = k + min(1.0, 1.01 * (spent - keeps) / max(spent - mix.within.cost, spent * 1e-300)) * (mix.within.width - k)
    return mix.within.width.copy()


def by_class(data: BoaAllocation, values: FloatArray) -> dict[str, list[float]]:
    """Values of all epochs (n,) as lists by class."""
    ends = np.cumsum([len(c.epochs) for c in data.classes])[:-1]
    return {c.name: part.tolist() for c, part in zip(data.classes, np.split(values, ends), strict=True)}


def assignment(data: BoaAllocation, mix: Mix) -> Solution:
    """The mix as shares of the jobs of each epoch on (type, width)."""
    options = []
    for n in range(len(mix.within.width)):
        parts: dict[tuple[int, float], float] = {}
        for choice, share in ((mix.over, mix.share), (mix.within, 1 - mix.share)):
            point = int(choice.type[n]), float(choice.width[n])
            parts[point] = parts.get(point, 0.0) + share
        total = sum(parts.values())
        options.append(
            [
                {"type": data.gpu_types[h].name, "width": k, "fraction": share / total}
                for (h, k), share in parts.items()
                if share > 0
            ]
        )
    rows = iter(options)
    return {"assignment": {c.name: [next(rows) for _ in c.epochs] for c in data.classes}}


def repaired(
    data: BoaAllocation, c: Curves, share: FloatArray, z: FloatArray, cheapest: BestPoints
) -> tuple[FloatArray, FloatArray]:
    """Shares and widths (N,) within the budget: a solver's last digits are paid for by mixing in the cheapest policy.

    - `data`, `c`: the instance, and the curves of the instance.
    - `share` (N,): share of the jobs of an epoch on each GPU type.
    - `z` (N,): time of a run, relative to width 1.
    - `cheapest`: the choice of least cost.
    """
    first, last = c.ends()
    z = np.clip(z, last, first)
    keeps, chosen = planned(data.budget), np.arange(c.epochs) * c.types + cheapest.type
    for _ in range(REPAIRS):
        used = np.flatnonzero(share > 0)
        width = np.ones(len(share))
        width[used] = [width_at(c, int(i), z[i]) for i in used]
        spent = sum(share[i] * cost_at(c, int(i), width[i]) for i in used)
        if spent <= keeps:
            return share, width
        part = min(1.0, 1.01 * (spent - keeps) / max(spent - cheapest.cost, spent - keeps))
        time = (1 - part) * share * z
        share = (1 - part) * share
        time[chosen] += part * cheapest.times / c.value[chosen]
        share[chosen] += part
        z = np.clip(np.divide(time, share, out=np.ones(len(share)), where=share > 0), last, first)
    share, width = np.zeros(len(share)), np.ones(len(share))
    share[chosen], width[chosen] = 1.0, cheapest.width
    return share, width


def policy(data: BoaAllocation, c: Curves, share: FloatArray, width: FloatArray) -> Solution:
    """The solution in JSON form with shares and widths (N,)."""
    if not data.heterogeneous:
        return {"widths": by_class(data, width)}
    rows = iter(np.stack([share, width], axis=-1).reshape(c.epochs, c.types, 2))
    names = [t.name for t in data.gpu_types]

    def options() -> list[dict[str, Any]]:
        return [
            {"type": name, "width": float(k), "fraction": float(p)}
            for name, (p, k) in zip(names, next(rows), strict=True)
            if p > 0
        ]

    return {"assignment": {job_class.name: [options() for _ in job_class.epochs] for job_class in data.classes}}


TOLERANCE = 1e-13  # The search ends at this relative duality gap.
ROUNDS = 400  # The search ends after so many multipliers, whatever the gap.


def solve_convex(dual: ConvexDual, budget: float, clock: Stopwatch | None = None) -> Mix:
    """The optimal mix for `budget`, and the Lagrangian bound; `clock` ends the search early."""
    keeps = planned(budget)
    fastest = dual.at(0.0)
    if fastest.cost <= keeps:
        return Mix(fastest, fastest, 1.0, dual.bound(0.0, proven(budget)))
    tried = [slow := dual.at(LARGE)]

    def at(mu: float) -> BestPoints:
        tried.append(dual.at(mu))
        return tried[-1]

    over = within = at(slow.time / budget)
    while over.cost <= keeps and over.mu > 1e-280:
        within, over = over, at(over.mu / 64)
    while within.cost > keeps and within.mu < 1e280:
        over, within = within, at(within.mu * 64)
    if within.cost > keeps:
        within = over = slow
    for step in range(ROUNDS):
        mix = _mix(over, within, keeps)
        if mix.time - mix.bound <= TOLERANCE * mix.time or (clock is not None and clock.expired):
            break
        mu = (within.time - over.time) / (over.cost - within.cost)
        if step % 3 == 2 or not over.mu < mu < within.mu:
            mu = np.sqrt(over.mu * within.mu)
        if not over.mu < mu < within.mu:
            break
        here = at(mu)
        over, within = (here, within) if here.cost > keeps else (over, here)
    best = max(tried, key=lambda choice: _safe(choice, proven(budget)))
    return replace(_mix(over, within, keeps), bound=dual.bound(best.mu, proven(budget)))


def _mix(over: BestPoints, within: BestPoints, keeps: float) -> Mix:
    """The mix of two choices that uses up the budget `keeps`, and the better bound of the two."""
    extra = over.cost - within.cost
    share = min(1.0, max(0.0, (keeps - within.cost) / extra)) if extra > 0 else 0.0
    return Mix(over, within, share, max(over.dual(keeps), within.dual(keeps)))


def _safe(choice: BestPoints, budget: float) -> float:
    """The dual value L(μ) less what rounding can have added, but for the rounding in the choice itself."""
    return choice.dual(budget) - ROUNDING * (choice.time + 2 * choice.mu * budget)


def exact_convex(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """An optimal policy without rescaling times, with continuous widths or GPU types mixed."""
    with Stopwatch() as building:
        dual = ConvexDual(curves(data))
        dual.check_bounded()
    answer = convex_answer(data, dual, options)
    report(answer.solution, answer.bound)
    return replace(answer, build_s=building.cpu_s)


def convex_answer(data: BoaAllocation, dual: ConvexDual, options: Options) -> Answer:
    """The optimum for the budget of `data`, with the dual of the curves of `data`."""
    with Stopwatch(options.time_limit) as clock:
        mix = solve_convex(dual, data.budget, clock)
        if data.heterogeneous:
            solution = assignment(data, mix)
        else:
            solution = {"widths": by_class(data, widths(dual.c, mix, planned(data.budget)))}
    return Answer(
        solution=solution,
        bound=mix.bound,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, mix.time, mix.bound),),
        info={"multiplier": mix.within.mu},
    )
