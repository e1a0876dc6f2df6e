"""Packing task by task: a configuration, an exact bound, a proof."""

from __future__ import annotations

from instances import Options
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.search import Report
from models.eva.configuration import Configuration
from models.eva.item_packing.parameters import DEFAULTS, ItemParameters
from models.eva.item_packing.search import ItemOutcome, ItemSearch
from models.highs import SolveFailed


def pack_items(
    arrays: PackingArrays,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    parameters: ItemParameters = DEFAULTS,
) -> ItemOutcome:
    """The least price of instances that hold all tasks, by branch-and-price over single tasks.

    - `arrays`: the instance.
    - `options`: limits, threads and seed, and the gap (cost - bound) / cost at which the search ends.
    - `report`: called with each new configuration and each better bound, in price units.
    - `start`: a configuration to begin from.
    - `parameters`: the constants of the method.

    Raises ValueError where the start does not hold all tasks, or holds more on an instance than fits.
    """
    search = ItemSearch(arrays, options, report, parameters)
    failure = None
    try:
        search.pack(start)
        search.relax()
        while not search.over and search.step():
            pass
    except SolveFailed as error:
        if search.incumbent.solution is None:
            raise
        failure = str(error)
    return search.outcome(failure)
