"""The restricted master problem: the linear program that covers all tasks by the columns at hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.core.linear_program import LinearProgram
from models.eva.column_generation.parameters import LARGEST_COEFFICIENT
from models.eva.column_generation.price_groups import PriceGroups
from models.eva.column_generation.type_cuts import TypeCut
from models.eva.configuration import Column
from models.highs import LinearModel


@dataclass(frozen=True)
class Relaxed:
    """Optimum of the restricted master.

    `value` (price units), `duals` (N,) of the classes, `prices` (K,) of the types, `amounts` of the columns.
    """

    value: float
    duals: FloatArray
    prices: FloatArray
    amounts: FloatArray


class RestrictedMaster:
    """The restricted master as a linear program in HiGHS that grows by columns.

    Variables: `z_g` and `s_g`, the spend on price group g within a free budget and beyond it, and `x_p` of a column.

    minimise `sum_g u_g s_g` subject to `sum_p a_cp x_p >= n_c` and `z_g + s_g >= sum_{p in g} (C_p / u_g) x_p`,
    `0 <= z_g <= budget_g`. Without a free budget the objective is the price of the configuration; with one it is
    the price of what the budget does not pay for. The dual of the second row is the price of a unit of the group: u_g
    without a budget, less where the budget does not bind.
    Where prices are very many units the row is scaled down, for HiGHS refuses large coefficients.
    """

    def __init__(self, arrays: PackingArrays, groups: PriceGroups, options: Options = Options()) -> None:
        self.groups = groups
        self.columns: list[Column] = []
        self._known: set[Column] = set()
        self._classes = arrays.classes
        self._price = arrays.price.tolist()
        self._scale = row_scales(self._price, groups)
        self._budget = [0.0] * len(groups.unit)
        self._lp = LinearProgram(covering_rows(arrays, groups), Options(threads=options.threads))

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new, and give the number of new columns."""
        fresh = [c for c in dict.fromkeys(columns) if c not in self._known]
        if fresh:
            matrix = covering_columns(self._classes, self._price, self.groups, fresh)
            self._lp.add(0.0, matrix.indptr[:-1], matrix.indices, matrix.data)
        self.columns.extend(fresh)
        self._known.update(fresh)
        return len(fresh)

    def set_free_budget(self, spend: Sequence[float]) -> None:
        """Set how many units of each group cost nothing."""
        self._budget = [float(z) for z in spend]
        self._lp.bound(range(len(spend)), 0.0, self._budget)

    def cut_bound(self, cut: TypeCut) -> float:
        """The bound of a cut alone on the price beyond the free budget, in price units (after Farley, 1990)."""
        unit = self.groups.unit
        scale = [
            max((cut.value[k] * u / self._price[k] for k in self.groups.of_group(g)), default=0.0)
            for g, u in enumerate(unit)
        ]
        left = cut.rhs - sum(w * most for w, most in zip(scale, self._budget, strict=True))
        return min((left * u / w for w, u in zip(scale, unit, strict=True) if w), default=0.0)

    def solve(self, seconds: float = math.inf) -> Relaxed:
        """Solve the linear program from the last basis. Raises SolveFailed where HiGHS cannot in so many `seconds`."""
        found = self._lp.solve(seconds)
        duals = np.maximum(found.duals, 0.0)
        scaled = zip(duals[self._classes :], self._scale, self.groups.unit, strict=True)
        unit_price = [float(y) * scale / u for y, scale, u in scaled]
        return Relaxed(
            found.value,
            duals[: self._classes],
            np.array(
                [unit_price[g] * p if g >= 0 else 0.0 for g, p in zip(self.groups.group_of, self._price, strict=True)]
            ),
            found.x[2 * len(self.groups.unit) :],
        )


def covering_rows(arrays: PackingArrays, groups: PriceGroups) -> LinearModel:
    """The restricted master without columns: a row for each class and each group, and the spends z and s."""
    n = len(groups.unit)
    spend = sparse.diags_array(row_scales(arrays.price.tolist(), groups))
    spends = sparse.hstack([spend, spend])
    return LinearModel(
        cost=np.concatenate([np.zeros(n), np.array(groups.unit, dtype=float)]),
        matrix=sparse.vstack([sparse.coo_array((arrays.classes, 2 * n)), spends]),
        row_lower=np.concatenate([arrays.count, np.zeros(n)]),
        row_upper=np.inf,
        upper=np.repeat([0.0, np.inf], n),
    )


def row_scales(price: Sequence[int], groups: PriceGroups) -> list[float]:
    """The factor by which the row of each group is multiplied, to keep coefficients within the limit of HiGHS."""
    dearest = [max((price[k] for k in groups.of_group(g)), default=0) for g in range(len(groups.unit))]
    return [min(1.0, LARGEST_COEFFICIENT * u / max(1, most)) for u, most in zip(groups.unit, dearest, strict=True)]


def covering_columns(
    classes: int, price: Sequence[int], groups: PriceGroups, columns: Sequence[Column]
) -> sparse.csc_array:
    """The entries of columns in the rows of the classes and of the groups."""
    begin, rows, entries = [0], [], []
    scales = row_scales(price, groups)
    for column in columns:
        group = groups.group_of[column.type]
        rows += [*(c for c, _ in column.pattern), classes + group]
        entries += [*(float(q) for _, q in column.pattern), -price[column.type] / groups.unit[group] * scales[group]]
        begin.append(len(rows))
    return sparse.csc_array((entries, rows, begin), shape=(classes + len(groups.unit), len(columns)))
