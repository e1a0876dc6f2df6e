"""Estimate optima from the proven ones, to select the instance whose optimum is proven next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.worst_cases.space import Chosen

PRIOR, SPREAD = 0.7, 0.3  # prior mean of the share, and prior standard deviation of each coefficient
NOISE = 0.1  # standard deviation of a share that the coefficients do not explain
HOPE = 0.5  # standard deviations below the mean: the search is optimistic that an instance is bad


class EstimatedOptima:
    """Estimate the optimum of an instance as a share of the sum of its elements' values `alone`.

    The share is an intercept plus the mean of one coefficient per element, weighted by the elements' values. Bayesian
    linear regression estimates the coefficients.
    """

    def __init__(self, alone: Mapping[int, float], things: int) -> None:
        self._alone = alone
        self._precision: Any = np.eye(things + 1) / SPREAD**2
        self._seen: Any = np.zeros(things + 1)
        self._known: tuple[Any, Any] | None = None

    def learn(self, chosen: Chosen, optimum: float) -> None:
        """Update the regression with a proven optimum."""
        row, total = self._row(chosen)
        if total > 0:
            self._precision += np.outer(row, row) / NOISE**2
            self._seen += row * (optimum / total - PRIOR) / NOISE**2
            self._known = None

    def low(self, chosen: Chosen) -> float:
        """Return an optimistic estimate of the optimum: the posterior mean less `HOPE` standard deviations."""
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
