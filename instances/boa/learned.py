"""Estimate the classes of a renting workload while jobs run: arrival rates, and speedups at the widths in use."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass
from instances.boa.online import believed
from instances.boa.renting import HOUR, BoaRenting
from instances.boa.speedup import Points, Speedup


@dataclass(frozen=True)
class EstimateParameters:
    """Parameters of the estimates.

    - `prior_hours`: the weight of the initial arrival rate, as hours of observation.
    - `widest`: the last width of the corrected table if the initial estimate is a formula.
    """

    prior_hours: float = 24.0
    widest: int = 64


class LearnedClasses:
    """Estimates from the last `window_seconds`, or from all time before.

    An arrival rate combines the counted jobs with `prior_hours` of the initial rate. A speedup at an observed width is
    known. Between observed widths, the initial speedups are multiplied by the ratio of truth to estimate, interpolated
    linearly in the width. Beyond the widest one its ratio applies.
    """

    def __init__(self, data: BoaRenting, parameters: EstimateParameters = EstimateParameters()) -> None:
        self._data, self.parameters = data, parameters
        self._arrivals: list[deque[float]] = [deque() for _ in data.classes]
        self._run: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}

    def arrive(self, kind: int, now: float) -> None:
        """Record the arrival of a job of a class."""
        self._arrivals[kind].append(now)

    def run(self, kind: int, epoch: int, width: int, speed: float, now: float) -> None:
        """Record that jobs of a class run at a speed in an epoch at a width, last observed now."""
        self._run.setdefault((kind, epoch), {})[width] = speed, now

    def believed(self, now: float) -> BoaAllocation:
        """Return the allocation problem with the present estimates."""
        window = self._data.window_seconds
        since = now - window if window else 0.0
        classes = tuple(self._class(kind, now, max(0.0, since)) for kind in range(len(self._data.classes)))
        return believed(classes, self._data.budget_gpus, self._data.max_width)

    def _class(self, kind: int, now: float, since: float) -> JobClass:
        belief, arrivals = self._data.classes[kind].believed, self._arrivals[kind]
        while arrivals and arrivals[0] < since:
            arrivals.popleft()
        prior = self.parameters.prior_hours
        rate = (belief.arrivals_per_hour * prior + len(arrivals)) / (prior + (now - since) / HOUR)
        epochs = tuple(self._epoch(kind, j, epoch, since) for j, epoch in enumerate(belief.epochs))
        return JobClass(
            name=belief.name,
            arrivals_per_hour=rate,
            weight=belief.weight,
            rescale_hours=belief.rescale_hours,
            epochs=epochs,
        )

    def _epoch(self, kind: int, place: int, belief: Epoch, since: float) -> Epoch:
        seen = {k: speed for k, (speed, at) in self._run.get((kind, place), {}).items() if at >= since and k > 1}
        if not seen:
            return belief
        table = belief.speedup.table
        width = np.arange(1, (table.gpus[-1] if table else self._data.max_width or self.parameters.widest) + 1)
        before = belief.speedup.at(width.astype(float)) if table is None else table.raw()
        known = sorted({1: 1.0, **seen}.items())
        at = np.array([k for k, _ in known])
        factor = np.interp(width, at, [speed / before[k - 1] for k, speed in known])
        points = Points(gpus=tuple(width.tolist()), speedup=tuple((before * factor).tolist()))
        return Epoch(size_hours=belief.size_hours, speedup=Speedup(table=points))
