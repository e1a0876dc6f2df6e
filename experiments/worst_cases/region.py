"""Find a region: one or two conditions on features that separate the bad instances of a space from the good ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.worst_cases.case import Case
from experiments.worst_cases.space import Space

BAD = 0.5  # an instance is bad if its gap is at least this share of the worst gap
SIZE = "number of all"
THRESHOLDS = 12  # approximate number of thresholds that are tried for each feature
BEST = 12  # the best single conditions, which are also tried in pairs


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
    right: int
    fresh: int

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


def region(space: Space, cases: Sequence[Case]) -> Region | None:
    """Return the region that best separates bad cases from good ones, learned on every other case.

    A case is bad if the heuristic breaks on it. If the heuristic never breaks, a case is bad if its gap is at least
    half of the worst gap. Returns `None` if the learning half does not contain both kinds, or if no case is held out.
    """
    known = sorted({case.chosen: case for case in cases}.values(), key=lambda case: case.chosen)
    breaks = any(case.broken is not None for case in known)
    worst = max((case.gap for case in known), default=0.0)
    rows = [
        (
            {SIZE: float(len(case.chosen))} | space.features(case.chosen),
            case.broken is not None if breaks else case.gap >= BAD * worst,
        )
        for case in known
    ]
    learnt, fresh = rows[::2], rows[1::2]
    if not (breaks or worst > 0) or len({bad for _, bad in learnt}) < 2 or not fresh:
        return None
    single = [(condition,) for condition in _conditions([features for features, _ in learnt])]
    single.sort(key=lambda one: (-_balanced(one, learnt), str(one[0])))
    pairs = [(a, b) for (a,), (b,) in itertools.combinations(single[:BEST], 2)]
    found = max(
        [*single[:1], *pairs], key=lambda conditions: (round(_balanced(conditions, learnt), 9), -len(conditions))
    )
    return Region(found, sum(_says(found, features) == bad for features, bad in fresh), len(fresh))


def _conditions(rows: Sequence[dict[str, float]]) -> list[Condition]:
    found = []
    for feature in rows[0]:
        values = sorted({row[feature] for row in rows})
        between = [(a + b) / 2 for a, b in itertools.pairwise(values)]
        step = max(1, len(between) // THRESHOLDS)
        found += [Condition(feature, above, threshold) for threshold in between[::step] for above in (True, False)]
    return found


def _says(conditions: tuple[Condition, ...], features: dict[str, float]) -> bool:
    return all(condition.holds(features) for condition in conditions)


def _balanced(conditions: tuple[Condition, ...], rows: Sequence[tuple[dict[str, float], bool]]) -> float:
    """Return the balanced accuracy: the mean of the accuracies on bad and on good cases, because few are bad."""
    shares = []
    for kind in (True, False):
        of_kind = [features for features, bad in rows if bad == kind]
        shares.append(sum(_says(conditions, features) == kind for features in of_kind) / len(of_kind))
    return sum(shares) / 2
