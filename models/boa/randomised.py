"""The randomised policy: each job of a class draws one of two paths, and the budget is used up.

The policy attains the Lagrangian bound over all integer widths, so no policy with fixed probabilities does better.
Lemma 4.3, by which mixing never helps, does not carry over to integer widths and rescaling times. The randomised policy
is not a feasible policy of the exact problem.
"""

from __future__ import annotations

from math import fsum

from instances import Answer, InputError
from instances.boa import BoaAllocation, compute_plan_limit
from instances.method import ANY, method
from instances.options import Options
from models.boa.convex_dual import exact_convex
from models.boa.micp import Prepared, prepare_mixed
from models.boa.path_dual import find_affordable_paths, find_unaffordable_paths


@method("heuristic", ANY)
def randomised(data: BoaAllocation) -> Answer:
    """Return the best policy that may mix paths within a class; if the problem is convex, the deterministic optimum.

    `info["lagrangian_bound"]` is the bound that the policy attains, hours. Raises InputError for several GPU types, and
    for real widths with rescaling times.
    """
    if data.reason_for_exact_only:
        raise InputError(f"data.widths: {data.reason_for_exact_only}")
    if data.heterogeneous:
        raise InputError("data.gpu_types: the randomised policy chooses among widths of one GPU type")
    if data.convex:
        answer = exact_convex(data, Options())
        paths = {name: [{"probability": 1.0, "widths": w}] for name, w in (answer.solution or {})["widths"].items()}
        return Answer({"paths": paths}, answer.bound)
    solution, bound = mix(prepare_mixed(data), data.budget)
    return Answer(solution, bound, info={"lagrangian_bound": bound})


def mix(p: Prepared, budget: float) -> tuple[dict[str, object], float]:
    """Return the randomised policy for `budget` in JSON form, and the Lagrangian bound, hours."""
    limit = compute_plan_limit(budget)
    over, inside = p.dual.maximise(limit)
    slow_paths = find_affordable_paths(p.net, inside.mu, limit)
    cost = fsum(q.cost for q in slow_paths)
    fast_paths = find_unaffordable_paths(p.net, over.mu, limit) if over is not inside else slow_paths
    paths = {}
    for job_class, slow, fast in zip(p.data.classes, slow_paths, fast_paths, strict=True):
        extra = fast.cost - slow.cost
        share = min(1.0, (limit - cost) / extra) if extra > 0 and cost < limit else 0.0
        cost += share * extra
        draws = [(1 - share, slow), (share, fast)]
        paths[job_class.name] = [
            {"probability": probability, "widths": p.arrays.width[q.choices].tolist()}
            for probability, q in draws
            if probability > 0
        ]
    return {"paths": paths}, p.dual.best(budget)[1]
