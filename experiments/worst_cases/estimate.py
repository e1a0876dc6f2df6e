"""What optima are likely to be, by those that are proven: which instance is worth a proof next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.worst_cases.space import Chosen

PRIOR, SPREAD = 0.7, 0.3  # the share before anything is known: its mean, and the deviation of each of its terms
NOISE = 0.1  # deviation of a share that its terms do not tell
HOPE = 0.5  # deviations below the mean: an instance is taken to be as bad as it may well be


class EstimatedOptima:
    """The optimum of an instance as a share of what its things take `alone`, one by one: a share is one term and a mean
    of terms of the things, each with its weight in what they take. The terms are those of Bayesian linear regression.
    """

    def __init__(self, alone: Mapping[int, float], things: int) -> None:
        self._alone = alone
        self._precision: Any = np.eye(things + 1) / SPREAD**2
        self._seen: Any = np.zeros(things + 1)
        self._known: tuple[Any, Any] | None = None

    def learn(self, chosen: Chosen, optimum: float) -> None:
        """Take an optimum that is proven."""
        row, total = self._row(chosen)
        if total > 0:
            self._precision += np.outer(row, row) / NOISE**2
            self._seen += row * (optimum / total - PRIOR) / NOISE**2
            self._known = None

    def low(self, chosen: Chosen) -> float:
        """What the optimum may well be at least: by the mean, less some deviations."""
        if self._known is None:
            deviations = np.linalg.inv(self._precision)
            self._known = deviations @ self._seen, deviations
        terms, deviations = self._known
        row, total = self._row(chosen)
        return float(total * max(0.0, PRIOR + row @ terms - HOPE * (row @ deviations @ row) ** 0.5))

    def _row(self, chosen: Chosen) -> tuple[Any, float]:
        row = np.zeros(len(self._seen))
        for thing in chosen:
            row[thing] += self._alone.get(thing, 0.0)
        total = float(row.sum())
        if total > 0:
            row /= total
        row[-1] = 1.0
        return row, total
