"""Trimming of a cover: a configuration that holds each task once, with patterns on the cheapest types."""

from __future__ import annotations

import numpy as np

from instances.eva.arrays import PackingArrays
from models.eva.configuration import Column, Configuration, holders, missing


def trim(arrays: PackingArrays, cover: Configuration) -> Configuration:
    """Trim a cover: drop tasks held too often, then move each pattern to the cheapest type that holds the pattern.

    No pattern moves to a type with a limit.
    """
    surplus = -missing(arrays, cover)
    trimmed: Configuration = {}
    prices = arrays.price.tolist()
    for column, count in sorted(cover.items(), key=lambda item: (prices[item[0].type], item[0].type, item[0].pattern)):
        while count > 0:
            drop = {c: min(q, int(surplus[c])) for c, q in column.pattern if surplus[c] > 0}
            times = min([count] + [int(surplus[c]) // q for c, q in drop.items()])
            for c, q in drop.items():
                surplus[c] -= q * times
            kept = Column.of(column.type, ((c, q - drop.get(c, 0)) for c, q in column.pattern))
            if kept.pattern:
                kept = on_cheapest_type(arrays, kept)
                trimmed[kept] = trimmed.get(kept, 0) + times
            count -= times
    return trimmed


def on_cheapest_type(arrays: PackingArrays, column: Column) -> Column:
    """The column of the same pattern on the cheapest type; among equals the present type, or the first."""
    kinds = holders(arrays, column)
    if arrays.limited:
        kinds = np.array([k for k in kinds if arrays.most[k] is None or k == column.type], dtype=np.int64)
    if not len(kinds):
        return column
    best = np.lexsort((kinds, kinds != column.type, arrays.price[kinds]))[0]
    return Column(int(kinds[best]), column.pattern)
