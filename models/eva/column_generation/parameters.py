"""The constants of column generation for Eva's packing."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ColumnGenerationParameters:
    """The constants of column generation, which change how fast a proof is found, never whether a bound is valid.

    Pricing:

    - `table_entries`: entries (states times classes) of one knapsack table; beyond it some resources are charged a
      price instead of being axes.
    - `exact_entries`: a table over all resources with more than `table_entries`, but not more than this number, keeps
      one layer.
    - `pricing_nodes`: nodes of the search that closes what such a price leaves open.
    - `tuning_steps`: steps of the line search for such a price.
    - `columns_each_type`, `columns_each_round`: most columns that one pricing gives, of a type and in all.
    - `smoothing`: weight of the best duals so far in the duals that are priced (Wentges, 1997).

    Greedy packing:

    - `greedy_nodes`: nodes of the search for one pattern.
    - `greedy_slack`: share of a pattern's value that is given up: a table filled for more tasks than are left may
      overstate it by so much, and a larger type is preferred to one that is better by less.
    - `bias`: share of the duals by which large tasks are favoured.

    Ruin and recreate:

    - `ruined`: most instances that are emptied at once.
    - `ruined_tasks`: most tasks on them.
    - `recreate_nodes`, `recreate_tries`: nodes of the search for the tasks of one instance, and packings of each ruin.
    - `ruin_tolerances`: largest share by which the sum of the squares of the waste may fall at equal cost, in turn.
    - `ruins`: ruins of a round, after which the clock is looked at.
    - `ruin_rounds`, `ruin_patience`: most rounds of a phase, in all and in a row that save nothing.
    - `spread_classes`, `spread_copies`: classes from which, and tasks per class up to which, ruin and recreate comes
      before pricing: `ruin_starts` times from every task alone, where these are at most `ruin_alone`, the first time
      for `sure_ruin_rounds` rounds at least; then from the best for `long_ruin_rounds` rounds, of which
      `long_ruin_patience` in a row may save nothing.
    - `ruin_tasks`: tasks beyond which nothing is ruined.

    Dives:

    - `discrepancies`, `dive_depth`: how often a dive may turn away from the largest column, and in how many steps.
    - `dive_steps`: most steps of a dive.
    - `bisections`: dives for costs between the bound and the incumbent.
    - `noisy_dives`, `dive_noise`: dives with noise, and the standard deviation of the noise.

    Integer program:

    - `most_columns`: most columns of the integer program, those of least reduced cost.
    - `program_nodes`: most nodes of its search.

    Tree of pairs, where tasks are packed one by one:

    - `tree_nodes`: most nodes.

    Aggregate bound:

    - `bound_nodes`: nodes of its branch and bound.
    - `resource_rounds`: cuts of resource prices.
    - `pooled_classes`, `pooled_units`: classes, and numbers of units of a family, up to which families are pooled.
    - `pooled_patterns`, `pooled_steps`: patterns of a problem with a pooled family, and steps of the search for those
      of a type, up to which it is solved; `pooled_nodes`: most nodes of its tree.
    - `shared_nodes`: nodes of the search that shares tasks out among families.
    - `bound_seconds`: limit of the integer program by which HiGHS proposes a spend, where effort is not limited.
    """

    table_entries: int = 40_000_000
    exact_entries: int = 1_000_000_000
    pricing_nodes: int = 3_000
    tuning_steps: int = 6
    columns_each_type: int = 30
    columns_each_round: int = 400
    smoothing: float = 0.5

    greedy_nodes: int = 60
    greedy_slack: float = 0.002
    bias: float = 0.01

    ruined: int = 4
    ruined_tasks: int = 200
    recreate_nodes: int = 400
    recreate_tries: int = 2
    ruin_tolerances: tuple[float, ...] = (0.5, 0.1, 0.9)
    ruins: int = 1_000
    ruin_rounds: int = 200
    ruin_patience: int = 40
    spread_classes: int = 20
    spread_copies: float = 4.0
    ruin_starts: int = 4
    ruin_alone: int = 3_000
    sure_ruin_rounds: int = 5
    long_ruin_rounds: int = 3_000
    long_ruin_patience: int = 300
    ruin_tasks: int = 20_000

    discrepancies: int = 2
    dive_depth: int = 3
    dive_steps: int = 500
    bisections: int = 6
    noisy_dives: int = 30
    dive_noise: float = 0.1

    most_columns: int = 1_500
    program_nodes: int = 1_000

    tree_nodes: int = 20_000

    bound_nodes: int = 2_000
    pooled_classes: int = 60
    pooled_units: int = 40
    pooled_patterns: int = 100_000
    pooled_steps: int = 1_000_000
    pooled_nodes: int = 1_000
    shared_nodes: int = 2_000
    resource_rounds: int = 60
    bound_seconds: float = 10.0

    def longer(self) -> ColumnGenerationParameters:
        """Return the constants for another turn, whose searches take longer."""
        return replace(
            self,
            pricing_nodes=LONGER * self.pricing_nodes,
            ruin_rounds=LONGER * self.ruin_rounds,
            ruin_patience=LONGER * self.ruin_patience,
            long_ruin_rounds=LONGER * self.long_ruin_rounds,
            long_ruin_patience=LONGER * self.long_ruin_patience,
            bound_nodes=LONGER * self.bound_nodes,
            shared_nodes=LONGER * self.shared_nodes,
        )


LONGER = 4  # times as long are the searches of another turn
DEFAULTS = ColumnGenerationParameters()
LARGEST_COEFFICIENT = 2.0**40  # HiGHS refuses coefficients of 1e15; larger ones than this are scaled down.
