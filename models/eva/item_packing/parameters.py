"""The constants of packing item by item."""

from __future__ import annotations

from dataclasses import dataclass

from instances.eva.arrays import PackingArrays


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
    - `columns_each_round`: most columns that one pricing adds.
    - `smoothing`: weight of the best duals so far in the duals that are priced (Wentges, 1997).

    Packings:

    - `discrepancies`, `dive_depth`: how often a dive may turn away from the largest column, and in how many steps.
    - `dive_share`, `dive_nodes`: share of the time limit of one dive, and most of its steps.
    - `enumerated`: most patterns that are listed.
    - `polish_share`: share of the time limit for better duals before patterns are listed.
    - `pool_tries`, `pool_nodes`: patterns of a task that are tried in a dive over listed patterns, and most linear
      programs of the dive.
    - `pool_noise`: standard deviation of the noise in all such dives but the first.

    Bounds:

    - `aggregate_nodes`: nodes of the bound over numbers of instances.
    - `spends`: most numbers of instances of each type that are looked at one by one.
    - `tree_nodes`, `tree_slice`: nodes of the tree of pairs, in all and between two dives.
    """

    fewest_tasks: int = 20
    most_tasks: int = 600
    most_types: int = 4
    copies: float = 1.5

    levels: int = 4_096
    weight_rounds: int = 12
    quick_nodes: int = 150
    proof_nodes: int = 5_000_000
    columns_each_round: int = 60
    smoothing: float = 0.5

    discrepancies: int = 2
    dive_depth: int = 3
    dive_share: float = 0.25
    dive_nodes: int = 2_000
    enumerated: int = 20_000
    polish_share: float = 0.15
    pool_tries: int = 3
    pool_nodes: int = 150
    pool_noise: float = 0.1

    aggregate_nodes: int = 2_000
    spends: int = 2_000
    tree_nodes: int = 20_000
    tree_slice: int = 40


DEFAULTS = ItemParameters()


def suits(arrays: PackingArrays, parameters: ItemParameters = DEFAULTS) -> bool:
    """Whether to pack item by item: neither very few tasks nor many, hardly any two alike, and few instance types."""
    tasks, types = sum(arrays.count.tolist()), int(arrays.fits.any(axis=1).sum())
    some = parameters.fewest_tasks <= tasks <= parameters.most_tasks and types <= parameters.most_types
    return some and tasks <= parameters.copies * arrays.classes
