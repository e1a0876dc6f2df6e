"""Verdicts on Eva's claims: figures that are themselves shares, and claims in words."""

from __future__ import annotations

from experiments.harness.experiment import Claim, Verdict

POINTS = 0.03  # A share of No-Packing's bill within so many points of the paper's is reproduced,


def within(
    where: str, what: str, paper: float, ours: float, *, by: float = POINTS, near: float | None = None, note: str = ""
) -> Claim:
    """A figure of the paper beside ours, apart by no more than `by`; near within `near`, by default twice that."""
    off = abs(paper - ours)
    verdict: Verdict = "reproduced" if off <= by else "near" if off <= (2 * by if near is None else near) else "differs"
    return Claim(where, what, paper, round(ours, 4), verdict, note)


def holds(where: str, what: str, paper: str, ours: str, true: bool, *, nearly: bool = False, note: str = "") -> Claim:
    """A claim in words; `nearly`: its direction holds and not its size."""
    verdict: Verdict = "reproduced" if true else "near" if nearly else "differs"
    return Claim(where, what, paper, ours, verdict, note)


def spanned(values: list[float]) -> str:
    """From the least to the greatest of some shares, in percent."""
    low, high = min(values), max(values)
    return f"{low:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"
