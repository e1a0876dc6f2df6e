"""Summarise a measure over seeds: number of seeds, mean, 95% interval, minimum and maximum."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np

ENOUGH_SEEDS = 10
"""Minimum number of seeds for a statement against a paper."""


@dataclass(frozen=True)
class Sample:
    """A measure over seeds: `seeds` values with their mean, the 95% interval of the mean, and their range.

    `low` and `high` are None with one seed, because the spread is unknown.
    """

    seeds: int
    mean: float
    low: float | None
    high: float | None
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Return the arithmetic mean with Student's t interval. Raises ValueError if there is no value."""
        values = [float(value) for value in values]  # `stdev` does not accept numpy's integers
        half = _half(values)
        middle = fmean(values)
        low, high = (None, None) if half is None else (middle - half, middle + half)
        return cls(len(values), middle, low, high, min(values), max(values))

    @classmethod
    def from_ratios(cls, ratios: Sequence[float]) -> Sample:
        """Return the geometric mean of positive paired ratios, with Student's t interval of their logarithms."""
        logs = cls.of([math.log(ratio) for ratio in ratios])
        low, high = (None if end is None else math.exp(end) for end in (logs.low, logs.high))
        return cls(logs.seeds, math.exp(logs.mean), low, high, min(ratios), max(ratios))

    @classmethod
    def bootstrap(
        cls,
        rows: Sequence[Any],
        groups: Sequence[Hashable],
        measure: Callable[[Sequence[Any]], float],
        *,
        draws: int = 2000,
        seed: int = 0,
    ) -> Sample:
        """Return a measure of all rows together, with a bootstrap interval over groups of dependent rows.

        - `groups`: group of each row, such as its week or its pools; entire groups are drawn with replacement.
        - `draws`: number of bootstrap samples.

        The range is over the measure with one group left out.
        """
        members: dict[Hashable, list[Any]] = {}
        for row, group in zip(rows, groups, strict=True):
            members.setdefault(group, []).append(row)
        kinds, random = list(members), np.random.default_rng(seed)
        if len(kinds) == 1:
            only = measure(rows)
            return cls(1, only, None, None, only, only)
        picked = random.integers(len(kinds), size=(draws, len(kinds)))
        found = [measure([row for k in draw for row in members[kinds[k]]]) for draw in picked]
        without = [measure([row for k in kinds if k != out for row in members[k]]) for out in kinds]
        with np.errstate(invalid="ignore"):  # infinite values give no number, and then an end is NaN
            low, high = np.quantile(found, [0.025, 0.975])
        return cls(len(kinds), measure(rows), float(low), float(high), min(without), max(without))

    def text(self, form: str = ".3g") -> str:
        """Return, for example, `1.56 (10 seeds, 95% 1.41 to 1.72, 1.2 to 2.1)`."""
        if self.low is None or self.high is None:
            return f"{self.mean:{form}} (1 seed)"
        interval = f"95% {self.low:{form}} to {self.high:{form}}"
        return f"{self.mean:{form}} ({self.seeds} seeds, {interval}, {self.least:{form}} to {self.greatest:{form}})"


def _half(values: Sequence[float]) -> float | None:
    """Return half the length of the 95% interval of the mean; `None` for fewer than two values."""
    if len(values) < 2:
        return None
    from scipy.stats import t  # slow to load, and most commands need none of it

    return float(t.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
