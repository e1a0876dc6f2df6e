"""Evaluate plans in the renting world: the bill of a budget, Algorithm 1 online, and policies against the bound.

The paper has no figures for these. Budgets are multiples of a trace's load: the ratios of 82, 92, 112 and 147 GPUs to
the 73.3 of newTrace. Every figure is the mean over the samples, with minimum and maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.boa.curves import (
    AVERAGED,
    MOMENT,
    Point,
    PolicyCurve,
    autoscaled,
    budgeted,
    drawn,
    few,
    tasks_of,
    with_points,
)
from experiments.boa.methods import METHODS
from experiments.harness.experiment import Claim, Context, Experiment
from experiments.harness.run import apply
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from heuristics.boa.online import OBJECTIVES
from instances import Instance, Options, Stopwatch
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import believed
from models.boa import PolicyBound, exact

SAMPLES = ("boa/newtrace.csv", *(f"boa/newtrace_{k}.csv" for k in range(2, 8)))
BUDGETS = (82, 92, 112, 147)
NEWTRACE_LOAD = 73.3
AT = tuple(gpus / NEWTRACE_LOAD for gpus in BUDGETS)
BETWEEN = (1.1, 1.17, 1.2, 1.35, 1.75, 2.3)
"""Further budgets of the exact plan, between which it is compared at equal bills."""
IDEAL: dict[str, Any] = {"gpus_per_node": 1, "acquisition_seconds": 0.0}
PLANS = ("exact", "width-calculator")
HOUR = 3600.0
Bound = Callable[[float], float]
"""A lower bound in hours on any mean completion time, as a function of the billed GPU-hours."""


def sampled(context: Context) -> Sequence[str]:
    """Return the traces, only one for a quick run."""
    return SAMPLES[:1] if context.quick else SAMPLES


def bills(context: Context) -> list[PolicyCurve]:
    """Build on each sample the curves of the exact plan, and of the plan that adds node acquisition to rescaling."""
    return [
        budgeted(context, context.trace(name), policy, AT)
        for name in sampled(context)
        for policy in ("exact", "acquiring-exact")
    ]


def bills_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    curves = with_points(bills(context), outcomes)
    over: dict[tuple[str, int], list[float]] = {}
    late: dict[tuple[str, int], list[float]] = {}
    for curve in curves:
        for place, (task, point) in enumerate(zip(curve.tasks, curve.points, strict=True)):
            data = task.workload.data
            plan = data.believed if curve.label == "exact" else with_acquisition(data)
            over.setdefault((curve.label, place), []).append(point.rented / data.budget_gpus - 1)
            late.setdefault((curve.label, place), []).append(point.mean / (exact(plan).objective or 1.0) - 1)
    claims = []
    for label, said in (("exact", "without"), ("acquiring-exact", "with")):
        for place, gpus in enumerate(few(context, BUDGETS)):
            who = f"plan {said} the time of getting a node, {gpus} GPUs"
            claims.append(over_samples(f"{who}: bill over the budget", over[label, place]))
            claims.append(over_samples(f"{who}: mean JCT over what the plan says", late[label, place]))
    return claims


def with_acquisition(data: BoaRenting) -> BoaAllocation:
    """Build the allocation problem with rescaling times that include the acquisition of a node."""
    more, plan = data.acquisition_seconds / HOUR, data.believed
    classes = [c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in plan.classes]
    return believed(classes, plan.budget, plan.max_width)


@dataclass(frozen=True)
class PlanCurves:
    """The curves of a trace: plans in the cloud and in an ideal one."""

    cloud: dict[str, PolicyCurve]
    ideal: dict[str, PolicyCurve]

    @property
    def all(self) -> list[PolicyCurve]:
        """Return all curves, in the order of the tasks."""
        return [*self.cloud.values(), *self.ideal.values()]


def gaps(context: Context) -> list[PlanCurves]:
    """Build the curves of the plans at several budgets for each sample."""
    found = []
    for name in sampled(context):
        trace = context.trace(name)
        cloud = {policy: budgeted(context, trace, policy, _dense(context, policy)) for policy in PLANS}
        ideal = {p: budgeted(context, trace, p, _dense(context, p), **IDEAL) for p in PLANS}
        found.append(PlanCurves(cloud, ideal))
    return found


def _dense(context: Context, policy: str) -> Sequence[float]:
    return sorted((*AT, *BETWEEN)) if policy == "exact" and not context.quick else AT


def with_runs(context: Context, outcomes: Sequence[Any]) -> list[PlanCurves]:
    """Return the samples with the points of their outcomes."""
    samples = gaps(context)
    curves = iter(with_points([curve for sample in samples for curve in sample.all], outcomes))
    return [
        PlanCurves(*({name: next(curves) for name in part} for part in (sample.cloud, sample.ideal)))
        for sample in samples
    ]


def gaps_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    samples = with_runs(context, outcomes)
    claims: list[Claim] = []
    for where, part in (("cloud", "cloud"), ("ideal cloud", "ideal")):
        claims += _at_equal_bills(context, where, [getattr(sample, part) for sample in samples])
    bounds = bounds_of([sample.all for sample in samples])
    for policy in PLANS:
        found = [sample.ideal[policy] for sample in samples]
        dense, at = few(context, _dense(context, policy)), few(context, AT)
        for x, gpus in zip(at, few(context, BUDGETS), strict=True):
            points = [curve.points[dense.index(x)] for curve in found]
            claims.append(
                over_samples(f"ideal cloud, {policy}, {gpus} GPUs: mean JCT over the bound", over_bound(points, bounds))
            )
    return claims


def _at_equal_bills(context: Context, where: str, samples: Sequence[dict[str, PolicyCurve]]) -> list[Claim]:
    """Compare the Width Calculator with the exact plan at the former's bill, and compare both bills."""
    claims = []
    for place, gpus in enumerate(few(context, BUDGETS)):
        slower, bills = [], []
        for part in samples:
            point, best = part["width-calculator"].points[place], part["exact"]
            same = best.at(point.rented)
            mine = best.points[few(context, _dense(context, "exact")).index(few(context, AT)[place])]
            bills.append(point.rented / mine.rented - 1)
            if same is not None:
                slower.append(point.mean / same - 1)
        who = f"{where}, Width Calculator over the exact plan, {gpus} GPUs"
        claims.append(over_samples(f"{who}: mean JCT at equal bill", slower))
        claims.append(over_samples(f"{who}: bill at equal budget", bills))
    return claims


def bounds_of(samples: Sequence[Sequence[PolicyCurve]]) -> list[Bound]:
    """Return the bound on every policy for each sample; all curves of a sample have the same jobs."""
    found: list[Bound] = []
    for curves in samples:
        most = max(point.run.totals["billed_gpu_h"] for curve in curves for point in curve.points)
        found.append(PolicyBound(curves[0].tasks[0].workload.data, most).at)
    return found


def over_bound(points: Sequence[Point], bounds: Sequence[Bound]) -> list[float]:
    """Return the relative gap of the mean completion time to the bound at the same bill, for a run on each sample."""
    pairs = zip(points, bounds, strict=True)
    return [point.mean / bound(point.run.totals["billed_gpu_h"]) - 1 for point, bound in pairs]


def over_samples(what: str, values: Sequence[float], more: str = "") -> Claim:
    """Build a claim of the mean over the samples, with minimum and maximum."""
    if not values:
        return Claim("not in the paper", what, None, None, "not run", "no runs of both have the same bill")
    sample = Sample.of(values)
    return Claim("not in the paper", what, None, sample.mean, "no figure", more, sample)


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


def everyone(context: Context) -> list[list[PolicyCurve]]:
    """Build the curves of every policy on each sample: over budgets, over targets, or one run with requested widths."""
    return [
        [
            *(budgeted(context, context.trace(name), policy, AT) for policy in BUDGETED),
            *(
                autoscaled(context, context.trace(name), objective, reading=reading)
                for reading in (MOMENT, AVERAGED)
                for objective in OBJECTIVES
            ),
            budgeted(context, context.trace(name), "requested", AT[:1]),
        ]
        for name in sampled(context)
    ]


def everyone_ran(context: Context, outcomes: Sequence[Any]) -> list[list[PolicyCurve]]:
    """The same with the points of their outcomes."""
    samples = everyone(context)
    found = iter(with_points([curve for sample in samples for curve in sample], outcomes))
    return [[next(found) for _ in sample] for sample in samples]


def bound_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    samples = everyone_ran(context, outcomes)
    bounds = bounds_of(samples)
    found = []
    for k, curve in enumerate(samples[0]):
        for place, title in enumerate(_titles(context, curve)):
            points = [sample[k].points[place] for sample in samples]
            more = f"it rents {fmean(point.rented for point in points):.0f} GPUs"
            found.append(
                over_samples(f"{curve.label}, {title}: mean JCT over the bound", over_bound(points, bounds), more)
            )
    return found


def _titles(context: Context, curve: PolicyCurve) -> list[str]:
    """Return the names of the points of a curve."""
    if curve.label.startswith("pollux-as"):
        return [f"aim {task.policy.split('-')[3]}" for task in curve.tasks]
    if len(curve.tasks) == 1:
        return ["whatever the budget"]
    return [f"{gpus} GPUs" for gpus in few(context, BUDGETS)]


CALCULATORS = ("exact", "width-calculator", "width-calculator-artifact")


def calculators(context: Context) -> list[Measurement]:
    plan = Instance.of(drawn(context, context.trace(SAMPLES[0])).data.believed, "newtrace, 1.25 times the load")
    return [Measurement.of(planned, context.options, instance=plan, method=name) for name in CALCULATORS]


def planned(instance: Instance, method: str, options: Options) -> dict[str, Any]:
    """The mean completion time of a method's plan, and the CPU seconds that it takes."""
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


def _draw_bound(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
    from experiments.boa.pictures import frontiers  # matplotlib, only where something is drawn

    frontiers(path, {(curve.label,): curve for curve in everyone_ran(context, outcomes)[0]})


def _draw_gaps(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
    from experiments.boa.pictures import frontiers  # matplotlib, only where something is drawn

    sample = with_runs(context, outcomes)[0]
    ideal = [replace(curve, label=f"{curve.label}, ideal cloud") for curve in sample.ideal.values()]
    frontiers(path, {(curve.label,): curve for curve in (*sample.cloud.values(), *ideal)})


def _draw_bills(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
    from experiments.boa.pictures import frontiers

    frontiers(path, {(curve.label,): curve for curve in with_points(bills(context), outcomes)[:2]})


EXPERIMENTS = (
    Experiment(
        "budget-honesty",
        "What a budget is billed, and what a plan says of the mean JCT",
        lambda context: tasks_of(bills(context)),
        bills_claims,
        SAMPLES,
        _draw_bills,
    ),
    Experiment(
        "gap-online",
        "Algorithm 1 against the exact plan online",
        lambda context: [task for sample in gaps(context) for task in tasks_of(sample.all)],
        gaps_claims,
        SAMPLES,
        _draw_gaps,
    ),
    Experiment(
        "against-bound",
        "Every policy against the bound, at its own bill",
        lambda context: tasks_of([curve for sample in everyone(context) for curve in sample]),
        bound_claims,
        SAMPLES,
        _draw_bound,
    ),
    Experiment(
        "width-calculator",
        "Algorithm 1 as it is written and as it was released",
        calculators,
        calculators_claims,
        SAMPLES[:1],
    ),
)
