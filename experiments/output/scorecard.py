"""A heuristic's scorecard: how far it is from the optimum, where it wins, what it breaks and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.harness.gaps import Scored
from instances.gaps import agree


@dataclass(frozen=True)
class Score:
    """One heuristic over all instances that were run.

    `gaps`: to the optimum or, where none is proven, to the best bound. `wins`: instances on which no other heuristic is
    better.
    """

    method: str
    runs: int
    gaps: tuple[float, ...]
    worst_on: str
    wins: int
    violating: int
    failed: int
    cpu_s: float | None

    @property
    def mean(self) -> float | None:
        return fmean(self.gaps) if self.gaps else None

    @property
    def worst(self) -> float | None:
        return max(self.gaps, default=None)


def scorecard(scored: Sequence[Scored]) -> list[Score]:
    """A score a method, the one of the smallest mean gap first; those without a gap last."""
    best: dict[tuple[str, str], float] = {}
    for s in scored:
        if s.result.solved and s.result.objective is not None:
            key, value = _key(s), _cost(s)
            best[key] = min(value, best.get(key, value))
    methods = dict.fromkeys(s.result.method for s in scored)
    scores = [_score(name, [s for s in scored if s.result.method == name], best) for name in methods]
    return sorted(scores, key=lambda score: (score.mean is None, score.mean))


def _score(method: str, here: Sequence[Scored], best: dict[tuple[str, str], float]) -> Score:
    gaps = {s.result.instance: g for s in here if (g := _gap(s)) is not None}
    seconds = [s.result.cpu_s for s in here if s.result.cpu_s is not None]
    solved = [s for s in here if s.result.solved and s.result.objective is not None]
    return Score(
        method,
        len(here),
        tuple(g for s in here if (g := _gap(s)) is not None),
        max(gaps, key=lambda name: gaps[name], default=""),
        sum(agree(_cost(s), best[_key(s)]) for s in solved),
        sum(s.result.status == "violates" for s in here),
        sum(s.result.status in ("error", "no_solution", "infeasible") for s in here),
        fmean(seconds) if seconds else None,
    )


def _key(s: Scored) -> tuple[str, str]:
    return s.run.instance_set, s.result.instance


def _cost(s: Scored) -> float:
    """The objective as something that is minimised."""
    assert s.result.objective is not None
    return s.result.objective if s.result.sense == "minimize" else -s.result.objective


def _gap(s: Scored) -> float | None:
    return s.gap_to_optimum if s.gap_to_optimum is not None else s.gap_to_bound
