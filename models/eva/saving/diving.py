"""Diving: columns that the linear program uses most are taken for good, and it is solved anew for what is left."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import IntArray
from models.core.linear_program import LinearProgram
from models.eva.saving.columns import PackingMaster, SavingColumns
from models.fine_units import coarse_unit
from models.highs import SolveFailed

WHOLE = 1e-6  # A number this close to a whole one is whole.
NEARLY = 0.7  # Columns used by so much more than they are taken are taken together, as long as they fit.


class Diving:
    """Dives over columns, among which each task has to be alone, so that what is left can always be packed."""

    def __init__(self, master: PackingMaster, columns: SavingColumns, clock: Stopwatch) -> None:
        model = master.model(columns, master.net(columns), integer=False)
        coarse = replace(model, cost=np.asarray(model.cost) / coarse_unit(model))
        self.program = LinearProgram(coarse, Options(), {"presolve": "choose"})
        self.on_it, self.count, self.clock = columns.on_it, master.arrays.packing.count, clock

    def packing(self, kept: IntArray) -> IntArray | None:
        """How many (P,) of each column a packing takes, `kept` (P,) at least; `None` where clock or solver ends it."""
        taken, left = kept.copy(), self.count - kept @ self.on_it
        with suppress(SolveFailed):  # or out of time
            while left.any():
                self.program.bound(np.arange(len(taken)), taken, taken + _room(self.on_it, left))
                beyond, some = self.program.solve(self.clock.remaining_s).x - taken, False
                for p in np.argsort(-beyond, kind="stable").tolist():
                    if some and beyond[p] < NEARLY:
                        break
                    copies = min(max(1, int(beyond[p] + WHOLE)), _room(self.on_it[[p]], left).item())
                    taken[p] += copies
                    left -= copies * self.on_it[p]
                    some = some or copies > 0
            return taken
        return None


def _room(on_it: IntArray, left: IntArray) -> IntArray:
    """How often (P,) each column `on_it` (P, N) can be taken of what is `left` (N,)."""
    return np.asarray(np.where(on_it > 0, left // np.maximum(on_it, 1), left.sum()).min(axis=1))
