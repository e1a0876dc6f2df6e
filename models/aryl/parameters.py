"""The parameters of Aryl's exact methods. They change the run time, and not what is proven."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class KnapsackParameters:
    """Parameters of the knapsack.

    - `items`: maximum number of items; they take about 200 MB.
    - `cells`: maximum size of the dynamic-programming table, in GPUs times undecided jobs; HiGHS solves larger
      problems.
    - `steps`: maximum number of its operations, in GPUs times undecided items.
    """

    items: int = 500_000
    cells: int = 25_000_000
    steps: int = 2_000_000_000


@dataclass(frozen=True)
class ListSearchParameters:
    """Parameters of the local search over priority orders.

    - `schedules`: maximum number of list schedules.
    - `effort`: maximum number of schedules times the square of the number of jobs, to which their run time is
      proportional.
    - `better`: minimum relative improvement of a move; it exceeds the rounding error of the sums.
    """

    schedules: int = 3_000
    effort: int = 3_000_000
    better: float = 1e-12


@dataclass(frozen=True)
class LimitsParameters:
    """Parameters of the bound tightening of the event-interval program.

    - `rounds`: maximum number of rounds.
    - `few`: a round that finds fewer limits than this share of the variables is the last one.
    - `share`: share of the remaining time for all rounds.
    """

    rounds: int = 3
    few: float = 0.02
    share: float = 0.3


@dataclass(frozen=True)
class MeanJctParameters:
    """Parameters of the mean JCT.

    - `jobs`, `binaries`: maximum number of jobs, and of binaries for numbers of workers, of an event-interval program;
      larger instances get the bound in closed form.
    - `late_s`: CPU seconds after the time limit that the first schedule may take if there is no start.
    - `list_search`: parameters of the search for the first schedule.
    - `limits`: parameters of the bound tightening.
    """

    jobs: int = 30
    binaries: int = 20_000
    late_s: float = 1.0
    list_search: ListSearchParameters = ListSearchParameters()
    limits: LimitsParameters = LimitsParameters()


@dataclass(frozen=True)
class AnnealingParameters:
    """Parameters of simulated annealing.

    - `moves`: number of swaps in a run.
    - `warm`, `cold`: first and last temperature, in servers.
    """

    moves: int = 1_000_000
    warm: float = 1.0
    cold: float = 0.1


@dataclass(frozen=True)
class ClosureParameters:
    """Parameters of the branch and bound over closures.

    - `tries`: number of candidates for branching at a node.
    - `rounds`, `trial_rounds`: maximum number of prices for the bound of a node, and in strong branching.
    - `reliable`: number of trials after which a value of a job is judged by its mean gain.
    - `hope`: a value is tried nevertheless if this multiple of its mean gain would prune it.
    """

    tries: int = 5
    rounds: int = 50
    trial_rounds: int = 3
    reliable: int = 4
    hope: float = 1.5


@dataclass(frozen=True)
class ReclaimParameters:
    """Parameters of reclaiming. Gaps are relative, between the best solution and the best bound.

    - `closures`: parameters of the branch and bound.
    - `short`, `long`: annealing after the linear relaxation, and before the tree.
    - `long_runs`: number of runs of the long annealing.
    - `weak`: above this gap, the spectral bound comes before the tree, unless there are at most `few_servers` servers.
    - `few_nodes`: number of nodes of the tree before the spectral bound, up to the gap `weak`.
    - `open`: the spectral bound is skipped up to this gap.
    - `spectral_jobs`: maximum number of jobs of the spectral bound; its run time grows with their cube.
    - `spectral_share`: share of the remaining time for the spectral bound.
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
    """Parameters of `exact`, by problem."""

    knapsack: KnapsackParameters = field(default_factory=KnapsackParameters)
    mean_jct: MeanJctParameters = field(default_factory=MeanJctParameters)
    reclaim: ReclaimParameters = field(default_factory=ReclaimParameters)


DEFAULTS = ArylParameters()
