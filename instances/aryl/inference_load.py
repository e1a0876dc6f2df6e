"""The load of an inference cluster, with the shape of Figure 1 and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from instances.aryl.loaning import InferenceLoad

DAY_S = 86_400.0
DAY = (
    (0, 0.80),
    (3, 0.49),
    (5, 0.43),
    (8, 0.52),
    (10, 0.61),
    (12, 0.66),
    (14, 0.65),
    (16, 0.64),
    (18, 0.71),
    (20, 0.94),
    (22, 0.95),
    (23.5, 0.92),
    (24, 0.80),
)
"""Hour and share of inference servers in use on a day: trough, peak and its length, and mean of Figure 1."""


@dataclass(frozen=True)
class Noise:
    """How a day differs from Figure 1's: shares of the servers.

    `step_sd` and `memory`: standard deviation of noise from step to step, and its correlation over one step (the paper
    shows spikes and gives no figure). `day_sd`: standard deviation of what a whole day is above or below.
    """

    step_sd: float = 0.012
    memory: float = 0.9
    day_sd: float = 0.02


def inference_load(
    days: float, rng: np.random.Generator, *, step_seconds: float = 300.0, noise: Noise = Noise()
) -> InferenceLoad:
    """A load of so many days from midnight on."""
    from scipy.interpolate import PchipInterpolator  # slow to import, and only for what is drawn
    from scipy.signal import lfilter

    hours, use = zip(*DAY, strict=True)
    times = np.arange(math.ceil(days * DAY_S / step_seconds)) * step_seconds
    shocks = rng.standard_normal(len(times)) * noise.step_sd * math.sqrt(1 - noise.memory**2)
    offsets = rng.standard_normal(math.ceil(days)) * noise.day_sd
    smooth = PchipInterpolator(hours, use)(times / 3600 % 24)
    noisy = smooth + lfilter([1.0], [1.0, -noise.memory], shocks) + offsets[(times // DAY_S).astype(int)]
    return InferenceLoad(step_seconds=step_seconds, use=tuple(np.round(noisy.clip(0, 1), 4).tolist()))
