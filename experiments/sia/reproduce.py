"""Reproduce the figures and tables of SIA's section 6, on Philly's pools instead of CloudML's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.harness.experiment import Context, Experiment
from experiments.sia import claims
from experiments.sia.accuracy import Accuracy
from experiments.sia.claims import (
    ABLATION,
    BASELINES,
    DEMAND,
    ORACLE,
    OWNED,
    QUANTA,
    SECTION_6,
    SMALL,
    helios,
    predictions,
)
from experiments.sia.claims import TEST as HELIOS_TEST
from experiments.sia.claims import TRAIN as HELIOS_TRAIN
from experiments.sia.comparison import POOL_GPUS, POOL_NODES, WARM_UP_DAYS, Compared, Comparison
from experiments.sia.pictures_of_section_6 import letter_values, metric_cdfs, oracle_gains, speedup_quantiles
from experiments.sia.policies import HELIOS_LOG, PREEMPTION, preemptive_name

PHILLY = "traces/philly.csv"
VALUE = (
    "sia-sliding",
    "sia-persistence",
    "sia-perfect-arrivals",
    "sia-perfect",
    "sia-learned",
    "sia-learned-durations",
)
SIMULATIONS = 100  # of four queues, as in Figure 13
BY_QUEUES = {2: 12, 4: 30, 8: 10}
QUICK_SEEDS = {2: 21, 4: 0, 8: 0}  # with seed 21 jobs of both queues compete for idle GPUs, so their order matters
QUICK_BASE_SEED = 1  # here, too, jobs of several queues compete
LOCAL_BY_QUEUES = {2: 10, 4: 10, 8: 10}
SEEDS, BASE_SEEDS = 4, 7  # of each small workload, and of the first of them
PREEMPTION_SEEDS = 30  # of three days of the base workload
PHILLY_PREEMPTION_DRAWS = 12
ON_PHILLY = ((0.25, 5.0), (0.5, 5.0), (1.0, 5.0))
"""The part of PREEMPTION that runs on draws of Philly's pools."""
LOG = f"helios/{HELIOS_LOG}"
FIGURE_18 = (1000, 950, 900, 850, 800)
"""Thousandths of the pools' own sizes."""
TRAIN, TEST = (28.0, 80.0), (80.0, 108.0)
SHORT_TRAIN, SHORT_TEST = (28.0, 49.0), (49.0, 63.0)


def simulations(context: Context, queues: int, count: int) -> list[Comparison]:
    """Return the simulations of section 6.1 with a number of queues."""
    seeds, trace = (QUICK_SEEDS[queues],) if context.quick else range(count), context.trace(PHILLY)
    return [Comparison("philly", (queues, seed), SECTION_6, WARM_UP_DAYS, trace, context.options) for seed in seeds]


def _simulations_of_four(context: Context, count: int) -> list[Comparison]:
    """Return simulations of four queues. Quick ones have two: the first jobs of four queues seldom compete."""
    return simulations(context, 2 if context.quick else 4, count)


def _accuracies(context: Context) -> list[Accuracy]:
    every = 60.0 if context.quick else 15.0
    trace = context.trace(PHILLY)
    return [
        Accuracy(trace, TRAIN, TEST, every, context.options),
        Accuracy(trace, SHORT_TRAIN, SHORT_TEST, every, context.options),
    ]


def _helios(context: Context) -> list[Accuracy]:
    trace, every = context.trace(DEMAND), 60.0 if context.quick else 10.0
    return [Accuracy(trace, HELIOS_TRAIN, HELIOS_TEST, every, context.options, QUANTA, demand=True)]


def _half_days(context: Context) -> list[Comparison]:
    return [
        Comparison("base", (name, seed), ORACLE, options=context.options)
        for name in SMALL
        for seed in range(1 if context.quick else BASE_SEEDS if name == SMALL[0] else SEEDS)
    ]


def _four_queues(context: Context) -> list[Comparison]:
    policies = ("mmfs", "sia-perfect", "sia-sliding", "sia-vc")
    count = 1 if context.quick else 5
    return [Comparison("four-queues", (seed,), policies, WARM_UP_DAYS, None, context.options) for seed in range(count)]


def _all_pools(context: Context) -> list[Comparison]:
    policies, trace = ("mmfs", "sia-perfect", "sia-sliding"), context.trace(PHILLY)
    shares = (500,) if context.quick else (500, 300)
    return [Comparison("all-pools", (s, 0), policies, WARM_UP_DAYS, trace, context.options) for s in shares]


def _helios_pools(context: Context) -> list[Comparison]:
    policies, trace = ("mmfs", "sia-perfect", "sia-sliding", "sia-learned"), context.trace(LOG)
    shares = (1000,) if context.quick else FIGURE_18
    return [Comparison("all-pools", (s, 0), policies, WARM_UP_DAYS, trace, context.options) for s in shares]


def _queues(context: Context) -> list[Comparison]:
    return [task for queues, count in BY_QUEUES.items() for task in simulations(context, queues, count)]


def _local(context: Context) -> list[Comparison]:
    trace = context.trace(PHILLY)
    return [
        Comparison("philly-local", (queues, seed), claims.WITH_LOCALITY, WARM_UP_DAYS, trace, context.options)
        for queues, count in LOCAL_BY_QUEUES.items()
        for seed in range(1 if context.quick else count)
    ]


def _preemption(context: Context) -> list[Comparison]:
    names = [preemptive_name(kind, *given) for kind in ("perfect", "sliding") for given in PREEMPTION]
    policies = ("sia-perfect", "sia-sliding", *names)
    seeds = (QUICK_BASE_SEED,) if context.quick else range(PREEMPTION_SEEDS)
    return [Comparison("base-days", ("base", seed), policies, options=context.options) for seed in seeds]


def _philly_preemption(context: Context) -> list[Comparison]:
    names = [preemptive_name(kind, *given) for kind in ("perfect", "sliding") for given in ON_PHILLY]
    tasks = _simulations_of_four(context, PHILLY_PREEMPTION_DRAWS)
    return [replace(task, policies=("sia-perfect", "sia-sliding", *names)) for task in tasks]


def _draw_16(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    letter_values(path, claims.by_queues(outcomes), claims.LOCAL)


def _draw_14(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    letter_values(path, claims.by_queues(outcomes), (*BASELINES, "sia-learned", "sia-perfect"))


def _draw_15a(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    letter_values(path, claims.by_queues(outcomes), ("sia-learned", *ABLATION))


def _draw_13(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    metric_cdfs(path, outcomes, (*BASELINES, "sia-learned", "sia-perfect"))


def _draw_11(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    speedup_quantiles(path, outcomes, ("mmfs", "sia-sliding", "sia-perfect"))


def _draw_15b(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    oracle_gains(
        path,
        [o for o in outcomes if "oracle" in o.figures],
        ("oracle", "sia-vc", "safe-ssf", "sia-fine", "sia-perfect"),
    )


def _four(context: Context) -> list[Comparison]:
    return _simulations_of_four(context, SIMULATIONS)


def _valued(context: Context) -> list[Comparison]:
    return [replace(task, policies=VALUE) for task in _simulations_of_four(context, BY_QUEUES[4])]


BOTH = (PHILLY, f"traces/{POOL_NODES}")
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("figure-11", "Figure 11: per-job speed-ups", _four_queues, claims.figure_11, draw=_draw_11),
    Experiment("table-12", "Table 12: four queues", _four_queues, claims.table_12),
    Experiment("figure-15b", "Figure 15b: the oracle, small workloads", _half_days, claims.figure_15b, draw=_draw_15b),
    Experiment("predictions", "Tables 10, 20, 23: predictions", _accuracies, predictions, (PHILLY,)),
    Experiment("table-17", "Table 17: all pools at their own sizes", _all_pools, claims.table_17, BOTH),
    Experiment("helios", "Helios: what its public demand shows", _helios, helios, (DEMAND, OWNED)),
    Experiment("value", "What predictions buy in the scheduler", _valued, claims.value, (PHILLY,)),
    Experiment("figure-14", "Figure 14: more and fewer queues", _queues, claims.figure_14, (PHILLY,), _draw_14),
    Experiment("figure-15a", "Figure 15a: the ablation", _queues, claims.figure_15a, (PHILLY,), _draw_15a),
    Experiment("figure-13", "Figure 13: four queues, many simulations", _four, claims.figure_13, (PHILLY,), _draw_13),
    Experiment("preemption", "Section 5.5: partial preemption", _preemption, claims.preemption),
    Experiment(
        "preemption-philly",
        "Section 5.5 on Philly: partial preemption",
        _philly_preemption,
        partial(claims.preemption, given=ON_PHILLY),
        (PHILLY,),
    ),
    Experiment(
        "figure-18",
        "Table 17 and Figure 18: Helios' pools at their own sizes and smaller",
        _helios_pools,
        claims.figure_18,
        (LOG, f"helios/{POOL_GPUS}"),
    ),
    Experiment("figure-16", "Figure 16: locality", _local, claims.figure_16, (PHILLY,), _draw_16),
)
