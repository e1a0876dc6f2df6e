"""The constants of Eva's exact method, for the objectives `cost` and `net-saving`."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.eva.branch_and_price import BranchAndPriceParameters
from models.eva.column_generation import ColumnGenerationParameters
from models.eva.item_packing import ItemParameters
from models.eva.saving.parameters import SavingParameters


@dataclass(frozen=True)
class TotalsParameters:
    """The constants of packing by totals.

    - `steps`: of one search for multisets.
    - `first`: the share of its price by which the first search goes beyond the bound, the next ones twice as far each.
    - `farthest`: the share of its price beyond which nothing is searched.
    - `ejections`: steps of repair of one packing.
    - `parts`: parts of a packing that are packed anew, each by a small integer program, of the `repaired` cheapest.
    - `multisets`: most multisets that are looked at, while there is no more time for it than for others.
    - `most_found`: multisets that one search may find.
    - `cuts`: most covers that refute a multiset, likewise.
    - `nodes`: of the integer program that has the last word on a multiset.
    - `turns`: how often those that are open have their turn, likewise, each time with so much more of both.
    - `many`: tasks on an instance of the linear program from which on nothing but totals is thought to count.
    - `look`: where there are fewer, steps of the search for a first packing, which looks at `tried` multisets at most.
    - `share`: of the time limit is for this method, where something else counts as well.
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
    """The constants of the exact method, which change how fast a proof is found, never whether a bound is valid.

    - `few_classes`: classes up to which the patterns of distinct tasks are listed, and a tree that prices its patterns
      follows column generation. The tree has at most `unlisted_nodes` nodes.
    - `first_share`: share of the time for a method that another method follows.
    - `first_saving_patterns`: feasible patterns of one type up to which `net-saving` is first solved over all patterns.
    - `saving_patterns`: the same for where column generation has ended without a proof.
    - `entering_columns`: most columns that a round of sifting adds to the linear program.
    - `first_columns`: columns of the first integer program, which only has to find a good incumbent.
    - `branch_and_price`, `column_generation`, `item_packing`: the constants of these methods for the cost.
    - `saving`: the constants of column generation for the net saving.
    - `totals`: the constants of the method that goes by totals.
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
