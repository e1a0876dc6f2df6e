"""The fast exact method for Eva's packing: which method has its turn, and which one after it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import method
from instances.options import ignore
from models.derivation import SMALL_TASKS, settle_small
from models.eva.branch_and_price import BranchAndPriceParameters, branch_and_price, list_patterns
from models.eva.branch_and_price.pricer import Pricer
from models.eva.branch_and_price.pricers import SearchPricer
from models.eva.column_generation.pricing import TablePricer
from models.eva.column_generation.search import ClassSpread
from models.eva.columns import solve_columns
from models.eva.configuration import Configuration, configuration, groups
from models.eva.covering import in_usd
from models.eva.item_packing import suits
from models.eva.net_saving import solve_limited_saving, solve_net_saving
from models.eva.parameters import DEFAULTS, EvaExactParameters
from models.eva.saving.nets import pack_greedily

LISTED, SEARCHED = "branch-and-price", "tree with whole-number duals"
PROGRAM_NODES = 2  # nodes of a tree over patterns that are priced one by one before the first integer program over them
MORE_NODES = 4  # times as many nodes has the tree each time that it begins again
UNENDED = "the search ended at its own limit of nodes; a bound and an incumbent remain apart"

LIMITS = ("time_limit", "effort_limit")  # terminations
NO_ROOM = "the limits of instances leave tasks without a place"


@method("exact")
def exact(
    data: EvaPacking,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer:
    """Solve an `eva-packing` instance over patterns (Gilmore and Gomory, 1961), as far as the limits allow.

    `cost`: branch-and-price over listed patterns, column generation if there are too many to list.
    `net-saving`: set partitioning over all patterns that pay. With limits of instances: branch-and-price with a row for
    each limit, and set partitioning over all patterns.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution to begin from; the result is never worse.
    - `parameters`: the constants of the method.
    """
    clock = Stopwatch(options.time_limit)
    arrays = packing_arrays(data)
    options = replace(options, time_limit=clock.limit_left_s)
    saving = data.objective == "net-saving"
    answer = (_most_saved if saving else _solved)(arrays, options, report, start, parameters)
    if answer.termination == "effort_limit" and options.effort is None and not (saving and arrays.limited):
        answer = replace(answer, termination="finished", reason=UNENDED)
    if not saving or arrays.count.sum() > SMALL_TASKS or clock.expired:
        return answer
    from models.eva.certificate import certificate  # imports this module

    return settle_small(data, answer, replace(options, time_limit=clock.limit_left_s), report, certificate)


def _most_saved(
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: EvaExactParameters
) -> Answer:
    if arrays.limited:
        return solve_limited_saving(arrays, options, report, start, parameters)
    groups = None if start is None else arrays.groups(start)
    least = partial(_least_cost, arrays.data, options, parameters)
    return solve_net_saving(arrays, least, options, report, groups, parameters)


def _solved(
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: EvaExactParameters
) -> Answer:
    groups = None if start is None else arrays.groups(start)
    answer = _solve_cost(arrays, options, report, groups, parameters)
    early = start is None and answer.termination in LIMITS and not arrays.limited
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
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer:
    """Find the least cost, by one method after the other until one of them has solved the problem.

    If almost all tasks differ and types are few, the method packs task by task, then generates columns. Otherwise a
    surrogate relaxation comes first, which solves a cloud's price list. Branch-and-price over listed patterns follows
    if there are few enough of them, then column generation. A long list of distinct tasks that tables price exactly
    goes to column generation at once.
    """
    if _lacks_room(arrays):
        return Answer(None, termination="infeasible", reason=NO_ROOM, info={"bound_by": "totals"})
    turns = _Turns(arrays, options, start)
    if not arrays.limited and suits(arrays, parameters.item_packing):
        limits = turns.within(parameters.first_share)
        turns.take(solve_columns(arrays, limits, report, turns.known, items=parameters.item_packing))
        if turns.has_time and turns.go_on:
            _generate(turns, report, parameters)
        return turns.ended
    distinct = ClassSpread.of(arrays, parameters.column_generation).many
    few = arrays.classes <= parameters.few_classes
    first = not (distinct and _tables_are_exact(arrays, parameters)) and _many_on_each(arrays, parameters)
    if first and not _by_totals(turns, report, parameters):
        return turns.ended
    tree = None
    if arrays.limited or few or not distinct:
        tree = turns.take(solve_tree(arrays, turns.left, report, turns.known, parameters))
    if tree is None and not (first or distinct) and not _by_totals(turns, report, parameters):
        return turns.ended
    if tree is None and arrays.limited:
        turns.take(solve_unlisted(arrays, turns.left, report, turns.known, parameters))
    elif turns.go_on and not arrays.limited and (tree is None or tree.termination not in LIMITS):
        _generate(turns, report, parameters)
    return turns.ended


def _tables_are_exact(arrays: PackingArrays, parameters: EvaExactParameters) -> bool:
    """Whether tables of column generation price all resources exactly."""
    return TablePricer(arrays, parameters.column_generation).exact


def _lacks_room(arrays: PackingArrays) -> bool:
    """Whether all instances that the limits allow have less of a resource than the tasks ask for."""
    if any(most is None for most in arrays.most):
        return False
    most, count = np.array(arrays.most, dtype=object), arrays.count.astype(object)
    return bool((most @ arrays.capacity.astype(object) < count @ arrays.demand.min(axis=0).astype(object)).any())


def _many_on_each(arrays: PackingArrays, parameters: EvaExactParameters) -> bool:
    from models.eva.totals import many_on_each  # its compiler takes a while to load

    return many_on_each(arrays, parameters.totals)


def _by_totals(turns: _Turns, report: Report, parameters: EvaExactParameters) -> bool:
    """Solve by totals; whether another method has a turn."""
    from models.eva.totals import solve_totals  # its compiler takes a while to load

    turns.take(solve_totals(turns.arrays, turns.left, report, turns.known, parameters.totals))
    return turns.go_on


class _Turns:
    """Methods in turn, each in the time that those before have left, and from the best solution so far."""

    def __init__(self, arrays: PackingArrays, options: Options, start: Sequence[Group] | None) -> None:
        self.arrays, self.options, self.start = arrays, options, start
        self.clock = Stopwatch(options.time_limit)
        self.answer: Answer | None = None

    @property
    def left(self) -> Options:
        """The options of the next method."""
        return replace(self.options, time_limit=self.clock.limit_left_s)

    def within(self, share: float) -> Options:
        """Return the options of a method that has a share of the time that is left."""
        left = self.left
        return left if left.time_limit is None else replace(left, time_limit=share * left.time_limit)

    @property
    def known(self) -> Sequence[Group] | None:
        """What the next method begins from."""
        solution = None if self.answer is None else self.answer.solution
        return self.start if solution is None else self.arrays.groups(solution)

    @property
    def go_on(self) -> bool:
        """Whether another method has a turn: there is time, and none has closed the gap or seen that it cannot be."""
        if self.answer is None:
            return True
        ended = self.answer.termination == "finished" and self.answer.reason is None
        return not (ended or self.answer.termination == "infeasible" or self.clock.expired)

    @property
    def has_time(self) -> bool:
        """Whether time is what ends the methods: no constant of theirs may do so then."""
        return self.options.time_limit is not None and self.options.effort is None

    @property
    def ended(self) -> Answer:
        """The answer of all of them."""
        if self.answer is None:
            raise RuntimeError("column generation solves whatever is left")
        return self.answer

    def take(self, answer: Answer | None) -> Answer | None:
        """Take the answer of a method, if it has one."""
        self.answer = _later(self.answer, answer)
        return answer


def _generate(turns: _Turns, report: Report, parameters: EvaExactParameters) -> None:
    """Generate columns, then, where classes are few, grow a tree that prices its patterns by an exact search.

    Both begin again, from another seed and with larger constants, as long as there is time.
    """
    arrays, columns = turns.arrays, parameters.column_generation
    few = arrays.classes <= parameters.few_classes
    for turn in itertools.count():
        limits = turns.within(parameters.first_share if few else 1.0)
        again = replace(limits, seed=(limits.seed + turn) % 2**31)
        turns.take(solve_columns(arrays, again, report, turns.known, columns))
        if few and turns.go_on:
            nodes = _within(turns.left, MORE_NODES**turn * parameters.unlisted_nodes)
            turns.take(solve_unlisted(arrays, nodes, report, turns.known, parameters))
        if not (turns.has_time and turns.go_on):
            break
        columns = columns.longer()


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
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer | None:
    """Solve by branch-and-price over listed patterns; `None` where the patterns are too many to list.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of the method, of which `branch_and_price` counts here.
    """
    with Stopwatch() as building:
        pricer = list_patterns(arrays, parameters.branch_and_price)
    if pricer is None:
        return None
    answer = _branched(arrays, pricer, options, report, start, parameters.branch_and_price, LISTED)
    return replace(answer, build_s=building.cpu_s)


def solve_unlisted(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: EvaExactParameters = DEFAULTS,
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


def _least_cost(
    data: EvaPacking, options: Options, parameters: EvaExactParameters, seconds: float | None
) -> float | None:
    """A lower bound in USD/h on the cost of a packing of the same tasks, from so many seconds of work."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, replace(options, time_limit=seconds), ignore, None, parameters).bound


def _within(options: Options, nodes: int | None) -> Options:
    """The options with an effort of at most so many nodes."""
    return replace(options, effort=min((n for n in (nodes, options.effort) if n is not None), default=None))
