"""Parameters of the exact method for `sia-oracle`. They affect its speed, never the validity of its bounds.

A *round* is one round of cuts and search (`cutting_loop`). Time shares are shares of the remaining time. Temperatures
are in mean job durations, penalties in steps of delay per excess GPU and step.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OracleParameters:
    """Parameters of the exact method, grouped by its stages."""

    # Sizes
    max_starts: int = 5_000_000  # above this number of starts in all windows, no model is built
    max_open_starts: int = 1_000_000  # above this number of open starts, HiGHS is not given the complete model
    max_steps: int = 20_000_000  # above this horizon, no array over all steps is created
    narrowing_starts: int = 1_000_000  # above this number of starts, a first schedule shortens the windows
    max_units: int = 100_000  # units of GPUs that a row counts; keeps solver tolerances below one unit
    small_weight: float = 1e-3  # below this fairness weight, costs are scaled to stay above solver tolerances

    # Components
    enumeration_jobs: int = 100  # largest component whose start sequences are enumerated
    enumeration_limit: int = 60_000_000  # inspected intervals of the GPU use after which the enumeration stops
    component_starts: int = 5_000  # largest component that is proven separately from the others
    component_effort: int = 20  # limit of rounds, and of nodes, for such a component

    # Rounds of cuts and search
    cutting_share: float = 0.5  # time share of the cuts of a round
    searching_share: float = 0.4  # time share of the search of a round
    cut_patience: int = 5  # iterations of cuts in which the bound has to gain `cut_patience_gain`
    cut_patience_gain: float = 0.005  # required gain, as a share of the gap between schedule and bound
    round_gain: float = 0.1  # share of the gap that a round has to close to be followed by another
    min_search_gap: int = 20  # gap in steps from which on schedules are searched
    draws: int = 24  # samples of the relaxation, of which the search takes the best
    failures_few: int = 1  # consecutive searches without gain that end the search of a round
    failures_first: int = 6  # the same before the cuts, with more than `max_tree_candidates`
    failures_many: int = 40  # the same in a round, with more than `max_tree_candidates`
    failures_last: int = 80  # the same after the last round, with more than `max_tree_candidates`
    last_share: float = 0.95  # time share of the search after the last round

    # Relaxation
    bound_accuracy: float = 0.002  # column generation ends at this share of the gap between LP value and schedule
    missing_row_share: float = 0.02  # violated rows that may remain then, as a share of the rows
    max_new_columns: int = 3  # new columns per job and iteration, whose starts also differ by more than this number
    max_new_rows: int = 12  # new capacity rows per overloaded interval and iteration
    max_new_cuts: int = 300  # new cuts per iteration
    tolerance: float = 1e-6  # smaller reduced costs, violations and LP values count as zero

    # Cuts
    min_violation: float = 1e-3  # smallest violation of a cut, in units of one job
    later_pieces: int = 3  # later pieces of a job paired with each piece, and cuts per overlapping job
    interval_batch: int = 1_500  # intervals separated at once, which bounds memory
    max_divisors: int = 16  # divisors tried
    max_remainders: int = 64  # remainders tried per divisor

    # Tree over starts
    max_tree_candidates: int = 12_000  # up to this number of candidate starts, the tree begins without more rounds
    max_node_cuts: int = 2  # iterations of cuts per node
    max_proof_nodes: int = 4_000  # nodes of a certificate

    # Large-neighbourhood search
    first_tries: int = 200  # tries per job and batch, with fairness
    tries: tuple[int, ...] = (20, 100, 500)  # the same without fairness, in successive searches
    batches: int = 2  # annealing runs per search
    warm: float = 0.4  # initial temperature of a batch
    cold: float = 0.007  # final temperature of a batch
    slice_tries: int = 10_000  # largest number of tries between two checks of the clock
    slice_steps: float = 1e9  # largest number of array steps between two checks of the clock
    moved_jobs: int = 20  # approximate number of jobs per try, for `slice_steps`
    repairs: int = 1_000  # attempts to keep all cut-offs in a given order of jobs
    repair_step: float = 0.7  # mean durations by which a late job moves forward in the order
    move_sizes: tuple[int, ...] = (2, 4, 8, 12)  # numbers of jobs removed with a waiting job
    relocation_share: float = 0.15  # share of tries that move a job to a distant position in the order of starts
    max_between: int = 150  # jobs that such a try removes at most
    move_repairs: int = 3  # attempts of a try to keep the cut-offs

    # Annealing with penalties
    penalty_tries: int = 5_000  # tries per job
    penalty_slices: int = 200  # temperatures, between which the clock is checked
    penalty_steps: float = 1e8  # largest number of array steps at one temperature
    penalty_warm: float = 2.0  # initial temperature
    penalty_cold: float = 0.03  # final temperature
    penalty_soft: float = 8.0  # initial penalty
    penalty_hard: float = 200.0  # final penalty
    penalty_pace: float = 0.4  # scale of small moves, in mean durations
    fair_warm: tuple[float, ...] = (0.6, 0.3, 0.15, 0.08, 0.04)  # initial temperatures of the searches with fairness
    fair_cold: float = 1e-3  # final temperature with fairness
    fair_tries: int = 10_000  # tries per job with fairness
    fair_penalty: float = 40.0  # constant penalty with fairness

    # Elite search
    elite_size: int = 8  # schedules kept
    first_draws: int = 8  # first searches of a round, which begin with samples of the relaxation
    elite_begin: tuple[float, float] = (0.4, 0.9)  # range of the share of temperatures that is skipped
    elite_warm: float = 0.07  # initial temperature of the neighbourhood search that follows
    elite_tries: int = 200  # tries per job of this neighbourhood search
    draw_share: float = 0.1  # share of the later searches that also begin with samples
    neighbourhood: tuple[float, float] = (1.2, 30.0)  # range of lengths of rescheduled intervals, in mean durations
    min_elite_distance: float = 0.1  # smallest distance of kept schedules, as a share of the delay

    # Subgradient ascent (volume algorithm), with fairness and at nodes of the tree
    fair_min_starts: int = 1_000  # up to this number of starts, HiGHS solves the model with fairness immediately
    fair_max_steps: int = 1_000_000  # above this horizon, too
    fair_ascent_rounds: int = 3_000  # iterations with fairness
    node_ascent_rounds: int = 200  # iterations at a node between two additions of rows and cuts
    ascent_starts_per_job: int = 25  # open starts per job from which on a node is bounded without linear programs
    ascent_margin: float = 0.01  # steps above the target, so that rounding the multipliers does not lose the bound
    min_average_share: float = 0.02  # smallest share of a start in the average solution that counts
    min_average_excess: float = 0.02  # smallest violation of the average solution that counts, in units of one job
    ascent_step: float = 0.1  # initial step length, as a share of Polyak's step
    min_ascent_step: float = 1e-4  # step length at which the iterations end
    ascent_growth: float = 1.1  # factor of the step length after a gain
    ascent_decay: float = 0.7  # factor of the step length after `ascent_failures` iterations without gain
    ascent_failures: int = 10  # iterations without gain before the step length decreases
    ascent_weight: float = 0.1  # weight of the latest solution in the average


DEFAULTS = OracleParameters()
