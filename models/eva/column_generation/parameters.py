"""The constants of column generation for Eva's packing."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ColumnGenerationParameters:
    """The constants of column generation. They change the time to a proof, never the validity of a bound.

    Pricing:

    - `table_entries`: most entries (states times classes) of one knapsack table with all layers. A larger table has
      fewer resources as axes, with Lagrangian penalties on the others.
    - `exact_entries`: a table over all resources with more than `table_entries`, but at most this number, keeps one
      layer.
    - `pricing_nodes`: nodes of the search that closes the gap of a penalty.
    - `tuning_steps`: steps of the line search for a penalty.
    - `columns_each_type`, `columns_each_round`: most columns of one pricing, for a type and in total.
    - `smoothing`: weight of the best duals so far in the priced duals (Wentges, 1997).

    Greedy packing:

    - `greedy_nodes`: nodes of the search for one pattern.
    - `greedy_slack`: tolerated loss of a pattern's value, as a share. A table filled for more tasks may overestimate
      it by this share, and a larger type is preferred to one that is better by less.
    - `bias`: share of the duals by which large tasks are favoured.

    Ruin and recreate:

    - `ruined`: most instances that are emptied at once.
    - `ruined_tasks`: most tasks on them.
    - `recreate_nodes`, `recreate_tries`: nodes of the search for the tasks of one instance, and packings of each ruin.
    - `ruin_tolerances`: largest share by which the sum of the squares of the waste may fall at equal cost, one for each
      round of a cycle.
    - `ruins`: ruins of a round, after which the clock is tested.
    - `ruin_rounds`, `ruin_patience`: most rounds of a phase, and most rounds in a row without a saving.
    - `spread_classes`, `spread_copies`: fewest classes, and most tasks per class, for ruin and recreate before pricing.
    - `ruin_starts`: runs of it from every task alone.
    - `ruin_alone`: most tasks for these runs.
    - `sure_ruin_rounds`: rounds of such a run that are made even without time.
    - `long_ruin_rounds`, `long_ruin_patience`: limits of the later run from the best configuration.
    - `ruin_tasks`: most tasks for any ruin.

    Dives:

    - `discrepancies`, `dive_depth`: how often a dive may deviate from the largest column, and within how many steps.
    - `dive_steps`: most steps of a dive.
    - `bisections`: dives for costs between the bound and the incumbent.
    - `noisy_dives`, `dive_noise`: dives with noise, and the standard deviation of the noise.

    Integer program:

    - `most_columns`: most columns of the integer program, those of the smallest reduced cost.
    - `program_nodes`: most nodes of its search.

    Tree of pairs, if tasks are packed one by one:

    - `tree_nodes`: most nodes.

    Aggregate bound:

    - `bound_nodes`: nodes of its branch and bound.
    - `resource_rounds`: cuts of resource prices.
    - `pooled_classes`, `pooled_units`: most classes, and most numbers of units of a family, for pooling a family.
    - `pooled_patterns`, `pooled_steps`: most patterns of a problem with a pooled family, and most steps of the search
      for those of a type.
    - `pooled_nodes`: most nodes of its tree.
    - `shared_nodes`: nodes of the search that assigns tasks to families.
    - `bound_seconds`: time limit of HiGHS for a proposal of cost shares, if effort is not limited.
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
        """Return the constants of a further run, with longer searches."""
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


LONGER = 4  # factor on the limits of a further run
DEFAULTS = ColumnGenerationParameters()
LARGEST_COEFFICIENT = 2.0**40  # larger coefficients are scaled down, because HiGHS rejects 1e15
