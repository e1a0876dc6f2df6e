"""Pricing: the most valuable pattern of every type at given duals, exactly, and many columns of negative reduced
cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, floor, log2

import numpy as np
from numpy.typing import NDArray

from models.eva.column_generation.knapsack import VALUE_LIMIT, Found, KnapsackTable
from models.eva.column_generation.packing import Column, Ints, Packing
from models.eva.column_generation.spending import Cut

TABLE_LIMIT = 40_000_000
"""Entries (states times classes) of one table; beyond it some resources are charged a price instead of being axes."""
NODE_LIMIT = 3_000
SPARE = 2**9
"""How many times the largest value of a pattern a table entry may be in 64-bit integers."""
TUNING_STEPS = 6


@dataclass(frozen=True)
class Priced:
    """The cut that the duals prove, and columns of negative reduced cost, the best (per unit of price) first."""

    cut: Cut
    columns: list[Column]


class TypeTable:
    """Pricing for some types of equal demands: a knapsack table over the resources that are its axes.

    The remaining resources are charged a price per unit (a Lagrangian relaxation, its price kept from call to call),
    and a search over the table closes what the relaxation leaves open.
    """

    def __init__(self, packing: Packing, kinds: Sequence[int], limit: int) -> None:
        self.packing, self.kinds = packing, list(kinds)
        family = packing.family[self.kinds[0]]
        classes = np.flatnonzero(packing.fits[self.kinds].any(axis=0))
        demand, room = packing.demand[family], packing.capacity[self.kinds].max(axis=0)
        weight = (demand[classes] / np.maximum(room, 1)).sum(axis=1)
        self.classes = classes[np.lexsort((classes, weight))]
        self.size = demand[self.classes]
        together = packing.counts[self.classes].astype(float) @ self.size.astype(float)
        self.room = np.where(room <= together, room, packing.counts[self.classes] @ self.size)
        per_task = np.where(self.size > 0, self.room // np.maximum(self.size, 1), packing.counts.max(initial=0))
        self.most = np.minimum(packing.counts[self.classes], per_task.min(axis=1))
        used = [r for r in range(len(room)) if self.size[:, r].any()]
        self.unit = np.array([max(1, int(np.gcd.reduce(self.size[:, r]))) for r in range(len(room))], dtype=np.int64)
        self.axes = self._choose_axes(used, limit)
        self.charged = [r for r in used if r not in self.axes]
        self.charge = np.zeros(len(room), dtype=np.int64)
        self.price_of_charged = np.zeros(len(room))
        self.most_charged = SPARE * VALUE_LIMIT // (64 * np.maximum(self.room, 1)) + 1  # any charge gives a bound

    @cached_property
    def table(self) -> KnapsackTable:
        """The knapsack table over the axes, allocated on first use."""
        return KnapsackTable(self.size[:, self.axes] // self.unit[self.axes], self._capacity(self.room))

    def _choose_axes(self, used: list[int], limit: int) -> list[int]:
        """The largest set of resources whose table is within the limit; among equals, the ones that demand most
        room."""
        states = self.room // self.unit + 1
        tight = (self.packing.counts[self.classes] @ (self.size / np.maximum(self.room, 1)))[used]
        pressure = dict(zip(used, tight, strict=True))
        for size in range(len(used), 0, -1):
            sets = [s for s in combinations(used, size) if self.entries(s) <= limit]
            if sets:
                return list(max(sets, key=lambda s: (sum(pressure[r] for r in s), -int(np.prod(states[list(s)])))))
        return []

    def entries(self, axes: Sequence[int]) -> int:
        """Entries of a table with these axes."""
        entries = len(self.classes) + 1
        for r in axes:
            entries *= int(self.room[r] // self.unit[r]) + 1
        return entries

    def value_limit(self, duals: NDArray[np.float64]) -> float:
        """No pattern is worth more: a pattern's demand as a share of capacity, summed over resources, is at most R."""
        share = (self.size / np.maximum(self.room, 1)).sum(axis=1)
        free = share == 0
        value = duals[self.classes]
        tight = len(self.room) * float((value[~free] / share[~free]).max(initial=0.0))
        limit = tight + float(value[free] @ self.packing.counts[self.classes][free])
        # a table over some resources alone may hold more, up to all that fits alone of each class
        return max(limit, float(np.maximum(value, 0.0) @ self.most) / SPARE) if self.charged else limit

    def fill(self, values: Ints, scale: float, target: int, counts: Ints | None = None) -> None:
        """Fill the table for integer class values (n,), duals times ``scale``; ``counts`` (n,) tasks if not all.

        ``target`` is a value of the largest room at which its bound is good enough.
        """
        self.values = values[self.classes]
        self.limit = np.minimum((self.packing.counts if counts is None else counts)[self.classes], self.most)
        self.table.limit(self.limit)
        self.charge = np.rint(np.minimum(self.price_of_charged * scale, self.most_charged)).astype(np.int64)
        self.table.fill(self.values - self.size @ self.charge)
        for r in self.charged:
            self._tune(r, target)
        self.price_of_charged = self.charge / scale

    def bound(self, kind: int) -> int:
        """No pattern of the type is worth more; exact if all resources are axes."""
        return self.table.best(self._capacity(self._room(kind))) + int(self.charge @ self._room(kind))

    def bound_with_each(self, kind: int) -> Ints:
        """(m,) the same with at least one task of each of ``classes``, negative where it does not fit."""
        bounds = self.table.best_with_each(self._capacity(self._room(kind)))
        fits = self.packing.fits[kind, self.classes]
        return np.where(fits & (bounds >= 0), bounds + int(self.charge @ self._room(kind)), -1)

    def pattern(self, kind: int, first: int | None = None) -> dict[int, int]:
        """A most valuable packing by the table, {position in ``classes``: copies}, with item ``first`` at least once.

        It may not fit the resources that are charged, and ``first`` may be counted once too often.
        """
        capacity = self._capacity(self._room(kind))
        if first is None:
            return self.table.packing(capacity)
        packing = self.table.packing([c - int(w) for c, w in zip(capacity, self.table.size[first], strict=True)])
        return {**packing, first: min(packing.get(first, 0) + 1, int(self.limit[first]))}

    def search(
        self, kind: int, target: int, node_limit: int, limit: Ints | None = None, first: int | None = None
    ) -> Found:
        """Patterns worth more than the target, with at most ``limit`` (m,) copies and item ``first`` at least once."""
        room, copies = self._room(kind), self.limit if limit is None else limit
        worth = 0
        if first is not None:
            room, worth = room - self.size[first], int(self.values[first])
            copies = copies - (np.arange(len(copies)) == first)
        found = self.table.search(
            self._capacity(room), room, self.size, self.values, self.charge, copies, target - worth, node_limit
        )
        if first is None:
            return found
        packings = [(value + worth, {**packed, first: packed.get(first, 0) + 1}) for value, packed in found.packings]
        return Found(packings, found.complete)

    def every(self, kind: int, target: int, node_limit: int) -> Found:
        """All patterns worth more than the target to which no task can be added."""
        room = self._room(kind)
        return self.table.search(
            self._capacity(room), room, self.size, self.values, self.charge, self.limit, target, node_limit, every=True
        )

    def column(self, kind: int, packing: dict[int, int]) -> Column:
        """The column of a packing by positions."""
        return Column.of(kind, ((int(self.classes[j]), q) for j, q in packing.items()))

    def _room(self, kind: int) -> Ints:
        return np.asarray(np.minimum(self.packing.capacity[kind], self.room))

    def _capacity(self, room: Ints) -> list[int]:
        return [int(room[r] // self.unit[r]) for r in self.axes]

    def _tune(self, r: int, target: int) -> None:
        """Move the charge of resource r to where the bound of the largest room is least, leaving the table filled
        there.

        The bound is convex and piecewise linear in the charge; each packing is one line, with the room that it leaves
        as its slope. The minimum lies where a falling and a rising line meet.
        """
        capacity, charge = self._capacity(self.room), self.charge
        falling: tuple[int, int] | None = None
        rising: tuple[int, int] | None = None
        best, least = -1, int(charge[r])
        for _ in range(TUNING_STEPS):
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


class Pricer:
    """Exact pricing for all types, table by table; types of equal demands share a table where that is cheaper."""

    def __init__(self, packing: Packing, table_limit: int = TABLE_LIMIT) -> None:
        self.packing = packing
        groups = [
            [k for k, f in enumerate(packing.family) if f == g and packing.useful[k]] for g in range(packing.families)
        ]
        tables = [TypeTable(packing, kinds, table_limit) for kinds in groups if kinds]
        self.tables: list[TypeTable] = []
        for table in tables:
            for i, other in enumerate(self.tables):
                merged = self._merge(other, table, table_limit)
                if merged is not None:
                    self.tables[i] = merged
                    break
            else:
                self.tables.append(table)

    def _merge(self, one: TypeTable, two: TypeTable, limit: int) -> TypeTable | None:
        family = self.packing.family
        if not np.array_equal(self.packing.demand[family[one.kinds[0]]], self.packing.demand[family[two.kinds[0]]]):
            return None
        both = TypeTable(self.packing, one.kinds + two.kinds, limit)
        cheaper = both.entries(both.axes) <= one.entries(one.axes) + two.entries(two.axes)
        return both if cheaper and not (one.charged or two.charged or both.charged) else None

    def scale(self, duals: NDArray[np.float64]) -> float:
        """The finest unit for values: a power of two by which duals (n,) and prices can be multiplied."""
        largest = max(1.0, *(t.value_limit(duals) for t in self.tables), *self.packing.prices)
        return float(2.0 ** floor(log2(VALUE_LIMIT / largest)))

    def price(self, duals: NDArray[np.float64], prices: Sequence[float], columns_each: int) -> Priced:
        """Price at class duals (n,) where a column of type k costs ``prices[k]``; at most about ``columns_each`` a
        type.

        The duals are rounded to integers in the finest unit that the tables hold; the cut is exact for those integers.
        """
        scale = self.scale(duals)
        values = np.rint(np.maximum(duals, 0) * scale).astype(np.int64)
        targets = [ceil(price * scale) for price in prices]
        worth = [0] * len(self.packing.prices)
        columns: list[tuple[float, Column]] = []
        for table in self.tables:
            table.fill(values, scale, max(targets[k] for k in table.kinds))
            for k in table.kinds:
                worth[k], packings = self._price_type(table, k, targets[k], columns_each)
                for packing in packings:
                    value = sum(q * int(table.values[j]) for j, q in packing.items())
                    if value > targets[k]:
                        columns.append((value / max(1, targets[k]), table.column(k, packing)))
        columns.sort(key=lambda c: (-c[0], c[1].type, c[1].pattern))
        demand = sum(int(v) * int(n) for v, n in zip(values, self.packing.counts, strict=True))
        cut = Cut(tuple(worth), demand)
        return Priced(cut, list(dict.fromkeys(column for _, column in columns)))

    def _price_type(self, table: TypeTable, k: int, target: int, limit: int) -> tuple[int, list[dict[int, int]]]:
        """A bound on the patterns of one type, and packings: the best and, for many classes, the best with the class.

        Where some resources are charged, the bound is closed by a search for patterns above the target; if it ends, no
        pattern is worth more than the target or the best one found.
        """
        bound = table.bound(k)
        if bound <= target:
            return bound, []
        with_each = table.bound_with_each(k)
        order = np.argsort(-with_each, kind="stable")[: np.count_nonzero(with_each > target)]
        packings = [table.pattern(k)] + [table.pattern(k, int(j)) for j in order[:limit]]
        if table.charged:
            packings = [packing for packing in packings if self.packing.holds(table.column(k, packing))]
            found = table.search(k, target, NODE_LIMIT)
            if found.complete:
                bound = max([target] + [value for value, _ in found.packings])
            packings.extend(packing for _, packing in found.packings)
        return bound, packings

    def enumerate(self, duals: NDArray[np.float64], ceiling: int, limit: int) -> list[Column] | None:
        """The columns, maximal in the tasks that they hold, of which a configuration cheaper than ``ceiling`` can
        consist.

        At feasible duals pi a configuration costs at least ``sum_c n_c pi_c`` and the reduced costs of its columns, so
        that no column of a higher reduced cost than the rest is in it. The duals (n,) are first shrunk until they are
        feasible, in integers. None if there are more than about ``limit`` such columns.
        """
        scale = self.scale(duals)
        values = np.rint(np.maximum(duals, 0) * scale).astype(np.int64)
        prices = [Fraction(price) * Fraction(scale) for price in self.packing.prices]
        worst = Fraction(1)
        for table in self.tables:
            table.fill(values, scale, 0)
            worst = max(worst, *(table.bound(k) / prices[k] for k in table.kinds))
        values = np.array([int(int(v) / worst) for v in values], dtype=np.int64)
        slack = (ceiling - 1) * Fraction(scale) - sum(
            int(v) * int(n) for v, n in zip(values, self.packing.counts, strict=True)
        )
        columns: list[Column] = []
        for table in self.tables:
            table.fill(values, scale, 0)
            for k in table.kinds:
                found = table.every(k, ceil(prices[k] - slack) - 1, 10 * limit)
                columns.extend(table.column(k, packing) for _, packing in found.packings)
                if not found.complete or len(columns) > limit:
                    return None
        return columns
