"""The constants of Aryl's exact methods, in one place; none of them changes what is proven, only how fast."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class KnapsackParameters:
    """The constants of the knapsack.

    - `items`: the most items that are listed, some 200 MB.
    - `cells`: the most cells, GPUs times undecided jobs, of the table of the dynamic program; beyond it HiGHS decides.
    - `steps`: the same for GPUs times undecided items.
    """

    items: int = 500_000
    cells: int = 25_000_000
    steps: int = 2_000_000_000


@dataclass(frozen=True)
class ListSearchParameters:
    """The constants of the local search over priority orders.

    - `schedules`: the most list schedules that are tried.
    - `effort`: the most schedules times the square of the number of jobs, which is about what a schedule costs.
    - `better`: share of the total by which a move must lower it; floating-point sums are off by less.
    """

    schedules: int = 3_000
    effort: int = 3_000_000
    better: float = 1e-12


@dataclass(frozen=True)
class LimitsParameters:
    """The constants of the search for limits of the event-interval program's variables.

    - `rounds`: the most rounds,
    - `few`: the last of which is one that finds fewer limits than this share of the variables.
    - `share`: share of the time left that all of them may take.
    """

    rounds: int = 3
    few: float = 0.02
    share: float = 0.3


@dataclass(frozen=True)
class MeanJctParameters:
    """The constants of the mean JCT.

    - `jobs`, `binaries`: the most jobs, and binaries for numbers of workers, of an event-interval program; beyond them
      the bound is that in closed form.
    - `late_s`: wall seconds past the time limit that the first schedule may take where no start is known.
    - `list_search`: those of the search for the schedule that the program starts from.
    - `limits`: those of the search for limits.
    """

    jobs: int = 30
    binaries: int = 20_000
    late_s: float = 1.0
    list_search: ListSearchParameters = ListSearchParameters()
    limits: LimitsParameters = LimitsParameters()


@dataclass(frozen=True)
class AnnealingParameters:
    """The constants of simulated annealing.

    - `moves`: swaps that are tried in a run.
    - `warm`, `cold`: first and last temperature, in servers.
    """

    moves: int = 1_000_000
    warm: float = 1.0
    cold: float = 0.1


@dataclass(frozen=True)
class ClosureParameters:
    """The constants of the branch and bound over closures.

    - `tries`: candidates for branching at a node.
    - `rounds`, `rounds_tried`: the most prices of a server for the bound of a node, and for that of a value tried.
    - `reliable`: a value tried so often by strong branching is judged by its mean gain afterwards,
    - `hope`: unless so many times that gain would rule it out.
    """

    tries: int = 5
    rounds: int = 50
    rounds_tried: int = 3
    reliable: int = 4
    hope: float = 1.5


@dataclass(frozen=True)
class ReclaimParameters:
    """The constants of reclaiming. Gaps are relative, between the best solution and the best bound.

    - `closures`: those of the branch and bound.
    - `short`, `long`: annealing after the linear relaxation, and before the tree.
    - `long_runs`: how often the long annealing is done.
    - `weak`: gap from which the spectral bound is tried before the tree, unless the servers are no more than
      `few_servers`.
    - `few_nodes`, `open`: below that gap the tree is tried first, for so many nodes; the spectral bound is tried after
      them where the gap is more than `open`.
    - `spectral_jobs`: the most jobs of the spectral bound, whose eigenvalue decomposition takes the cube of them.
    - `spectral_share`: share of the time left that the spectral bound may take.
    """

    closures: ClosureParameters = ClosureParameters()
    short: AnnealingParameters = AnnealingParameters(moves=30_000)
    long: AnnealingParameters = AnnealingParameters()
    long_runs: int = 2
    weak: float = 0.2
    few_servers: int = 100
    few_nodes: int = 15_000
    open: float = 0.05
    spectral_jobs: int = 700
    spectral_share: float = 0.8


@dataclass(frozen=True)
class ArylParameters:
    """The constants of `exact`, by what is solved."""

    knapsack: KnapsackParameters = field(default_factory=KnapsackParameters)
    mean_jct: MeanJctParameters = field(default_factory=MeanJctParameters)
    reclaim: ReclaimParameters = field(default_factory=ReclaimParameters)


DEFAULTS = ArylParameters()
