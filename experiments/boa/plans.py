"""Evaluate plans in the renting world: the bill of a budget, Algorithm 1 online, and policies against the bound.

The paper has no figures for these. Budgets are multiples of a trace's load: the ratios of 82, 92, 112 and 147 GPUs to
the 73.3 of newTrace. Every figure is the mean over the samples, with minimum and maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.boa.curves import (
    AVERAGED,
    HOUR,
    MOMENT,
    Curves,
    Point,
    PolicyCurve,
    add_points_by_key,
    build_autoscaling_curve,
    build_budget_curve,
    draw_workload,
    few,
    part,
    tasks_of,
)
from experiments.boa.methods import METHODS
from experiments.harness.experiment import Claim, Context, Experiment
from experiments.harness.run import apply
from experiments.harness.sample import Sample
from experiments.harness.task import HarnessTask, Measured, Measurement
from heuristics.boa.online import OBJECTIVES
from instances import Instance, Options, Stopwatch
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import build_estimated_allocation
from models.boa import PolicyBound, exact

SAMPLES = ("boa/newtrace.csv", *(f"boa/newtrace_{k}.csv" for k in range(2, 8)))
BUDGETS = (82, 92, 112, 147)
NEWTRACE_LOAD = 73.3
AT = tuple(gpus / NEWTRACE_LOAD for gpus in BUDGETS)
BETWEEN = (1.1, 1.17, 1.2, 1.35, 1.75, 2.3)
"""Further budgets of the exact plan, between which it is compared at equal bills."""
IDEAL: dict[str, Any] = {"gpus_per_node": 1, "acquisition_seconds": 0.0}
CLOUDS: dict[str, dict[str, Any]] = {"cloud": {}, "ideal cloud": IDEAL}
PLANS = ("exact", "width-calculator")
SAME_BILL = "no runs of both have the same bill"
Bound = Callable[[float], float]
"""A lower bound in hours on any mean completion time, as a function of the billed GPU-hours."""


def curves_experiment(
    name: str,
    title: str,
    made: Callable[[Context], Curves],
    claims: Callable[[Context, Curves], Iterable[Claim]],
    traces: tuple[str, ...],
    draw: str,
    shown: Callable[[tuple[Any, ...]], bool] = lambda key: True,
) -> Experiment:
    """Return an experiment of curves, of which those whose key is to be `shown` are drawn."""

    def tasks(context: Context) -> Sequence[HarnessTask[Any]]:
        return tasks_of(made(context).values())

    def conclude(context: Context, outcomes: Sequence[Any]) -> Sequence[Claim]:
        return list(claims(context, add_points_by_key(made(context), outcomes)))

    def picture(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
        from experiments.boa import pictures  # matplotlib, only where something is drawn

        curves = add_points_by_key(made(context), outcomes)
        getattr(pictures, draw)(path, {key: curve for key, curve in curves.items() if shown(key)})

    return Experiment(name, title, tasks, conclude, traces, picture)


def choose_samples(context: Context) -> Sequence[str]:
    """Return the traces, only one for a quick run."""
    return SAMPLES[:1] if context.quick else SAMPLES


def _is_of_first(key: tuple[Hashable, ...]) -> bool:
    return key[0] == SAMPLES[0]


def bills(context: Context) -> Curves:
    """Build on each sample the curves of the exact plan, and of the plan that adds node acquisition to rescaling."""
    return {
        (name, policy): build_budget_curve(context, context.trace(name), policy, AT)
        for name in choose_samples(context)
        for policy in ("exact", "acquiring-exact")
    }


def bills_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    over: dict[tuple[str, int], list[float]] = {}
    late: dict[tuple[str, int], list[float]] = {}
    for curve in curves.values():
        for place, (task, point) in enumerate(zip(curve.tasks, curve.points, strict=True)):
            data = task.workload.data
            plan = data.believed if curve.label == "exact" else include_acquisition(data)
            over.setdefault((curve.label, place), []).append(point.rented / data.budget_gpus - 1)
            late.setdefault((curve.label, place), []).append(point.mean / (exact(plan).objective or 1.0) - 1)
    for label, said in (("exact", "without"), ("acquiring-exact", "with")):
        for place, gpus in enumerate(few(context, BUDGETS)):
            who = f"plan {said} the time of getting a node, {gpus} GPUs"
            yield over_samples(f"{who}: bill over the budget", over[label, place])
            yield over_samples(f"{who}: mean JCT over what the plan says", late[label, place])


def include_acquisition(data: BoaRenting) -> BoaAllocation:
    """Build the allocation problem with rescaling times that include the acquisition of a node."""
    more, plan = data.acquisition_seconds / HOUR, data.believed
    classes = [c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in plan.classes]
    return build_estimated_allocation(classes, plan.budget, plan.max_width)


def gaps(context: Context) -> Curves:
    """Build on each sample the curves of the plans at several budgets, in the cloud and in an ideal one."""
    found: Curves = {}
    for name in choose_samples(context):
        for where, more in CLOUDS.items():
            for policy in PLANS:
                curve = build_budget_curve(context, context.trace(name), policy, _dense(context, policy), **more)
                label = f"{policy}, {where}" if more else policy
                found[name, where, policy] = replace(curve, label=label)
    return found


def _dense(context: Context, policy: str) -> Sequence[float]:
    return sorted((*AT, *BETWEEN)) if policy == "exact" and not context.quick else AT


def gaps_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for where in CLOUDS:
        yield from _compare_at_equal_bills(context, curves, where)
    bounds = bounds_of(context, curves)
    for policy in PLANS:
        dense = few(context, _dense(context, policy))
        for x, gpus in zip(few(context, AT), few(context, BUDGETS), strict=True):
            points = [curves[name, "ideal cloud", policy].points[dense.index(x)] for name in choose_samples(context)]
            what = f"ideal cloud, {policy}, {gpus} GPUs: mean JCT over the bound"
            yield over_samples(what, compute_gaps_to_bound(points, bounds))


def _compare_at_equal_bills(context: Context, curves: Curves, where: str) -> Iterator[Claim]:
    """Compare the Width Calculator with the exact plan at the former's bill, and compare both bills."""
    dense = few(context, _dense(context, "exact"))
    for place, (x, gpus) in enumerate(zip(few(context, AT), few(context, BUDGETS), strict=True)):
        slower, bills = [], []
        for name in choose_samples(context):
            point, best = curves[name, where, "width-calculator"].points[place], curves[name, where, "exact"]
            bills.append(point.rented / best.points[dense.index(x)].rented - 1)
            if (same := best.at(point.rented)) is not None:
                slower.append(point.mean / same - 1)
        who = f"{where}, Width Calculator over the exact plan, {gpus} GPUs"
        yield over_samples(f"{who}: mean JCT at equal bill", slower)
        yield over_samples(f"{who}: bill at equal budget", bills)


def bounds_of(context: Context, curves: Curves) -> list[Bound]:
    """Return the bound on every policy for each sample; all curves of a sample have the same jobs."""
    found: list[Bound] = []
    for name in choose_samples(context):
        mine = list(part(curves, name).values())
        most = max(point.run.totals["billed_gpu_h"] for curve in mine for point in curve.points)
        found.append(PolicyBound(mine[0].tasks[0].workload.data, most).at)
    return found


def compute_gaps_to_bound(points: Sequence[Point], bounds: Sequence[Bound]) -> list[float]:
    """Return the relative gap of the mean completion time to the bound at the same bill, for a run on each sample."""
    pairs = zip(points, bounds, strict=True)
    return [point.mean / bound(point.run.totals["billed_gpu_h"]) - 1 for point, bound in pairs]


def ours(where: str, what: str, values: Sequence[float], more: str = "", *, missing: str = SAME_BILL) -> Claim:
    """Build the claim of a mean for which the paper has no figure. `missing`: why there are no values."""
    if not values:
        return Claim(where, what, None, None, "not run", missing)
    sample = Sample.of(values)
    return Claim(where, what, None, sample.mean, "no figure", more, sample)


over_samples = partial(ours, "not in the paper")
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
"""Policies with a budget; `equal-split`, `fifo` and Pollux without autoscaling have a cluster of this size."""


def everyone(context: Context) -> Curves:
    """Build the curves of every policy on each sample: over budgets, over targets, or one run with requested widths."""
    found: Curves = {}
    for name in choose_samples(context):
        trace = context.trace(name)
        made = [build_budget_curve(context, trace, policy, AT) for policy in BUDGETED]
        made += [
            build_autoscaling_curve(context, trace, o, reading=reading)
            for reading in (MOMENT, AVERAGED)
            for o in OBJECTIVES
        ]
        made += [build_budget_curve(context, trace, "requested", AT[:1])]
        found |= {(name, curve.label): curve for curve in made}
    return found


def bound_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    bounds = bounds_of(context, curves)
    for (label,), curve in part(curves, SAMPLES[0]).items():
        for place, title in enumerate(_titles(context, curve)):
            points = [curves[name, label].points[place] for name in choose_samples(context)]
            more = f"it rents {fmean(point.rented for point in points):.0f} GPUs"
            what = f"{label}, {title}: mean JCT over the bound"
            yield over_samples(what, compute_gaps_to_bound(points, bounds), more)


def _titles(context: Context, curve: PolicyCurve) -> list[str]:
    """Return the names of the points of a curve."""
    if curve.label.startswith("pollux-as"):
        return [f"aim {task.policy.split('-')[3]}" for task in curve.tasks]
    if len(curve.tasks) == 1:
        return ["whatever the budget"]
    return [f"{gpus} GPUs" for gpus in few(context, BUDGETS)]


CALCULATORS = ("exact", "width-calculator", "width-calculator-artifact")


def calculators(context: Context) -> list[Measurement]:
    plan = Instance.of(draw_workload(context, context.trace(SAMPLES[0])).data.believed, "newtrace, 1.25 times the load")
    return [Measurement.of(compute_plan, context.options, instance=plan, method=name) for name in CALCULATORS]


def compute_plan(instance: Instance, method: str, options: Options) -> dict[str, Any]:
    """Return the mean completion time of a method's plan, and the CPU seconds that it takes."""
    entry = next(entry for entry in METHODS[instance.problem] if entry.name == method)
    with Stopwatch() as watch:
        result = apply(entry, instance, options)
    return {"mean_jct_h": result.objective, "plan_s": watch.cpu_s}


def calculators_claims(context: Context, outcomes: Sequence[Measured]) -> list[Claim]:
    claims = []
    optimum = outcomes[0].figures["mean_jct_h"]
    for name, outcome in zip(CALCULATORS, outcomes, strict=True):
        what = f"{name}: CPU seconds of a plan for newTrace at 1.25 times the load"
        paper = 500.0 if name.startswith("width") else None
        note = "ten groups of epochs an application here, up to 100 epochs there; another machine"
        claims.append(Claim("section 5.4", what, paper, outcome.figures["plan_s"], "not comparable", note))
        reached = outcome.figures["mean_jct_h"]
        if name != "exact" and reached is not None:
            what = f"{name}: mean JCT over the proven optimum, as a share, seed {context.options.seed}"
            claims.append(Claim("Algorithm 1", what, None, reached / optimum - 1, "no figure"))
    return claims


EXPERIMENTS = (
    curves_experiment(
        "budget-honesty", "What a budget is billed, and what a plan says of the mean JCT", bills, bills_claims, SAMPLES,
        "mean_frontiers", _is_of_first,
    ),
    curves_experiment(
        "gap-online", "Algorithm 1 against the exact plan online", gaps, gaps_claims, SAMPLES,
        "mean_frontiers", _is_of_first,
    ),
    curves_experiment(
        "against-bound", "Every policy against the bound, at its own bill", everyone, bound_claims, SAMPLES,
        "mean_frontiers", _is_of_first,
    ),
    Experiment(
        "width-calculator", "Algorithm 1 as it is written and as it was released", calculators, calculators_claims,
        SAMPLES[:1],
    ),
)  # fmt: skip
