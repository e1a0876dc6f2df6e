"""The exact method for Eva's packing, as a list of stages; docs/eva-method.md explains them in the same order."""

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
from models.core.derivation import SMALL_TASKS, settle_small
from models.eva.column_generation import ClassSpread
from models.eva.columns import solve_columns
from models.eva.knapsack_pricer import TablePricer
from models.eva.net_saving import solve_limited_saving, solve_net_saving
from models.eva.parameters import DEFAULTS, EvaExactParameters
from models.eva.saving_nets import pack_greedily
from models.eva.stages import LIMITS, Stages
from models.eva.trees import solve_tree, solve_unlisted

NODE_GROWTH = 4  # factor on the node limit of the tree each time that it runs again
NODE_LIMIT_REACHED = "the search ended at its own limit of nodes; a bound and an incumbent remain apart"
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
    """Solve an `eva-packing` instance over patterns (Gilmore and Gomory, 1961), within the limits.

    The objective `cost` is solved by branch-and-price and column generation, the objective `net-saving` by set
    partitioning over the patterns with a positive net saving.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution to begin from; the result is never worse.
    - `parameters`: the constants of the method.
    """
    clock = Stopwatch(options.time_limit)
    arrays = packing_arrays(data)
    options = replace(options, time_limit=clock.limit_left_s)
    is_saving = data.objective == "net-saving"
    solve = _solve_saving if is_saving else _solve_cost_or_greedy
    answer = solve(arrays, options, report, start, parameters)
    if answer.termination == "effort_limit" and options.effort is None and not (is_saving and arrays.has_limits):
        answer = replace(answer, termination="finished", reason=NODE_LIMIT_REACHED)
    if not is_saving or arrays.count.sum() > SMALL_TASKS or clock.has_expired:
        return answer
    from models.eva.certificate import certificate  # imports this module

    return settle_small(data, answer, replace(options, time_limit=clock.limit_left_s), report, certificate)


def _solve_saving(
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: EvaExactParameters
) -> Answer:
    """Maximise the net saving."""
    if arrays.has_limits:
        return solve_limited_saving(arrays, options, report, start, parameters)
    groups = None if start is None else arrays.groups(start)
    bound_cost = partial(_bound_cost, arrays.data, options, parameters)
    return solve_net_saving(arrays, bound_cost, options, report, groups, parameters)


def _solve_cost_or_greedy(
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: EvaExactParameters
) -> Answer:
    """Minimise the cost; if a limit ends the search early, return a packing at most as expensive as Algorithm 1's."""
    groups = None if start is None else arrays.groups(start)
    answer = _solve_cost(arrays, options, report, groups, parameters)
    if start is not None or answer.termination not in LIMITS or arrays.has_limits:
        return answer
    greedy = pack_greedily(replace(arrays, pair=np.ones_like(arrays.pair)))
    if answer.solution is not None and arrays.cost(arrays.groups(answer.solution)) <= arrays.cost(greedy):
        return answer
    report(arrays.solution(greedy), None)
    return replace(answer, solution=arrays.solution(greedy))


def _solve_cost(
    arrays: PackingArrays,
    options: Options,
    report: Report,
    start: Sequence[Group] | None = None,
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer:
    """Minimise the cost by the stages of docs/eva-method.md, until the gap is closed or a limit is reached."""
    if _exceeds_total_capacity(arrays):
        return Answer(None, termination="infeasible", reason=NO_ROOM, info={"bound_by": "totals"})
    stages = Stages(arrays, options, report, start)
    _run_stages(stages, parameters)
    if stages.answer is None:
        raise RuntimeError("no stage applies to the instance")
    return stages.answer


def _run_stages(stages: Stages, parameters: EvaExactParameters) -> None:
    """Run the stages that the instance needs."""
    arrays = stages.arrays
    if not arrays.has_limits and parameters.item_packing.suits(arrays):
        stages.run(solve_columns, parameters.item_packing, parameters.first_share)
        if stages.has_only_time_limit and stages.is_open:
            _generate_columns(stages, parameters)
        return
    is_distinct = ClassSpread.of(arrays, parameters.column_generation).many
    has_few_classes = arrays.classes <= parameters.few_classes
    is_exactly_priced = is_distinct and TablePricer(arrays, parameters.column_generation).exact
    surrogate_first = not is_exactly_priced and _holds_many_tasks(arrays, parameters)
    if surrogate_first and not _solve_surrogate(stages, parameters):
        return
    tree = None
    if arrays.has_limits or has_few_classes or not is_distinct:
        tree = stages.run(solve_tree, parameters)
    if tree is None and not (surrogate_first or is_distinct) and not _solve_surrogate(stages, parameters):
        return
    if arrays.has_limits and (tree is None or tree.termination == "error"):
        stages.run(solve_unlisted, parameters)
    elif stages.is_open and not arrays.has_limits and (tree is None or tree.termination not in LIMITS):
        _generate_columns(stages, parameters)


def _exceeds_total_capacity(arrays: PackingArrays) -> bool:
    """Return whether the tasks need more of a resource than all instances that the limits allow."""
    if any(limit is None for limit in arrays.most):
        return False
    limits, count = np.array(arrays.most, dtype=object), arrays.count.astype(object)
    return bool((limits @ arrays.capacity.astype(object) < count @ arrays.demand.min(axis=0).astype(object)).any())


def _holds_many_tasks(arrays: PackingArrays, parameters: EvaExactParameters) -> bool:
    """Return whether an instance holds many tasks, so that the total capacity almost alone decides the cost."""
    from models.eva.totals import holds_many_tasks  # imports compiled kernels, which takes a while

    return holds_many_tasks(arrays, parameters.totals)


def _solve_surrogate(stages: Stages, parameters: EvaExactParameters) -> bool:
    """Solve the surrogate relaxation; return whether the gap is still open."""
    from models.eva.totals import solve_totals  # imports compiled kernels, which takes a while

    stages.run(solve_totals, parameters.totals)
    return stages.is_open


def _generate_columns(stages: Stages, parameters: EvaExactParameters) -> None:
    """Generate columns; if classes are few, branch afterwards with pricing by search.

    Both run again, with another seed and larger constants, as long as there is time.
    """
    columns = parameters.column_generation
    has_few_classes = stages.arrays.classes <= parameters.few_classes
    for turn in itertools.count():
        stages.run(solve_columns, columns, parameters.first_share if has_few_classes else 1.0, seed=turn)
        if has_few_classes and stages.is_open:
            stages.run(solve_unlisted, parameters, nodes=NODE_GROWTH**turn * parameters.unlisted_nodes)
        if not (stages.has_only_time_limit and stages.is_open):
            break
        columns = columns.longer()


def _bound_cost(
    data: EvaPacking, options: Options, parameters: EvaExactParameters, seconds: float | None
) -> float | None:
    """Return a lower bound in USD/h on the cost of a packing of the same tasks, within a number of seconds."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    return _solve_cost(arrays, replace(options, time_limit=seconds), ignore, None, parameters).bound
