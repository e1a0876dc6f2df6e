"""Define speedup functions s(k), the speed of an epoch on k GPUs relative to one (BOA, section 3.1), and hulls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from instances.arrays import FloatArray
from instances.fields import Frozen, PositiveCount, PositiveRatio, Share, refuse
from instances.renamed import OldName

LAST_WIDTH = 100_000  # The maximum width of a table.


def amdahl_time(parallel: FloatArray | float, width: FloatArray) -> FloatArray:
    """Return the time 1/s(k) of Amdahl's law, relative to one GPU, for a parallel share and a width."""
    return np.asarray(1 - parallel + parallel / width)


def power_time(exponent: FloatArray | float, width: FloatArray) -> FloatArray:
    """Return the time 1/s(k) of the power k^a, relative to one GPU, for an exponent and a width."""
    return np.asarray(width**-exponent)


class Points(Frozen):
    """Measured speedups: `speedup[i]` on `gpus[i]` GPUs, the widths whole, increasing and starting at 1."""

    gpus: Annotated[tuple[PositiveCount, ...], Field(min_length=1)]
    speedup: Annotated[tuple[PositiveRatio, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _validate(self) -> Self:
        if len(self.gpus) != len(self.speedup):
            refuse("speedup", f"must have one entry for each of the {len(self.gpus)} widths", len(self.speedup))
        for i, (narrow, wide) in enumerate(zip(self.gpus, self.gpus[1:], strict=False), start=1):
            if wide <= narrow:
                refuse(f"gpus[{i}]", f"must be sorted without repetition, so > {narrow}", wide)
        if self.gpus[0] != 1:
            refuse("gpus[0]", "must be 1, the width that speedups are relative to", self.gpus[0])
        if self.gpus[-1] > LAST_WIDTH:
            refuse(f"gpus[{len(self.gpus) - 1}]", f"must be <= {LAST_WIDTH}", self.gpus[-1])
        return self

    def raw(self, last: int | None = None) -> FloatArray:
        """Return the measured speedups on 1, 2, ... GPUs up to `last` (or the last entry), linear between entries."""
        last = self.gpus[-1] if last is None else min(last, self.gpus[-1])
        if len(self.gpus) == self.gpus[-1]:  # An entry for every width needs no interpolation, which is slow to set up.
            return np.array(self.speedup[:last])
        return np.interp(np.arange(1, last + 1), self.gpus, self.speedup)

    @cached_property
    def hulls(self) -> dict[int, Hull]:
        """Return the cached hulls by their last width."""
        return {}

    @cached_property
    def hull_cache(self) -> dict[int | None, list[tuple[float, float]]]:
        """Return the cached hulls of the checker by maximum width: corners (width, speedup).

        The cache serves callers that check many solutions of an instance, such as a frontier.
        """
        return {}

    def hull(self, last: int | None = None) -> Hull:
        """Return the cached concave hull of the table up to `last`, or up to the last entry."""
        end = self.gpus[-1] if last is None else min(last, self.gpus[-1])
        if end not in self.hulls:
            self.hulls[end] = Hull.of(self.raw(end))
        return self.hulls[end]


class Curve(Frozen):
    """A speedup function in exactly one of three forms.

    `amdahl` p: 1 / (1 - p + p / k). `power` a: k^a. `table`: measured points; it ends at the last width. A whole
    width runs as fast as measured, a real one as the least non-decreasing concave function above the points says
    (section 3.2), which alternating between two whole widths attains.
    """

    amdahl: Share | None = None
    power: Share | None = None
    table: Points | None = None

    def at(self, width: FloatArray, max_width: int | None = None) -> FloatArray:
        """Return the speedups on `width` GPUs, real numbers >= 1, of a table on its hull; 0 past the end of a table.

        `max_width` cuts a table.
        """
        if self.amdahl is not None:
            return 1.0 / amdahl_time(self.amdahl, width)
        if self.power is not None:
            return np.asarray(width**self.power)
        assert self.table is not None
        hull = self.table.hull(max_width).speedup
        return np.where(width <= len(hull), np.interp(width, np.arange(1, len(hull) + 1), hull), 0.0)

    def interpolate_measured(self, width: FloatArray, max_width: int | None = None) -> FloatArray:
        """Return the measured speedups on `width` GPUs, integers, with linear interpolation between table entries."""
        if self.table is None:
            return self.at(width, max_width)
        raw = self.table.raw(max_width)
        return np.where(width <= len(raw), raw[np.minimum(width.astype(np.int64), len(raw)) - 1], 0.0)

    measured: ClassVar[OldName] = OldName("interpolate_measured")

    @model_validator(mode="after")
    def _require_one_form(self) -> Self:
        given = [name for name in ("amdahl", "power", "table") if getattr(self, name) is not None]
        if len(given) != 1 and not self.model_extra:
            refuse("", "must have exactly one of amdahl, power, table", ", ".join(given) or "none")
        return self


class Speedup(Curve):
    """The speedup function of an epoch: the same on every GPU type, or one by the name of each type."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Curve]

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if self.model_extra and any(v is not None for v in (self.amdahl, self.power, self.table)):
            refuse("", "must be one function, or one for each GPU type", ", ".join(self.model_extra))
        return self

    @property
    def curves_by_type(self) -> dict[str, Curve]:
        """Return the speedup functions of the GPU types by name, empty if one function applies to every type."""
        return self.__pydantic_extra__

    by_type: ClassVar[OldName] = OldName("curves_by_type")

    def on(self, gpu_type: str) -> Curve:
        """Return the speedup function on a GPU type."""
        return self.curves_by_type.get(gpu_type, self)


@dataclass(frozen=True, eq=False)
class Hull:
    """The hull of one table of speedups.

    - `speedup` (widths,): values on 1, 2, ... GPUs; read-only.
    - `deviation`: the maximum excess of the hull over a measured speedup, relative to the measured one.
    """

    speedup: FloatArray
    deviation: float

    @classmethod
    def of(cls, raw: FloatArray) -> Hull:
        """Build the hull of the speedups `raw` (widths,), measured on 1, 2, ... GPUs."""
        speedup = concave_hull(raw[None])[0]
        speedup.flags.writeable = False
        return cls(speedup, float((speedup / raw).max()) - 1)


def concave_hull(raw: FloatArray) -> FloatArray:
    """Return the hull of each row of `raw` (n, widths), speedups on 1, 2, ... GPUs; same shape.

    A hull touches the row at its corners, is linear between them and constant after the maximum speedup. A policy
    attains it by alternating between two corners.
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
    """Return the positions of the corners of the upper hull of `values` (m,) by Andrew's monotone chain (1979)."""
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
