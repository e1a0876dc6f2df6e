"""Scorecards that compare a heuristic with others: gaps to the optimum, wins, violated constraints, and times.

All means of a card are over the same instances: those on which all of its heuristics have a gap. A heuristic that runs
only on some sets, or fails on some instances, has a separate card with the user's heuristic on these instances.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.harness.gaps import Key, Scored
from instances.gaps import agree


@dataclass(frozen=True)
class Score:
    """One heuristic over the instances of a card.

    - `mean`, `worst`: gaps to proven optima.
    - `to_bound`: mean gap to the best bound on instances without a proven optimum.
    - `wins`: number of instances on which no other heuristic is better.
    - `violating`: number of all its runs that break a constraint.
    - `nothing`: number of all its runs without a gap, because the optimum is 0 and the objective is not.
    - `unsolved`: instances of all its runs that end without a solution.
    - `cpu_s`: mean CPU seconds of all its runs.
    """

    method: str
    runs: int
    mean: float | None
    worst: float | None
    worst_on: str
    to_bound: float | None
    wins: int
    violating: int
    nothing: int
    unsolved: tuple[str, ...]
    cpu_s: float | None


@dataclass(frozen=True)
class Scorecard:
    """Heuristics over the same instances, `over` of the `instances` that the user's ran on, the best first."""

    over: int
    instances: int
    scores: tuple[Score, ...]

    @property
    def heading(self) -> str:
        return f"over {'all' if self.over == self.instances else f'{self.over} of'} {self.instances} instances"


def scorecards(scored: Sequence[Scored], own: str) -> list[Scorecard]:
    """Return the cards of all heuristics, each with the user's `own`, one per set of common instances, largest first.

    If `own` has no gap at all, the cards are over the instances of the other heuristics.
    """
    best: dict[Key, float] = {}
    for s in scored:
        if s.result.solved and s.result.objective is not None:
            best[s.key] = min(_cost(s), best.get(s.key, _cost(s)))
    runs = {name: {s.key: s for s in scored if s.result.method == name} for name in _methods(scored, own)}
    bare = {s.key for s in scored if s.nothing == "optimum"}  # excluded, as not every heuristic has a gap there
    known = {name: frozenset(k for k, s in here.items() if _has_gap(s)) - bare for name, here in runs.items()}
    mine = known[own] or frozenset().union(*known.values())
    cards: dict[frozenset[Key], list[str]] = {mine: [own]}
    for name in runs:
        if name != own:
            over = known[name] & mine
            cards.setdefault(over or mine, [own]).append(name)
    return [
        Scorecard(len(over), len(runs[own]), _ranked([_score(name, runs[name], over, best) for name in names]))
        for over, names in sorted(cards.items(), key=lambda card: -len(card[0]))
    ]


def _methods(scored: Sequence[Scored], own: str) -> dict[str, None]:
    return dict.fromkeys([own, *(s.result.method for s in scored)])


def _ranked(scores: list[Score]) -> tuple[Score, ...]:
    """Sort by the mean gap to the optimum, then to the best bound; scores without a gap come last."""
    return tuple(sorted(scores, key=lambda s: (s.mean is None, s.mean or 0.0, s.to_bound is None, s.to_bound or 0.0)))


def _score(method: str, runs: Mapping[Key, Scored], over: Collection[Key], best: Mapping[Key, float]) -> Score:
    here = [runs[key] for key in runs if key in over]
    gaps = {s.result.instance: s.gap_to_optimum for s in here if s.gap_to_optimum is not None}
    to_bound = [s.gap_to_bound for s in here if s.gap_to_bound is not None]
    seconds = [s.result.cpu_s for s in runs.values() if s.result.cpu_s is not None]
    solved = [s for s in here if s.result.solved and s.result.objective is not None]
    return Score(
        method,
        len(runs),
        fmean(gaps.values()) if gaps else None,
        max(gaps.values(), default=None),
        max(gaps, key=lambda name: gaps[name], default=""),
        fmean(to_bound) if to_bound else None,
        sum(agree(_cost(s), best[s.key]) for s in solved),
        sum(s.result.status == "violates" for s in runs.values()),
        sum(s.nothing != "" for s in runs.values()),
        tuple(s.result.instance for s in runs.values() if s.unsolved),
        fmean(seconds) if seconds else None,
    )


def _cost(s: Scored) -> float:
    """Return the objective, negated for maximisation."""
    assert s.result.objective is not None
    return s.result.objective if s.result.sense == "minimize" else -s.result.objective


def _has_gap(s: Scored) -> bool:
    """Return whether there is a gap of any kind; on one instance it is the same kind for all heuristics."""
    return s.gap_to_optimum is not None or s.gap_to_bound is not None
