"""Figures 4 to 9 of BOA in the renting world: what the paper reads from them, and what is measured here.

BOA is the proven optimal plan (`exact`) for a budget; the bill that counts is the one of the run. Pollux with
autoscaling is split exactly, under either of its two objectives: the sum of speedups, which the paper describes, and
the power mean of speedups over a fair share, which its artifact has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from experiments.boa.against_bound import AGAINST_BOUND
from experiments.boa.plan_study import EXPERIMENTS as PLANS
from experiments.boa.plan_study import NEWTRACE_LOAD, SAMPLES, sampled
from experiments.boa.renting_runs import (
    AIMS_AT_120,
    FIXED,
    NEW,
    OBJECTIVES,
    OVER_LOAD,
    SEEDS,
    Curve,
    autoscaled,
    budget_factors,
    burst_factors,
    bursts_of,
    factors,
    fixed_widths,
    ratio,
    tasks_of,
    with_points,
)
from experiments.harness.experiment import Claim, Context, Experiment, Verdict, compared
from experiments.harness.task import HarnessTask
from heuristics.boa.online import EFFICIENCIES

SMALL, FILTERED = "boa/workload_1_filtered.csv", "boa/filtertrace.csv"
DETAIL = "boa/speedups_detail.csv"
CURVES_8 = 7
"""Of each sample in Figure 8."""
QUARTER = 900.0  # seconds between two runs of the Width Calculator (section 5.2)
UNLIKE = "Pollux here averages no efficiency over time and keeps no limit of profiled widths"
"""What its runs leave out of the paper's, so that their factors tell nothing of those."""
GROWS = 0.05  # share from which on a factor is said to grow, which the seeds can tell
UP_TO = {"within": 0.05, "near": 0.2}  # the paper's factors have two digits, and stand for the best of a picture


def frontier(
    context: Context, name: str, aims: Sequence[float] = EFFICIENCIES[1:-1], over: Sequence[float] = OVER_LOAD
) -> list[Curve]:
    """BOA, Pollux with autoscaling and Pollux on a fixed cluster, on a trace."""
    trace = context.trace(name)
    return [
        fixed_widths(context, trace, over=over),
        *(autoscaled(context, trace, objective, aims) for objective in OBJECTIVES),
        *(fixed_widths(context, trace, f"pollux-{objective}", FIXED) for objective in OBJECTIVES),
    ]


def figure_4(context: Context) -> list[Curve]:
    return frontier(context, SMALL, EFFICIENCIES, (1.08, *OVER_LOAD))


def figure_4_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    boa, *rest = with_points(figure_4(context), outcomes)
    claims = []
    for objective, pollux in zip(OBJECTIVES, rest, strict=False):
        who = f"Pollux with autoscaling ({objective})"
        at_40 = ratio(pollux.at(40), boa.at(40))
        claims.append(_factor("Figure 4", f"mean JCT of {who} over BOA's at 40 GPUs", 1.6, at_40, UNLIKE))
        most = max(factors(pollux, boa), default=None)
        claims.append(_factor("Figure 4", f"mean JCT of {who} over BOA's, at most", 1.6, most, UNLIKE))
        budget = ratio(pollux.rented_at(2100 / 3600), boa.rented_at(2100 / 3600))
        most_gpus = max(budget_factors(pollux, boa), default=0.0)
        note = f"at equal mean JCT at most {most_gpus:.2f}. {UNLIKE}"
        claims.append(_factor("Figure 4", f"GPUs of {who} over BOA's at a mean JCT of 2100 s", 2.2, budget, note))
    return claims


def figure_5(context: Context) -> list[Curve]:
    return [
        curve
        for curve in frontier(context, SMALL, EFFICIENCIES)
        if not curve.label.startswith(("pollux-sum", "pollux-mean"))
    ]


def figure_5_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    boa, *rest = with_points(figure_5(context), outcomes)
    claims = []
    for objective, pollux in zip(OBJECTIVES, rest, strict=True):
        factor = ratio(pollux.at(55), boa.at(55))
        what = f"mean JCT of Pollux with autoscaling ({objective}) over BOA's at 55 GPUs"
        verdict: Verdict = "not run" if factor is None else "reproduced" if factor > 1 else "differs"
        claims.append(Claim("Figure 5", what, "> 1", factor, verdict, "BOA follows bursts of arrivals at once"))
    return claims


def figure_6(context: Context) -> list[Curve]:
    names = (FILTERED, NEW) if context.quick else (FILTERED, *SAMPLES)
    return [curve for name in names for curve in frontier(context, name)]


def figure_6_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    curves = with_points(figure_6(context), outcomes)
    traces = [curves[i : i + 5] for i in range(0, len(curves), 5)]
    claims = []
    for place, (title, samples) in enumerate((("filterTrace", traces[:1]), ("newTrace", traces[1:]))):
        for column, (label, what) in enumerate((("mean", "mean JCT"), ("p95", "P95 of JCT"))):
            paper = ((1.7, 1.7), (1.8, 1.6))[place][column]
            for k, objective in enumerate(OBJECTIVES):
                mosts = [max(factors(found[1 + k], found[0], label), default=0.0) for found in samples]
                rented = [p.rented for found in samples for p in found[1 + k].points]
                note = f"{len(samples)} sample(s): {min(mosts):.2f} to {max(mosts):.2f}; median. "
                note += f"Pollux rents {min(rented):.0f} to {max(rented):.0f} GPUs. {UNLIKE}"
                who = f"{title}: {what} of Pollux with autoscaling ({objective}) over BOA's, at most"
                claims.append(_factor("Figure 6", who, paper, median(mosts), note))
                fixed = [max(factors(found[3 + k], found[0], label), default=0.0) for found in samples]
                who = f"{title}: {what} of Pollux on a fixed cluster ({objective}) over BOA's, at most"
                verdict: Verdict = "no figure" if min(fixed) > 0 else "differs"
                note = f"{len(samples)} sample(s): {min(fixed):.2f} to {max(fixed):.2f}; median"
                claims.append(Claim("Figure 6", who, None, median(fixed), verdict, note))
    return claims


def figure_7(context: Context) -> list[Curve]:
    return [curve for name in sampled(context) for curve in frontier(context, name, EFFICIENCIES[1:])[:3]]


def figure_7_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    curves = with_points(figure_7(context), outcomes)
    claims = []
    for k, label in enumerate(("BOA", *(f"Pollux ({o})" for o in OBJECTIVES))):
        samples = curves[k::3]
        paper = 0.64 if label == "BOA" else 0.73
        seen, done, whole = (
            [value for curve in samples if (value := curve.total_at(like_112(curve), name)) is not None]
            for name in ("seen_efficiency_over_time", "efficiency_over_time", "efficiency")
        )
        what = f"{label}: efficiency at 112 GPUs as the scheduler sees it, over time"
        claims.append(
            compared("Figure 7", what, paper, mean(seen), within=0.05, near=0.1, note=_spread(seen))
            if seen
            else Claim("Figure 7", what, paper, None, "not run", "no run rents as much")
        )
        what = f"{label}: efficiency at 112 GPUs of work really done, over time"
        more = f"; {mean(whole):.3f} of the whole bill: the same for all who do the same work for it" if whole else ""
        claims.append(Claim("Figure 7", what, None, mean(done) if done else None, "no figure", _spread(done) + more))
        pauses = [point.run.totals["rescalings"] / len(point.run.jobs["job"]) for c in samples for point in c.points]
        what, note = f"{label}: pauses a job, least to most", f"{len(samples)} sample(s), all bills"
        claims.append(Claim("Figure 7", what, None, f"{min(pauses):.1f} to {max(pauses):.1f}", "no figure", note))
    return claims


def like_112(curve: Curve) -> float:
    """As many times the load of a curve's jobs as 112 GPUs are of newTrace's."""
    load: float = curve.tasks[0].workload.data.believed.load
    return 112 / NEWTRACE_LOAD * load


def figure_8(context: Context) -> list[Curve]:
    table = context.trace(DETAIL)
    perfect: dict[str, Any] = {"speedups": table}
    fitted = perfect | {"believed": "speedup_policy_model"}
    learning = fitted | {"estimate_seconds": QUARTER}
    curves = []
    for trace in map(context.trace, sampled(context)):
        curves += [fixed_widths(context, trace, **said) for said in (perfect, fitted, learning)]
        curves += [autoscaled(context, trace, o, **said) for o in OBJECTIVES for said in (perfect, fitted)]
    return curves


def figure_8_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    curves = with_points(figure_8(context), outcomes)
    claims = []
    for label, told, base, paper in (
        ("BOA, planned once on the fitted model", 1, 0, 1.0),
        ("BOA, planned anew every 15 minutes on what was seen", 2, 0, 1.0),
        ("Pollux with autoscaling (sum), fitted model", 4, 3, 1.4),
        ("Pollux with autoscaling (mean), fitted model", 6, 5, 1.4),
    ):
        pairs = zip(curves[told::CURVES_8], curves[base::CURVES_8], strict=True)
        found = [values for curve, other in pairs if (values := factors(curve, other))]
        least = min((min(values) for values in found), default=0.0)
        note = f"at equal bill; median of the samples, least {least:.2f}, {_spread([max(values) for values in found])}"
        note += f". {UNLIKE}" if label.startswith("Pollux") else ""
        what = f"{label}: mean JCT over that with perfect speedups, at most"
        claims.append(_factor("Figure 8", what, paper, median(map(max, found)) if found else None, note))
    return claims


def figure_9(context: Context) -> list[Curve]:
    trace = context.trace(NEW)
    curves = []
    for c2, seed in bursts_of(context):
        curves.append(fixed_widths(context, trace, over=(1.3, 1.5, 1.75, 2.1), c2=c2, seed=seed))
        curves += [autoscaled(context, trace, o, AIMS_AT_120[o], c2=c2, seed=seed) for o in OBJECTIVES]
    return curves


def figure_9_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
    found = burst_factors(context, with_points(figure_9(context), outcomes))
    claims = []
    for objective, by_c2 in found.items():
        means = {c2: mean(values) for c2, values in by_c2.items() if values}
        errors = {c2: stdev(values) / len(values) ** 0.5 for c2, values in by_c2.items() if len(values) > 1}
        what = f"mean JCT of Pollux with autoscaling ({objective}) over BOA's at equal bill, as C² grows"
        ours = ", ".join(f"{value:.2f} (±{errors.get(c2, 0.0):.2f}) at {c2:g}" for c2, value in means.items()) or None
        grows = len(means) > 1 and means[max(means)] > (1 + GROWS) * means[min(means)]
        note = f"mean of {len(SEEDS)} seeds and its standard error, Pollux aims at {AIMS_AT_120[objective][0]}; "
        note += "bursts every hour on average, between them a 25th of the mean rate. "
        note += UNLIKE
        verdict: Verdict = "not run" if len(means) < 2 else "reproduced" if grows else "differs"
        claims.append(Claim("Figure 9", what, "grows", ours, verdict, note))
    return claims


def _spread(values: Sequence[float]) -> str:
    """The least and the greatest of the samples, in words."""
    return f"{len(values)} sample(s): {min(values):.3f} to {max(values):.3f}" if values else "no sample"


def _factor(where: str, what: str, paper: float, ours: float | None, note: str = "") -> Claim:
    if ours is None:
        return Claim(where, what, paper, None, "not run", "no runs of both rent as much, or take as long")
    return compared(where, what, paper, ours, note=note, **UP_TO)


def _experiment(
    name: str, title: str, curves: Any, claims: Any, traces: tuple[str, ...], draw: str, drawn: int | None = None
) -> Experiment:
    """An experiment of curves; the first so many are `drawn`, those of one sample."""

    def tasks(context: Context) -> Sequence[HarnessTask[Any]]:
        return tasks_of(curves(context))

    def picture(path: Path, context: Context, outcomes: Sequence[Any]) -> None:
        from experiments.boa import renting_pictures  # matplotlib, only where something is drawn

        getattr(renting_pictures, draw)(path, context, with_points(curves(context), outcomes)[:drawn])

    return Experiment(name, title, tasks, claims, traces, picture)


EXPERIMENTS: tuple[Experiment, ...] = (
    *PLANS,
    AGAINST_BOUND,
    _experiment("figure-4", "Figure 4: JCT against GPUs, 85 jobs", figure_4, figure_4_claims, (SMALL,), "frontiers"),
    _experiment("figure-5", "Figure 5: GPUs over time at 55 GPUs", figure_5, figure_5_claims, (SMALL,), "over_time"),
    _experiment(
        "figure-6", "Figure 6: JCT against GPUs, filterTrace and newTrace", figure_6, figure_6_claims,
        (FILTERED, *SAMPLES), "two_frontiers",
    ),
    _experiment(
        "figure-7", "Figure 7: efficiency at 112 GPUs, or as many times the load", figure_7, figure_7_claims, SAMPLES,
        "efficiency", 3,
    ),
    _experiment(
        "figure-8", "Figure 8: errors of speedups", figure_8, figure_8_claims, (*SAMPLES, DETAIL), "frontiers", CURVES_8
    ),
    _experiment("figure-9", "Figure 9: bursts", figure_9, figure_9_claims, (NEW,), "bursts"),
)  # fmt: skip
