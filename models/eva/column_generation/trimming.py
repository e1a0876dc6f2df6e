"""From columns that cover the tasks to a configuration that holds each task once, on the cheapest types that will
do."""

from __future__ import annotations

from models.eva.column_generation.packing import Column, Configuration, Packing


def trim(packing: Packing, cover: Configuration) -> Configuration:
    """Drop tasks held beyond their number, then move each pattern to the cheapest type that holds it."""
    excess = -packing.missing(cover)
    trimmed: Configuration = {}
    for column, count in sorted(
        cover.items(), key=lambda item: (packing.prices[item[0].type], item[0].type, item[0].pattern)
    ):
        while count > 0:
            drop = {c: min(q, int(excess[c])) for c, q in column.pattern if excess[c] > 0}
            times = min([count] + [int(excess[c]) // q for c, q in drop.items()])
            for c, q in drop.items():
                excess[c] -= q * times
            kept = Column.of(column.type, ((c, q - drop.get(c, 0)) for c, q in column.pattern))
            if kept.pattern:
                kept = cheapest(packing, kept)
                trimmed[kept] = trimmed.get(kept, 0) + times
            count -= times
    return trimmed


def cheapest(packing: Packing, column: Column) -> Column:
    """The same pattern on the cheapest type that holds it."""
    for kind in sorted(range(len(packing.prices)), key=lambda k: (packing.prices[k], k != column.type, k)):
        moved = Column(kind, column.pattern)
        if packing.holds(moved):
            return moved
    return column
