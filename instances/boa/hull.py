"""The least non-decreasing concave function above measured speedups, for many tables at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from instances.boa.speedup import Points

FloatArray = NDArray[np.float64]


class Hulls:
    """Hulls of many tables, taken together: `hulls[points]` is the hull of that table on 1, 2, ... GPUs.

    `deviation`: the most by which a hull exceeds what was measured, as a share of the measured.
    """

    def __init__(self, tables: Iterable[Points], last: int | None) -> None:
        tables = list({id(points): points for points in tables}.values())
        raw = {id(points): points.raw(last) for points in tables}
        self.deviation = 0.0
        pairs = []
        for length in {len(values) for values in raw.values()}:
            same = [points for points in tables if len(raw[id(points)]) == length]
            measured = np.array([raw[id(points)] for points in same])
            hulls = concave_hull(measured)
            self.deviation = max(self.deviation, float((hulls / measured).max()) - 1)
            pairs += list(zip(same, hulls, strict=True))
        self._keep(pairs)

    def __getitem__(self, points: Points) -> FloatArray:
        return self._hulls[id(points)][1]

    def __getstate__(self) -> tuple[float, list[tuple[Points, FloatArray]]]:
        return self.deviation, list(self._hulls.values())

    def __setstate__(self, state: tuple[float, list[tuple[Points, FloatArray]]]) -> None:
        self.deviation, pairs = state
        self._keep(pairs)

    def _keep(self, pairs: list[tuple[Points, FloatArray]]) -> None:
        # by identity, which a copy or a pickle of the whole keeps: hashing a table takes longer than using it
        self._hulls = {id(points): (points, hull) for points, hull in pairs}


def concave_hull(raw: FloatArray) -> FloatArray:
    """The hull of each row of `raw` (n, widths), speedups on 1, 2, ... GPUs; same shape.

    It touches `raw` at its corners, is linear between them and level beyond the greatest speedup. A policy reaches it
    by alternating between two corners (BOA, section 3.2).
    """
    widths = raw.shape[1]
    if widths == 1:
        return raw.copy()
    steps = np.diff(raw, axis=1)
    concave = (np.diff(steps, axis=1) <= 0).all(axis=1) & (steps >= 0).all(axis=1)
    hull = raw.copy()
    bent = np.flatnonzero(~concave)
    if len(bent):
        at, count = hull_corners(raw[bent])
        for row, corners, number in zip(bent, at, count, strict=True):
            corner = corners[:number]
            hull[row] = np.interp(np.arange(widths), corner, raw[row, corner])
            np.maximum.accumulate(hull[row], out=hull[row])
    return hull


def hull_corners(values: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Corners of the upper concave hull of each row of `values` (n, m): (n, m) positions and (n,) how many count.

    Andrew's chain in step for all rows: a row whose last corner lies under the new chord drops it and looks again.
    """
    n, m = values.shape
    at = np.zeros((n, m), dtype=np.int64)
    count = np.ones(n, dtype=np.int64)
    for k in range(1, m):
        rows = np.flatnonzero(count >= 2)
        while len(rows):
            last, before = at[rows, count[rows] - 1], at[rows, count[rows] - 2]
            rise, run = values[rows, last] - values[rows, before], last - before
            under = rise * (k - before) <= (values[rows, k] - values[rows, before]) * run
            rows = rows[under]
            count[rows] -= 1
            rows = rows[count[rows] >= 2]
        at[np.arange(n), count] = k
        count += 1
    return at, count
