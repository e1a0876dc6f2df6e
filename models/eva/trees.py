"""Branch-and-price for the cost, over listed patterns, or with pricing by an exact search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from instances import Answer, Options, Report, Stopwatch
from instances.eva import PackingArrays
from instances.eva.arrays import Group
from instances.options import ignore
from models.eva.branch_and_price import branch_and_price
from models.eva.configuration import Configuration, configuration, groups
from models.eva.covering import convert_to_usd
from models.eva.parameters import DEFAULTS, BranchAndPriceParameters, EvaExactParameters
from models.eva.pricer import Pricer
from models.eva.pricers import SearchPricer, list_patterns

LISTED, SEARCHED = "branch-and-price", "tree with integer duals"
PROGRAM_NODES = 2  # nodes before the first integer program over the patterns, if a search prices these


def solve_tree(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer | None:
    """Solve by branch-and-price over listed patterns; return `None` if the patterns are too many to list.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of the method; the tree uses `branch_and_price`.
    """
    with Stopwatch() as building:
        pricer = list_patterns(arrays, parameters.branch_and_price)
    if pricer is None:
        return None
    answer = _search_tree(arrays, pricer, options, report, start, parameters.branch_and_price, LISTED)
    return replace(answer, build_s=building.cpu_s)


def solve_unlisted(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer:
    """Solve by branch-and-price with pricing by an exact search, for patterns that are too many to list.

    Dives and integer programs over the known patterns find packings. The parameters are those of `solve_tree`.
    """
    pricer = SearchPricer(arrays, Stopwatch(options.time_limit))
    constants = replace(parameters.branch_and_price, program_nodes=PROGRAM_NODES)
    return _search_tree(arrays, pricer, options, report, start, constants, SEARCHED)


def _search_tree(
    arrays: PackingArrays,
    pricer: Pricer,
    options: Options,
    report: Report,
    start: Sequence[Group] | None,
    parameters: BranchAndPriceParameters,
    method: str,
) -> Answer:
    """Solve by branch-and-price with a pricer."""

    def report_in_usd(found: Configuration | None, bound: int | None) -> None:
        solution = None if found is None else arrays.solution(groups(found))
        report(solution, None if bound is None else arrays.usd(bound))

    with Stopwatch() as solving:
        known, listen = configuration(start) if start else None, None if report is ignore else report_in_usd
        outcome = branch_and_price(arrays, pricer, options, listen, known, parameters=parameters)
    return Answer(
        solution=None if outcome.configuration is None else arrays.solution(groups(outcome.configuration)),
        bound=None if outcome.termination == "infeasible" else arrays.usd(outcome.bound),
        termination=outcome.termination,
        reason=outcome.reason,
        build_s=0.0,
        solve_s=solving.cpu_s,
        trace=convert_to_usd(arrays, outcome.trace),
        info={**outcome.info, "method": method, "bound_by": method},
    )
