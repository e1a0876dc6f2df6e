"""Pricing by branch and bound over items: its work does not depend on the precision of the demands."""

from __future__ import annotations

from math import floor, log2

import numpy as np

from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.configuration import Column
from models.eva.item_kernels import Items, complete, multipliers, search, search_each
from models.eva.knapsack_pricer import VALUE_LIMIT
from models.eva.parameters import DEFAULTS, ItemParameters
from models.eva.pricer import PatternPrices, Priced

WEIGHT_LIMIT = 2**56  # limit on the weights of relaxations and on the sizes that they combine


class ItemPricer:
    """Exact pricing for classes of one task each, by branch and bound (see `models.eva.pricer`).

    The bounds of the search come from completion tables over single resources and over a weighted sum of all. Sizes are
    rounded down to a few thousand levels, so the bounds are valid.
    """

    pairs = True
    holdings = False
    dominated = False

    def __init__(self, arrays: PackingArrays, parameters: ItemParameters = DEFAULTS.item_packing) -> None:
        self.arrays, self.parameters = arrays, parameters
        self.useful: list[bool] = np.any(arrays.fits, axis=1).tolist()
        self._tables = np.empty(0, dtype=np.int64)

    def scale(self, value: FloatArray, target: FloatArray) -> int:
        """See `Pricer`."""
        largest = max(1.0, float(np.maximum(value, 0.0).sum(axis=1).max()), float(np.abs(target).max()))
        return int(2 ** max(0, floor(log2(VALUE_LIMIT / largest))))

    def price(self, prices: PatternPrices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types, with about `columns_each` columns of each at most; see `PatternPrices` and `Priced`."""
        bound = [0] * len(prices.target)
        columns: list[tuple[float, Column]] = []
        for k, target in enumerate(prices.target):
            if not self.useful[k]:
                continue
            bound[k], found = self._price_type(prices, k, target, columns_each, exact)
            columns += [(value / max(1, target), column) for value, column in found]
        columns.sort(key=lambda c: (-c[0], c[1].type, c[1].pattern))
        return Priced(tuple(bound), list(dict.fromkeys(column for _, column in columns)))

    def list_all(self, prices: PatternPrices, least: tuple[int, ...], limit: int) -> list[Column] | None:
        """Return all patterns of each type k with a value of at least `least[k]`; `None` if they exceed a limit.

        `limit` is the largest number of patterns; the search has its own limit on nodes.
        """
        columns: list[Column] = []
        for k, worth in enumerate(least):
            if not self.useful[k]:
                continue
            items, members = self._items(prices, k, every=True)
            room = max(1, limit - len(columns))
            packed = np.empty((room, len(members)), dtype=np.int64)
            length, values = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            found, complete_, _ = search(
                items, -1, worth - 1, False, self.parameters.proof_nodes, packed, length, values
            )
            if not complete_:
                return None
            columns += [self._column(k, members, packed[i, : length[i]]) for i in range(found)]
        return columns

    def _price_type(
        self, prices: PatternPrices, k: int, target: int, columns_each: int, exact: bool
    ) -> tuple[int, list[tuple[int, Column]]]:
        items, members = self._items(prices, k)
        m = len(members)
        if m == 0:
            return 0, []
        bound = min(int(items.tables[q, 0, items.weight_room[q] >> items.shift[q]]) for q in range(len(items.weight)))
        if bound <= target:
            return max(bound, 0), []
        packed = np.empty((m, m), dtype=np.int64)
        length, values = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
        search_each(items, target, self.parameters.quick_nodes, packed, length, values)
        order = [i for i in np.argsort(-values, kind="stable")[:columns_each] if length[i] > 0]
        found = [(int(values[i]), self._column(k, members, packed[i, : length[i]])) for i in order]
        if not exact:
            return bound, found
        best = max([target] + [value for value, _ in found])
        some = np.empty((64, m), dtype=np.int64)
        lengths, worth = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
        more, complete_, _ = search(items, -1, best, True, self.parameters.proof_nodes, some, lengths, worth)
        found += [(int(worth[i]), self._column(k, members, some[i, : lengths[i]])) for i in range(more)]
        if complete_:
            bound = max([best, 0] + [value for value, _ in found])
        return bound, found

    def _items(self, prices: PatternPrices, k: int, every: bool = False) -> tuple[Items, list[tuple[int, ...]]]:
        """Return the items of a search on type k, and the classes of each: classes kept together are one item."""
        arrays, family = self.arrays, int(self.arrays.family[k])
        value, demand = prices.value[k], arrays.demand[family]
        groups = _together(arrays.classes, prices.together)
        of_class = {c: g for g, group in enumerate(groups) for c in group}
        worth = np.array([int(value[list(g)].sum()) for g in groups], dtype=np.int64)
        size = np.array([demand[list(g)].sum(axis=0) for g in groups], dtype=np.int64)
        apart = {(min(of_class[a], of_class[b]), max(of_class[a], of_class[b])) for a, b in prices.apart}
        room = arrays.capacity[k]
        usable = (size <= room).all(axis=1) & ((worth > 0) | every)
        usable[[a for a, b in apart if a == b]] = False
        kept = np.flatnonzero(usable)
        share = size[kept] / np.maximum(room, 1)
        weights = _weights(worth[kept].astype(float), share, room, self.parameters.weight_rounds)
        heavy = (size[kept].astype(object) @ weights[-1].astype(object)).astype(float) if len(kept) else np.zeros(0)
        kept = kept[np.lexsort((kept, -worth[kept] / np.maximum(heavy, 1e-9)))]
        return self._make_items(kept, size[kept], worth[kept], room, weights, apart), [groups[g] for g in kept]

    def _make_items(
        self,
        kept: IntArray,
        size: IntArray,
        value: IntArray,
        room: IntArray,
        weights: IntArray,
        apart: set[tuple[int, int]],
    ) -> Items:
        m = len(kept)
        weight = weights @ size.T if m else np.zeros((len(weights), 0), dtype=np.int64)
        weight_room = weights @ room
        shift = np.array([max(0, int(w).bit_length() - self.parameters.levels.bit_length() + 1) for w in weight_room])
        levels = int((weight_room >> shift).max()) + 1
        if self._tables.size < len(weights) * (m + 1) * levels:
            self._tables = np.empty(len(weights) * (m + 1) * levels, dtype=np.int64)
        tables = self._tables[: len(weights) * (m + 1) * levels].reshape(len(weights), m + 1, levels)
        for q in range(len(weights)):
            complete(weight[q] >> shift[q], value, int(weight_room[q] >> shift[q]), tables[q])
        place = {int(g): j for j, g in enumerate(kept)}
        conflicts: list[list[int]] = [[] for _ in range(m)]
        for a, b in sorted(apart):
            if a != b and a in place and b in place:
                conflicts[place[a]].append(place[b])
                conflicts[place[b]].append(place[a])
        return Items(
            np.ascontiguousarray(size),
            np.ascontiguousarray(value),
            np.ascontiguousarray(room),
            np.ascontiguousarray(weight),
            np.ascontiguousarray(weight_room),
            shift.astype(np.int64),
            tables,
            _starts(conflicts),
            np.array([b for row in conflicts for b in row], dtype=np.int64),
        )

    def _column(self, kind: int, members: list[tuple[int, ...]], chosen: IntArray) -> Column:
        return Column.of(kind, ((c, 1) for j in chosen for c in members[j]))


def _weights(value: FloatArray, share: FloatArray, room: IntArray, rounds: int) -> IntArray:
    """Return integer multipliers (Q, R) of the relaxations: each resource alone, then a mix if there are several."""
    resources = len(room)
    alone = np.eye(resources, dtype=np.int64)
    if resources == 1 or not len(value):
        return alone
    mix = multipliers(value, share, rounds)
    whole = [int(x * (WEIGHT_LIMIT // max(1, int(q)))) for x, q in zip(mix.tolist(), room.tolist(), strict=True)]
    return np.vstack([alone, np.array(whole, dtype=np.int64)])


def _together(classes: int, pairs: tuple[tuple[int, int], ...]) -> list[tuple[int, ...]]:
    """Return the groups of classes that are kept together, each sorted, in order of their smallest class."""
    root = list(range(classes))
    for a, b in pairs:
        while root[a] != a:
            a = root[a]
        while root[b] != b:
            b = root[b]
        root[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for c in range(classes):
        top = c
        while root[top] != top:
            top = root[top]
        groups.setdefault(top, []).append(c)
    return [tuple(group) for group in groups.values()]


def _starts(rows: list[list[int]]) -> IntArray:
    return np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
