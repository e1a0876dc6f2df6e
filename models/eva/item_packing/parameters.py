"""The constants of packing task by task."""

from __future__ import annotations

from dataclasses import dataclass

from instances.eva.arrays import PackingArrays
from models.eva.column_generation import ColumnGenerationParameters

COLUMNS = ColumnGenerationParameters(columns_each_type=60, columns_each_round=60)


@dataclass(frozen=True)
class ItemParameters:
    """The constants of packing task by task. They change the time to a proof, never the validity of a bound.

    Choice of the method:

    - `fewest_tasks`, `most_tasks`: range of the number of tasks.
    - `most_types`: most instance types.
    - `copies`: most tasks per class, because equal items make trees of pairs symmetric.

    Pricing:

    - `levels`: levels of a resource, and of a weighted sum of resources, in the bounds of pricing.
    - `weight_rounds`: steps of the line search for such weights.
    - `quick_nodes`: nodes of the search for a good pattern with a given item.
    - `proof_nodes`: nodes of the search that proves a bound.
    - `enumerated`: most patterns that are listed.
    - `pool_dives`: most dives over them.
    - `pool_tries`, `pool_nodes`: patterns per task that such a dive tries, and most linear programs of a dive.
    - `pool_noise`: standard deviation of the noise in all dives but the first.
    - `columns`: the constants of column generation over single tasks.
    """

    fewest_tasks: int = 20
    most_tasks: int = 600
    most_types: int = 4
    copies: float = 1.5

    levels: int = 4_096
    weight_rounds: int = 12
    quick_nodes: int = 150
    proof_nodes: int = 5_000_000
    enumerated: int = 20_000
    pool_dives: int = 100
    pool_tries: int = 3
    pool_nodes: int = 150
    pool_noise: float = 0.1
    columns: ColumnGenerationParameters = COLUMNS


DEFAULTS = ItemParameters()


def suits(arrays: PackingArrays, parameters: ItemParameters = DEFAULTS) -> bool:
    """Return whether to pack task by task: a moderate number of almost distinct tasks, and few instance types."""
    tasks, types = sum(arrays.count.tolist()), int(arrays.fits.any(axis=1).sum())
    some = parameters.fewest_tasks <= tasks <= parameters.most_tasks and types <= parameters.most_types
    return some and tasks <= parameters.copies * arrays.classes
