"""Exact pricing by knapsack tables: the best pattern of each type, and columns of negative reduced cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil, floor, log2
from typing import TYPE_CHECKING

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from models.eva.configuration import Column, holds
from models.eva.parameters import DEFAULTS, ColumnGenerationParameters
from models.eva.pricer import PatternPrices, Priced

if TYPE_CHECKING:
    from models.eva.knapsack_table import BundleTable

VALUE_LIMIT = 2**52  # largest value of a packing, because sums of a few table entries must fit 64-bit integers
THIN = 100  # fewest states of a slab, below which a call for each slab is slower than a few passes over all states


@dataclass(frozen=True)
class FoundPackings:
    """Packings above a target, best last, as (value, {item: copies}); `complete`: whether no better one is missing."""

    packings: list[tuple[int, dict[int, int]]]
    complete: bool


class KnapsackTable:
    """Layers `L_j(s)` of a dynamic program: the maximum value in capacity `s` of the first `j` items in their limits.

    `L_j(s) = max_{0 <= k <= u_j} k p_j + L_{j-1}(s - k w_j)`, in integers, so the values at all capacities are exact.

    `size` (m, d) are item sizes on the axes of the table, `capacity` (d,) the largest capacity.
    """

    def __init__(self, size: IntArray, capacity: Sequence[int]) -> None:
        self.size = size
        self.shape = tuple(int(c) + 1 for c in capacity)
        self._strides = np.array([int(np.prod(self.shape[a + 1 :])) for a in range(len(self.shape))], dtype=np.int64)
        self._offset = size @ self._strides
        self._sizes = [tuple(int(w) for w in row) for row in size]
        self._limits = [0] * len(size)
        self._fits = [min((c // w for c, w in zip(capacity, row, strict=True) if w), default=-1) for row in self._sizes]
        self._layers = np.zeros((len(size) + 1, *self.shape), dtype=np.int64)
        self._flat = self._layers.reshape(len(size) + 1, -1)
        self._values = np.zeros(len(size), dtype=np.int64)

    def limit(self, copies: IntArray) -> None:
        """Set the number of copies (m,) of each item."""
        self._limits = [int(u) for u in copies]

    def fill(self, values: IntArray) -> None:
        """Compute all layers for integer item values (m,); no packing may have a value above `VALUE_LIMIT`."""
        self._values = np.maximum(values, 0)
        for j, value in enumerate(self._values):
            layer = self._layers[j + 1, ...]
            layer[...] = self._layers[j]
            if value == 0 or self._limits[j] == 0:
                continue
            if self._fits[j] < 0:
                layer += np.int64(value * self._limits[j])
            elif self._limits[j] >= self._fits[j] and self._fits[j] * THIN < layer.size:
                self._use_freely(layer, self._sizes[j], np.int64(value))
            else:
                self._use_within(layer, self._sizes[j], int(value), min(self._limits[j], self._fits[j]))

    def _use_freely(self, layer: IntArray, size: tuple[int, ...], value: np.int64) -> None:
        """Update a layer for any number of copies: each slab, as thick as the item, follows from the previous slab."""
        axis = max(range(len(size)), key=lambda a: size[a] / self.shape[a])
        step = size[axis]
        target = [slice(w, None) for w in size]
        source = [slice(0, c - w) for c, w in zip(self.shape, size, strict=True)]
        for start in range(step, self.shape[axis], step):
            stop = min(start + step, self.shape[axis])
            target[axis], source[axis] = slice(start, stop), slice(start - step, stop - step)
            view = layer[tuple(target)]
            np.maximum(view, layer[tuple(source)] + value, out=view)

    def _use_within(self, layer: IntArray, size: tuple[int, ...], value: int, limit: int) -> None:
        """Update a layer for at most `limit` copies: bundles of 1, 2, 4, ... and the rest, each used once."""
        bundle = 1
        while limit > 0:
            take = min(bundle, limit)
            target = tuple(slice(take * w, None) for w in size)
            source = tuple(slice(0, c - take * w) for c, w in zip(self.shape, size, strict=True))
            view = layer[target]
            np.maximum(view, layer[source] + np.int64(take * value), out=view)
            limit -= take
            bundle *= 2

    def best(self, capacity: Sequence[int]) -> int:
        """Return the maximum value at a capacity."""
        return int(self._flat[-1, int(self._strides @ np.asarray(capacity, dtype=np.int64))])

    def best_with_each(self, capacity: Sequence[int]) -> IntArray:
        """Return the maximum value (m,) at a capacity with each item at least once; -1 if the item does not fit.

        An item whose copies are all used in the rest of the packing is counted once too often.
        """
        room = np.asarray(capacity, dtype=np.int64) - self.size
        inside = (room >= 0).all(axis=1)
        state = np.where(inside, room @ self._strides, 0)
        return np.asarray(np.where(inside, self._flat[-1, state].astype(np.int64) + self._values, -1))

    def packing(self, capacity: Sequence[int]) -> dict[int, int]:
        """Return a best packing at a capacity, as {item: copies}."""
        state, top = int(self._strides @ np.asarray(capacity, dtype=np.int64)), len(self._sizes)
        packing: dict[int, int] = {}
        while True:
            goal = int(self._flat[top, state])
            if goal == 0:
                return packing
            j = int(np.searchsorted(self._flat[: top + 1, state], goal)) - 1
            packing[j] = self._copies(j, state, goal)
            state -= packing[j] * int(self._offset[j])
            top = j

    def _copies(self, j: int, state: int, goal: int) -> int:
        """Return the smallest number of copies of item j that brings layer j to `goal` at a state."""
        value, step = int(self._values[j]), int(self._offset[j])
        if step == 0:
            return (goal - int(self._flat[j, state])) // value
        first, many = 0, 8
        while True:
            copies = np.arange(first, min(first + many, state // step + 1), dtype=np.int64)
            found = np.flatnonzero(self._flat[j, state - step * copies] + copies * value == goal)
            if len(found):
                return int(copies[found[0]])
            first, many = first + many, 8 * many

    def search(
        self,
        capacity: Sequence[int],
        room: IntArray,
        size: IntArray,
        values: IntArray,
        charge: IntArray,
        limit: IntArray,
        target: int,
        node_limit: int,
    ) -> FoundPackings:
        """Find packings of value above `target` by depth-first branch and bound, with the bounds of the table.

        The axes of the table are some of the R resources. The table was filled with `values - size @ charge`. So the
        tasks that fit in free capacity s have a value of at most `L_j(s) + charge . s`. The search takes items in order
        of decreasing index, so the layers of the table bound every branch. Each packing found raises the target.

        - `capacity`: capacity on the axes of the table.
        - `room` (R,): capacity of all resources.
        - `size` (m, R): sizes of the items.
        - `values` (m,): values of the items.
        - `charge` (R,): Lagrangian penalties of the resources that are not axes, 0 for the others.
        - `limit` (m,): most copies of each item, at most the limits of the table.
        - `target`: the value to exceed.
        - `node_limit`: most nodes of the search.
        """
        packings: list[tuple[int, dict[int, int]]] = []
        state = int(self._strides @ np.asarray(capacity, dtype=np.int64))
        bound = self.best(capacity) + int(charge @ room)
        stack: list[tuple[int, int, IntArray, int, int, dict[int, int]]] = [(bound, len(size), room, state, 0, {})]
        for _ in range(node_limit):
            if not stack:
                return FoundPackings(packings, True)
            bound, top, room, state, value, packing = stack.pop()
            if bound <= target:
                continue
            if value > target:
                packings.append((value, packing))
                target = value
            if top and packing.get(top - 1, 0) >= limit[top - 1]:
                top -= 1
            rest = room - size[:top]
            items = np.flatnonzero((rest >= 0).all(axis=1) & (limit[:top] > 0))
            after = state - self._offset[items]
            reached = value + values[items]
            bounds = reached + self._flat[items + 1, after] + rest[items] @ charge
            for i in np.argsort(bounds, kind="stable")[np.count_nonzero(bounds <= target) :]:
                j = int(items[i])
                stack.append(
                    (
                        int(bounds[i]),
                        j + 1,
                        rest[j],
                        int(after[i]),
                        int(reached[i]),
                        {**packing, j: packing.get(j, 0) + 1},
                    )
                )
        return FoundPackings(packings, not stack)


SPARE = 2**9  # factor by which a table entry may exceed the largest value of a pattern within 64-bit integers


class TypeTable:
    """Pricing for some types of equal demands: a knapsack table over the resources chosen as axes.

    The remaining resources have a Lagrangian penalty per unit, which is kept from call to call. A search over the table
    closes the gap of this relaxation.
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
        exact = self.entries(used) <= parameters.exact_entries
        self.axes = used if exact else self._choose_axes(used, parameters.table_entries)
        self.charged = [r for r in used if r not in self.axes]
        self.charge = np.zeros(len(room), dtype=np.int64)
        self.charged_share = np.zeros(len(room))
        self.most_charged = SPARE * VALUE_LIMIT // (64 * np.maximum(self.room, 1)) + 1  # any penalty gives a bound

    @cached_property
    def table(self) -> KnapsackTable | BundleTable:
        """Return the knapsack table over the axes, allocated at its first use."""
        size, capacity = self.size[:, self.axes] // self.unit[self.axes], self._capacity(self.room)
        if self.entries(self.axes) <= self.parameters.table_entries:
            return KnapsackTable(size, capacity)
        from models.eva.knapsack_table import BundleTable  # compiled at first use, which takes seconds

        return BundleTable(size, capacity)

    def _choose_axes(self, used: list[int], limit: int) -> list[int]:
        """Choose the axes: the largest possible number of resources within the limit, and among these the scarcest."""
        states = self.room // self.unit + 1
        tight = (self.arrays.count[self.classes] @ (self.size / np.maximum(self.room, 1)))[used]
        pressure = dict(zip(used, tight, strict=True))
        for size in range(len(used), 0, -1):
            sets = [s for s in combinations(used, size) if self.entries(s) <= limit]
            if sets:
                return list(max(sets, key=lambda s: (sum(pressure[r] for r in s), -int(np.prod(states[list(s)])))))
        return []

    def entries(self, axes: Sequence[int]) -> int:
        """Return the number of entries of a table with the given axes."""
        entries = len(self.classes) + 1
        for r in axes:
            entries *= int(self.room[r] // self.unit[r]) + 1
        return entries

    def value_limit(self, duals: FloatArray) -> float:
        """Return a bound on the value of a pattern, whose demands as shares of capacity add up to at most R."""
        share = (self.size / np.maximum(self.room, 1)).sum(axis=1)
        free = share == 0
        value = duals[self.classes]
        tight = len(self.room) * float((value[~free] / share[~free]).max(initial=0.0))
        limit = tight + float(value[free] @ self.arrays.count[self.classes][free])
        # A table over some resources alone may hold more: at most all tasks of each class that fit alone.
        return max(limit, float(np.maximum(value, 0.0) @ self.most) / SPARE) if self.charged else limit

    def fill(self, values: IntArray, target: int, counts: IntArray | None = None) -> None:
        """Fill the table for integer class values; the penalties are kept as shares of the largest value.

        - `values` (N,): value of a task of each class.
        - `target`: a bound for the largest capacity that is good enough.
        - `counts` (N,): number of tasks of each class, if not all.
        """
        self.values = values[self.classes]
        self.limit = np.minimum((self.arrays.count if counts is None else counts)[self.classes], self.most)
        self.table.limit(self.limit)
        largest = max(1.0, float(self.values.max(initial=0)))
        self.charge = np.rint(np.minimum(self.charged_share * largest, self.most_charged)).astype(np.int64)
        self.table.fill(self.values - self.size @ self.charge)
        for r in self.charged:
            self._tune(r, target)
        self.charged_share = self.charge / largest

    def bound(self, kind: int) -> int:
        """Return a bound on the value of the type's patterns; it is exact if all resources are axes."""
        return self.table.best(self._capacity(self._room(kind))) + int(self.charge @ self._room(kind))

    def bound_with_each(self, kind: int) -> IntArray:
        """Return bounds (m,) on the value of patterns with a task of each of `classes`, -1 if the task does not fit."""
        bounds = self.table.best_with_each(self._capacity(self._room(kind)))
        fits = self.arrays.fits[kind, self.classes]
        return np.where(fits & (bounds >= 0), bounds + int(self.charge @ self._room(kind)), -1)

    def pattern(self, kind: int, first: int | None = None) -> dict[int, int]:
        """Return a best packing of the table, as {index in `classes`: copies}, with item `first` at least once.

        It may exceed the capacity of resources with a penalty, and `first` may be counted once too often.
        """
        capacity = self._capacity(self._room(kind))
        if first is None:
            return self.table.packing(capacity)
        packing = self.table.packing([c - int(w) for c, w in zip(capacity, self.table.size[first], strict=True)])
        return {**packing, first: min(packing.get(first, 0) + 1, int(self.limit[first]))}

    def search(
        self, kind: int, target: int, node_limit: int, limit: IntArray | None = None, first: int | None = None
    ) -> FoundPackings:
        """Find patterns of value above a target by branch and bound.

        - `kind`: the instance type.
        - `target`: the value to exceed.
        - `node_limit`: most nodes of the search.
        - `limit` (m,): most copies of each item, if fewer than the limits of the table.
        - `first`: an item that each pattern holds at least once.
        """
        room, copies = self._room(kind), self.limit if limit is None else limit
        if not isinstance(self.table, KnapsackTable):
            packed = {j: min(n, int(copies[j])) for j, n in self.pattern(kind, first).items() if copies[j]}
            value = sum(n * int(self.values[j]) for j, n in packed.items())
            return FoundPackings([(value, packed)] if value > target else [], False)
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
        return FoundPackings(packings, found.complete)

    def column(self, kind: int, packing: dict[int, int]) -> Column:
        """Return the column of a packing {index in `classes`: copies}."""
        return Column.of(kind, ((int(self.classes[j]), q) for j, q in packing.items()))

    def _room(self, kind: int) -> IntArray:
        return np.asarray(np.minimum(self.arrays.capacity[kind], self.room))

    def _capacity(self, room: IntArray) -> list[int]:
        return [int(room[r] // self.unit[r]) for r in self.axes]

    def _tune(self, r: int, target: int) -> None:
        """Minimise the bound for the largest capacity over the penalty of resource r, and fill the table there.

        The bound is convex and piecewise linear in the penalty. Each packing is one line, with its free capacity as
        slope. The minimum is at the intersection of a falling and a rising line.
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


class TablePricer:
    """Pricing by knapsack tables (see `Pricer`); types of equal demands share a table if this is smaller.

    A task has the same value on every type.
    """

    pairs = holdings = dominated = False

    def __init__(
        self, arrays: PackingArrays, parameters: ColumnGenerationParameters = DEFAULTS.column_generation
    ) -> None:
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

    @property
    def exact(self) -> bool:
        """Return whether tables alone find the best pattern of each type."""
        return not any(table.charged for table in self.tables)

    def scale(self, value: FloatArray, target: FloatArray) -> int:
        """See `Pricer`."""
        largest = max(1.0, self._value_limit(value[0]), float(np.abs(target).max()))
        return int(2 ** max(0, floor(log2(VALUE_LIMIT / largest))))

    def coarsen(self, values: IntArray) -> tuple[IntArray, int]:
        """Return values (N,) divided by a unit and rounded up, so that the tables hold them, and the unit.

        The unit is a power of two.
        """
        unit = 1 << max(0, ceil(log2(max(1.0, self._value_limit(values) / (2 * VALUE_LIMIT)))))
        return -(-values // unit), unit

    def price(self, prices: PatternPrices, columns_each: int, exact: bool = True) -> Priced:
        """See `Pricer`."""
        value = prices.value[0]
        values, unit = self.coarsen(value)
        best = [0] * len(prices.target)
        columns: list[tuple[float, Column]] = []
        for table in self.tables:
            table.fill(values, max(prices.target[k] // unit for k in table.kinds))
            for k in table.kinds:
                target = prices.target[k]
                most, packings = self._price_type(table, k, target // unit, columns_each, exact)
                best[k] = unit * most
                for packing in packings:
                    column = table.column(k, packing)
                    worth = sum(q * int(value[c]) for c, q in column.pattern)
                    if worth > target:
                        columns.append((worth / max(1, target), column))
        columns.sort(key=lambda c: (-c[0], c[1].type, c[1].pattern))
        return Priced(tuple(best), list(dict.fromkeys(column for _, column in columns)))

    def _value_limit(self, values: FloatArray | IntArray) -> float:
        return max(table.value_limit(values.astype(float)) for table in self.tables)

    def _price_type(
        self, table: TypeTable, k: int, target: int, limit: int, exact: bool
    ) -> tuple[int, list[dict[int, int]]]:
        """Return a bound on the value of a type's patterns, and packings above the target.

        The packings are the best one, and the best one with each of up to `limit` classes. If some resources have
        penalties, a search for patterns above the target improves the bound. If it ends, the bound is the larger of the
        target and the best value found.
        """
        bound = table.bound(k)
        if bound <= target:
            return bound, []
        with_each = table.bound_with_each(k)
        order = np.argsort(-with_each, kind="stable")[: np.count_nonzero(with_each > target)]
        packings = [table.pattern(k)] + [table.pattern(k, int(j)) for j in order[:limit]]
        if table.charged:
            packings = [packing for packing in packings if holds(self.arrays, table.column(k, packing))]
            if exact:
                found = table.search(k, target, self.parameters.pricing_nodes)
                if found.complete:
                    bound = max([target, 0] + [value for value, _ in found.packings])
                packings.extend(packing for _, packing in found.packings)
        return bound, packings
