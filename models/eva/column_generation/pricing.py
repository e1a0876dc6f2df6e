"""Pricing: the best pattern of every type at given duals, exactly, and columns of negative reduced cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log2

import numpy as np

from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.knapsack_table import VALUE_LIMIT
from models.eva.column_generation.parameters import DEFAULTS, ColumnGenerationParameters
from models.eva.column_generation.type_cuts import TypeCut
from models.eva.column_generation.type_table import TypeTable
from models.eva.configuration import Column, holds


@dataclass(frozen=True)
class Priced:
    """The cut that the duals prove, and columns of negative reduced cost, the best (per unit of price) first."""

    cut: TypeCut
    columns: list[Column]


class Pricer:
    """Exact pricing for all types, table by table; types of equal demands share a table where sharing is cheaper."""

    def __init__(self, arrays: PackingArrays, parameters: ColumnGenerationParameters = DEFAULTS) -> None:
        self.arrays, self.parameters = arrays, parameters
        useful, family = arrays.fits.any(axis=1), arrays.family
        groups = [np.flatnonzero(useful & (family == g)).tolist() for g in range(len(arrays.demand))]
        tables = [TypeTable(arrays, kinds, parameters) for kinds in groups if kinds]
        self.tables: list[TypeTable] = []
        for table in tables:
            for i, other in enumerate(self.tables):
                merged = self._merge(other, table)
                if merged is not None:
                    self.tables[i] = merged
                    break
            else:
                self.tables.append(table)

    def _merge(self, one: TypeTable, two: TypeTable) -> TypeTable | None:
        family = self.arrays.family
        if not np.array_equal(self.arrays.demand[family[one.kinds[0]]], self.arrays.demand[family[two.kinds[0]]]):
            return None
        both = TypeTable(self.arrays, one.kinds + two.kinds, self.parameters)
        cheaper = both.entries(both.axes) <= one.entries(one.axes) + two.entries(two.axes)
        return both if cheaper and not (one.charged or two.charged or both.charged) else None

    def scale(self, duals: FloatArray) -> float:
        """The finest unit for values: a power of two by which duals (N,) and prices can be multiplied."""
        largest = max(1.0, *(t.value_limit(duals) for t in self.tables), float(self.arrays.price.max()))
        return float(2.0 ** floor(log2(VALUE_LIMIT / largest)))

    def price(self, duals: FloatArray, prices: Sequence[float], columns_each: int) -> Priced:
        """The cut of the duals (N,), and columns of value above `prices[k]`, at most about `columns_each` of a type.

        The duals are rounded to integers in the finest unit that the tables hold; the cut is exact for those integers.
        """
        scale = self.scale(duals)
        values = np.rint(np.maximum(duals, 0) * scale).astype(np.int64)
        targets = [ceil(price * scale) for price in prices]
        best = [0] * len(prices)
        columns: list[tuple[float, Column]] = []
        for table in self.tables:
            table.fill(values, scale, max(targets[k] for k in table.kinds))
            for k in table.kinds:
                best[k], packings = self._price_type(table, k, targets[k], columns_each)
                for packing in packings:
                    value = sum(q * int(table.values[j]) for j, q in packing.items())
                    if value > targets[k]:
                        columns.append((value / max(1, targets[k]), table.column(k, packing)))
        columns.sort(key=lambda c: (-c[0], c[1].type, c[1].pattern))
        rhs = sum(v * n for v, n in zip(values.tolist(), self.arrays.count.tolist(), strict=True))
        return Priced(TypeCut(tuple(best), rhs), list(dict.fromkeys(column for _, column in columns)))

    def _price_type(self, table: TypeTable, k: int, target: int, limit: int) -> tuple[int, list[dict[int, int]]]:
        """A bound on the value of a type's patterns; the best pattern and, for many classes, the best with the class.

        Where some resources are charged, the bound is closed by a search for patterns above the target; if it ends, no
        pattern has a value above both the target and the best one found.
        """
        bound = table.bound(k)
        if bound <= target:
            return bound, []
        with_each = table.bound_with_each(k)
        order = np.argsort(-with_each, kind="stable")[: np.count_nonzero(with_each > target)]
        packings = [table.pattern(k)] + [table.pattern(k, int(j)) for j in order[:limit]]
        if table.charged:
            packings = [packing for packing in packings if holds(self.arrays, table.column(k, packing))]
            found = table.search(k, target, self.parameters.pricing_nodes)
            if found.complete:
                bound = max([target] + [value for value, _ in found.packings])
            packings.extend(packing for _, packing in found.packings)
        return bound, packings

    def enumerate(self, duals: FloatArray, ceiling: int, limit: int) -> list[Column] | None:
        """The columns of maximal patterns that can be part of a configuration cheaper than `ceiling`.

        At feasible duals pi a configuration costs at least `sum_c n_c pi_c` and the reduced costs of its columns, so
        that no column of a higher reduced cost than the rest is in it. The duals (N,) are first shrunk until they are
        feasible, in integers. `None` if there are more than about `limit` such columns.
        """
        scale = self.scale(duals)
        values = np.rint(np.maximum(duals, 0) * scale).astype(np.int64)
        prices = [Fraction(price) * Fraction(scale) for price in self.arrays.price.tolist()]
        worst = Fraction(1)
        for table in self.tables:
            table.fill(values, scale, 0)
            worst = max(worst, *(table.bound(k) / prices[k] for k in table.kinds))
        values = np.array([int(int(v) / worst) for v in values], dtype=np.int64)
        proven = sum(v * n for v, n in zip(values.tolist(), self.arrays.count.tolist(), strict=True))
        slack = (ceiling - 1) * Fraction(scale) - proven
        columns: list[Column] = []
        for table in self.tables:
            table.fill(values, scale, 0)
            for k in table.kinds:
                found = table.every(k, ceil(prices[k] - slack) - 1, 10 * limit)
                columns.extend(table.column(k, packing) for _, packing in found.packings)
                if not found.complete or len(columns) > limit:
                    return None
        return columns
