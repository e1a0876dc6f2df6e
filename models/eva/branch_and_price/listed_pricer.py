"""Pricing over listed maximal patterns: one product of a matrix and a vector for each family."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.branch_and_price.parameters import BranchAndPriceParameters
from models.eva.branch_and_price.pricer import Priced, Prices
from models.eva.configuration import Column
from models.highs import SolveFailed

LARGEST = 2**50  # Amounts are added up in 64-bit integers: larger ones are not listed.
DEAREST = 2**40  # A dearer packing leaves too few digits to the duals.
UNKNOWN, IRREPLACEABLE, REPLACEABLE = range(3)  # what was found of a pattern
WORTH_LIMIT = 2.0**52  # Whole numbers below it are exact in floating point, and so are their sums.


class ListedPricer:
    """Pricing over a list of patterns: `kind` (P,), types in falling order of family, and `on_it` (P, N).

    The list is of maximal patterns, which do not suffice where pairs are kept apart or subsets are charged. Tasks on
    patterns are kept as floating-point numbers: products and sums of whole numbers below 2^52 are exact.
    """

    pairs = False
    subset_rows = False
    holdings = True
    dominated = True

    def __init__(
        self, arrays: PackingArrays, kind: IntArray, on_it: FloatArray, parameters: BranchAndPriceParameters
    ) -> None:
        self.arrays, self.parameters = arrays, parameters
        self._order = np.lexsort((np.arange(len(arrays.price)), arrays.price))
        self._lazily = False
        self._name = np.arange(len(kind))
        self._given: dict[Column, int] = {}  # the names of the patterns that were given as columns
        self._state = np.zeros(len(kind), dtype=np.int8)
        order = np.lexsort((np.arange(len(kind)), kind, arrays.family[kind]))
        self.kind, self.on_it = kind[order], on_it[order]
        self._blocks()

    def _blocks(self) -> None:
        """Where the patterns of each type and of each family begin and end."""
        changes = np.flatnonzero(np.diff(self.kind)) + 1
        self._begin = np.concatenate([[0], changes]).astype(np.int64) if len(self.kind) else np.zeros(0, np.int64)
        self._types = self.kind[self._begin]
        self._end = np.append(self._begin[1:], len(self.kind))
        family = self.arrays.family[self.kind]
        self._family = [
            (f, int(np.searchsorted(family, f)), int(np.searchsorted(family, f, side="right")))
            for f in range(len(self.arrays.demand))
        ]

    def __len__(self) -> int:
        """P, the number of patterns."""
        return len(self.kind)

    def scale(self, value: FloatArray, target: FloatArray) -> int:
        """The finest unit, a power of two: duals `value` (F, N) and `target` (K,) times it can be priced."""
        worth = np.abs(value) @ self.arrays.count  # of all tasks, more than that of any pattern
        largest = max(1.0, float(worth.max(initial=0.0)), float(np.abs(target).max(initial=0.0)))
        if largest >= WORTH_LIMIT / 2:
            raise SolveFailed("the duals are too large for exact arithmetic")
        return 2 ** max(0, floor(log2(WORTH_LIMIT / largest)) - 1)

    def worth(self, prices: Prices) -> FloatArray:
        """The worth (P,) of each pattern, exact."""
        worth = self._worth(prices.value.astype(float))
        for holding, bonus in prices.bonuses:
            met = self.kind == holding.type
            for c, least in holding.least:
                met &= self.on_it[:, c] >= least
            worth[met] += bonus
        return worth

    def price(self, prices: Prices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types; see `Pricer`."""
        worth = self.worth(prices)
        bound = [0] * len(self.arrays.price)
        columns: list[Column] = []
        if len(worth):
            best = np.maximum.reduceat(worth, self._begin)
            for k, most, begin, end in zip(self._types, best, self._begin, self._end, strict=True):
                if most > prices.target[k]:
                    places = self._best(worth, int(begin), int(end), prices.target[k], columns_each)
                    most = worth[places[0]] if len(places) else min(float(most), prices.target[k])
                    columns += self.columns(places)
                bound[k] = int(max(0.0, most))
        return Priced(tuple(bound), columns)

    def _best(self, worth: FloatArray, begin: int, end: int, target: int, limit: int) -> IntArray:
        """The places, from `begin` to `end`, of patterns worth more than the target, the best first."""
        above = begin + np.flatnonzero(worth[begin:end] > target)
        if not self._lazily:
            if len(above) > limit:
                above = above[np.argpartition(-worth[above], limit)[:limit]]
            return above[np.argsort(-worth[above], kind="stable")]
        above = above[self._state[above] != REPLACEABLE]
        above = above[np.argsort(-worth[above], kind="stable")]
        for first in range(0, len(above), limit):
            places = above[first : first + limit]
            staying = places[self._irreplaceable(places)]
            if len(staying):
                return staying
        return above[:0]

    def every(self, prices: Prices, least: tuple[int, ...], limit: int) -> list[Column] | None:
        """All listed patterns of each type k worth at least `least[k]`."""
        enough = np.flatnonzero(self.worth(prices) >= np.array(least, dtype=float)[self.kind])
        return None if len(enough) > limit else self.columns(enough)

    def columns(self, places: IntArray | Sequence[int]) -> list[Column]:
        """The columns at some places of the list."""
        found = []
        for p in np.asarray(places):
            row = self.on_it[p]
            classes = np.flatnonzero(row)
            pattern = tuple(zip(classes.tolist(), row[classes].astype(int).tolist(), strict=True))
            found.append(Column(int(self.kind[p]), pattern))
            self._given[found[-1]] = int(self._name[p])
        return found

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Leave out the patterns that are not `kept` (P,)."""
        self.kind, self.on_it = self.kind[kept], self.on_it[kept]
        self._state, self._name = self._state[kept], self._name[kept]
        self._blocks()

    def leave_out_replaceable(self) -> None:
        """From now on leave out patterns that a cheaper instance, or two cheaper ones at no higher price, can hold.

        A pattern is looked at when it is first worth more than its target.
        """
        self._lazily = True

    def staying(self) -> set[Column]:
        """The columns given so far whose patterns are neither left out nor replaceable."""
        columns = list(self._given)
        name = np.array([self._given[c] for c in columns], dtype=np.int64)
        order = np.argsort(self._name)
        place = np.searchsorted(self._name[order], name)
        here = place < len(order)
        here[here] = self._name[order[place[here]]] == name[here]
        staying = set()
        for k in range(len(self.arrays.price)):
            own = [i for i in np.flatnonzero(here) if columns[i].type == k]
            places = order[place[own]] if own else np.zeros(0, dtype=np.int64)
            if own:
                staying |= {columns[i] for i, stays in zip(own, self._irreplaceable(places), strict=True) if stays}
        return staying

    def _irreplaceable(self, places: IntArray) -> NDArray[np.bool_]:
        """Which of the patterns at these places, all of one type, nothing can stand in for."""
        from models.eva.pattern_kernels import replaceable  # compiled at first use, which takes seconds

        new = places[self._state[places] == UNKNOWN]
        if len(new):
            own = self.kind[new[0]]  # no pattern moves to another type that has a limit
            free = [k for k in self._order.tolist() if k == own or self.arrays.most[k] is None]
            order = np.array(free, dtype=np.int64)
            i = int(np.flatnonzero(order == own)[0])
            price = self.arrays.price[order]
            replaced = replaceable(
                self.on_it[new].astype(np.int64),
                i,
                self.arrays.family[order],
                self.arrays.demand,
                self.arrays.capacity[order],
                price,
                int((price < price[i]).sum()),
                self.parameters.splits,
            )
            self._state[new] = np.where(replaced, REPLACEABLE, IRREPLACEABLE)
        return self._state[places] == IRREPLACEABLE

    def _worth(self, value: FloatArray) -> FloatArray:
        worth = np.empty(len(self.kind))
        for f, begin, end in self._family:
            worth[begin:end] = self.on_it[begin:end] @ value[f]
        return worth


def list_patterns(arrays: PackingArrays, parameters: BranchAndPriceParameters) -> ListedPricer | None:
    """Pricing over the maximal patterns of all types, `None` where they are too many to list."""
    from models.eva.pattern_kernels import maximal_patterns  # compiled at first use, which takes seconds

    if max(int(arrays.capacity.max()), int(arrays.demand.max())) * int(arrays.count.max()) > LARGEST:
        return None
    if arrays.price_alone > DEAREST:
        return None
    kinds: list[IntArray] = []
    rows: list[FloatArray] = []
    left = parameters.listed_patterns
    for k in np.flatnonzero(arrays.fits.any(axis=1)).tolist():
        demand, room = arrays.demand_of_type[k], arrays.capacity[k]
        share = (demand / np.maximum(room, 1)).max(axis=1)
        order = np.lexsort((np.arange(len(share)), -share))
        most = np.where(arrays.fits[k], arrays.count, 0)[order]
        done, found = maximal_patterns(room, np.ascontiguousarray(demand[order]), most, left, parameters.listing_steps)
        if not done:
            return None
        left -= len(found)
        row = np.empty(found.shape)
        row[:, order] = found
        kinds.append(np.full(len(found), k, dtype=np.int64))
        rows.append(row)
    return ListedPricer(arrays, np.concatenate(kinds), np.concatenate(rows), parameters)
