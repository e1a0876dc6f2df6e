"""Columns that a search has passed through; they enter a linear program if their reduced cost is negative."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.eva.configuration import Column

PAYS = 1e-6  # a column of the pool enters if it saves this share of its price


class ColumnPool:
    """The columns of all packings that a search has passed through. The linear program uses few of them."""

    def __init__(self, arrays: PackingArrays) -> None:
        self.columns: dict[Column, None] = {}
        self._classes, self._built = arrays.classes, 0
        self._kind = np.zeros(0, dtype=np.int64)
        self._on_it = sparse.csr_array((0, arrays.classes))

    def add(self, columns: Iterable[Column]) -> None:
        """Add columns."""
        self.columns.update(dict.fromkeys(columns))

    def paying(self, duals: FloatArray, prices: FloatArray, limit: int) -> list[Column]:
        """Return columns of negative reduced cost at class duals (N,) and type prices (K,), the best first.

        Each is the first one of some class: further columns of the same classes would only slow the linear program.
        """
        columns = list(self.columns)
        if self._built < len(columns):
            new = columns[self._built :]
            self._on_it = sparse.vstack([self._on_it, pattern_rows(new, self._classes)], format="csr")
            self._kind, self._built = np.append(self._kind, [column.type for column in new]), len(columns)
        price = prices[self._kind]
        share = np.divide(self._on_it @ duals, price, out=np.full(len(price), np.inf), where=price > 0)
        order = np.argsort(-share, kind="stable")[: int((share > 1 + PAYS).sum())]
        rows = self._on_it[order]
        _, first = np.unique(rows.indices, return_index=True)
        chosen = np.unique(np.searchsorted(rows.indptr, first, side="right") - 1)[:limit]
        return [columns[i] for i in order[chosen].tolist()]


def pattern_rows(columns: list[Column], classes: int) -> sparse.csr_array:
    """Return a row for each column, with the number of tasks (N,) of each class in its pattern."""
    begin = np.cumsum([0] + [len(column.pattern) for column in columns])
    entries = [entry for column in columns for entry in column.pattern]
    places, copies = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array((copies.astype(float), places, begin), shape=(len(columns), classes))
