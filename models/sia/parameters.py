"""The constants of the exact method for `sia-oracle`, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OracleParameters:
    """The constants of the exact method; none changes what is proven, only how fast.

    Sizes:

    - `most_starts`: starts in all windows beyond which no model is built.
    - `most_open_starts`: open starts beyond which the model of all starts is not built.
    - `most_steps`: horizon beyond which no schedule is looked at step by step.
    - `many_starts`: starts from which a good schedule is sought, and windows narrowed by it, before a model is built.
    - `most_units`: most units of GPUs that a row counts, so that a solver's tolerances are below one unit.
    - `small_weight`: fairness weights below this one are the unit of the time-indexed model's costs.

    Parts:

    - `order_jobs`, `order_looks`: jobs of a part up to which all orders are tried, and looks at a stretch of use after
      which that is given up.
    - `part_starts`: starts in the windows of a part up to which it is tried by itself.
    - `part_effort`: most turns, and most nodes, of such a try.

    Turns of cuts and search:

    - `cutting_share`, `searching_share`: most shares of the time left for the cuts and for the search of one turn.
    - `patience`, `patience_gain`: in so many rounds of cuts the bound has to gain this share of the distance between
      schedule and bound, or the turn's cuts end.
    - `turn_gain`: share of that distance that a turn has to gain to be followed by another.
    - `worth_searching`: distance, in steps, from which schedules are sought.
    - `draws`: starts drawn from the relaxation, of which the best are searched from.
    - `failures_few`: searches in a row without a better schedule that end a turn's search.
    - `failures_first`, `failures_many`, `failures_last`: the same where there are more candidate starts than
      `moderate_candidates`: in the search before the cuts, in that of a turn, and in that behind the turns.
    - `last_share`: most share of the time left for the search behind the turns.

    Relaxation:

    - `bound_accuracy`: distance from bound to value at which column generation ends, as a share of the distance from
      value to schedule.
    - `missing_rows`: share of the rows that may still be missing then.
    - `new_columns`: most new columns of a job in a round, and least distance between their starts.
    - `new_rows`: most new rows of a stretch of overfull slots in a round.
    - `new_cuts`: most new cuts in a round.
    - `tolerance`: reduced costs and violations below this one are taken for none.

    Cuts:

    - `least_violation`: violation, as a share of a job, from which a cut is added.
    - `later_pieces`: later pieces of a job that each piece is paired with, and most cuts for one touching job.
    - `intervals_at_once`: intervals that are separated together, which bounds memory.
    - `most_divisors`, `most_remainders`: divisors, and remainders of each, that are tried.

    Tree over starts:

    - `moderate_candidates`: candidate starts up to which the tree begins without further turns.
    - `node_cuts`: most rounds of cuts at a node.
    - `proof_nodes`: most nodes of a certificate.

    Neighbourhood search:

    - `first_tries`: tries for each job in a batch, with fairness.
    - `tries`: the same without, in the first search, and in those that follow one by one until the
      schedule is near the bound.
    - `batches`: batches of a search.
    - `warm`, `cold`: temperatures at the start and the end of a batch, in mean durations.
    - `slice_tries`, `slice_steps`: tries between two looks at the clock; fewer where they take more than so many steps.
    - `moved_jobs`: jobs that a try moves, about.
    - `repairs`, `repair_step`: attempts to keep all cut-offs in a given order of jobs, and mean durations by which a
      late job is moved ahead.
    - `sizes`: numbers of jobs, one of which is drawn, that a try takes out beside a job that waits.
    - `elsewhere`, `most_between`: share of tries that move a job to a distant place in the order of starts, and most
      jobs that such a try takes out.
    - `try_repairs`: attempts of one try to keep the cut-offs by putting a late job first.

    Annealing with penalties:

    - `penalty_tries`: tries for each job.
    - `penalty_slices`, `penalty_steps`: temperatures, between which the clock is looked at, and most steps of time that
      the tries at one look at.
    - `penalty_warm`, `penalty_cold`: temperatures at the start and the end, in mean durations.
    - `penalty_soft`, `penalty_hard`: penalties for a GPU too many at the start and the end, in steps of delay a step.
    - `penalty_pace`: scale of the moves of a job to a start near by, in mean durations.
    - `fair_warm`, `fair_cold`, `fair_tries`, `fair_penalty`: with fairness, temperatures at the start of one search
      each, at the end of all, tries for each job, and the penalty throughout.

    Search among the best schedules:

    - `elite`: most schedules that are kept.
    - `first_draws`: searches of a turn that begin with starts drawn from the relaxation, before others begin with
      schedules.
    - `settled_begin`: least and most share of the temperatures that the annealing with penalties leaves out.
    - `settled_warm`, `settled_tries`: temperature at the start of the neighbourhood search that follows, in mean
      durations, and its tries for each job.
    - `drawn`: share of the later searches that begin so all the same.
    - `stretch`: least and most length, in mean durations, of a stretch of time that a search begins anew.
    - `alike`: schedules whose starts differ by less than this share of the delay are alike: the better one is kept.

    Volume algorithm, for prices with fairness in the objective and at the nodes of trees:

    - `few_starts`, `most_priced_steps`: starts up to which, and steps beyond which, HiGHS is given the model with
      fairness at once.
    - `price_rounds`: most rounds with fairness.
    - `node_rounds`: most rounds between two additions of rows and cuts at a node.
    - `priced_starts`: open starts a job, on average, from which on a bound is sought so, and not by the linear program.
    - `price_margin`: part of a step by which a bound is to exceed what is enough, before prices are rounded.
    - `least_share`: share in the average from which a start counts.
    - `least_excess`: excess, as a share of a job, from which the average is taken to break a row or a cut.
    - `price_step`, `price_least_step`: first step, and the one at which the rounds end, as a share of Polyak's step.
    - `price_growth`, `price_decay`, `price_failures`: factors of the step after a gain, and after so many failures.
    - `price_weight`: weight of the latest subgradient in the direction.
    """

    most_starts: int = 5_000_000
    most_open_starts: int = 1_000_000
    most_steps: int = 20_000_000
    many_starts: int = 1_000_000
    most_units: int = 100_000
    small_weight: float = 1e-3

    order_jobs: int = 100
    order_looks: int = 60_000_000
    part_starts: int = 5_000
    part_effort: int = 20

    cutting_share: float = 0.5
    searching_share: float = 0.4
    patience: int = 5
    patience_gain: float = 0.005
    turn_gain: float = 0.1
    worth_searching: int = 20
    draws: int = 24
    failures_few: int = 1
    failures_first: int = 6
    failures_many: int = 40
    failures_last: int = 80
    last_share: float = 0.95

    bound_accuracy: float = 0.002
    missing_rows: float = 0.02
    new_columns: int = 3
    new_rows: int = 12
    new_cuts: int = 300
    tolerance: float = 1e-6

    least_violation: float = 1e-3
    later_pieces: int = 3
    intervals_at_once: int = 1_500
    most_divisors: int = 16
    most_remainders: int = 64

    moderate_candidates: int = 12_000
    node_cuts: int = 2
    proof_nodes: int = 4_000

    first_tries: int = 200
    tries: tuple[int, ...] = (20, 100, 500)
    batches: int = 2
    warm: float = 0.4
    cold: float = 0.007
    slice_tries: int = 10_000
    slice_steps: float = 1e9
    moved_jobs: int = 20
    repairs: int = 1_000
    repair_step: float = 0.7
    sizes: tuple[int, ...] = (2, 4, 8, 12)
    elsewhere: float = 0.15
    most_between: int = 150
    try_repairs: int = 3

    penalty_tries: int = 5_000
    penalty_slices: int = 200
    penalty_steps: float = 1e8
    penalty_warm: float = 2.0
    penalty_cold: float = 0.03
    penalty_soft: float = 8.0
    penalty_hard: float = 200.0
    fair_penalty: float = 40.0
    penalty_pace: float = 0.4
    fair_warm: tuple[float, ...] = (0.6, 0.3, 0.15, 0.08, 0.04)
    fair_cold: float = 1e-3
    fair_tries: int = 10_000

    elite: int = 8
    first_draws: int = 8
    settled_begin: tuple[float, float] = (0.4, 0.9)
    settled_warm: float = 0.07
    settled_tries: int = 200
    drawn: float = 0.1
    stretch: tuple[float, float] = (1.2, 30.0)
    alike: float = 0.1

    few_starts: int = 1_000
    most_priced_steps: int = 1_000_000
    price_rounds: int = 3_000
    node_rounds: int = 200
    priced_starts: int = 25
    price_step: float = 0.1
    price_least_step: float = 1e-4
    price_growth: float = 1.1
    price_decay: float = 0.7
    price_failures: int = 10
    price_weight: float = 0.1
    price_margin: float = 0.01
    least_share: float = 0.02
    least_excess: float = 0.02


DEFAULTS = OracleParameters()
