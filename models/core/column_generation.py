"""The one loop of column generation (Gilmore and Gomory, 1961): a linear program over columns and pricing in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from instances.arrays import FloatArray


@dataclass(frozen=True)
class Relaxed:
    """Optimum of a linear program over the columns at hand.

    `value`, `cover` the duals of the rows that every column is for, `x` of the columns, `duals` of the other rows by
    name, `short`: how much of all rows is left out.
    """

    value: float
    cover: FloatArray
    x: FloatArray
    duals: Mapping[Any, float] = field(default_factory=lambda: MappingProxyType({}))
    short: float = 0.0


class Master(Protocol):
    """What the loop asks of a problem."""

    def solve(self) -> Relaxed:
        """Solve the linear program over the columns at hand; raises OutOfTime where there is no time for it."""
        ...

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """Whether to end, asked of each optimum before it is `priced` and again each time that it was."""
        ...

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """Price at `duals` and add columns that pay at those of `relaxed`: what was proven, and how many are new.

        What is not `exact` may be a cheap search that finds none where there are some. A search that has found none and
        looks further the next time says that one is new.
        """
        ...


Try = tuple[float, bool]
"""The weight of the best duals so far in those that are priced (Wentges, 1997), and whether they are priced exactly."""
EXACT: Sequence[Try] = ((0.0, True),)


def cheap_first(smoothing: float) -> tuple[Try, ...]:
    """Smoothed duals, then those of the linear program, each by a cheap search, then these exactly."""
    return (*(((smoothing, False),) if smoothing else ()), (0.0, False), (0.0, True))


class ColumnGeneration:
    """The loop at a master: of the tries, one after the other, the first that finds a column ends a round.

    `relaxed` is the last optimum, `center` the duals that proved most, from those to begin with on; `first` are the
    tries of the first round.
    """

    def __init__(
        self,
        master: Master,
        tries: Sequence[Try] = EXACT,
        center: FloatArray | None = None,
        first: Sequence[Try] = (),
    ) -> None:
        self.master, self.tries, self.first = master, tries, first
        self.relaxed: Relaxed | None = None
        self.center = center
        self._proven = -np.inf

    def run(self) -> None:
        """Generate columns until it is enough or none is left. Raises OutOfTime as the master does."""
        tries = self.first or self.tries
        while True:
            relaxed = self.relaxed = self.master.solve()
            if self.master.enough(relaxed, priced=False):
                return
            for share, exact in tries:
                duals = relaxed.cover
                if share and self.center is not None:
                    duals = share * self.center + (1 - share) * duals
                proven, new = self.master.price(relaxed, duals, exact)
                if proven > self._proven:
                    self._proven, self.center = proven, duals
                if self.master.enough(relaxed, priced=True):
                    return
                if new:
                    break
            else:
                return
            tries = self.tries
