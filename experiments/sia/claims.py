"""Compare the claims of SIA's paper in section 6 and on its predictions with our measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np

from experiments.harness.experiment import Claim, Context, Verdict, compare_figure, compare_mean
from experiments.harness.sample import ENOUGH_SEEDS, Sample
from experiments.sia.accuracy import Accurate, format_scores
from experiments.sia.comparison import BESIDE, PREEMPTION, Compared, preemptive_name
from instances.sia import VARIANTS
from instances.sia.traces import helios_demand

BASELINES = ("ssf", "mmfs", "hived", "themis")
ABLATION = ("sia-random-load", "sia-random", "sia-perfect", "sia-vc")
LOCAL = ("local-hived", "local-sia-sliding", "local-sia-perfect", "local-sia-vc")
WITH_LOCALITY = (*LOCAL, "sia-perfect")
"""Policies of Figure 16: with locality, and with the same predictions without locality."""
SECTION_6 = (
    *(*BASELINES, "gssf", "sia-sliding", "sia-persistence", "sia-perfect-arrivals", *ABLATION),
    *("sia-learned", "sia-learned-durations", "sia-learned-modes", "safe-ssf", "sia-fine"),
)
SMALL = ("base", "lower-load", "higher-load", "less-queues", "more-queues", "fewer-wide", "more-wide")
ORACLE = (
    *("oracle", "sia-vc", "safe-ssf", "sia-perfect", "sia-fine", "sia-sliding", "sia-perfect-arrivals"),
    *BASELINES[1:],
)
COMPARED_WITH_LEARNED = (
    *("sia-sliding", "sia-persistence", "sia-perfect-arrivals", "sia-perfect"),
    "sia-learned-durations",
)
KEPT = ("sia-perfect", "sia-fine", "sia-vc", "safe-ssf")
"""Policies that promise not to slow any job."""
DRAWS = 1000  # of a bootstrap
FEW_POOLS = "draws of at most 11 pools in 59 days: 95% by a bootstrap over weeks or pools, whichever is wider"
OTHER_TRACE = "Philly in CloudML's place"

Measure = Callable[[Sequence[Compared]], float]
"""A figure of several workloads together."""


def figures(outcomes: Sequence[Compared], policy: str, key: str = "geometric_speedup") -> list[float]:
    """Return a figure of a policy on each workload."""
    return [float(outcome.figures[policy][key]) for outcome in outcomes]


def median_of(policy: str, key: str = "geometric_speedup") -> Measure:
    """Return the measure of the median over the workloads."""
    return lambda outcomes: median(figures(outcomes, policy, key))


def mean_of(policy: str, key: str) -> Measure:
    """Return the measure of the mean over the workloads."""
    return lambda outcomes: fmean(figures(outcomes, policy, key))


def middles_over(policy: str, other: str) -> Measure:
    """Return the measure of the median speed-up over the workloads of a policy, relative to that of another."""
    return lambda outcomes: median(figures(outcomes, policy)) / median(figures(outcomes, other))


def sums_over(policy: str, other: str, key: str) -> Measure:
    """Return the measure of the sum over the workloads, relative to that of another policy; 0 if both are 0."""

    def ratio(outcomes: Sequence[Compared]) -> float:
        own, others = (sum(figures(outcomes, name, key)) for name in (policy, other))
        return own / others if others else math.inf if own else 0.0

    return ratio


def compare_pairs(policy: str, other: str) -> Measure:
    """Return the measure of the geometric mean of the paired ratios of two policies' geometric means of speed-ups."""

    def mean(outcomes: Sequence[Compared]) -> float:
        pairs = zip(figures(outcomes, policy), figures(outcomes, other), strict=True)
        return math.exp(fmean(math.log(a / b) for a, b in pairs))

    return mean


def gain_share(policy: str) -> Measure:
    """Return the measure of a policy's share of the delay that the oracle saves against FCFS on all workloads.

    The share is 1 if the oracle saves no delay.
    """

    def share(outcomes: Sequence[Compared]) -> float:
        before = sum(o.figures["oracle"]["base_delay"] for o in outcomes)
        saved = before - sum(figures(outcomes, "oracle", "total_delay"))
        return (before - sum(figures(outcomes, policy, "total_delay"))) / saved if saved else 1.0

    return share


def count_wins(outcomes: Sequence[Compared], policy: str, other: str) -> str:
    """Say on how many workloads a policy's geometric mean of speed-ups is at least another's."""
    pairs = zip(figures(outcomes, policy), figures(outcomes, other), strict=True)
    return f"{sum(a >= b for a, b in pairs)} of {len(outcomes)}"


def ratios(outcomes: Sequence[Compared], policy: str, other: str) -> Sample:
    """Return `compare_pairs` with its interval: Student's t if the workloads are independent."""
    measure = compare_pairs(policy, other)
    if any(outcome.week is not None for outcome in outcomes):
        return measure_over_draws(outcomes, measure)
    return Sample.from_ratios([measure([outcome]) for outcome in outcomes])


def measure_over_draws(outcomes: Sequence[Compared], measure: Measure) -> Sample:
    """Return a measure of all workloads with its interval, and its range over single workloads with a finite value.

    Draws of a trace share its weeks and its pools. Their interval is the wider of two: of a bootstrap over the weeks in
    which they start, and of one over their busiest pools. Other workloads are independent.
    """
    groups: list[list[Hashable]] = [[o.week for o in outcomes], [o.busiest for o in outcomes]]
    if None in groups[0]:
        groups = [list(range(len(outcomes)))]
    found = [Sample.bootstrap(outcomes, group, measure, draws=DRAWS) for group in groups]
    wide = max(found, key=lambda one: -1.0 if one.low is None or one.high is None else one.high - one.low)
    each = [value for value in (measure([outcome]) for outcome in outcomes) if math.isfinite(value)] or [wide.mean]
    low, high = (None if end is None or not math.isfinite(end) else end for end in (wide.low, wide.high))
    return replace(wide, seeds=len(outcomes), low=low, high=high, least=min(each), greatest=max(each))


def _verdict(held: bool, close: bool = False) -> Verdict:
    return "reproduced" if held else "near" if close else "differs"


@dataclass(frozen=True)
class FigureClaims:
    """Workloads of which a figure of the paper (`where`) makes claims. All notes end in `note`."""

    where: str
    outcomes: Sequence[Compared]
    note: str = ""

    def _join_notes(self, note: str) -> str:
        return "; ".join(filter(None, (note, self.note)))

    def claim_without_reference(self, what: str, measure: Measure) -> Claim:
        """Return a claim with our figure alone, because the paper has at most a plot of it."""
        sample = measure_over_draws(self.outcomes, measure)
        return Claim(self.where, what, None, sample.mean, "no figure", self.note, sample)

    def ratio(self, what: str, paper: str | None, policy: str, other: str) -> Claim:
        """Return a claim with the ratio of two policies' speed-ups alone."""
        sample = ratios(self.outcomes, policy, other)
        return Claim(self.where, what, paper, sample.mean, "no figure", self.note, sample)

    def claim_range(
        self, what: str, paper: str, measure: Measure, low: float, high: float = math.inf, *,
        near: tuple[float, float] | None = None, note: str = "", sentence: str = "", readings: tuple[str, ...] = (),
        would_change: str = "",
    ) -> Claim:  # fmt: skip
        """Return a claim that holds if a measure lies between two ends, and is near if it lies within `near`."""
        sample = measure_over_draws(self.outcomes, measure)
        close = near is not None and near[0] <= sample.mean <= near[1]
        verdict, noted = _verdict(low <= sample.mean <= high, close), self._join_notes(note)
        claim = Claim(self.where, what, paper, sample.mean, verdict, noted, sample, sentence, readings, would_change)
        known = sample.low is not None and sample.high is not None and sample.seeds >= ENOUGH_SEEDS
        apart = known and ((sample.high or 0.0) < low or (sample.low or 0.0) > high)
        return claim if apart else claim.when_cut()

    def claim_none_slowed(self, what: str, policies: Sequence[str]) -> Claim:
        """Return the claim that policies slow no job."""
        late = sum(sum(figures(self.outcomes, name, "slowed")) for name in policies)
        return Claim(self.where, what, 0.0, late, _verdict(late == 0), self.note)


def group_by_queues(outcomes: Sequence[Compared]) -> dict[int, list[Compared]]:
    """Return the outcomes by the number of queues of their workload."""
    found: dict[int, list[Compared]] = {}
    for outcome in outcomes:
        found.setdefault(int(outcome.workload.split("-")[-2]), []).append(outcome)
    return found


def _groups(where: str, outcomes: Sequence[Compared], note: str = "") -> dict[int, FigureClaims]:
    """Return the outcomes as groups by the number of queues."""
    return {
        q: FigureClaims(where, some, f"{len(some)} {FEW_POOLS}{note}") for q, some in group_by_queues(outcomes).items()
    }


def _mark_not_comparable(claim: Claim) -> Claim:
    """Return the claim, but nothing against the paper, whose workload is unknown."""
    return replace(claim, verdict="not comparable") if claim.verdict in ("differs", "few runs") else claim


LESS = (
    "the additional constraints reduce the gains (SIA with perfect predictions offers lower speed-up than in Figure 14)"
)


def figure_16(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim speed-ups and slow-downs with locality, and whether locality reduces the gain of perfect predictions.

    Two baselines: FCFS with locality, which waits longer itself, and FCFS without it.
    """
    claims = []
    for q, of in _groups("Figure 16", outcomes, "; servers of 8 GPUs").items():
        for name in LOCAL:
            short = f"{name.removeprefix('local-')}, {q} queues"
            claims += [
                of.claim_without_reference(f"{short}: median speed-up over FCFS with locality", median_of(name)),
                of.claim_without_reference(
                    f"{short}: median speed-up over FCFS without locality", median_of(name + BESIDE)
                ),
                of.claim_without_reference(f"{short}: share of jobs slowed", mean_of(name, "slowed_share")),
                of.claim_without_reference(f"{short}: slow-down in all, min", mean_of(name, "total_slowdown")),
            ]
        what = f"sia-perfect without locality, {q} queues, the same jobs and pools: median speed-up"
        claims.append(of.claim_without_reference(what, median_of("sia-perfect")))
        for base, key in (("both over FCFS without locality", BESIDE), ("each over FCFS of its own kind", "")):
            name = f"local-sia-perfect{key}"
            pairs = zip(figures(of.outcomes, name), figures(of.outcomes, "sia-perfect"), strict=True)
            claims.append(
                of.claim_range(
                    f"perfect predictions, {q} queues: speed-up with locality over that without, {base}",
                    "below 1", compare_pairs(name, "sia-perfect"), 0.0, 1.0,
                    note=f"{sum(a < b for a, b in pairs)} of {len(of.outcomes)} pairs below", sentence=LESS,
                    readings=("both baselines have a row", "medians of different draws, as in two figures"),
                    would_change="the paper's jobs and pools, or which FCFS its Figure 16 is over",
                )
            )  # fmt: skip
        if sum(figures(of.outcomes, "local-hived", "total_slowdown")):
            measure = sums_over("local-sia-sliding", "local-hived", "total_slowdown")
            what = f"SIA's slow-down over HiveD*'s, {q} queues"
            claims.append(of.claim_range(what, "far less", measure, 0.0, 0.1, near=(0.0, 1.0)))
    slowed = FigureClaims("Theorem 1", outcomes).claim_none_slowed(
        "jobs slowed by SIA_VC with locality", ("local-sia-vc",)
    )
    return [*claims, slowed]


def figure_13(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim speed-ups and slow-downs of SIA relative to the alternatives, and the figures of the abstract."""
    of = FigureClaims("Figure 13", outcomes, f"{len(outcomes)} {FEW_POOLS}; {OTHER_TRACE}")
    claims = [
        of.claim_without_reference(f"{name}: median of the geometric means of speed-ups", median_of(name))
        for name in (*BASELINES, "sia-learned", "sia-perfect")
    ]
    claims += [
        of.claim_range(
            f"SIA's median speed-up over that of {name}",
            "equivalent or better",
            middles_over("sia-learned", name),
            0.95,
            note=f"{count_wins(outcomes, 'sia-learned', name)} draws",
            sentence="SIA offers equivalent or better speed-up relative to the alternatives",
        )
        for name in BASELINES
    ]
    for key, what in (("total_slowdown", "slow-down in all"), ("worst_slowdown", "worst slow-down, mean")):
        own, fair = (figures(outcomes, name, key) for name in ("sia-learned", "mmfs"))
        most = max(own) / max(sum(own), 1e-9), max(fair) / max(sum(fair), 1e-9)
        claims.append(
            of.claim_range(f"SIA's {what} over that of MMFS", "0.1% to 1%", sums_over("sia-learned", "mmfs", key),
                           0.001, 0.01, near=(0.0, 0.03),
                           note=f"one draw has {most[0]:.0%} of SIA's and one {most[1]:.0%} of MMFS's; "
                           f"SIA slows nobody in {sum(not value for value in own)} draws",
                           sentence="reduces ... slowdowns by 100x to 1000x relative to MaxMin")
        )  # fmt: skip
    claims.append(replace(of, where="6.3").claim_none_slowed("jobs slowed with perfect predictions", KEPT))

    def best_other(some: Sequence[Compared]) -> float:
        return max(median(figures(some, name)) for name in BASELINES if name != "mmfs")

    best = max(BASELINES, key=lambda name: median(figures(outcomes, name)))
    claims.append(
        of.claim_range("MMFS's median speed-up over the best of the others", "above 1",
                       lambda some: median(figures(some, "mmfs")) / best_other(some), 1.0,
                       note=f"{best} has the most; without MMFS {best_other(outcomes):.2f}",
                       sentence="MaxMin, which offers the most speedup")
    )  # fmt: skip
    note = f"the paper does not say on which queues, nor of what the average is; {of.note}"
    for what, paper, key in (
        ("geometric mean of speed-ups", 2.83, "geometric_speedup"),
        ("ratio of mean JCTs", 2.83, "jct_speedup"),
        ("90th percentile of speed-ups", 16.6, "speedup_p90"),
    ):
        sample = measure_over_draws(outcomes, median_of("sia-learned", key))
        what = f"SIA over FCFS: {what}, median of the draws"
        claim = _mark_not_comparable(compare_mean("abstract", what, paper, sample, note=note))
        said = "reduces job latency by 2.83 times on average, 16.6 times at the 90th percentile"
        claims.append(replace(claim, sentence=said))
    return claims


def figure_14(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim speed-ups by the number of queues."""
    groups = _groups("Figure 14", outcomes)
    few, many = min(groups), max(groups)
    claims = []
    for q, of in groups.items():
        best = max(BASELINES, key=lambda name: median(figures(of.outcomes, name)))
        for name in ("sia-learned", "sia-perfect", best):
            what = f"{name}, {q} queues: median of the geometric means of speed-ups"
            claims.append(of.claim_without_reference(what, median_of(name)))
        for name in ("sia-learned", "mmfs"):
            what = f"{name}, {q} queues: 95th percentile of speed-ups, median"
            claims.append(of.claim_without_reference(what, median_of(name, "speedup_p95")))
        low, wanted = (1.0, "more than the others") if q == many else (0.8, "similar")
        what = f"SIA's median speed-up over that of {best}, {q} queues"
        claims.append(of.claim_range(what, wanted, middles_over("sia-learned", best), low))
    first, last = (median(figures(groups[q].outcomes, "sia-learned")) for q in (few, many))
    ours = f"{first:.2f} to {last:.2f}"
    return [*claims, Claim("Figure 14", "more queues, more speed-up", "grows", ours, _verdict(last > first))]


def figure_15a(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim what perfect and random predictions change, by the number of queues."""
    claims, shares = [], {}
    for q, of in _groups("Figure 15a", outcomes).items():
        late, learned = (
            sum(figures(of.outcomes, name, "total_slowdown")) / len(of.outcomes)
            for name in ("sia-random-load", "sia-learned")
        )
        over_clock = middles_over("sia-perfect", "sia-vc")
        shares[q] = over_clock(of.outcomes)
        claims += [
            of.claim_range(f"perfect over learned, {q} queues: median speed-up", "slightly more",
                           middles_over("sia-perfect", "sia-learned"), 1.0, 1.25, near=(0.97, 1.5)),
            of.claim_range(f"learned over random WillJobsArrive, {q} queues: slow-down in all", "much less",
                           sums_over("sia-learned", "sia-random-load", "total_slowdown"), 0.0, 0.5, near=(0.0, 1.0),
                           note=f"{learned:.4g} against {late:.4g} min"),
            of.claim_range(f"random WillJobsArrive over learned, {q} queues: median speed-up", "less",
                           middles_over("sia-random-load", "sia-learned"), 0.0, 1.0),
            of.claim_range(f"both random over MMFS, {q} queues: share of jobs slowed", "as MMFS",
                           sums_over("sia-random", "mmfs", "slowed_share"), 0.5, 2.0),
            of.claim_without_reference(f"SIA over SIA_VC, {q} queues: median speed-up", over_clock),
        ]  # fmt: skip
    ours = ", ".join(f"{q} queues {value:.2f}" for q, value in shares.items())
    verdict = _verdict(shares[max(shares)] > shares[min(shares)])
    return [*claims, Claim("Figure 15a", "SIA over SIA_VC", "the gap shrinks with more queues", ours, verdict)]


def value(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim speed-ups of other predictions over learned ones, and the shares of jobs that they slow."""
    note = f"{len(outcomes)} {FEW_POOLS}; {min(group_by_queues(outcomes))} queues, ratio of geometric means"
    of, names = FigureClaims("6.3", outcomes, note), COMPARED_WITH_LEARNED
    return [
        *(of.ratio(f"speed-up of {name} over sia-learned", None, name, "sia-learned") for name in names),
        *(
            of.claim_without_reference(f"share of jobs slowed by {name}", mean_of(name, "slowed_share"))
            for name in (*names, "sia-learned")
        ),
    ]


def preemption(
    context: Context, outcomes: Sequence[Compared], given: Sequence[tuple[float, float]] = PREEMPTION
) -> list[Claim]:
    """Claim the gain of interruptions over SIA without them, with the same predictions."""
    draws = "seeds of three days of the base workload" if outcomes[0].week is None else FEW_POOLS
    note = f"ratio of geometric means; the rule is this project's own; {len(outcomes)} {draws}"
    of, claims = FigureClaims("5.5", outcomes, note), []
    for kind in ("perfect", "sliding"):
        plain = f"sia-{kind}"
        claims.append(of.claim_without_reference(f"share of jobs slowed by {plain}", mean_of(plain, "slowed_share")))
        for share, restart in given:
            name, said = preemptive_name(kind, share, restart), f"{share:.0%} preemptible, restart {restart:g} min"
            claims += [
                of.ratio(f"speed-up over {plain}, {said}", "more aggressive", name, plain),
                of.claim_without_reference(f"share of jobs slowed, {plain}, {said}", mean_of(name, "slowed_share")),
            ]
    names = ("sia-perfect", *(preemptive_name("perfect", *one) for one in given))
    return [*claims, FigureClaims("5.5", outcomes).claim_none_slowed("jobs slowed with perfect predictions", names)]


TABLE_12 = {"mmfs": (1.75, 1.16, 9.88, 2.33, 7.61), "sia-perfect": (1.6, 1.0, 52.46, 1.0, 30.26)}


def table_12(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim speed-ups of four queues, and of all jobs."""
    note = f"{len(outcomes)} draws of the table's widths, loads and medians; durations are not published"
    claims = []
    for name, (*row, of_all) in TABLE_12.items():
        for k, paper in enumerate(row):
            queue = Sample.of([o.figures[name]["pools"][f"q{k}"] for o in outcomes])
            claims.append(compare_mean("Table 12", f"{name}: speed-up of queue {k}", paper, queue, note=note))
        claims.append(compare_mean("Table 12", f"{name}: all", of_all, Sample.of(figures(outcomes, name)), note=note))
    sample = ratios(outcomes, "sia-perfect", "mmfs")
    what, said = "SIA's speed-up over that of MMFS, all jobs", "30.26 / 7.61 = 3.98"
    ahead = Claim("Table 12", what, said, sample.mean, _verdict(sample.mean > 1), note, sample)
    return [*map(_mark_not_comparable, claims), ahead if sample.seeds >= ENOUGH_SEEDS else ahead.when_cut()]


def figure_11(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim SIA's slow-downs and speed-up relative to MMFS on four queues."""
    of = FigureClaims(
        "Figure 11", outcomes, "the four queues of Table 12, simulated; the paper's is a run of its prototype"
    )
    share = Sample.of(figures(outcomes, "mmfs", "slowed_share"))
    return [
        compare_mean(of.where, "share of jobs that MMFS slows", 0.02, share, within=0.25, near=1.0, note=of.note),
        of.claim_range("jobs that SIA slows over those that MMFS slows", "fewer",
                       sums_over("sia-sliding", "mmfs", "slowed_share"), 0.0, 1.0),
        of.claim_range("SIA's speed-up over that of MMFS", "more", compare_pairs("sia-sliding", "mmfs"), 1.0),
        of.claim_range("SIA's slow-down in all over that of MMFS", "1/250 = 0.4%",
                       sums_over("sia-sliding", "mmfs", "total_slowdown"), 0.002, 0.008, near=(0.0, 0.02)),
    ]  # fmt: skip


TABLE_17 = {"mmfs": (3.94, 357.6, 1.0, 0.0176, 5027.0, 163.0), "sia-learned": (3.71, 390.7, 1.0, 0.0, 0.0, 0.0)}
KEYS_17 = {
    "geometric_speedup": "speed-up",
    "speedup_p95": "95th percentile of speed-ups",
    "speedup_p5": "5th percentile of speed-ups",
    "slowed_share": "share of jobs slowed",
    "total_slowdown": "slow-down in all, min",
    "worst_slowdown": "worst slow-down, min",
}


def table_17(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim figures for all pools of Philly at shares of their sizes; the paper's figure is of Helios."""
    note = "one run of 30 days, Philly in the place of Helios, whose job log (cluster_log.csv) is not at hand"
    return [claim for outcome in outcomes for claim in _claim_at_size(outcome, "Table 17", "Philly", note)]


def figure_18(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim figures for Helios' pools at their own sizes (Table 17) and at shares of them (Figure 18)."""
    claims, note = [], "one run: the paper's cluster and months are not said"
    for outcome in outcomes:
        claims += _claim_at_size(outcome, "Figure 18", "Helios", "one run of 30 days")
        if _size(outcome) == 1:
            claims += [
                compare_figure(
                    "Table 17", f"{name}, Helios: {what}", paper, float(outcome.figures[name][key]), note=note
                ).when_cut()
                for name, row in TABLE_17.items()
                if name in outcome.figures
                for paper, (key, what) in zip(row, KEYS_17.items(), strict=True)
            ]
    return claims


def _size(outcome: Compared) -> float:
    """Return the share of the pools' own sizes at which a workload is run."""
    return int(outcome.workload.split("-")[2]) / 1000


def _claim_at_size(outcome: Compared, where: str, trace: str, note: str) -> list[Claim]:
    pools, note = f"{trace}'s pools at {_size(outcome):g} of their sizes", f"{outcome.jobs} jobs; {note}"
    return [
        Claim(where, f"{name}, {pools}: {what}", None, round(float(one[key]), 4), "no figure", note)
        for name, one in outcome.figures.items()
        for key, what in KEYS_17.items()
    ]


def figure_15b(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim shares of the oracle's gain and delays relative to its own: 99% of a large gain may be twice the delay."""
    proven = [o for o in outcomes if "oracle" in o.figures]
    claims = []
    for variant in SMALL:
        group = [o for o in proven if o.workload.startswith(f"base-{variant}-")]
        of = FigureClaims("Figure 15b", group, f"{len(group)} half days that are proven")
        for name in ORACLE[1:] if group else ():
            claims += [
                of.claim_without_reference(
                    f"of the oracle's gain over FCFS in delay, {variant}: {name}", gain_share(name)
                ),
                of.claim_without_reference(
                    f"delay over the oracle's, {variant}: {name}", sums_over(name, "oracle", "total_delay")
                ),
            ]
    if proven:
        of = FigureClaims("Figure 15b", proven, f"{len(proven)} workloads that are proven; the delay stands beside it")
        what = "median speed-up of SIA_VC over that of the oracle"
        claims.append(of.claim_range(what, "similar", middles_over("sia-vc", "oracle"), 0.9, 1.1))
    return claims


ANTICIPATING, SHARING = ("sia-vc", "sia-perfect"), ("gssf", "mmfs")
FIGURE_24 = ("ssf", *SHARING, *ANTICIPATING)
"""Policies of Figures 5 and 24; those that anticipate stand in for the oracle, which is not proven on all workloads."""
GAINS = "gains from anticipation increase when there are more queues or higher load"
WORSE = "MMFS allows sharing but can slow down jobs ... and JCTs are worse than with SSF"


def figure_24(context: Context, outcomes: Sequence[Compared]) -> list[Claim]:
    """Claim speed-ups in mean JCT and slow-downs on the workloads of Appendix C, of which Figure 5 has three."""
    groups = {v: [o for o in outcomes if o.workload.startswith(f"base-days-{v}-")] for v in VARIANTS}
    claims = []
    for variant, group in groups.items():
        of = FigureClaims("Figure 24", group, f"three days, {variant}")
        for name in FIGURE_24:
            claims += [
                of.claim_without_reference(
                    f"{variant}, {name}: mean JCT of FCFS over its own", median_of(name, "jct_speedup")
                ),
                of.claim_without_reference(f"{variant}, {name}: share of jobs slowed", mean_of(name, "slowed_share")),
            ]
        claims.append(
            of.claim_range(
                f"{variant}: mean JCT of SSF over that of MMFS",
                "below 1",
                _mean_jct_ratio,
                0.0,
                1.0,
                sentence=WORSE,
                readings=("SSF with overtaking", "MMFS blocked by the worst pool"),
                would_change="the paper's draws, or its order of jobs within MMFS",
            )
        )
        claims.append(of.claim_none_slowed(f"{variant}: jobs slowed by policies that anticipate", ANTICIPATING))
    base = [o.figures["sia-vc"]["jct_speedup"] for o in groups["base"]]
    for variant in ("higher-load", "more-queues"):
        ours = [o.figures["sia-vc"]["jct_speedup"] for o in groups[variant]]
        sample = Sample.from_ratios([a / b for a, b in zip(ours, base, strict=True)])
        what = f"SIA_VC's speed-up on {variant} over that on base, the same seeds"
        claim = Claim("Figure 5", what, "above 1", sample.mean, _verdict(sample.mean > 1), "", sample, GAINS)
        reached = sample.high is None or sample.high >= 1
        claims.append(claim.when_cut() if reached or sample.seeds < ENOUGH_SEEDS else claim)
    return claims


def _mean_jct_ratio(outcomes: Sequence[Compared]) -> float:
    """Return the geometric mean over the workloads of the mean JCT under SSF over that under MMFS."""
    pairs = zip(figures(outcomes, "mmfs", "jct_speedup"), figures(outcomes, "ssf", "jct_speedup"), strict=True)
    return math.exp(fmean(math.log(fair / short) for fair, short in pairs))


TABLE_10 = {5.0: (0.66, 0.85, 0.74), 60.0: (0.62, 0.72, 0.67), 720.0: (0.66, 0.64, 0.65)}
TABLE_20 = {5.0: (0.34, 0.87, 0.49), 60.0: (0.62, 0.79, 0.69), 720.0: (0.84, 0.89, 0.86)}
SETS = ("periodic", "recent arrivals", "recent completions", "future completions")
TABLE_23_F = {5.0: (0.66, 0.74, 0.74, 0.74), 60.0: (0.64, 0.65, 0.65, 0.67), 720.0: (0.59, 0.64, 0.64, 0.65)}


def _scores(where: str, k: float, paper: Sequence[float], found: Accurate, note: str) -> Claim:
    """Claim precision, recall and F-score of a quantum; the verdict is on the F-score."""
    ours, *others = (found.row(k, name) for name in ("future completions", "persistence", "always one"))
    off, (persistence, always) = abs(ours[2] - paper[2]), map(format_scores, others)
    verdict = _verdict(off <= 0.03, off <= 0.1)
    note = f"{note}; persistence {persistence}, always one {always}"
    return Claim(where, f"P / R / F, {k:g} min", format_scores(paper), format_scores(ours), verdict, note)


def predictions(context: Context, outcomes: Sequence[Accurate]) -> list[Claim]:
    """Claim how good predictions are on Philly, by quantum, features and mean duration of a pool."""
    long, short = outcomes
    claims = [_scores("Table 10", k, paper, short, "Philly, 3 and 2 weeks") for k, paper in TABLE_10.items()]
    claims += [_scores("Table 20", k, paper, long, "Philly, 52 and 28 days") for k, paper in TABLE_20.items()]
    note = "periodic, + arrivals, + completions, + future, inferred from the true classes of running jobs"
    for k, row in TABLE_23_F.items():
        paper, ours = (" ".join(f"{f:.2f}" for f in found) for found in (row, [long.row(k, name)[2] for name in SETS]))
        claims.append(Claim("Table 23", f"F by features, {k:g} min", paper, ours, "no figure", note))
        groups = ", ".join(f"{r[2]} {r[5]:.2f}" for r in long.rows if r[:2] == (k, "future completions"))
        claims.append(Claim("Table 23", f"F by mean duration, {k:g} min", None, groups, "no figure"))
    note = "last 50 finished jobs of pool and width"
    for name, share in long.durations.items():
        ours = f"right {share['right']:.1%}, too short {share['too short']:.1%}"
        claims.append(Claim("5.4.2", f"JobDuration, {name}", None, ours, "no figure", note))
    return claims


DEMAND, OWNED = "traces/helios_earth_vc_demand_10min.csv", "traces/helios_earth_vc_gpus.csv"
QUANTA = (60.0, 720.0)
"""Of Table 20; jobs are counted every 10 minutes, so that 5 minutes are out of reach."""


def helios(context: Context, outcomes: Sequence[Accurate]) -> list[Claim]:
    """Claim how good predictions are on Helios' demand, and how much of it other pools could serve."""
    (found,) = outcomes
    note = "Earth, May 2020: an arrival is a rise in a pool's jobs within 10 minutes; 3 weeks and 10 days"
    claims = [_scores("Table 20", k, TABLE_20[k], found, note) for k in QUANTA]
    demand = helios_demand(context.trace(DEMAND))
    owned = demand.read_owned_gpus(context.trace(OWNED))
    known = owned > 0  # on one day of May the table has all GPUs in a pool of another name
    mine = known.any(axis=0)
    idle = np.where(known, np.maximum(owned - demand.gpus, 0), 0)[:, mine]
    waiting = np.where(known, np.maximum(demand.gpus - owned, 0), 0)[:, mine]
    low, middle, high = np.quantile(idle.sum(axis=0) / owned[:, mine].sum(axis=0), [0.25, 0.5, 0.75])
    served = np.minimum(idle.sum(axis=1), waiting.sum(axis=1)).sum() / max(waiting.sum(), 1.0)
    note = f"{mine.sum()} pools of Earth, May 2020, every 10 minutes"
    return claims + [
        Claim(where, what, paper, ours, "no figure", note)
        for where, what, paper, ours in (
            ("Figure 2", "idle share of a pool's GPUs, quartiles", "substantial",
             f"{low:.0%}, {middle:.0%}, {high:.0%}"),
            ("6.5", "share of pools' time in which GPUs are waited for", None,
             f"{(waiting > 0).sum() / known.sum():.1%}"),
            ("6.5", "of the GPUs waited for, those that other pools leave idle at that time", None, f"{served:.0%}"),
        )
    ]  # fmt: skip
