"""The fast exact method for Eva's packing: listed patterns, branch-and-price, or column generation.

Few patterns are given to an integer program. Patterns that can be listed are those of a branch-and-price tree. What
cannot be listed is generated, and where classes are many but not too many a tree that prices its patterns follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import method
from instances.options import ignore
from models.eva.branch_and_price import BranchAndPriceParameters, branch_and_price, list_patterns
from models.eva.branch_and_price.pricer import Pricer
from models.eva.branch_and_price.search_pricer import SearchPricer
from models.eva.column_generation.search import Spread
from models.eva.columns import solve_columns
from models.eva.configuration import Configuration, configuration, groups
from models.eva.covering_master import in_usd, solve_covering
from models.eva.item_packing import suits
from models.eva.limits import every_maximal_pattern, solve_limited_saving
from models.eva.net_saving import solve_net_saving
from models.eva.parameters import DEFAULTS, ExactParameters
from models.eva.patterns import Patterns, covering_patterns
from models.eva.saving.greedy import pack_greedily

LISTED, SEARCHED = "branch-and-price", "tree with whole-number duals"
PROGRAM_NODES = 2  # nodes of a tree over patterns that are priced one by one before the first integer program over them
UNENDED = "the search ended at its own limit of nodes; a bound and an incumbent remain apart"


@method("exact")
def exact(
    data: EvaPacking,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    """Solve an `eva-packing` instance over patterns (Gilmore and Gomory, 1961), as far as the limits allow.

    `cost`: an integer master over few patterns, branch-and-price over many, column generation over too many to list.
    `net-saving`: set partitioning over all patterns that pay. With limits of instances: branch-and-price with a row for
    each limit, and set partitioning over all patterns.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution to begin from; the result is never worse.
    - `parameters`: the constants of the method.
    """
    arrays = packing_arrays(data)
    if arrays.limited and data.objective == "net-saving":
        return solve_limited_saving(arrays, options, report, start, parameters)
    answer = _solved(arrays, options, report, start, parameters)
    if answer.termination == "effort_limit" and options.effort is None:
        return replace(answer, termination="finished", reason=UNENDED)
    return answer


def _solved(
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: ExactParameters
) -> Answer:
    groups = None if start is None else arrays.groups(start)
    if arrays.data.objective == "net-saving":
        least = partial(_least_cost, arrays.data, options, parameters)
        return solve_net_saving(arrays, least, options, report, groups, parameters)
    answer = _solve_cost(arrays, options, report, groups, parameters)
    early = start is None and answer.termination in ("time_limit", "effort_limit") and not arrays.limited
    return _no_dearer_than_greedy(arrays, answer, report) if early else answer


def _no_dearer_than_greedy(arrays: PackingArrays, answer: Answer, report: Report) -> Answer:
    """The answer, with Algorithm 1's packing for its own where a limit came before one as cheap.

    Not the start of the search: what the search begins with is mostly better, and ready as soon.
    """
    found = pack_greedily(replace(arrays, pair=np.ones_like(arrays.pair)))
    if answer.solution is not None and arrays.cost(arrays.groups(answer.solution)) <= arrays.cost(found):
        return answer
    report(arrays.solution(found), None)
    return replace(answer, solution=arrays.solution(found))


def _solve_cost(
    arrays: PackingArrays,
    options: Options,
    report: Report,
    start: Sequence[Group] | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    if arrays.limited:
        return _solve_limited(arrays, options, report, start, parameters)
    if suits(arrays, parameters.item_packing):
        return solve_columns(arrays, options, report, start, items=parameters.item_packing)
    clock = Stopwatch(options.time_limit)
    with Stopwatch() as listing:
        patterns = covering_patterns(arrays, parameters.covering_patterns)
    few = patterns is not None and len(patterns.kind) <= parameters.first_patterns
    methods: list[Callable[[Options, Sequence[Group] | None], Answer | None]] = []
    tree = partial(solve_tree, arrays, parameters=parameters)
    if patterns is not None and few:
        methods.append(partial(_solve_listed, arrays, patterns, report, parameters.first_nodes))
    methods.append(lambda o, s: tree(o, report, s, nodes=None if patterns is None else parameters.tree_nodes))
    if patterns is not None:
        methods.append(partial(_solve_listed, arrays, patterns, report, None))
    else:
        methods += _unlisted(arrays, report, parameters)
    answer: Answer | None = None
    for solve in methods:
        if answer is not None and (_final(answer, listed=patterns is not None) or clock.expired):
            break
        limit = None if options.time_limit is None else max(clock.remaining_s, 1e-3)
        known = start if answer is None or answer.solution is None else arrays.groups(answer.solution)
        answer = _later(answer, solve(replace(options, time_limit=limit), known))
    if answer is None:
        raise RuntimeError("column generation solves whatever is left")
    answer = replace(answer, build_s=listing.cpu_s + (answer.build_s or 0.0))
    proving = few and parameters.proof_nodes > 0
    if proving and answer.termination == "finished" and answer.info["bound_by"] == "highs" and not clock.expired:
        limit = None if options.time_limit is None else clock.remaining_s
        return _proved(arrays, answer, replace(options, time_limit=limit), parameters)
    return answer


def _unlisted(
    arrays: PackingArrays, report: Report, parameters: ExactParameters
) -> list[Callable[[Options, Sequence[Group] | None], Answer]]:
    """The methods for patterns that cannot be listed: column generation, then a tree where classes are not too many."""
    columns = parameters.column_generation
    spread = Spread.of(arrays, columns).many and arrays.classes <= parameters.tree_classes
    share = parameters.first_share if spread else 1.0

    def generate(options: Options, start: Sequence[Group] | None) -> Answer:
        limit = None if options.time_limit is None else share * options.time_limit
        return solve_columns(arrays, replace(options, time_limit=limit), report, start, columns)

    def branch(options: Options, start: Sequence[Group] | None) -> Answer:
        return solve_unlisted(arrays, _within(options, parameters.unlisted_nodes), report, start, parameters)

    return [generate, branch] if spread else [generate]


def _final(answer: Answer, listed: bool) -> bool:
    """Whether no other method has a turn: the gap is closed, or a tree has listed what the others think unlisted."""
    if answer.termination == "infeasible" or (answer.termination == "finished" and answer.reason is None):
        return True
    return not listed and answer.info["method"] == LISTED and answer.termination != "error"


def _solve_limited(
    arrays: PackingArrays,
    options: Options,
    report: Report,
    start: Sequence[Group] | None,
    parameters: ExactParameters,
) -> Answer:
    """Solve where types have limits: a tree over listed patterns, or one whose patterns are priced one by one."""
    clock = Stopwatch(options.time_limit)
    answer = solve_tree(arrays, options, report, start, parameters, nodes=parameters.tree_nodes)
    if answer is None:
        return solve_unlisted(arrays, options, report, start, parameters)
    if answer.termination in ("finished", "infeasible") or clock.expired:
        return answer
    patterns = every_maximal_pattern(arrays, parameters)
    if patterns is None:
        return answer
    left = options if options.time_limit is None else replace(options, time_limit=max(clock.remaining_s, 1e-3))
    known = None if answer.solution is None else arrays.groups(answer.solution)
    both = _later(answer, _solve_listed(arrays, patterns, report, None, left, known))
    assert both is not None
    return both


def _proved(arrays: PackingArrays, answer: Answer, options: Options, parameters: ExactParameters) -> Answer:
    """The answer of HiGHS, with its bound proved anew by a tree that begins from its packing, where a small one does.

    A tree is slower than HiGHS to find a packing among few patterns, and quick to prove it.
    """
    if answer.solution is None:
        return answer
    trees = replace(parameters, branch_and_price=replace(parameters.branch_and_price, dives=0))
    known = arrays.groups(answer.solution)
    proof = solve_tree(arrays, replace(options, gap=0.0), ignore, known, trees, parameters.proof_nodes)
    if proof is None:
        return answer
    both = replace(
        answer,
        build_s=(answer.build_s or 0.0) + (proof.build_s or 0.0),
        solve_s=(answer.solve_s or 0.0) + (proof.solve_s or 0.0),
    )
    if answer.bound is None or proof.bound is None or proof.bound < answer.bound:
        return both
    tree = {"nodes": proof.info["nodes"], "pricings": proof.info["pricings"], "bound_by": proof.info["bound_by"]}
    return replace(both, solution=proof.solution, bound=proof.bound, info={**answer.info, **tree})


def _later(first: Answer | None, second: Answer | None) -> Answer | None:
    """The answer of two methods in turn, of which the second began from the solution of the first."""
    if first is None or second is None:
        return first or second
    bounds = [b for b in (first.bound, second.bound) if b is not None]
    better = first if first.bound is not None and (second.bound is None or first.bound > second.bound) else second
    shift = first.trace[-1][0] if first.trace else 0.0
    return replace(
        second,
        bound=max(bounds, default=None),
        build_s=(first.build_s or 0.0) + (second.build_s or 0.0),
        solve_s=(first.solve_s or 0.0) + (second.solve_s or 0.0),
        trace=[*first.trace, *((t + shift, v, b) for t, v, b in second.trace)],
        info={**second.info, "bound_by": better.info["bound_by"]},
    )


def solve_tree(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: ExactParameters = DEFAULTS,
    nodes: int | None = None,
) -> Answer | None:
    """Solve by branch-and-price over listed patterns; `None` where the patterns are too many to list.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of the method, of which `branch_and_price` counts here.
    - `nodes`: most nodes, if fewer than the effort.
    """
    with Stopwatch() as building:
        pricer = list_patterns(arrays, parameters.branch_and_price)
    if pricer is None:
        return None
    answer = _branched(arrays, pricer, _within(options, nodes), report, start, parameters.branch_and_price, LISTED)
    return replace(answer, build_s=building.cpu_s)


def solve_unlisted(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Answer:
    """Solve by branch-and-price where patterns are too many to list, which an exact search prices; see `solve_tree`.

    It dives, and an integer program over the patterns that it has found so far gives further packings.
    """
    pricer = SearchPricer(arrays, Stopwatch(options.time_limit))
    constants = replace(parameters.branch_and_price, program_nodes=PROGRAM_NODES)
    return _branched(arrays, pricer, options, report, start, constants, SEARCHED)


def _branched(
    arrays: PackingArrays,
    pricer: Pricer,
    options: Options,
    report: Report,
    start: Sequence[Group] | None,
    parameters: BranchAndPriceParameters,
    method: str,
) -> Answer:
    """Solve by branch-and-price with a pricer."""

    def told(found: Configuration | None, bound: int | None) -> None:
        solution = None if found is None else arrays.solution(groups(found))
        report(solution, None if bound is None else arrays.usd(bound))

    with Stopwatch() as solving:
        known, listen = configuration(start) if start else None, None if report is ignore else told
        outcome = branch_and_price(arrays, pricer, options, listen, known, parameters=parameters)
    return Answer(
        solution=None if outcome.configuration is None else arrays.solution(groups(outcome.configuration)),
        bound=None if outcome.termination == "infeasible" else arrays.usd(outcome.bound),
        termination=outcome.termination,
        reason=outcome.reason,
        build_s=0.0,
        solve_s=solving.cpu_s,
        trace=in_usd(arrays, outcome.trace),
        info={**outcome.info, "method": method, "bound_by": method},
    )


def _least_cost(data: EvaPacking, options: Options, parameters: ExactParameters, seconds: float | None) -> float | None:
    """A lower bound in USD/h on the cost of a packing of the same tasks, from so many seconds of work."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, replace(options, time_limit=seconds), ignore, None, parameters).bound


def _solve_listed(
    arrays: PackingArrays,
    patterns: Patterns,
    report: Report,
    nodes: int | None,
    options: Options,
    start: Sequence[Group] | None,
) -> Answer:
    """Solve the integer master over listed patterns, in at most so many nodes of HiGHS."""
    covered = solve_covering(arrays, patterns, _within(options, nodes), report, start, few=nodes is not None)
    solved = covered.solved
    return Answer(
        solution=arrays.solution(covered.groups) if covered.groups else None,
        bound=None if covered.bound is None else arrays.usd(covered.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=0.0,
        solve_s=solved.solve_s,
        trace=in_usd(arrays, solved.trace),
        info={**solved.info, "method": "patterns", "patterns": len(patterns.kind), "bound_by": "highs"},
    )


def _within(options: Options, nodes: int | None) -> Options:
    """The options with an effort of at most so many nodes."""
    return replace(options, effort=min((n for n in (nodes, options.effort) if n is not None), default=None))
