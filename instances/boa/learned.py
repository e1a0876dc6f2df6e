"""What is learned of the classes of a renting workload while jobs run: rates of arrival, speedups at the widths run."""

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
    """How estimates are made.

    - `prior_hours`: time that the rate of arrival expected at the outset counts for, beside what was counted.
    - `widest`: last width of the corrected table where what is believed is a formula.
    """

    prior_hours: float = 24.0
    widest: int = 64


class LearnedClasses:
    """Estimates from the last `window_seconds`, or from all time before.

    A rate is that of the jobs counted, with the rate expected at the outset counted for some hours more. A speedup that
    was run is known; between the widths that were run the believed speedups are corrected by the factor of truth over
    belief, linear in the width, and beyond the widest by its factor.
    """

    def __init__(self, data: BoaRenting, parameters: EstimateParameters = EstimateParameters()) -> None:
        self._data, self.parameters = data, parameters
        self._arrivals: list[deque[float]] = [deque() for _ in data.classes]
        self._run: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}

    def arrive(self, kind: int, now: float) -> None:
        """A job of a class arrives."""
        self._arrivals[kind].append(now)

    def run(self, kind: int, epoch: int, width: int, speed: float, now: float) -> None:
        """Jobs of a class were seen to run at a speed in an epoch at a width, last now."""
        self._run.setdefault((kind, epoch), {})[width] = speed, now

    def believed(self, now: float) -> BoaAllocation:
        """The allocation problem as it is believed to be now."""
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
