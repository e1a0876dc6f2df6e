"""The curve of the bound on every policy: the mean completion time that none is below, against rented GPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from instances.boa import BoaRenting
from models.boa import PolicyBound

HOUR = 3600.0
STEPS = 60
BESIDE = 1.05
"""The curve goes on for this factor beyond the least and the largest bill."""
LABEL = "no policy is below"


def bound_curve(data: BoaRenting, rented: Sequence[float]) -> tuple[list[float], list[float]]:
    """Rented GPUs, over the time until the last arrival, and hours that no mean completion time is below.

    `rented`: what the curve is to be drawn beside. Raises InputError where the jobs have no bound.
    """
    span = max(job.arrival_seconds for job in data.jobs) / HOUR
    most = BESIDE * max(rented) * span
    bound = PolicyBound(data, most)
    first = max(min(rented) / BESIDE, (1 + 1e-9) * bound.least / span)
    bills = [float(gpus) for gpus in np.linspace(first, most / span, STEPS + 1)]
    return bills, [bound.at(min(gpus * span, most)) for gpus in bills]


def draw_bound(axes: Axes, data: BoaRenting, rented: Sequence[float], label: str = LABEL) -> None:
    """Draw the curve beside those of policies, which rented so many GPUs."""
    axes.plot(*bound_curve(data, rented), "k-", linewidth=1.5, zorder=1, label=label)
