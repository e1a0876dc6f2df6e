"""Statistics over many comparisons of policies: medians, shares, ratios, their intervals, and verdicts on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, median

from experiments.harness.experiment import Claim, Verdict
from experiments.harness.sample import ENOUGH_SEEDS, Sample
from experiments.sia.comparison import Compared

Measure = Callable[[Sequence[Compared]], float]
DRAWS = 1000  # of a bootstrap
FEW_POOLS = "draws of at most 11 pools in 59 days: 95% by a bootstrap over weeks or pools, whichever is wider"


def figures(outcomes: Sequence[Compared], policy: str, key: str) -> list[float]:
    """One measure of a policy on each workload."""
    return [float(outcome.figures[policy][key]) for outcome in outcomes]


def middle(outcomes: Sequence[Compared], policy: str, key: str) -> float:
    """The median over the workloads."""
    return median(figures(outcomes, policy, key))


def median_of(policy: str, key: str = "geometric_speedup") -> Measure:
    """The median over the workloads of a measure of a policy, as a measure of them together."""
    return partial(middle, policy=policy, key=key)


def mean_of(policy: str, key: str) -> Measure:
    """The mean over the workloads of a measure of a policy."""
    return lambda outcomes: fmean(figures(outcomes, policy, key))


def middles_over(policy: str, other: str, key: str = "geometric_speedup") -> Measure:
    """The median over the workloads of a policy over that of another."""
    return lambda outcomes: middle(outcomes, policy, key) / middle(outcomes, other, key)


def sums_over(policy: str, other: str, key: str) -> Measure:
    """The sum over the workloads of a policy over that of another; 0 where both are 0."""

    def ratio(outcomes: Sequence[Compared]) -> float:
        own, others = (sum(figures(outcomes, name, key)) for name in (policy, other))
        return own / others if others else math.inf if own else 0.0

    return ratio


def no_less(outcomes: Sequence[Compared], policy: str, other: str) -> str:
    """On how many workloads a policy's geometric mean of speed-ups is at least another's, in words."""
    mine, others = (figures(outcomes, name, "geometric_speedup") for name in (policy, other))
    return f"{sum(a >= b for a, b in zip(mine, others, strict=True))} of {len(outcomes)}"


def paired(policy: str, other: str) -> Measure:
    """The geometric mean of the paired ratios of two policies' geometric means of speed-ups."""

    def mean(outcomes: Sequence[Compared]) -> float:
        mine, others = (figures(outcomes, name, "geometric_speedup") for name in (policy, other))
        return math.exp(fmean(math.log(a / b) for a, b in zip(mine, others, strict=True)))

    return mean


def ratios(outcomes: Sequence[Compared], policy: str, other: str) -> Sample:
    """The same with its interval: Student's t where the workloads are independent."""
    measure = paired(policy, other)
    if any(outcome.week is not None for outcome in outcomes):
        return over_draws(outcomes, measure)
    return Sample.of_ratios([measure([outcome]) for outcome in outcomes])


def over_draws(outcomes: Sequence[Compared], measure: Measure) -> Sample:
    """A measure of all workloads together, and its range over those of them where it is a number.

    Those of a trace share its weeks and its pools: the interval is the wider of two, of a bootstrap over the weeks in
    which they start and of one over their busiest pools. Others are independent.
    """
    groups: list[list[Hashable]] = [[o.week for o in outcomes], [o.busiest for o in outcomes]]
    if None in groups[0]:
        groups = [list(range(len(outcomes)))]
    found = [Sample.resampled(outcomes, group, measure, draws=DRAWS) for group in groups]
    wide = max(found, key=lambda one: -1.0 if one.low is None or one.high is None else one.high - one.low)
    each = [value for value in (measure([outcome]) for outcome in outcomes) if math.isfinite(value)] or [wide.mean]
    low, high = (None if end is None or not math.isfinite(end) else end for end in (wide.low, wide.high))
    return replace(wide, seeds=len(outcomes), low=low, high=high, least=min(each), greatest=max(each))


def shown(
    where: str, what: str, outcomes: Sequence[Compared], measure: Measure, *, paper: float | str | None = None,
    note: str = "",
) -> Claim:  # fmt: skip
    """Build a claim of our figure with its interval and range; the paper has at most a plot of it."""
    sample = over_draws(outcomes, measure)
    return Claim(where, what, paper, sample.mean, "no figure", note, sample)


def between(
    where: str, what: str, paper: str, outcomes: Sequence[Compared], measure: Measure,
    low: float, high: float = math.inf, *, near: tuple[float, float] | None = None, note: str = "",
    sentence: str = "", readings: tuple[str, ...] = (), would_change: str = "",
) -> Claim:  # fmt: skip
    """Build a claim that holds if a measure lies between two ends, and is near if it lies within `near`."""
    sample = over_draws(outcomes, measure)
    close = near is not None and near[0] <= sample.mean <= near[1]
    verdict: Verdict = "reproduced" if low <= sample.mean <= high else "near" if close else "differs"
    claim = Claim(
        where, what, paper, sample.mean, verdict, note, sample, sentence, readings, would_change
    )  # fmt: skip
    known = sample.low is not None and sample.high is not None and sample.seeds >= ENOUGH_SEEDS
    apart = known and ((sample.high or 0.0) < low or (sample.low or 0.0) > high)
    return claim if apart else claim.when_cut()


def gain_share(policy: str) -> Measure:
    """Return the measure of a policy's share of the delay that the oracle saves against FCFS on all workloads.

    The share is 1 if the oracle saves no delay.
    """

    def share(outcomes: Sequence[Compared]) -> float:
        before = sum(o.figures["oracle"]["base_delay"] for o in outcomes)
        saved = before - sum(figures(outcomes, "oracle", "total_delay"))
        return (before - sum(figures(outcomes, policy, "total_delay"))) / saved if saved else 1.0

    return share
