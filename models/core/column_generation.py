"""The loop of column generation (Gilmore and Gomory, 1961): solve a linear program over columns, price, and repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from instances.arrays import FloatArray


@dataclass(frozen=True)
class Relaxed:
    """An optimum of the linear program over the present columns.

    - `value`: the objective.
    - `cover`: duals of the covering rows.
    - `x`: values of the columns.
    - `duals`: duals of the other rows, by name.
    - `short`: sum of the artificial columns.
    """

    value: float
    cover: FloatArray
    x: FloatArray
    duals: Mapping[Any, float] = field(default_factory=lambda: MappingProxyType({}))
    short: float = 0.0


class Master(Protocol):
    """The problem that the loop solves."""

    def solve(self) -> Relaxed:
        """Solve the linear program over the present columns. Raises OutOfTime if there is no time for it."""
        ...

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """Return whether to stop. The loop asks before an optimum is `priced`, and again after each pricing."""
        ...

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """Price at `duals`, add columns that improve `relaxed`, and return the bound and the number of new columns.

        If pricing is not `exact`, a cheap search may miss columns. A search that finds no column, but will search
        further the next time, reports one new column.
        """
        ...


Try = tuple[float, bool]
"""The weight of the best duals so far in the priced duals (Wentges, 1997), and whether pricing is exact."""
EXACT: Sequence[Try] = ((0.0, True),)


def cheap_first(smoothing: float) -> tuple[Try, ...]:
    """Return tries with cheap search at smoothed duals, then at those of the linear program, then exactly at these."""
    return (*(((smoothing, False),) if smoothing else ()), (0.0, False), (0.0, True))


class ColumnGeneration:
    """The loop of column generation. In each round, the first try that finds a column ends the round.

    `relaxed` is the last optimum.

    - `master`: the problem.
    - `tries`: the tries of a round, in order.
    - `center`: the first duals to smooth with; later those that proved the largest bound.
    - `first`: the tries of the first round, if they differ.
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
        """Generate columns until the master stops or no column is left. Raises OutOfTime as the master does."""
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
