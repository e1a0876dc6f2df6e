"""The constants of packing item by item."""

from __future__ import annotations

from dataclasses import dataclass

from instances.eva.arrays import PackingArrays
from models.eva.column_generation import ColumnGenerationParameters

COLUMNS = ColumnGenerationParameters(columns_each_type=60, columns_each_round=60)


@dataclass(frozen=True)
class ItemParameters:
    """The constants of packing item by item, which change how fast a proof is found, never whether a bound is valid.

    Choice:

    - `fewest_tasks`, `most_tasks`: tasks below and beyond which the method is not used.
    - `most_types`: instance types beyond which the method is not used.
    - `copies`: tasks per class beyond which the method is not used: equal items make trees of pairs symmetric.

    Pricing:

    - `levels`: levels of a resource, and of a weighted sum of resources, in the bounds of pricing.
    - `weight_rounds`: steps of the line search for such weights.
    - `quick_nodes`: nodes of the search for a good pattern with a given item.
    - `proof_nodes`: nodes of the search that proves a bound.
    - `enumerated`: most patterns that are listed.
    - `pool_dives`: most dives over them; `pool_tries`, `pool_nodes`: patterns of a task that are tried in such a dive,
      and most linear programs of it; `pool_noise`: standard deviation of the noise in all of them but the first.
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
    """Whether to pack item by item: neither very few tasks nor many, hardly any two alike, and few instance types."""
    tasks, types = sum(arrays.count.tolist()), int(arrays.fits.any(axis=1).sum())
    some = parameters.fewest_tasks <= tasks <= parameters.most_tasks and types <= parameters.most_types
    return some and tasks <= parameters.copies * arrays.classes
