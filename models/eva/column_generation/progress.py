"""How far a run has come: the best configuration, the proven bound, the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from models.eva.column_generation.packing import Configuration, Packing
from models.eva.column_generation.trimming import trim

Report = Callable[[Configuration | None, int | None], None]


@dataclass
class Progress:
    """The best configuration and its ``cost``, the ``bound``, both in price units, and their ``trace`` over seconds.

    A run is over when (cost - bound) / cost <= ``gap``, or ``time_limit`` wall seconds after its start.
    """

    packing: Packing
    time_limit: float | None
    gap: float
    report: Report | None
    configuration: Configuration | None = None
    cost: int | None = None
    bound: int = 0
    trace: list[tuple[float, int | None, int]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def ceiling(self) -> int:
        """The cost to beat."""
        return sum(self.packing.prices) * int(self.packing.counts.sum()) if self.cost is None else self.cost

    def left(self) -> float:
        """Seconds left."""
        return inf if self.time_limit is None else self.time_limit - (time.monotonic() - self.started)

    def over(self, share: float = 0.0) -> bool:
        """Whether the gap is closed, or less than a share of the time is left."""
        closed = self.cost is not None and self.cost - self.bound <= self.gap * self.cost
        return closed or (self.time_limit is not None and self.left() <= share * self.time_limit)

    def offer(self, cover: Configuration) -> Configuration:
        """Trim a cover of all tasks, and keep it if it is cheaper. Raises ValueError if it is no cover by patterns."""
        missing = np.flatnonzero(self.packing.missing(cover) > 0)
        if len(missing):
            raise ValueError(f"the configuration does not hold all tasks of class {missing[0]}")
        for column in cover:
            if not self.packing.holds(column):
                raise ValueError(f"tasks {column.pattern} do not fit an instance of type {column.type}")
        configuration = trim(self.packing, cover)
        cost = self.packing.cost(configuration)
        if self.cost is None or cost < self.cost:
            self.configuration, self.cost = configuration, cost
            self._tell()
        return configuration

    def raise_bound(self, bound: int) -> None:
        """Take a proven lower bound."""
        if bound > self.bound:
            self.bound = bound if self.cost is None else min(bound, self.cost)
            self._tell()

    def _tell(self) -> None:
        self.trace.append((time.monotonic() - self.started, self.cost, self.bound))
        if self.report is not None:
            self.report(self.configuration, self.bound)
