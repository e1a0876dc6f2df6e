"""The exact methods of `aryl-elastic` and `aryl-reclaim`, the fast and the literal one, by the type of the data."""

from __future__ import annotations

from instances import Answer, Options, Report, Solution
from instances.aryl import ArylElastic, ArylReclaim
from instances.method import method
from models.aryl.knapsack import solve_knapsack
from models.aryl.literal_elastic import literal_elastic
from models.aryl.literal_reclaim import literal_reclaim
from models.aryl.mean_jct import solve_mean_jct
from models.aryl.reclaim import solve_reclaim

Data = ArylElastic | ArylReclaim


@method("exact")
def exact(data: Data, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve an instance to proven optimality, or as far as the time limit allows.

    `jct-reduction` by dynamic programming, `mean-jct` by an event-interval program, `aryl-reclaim` by decomposition and
    integer programming. The result is never worse than the solution `start`, which each of them begins from.
    """
    if isinstance(data, ArylReclaim):
        return solve_reclaim(data, options, report, None if start is None else start["servers"])
    if data.objective == "mean-jct":
        return solve_mean_jct(data, options, report, start)
    return solve_knapsack(data, options, report, start)


@method("exact")
def literal(data: Data, options: Options, report: Report) -> Answer:
    """Solve the paper's formulation as it is written, with HiGHS."""
    if isinstance(data, ArylReclaim):
        return literal_reclaim(data, options, report)
    return literal_elastic(data, options, report)
