"""The program over columns for the net saving of a packing: no instance exists, and a task alone saves exactly 0."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from instances.eva.reconfiguration_arrays import SavingArrays
from models.eva.saving.columns import Columns, Duals, Master
from models.eva.saving.exact_net import exact_signs


class PackingMaster(Master):
    """The program for a packing, all in price units; the sign of a net is beyond doubt, so that an optimum of 0 is."""

    exact_signs = True

    def __init__(self, packing: PackingArrays) -> None:
        super().__init__(SavingArrays(packing, (), 1.0, packing.price.astype(float), np.zeros(0)))

    @property
    def priced_instances(self) -> int:
        """Half the tasks: a task alone has no reduced net above 0 where no dual is below 0."""
        return self.arrays.tasks // 2

    def kinds_and_nets(self, columns: Columns) -> tuple[IntArray, FloatArray]:
        """The types (P,) of columns, and their nets (P,), in rational numbers where floats leave the sign in doubt."""
        kind, net = super().kinds_and_nets(columns)
        net[columns.on_it.sum(axis=1) == 1] = 0.0
        return kind, exact_signs(self.arrays.packing, kind, columns.on_it, net)

    def priced(self, row_dual: FloatArray) -> Duals:
        """The duals at which columns are priced, none below 0."""
        return super().duals(np.maximum(row_dual, 0.0))
