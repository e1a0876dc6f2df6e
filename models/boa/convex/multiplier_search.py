"""Problems (1)/(6) and (7) through their optimality conditions: a multiplier for the budget, closed forms for the rest.

At the right multiplier the best points of the epochs use up the budget. Where the cost jumps there, as it does at a
segment of a table or where an epoch changes its GPU type, the points just under and just over the jump are mixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.boa import BoaAllocation, planned, proven
from instances.options import ignore
from models.boa.convex.curves import ROUNDING, Choice, Curves, Lagrangian, cost_at, curves, width_at
from models.boa.rescaling.network import FloatArray

TOLERANCE = 1e-13  # relative duality gap at which the search ends
ROUNDS = 400
LARGE = 1e200  # a multiplier beside which time counts for nothing


@dataclass(frozen=True)
class Mix:
    """`share` of the dear choice, which is over the budget, and the rest of the cheap one, which is within it."""

    dear: Choice
    cheap: Choice
    share: float
    bound: float

    @property
    def time(self) -> float:
        """Mean completion time, hours."""
        return self.share * self.dear.time + (1 - self.share) * self.cheap.time


def solve_convex(lagrangian: Lagrangian, budget: float, clock: Stopwatch | None = None) -> Mix:
    """The optimal point for `budget` and a lower bound from the Lagrangian; `clock` ends the search early."""
    keeps = planned(budget)
    fastest = lagrangian.at(0.0)
    if fastest.cost <= keeps:
        return Mix(fastest, fastest, 1.0, lagrangian.bound(0.0, proven(budget)))
    tried = [slow := lagrangian.at(LARGE)]

    def at(mu: float) -> Choice:
        tried.append(lagrangian.at(mu))
        return tried[-1]

    dear = cheap = at(slow.time / budget)
    while dear.cost <= keeps and dear.mu > 1e-280:
        cheap, dear = dear, at(dear.mu / 64)
    while cheap.cost > keeps and cheap.mu < 1e280:
        dear, cheap = cheap, at(cheap.mu * 64)
    if cheap.cost > keeps:
        cheap = dear = slow
    for step in range(ROUNDS):
        mix = _mix(dear, cheap, keeps)
        if mix.time - mix.bound <= TOLERANCE * mix.time or (clock is not None and clock.expired):
            break
        mu = (cheap.time - dear.time) / (dear.cost - cheap.cost)
        if step % 3 == 2 or not dear.mu < mu < cheap.mu:
            mu = np.sqrt(dear.mu * cheap.mu)
        if not dear.mu < mu < cheap.mu:
            break
        here = at(mu)
        dear, cheap = (here, cheap) if here.cost > keeps else (dear, here)
    best = max(tried, key=lambda choice: _safe(choice, proven(budget)))
    return replace(_mix(dear, cheap, keeps), bound=lagrangian.bound(best.mu, proven(budget)))


def _mix(dear: Choice, cheap: Choice, keeps: float) -> Mix:
    over = dear.cost - cheap.cost
    share = min(1.0, max(0.0, (keeps - cheap.cost) / over)) if over > 0 else 0.0
    return Mix(dear, cheap, share, max(dear.dual(keeps), cheap.dual(keeps)))


def _safe(choice: Choice, budget: float) -> float:
    """L(μ) less what its rounding can have added, but for that in the choice itself."""
    return choice.dual(budget) - ROUNDING * (choice.time + 2 * choice.mu * budget)


def exact_convex(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """An optimal policy without rescaling times, its widths continuous or its GPU types mixed."""
    with Stopwatch() as building:
        lagrangian = Lagrangian(curves(data))
        lagrangian.check_bounded()
    answer = convex_answer(data, lagrangian, options)
    report(answer.solution, answer.bound)
    return replace(answer, build_s=building.cpu_s)


def convex_answer(data: BoaAllocation, lagrangian: Lagrangian, options: Options) -> Answer:
    """The optimum for the budget of `data`, whose curves `lagrangian` holds."""
    with Stopwatch(options.time_limit) as clock:
        mix = solve_convex(lagrangian, data.budget, clock)
        if data.heterogeneous:
            solution = assignment(data, mix)
        else:
            solution = {"widths": by_class(data, widths(lagrangian.c, mix, planned(data.budget)))}
    return Answer(
        solution=solution,
        bound=mix.bound,
        solve_s=clock.cpu_s,
        trace=((clock.wall_s, mix.time, mix.bound),),
        info={"multiplier": mix.cheap.mu},
    )


def widths(c: Curves, mix: Mix, keeps: float) -> FloatArray:
    """The widths (n,) of a mix on one GPU type: where its two choices differ, the one that takes the mixed time.

    What a width loses when it is found from its time is paid for by moving towards the cheap choice.
    """
    k = mix.cheap.width.copy()
    mixed = np.flatnonzero(mix.dear.width != mix.cheap.width)
    for n in mixed:
        z = (mix.share * mix.dear.times[n] + (1 - mix.share) * mix.cheap.times[n]) / c.value[n]
        k[n] = min(max(width_at(c, int(n), z), mix.cheap.width[n]), mix.dear.width[n])
    rest = mix.cheap.cost - float(mix.cheap.costs[mixed].sum())
    for _ in range(ROUNDS):
        spent = rest + sum(cost_at(c, int(n), k[n]) for n in mixed)
        if spent <= keeps:
            return k
        k = k + min(1.0, 1.01 * (spent - keeps) / max(spent - mix.cheap.cost, spent * 1e-300)) * (mix.cheap.width - k)
    return mix.cheap.width.copy()


def by_class(data: BoaAllocation, values: FloatArray) -> dict[str, list[float]]:
    """Values of all epochs (n,) as lists by class."""
    ends = np.cumsum([len(c.epochs) for c in data.classes])[:-1]
    return {c.name: part.tolist() for c, part in zip(data.classes, np.split(values, ends), strict=True)}


def assignment(data: BoaAllocation, mix: Mix) -> Solution:
    """The mix as shares of the jobs of each epoch on (type, width)."""
    options = []
    for n in range(len(mix.cheap.width)):
        parts: dict[tuple[int, float], float] = {}
        for choice, share in ((mix.dear, mix.share), (mix.cheap, 1 - mix.share)):
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
