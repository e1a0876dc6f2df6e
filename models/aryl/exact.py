"""The exact method of `aryl-elastic`, `aryl-reclaim` and `aryl-placement`."""

from __future__ import annotations

from instances import Answer, Options, Report, Solution
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim
from instances.method import method
from models.aryl.knapsack import solve_knapsack
from models.aryl.loss import solve_loss
from models.aryl.mean_jct import solve_mean_jct
from models.aryl.parameters import DEFAULTS, ArylParameters
from models.aryl.placement import solve_placement
from models.aryl.reclaim import solve_reclaim


@method("exact")
def exact(
    data: ArylElastic | ArylReclaim | ArylPlacement,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: ArylParameters = DEFAULTS,
) -> Answer:
    """Solve an instance to proven optimality, or as far as the time limit allows.

    `jct-reduction` by dynamic programming, `mean-jct` by an event-interval program, `aryl-reclaim` by decomposition and
    branch and bound, or by an integer program where losses differ or some workers may go, `aryl-placement` by patterns.
    Each begins from the solution `start`, and the result is never worse than that.
    """
    if isinstance(data, ArylPlacement):
        return solve_placement(data, options, report)
    if isinstance(data, ArylReclaim):
        servers = None if start is None else start["servers"]
        strict = data.as_in_the_paper()
        if strict is None:
            return solve_loss(data, options, report, servers)
        return solve_reclaim(strict, options, report, servers, parameters.reclaim)
    if data.objective == "mean-jct":
        return solve_mean_jct(data, options, report, start, parameters.mean_jct)
    return solve_knapsack(data, options, report, start, parameters.knapsack)
