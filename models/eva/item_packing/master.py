"""The linear program over patterns of single tasks: its rows can be covered, its columns forbidden, as a tree asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from instances import Options
from instances.eva.arrays import FloatArray, PackingArrays
from models.core.linear_program import LinearProgram
from models.eva.branch_and_price.pricer import Pair
from models.eva.configuration import Column
from models.highs import LinearModel

Mask = NDArray[np.bool_]
PRIMAL = {"simplex_strategy": 4}  # New columns leave the last basis feasible for the primal simplex method.
DEAR = 4.0  # A task that no pattern holds costs so many times the dearest instance.


@dataclass(frozen=True)
class Relaxed:
    """Optimum of the linear program.

    `value` in price units, `duals` (N,) of the tasks, `rents` (K,) of the limits on instances of each type, `amounts`
    of the columns, `short` how many tasks no pattern holds.
    """

    value: float
    duals: FloatArray
    rents: FloatArray
    amounts: FloatArray
    short: float


class ItemMaster:
    """The restricted master in HiGHS: minimise the price of columns that hold every task at least once.

    Of each type there are at most as many instances as `limit` says, at first any number.
    Each task also has a column of its own, dearer than anything else, so that the program is always feasible.
    """

    def __init__(self, arrays: PackingArrays, options: Options = Options()) -> None:
        self.classes = arrays.classes
        self.columns: list[Column] = []
        self._price = arrays.price.tolist()
        self._unit = float(max(self._price))
        self._known: set[Column] = set()
        self._member = np.zeros((1024, arrays.classes), dtype=bool)
        self._forbidden = np.zeros(0, dtype=bool)
        self._covered = np.zeros(arrays.classes, dtype=bool)
        types = len(self._price)
        model = LinearModel(
            cost=np.full(arrays.classes, DEAR),
            matrix=sparse.vstack([sparse.eye_array(arrays.classes), sparse.coo_array((types, arrays.classes))]),
            row_lower=np.concatenate([np.ones(arrays.classes), np.full(types, -np.inf)]),
            row_upper=np.inf,
        )
        self._lp = LinearProgram(model, Options(threads=options.threads), PRIMAL, short=arrays.classes)

    @property
    def member(self) -> Mask:
        """Which task (N) each column (P) holds."""
        return self._member[: len(self.columns)]

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new, and give the number of new columns."""
        fresh = [c for c in dict.fromkeys(columns) if c not in self._known]
        if not fresh:
            return 0
        known = len(self.columns)
        self.columns += fresh
        self._known.update(fresh)
        while len(self._member) < len(self.columns):
            self._member = np.vstack([self._member, np.zeros_like(self._member)])
        begin, rows = [0], []
        for i, column in enumerate(fresh):
            members = [c for c, _ in column.pattern]
            self._member[known + i, members] = True
            rows += [*members, self.classes + column.type]
            begin.append(len(rows))
        self._lp.add([self._price[c.type] / self._unit for c in fresh], begin[:-1], rows, np.ones(len(rows)))
        self._forbidden = np.concatenate([self._forbidden, np.zeros(len(fresh), dtype=bool)])
        return len(fresh)

    def cover(self, covered: Mask) -> None:
        """Say which tasks (N,) need no column any more."""
        for c in np.flatnonzero(covered != self._covered).tolist():
            self._lp.bound_row(c, 0.0 if covered[c] else 1.0, np.inf)
        self._covered = covered.copy()

    def limit(self, most: Sequence[float]) -> None:
        """Say how many instances of each type there may be, `inf` for any number."""
        for k, n in enumerate(most):
            self._lp.bound_row(self.classes + k, -np.inf, n)

    def restrict(self, together: Iterable[Pair], apart: Iterable[Pair]) -> None:
        """Forbid the columns that hold one task of a pair that is together, or both of a pair that is apart."""
        member = self.member
        forbidden = np.zeros(len(member), dtype=bool)
        for a, b in together:
            forbidden |= member[:, a] != member[:, b]
        for a, b in apart:
            forbidden |= member[:, a] & member[:, b]
        self.forbid(forbidden)

    def forbid(self, forbidden: Mask) -> None:
        """Say which columns (P,) must not be used."""
        changed = np.flatnonzero(forbidden != self._forbidden)
        if len(changed):
            self._lp.bound(changed, 0.0, np.where(forbidden[changed], 0.0, np.inf))
        self._forbidden = forbidden

    def solve(self, seconds: float = np.inf) -> Relaxed:
        """Solve from the last basis. Raises SolveFailed where HiGHS cannot in so many `seconds`."""
        found = self._lp.solve(seconds)
        duals = found.duals * self._unit
        return Relaxed(
            found.value * self._unit,
            np.maximum(duals[: self.classes], 0.0),
            np.maximum(-duals[self.classes :], 0.0),
            found.x,
            float(found.short.sum()),
        )
