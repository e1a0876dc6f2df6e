"""The randomised policy: each job of one class draws one of two paths, and the budget is used up.

It attains the Lagrangian bound, so no policy with fixed probabilities does better; Lemma 4.3, by which mixing never
helps, does not carry over to whole widths and rescaling times. It is no policy of the exact problem.
"""

from __future__ import annotations

from instances import Answer, Result, Stopwatch, conclude
from instances.boa import BoaAllocation
from instances.options import Options
from models.boa.convex import exact_convex
from models.boa.lagrangian import affordable, rounding, unaffordable
from models.boa.micp import Prepared, prepare


def randomised(data: BoaAllocation) -> Result:
    """The best policy that may mix paths within a class; the deterministic optimum where the problem is convex.

    `info["lagrangian_bound"]` is the bound that it attains, hours. Raises InputError.
    """
    if data.convex:
        answer = exact_convex(data, Options())
        paths = {name: [{"probability": 1.0, "widths": w}] for name, w in (answer.solution or {})["widths"].items()}
        answer = Answer({"paths": paths}, answer.bound, build_s=answer.build_s, solve_s=answer.solve_s)
    else:
        with Stopwatch() as building:
            p = prepare(data)
        with Stopwatch() as clock:
            solution, bound = mix(p, data.budget)
        info = {"lagrangian_bound": bound}
        answer = Answer(solution, bound, build_s=building.cpu_s, solve_s=clock.cpu_s, info=info)
    return conclude(data, "randomised", answer, Options(), kind="heuristic", honours=frozenset())


def mix(p: Prepared, budget: float) -> tuple[dict[str, object], float]:
    """The randomised policy for `budget` in JSON form, and the Lagrangian bound, hours."""
    over, inside = p.dual.maximise(budget)
    best = max((over, inside), key=lambda line: line.at(line.mu, budget))
    bound = best.at(best.mu, budget) - rounding(p.net) * (best.time + 2 * best.mu * budget)
    cheap = affordable(p.net, inside.mu, budget)
    spent = sum(q.cost for q in cheap)
    dear = unaffordable(p.net, over.mu, budget) if over is not inside else cheap
    paths = {}
    for job_class, slow, fast in zip(p.data.classes, cheap, dear, strict=True):
        extra = fast.cost - slow.cost
        share = min(1.0, (budget - spent) / extra) if extra > 0 and spent < budget else 0.0
        spent += share * extra
        parts = [(1 - share, slow), (share, fast)]
        paths[job_class.name] = [
            {"probability": part, "widths": p.arrays.width[q.choices].tolist()} for part, q in parts if part > 0
        ]
    return {"paths": paths}, max(0.0, bound)
