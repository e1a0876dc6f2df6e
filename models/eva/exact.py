"""The exact method for Eva's packing, as a list of stages."""

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
from models.eva.column_generation.pricing import TablePricer
from models.eva.column_generation.search import ClassSpread
from models.eva.columns import solve_columns
from models.eva.item_packing import suits
from models.eva.net_saving import solve_limited_saving, solve_net_saving
from models.eva.parameters import DEFAULTS, EvaExactParameters
from models.eva.saving.nets import pack_greedily
from models.eva.stages import Stages
from models.eva.trees import solve_tree, solve_unlisted

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
    stages = Stages(arrays, options, start)
    if not arrays.limited and suits(arrays, parameters.item_packing):
        limits = stages.within(parameters.first_share)
        stages.take(solve_columns(arrays, limits, report, stages.known, items=parameters.item_packing))
        if stages.has_time and stages.go_on:
            _generate(stages, report, parameters)
        return stages.ended
    distinct = ClassSpread.of(arrays, parameters.column_generation).many
    few = arrays.classes <= parameters.few_classes
    first = not (distinct and _tables_are_exact(arrays, parameters)) and _many_on_each(arrays, parameters)
    if first and not _solve_surrogate(stages, report, parameters):
        return stages.ended
    tree = None
    if arrays.limited or few or not distinct:
        tree = stages.take(solve_tree(arrays, stages.left, report, stages.known, parameters))
    if tree is None and not (first or distinct) and not _solve_surrogate(stages, report, parameters):
        return stages.ended
    if arrays.limited and (tree is None or tree.termination == "error"):
        stages.take(solve_unlisted(arrays, stages.left, report, stages.known, parameters))
    elif stages.go_on and not arrays.limited and (tree is None or tree.termination not in LIMITS):
        _generate(stages, report, parameters)
    return stages.ended


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


def _solve_surrogate(stages: Stages, report: Report, parameters: EvaExactParameters) -> bool:
    """Solve the surrogate relaxation; return whether another stage follows."""
    from models.eva.totals import solve_totals  # its compiler takes a while to load

    stages.take(solve_totals(stages.arrays, stages.left, report, stages.known, parameters.totals))
    return stages.go_on


def _generate(stages: Stages, report: Report, parameters: EvaExactParameters) -> None:
    """Generate columns, then, where classes are few, grow a tree that prices its patterns by an exact search.

    Both begin again, from another seed and with larger constants, as long as there is time.
    """
    arrays, columns = stages.arrays, parameters.column_generation
    few = arrays.classes <= parameters.few_classes
    for turn in itertools.count():
        limits = stages.within(parameters.first_share if few else 1.0)
        again = replace(limits, seed=(limits.seed + turn) % 2**31)
        stages.take(solve_columns(arrays, again, report, stages.known, columns))
        if few and stages.go_on:
            nodes = _within(stages.left, MORE_NODES**turn * parameters.unlisted_nodes)
            stages.take(solve_unlisted(arrays, nodes, report, stages.known, parameters))
        if not (stages.has_time and stages.go_on):
            break
        columns = columns.longer()


def _least_cost(
    data: EvaPacking, options: Options, parameters: EvaExactParameters, seconds: float | None
) -> float | None:
    """Return a lower bound in USD/h on the cost of a packing of the same tasks, within a number of seconds."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, replace(options, time_limit=seconds), ignore, None, parameters).bound


def _within(options: Options, nodes: int | None) -> Options:
    """Return the options with an effort of at most this number of nodes."""
    return replace(options, effort=min((n for n in (nodes, options.effort) if n is not None), default=None))
