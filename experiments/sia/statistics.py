"""Statistics over many comparisons of policies: medians, shares of the oracle's gain, and intervals of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from experiments.harness.sample import Sample
from experiments.sia.comparison import Compared


def figures(outcomes: Sequence[Compared], policy: str, key: str) -> list[float]:
    """One measure of a policy on each workload."""
    return [float(outcome.figures[policy][key]) for outcome in outcomes]


def middle(outcomes: Sequence[Compared], policy: str, key: str) -> float:
    """The median over the workloads."""
    return median(figures(outcomes, policy, key))


def no_less(outcomes: Sequence[Compared], policy: str, other: str) -> str:
    """On how many workloads a policy's geometric mean of speed-ups is at least another's, in words."""
    mine, others = (figures(outcomes, name, "geometric_speedup") for name in (policy, other))
    return f"{sum(a >= b for a, b in zip(mine, others, strict=True))} of {len(outcomes)}"


def ratios(outcomes: Sequence[Compared], policy: str, other: str) -> Sample:
    """The paired ratios of two policies' geometric means of speed-ups."""
    mine, others = (figures(outcomes, name, "geometric_speedup") for name in (policy, other))
    return Sample.of_ratios([a / b for a, b in zip(mine, others, strict=True)])


def gain_shares(outcomes: Sequence[Compared], policies: Sequence[str]) -> dict[str, float]:
    """Of the delay that the oracle saves against FCFS on all workloads together, the share that each policy saves."""
    before = sum(o.figures["oracle"]["base_delay"] for o in outcomes)
    saved = before - sum(figures(outcomes, "oracle", "total_delay"))
    return {name: (before - sum(figures(outcomes, name, "total_delay"))) / saved if saved else 1.0 for name in policies}
