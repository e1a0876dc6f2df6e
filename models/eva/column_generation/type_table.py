"""Pricing tables: for instance types of equal demands, the best pattern at every capacity at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.knapsack_table import VALUE_LIMIT, Found, KnapsackTable
from models.eva.column_generation.parameters import ColumnGenerationParameters
from models.eva.configuration import Column

SPARE = 2**9  # A table entry may be so many times the largest value of a pattern within 64-bit integers.


class TypeTable:
    """Pricing for some types of equal demands: a knapsack table over the resources chosen as axes.

    The remaining resources are charged a price per unit (a Lagrangian relaxation, its price kept from call to call),
    and a search over the table closes what the relaxation leaves open.
    """

    def __init__(self, arrays: PackingArrays, kinds: Sequence[int], parameters: ColumnGenerationParameters) -> None:
        self.arrays, self.kinds, self.parameters = arrays, list(kinds), parameters
        family = arrays.family[self.kinds[0]]
        classes = np.flatnonzero(arrays.fits[self.kinds].any(axis=0))
        demand, room = arrays.demand[family], arrays.capacity[self.kinds].max(axis=0)
        weight = (demand[classes] / np.maximum(room, 1)).sum(axis=1)
        self.classes = classes[np.lexsort((classes, weight))]
        self.size = demand[self.classes]
        together = arrays.count[self.classes].astype(float) @ self.size.astype(float)
        self.room = np.where(room <= together, room, arrays.count[self.classes] @ self.size)
        per_task = np.where(self.size > 0, self.room // np.maximum(self.size, 1), arrays.count.max(initial=0))
        self.most = np.minimum(arrays.count[self.classes], per_task.min(axis=1))
        used = [r for r in range(len(room)) if self.size[:, r].any()]
        self.unit = np.array([max(1, int(np.gcd.reduce(self.size[:, r]))) for r in range(len(room))], dtype=np.int64)
        self.axes = self._choose_axes(used, parameters.table_entries)
        self.charged = [r for r in used if r not in self.axes]
        self.charge = np.zeros(len(room), dtype=np.int64)
        self.price_of_charged = np.zeros(len(room))
        self.most_charged = SPARE * VALUE_LIMIT // (64 * np.maximum(self.room, 1)) + 1  # any charge gives a bound

    @cached_property
    def table(self) -> KnapsackTable:
        """The knapsack table over the axes, allocated on first use."""
        return KnapsackTable(self.size[:, self.axes] // self.unit[self.axes], self._capacity(self.room))

    def _choose_axes(self, used: list[int], limit: int) -> list[int]:
        """The axes: as many resources as a table within the limit can have, and of as many the scarcest."""
        states = self.room // self.unit + 1
        tight = (self.arrays.count[self.classes] @ (self.size / np.maximum(self.room, 1)))[used]
        pressure = dict(zip(used, tight, strict=True))
        for size in range(len(used), 0, -1):
            sets = [s for s in combinations(used, size) if self.entries(s) <= limit]
            if sets:
                return list(max(sets, key=lambda s: (sum(pressure[r] for r in s), -int(np.prod(states[list(s)])))))
        return []

    def entries(self, axes: Sequence[int]) -> int:
        """Entries of a table with the given axes."""
        entries = len(self.classes) + 1
        for r in axes:
            entries *= int(self.room[r] // self.unit[r]) + 1
        return entries

    def value_limit(self, duals: FloatArray) -> float:
        """A bound on the value of a pattern, whose demands as shares of capacity add up to R resources at most."""
        share = (self.size / np.maximum(self.room, 1)).sum(axis=1)
        free = share == 0
        value = duals[self.classes]
        tight = len(self.room) * float((value[~free] / share[~free]).max(initial=0.0))
        limit = tight + float(value[free] @ self.arrays.count[self.classes][free])
        # A table over some resources alone may hold more: at most all tasks of each class that fit alone.
        return max(limit, float(np.maximum(value, 0.0) @ self.most) / SPARE) if self.charged else limit

    def fill(self, values: IntArray, scale: float, target: int, counts: IntArray | None = None) -> None:
        """Fill the table for integer class values (N,), duals times `scale`; `counts` (N,) tasks if not all.

        `target` is a value of the largest room at which its bound is good enough.
        """
        self.values = values[self.classes]
        self.limit = np.minimum((self.arrays.count if counts is None else counts)[self.classes], self.most)
        self.table.limit(self.limit)
        self.charge = np.rint(np.minimum(self.price_of_charged * scale, self.most_charged)).astype(np.int64)
        self.table.fill(self.values - self.size @ self.charge)
        for r in self.charged:
            self._tune(r, target)
        self.price_of_charged = self.charge / scale

    def bound(self, kind: int) -> int:
        """A bound on the value of the type's patterns; exact if all resources are axes."""
        return self.table.best(self._capacity(self._room(kind))) + int(self.charge @ self._room(kind))

    def bound_with_each(self, kind: int) -> IntArray:
        """Bounds (m,) on the value of patterns with a task of each of `classes` in turn, -1 where no task fits."""
        bounds = self.table.best_with_each(self._capacity(self._room(kind)))
        fits = self.arrays.fits[kind, self.classes]
        return np.where(fits & (bounds >= 0), bounds + int(self.charge @ self._room(kind)), -1)

    def pattern(self, kind: int, first: int | None = None) -> dict[int, int]:
        """A most valuable packing by the table, {position in `classes`: copies}, with item `first` at least once.

        It may not fit the resources that are charged, and `first` may be counted once too often.
        """
        capacity = self._capacity(self._room(kind))
        if first is None:
            return self.table.packing(capacity)
        packing = self.table.packing([c - int(w) for c, w in zip(capacity, self.table.size[first], strict=True)])
        return {**packing, first: min(packing.get(first, 0) + 1, int(self.limit[first]))}

    def search(
        self, kind: int, target: int, node_limit: int, limit: IntArray | None = None, first: int | None = None
    ) -> Found:
        """Patterns of value above a target, by branch and bound.

        - `kind`: the instance type.
        - `target`: the value to exceed.
        - `node_limit`: most nodes of the search.
        - `limit` (m,): most copies of each item, if fewer than the limits of the table.
        - `first`: an item that each pattern holds at least once.
        """
        room, copies = self._room(kind), self.limit if limit is None else limit
        given = 0
        if first is not None:
            room, given = room - self.size[first], int(self.values[first])
            copies = copies - (np.arange(len(copies)) == first)
        found = self.table.search(
            self._capacity(room), room, self.size, self.values, self.charge, copies, target - given, node_limit
        )
        if first is None:
            return found
        packings = [(value + given, {**packed, first: packed.get(first, 0) + 1}) for value, packed in found.packings]
        return Found(packings, found.complete)

    def every(self, kind: int, target: int, node_limit: int) -> Found:
        """All patterns of value above the target to which no task can be added."""
        room = self._room(kind)
        return self.table.search(
            self._capacity(room), room, self.size, self.values, self.charge, self.limit, target, node_limit, every=True
        )

    def column(self, kind: int, packing: dict[int, int]) -> Column:
        """The column of a packing by positions."""
        return Column.of(kind, ((int(self.classes[j]), q) for j, q in packing.items()))

    def _room(self, kind: int) -> IntArray:
        return np.asarray(np.minimum(self.arrays.capacity[kind], self.room))

    def _capacity(self, room: IntArray) -> list[int]:
        return [int(room[r] // self.unit[r]) for r in self.axes]

    def _tune(self, r: int, target: int) -> None:
        """Move the charge of resource r to where the bound of the largest room is least, and fill the table there.

        The bound is convex and piecewise linear in the charge; each packing is one line, with the room that it leaves
        as its slope. The minimum lies where a falling and a rising line meet.
        """
        capacity, charge = self._capacity(self.room), self.charge
        falling: tuple[int, int] | None = None
        rising: tuple[int, int] | None = None
        best, least = -1, int(charge[r])
        for _ in range(self.parameters.tuning_steps):
            bound = self.table.best(capacity) + int(charge @ self.room)
            if best < 0 or bound < best:
                best, least = bound, int(charge[r])
            slope = int(self.room[r]) - sum(q * int(self.size[j, r]) for j, q in self.table.packing(capacity).items())
            line = (bound - slope * int(charge[r]), slope)
            if bound <= target or slope == 0 or (slope > 0 and charge[r] == 0):
                break
            falling, rising = (line, rising) if slope < 0 else (falling, line)
            if falling is None:
                step = 0
            elif rising is None:
                step = max(2 * int(charge[r]), 1 + bound // (4 * int(self.room[r])))
            else:
                step = (rising[0] - falling[0]) // (falling[1] - rising[1])
            step = min(step, int(self.most_charged[r]))
            if step == charge[r]:
                break
            charge[r] = step
            self.table.fill(self.values - self.size @ charge)
        if charge[r] != least:
            charge[r] = least
            self.table.fill(self.values - self.size @ charge)
