"""The randomised policy: each job of a class draws one of two paths, and the budget is used up.

The policy attains the Lagrangian bound over all whole widths, so no policy with fixed probabilities does better. Lemma
4.3, by which mixing never helps, does not carry over to whole widths and rescaling times. The randomised policy is no
policy of the exact problem.
"""

from __future__ import annotations

from math import fsum

from instances import Answer, InputError
from instances.boa import BoaAllocation, planned
from instances.method import ANY, method
from instances.options import Options
from models.boa.convex.convex_dual import exact_convex
from models.boa.rescaling.micp import Prepared, prepare_mixed
from models.boa.rescaling.path_dual import affordable, unaffordable


@method("heuristic", ANY)
def randomised(data: BoaAllocation) -> Answer:
    """The best policy that may mix paths within a class; the deterministic optimum where the problem is convex.

    `info["lagrangian_bound"]` is the bound that it attains, hours. Raises InputError.
    """
    if data.only_exact:
        raise InputError(f"data.widths: {data.only_exact}")
    if data.heterogeneous:
        raise InputError("data.gpu_types: the randomised policy chooses among widths of one GPU type")
    if data.convex:
        answer = exact_convex(data, Options())
        paths = {name: [{"probability": 1.0, "widths": w}] for name, w in (answer.solution or {})["widths"].items()}
        return Answer({"paths": paths}, answer.bound)
    solution, bound = mix(prepare_mixed(data), data.budget)
    return Answer(solution, bound, info={"lagrangian_bound": bound})


def mix(p: Prepared, budget: float) -> tuple[dict[str, object], float]:
    """The randomised policy for `budget` in JSON form, and the Lagrangian bound, hours."""
    most = planned(budget)
    over, inside = p.dual.maximise(most)
    slow_paths = affordable(p.net, inside.mu, most)
    spent = fsum(q.cost for q in slow_paths)
    fast_paths = unaffordable(p.net, over.mu, most) if over is not inside else slow_paths
    paths = {}
    for job_class, slow, fast in zip(p.data.classes, slow_paths, fast_paths, strict=True):
        extra = fast.cost - slow.cost
        share = min(1.0, (most - spent) / extra) if extra > 0 and spent < most else 0.0
        spent += share * extra
        parts = [(1 - share, slow), (share, fast)]
        paths[job_class.name] = [
            {"probability": part, "widths": p.arrays.width[q.choices].tolist()} for part, q in parts if part > 0
        ]
    return {"paths": paths}, p.dual.best(budget)[1]
