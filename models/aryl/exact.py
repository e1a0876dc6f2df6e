"""The exact methods of `aryl-elastic` and `aryl-reclaim`, the fast and the literal one, by the type of the data."""

from __future__ import annotations

from collections.abc import Sequence

from instances import InputError, Options, Report, Result, conclude, ignore
from instances.aryl import ArylElastic, ArylReclaim
from models.aryl.knapsack import solve_knapsack
from models.aryl.literal_elastic import literal_elastic
from models.aryl.literal_reclaim import literal_reclaim
from models.aryl.mean_jct import solve_mean_jct
from models.aryl.reclaim import solve_reclaim

Data = ArylElastic | ArylReclaim


def exact(
    data: Data, options: Options = Options(), report: Report = ignore, *, start: Sequence[str] | None = None
) -> Result:
    """Solve an instance to proven optimality, or as far as the time limit allows.

    `jct-reduction` by dynamic programming, `mean-jct` by an event-interval program, `aryl-reclaim` by decomposition and
    integer programming, there from the servers `start` if they are given. Raises InputError for a bad `start`.
    """
    if isinstance(data, ArylReclaim):
        answer = solve_reclaim(data, options, report, start)
    elif start is not None:
        raise InputError("start: servers to begin from go with aryl-reclaim only")
    elif data.objective == "mean-jct":
        answer = solve_mean_jct(data, options, report)
    else:
        answer = solve_knapsack(data, options)
    return conclude(data, "exact", answer, options, kind="exact")


def literal(data: Data, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve the paper's formulation as it is written, with HiGHS."""
    if isinstance(data, ArylReclaim):
        return literal_reclaim(data, options, report)
    return literal_elastic(data, options, report)
