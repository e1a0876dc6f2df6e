"""Branch-and-price for Eva's packing: from an instance to a packing, an exact bound, and what proves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from instances.result import Termination, TracePoint
from models.eva.branch_and_price.parameters import DEFAULTS, BranchAndPriceParameters
from models.eva.branch_and_price.pricer import Pricer
from models.eva.branch_and_price.proof import Proof
from models.eva.branch_and_price.tree import Tree
from models.eva.configuration import Configuration, alone, configuration, groups, price
from models.eva.covering_master import solve_covering
from models.eva.patterns import Patterns
from models.highs import OutOfTime, SolveFailed
from models.incumbent import Incumbent

PART = 0.6  # of the time left has a tree before an integer program over its columns, and that, where it is needed
PROBE_SHARE = 0.1  # of it has one that may be followed by another
PROBE_NODES = 100  # most nodes of such a one
MORE_NODES = 4  # times as many nodes has the tree before the next one
LEAST_S = 1e-3  # seconds that one has in any case
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
    failure, nodes = None, float(parameters.program_nodes or inf)
    while failure is None:
        if parameters.program_nodes:
            tree.limit(Stopwatch(PART * clock.remaining_s))
        try:
            tree.run(nodes)
        except OutOfTime:
            pass
        except SolveFailed as error:
            failure = str(error)
        last = not tree.open or tree.counted_out or failure is not None
        if not parameters.program_nodes or incumbent.closed or clock.expired:
            break
        _solve_over_columns(tree, options, clock, last)
        if last or incumbent.closed:
            break
        nodes *= MORE_NODES
    if incumbent.solution is None and not arrays.limited:
        raise RuntimeError("every task alone is a packing")
    termination, reason = _ending(incumbent.closed, failure, clock.expired, options)
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


def _solve_over_columns(tree: Tree, options: Options, clock: Stopwatch, last: bool) -> None:
    """Offer the best packing of an integer program over the columns of a tree: a short one, unless it is the last."""
    known, program = tree.incumbent.solution, tree.program
    share = PART if last or known is None else PROBE_SHARE
    limits = replace(
        options,
        time_limit=None if options.time_limit is None else max(share * clock.remaining_s, LEAST_S),
        effort=options.effort if last else min(options.effort or PROBE_NODES, PROBE_NODES),
    )
    patterns = Patterns(program.kind, program.on_it.astype(np.int64))
    found = solve_covering(tree.arrays, patterns, limits, start=None if known is None else groups(known)).groups
    if found:
        tree.offer(configuration(found))


def _ending(closed: bool, failure: str | None, late: bool, options: Options) -> tuple[Termination, str | None]:
    if closed:
        return "finished", None
    if failure is not None:
        return "error", failure
    if late:
        return "time_limit", "time limit"
    if options.effort is not None:
        return "effort_limit", "effort limit"
    return "finished", "nothing is left to branch on; a bound and an incumbent remain apart"
