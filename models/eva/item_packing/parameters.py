"""The constants of packing item by item."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ItemParameters:
    """The constants of packing item by item, which change how fast a proof is found, never whether a bound is valid.

    Choice:

    - `most_tasks`: tasks beyond which the method is not used.
    - `copies`: tasks per class beyond which the method is not used: equal items make trees of pairs symmetric.

    Pricing:

    - `levels`: levels of a resource, and of a weighted sum of resources, in the bounds of pricing.
    - `weight_rounds`: steps of the line search for such weights.
    - `quick_nodes`: nodes of the search for a good pattern with a given item.
    - `proof_nodes`: nodes of the search that proves a bound.
    - `columns_each_round`: most columns that one pricing adds.
    - `smoothing`: weight of the best duals so far in the duals that are priced (Wentges, 1997).
    """

    most_tasks: int = 600
    copies: float = 1.5

    levels: int = 4_096
    weight_rounds: int = 12
    quick_nodes: int = 150
    proof_nodes: int = 20_000_000
    columns_each_round: int = 60
    smoothing: float = 0.5


DEFAULTS = ItemParameters()
