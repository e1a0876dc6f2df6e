"""What plans are worth in the renting world: the bill of a budget, the gap of Algorithm 1 online, the way to the bound.

The paper has no figures for these. Budgets are multiples of a trace's load, those that 82, 92, 112 and 147 GPUs are of
the 73.3 of newTrace; every figure is the mean over the samples, with the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.boa.renting_runs import Curve, autoscaled, fixed_widths, tasks_of, with_points
from experiments.harness.experiment import Claim, Context, Experiment
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
PLANS = ("exact", "acquiring-exact", "width-calculator")
HOUR = 3600.0


def sampled(context: Context) -> Sequence[str]:
    """The traces: one will do where few runs will."""
    return SAMPLES[:1] if context.quick else SAMPLES


def bills(context: Context) -> list[Curve]:
    """On each sample the exact plan, and the one that counts the time of getting a node as rescaling."""
    return [
        fixed_widths(context, context.trace(name), policy, AT)
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
        for place, gpus in enumerate(_few(context, BUDGETS)):
            who = f"plan {said} the time of getting a node, {gpus} GPUs"
            claims.append(_mean(f"{who}: bill over the budget", over[label, place]))
            claims.append(_mean(f"{who}: mean JCT over what the plan says", late[label, place]))
    return claims


def with_acquisition(data: BoaRenting) -> BoaAllocation:
    """The allocation problem where a rescaling lasts as long as getting a node too."""
    more, told = data.acquisition_seconds / HOUR, data.believed
    classes = [c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in told.classes]
    return believed(classes, told.budget, told.max_width)


@dataclass(frozen=True)
class Sample:
    """The curves of a trace: plans in the cloud and in an ideal one, and Pollux with autoscaling."""

    cloud: dict[str, Curve]
    ideal: dict[str, Curve]
    pollux: dict[str, Curve]

    @property
    def all(self) -> list[Curve]:
        """All curves, in the order of the tasks."""
        return [*self.cloud.values(), *self.ideal.values(), *self.pollux.values()]


def gaps(context: Context) -> list[Sample]:
    """On each sample the plans at several budgets, and on newTrace itself Pollux with autoscaling."""
    found = []
    for place, name in enumerate(sampled(context)):
        trace = context.trace(name)
        cloud = {policy: fixed_widths(context, trace, policy, _dense(context, policy)) for policy in PLANS}
        ideal = {p: fixed_widths(context, trace, p, _dense(context, p), **IDEAL) for p in PLANS[::2]}
        pollux = {} if place else {f"pollux-as-{o}": autoscaled(context, trace, o) for o in ("sum", "mean")}
        found.append(Sample(cloud, ideal, pollux))
    return found


def _dense(context: Context, policy: str) -> Sequence[float]:
    return sorted((*AT, *BETWEEN)) if policy == "exact" and not context.quick else AT


def with_runs(context: Context, outcomes: Sequence[Any]) -> list[Sample]:
    """The samples with the points of their outcomes."""
    samples = gaps(context)
    curves = iter(with_points([curve for sample in samples for curve in sample.all], outcomes))
    return [
        Sample(*({name: next(curves) for name in part} for part in (sample.cloud, sample.ideal, sample.pollux)))
        for sample in samples
    ]


def gaps_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    samples = with_runs(context, outcomes)
    claims: list[Claim] = []
    for where, part in (("cloud", "cloud"), ("ideal cloud", "ideal")):
        claims += _at_equal_bills(context, where, [getattr(sample, part) for sample in samples])
    bound = {id(sample): _bound(sample) for sample in samples}
    for where, part, policies in (
        ("ideal cloud", "ideal", PLANS[::2]),
        ("cloud", "cloud", PLANS),
        ("cloud", "pollux", ("pollux-as-sum", "pollux-as-mean")),
    ):
        for policy in policies:
            found = [(bound[id(s)], getattr(s, part)[policy]) for s in samples if policy in getattr(s, part)]
            for place, title in _places(context, policy, found[0][1]):
                over = [c.points[place].mean / b(c.points[place].run.totals["billed_gpu_h"]) - 1 for b, c in found]
                claims.append(_mean(f"{where}, {policy}, {title}: mean JCT over the bound", over))
    return claims


def _at_equal_bills(context: Context, where: str, parts: Sequence[dict[str, Curve]]) -> list[Claim]:
    """The Width Calculator against the exact plan at the bill of the former, and its bill against the latter's."""
    claims = []
    for place, gpus in enumerate(_few(context, BUDGETS)):
        slower, dearer = [], []
        for part in parts:
            point, best = part["width-calculator"].points[place], part["exact"]
            same = best.at(point.rented)
            mine = best.points[_few(context, _dense(context, "exact")).index(_few(context, AT)[place])]
            dearer.append(point.rented / mine.rented - 1)
            if same is not None:
                slower.append(point.mean / same - 1)
        who = f"{where}, Width Calculator over the exact plan, {gpus} GPUs"
        claims.append(_mean(f"{who}: mean JCT at equal bill", slower))
        claims.append(_mean(f"{who}: bill at equal budget", dearer))
    return claims


def _bound(sample: Sample) -> Callable[[float], float]:
    """The bound on every policy on the sample, by the bill."""
    most = max(point.run.totals["billed_gpu_h"] for curve in sample.all for point in curve.points)
    return PolicyBound(sample.all[0].tasks[0].workload.data, most).at


def _places(context: Context, policy: str, curve: Curve) -> list[tuple[int, str]]:
    """The points of a curve that count, and what each is called."""
    if policy.startswith("pollux"):
        return [(k, f"aim {task.policy.rsplit('-', 1)[-1]}") for k, task in enumerate(curve.tasks)]
    dense, at = _few(context, _dense(context, policy)), _few(context, AT)
    return [(dense.index(x), f"{gpus} GPUs") for x, gpus in zip(at, _few(context, BUDGETS), strict=True)]


def _few(context: Context, values: Sequence[Any]) -> Sequence[Any]:
    """The values that `fixed_widths` takes where few runs will do: the first and the last."""
    return values[:: max(1, len(values) - 1)] if context.quick else values


def _mean(what: str, values: Sequence[float]) -> Claim:
    if not values:
        return Claim("not in the paper", what, None, None, "not run", "no runs of both have the same bill")
    note = f"{len(values)} samples: {min(values):+.3f} to {max(values):+.3f}"
    return Claim("not in the paper", what, None, round(fmean(values), 4), "no figure", note)


def _draw_gaps(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
    from experiments.boa.renting_pictures import over_bound  # matplotlib, only where something is drawn

    sample = with_runs(context, outcomes)[0]
    ideal = [replace(curve, label=f"{curve.label}, ideal cloud") for curve in sample.ideal.values()]
    span = max(job.arrival_seconds for job in sample.all[0].tasks[0].workload.data.jobs) / HOUR
    bound = _bound(sample)
    over_bound(path, [*sample.cloud.values(), *ideal, *sample.pollux.values()], lambda gpus: bound(gpus * span))


def _draw_bills(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
    from experiments.boa.renting_pictures import over_bound

    over_bound(path, with_points(bills(context), outcomes)[:2], None)


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
        "Algorithm 1 against the exact plan online, and every policy against the bound",
        lambda context: [task for sample in gaps(context) for task in tasks_of(sample.all)],
        gaps_claims,
        SAMPLES,
        _draw_gaps,
    ),
)
