"""Concave hulls of measured speedups: the least non-decreasing concave function above each (BOA, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Hull:
    """The hull of one table of speedups.

    - `speedup` (widths,): values on 1, 2, ... GPUs; read-only.
    - `deviation`: the most by which the hull exceeds a measured speedup, as a share of the measured.
    """

    speedup: FloatArray
    deviation: float

    @classmethod
    def of(cls, raw: FloatArray) -> Hull:
        """The hull of the speedups `raw` (widths,), measured on 1, 2, ... GPUs."""
        speedup = concave_hull(raw[None])[0]
        speedup.flags.writeable = False
        return cls(speedup, float((speedup / raw).max()) - 1)


def concave_hull(raw: FloatArray) -> FloatArray:
    """The hull of each row of `raw` (n, widths), speedups on 1, 2, ... GPUs; same shape.

    A hull touches the row at its corners, is linear between them and level beyond the greatest speedup. A policy
    reaches that by alternating between two corners.
    """
    widths = raw.shape[1]
    if widths == 1:
        return raw.copy()
    steps = raw[:, 1:] - raw[:, :-1]
    concave = (steps[:, 1:] <= steps[:, :-1]).all(axis=1) & (steps[:, -1] >= 0)
    hull = raw.copy()
    for row in np.flatnonzero(~concave):
        corners = hull_corners(raw[row])
        hull[row] = np.interp(np.arange(widths), corners, raw[row, corners])
        np.maximum.accumulate(hull[row], out=hull[row])
    return hull


def hull_corners(values: FloatArray) -> list[int]:
    """Positions of the corners of the upper hull of `values` (m,), by the monotone chain of Andrew (1979)."""
    heights = values.tolist()
    corners: list[int] = []
    for k, height in enumerate(heights):
        while len(corners) >= 2:
            before, last = corners[-2:]
            if (heights[last] - heights[before]) * (k - before) > (height - heights[before]) * (last - before):
                break
            corners.pop()
        corners.append(k)
    return corners
