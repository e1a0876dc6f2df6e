"""The constants of Eva's exact methods. They change the time to a proof, never the validity of a bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from instances.eva.arrays import PackingArrays

LONGER = 4  # factor on the limits of a further run of column generation


@dataclass(frozen=True)
class BranchAndPriceParameters:
    """The constants of branch-and-price. They change the time to a proof, never the validity of a bound.

    Patterns:

    - `listed_patterns`: most maximal patterns of a list; if there are more, patterns are priced by search.
    - `listed_numbers`: limit on patterns times classes, which bounds memory: 80 MB at two bytes each.
    - `listing_steps`: most steps of the search for the patterns of one type.
    - `splits`: most splits of a pattern in two that are tested, to see whether two cheaper instances hold it.
    - `columns_each_type`: most columns that one pricing returns for a type.

    Branching:

    - `candidates_each_kind`: aggregates of each kind whose children are solved.
    - `reliable`: solved children of an aggregate from which on its pseudo-cost is used.
    - `least_gain`: gain of a child, as a share of the gap, below which gains count as equal.
    - `restart_nodes`: nodes of the first tree before the search restarts at the root. A restart keeps the packing and
      the list of patterns, and doubles the number of candidates.
    - `restarts`: most restarts; each tree has three times the nodes of the previous one, and the last has no limit.

    Incumbents:

    - `discrepancies`: how often a dive may deviate from the largest column, and within how many first steps.
    - `dive_steps`: limit on the steps of a dive.
    - `dive_every`: nodes between dives in the tree.
    - `program_nodes`: nodes before the first integer program over the columns, and four times as many before each next
      one; 0 for none.
    - `proving`: whether the tree only proves a known bound. Then it does not dive, removes no pattern, and may end
      within its first linear program.
    """

    listed_patterns: int = 400_000
    listed_numbers: int = 40_000_000
    listing_steps: int = 5_000_000
    splits: int = 2_000
    columns_each_type: int = 10

    candidates_each_kind: int = 4
    reliable: int = 2
    least_gain: float = 1e-3
    restart_nodes: int = 200
    restarts: int = 3

    discrepancies: int = 2
    dive_steps: int = 200
    dive_every: int = 4
    program_nodes: int = 10
    proving: bool = False


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


SINGLE_TASKS = ColumnGenerationParameters(columns_each_type=60, columns_each_round=60)
"""For column generation over single tasks."""


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
    columns: ColumnGenerationParameters = SINGLE_TASKS

    def suits(self, arrays: PackingArrays) -> bool:
        """Return whether to pack task by task: a moderate number of almost distinct tasks, and few instance types."""
        tasks, types = sum(arrays.count.tolist()), int(arrays.fits.any(axis=1).sum())
        some = self.fewest_tasks <= tasks <= self.most_tasks and types <= self.most_types
        return some and tasks <= self.copies * arrays.classes


@dataclass(frozen=True)
class CountParameters:
    """The constants of the search over a list; they do not change the validity of a proof.

    - `nodes`: most linear programs.
    - `probed`: if there are more columns, an integer program over a part of them first finds a good solution.
    - `first_list`: columns of this program, those of the largest reduced net.
    - `probe_nodes`: its node limit.
    """

    nodes: int = 10_000
    probed: int = 250
    first_list: int = 200
    probe_nodes: int = 300


@dataclass(frozen=True)
class SavingParameters:
    """The constants of column generation. They change its time and memory, never the validity of a bound.

    - `most_tasks`: most tasks on one instance; if an instance may hold more, there is no column generation.
    - `found`: most patterns of a type, or of existing instances, that a round of pricing keeps.
    - `share`: smallest reduced net of these patterns, as a share of the best.
    - `nodes`: node limit of a search, which then ends with a bound.
    - `more_nodes`: factor on this limit if a search finds no better pattern.
    - `listing_nodes`: largest value of this limit, and node limit of a search for a list.
    - `rounds`: most rounds of pricing.
    - `count_share`: first δ of a list for the search over the numbers of instances, as a share of the bound.
    - `counted`: most columns in such a list.
    - `counts`: the constants of this search.
    - `lists`: most such lists.
    - `programs`: whether integer programs follow for longer lists. If not, the first list is shortened until it has at
      most `counted` columns, and the method ends after the last list.
    - `first_share`: first δ of a list for an integer program, as a share of the bound.
    - `growth`: factor on this δ; its square root is used if a list is too long, down to `least_growth`.
    - `listed`: most columns in a list for an integer program.
    - `probe_nodes`: most nodes of an integer program that cannot prove the optimum.
    """

    most_tasks: int = 256
    found: int = 20
    share: float = 0.5
    nodes: int = 2_000
    more_nodes: int = 10
    listing_nodes: int = 1_000_000
    rounds: int = 2_000
    count_share: float = 0.02
    counted: int = 5_000
    counts: CountParameters = field(default_factory=CountParameters)
    lists: int = 2
    programs: bool = True
    first_share: float = 5e-4
    growth: float = 2.0
    least_growth: float = 1.1
    listed: int = 60_000
    probe_nodes: int = 300

    def suits(self, arrays: PackingArrays) -> bool:
        """Return whether every instance holds at most the tasks that the search and its rounding bounds allow."""
        return all(_count_most_tasks(arrays, k) <= self.most_tasks for k in range(len(arrays.price)))


def _count_most_tasks(arrays: PackingArrays, kind: int) -> int:
    """Return a bound on the number of tasks that an instance of a type holds."""
    fits = arrays.fits[kind]
    if not fits.any():
        return 0
    least = arrays.demand_of_type[kind][fits].min(axis=0).tolist()
    room = [q // d for q, d in zip(arrays.capacity[kind].tolist(), least, strict=True) if d]
    return int(min([sum(arrays.count[fits].tolist()), *room]))


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
ROUND = SavingParameters(counted=20_000, programs=False)
"""For a round: there, integer programs over long lists take minutes and rarely prove the optimum."""
SHORT = SavingParameters(nodes=5_000, listing_nodes=20_000, lists=1, programs=False)
"""For a round of a simulation: a good solution and a bound in a fraction of a second, often without a proof."""
