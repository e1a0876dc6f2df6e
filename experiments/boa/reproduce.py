"""Figures 1 to 11 and section 5.4 of BOA in the renting world: the paper's claims and our measurements.

BOA is the proven optimal plan (`exact`) for a budget; the bill that counts is the one of the run. Pollux is split
exactly, under either of its two objectives: the sum of speedups, which the paper describes, and the power mean of
speedups over a fair share, which its artifact has. How it autoscales, how wide it lets jobs be and what it knows of
them are readings of sections 6.1 and 6.3; the table `decomposition` has them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

from experiments.boa.curves import (
    AVERAGED,
    MOMENT,
    OVER_LOAD,
    Curves,
    PolicyCurve,
    Reading,
    budget_factors,
    build_autoscaling_curve,
    build_budget_curve,
    burst_factors,
    draw_workload,
    factors,
    few,
    part,
    ratio,
)
from experiments.boa.plans import EXPERIMENTS as PLANS
from experiments.boa.plans import NEWTRACE_LOAD, SAMPLES, choose_samples, curves_experiment, ours
from experiments.harness.experiment import Claim, Context, Experiment, compare_figure, compare_mean
from experiments.harness.sample import ENOUGH_SEEDS, Sample
from heuristics.boa.online import EFFICIENCIES, OBJECTIVES, pollux_name
from instances.boa import TwoRates

WORKLOADS = tuple(f"boa/workload_{k}.csv" for k in range(1, 7))
THREE = ("cifar10", "bert", "deepspeech2")
"""The applications that are left in the paper's 85 jobs of workload-1, and in its filterTrace."""
DETAIL = "boa/speedups_detail.csv"
FITTED = "speedup_policy_model"
"""Speedups of the artifact's performance model, fitted to all measurements."""
QUARTER = 900.0  # seconds between two runs of the Width Calculator (section 5.2)
FIXED = (1.3, 1.75)
"""Sizes of the clusters of Pollux without autoscaling, as multiples of the load."""
BURSTS = (1.0, 2.65, 10.0, 20.0)
"""C² of the times between arrivals."""
SEEDS = range(20)
AIMS_AT_120 = {"sum": (0.7,), "mean": (0.8,)}
"""With these aims Pollux with autoscaling rents about 120 GPUs on newTrace."""
UP_TO = {"within": 0.05, "near": 0.2}  # the paper's factors have two digits, and stand for the best of a picture
UP_TO_SAID = "the paper's figure is the greatest of a picture of one trace"
TWO = Reading("2 averaged", window=2)
LIMITED = Reading("twice the widest run", profiled=True)
BOTH = ("boa", "pollux")
LEARNT = Reading("fitted speedups, both learn", fitted=True, learning=BOTH)
ALL = Reading("all three", window=15, profiled=True, fitted=True, learning=BOTH)
ALONE = replace(ALL, label="all three, only BOA learns", learning=("boa",))
CONVERGED = replace(ALL, label="all three, neither learns", learning=())
READINGS = (MOMENT, TWO, AVERAGED, LIMITED, LEARNT, ALL, ALONE, CONVERGED)
"""`all three`: 15 efficiencies averaged, at most twice the widest run, fitted speedups. In section 6.3 policies learn
"while processing the jobs"; section 6.4 has models that "have converged" and are "still imperfect"."""
FEW_READINGS = (MOMENT, AVERAGED, ALL)
"""Where few runs will do."""
_ours = partial(ours, missing="no runs of both rent as much")
CONSTRUCTED = "we implemented the approach suggested in the simulations from [26] (section 6.1)"
LEARNS = "the policies now must learn the speedup functions (section 6.3)"


@dataclass(frozen=True)
class Traces:
    """Samples of a trace of the paper, the paper's own first, and the applications whose jobs it keeps."""

    title: str
    figure: str
    files: tuple[str, ...]
    applications: tuple[str, ...] = ()
    aims: tuple[float, ...] = EFFICIENCIES[1:-1]
    over: tuple[float, ...] = OVER_LOAD

    def of(self, context: Context) -> Sequence[str]:
        """Return the files that are run: one will do where few runs will."""
        return self.files[:1] if context.quick else self.files


EIGHTY_FIVE = Traces("85 jobs", "Figure 4", WORKLOADS, THREE, EFFICIENCIES, (1.08, *OVER_LOAD))
FILTERED = Traces("filterTrace", "Figure 6", SAMPLES, THREE)
NEWTRACE = Traces("newTrace", "Figure 6", SAMPLES)
THREE_TRACES = (EIGHTY_FIVE, FILTERED, NEWTRACE)
MEASURES = {"mean": "mean JCT", "p95": "P95 of JCT"}
"""Measures of a curve, in words."""


def autoscaling(objective: str, reading: Reading = AVERAGED) -> str:
    """Return Pollux with autoscaling in words."""
    return f"Pollux with autoscaling ({objective}, {reading.label})"


def run_readings(context: Context, readings: Sequence[Reading]) -> list[Reading]:
    """Return those of the readings that are run."""
    return [reading for reading in readings if not context.quick or reading in FEW_READINGS]


def build_curves_of_readings(
    context: Context, traces: Traces, readings: Sequence[Reading] = READINGS, **said: Any
) -> Curves:
    """BOA and Pollux with autoscaling on each sample under each reading, by sample, reading and objective."""
    found: Curves = {}
    for name, reading in product(traces.of(context), run_readings(context, readings)):
        trace, of = context.trace(name), {"applications": traces.applications, **said}
        boa = of
        if reading.fitted:
            of = of | {"speedups": context.trace(DETAIL), "believed": FITTED}
            boa = of | ({"estimate_seconds": QUARTER} if "boa" in reading.learning else {})
            of = of | ({"estimate_seconds": QUARTER} if "pollux" in reading.learning else {})
        found[name, reading, "boa"] = build_budget_curve(context, trace, over=traces.over, **boa)
        for objective in OBJECTIVES:
            found[name, reading, objective] = build_autoscaling_curve(
                context, trace, objective, traces.aims, reading, **of
            )
    return found


def compute_max_ratios(curves: Curves, objective: str, reading: Reading, what: str = "mean") -> list[float]:
    """Return for each sample the maximum ratio of Pollux's time to BOA's over the bills that both reach."""
    names = dict.fromkeys(name for name, of, _ in curves if of == reading)
    pairs = [(curves[name, reading, objective], curves[name, reading, "boa"]) for name in names]
    return [max(found) for pair in pairs if (found := factors(*pair, what))]


def read_otherwise(curves: Curves, objective: str, but: Reading, what: str = "mean") -> tuple[str, ...]:
    """Return the results under every other reading, in words."""
    run = {of for _, of, _ in curves}
    others = [reading for reading in READINGS if reading in run and reading != but]
    found = [(other, compute_max_ratios(curves, objective, other, what)) for other in others]
    return tuple(f"{other.label}: {Sample.of(values).text('.2f')}" for other, values in found if values)


def decomposition(context: Context) -> Curves:
    """Sample by sample, so that where it is broken off whole samples are done."""
    found: Curves = {}
    for place, traces in product(range(len(SAMPLES)), THREE_TRACES):
        if mine := traces.of(context)[place : place + 1]:
            curves = build_curves_of_readings(context, replace(traces, files=tuple(mine)))
            found |= {(traces.title, *key): curve for key, curve in curves.items()}
    return found


def decomposition_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for traces in THREE_TRACES:
        mine = part(curves, traces.title)
        for objective, (column, what), reading in product(
            OBJECTIVES, MEASURES.items(), run_readings(context, READINGS)
        ):
            said = f"{traces.title}, {objective}: {what} over BOA's at equal bill, at most; {reading.label}"
            yield _ours(traces.figure, said, compute_max_ratios(mine, objective, reading, column))


def figure_1_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    """ "Up to" over all that Figures 4 and 6 have, since the paper does not say of what its Figure 1 is."""
    for column, what, paper, sentence in (
        ("mean", "mean JCT", 1.75, "improves average JCT by up to a factor of ~1.75x in implementation (Figure 1)"),
        ("mean", "mean JCT", 2.0, "up to a 2x improvement in average JCT (Figure 1)"),
        ("p95", "P95 of JCT", 3.0, "up to a 3x improvement in P95 JCT (Figure 1)"),
    ):
        for objective in OBJECTIVES:
            found = {}
            for traces in THREE_TRACES:
                mine = part(curves, traces.title)
                reading = AVERAGED if traces is EIGHTY_FIVE else ALL
                if values := compute_max_ratios(mine, objective, reading, column):
                    found[traces.title] = max(values)
            who = f"{what} of Pollux with autoscaling ({objective}) over BOA's, at most, over Figures 4 and 6"
            who += f", beside {paper:g}"  # the mean JCT has two
            note = "; ".join(f"{title} {value:.2f}" for title, value in found.items())
            if not found:
                yield Claim("Figure 1", who, paper, None, "not run", "no runs of both rent as much")
                continue
            claim = compare_figure("Figure 1", who, paper, max(found.values()), note=note, **UP_TO)
            claim = replace(claim, sentence=sentence, would_change="what trace and which Pollux Figure 1 shows")
            yield _mark_not_comparable(claim, "it is not said which trace and which Pollux Figure 1 is of")


def figure_1(context: Context) -> Curves:
    return {
        (traces.title, *key): curve
        for traces, reading in ((EIGHTY_FIVE, AVERAGED), (FILTERED, ALL), (NEWTRACE, ALL))
        for key, curve in build_curves_of_readings(context, traces, (reading,)).items()
    }


def figure_4(context: Context) -> Curves:
    return build_curves_of_readings(context, EIGHTY_FIVE, (MOMENT, TWO, AVERAGED))


def figure_4_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    first = EIGHTY_FIVE.files[0]
    others = f"the other {len(EIGHTY_FIVE.of(context)) - 1} workloads are in the table `decomposition`"
    for objective in OBJECTIVES:
        who = autoscaling(objective)
        boa, pollux = curves[first, AVERAGED, "boa"], curves[first, AVERAGED, objective]
        readings = []
        for reading in (MOMENT, TWO):
            other = ratio(curves[first, reading, objective].at(40), boa.at(40)) if not context.quick else None
            readings += [f"{reading.label}: {other:.2f}"] if other is not None else []
        said: dict[str, Any] = {"sentence": CONSTRUCTED, "readings": tuple(readings)}
        for what, value in (
            ("at 40 GPUs", ratio(pollux.at(40), boa.at(40))),
            ("at equal bill, at most", max(factors(pollux, boa), default=None)),
        ):
            what = f"mean JCT of {who} over BOA's {what}"
            yield _paper("Figure 4", what, 1.6, _list_known(value), note=others, **said)
        budget = ratio(pollux.interpolate_rented(2100 / 3600), boa.interpolate_rented(2100 / 3600))
        note = f"at equal mean JCT at most {max(budget_factors(pollux, boa), default=0.0):.2f}"
        what = f"GPUs of {who} over BOA's at a mean JCT of 2100 s"
        if budget is None:
            yield Claim("Figure 4", what, 2.2, None, "not run", "no runs of both take as long")
            continue
        why = "the authors measured speedups of their own, on at most 16 GPUs (Li-Zhouzi/adaptdl, policy/pollux.py)"
        why += "" if (reached := boa.at(40)) is None else f"; here BOA takes {3600 * reached:.0f} s at 40 GPUs"
        yield _mark_not_comparable(compare_figure("Figure 4", what, 2.2, budget, note=note, **UP_TO), why)


def figure_5(context: Context) -> Curves:
    one = replace(EIGHTY_FIVE, files=EIGHTY_FIVE.files[:1])
    return build_curves_of_readings(context, one, (AVERAGED,))


def figure_5_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    boa, *rest = curves.values()
    gpus = _common_bill(list(curves.values())) if context.quick else 55.0
    for objective, pollux in zip(OBJECTIVES, rest, strict=True):
        factor = ratio(pollux.at(gpus), boa.at(gpus))
        what = f"mean JCT of {autoscaling(objective)} over BOA's at {gpus:.4g} GPUs"
        yield claim_side("Figure 5", what, "> 1", _list_known(factor), "one trace; BOA follows bursts at once")


def _common_bill(curves: Sequence[PolicyCurve]) -> float:
    """Return rented GPUs in the middle of the range that all curves have."""
    bills = [[point.rented for point in curve.points] for curve in curves]
    return fmean([max(map(min, bills)), min(map(max, bills))])


def figure_6(context: Context) -> Curves:
    found: Curves = {}
    for traces in (FILTERED, NEWTRACE):
        found |= {(traces.title, *key): curve for key, curve in build_curves_of_readings(context, traces).items()}
        for name, objective in product(traces.of(context), OBJECTIVES):
            policy = pollux_name(objective)
            fixed = build_budget_curve(context, context.trace(name), policy, FIXED, applications=traces.applications)
            found[traces.title, name, MOMENT, f"fixed-{objective}"] = fixed
    return found


def figure_6_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for traces, figures in ((FILTERED, (1.7, 1.7)), (NEWTRACE, (1.8, 1.6))):
        mine = part(curves, traces.title)
        scaled = {key: curve for key, curve in mine.items() if not str(key[2]).startswith("fixed")}
        for (column, what), paper in zip(MEASURES.items(), figures, strict=True):
            for objective in OBJECTIVES:
                who = f"{traces.title}: {what} of {autoscaling(objective, ALL)} over BOA's, at most"
                said: dict[str, Any] = {
                    "readings": read_otherwise(scaled, objective, ALL, column),
                    "sentence": f"{CONSTRUCTED}; {LEARNS}",
                    "would_change": "the authors' simulator, which is not public",
                    "note": UP_TO_SAID,
                }
                yield _paper("Figure 6", who, paper, compute_max_ratios(scaled, objective, ALL, column), **said)
                who = f"{traces.title}: {what} of Pollux on a fixed cluster ({objective}) over BOA's, at most"
                yield _ours("Figure 6", who, compute_max_ratios(mine, f"fixed-{objective}", MOMENT, column))


def figure_7(context: Context) -> Curves:
    return build_curves_of_readings(context, replace(NEWTRACE, aims=EFFICIENCIES[1:]), (MOMENT, ALL))


def figure_7_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for reading, who in product((ALL, MOMENT), ("boa", *OBJECTIVES)):
        mine = [curve for (_, of, whose), curve in curves.items() if (of, whose) == (reading, who)]
        label = "BOA" if who == "boa" else f"Pollux ({who}, {reading.label})"
        label += ", planned anew on what was seen" if who == "boa" and reading is ALL else ""
        for title, name in (
            ("as the scheduler sees it", "seen_efficiency_over_time"),
            ("of work really done", "efficiency_over_time"),
        ):
            found = [value for curve in mine if (value := curve.total_at(like_112(curve), name)) is not None]
            what = f"{label}: efficiency at 112 GPUs {title}, over time"
            if name.startswith("seen") and reading is ALL:
                paper = 0.64 if who == "boa" else 0.73
                yield _paper("Figure 7", what, paper, found, within=0.05, near=0.1)
            else:
                yield _ours("Figure 7", what, found)
        pauses = [
            fmean(point.run.totals["rescalings"] / len(point.run.jobs["job"]) for point in curve.points)
            for curve in mine
        ]
        yield _ours("Figure 7", f"{label}: pauses a job, mean of all bills", pauses)


def like_112(curve: PolicyCurve) -> float:
    """Return the GPUs that are the same multiple of the load of a curve's jobs as 112 GPUs are of newTrace's load."""
    load: float = curve.tasks[0].workload.data.believed.load
    return 112 / NEWTRACE_LOAD * load


def figure_8(context: Context) -> Curves:
    perfect: dict[str, Any] = {"speedups": context.trace(DETAIL)}
    fitted = perfect | {"believed": FITTED}
    knowledge = {"perfect": perfect, "fitted": fitted, "learning": fitted | {"estimate_seconds": QUARTER}}
    found: Curves = {}
    for name, who, (knows, said) in product(choose_samples(context), ("boa", *OBJECTIVES), knowledge.items()):
        trace = context.trace(name)
        boa = who == "boa"
        curve = (
            build_budget_curve(context, trace, **said)
            if boa
            else build_autoscaling_curve(context, trace, who, reading=AVERAGED, **said)
        )
        found[name, who, knows] = replace(curve, label=f"{curve.label}, {knows}")
    return found


def figure_8_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for who, knows in product(("boa", *OBJECTIVES), ("fitted", "learning")):
        pairs = [(curves[name, who, knows], curves[name, who, "perfect"]) for name in choose_samples(context)]
        found = [max(values) for pair in pairs if (values := factors(*pair))]
        paper = 1.0 if who == "boa" else 1.4
        label = "BOA" if who == "boa" else autoscaling(who)
        label += ", fitted speedups" + ("" if knows == "fitted" else " mended by what was run")
        what = f"{label}: mean JCT over that with true speedups at equal bill, at most"
        claim = _paper("Figure 8", what, paper, found)
        why = "one model is fitted to all placements at once, where an agent fits what its job has run"
        yield _mark_not_comparable(claim, why)


def figure_9(context: Context) -> Curves:
    trace = context.trace(SAMPLES[0])
    found: Curves = {}
    for c2, seed in bursts_of(context):
        said: dict[str, Any] = {"c2": c2, "seed": seed}
        found[c2, seed, "boa"] = build_budget_curve(context, trace, over=(1.3, 1.5, 1.75, 2.1), **said)
        for reading, objective in product((MOMENT, AVERAGED), OBJECTIVES):
            aims = AIMS_AT_120[objective]
            found[c2, seed, reading, objective] = build_autoscaling_curve(
                context, trace, objective, aims, reading, **said
            )
    return found


def bursts_of(context: Context) -> list[tuple[float, int]]:
    """Return the C² and seeds of the bursts that are run: those that the trace's rate of jobs can have."""
    data = draw_workload(context, context.trace(SAMPLES[0])).data
    greatest = TwoRates.greatest_c2(sum(c.arrivals_per_hour for c in data.classes))
    reached = [c2 for c2 in BURSTS if c2 <= greatest]
    return [(c2, seed) for seed in (SEEDS[:1] if context.quick else SEEDS) for c2 in few(context, reached)]


def figure_9_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for label, by_c2 in burst_factors(curves).items():
        for c2, values in by_c2.items():
            known = [value for value in values if value == value]
            yield _ours("Figure 9", f"mean JCT of {label} over BOA's at equal bill, C² {c2:g}", known)
        least, greatest = min(by_c2), max(by_c2)
        pairs = zip(by_c2[greatest], by_c2[least], strict=True)
        grown = [over / under for over, under in pairs if over == over and under == under]
        what = f"growth of that margin from C² {least:g} to {greatest:g}, {label}"
        if AVERAGED.label in label:
            note = f"Pollux aims at {AIMS_AT_120}; bursts every hour on average, between them 1/25 of the rate"
            yield claim_side("Figure 9", what, "grows", grown, note)
        else:
            yield _ours("Figure 9", what, grown)


RECLAIMED = (0.0, 120.0, 600.0)
"""Seconds that a node is billed for after it is released: the paper does not say how many it has."""


def figure_11(context: Context) -> Curves:
    found: Curves = {}
    for seconds in RECLAIMED:
        curves = build_curves_of_readings(context, EIGHTY_FIVE, (AVERAGED,), reclamation_seconds=seconds)
        found |= {(seconds, *key): curve for key, curve in curves.items()}
    return found


def figure_11_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    for seconds, objective in product(RECLAIMED[1:], OBJECTIVES):
        who = f"{autoscaling(objective)} and {seconds:g} s of reclamation"
        usage: list[float] = []
        slower: list[float] = []
        for name in EIGHTY_FIVE.of(context):
            rise = {}
            for whose in ("boa", objective):
                used, effective = (curves[by, name, AVERAGED, whose].points for by in (seconds, 0.0))
                rise[whose] = fmean(a.rented / b.rented for a, b in zip(used, effective, strict=True))
            usage.append(rise["boa"] / rise[objective])
            boa, pollux = (curves[seconds, name, AVERAGED, whose] for whose in ("boa", objective))
            slower += [max(found)] if (found := factors(pollux, boa)) else []
        what = f"usage over effective usage of BOA, over the same of {who}, mean of all runs"
        yield claim_side("Figure 11, Appendix D", what, "< 1", usage, above=False)
        what = f"mean JCT of {who} over BOA's at equal usage, at most"
        yield claim_side("Figure 11, Appendix D", what, "> 1", slower)


COLD: dict[str, Any] = {"rescale_seconds": 20.0, "cold_rescale_seconds": 120.0}
"""What section 5.4 measured for CIFAR-10, here for all three applications."""


SLEEP = 60.0
"""Seconds between two decisions of the authors' allocator, whatever the policy (Li-Zhouzi/adaptdl, allocator.py)."""


def section_54(context: Context) -> Curves:
    cold = build_curves_of_readings(context, EIGHTY_FIVE, (AVERAGED,), **COLD)
    found: Curves = {("cold", *key): curve for key, curve in cold.items()}
    for name, seconds in product(EIGHTY_FIVE.of(context), (0.0, SLEEP)):
        said: dict[str, Any] = {"applications": THREE, "period_seconds": seconds}
        found["period", name, seconds] = build_budget_curve(context, context.trace(name), over=EIGHTY_FIVE.over, **said)
    trace = context.trace(SAMPLES[0])
    found["times", "boa"] = build_budget_curve(context, trace, over=(1.5,))
    found["times", "fixed"] = build_budget_curve(context, trace, pollux_name("sum"), (1.5,))
    found["times", "scaled"] = build_autoscaling_curve(context, trace, "sum", (0.7,), AVERAGED)
    return found


def section_54_claims(context: Context, curves: Curves) -> Iterator[Claim]:
    why = "another machine; Pollux is split exactly by compiled loops here; a run with its world, over its jobs"
    for key, label, paper in (
        ("boa", "BOA, whose widths are looked up", 0.000146),
        ("fixed", "Pollux on a fixed cluster", 4.39),
        ("scaled", "Pollux with autoscaling", 23.58),
    ):
        (point,) = curves["times", key].points
        seconds = None if point.run.cpu_s is None else point.run.cpu_s / len(point.run.jobs["job"])
        what = f"{label}: CPU seconds a job of newTrace, all decisions and the world; the paper: seconds a decision"
        yield Claim("section 5.4", what, paper, seconds, "not comparable", why)
    pairs = [(curves["period", name, SLEEP], curves["period", name, 0.0]) for name in EIGHTY_FIVE.of(context)]
    what = f"85 jobs: mean JCT of BOA deciding every {SLEEP:g} s over that at every event, at equal bill, at most"
    yield _ours("section 5.2", what, [max(found) for pair in pairs if (found := factors(*pair))])
    cold = part(curves, "cold")
    for objective in OBJECTIVES:
        who = f"mean JCT of {autoscaling(objective)} over BOA's, at most"
        what = f"85 jobs, rescaling 20 s warm and 120 s cold: {who}"
        yield _ours("section 5.4", what, compute_max_ratios(cold, objective, AVERAGED))


def _list_known(value: float | None) -> list[float]:
    return [] if value is None else [value]


def _paper(where: str, what: str, paper: float, values: Sequence[float], **said: Any) -> Claim:
    """Return the claim that compares a figure of the paper with our samples."""
    if not values:
        return Claim(where, what, paper, None, "not run", "no runs of both rent as much, or take as long")
    return compare_mean(where, what, paper, Sample.of(values), **UP_TO | said)


def _mark_not_comparable(claim: Claim, why: str) -> Claim:
    """Return the claim; if it is not near the paper's figure, with the reason why this says nothing about the paper."""
    if claim.verdict in ("reproduced", "near", "not run"):
        return claim
    return replace(claim, verdict="not comparable", note="; ".join(part for part in (claim.note, why) if part))


def claim_side(where: str, what: str, paper: str, ratios: Sequence[float], note: str = "", above: bool = True) -> Claim:
    """Return the claim that ratios are above one, or below; it has a verdict if the interval is on one side."""
    if not ratios:
        return Claim(where, what, paper, None, "not run", "no runs of both rent as much")
    sample = Sample.from_ratios(ratios)
    low, high = (sample.mean if end is None else end for end in (sample.low, sample.high))
    claim = Claim(where, what, paper, sample.mean, "few runs", note, sample)
    held, against = (low > 1, high < 1) if above else (high < 1, low > 1)
    if held:
        return replace(claim, verdict="reproduced")
    return replace(claim, verdict="differs") if against and sample.seeds >= ENOUGH_SEEDS else claim


EVERY = (*WORKLOADS, *SAMPLES, DETAIL)
EXPERIMENTS: tuple[Experiment, ...] = (
    *PLANS,
    curves_experiment(
        "decomposition", "What each rule of Pollux changes, one by one and all", decomposition, decomposition_claims,
        EVERY, "plot_two_frontiers",
        lambda key: key[1] in (WORKLOADS[0], SAMPLES[0]) and (key[3] == "sum" or key[2:] == (MOMENT, "boa")),
    ),
    curves_experiment(
        "figure-1", "Figure 1: the greatest factors", figure_1, figure_1_claims, EVERY, "plot_two_frontiers",
        lambda key: key[1] in (WORKLOADS[0], SAMPLES[0]),
    ),
    curves_experiment(
        "figure-4", "Figure 4: JCT against GPUs, 85 jobs", figure_4, figure_4_claims, WORKLOADS, "mean_frontiers",
        lambda key: key[0] == WORKLOADS[0] and (key[2] != "boa" or key[1] == MOMENT),
    ),
    curves_experiment(
        "figure-5", "Figure 5: GPUs over time at 55 GPUs", figure_5, figure_5_claims, WORKLOADS[:1], "plot_over_time"
    ),
    curves_experiment(
        "figure-6", "Figure 6: JCT against GPUs, filterTrace and newTrace", figure_6, figure_6_claims,
        (*SAMPLES, DETAIL), "plot_two_frontiers",
        lambda key: key[1] == SAMPLES[0] and (key[2] in (MOMENT, ALL)),
    ),
    curves_experiment(
        "figure-7", "Figure 7: efficiency at 112 GPUs, or as many times the load", figure_7, figure_7_claims,
        (*SAMPLES, DETAIL), "efficiency", lambda key: key[0] == SAMPLES[0] and key[1] == ALL,
    ),
    curves_experiment(
        "figure-8", "Figure 8: errors of speedups", figure_8, figure_8_claims, (*SAMPLES, DETAIL), "mean_frontiers",
        lambda key: key[0] == SAMPLES[0],
    ),
    curves_experiment("figure-9", "Figure 9: bursts", figure_9, figure_9_claims, SAMPLES[:1], "bursts"),
    curves_experiment(
        "figure-11", "Figure 11: usage with the time of reclamation", figure_11, figure_11_claims, WORKLOADS,
        "mean_frontiers", lambda key: key[:2] == (RECLAIMED[-1], WORKLOADS[0]),
    ),
    curves_experiment(
        "section-5.4", "Section 5.4: warm and cold rescaling, times", section_54, section_54_claims,
        (*WORKLOADS, SAMPLES[0]), "mean_frontiers", lambda key: key[:2] == ("cold", WORKLOADS[0]),
    ),
)  # fmt: skip
