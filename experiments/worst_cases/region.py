"""Find what bad instances share: sample instances near a worst case, and separate bad from good by conditions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.harness.task import ReportFile
from experiments.worst_cases.case import Case, Judge, Optima
from experiments.worst_cases.search import Found, Seen, WorstCaseTask
from experiments.worst_cases.space import Chosen, Space
from experiments.worst_cases.walk import draw

NUMBER = 160  # sampled instances
LEFT_OUT = 3  # a neighbour drops at most this many elements, and adds at most this many random ones
BAD = 0.5  # an instance is bad if its gap is at least this share of the worst gap
SIZE = "number of all"
THRESHOLDS = 12  # approximate number of thresholds that are tried for each feature
BEST = 12  # the best single conditions, which are also tried in pairs

Row = tuple[dict[str, float], bool]
"""The features of an instance, and whether it is bad."""


@dataclass(frozen=True)
class Near(WorstCaseTask):
    """Evaluate a heuristic on random instances of at most `size` elements.

    If `chosen` is not empty, half of the instances are neighbours of it. If the heuristic breaks on any instance, no
    optimum is computed.
    """

    chosen: Chosen
    size: int

    def label(self) -> tuple[str, str]:
        return f"{NUMBER} instances{' near by' if self.chosen else ''}", self.heuristic.name

    def work(self, report: ReportFile) -> Found:
        judge = Judge(self.space, self.heuristic, Optima(self.space, self.exact, self.options))
        seen = Seen([], random.Random(0))
        chosen = sorted(set(self._draw(random.Random(self.options.seed))))
        alone = [case for one in chosen if not judge.clock.has_expired and (case := judge.alone(one))]
        breaks = any(case.broken is not None for case in alone)
        for case in alone:
            if judge.clock.has_expired:
                break
            seen.add(case if breaks else judge.case(case.chosen))
        return self.build_outcome("finished", cases=seen.worst, others=seen.others, calls=judge.calls)

    def _draw(self, rng: random.Random) -> Iterator[Chosen]:
        for i in range(NUMBER):
            if self.chosen and i % 2:
                kept = rng.sample(self.chosen, max(1, len(self.chosen) - rng.randint(0, LEFT_OUT)))
                yield tuple(sorted((*kept, *draw(self.space, rng.randint(0, LEFT_OUT), rng))))
            else:
                yield draw(self.space, rng.randint(1, self.size), rng)

    @property
    def where(self) -> dict[str, Any]:
        return {"near": list(self.chosen), "size": self.size}


@dataclass(frozen=True)
class Condition:
    """The condition that a feature exceeds a threshold (`above`), or does not."""

    feature: str
    above: bool
    threshold: float

    def holds(self, features: dict[str, float]) -> bool:
        return (features.get(self.feature, 0.0) > self.threshold) == self.above

    def __str__(self) -> str:
        return f"{self.feature} {'>' if self.above else '<='} {self.threshold:g}"


@dataclass(frozen=True)
class Region:
    """A conjunction of `conditions`. It classifies `right` of the `fresh` instances correctly, which were held out."""

    conditions: tuple[Condition, ...]
    right: int = 0
    fresh: int = 0

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))

    def accuracies(self, rows: Sequence[Row]) -> dict[bool, list[bool]]:
        """Return whether each row is classified correctly, separately for bad and for good instances."""
        return {
            kind: [all(one.holds(features) for one in self.conditions) == kind for features, bad in rows if bad == kind]
            for kind in (True, False)
        }

    def compute_balanced_accuracy(self, rows: Sequence[Row]) -> float:
        """Return the mean of the accuracies on bad and on good instances, because few are bad."""
        return sum(sum(right) / len(right) for right in self.accuracies(rows).values()) / 2


def region(space: Space, cases: Sequence[Case]) -> Region | None:
    """Return the region that best separates bad cases from good ones, learned on every other case.

    A case is bad if the heuristic breaks on it. If the heuristic never breaks, a case is bad if its gap is at least
    half of the worst gap. Returns `None` if the learning half does not contain both kinds, or if no case is held out.
    """
    known = sorted({case.chosen: case for case in cases}.values(), key=lambda case: case.chosen)
    breaks = any(case.broken is not None for case in known)
    worst = max((case.gap for case in known), default=0.0)
    rows: list[Row] = [
        (
            {SIZE: float(len(case.chosen))} | space.features(case.chosen),
            case.broken is not None if breaks else case.gap >= BAD * worst,
        )
        for case in known
    ]
    learnt, fresh = rows[::2], rows[1::2]
    if not (breaks or worst > 0) or len({bad for _, bad in learnt}) < 2 or not fresh:
        return None
    single = [Region((condition,)) for condition in _conditions([features for features, _ in learnt])]
    single.sort(key=lambda one: (-one.compute_balanced_accuracy(learnt), str(one)))
    pairs = [Region(a.conditions + b.conditions) for a, b in itertools.combinations(single[:BEST], 2)]
    found = max(
        [*single[:1], *pairs], key=lambda one: (round(one.compute_balanced_accuracy(learnt), 9), -len(one.conditions))
    )
    return Region(found.conditions, sum(map(sum, found.accuracies(fresh).values())), len(fresh))


def _conditions(rows: Sequence[dict[str, float]]) -> list[Condition]:
    found = []
    for feature in rows[0]:
        values = sorted({row[feature] for row in rows})
        between = [(a + b) / 2 for a, b in itertools.pairwise(values)]
        step = max(1, len(between) // THRESHOLDS)
        found += [Condition(feature, above, threshold) for threshold in between[::step] for above in (True, False)]
    return found
