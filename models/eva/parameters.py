"""The constants of Eva's exact method, for the objectives `cost` and `net-saving`."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.eva.branch_and_price import BranchAndPriceParameters
from models.eva.column_generation import ColumnGenerationParameters
from models.eva.item_packing import ItemParameters
from models.eva.saving.parameters import SavingParameters


@dataclass(frozen=True)
class TotalsParameters:
    """The constants of the surrogate relaxation.

    If there is a time limit, `multisets`, `cuts` and `turns` count only after this method has used its share of it.

    - `steps`: most steps of one search for instance mixes.
    - `first`: width of the first search above the bound, as a share of the bound; each next one is twice as wide.
    - `farthest`: largest width of a search, as a share of the bound.
    - `ejections`: ejection moves for one packing.
    - `parts`: small integer programs of fix-and-optimise for one packing.
    - `repaired`: number of cheapest open mixes that fix-and-optimise packs.
    - `multisets`: most mixes that are packed.
    - `most_found`: most mixes that one search finds.
    - `cuts`: most inequalities that exclude an infeasible mix.
    - `nodes`: node limit of the integer program over all instances of a mix.
    - `turns`: most rounds over the open mixes, each with larger limits on `parts` and `nodes`.
    - `many`: tasks per instance of the linear program from which on the totals alone are taken to decide the cost.
    - `look`: with fewer tasks per instance, steps of the search for a first packing.
    - `tried`: most mixes in this search.
    - `share`: share of the time limit for this method if other methods follow.
    """

    steps: int = 20_000_000
    first: float = 1e-4
    farthest: float = 0.04
    ejections: int = 3_000
    parts: int = 4
    repaired: int = 3
    multisets: int = 400
    most_found: int = 64_000
    cuts: int = 150
    nodes: int = 20
    turns: int = 5
    many: float = 8.0
    look: int = 300_000
    tried: int = 12
    share: float = 0.7


@dataclass(frozen=True)
class EvaExactParameters:
    """The constants of the exact method. They change the time to a proof, never the validity of a bound.

    - `few_classes`: most classes for which the patterns of distinct tasks are listed, and for which a tree with pricing
      by search follows column generation. The tree has at most `unlisted_nodes` nodes.
    - `first_share`: share of the time for a method that another method follows.
    - `first_saving_patterns`: most feasible patterns of one type for which `net-saving` is first solved over all
      patterns.
    - `saving_patterns`: the same limit after column generation without a proof.
    - `entering_columns`: most columns that a round of sifting adds to the linear program.
    - `first_columns`: columns of the first integer program, which only finds a good incumbent.
    - `branch_and_price`, `column_generation`, `item_packing`: the constants of these methods for the cost.
    - `saving`: the constants of column generation for the net saving.
    - `totals`: the constants of the surrogate relaxation.
    """

    few_classes: int = 60
    first_share: float = 0.5
    unlisted_nodes: int = 500
    first_saving_patterns: int = 5_000
    saving_patterns: int = 100_000
    entering_columns: int = 400
    first_columns: int = 600
    branch_and_price: BranchAndPriceParameters = field(default_factory=BranchAndPriceParameters)
    column_generation: ColumnGenerationParameters = field(default_factory=ColumnGenerationParameters)
    item_packing: ItemParameters = field(default_factory=ItemParameters)
    saving: SavingParameters = field(default_factory=SavingParameters)
    totals: TotalsParameters = field(default_factory=TotalsParameters)


DEFAULTS = EvaExactParameters()
