"""Problems (1)/(6) and (7) through optimality conditions: a multiplier for the budget, closed forms for the rest.

At the right multiplier the best points of the epochs use up the budget. Where the cost jumps there, as it does at a
segment of a table or where an epoch changes its GPU type, the points just under and just over the jump are mixed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Stopwatch
from instances.boa import BoaAllocation, planned, proven
from instances.options import ignore
from models.boa.convex.convex_dual import LARGE, ROUNDING, Choice, ConvexDual, Mix
from models.boa.convex.curves import curves
from models.boa.convex.policy import assignment, by_class, widths

TOLERANCE = 1e-13  # The search ends at this relative duality gap.
ROUNDS = 400  # The search ends after so many multipliers, whatever the gap.


def solve_convex(dual: ConvexDual, budget: float, clock: Stopwatch | None = None) -> Mix:
    """The optimal mix for `budget`, and the Lagrangian bound; `clock` ends the search early."""
    keeps = planned(budget)
    fastest = dual.at(0.0)
    if fastest.cost <= keeps:
        return Mix(fastest, fastest, 1.0, dual.bound(0.0, proven(budget)))
    tried = [slow := dual.at(LARGE)]

    def at(mu: float) -> Choice:
        tried.append(dual.at(mu))
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
    return replace(_mix(dear, cheap, keeps), bound=dual.bound(best.mu, proven(budget)))


def _mix(dear: Choice, cheap: Choice, keeps: float) -> Mix:
    """The mix of two choices that uses up the budget `keeps`, and the better bound of the two."""
    over = dear.cost - cheap.cost
    share = min(1.0, max(0.0, (keeps - cheap.cost) / over)) if over > 0 else 0.0
    return Mix(dear, cheap, share, max(dear.dual(keeps), cheap.dual(keeps)))


def _safe(choice: Choice, budget: float) -> float:
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
        info={"multiplier": mix.cheap.mu},
    )
