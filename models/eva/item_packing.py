"""Pack task by task: column generation that prices single tasks by branch and bound, and a tree over pairs of tasks."""

from __future__ import annotations

from dataclasses import replace

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from models.core.column_generation import cheap_first
from models.core.outcome import Outcome
from models.eva.branch_and_price import branch_and_price
from models.eva.column_generation import ColumnSearch, Phase, Report, run_phases
from models.eva.configuration import Configuration
from models.eva.item_dive import PoolDive, enumerate_patterns
from models.eva.item_pricer import ItemPricer
from models.eva.parameters import DEFAULTS, ItemParameters
from models.eva.relaxation import Goal
from models.eva.single_tasks import SingleTasks, best_fit


def pack_by_best_fit(search: ColumnSearch, clock: Stopwatch) -> None:
    """Pack by best fit decreasing, in several orders."""
    for packing in best_fit(search.arrays):
        search.offer(packing)


def dive_over_patterns(search: ColumnSearch, clock: Stopwatch) -> None:
    """Dive over the patterns that a packing at the bound can have, if they are few and there is one type."""
    if len(search.arrays.price) > 1:
        return
    assert isinstance(search.pricer, ItemPricer)
    parameters, goal, tries = search.pricer.parameters, search.least, cheap_first(search.parameters.smoothing)
    duals = search.relaxation.run((), Goal(), clock, tries, search.prices.duals).center
    columns = enumerate_patterns(search.arrays, search.pricer, duals, goal, parameters.enumerated)
    if not columns:
        return
    dive = PoolDive(search.arrays, columns, goal, search.options)
    for turn in range(search.limit_rounds(parameters.pool_dives)):
        noise, nodes = parameters.pool_noise if turn else 0.0, search.limit_rounds(parameters.pool_nodes)
        packing = dive.run(parameters.pool_tries, nodes, noise, clock)
        if packing is not None:
            search.offer(packing)
        if search.over or clock.has_expired:
            return


def branch(search: ColumnSearch, clock: Stopwatch) -> None:
    """Search a tree, starting from the incumbent and the bound, until both meet."""
    limit = None if search.options.time_limit is None else clock.remaining_s
    options = replace(search.options, time_limit=limit, effort=search.limit_rounds(search.parameters.tree_nodes))

    def take(found: Configuration | None, bound: int | None) -> None:
        if found is not None:
            search.offer(found)
        if bound is not None:
            search.incumbent.raise_bound(bound)

    known, bound = search.incumbent.solution, search.incumbent.bound or 0
    outcome = branch_and_price(search.arrays, search.pricer, options, take, known, bound)
    search.nodes = outcome.info["nodes"]


PHASES = (
    Phase(ColumnSearch.start, always=True),
    Phase(pack_by_best_fit, always=True),
    Phase(ColumnSearch.relax, share=0.4),
    Phase(ColumnSearch.bound_by_type, share=0.4),
    Phase(dive_over_patterns, share=0.3),
    Phase(ColumnSearch.dive_to_bound, share=0.6),
    Phase(branch),
)


def pack_items(
    arrays: PackingArrays,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    parameters: ItemParameters = DEFAULTS.item_packing,
) -> Outcome[Configuration, None]:
    """Minimise the price of instances that hold all tasks, task by task.

    - `arrays`: the instance.
    - `options`: limits, threads and seed, and the gap (cost - bound) / cost at which the search ends.
    - `report`: called with each new configuration and each better bound, in price units.
    - `start`: a configuration to begin from.
    - `parameters`: the constants of the method.

    Raises ValueError if the start lacks a task, or has an instance with more tasks than fit.
    """
    tasks = SingleTasks(arrays)

    def join(found: Configuration | None, bound: int | None) -> None:
        if report is not None:
            report(None if found is None else tasks.join_classes(found), bound)

    pricer = ItemPricer(tasks.arrays, parameters)
    search = ColumnSearch(tasks.arrays, options, None if report is None else join, parameters.columns, pricer)
    outcome = run_phases(search, PHASES, None if start is None else tasks.split(start))
    assert outcome.configuration is not None
    return replace(outcome, configuration=tasks.join_classes(outcome.configuration))
