"""Branch-and-price for Eva's packing: from an instance to a packing, an exact bound, and what proves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from instances.result import Termination, TracePoint
from models.eva.branch_and_price.parameters import DEFAULTS, BranchAndPriceParameters
from models.eva.branch_and_price.pricer import Pricer
from models.eva.branch_and_price.proof import Proof
from models.eva.branch_and_price.tree import Tree
from models.eva.configuration import Configuration, alone, price
from models.highs import OutOfTime, SolveFailed
from models.incumbent import Incumbent

Report = Callable[[Configuration | None, int | None], None]


@dataclass(frozen=True)
class Outcome:
    """The outcome of branch-and-price: the best packing, its `cost` and an exact `bound`, both in price units.

    No packing is found in time, or there is none, only where types have limits.
    `trace`: cost and bound over time, as (seconds, cost, bound). `proof`: what the best tree proves, which is less than
    the bound where a bound given was more.
    `termination`, `reason`: why the search ended.
    """

    configuration: Configuration | None
    cost: int | None
    bound: int
    trace: tuple[TracePoint, ...]
    proof: Proof
    termination: Termination
    reason: str | None
    info: dict[str, Any]


def branch_and_price(
    arrays: PackingArrays,
    pricer: Pricer,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    bound: int = 0,
    parameters: BranchAndPriceParameters = DEFAULTS,
) -> Outcome:
    """Branch-and-price (Barnhart et al., 1998) for the least price of instances that hold all tasks.

    - `arrays`: the instance.
    - `pricer`: exact pricing of its patterns.
    - `options`: limits, threads and the gap; the effort is a number of nodes.
    - `report`: called with each new packing and each better bound, in price units.
    - `start`: a packing to begin from; the outcome is never worse.
    - `bound`: a bound that is proven already.
    - `parameters`: the constants of the method.
    """
    clock = Stopwatch(options.time_limit)
    incumbent: Incumbent[Configuration, int] = Incumbent("minimize", clock, report, gap=options.gap, bound=bound)
    for packing in (None if arrays.limited else alone(arrays), start):
        if packing is not None:
            incumbent.offer(price(arrays, packing), packing)
    tree = Tree(arrays, pricer, options, incumbent, clock, parameters)
    failure, out_of_time = None, False
    try:
        tree.run()
    except OutOfTime:
        out_of_time = True
    except SolveFailed as error:
        failure = str(error)
    if incumbent.solution is None and not arrays.limited:
        raise RuntimeError("every task alone is a packing")
    termination, reason = _ending(incumbent.closed, failure, out_of_time or clock.expired, options)
    if incumbent.solution is None and (incumbent.bound or 0) >= tree.ceiling:
        termination, reason = "infeasible", "the limits of instances leave tasks without a place"
    info = {
        "nodes": tree.nodes,
        "pricings": tree.pricings,
        "columns": len(tree.program.columns),
        "lp_value": tree.lp_value,
    }
    return Outcome(
        incumbent.solution,
        incumbent.objective,
        incumbent.bound or 0,
        tuple(incumbent.trace),
        tree.proof(),
        termination,
        reason,
        info,
    )


def _ending(closed: bool, failure: str | None, late: bool, options: Options) -> tuple[Termination, str | None]:
    if closed:
        return "finished", None
    if failure is not None:
        return "error", failure
    if late:
        return "time_limit", "time limit"
    if options.effort is not None:
        return "effort_limit", "effort limit"
    return "error", "nothing is left to branch on"
