"""Every policy of the renting world against the bound that none beats, on the samples of newTrace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.boa.plan_study import AT, BUDGETS, SAMPLES, bounds_of, over_bound, sampled, told
from experiments.boa.renting_runs import OBJECTIVES, Curve, autoscaled, few, fixed_widths, tasks_of, with_points
from experiments.harness.experiment import Claim, Context, Experiment

BUDGETED = (
    "exact",
    "acquiring-exact",
    "width-calculator",
    "one-width",
    "pollux-sum",
    "pollux-mean",
    "equal-split",
    "fifo",
)
"""Policies that are given a budget; `equal-split`, `fifo` and Pollux without autoscaling have a cluster of its size."""


def compared(context: Context) -> list[list[Curve]]:
    """On each sample every policy: over budgets, over what it aims at, or once, as wide as was asked."""
    return [
        [
            *(fixed_widths(context, context.trace(name), policy, AT) for policy in BUDGETED),
            *(autoscaled(context, context.trace(name), objective) for objective in OBJECTIVES),
            fixed_widths(context, context.trace(name), "requested", AT[:1]),
        ]
        for name in sampled(context)
    ]


def with_runs(context: Context, outcomes: Sequence[Any]) -> list[list[Curve]]:
    """The same with the points of their outcomes."""
    samples = compared(context)
    found = iter(with_points([curve for sample in samples for curve in sample], outcomes))
    return [[next(found) for _ in sample] for sample in samples]


def claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    samples = with_runs(context, outcomes)
    bounds = bounds_of(samples)
    found = []
    for k, curve in enumerate(samples[0]):
        for place, title in enumerate(_titles(context, curve)):
            points = [sample[k].points[place] for sample in samples]
            more = f"; it rents {fmean(point.rented for point in points):.0f} GPUs"
            found.append(told(f"{curve.label}, {title}: mean JCT over the bound", over_bound(points, bounds), more))
    return found


def _titles(context: Context, curve: Curve) -> list[str]:
    """What each point of a curve is called."""
    if curve.label.startswith("pollux-as"):
        return [f"aim {task.policy.rsplit('-', 1)[-1]}" for task in curve.tasks]
    if len(curve.tasks) == 1:
        return ["whatever the budget"]
    return [f"{gpus} GPUs" for gpus in few(context, BUDGETS)]


def _draw(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
    from experiments.boa.renting_pictures import frontiers  # matplotlib, only where something is drawn

    frontiers(path, context, with_runs(context, outcomes)[0])


AGAINST_BOUND = Experiment(
    "against-bound",
    "Every policy against the bound, at its own bill",
    lambda context: tasks_of([curve for sample in compared(context) for curve in sample]),
    claims,
    SAMPLES,
    _draw,
)
