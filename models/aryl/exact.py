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


@method("exact")
def exact(
    data: ArylElastic | ArylReclaim | ArylPlacement,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: ArylParameters = DEFAULTS,
) -> Answer:
    """Solve an instance to proven optimality, or as far as the limits allow.

    - `jct-reduction`: dynamic programming after a linear relaxation.
    - `mean-jct`: the tightened event-interval program.
    - `aryl-reclaim`: branch and bound over closures. If losses differ, or if jobs can do without some workers: an
      integer program.
    - `aryl-placement`: an integer program over patterns.

    The result is never worse than the solution `start`; `aryl-placement` ignores `start`.
    """
    if isinstance(data, ArylPlacement):
        return solve_placement(data, options, report)
    if isinstance(data, ArylReclaim):
        from models.aryl.reclaim import solve_reclaim  # imports numba, which takes long

        servers = None if start is None else start["servers"]
        strict = data.as_in_the_paper()
        if strict is None:
            return solve_loss(data, options, report, servers)
        return solve_reclaim(strict, options, report, servers, parameters.reclaim)
    if data.objective == "mean-jct":
        return solve_mean_jct(data, options, report, start, parameters.mean_jct)
    return solve_knapsack(data, options, report, start, parameters.knapsack)
