"""Reproduce the figures and tables of SIA's section 6, on Philly's pools instead of CloudML's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.patches import Patch

from experiments import canvas
from experiments.harness.experiment import Context, Experiment
from experiments.palette import looks
from experiments.sia import claims
from experiments.sia.accuracy import Accuracy
from experiments.sia.claims import ABLATION, BASELINES, DEMAND, ORACLE, OWNED, QUANTA, SECTION_6, SMALL, figures
from experiments.sia.comparison import (
    HELIOS_LOG,
    POOL_GPUS,
    POOL_NODES,
    PREEMPTION,
    QUANTILES,
    WARM_UP_DAYS,
    Compared,
    Comparison,
    preemptive_name,
)
from experiments.simulator.plots import cdf
from instances.arrays import FloatArray
from instances.sia import VARIANTS

PHILLY = "traces/philly.csv"
LOG = f"helios/{HELIOS_LOG}"
VALUE = ("sia-learned", *claims.COMPARED_WITH_LEARNED)
SIMULATIONS = 100  # of four queues, as in Figure 13
BY_QUEUES = {2: 12, 4: 30, 8: 10}
LOCAL_BY_QUEUES = {2: 10, 4: 10, 8: 10}
QUICK_SEEDS = {2: 21, 4: 0, 8: 0}  # with seed 21 jobs of both queues compete for idle GPUs, so their order matters
QUICK_BASE_SEED = 1  # here, too, jobs of several queues compete
SEEDS, BASE_SEEDS = 4, 7  # of each small workload, and of the first of them
PREEMPTION_SEEDS = 30  # of three days of the base workload
SYNTHETIC_SEEDS = 20  # of three days of each workload of Appendix C
PHILLY_PREEMPTION_DRAWS = 12
ON_PHILLY = ((0.25, 5.0), (0.5, 5.0), (1.0, 5.0))
"""The part of PREEMPTION that runs on draws of Philly's pools."""
FIGURE_18 = (1000, 950, 900, 850, 800)
"""Thousandths of the pools' own sizes."""
LETTERS = ((25, 75), (12.5, 87.5), (6.25, 93.75))  # percentiles of the boxes, from the widest on
METRICS = {
    "geometric_speedup": "geometric mean of speed-ups",
    "speedup_p95": "95th percentile of speed-ups",
    "total_slowdown": "total slow-down, min",
    "worst_slowdown": "worst slow-down, min",
}


def _simulations(context: Context, queues: int, count: int) -> list[Comparison]:
    """Return the simulations of section 6.1 with a number of queues."""
    seeds, trace = (QUICK_SEEDS[queues],) if context.quick else range(count), context.trace(PHILLY)
    return [Comparison("philly", (queues, seed), SECTION_6, WARM_UP_DAYS, trace, context.options) for seed in seeds]


def _compare_four(context: Context, count: int, policies: Sequence[str] = SECTION_6) -> list[Comparison]:
    """Return simulations of four queues. Quick ones have two: the first jobs of four queues seldom compete."""
    return [replace(task, policies=tuple(policies)) for task in _simulations(context, 2 if context.quick else 4, count)]


def _queues(context: Context) -> list[Comparison]:
    return [task for queues, count in BY_QUEUES.items() for task in _simulations(context, queues, count)]


def _accuracies(context: Context) -> list[Accuracy]:
    every, trace = 60.0 if context.quick else 15.0, context.trace(PHILLY)
    days = (((28.0, 80.0), (80.0, 108.0)), ((28.0, 49.0), (49.0, 63.0)))  # to train and to test
    return [Accuracy(trace, train, test, every, context.options) for train, test in days]


def _helios(context: Context) -> list[Accuracy]:
    trace, every = context.trace(DEMAND), 60.0 if context.quick else 10.0
    return [Accuracy(trace, (0.0, 21.0), (21.0, 31.0), every, context.options, QUANTA, demand=True)]


def _half_days(context: Context) -> list[Comparison]:
    return [
        Comparison("base", (name, seed), ORACLE, options=context.options)
        for name in SMALL
        for seed in range(1 if context.quick else BASE_SEEDS if name == SMALL[0] else SEEDS)
    ]


def _four_queues(context: Context) -> list[Comparison]:
    policies, count = ("mmfs", "sia-perfect", "sia-sliding", "sia-vc"), 1 if context.quick else 5
    return [Comparison("four-queues", (seed,), policies, WARM_UP_DAYS, None, context.options) for seed in range(count)]


def _compare_all_pools(
    trace: str, per_mille: Sequence[int], policies: tuple[str, ...], context: Context
) -> list[Comparison]:
    """Return the runs of all pools at shares of their sizes, a quick one at the first alone."""
    shares, path = per_mille[:1] if context.quick else per_mille, context.trace(trace)
    return [Comparison("all-pools", (s, 0), policies, WARM_UP_DAYS, path, context.options) for s in shares]


def _local(context: Context) -> list[Comparison]:
    trace = context.trace(PHILLY)
    return [
        Comparison("philly-local", (queues, seed), claims.WITH_LOCALITY, WARM_UP_DAYS, trace, context.options)
        for queues, count in LOCAL_BY_QUEUES.items()
        for seed in range(1 if context.quick else count)
    ]


def _preemptive(given: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    names = [preemptive_name(kind, *one) for kind in ("perfect", "sliding") for one in given]
    return ("sia-perfect", "sia-sliding", *names)


def _preemption(context: Context) -> list[Comparison]:
    policies, seeds = _preemptive(PREEMPTION), (QUICK_BASE_SEED,) if context.quick else range(PREEMPTION_SEEDS)
    return [Comparison("base-days", ("base", seed), policies, options=context.options) for seed in seeds]


def _three_days(context: Context) -> list[Comparison]:
    """Return the workloads of Appendix C, three days each."""
    seeds = (QUICK_BASE_SEED,) if context.quick else range(SYNTHETIC_SEEDS)
    given = [(variant, seed) for variant in VARIANTS for seed in seeds]
    return [Comparison("base-days", one, claims.FIGURE_24, options=context.options) for one in given]


Draw = Callable[[Path, Context, Sequence[Compared]], None]


def _metric_cdfs(policies: Sequence[str], metrics: Sequence[str], over: str, size: tuple[float, float]) -> Draw:
    """Return the drawing of CDFs over workloads, one panel a metric and one line a policy."""

    def draw(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
        every = [outcome for outcome in outcomes if set(policies) <= set(outcome.figures)]
        side = len(metrics) // 2 or 1
        figure, axes = canvas.canvas(*size, side, side)
        look = looks(policies)
        for place, key in zip(axes, metrics, strict=True):
            values = {name: np.array(figures(every, name, key)) for name in policies}
            for name in policies:
                cdf(place, values[name], label=name, **canvas.style_line(look[name]))
            place.set(xlabel=METRICS[key], ylabel=f"share of {over}", ylim=(0, 1))
            _scale_axis(place, "x", key, np.concatenate(list(values.values())))
        canvas.legend(figure)
        canvas.save_all(figure, path)

    return draw


def _letter_values(policies: Sequence[str]) -> Draw:
    """Return the drawing of boxes of percentiles over the simulations, by number of queues."""

    def draw(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
        groups, look = claims.group_by_queues(outcomes), looks(policies)
        figure, axes = canvas.canvas(10, 4.4, 1, 2)
        for place, key in zip(axes, ("geometric_speedup", "total_slowdown"), strict=True):
            every = []
            for i, group in enumerate(groups.values()):
                for j, name in enumerate(policies):
                    every.append(np.array(figures(group, name, key)))
                    at = i + (j - (len(policies) - 1) / 2) * 0.8 / len(policies)
                    _boxes(place, at, 0.7 / len(policies), every[-1], canvas.style_area(look[name]))
            place.set(ylabel=METRICS[key], xticks=range(len(groups)))
            place.set_xticklabels([f"{queues} queues" for queues in groups])
            _scale_axis(place, "y", key, np.concatenate(every))
        percentiles = ", ".join(f"{low:g} to {high:g}" for low, high in LETTERS)
        figure.suptitle(f"over simulations: boxes from percentile {percentiles}; bar: median", fontsize=9)
        canvas.legend(figure, handles=[Patch(label=name, **canvas.style_area(look[name])) for name in policies])
        canvas.save_all(figure, path)

    return draw


def _boxes(place: Any, x: float, width: float, values: FloatArray, style: Mapping[str, Any]) -> None:
    for k, (low, high) in enumerate(LETTERS):
        bottom, top = np.percentile(values, [low, high])
        place.bar(x, top - bottom, width * 0.7**k, bottom, alpha=0.5, **style)
    place.plot([x], [np.median(values)], "k_", markersize=4)


def _scale_axis(place: Any, side: Literal["x", "y"], key: str, values: FloatArray) -> None:
    """Make an axis logarithmic, with a zero for slow-downs."""
    if "slowdown" in key:
        canvas.from_zero(place, side, values.tolist())
    else:
        canvas.logarithmic(place, side)


def _draw_11(path: Path, context: Context, outcomes: Sequence[Compared]) -> None:
    """Draw the distribution of speed-ups over the jobs, with quantiles averaged over the draws."""
    policies = ("mmfs", "sia-sliding", "sia-perfect")
    figure, (axes,) = canvas.canvas(6, 4.2)
    look = looks(policies)
    for name in policies:
        values = np.exp(np.mean([o.figures[name]["quantiles"] for o in outcomes], axis=0))
        axes.step(values, QUANTILES, where="post", label=name, **canvas.style_line(look[name]))
    axes.axvline(1, color="0.7", linewidth=0.8, zorder=0)
    axes.set(xlabel="speed-up of a job against fcfs", ylabel="share of jobs", ylim=(0, 1))
    canvas.logarithmic(axes, "x")
    canvas.legend(figure)
    canvas.save_all(figure, path)


COMPARED = (*BASELINES, "sia-learned", "sia-perfect")
SMALL_POLICIES = ("oracle", "sia-vc", "safe-ssf", "sia-fine", "sia-perfect")
_draw_13 = _metric_cdfs(COMPARED, tuple(METRICS), "simulations", (10, 6.8))
_draw_15b = _metric_cdfs(SMALL_POLICIES, ("geometric_speedup",), "workloads", (6, 4.2))
BOTH = (PHILLY, f"traces/{POOL_NODES}")
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("figure-11", "Figure 11: per-job speed-ups", _four_queues, claims.figure_11, draw=_draw_11),
    Experiment("table-12", "Table 12: four queues", _four_queues, claims.table_12),
    Experiment("figure-15b", "Figure 15b: the oracle, small workloads", _half_days, claims.figure_15b, draw=_draw_15b),
    Experiment("figure-24", "Figures 5 and 24: synthetic workloads", _three_days, claims.figure_24),
    Experiment("predictions", "Tables 10, 20, 23: predictions", _accuracies, claims.predictions, (PHILLY,)),
    Experiment(
        "table-17", "Table 17: all pools at their own sizes",
        partial(_compare_all_pools, PHILLY, (500, 300), ("mmfs", "sia-perfect", "sia-sliding")), claims.table_17, BOTH,
    ),
    Experiment("helios", "Helios: what its public demand shows", _helios, claims.helios, (DEMAND, OWNED)),
    Experiment(
        "value", "What predictions buy in the scheduler", partial(_compare_four, count=BY_QUEUES[4], policies=VALUE),
        claims.value, (PHILLY,),
    ),
    Experiment(
        "figure-14", "Figure 14: more and fewer queues", _queues, claims.figure_14, (PHILLY,), _letter_values(COMPARED)
    ),
    Experiment(
        "figure-15a", "Figure 15a: the ablation", _queues, claims.figure_15a, (PHILLY,),
        _letter_values(("sia-learned", *ABLATION)),
    ),
    Experiment(
        "figure-13", "Figure 13: four queues, many simulations", partial(_compare_four, count=SIMULATIONS),
        claims.figure_13, (PHILLY,), _draw_13,
    ),
    Experiment("preemption", "Section 5.5: partial preemption", _preemption, claims.preemption),
    Experiment(
        "preemption-philly", "Section 5.5 on Philly: partial preemption",
        partial(_compare_four, count=PHILLY_PREEMPTION_DRAWS, policies=_preemptive(ON_PHILLY)),
        partial(claims.preemption, given=ON_PHILLY), (PHILLY,),
    ),
    Experiment(
        "figure-18", "Table 17 and Figure 18: Helios' pools at their own sizes and smaller",
        partial(_compare_all_pools, LOG, FIGURE_18, ("mmfs", "sia-perfect", "sia-sliding", "sia-learned")),
        claims.figure_18, (LOG, f"helios/{POOL_GPUS}"),
    ),
    Experiment("figure-16", "Figure 16: locality", _local, claims.figure_16, (PHILLY,), _letter_values(claims.LOCAL)),
)  # fmt: skip
