"""Pricing over listed maximal patterns, and by the exact search that verifies certificates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from instances import Stopwatch
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from instances.proofs import NoCertificate
from models.core.highs import SolveFailed
from models.eva.configuration import Column
from models.eva.parameters import BranchAndPriceParameters
from models.eva.pricer import PatternPrices, Priced

LARGEST = 2**50  # 64-bit integers hold sums of amounts up to this
DEAREST = 2**40  # a higher price of a packing leaves too few bits to the duals
UNKNOWN, IRREPLACEABLE, REPLACEABLE = range(3)  # states of a pattern
RANKING = 24  # bits of a task's value if patterns are ranked without a proof
WORTH_LIMIT = 2.0**52  # integers below this, and their sums, are exact in floating point


class ListedPricer:
    """Pricing over a list of maximal patterns, which do not suffice if pairs are kept apart.

    - `arrays`: the instance.
    - `kind` (P,): type of each pattern, family by family.
    - `held` (N, P): tasks of each class in each pattern.
    - `parameters`: the constants of branch-and-price.
    """

    pairs = False
    holdings = True
    dominated = True

    def __init__(
        self, arrays: PackingArrays, kind: IntArray, held: IntArray, parameters: BranchAndPriceParameters
    ) -> None:
        self.arrays, self.parameters = arrays, parameters
        order = np.lexsort((np.arange(len(arrays.price)), arrays.price))
        limited = np.array([most is not None for most in arrays.most], dtype=bool)
        self._order, self._limited = order, limited[order]
        self._others: dict[int, tuple[IntArray, IntArray, IntArray, int, int]] = {}
        self._lazily = False
        self._name = np.arange(len(kind))
        self._given: dict[Column, int] = {}  # the names of the patterns that were returned as columns
        self._state = np.zeros(len(kind), dtype=np.int8)
        self.kind, self.held = kind, held
        self._blocks()

    def _blocks(self) -> None:
        """Find the begin and the end of the patterns of each type."""
        changes = np.flatnonzero(np.diff(self.kind)) + 1
        self._begin = np.concatenate([[0], changes]).astype(np.int64) if len(self.kind) else np.zeros(0, np.int64)
        self._types = self.kind[self._begin]
        self._end = np.append(self._begin, len(self.kind))[1:]

    def __len__(self) -> int:
        """Return P, the number of patterns."""
        return len(self.kind)

    @property
    def on_it(self) -> IntArray:
        """Return the tasks of each class in each pattern (P, N)."""
        return self.held.T

    def scale(self, value: FloatArray, target: FloatArray) -> float:
        """See `Pricer`. The factor is below 1 if the cost of artificial columns makes the duals too large."""
        worth = np.abs(value) @ self.arrays.count  # the value of all tasks exceeds that of any pattern
        bonus = np.abs(target - self.arrays.price)  # a price above all values may be rounded
        largest = max(1.0, float(worth.max(initial=0.0)), float(bonus.max(initial=0.0)))
        return 2.0 ** (floor(log2(WORTH_LIMIT / largest)) - 1)

    def worth(self, prices: PatternPrices) -> FloatArray:
        """Return the exact value (P,) of each pattern."""
        worth = self._worth(prices.value.astype(float))
        for holding, bonus in prices.bonuses:
            met = self.kind == holding.type
            for c, least in holding.least:
                met &= self.held[c] >= least
            worth[met] += bonus
        return worth

    def price(self, prices: PatternPrices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types; see `Pricer`."""
        worth = self.worth(prices)
        bound = [0] * len(self.arrays.price)
        chosen: list[IntArray] = []
        for k, begin, end in zip(self._types.tolist(), self._begin.tolist(), self._end.tolist(), strict=True):
            target = float(prices.target[k])
            most, places = self._best(worth, begin, end, target, columns_each)
            if most > target:
                most = float(worth[places[0]]) if len(places) else target
                chosen.append(places)
            bound[k] = int(max(0.0, most))
        return Priced(tuple(bound), self.columns(np.concatenate(chosen)) if chosen else [])

    def _best(self, worth: FloatArray, begin: int, end: int, target: float, limit: int) -> tuple[float, IntArray]:
        """Return the largest value from `begin` to `end`, and the indices of patterns above the target, best first."""
        from models.eva.pattern_kernels import best_places  # compiled at first use, which takes seconds

        while True:
            left_out = REPLACEABLE if self._lazily else -1
            most, places = best_places(worth, begin, end, target, limit, self._state, left_out)
            if not self._lazily or not len(places):
                return most, places
            staying = places[self._irreplaceable(places)]
            if len(staying):
                return most, staying

    def columns(self, places: IntArray | Sequence[int]) -> list[Column]:
        """Return the columns at some indices of the list."""
        found = []
        places = np.asarray(places, dtype=np.int64)
        kinds, names, rows = self.kind[places].tolist(), self._name[places].tolist(), self.held[:, places].T.tolist()
        for kind, name, row in zip(kinds, names, rows, strict=True):
            found.append(Column(kind, tuple((c, q) for c, q in enumerate(row) if q)))
            self._given[found[-1]] = name
        return found

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Remove the patterns that are not `kept` (P,)."""
        places = np.flatnonzero(kept)
        self.kind, self.held = self.kind[places], np.take(self.held, places, axis=1)
        self._state, self._name = self._state[places], self._name[places]
        self._blocks()

    def leave_out_replaceable(self) -> None:
        """Omit patterns from now on that a cheaper instance, or two cheaper ones at no higher price, can hold.

        A pattern is tested when its value first exceeds its target.
        """
        self._lazily = True

    def staying(self) -> set[Column]:
        """Return the columns returned so far whose patterns are neither removed nor dominated."""
        columns = list(self._given)
        name = np.array(list(self._given.values()), dtype=np.int64)
        place = np.minimum(np.searchsorted(self._name, name), len(self._name) - 1)  # names increase
        here = np.flatnonzero(self._name[place] == name) if len(self._name) else np.zeros(0, dtype=np.int64)
        staying = set()
        kind = self.kind[place[here]] if len(here) else here
        for k in np.unique(kind).tolist():
            own = here[kind == k]
            stays = self._irreplaceable(place[own])
            staying |= {columns[i] for i in own[stays].tolist()}
        return staying

    def _irreplaceable(self, places: IntArray) -> NDArray[np.bool_]:
        """Return which of the patterns at these indices, all of one type, are not dominated."""
        from models.eva.pattern_kernels import replaceable  # compiled at first use, which takes seconds

        state = self._state[places]
        new = places[state == UNKNOWN]
        if not len(new):
            return np.asarray(state == IRREPLACEABLE)
        family, capacity, price, i, cheaper = self._stand_ins(int(self.kind[new[0]]))
        held = np.ascontiguousarray(self.held[:, new].T, dtype=np.int64)
        replaced = replaceable(held, i, family, self.arrays.demand, capacity, price, cheaper, self.parameters.splits)
        self._state[new] = np.where(replaced, REPLACEABLE, IRREPLACEABLE)
        return np.asarray(self._state[places] == IRREPLACEABLE)

    def _stand_ins(self, own: int) -> tuple[IntArray, IntArray, IntArray, int, int]:
        """Return families, capacities and prices of type `own` and of the types without a limit, in order of price.

        Return as well the index of `own` in this order, and the number of cheaper types. No pattern moves to another
        type that has a limit.
        """
        if own not in self._others:
            arrays, order = self.arrays, self._order[~self._limited | (self._order == own)]
            price, place = arrays.price[order], int((order == own).argmax())
            cheaper = int((price < price[place]).sum())
            self._others[own] = arrays.family[order], arrays.capacity[order], price, place, cheaper
        return self._others[own]

    def _worth(self, value: FloatArray) -> FloatArray:
        from models.eva.pattern_kernels import worth_of  # compiled at first use, which takes seconds

        worth = np.empty(len(self.kind))
        for k, begin, end in zip(self._types.tolist(), self._begin.tolist(), self._end.tolist(), strict=True):
            worth_of(self.held, value[k], begin, end, worth)
        return worth


def list_patterns(arrays: PackingArrays, parameters: BranchAndPriceParameters) -> ListedPricer | None:
    """List the maximal patterns of all types for pricing; return `None` if patterns or amounts exceed the limits."""
    from models.eva.pattern_kernels import maximal_patterns  # compiled at first use, which takes seconds

    if max(int(arrays.capacity.max()), int(arrays.demand.max())) * int(arrays.count.max()) > LARGEST:
        return None
    if arrays.price_alone > DEAREST:
        return None
    kinds: list[int] = []
    held: list[IntArray] = []
    small = int(arrays.count.max()) <= np.iinfo(np.int16).max
    kept_as = np.zeros((arrays.classes, 0), dtype=np.int16 if small else np.int64)
    left = min(parameters.listed_patterns, parameters.listed_numbers // max(1, arrays.classes))
    fitting = np.flatnonzero(arrays.fits.any(axis=1))
    for k in fitting[np.lexsort((fitting, arrays.family[fitting]))].tolist():
        demand, room = arrays.demand_of_type[k], arrays.capacity[k]
        share = (demand / np.maximum(room, 1)).max(axis=1)
        order = np.lexsort((np.arange(len(share)), -share))
        most = np.where(arrays.fits[k], arrays.count, 0)
        done, found = maximal_patterns(room, demand, most, order, left, parameters.listing_steps, kept_as)
        if not done:
            return None
        left -= found.shape[1]
        kinds.append(k)
        held.append(found)
    kind = np.repeat(np.array(kinds, dtype=np.int64), [found.shape[1] for found in held])
    return ListedPricer(arrays, kind, np.concatenate(held, axis=1), parameters)


BITS = 40  # approximate limit of the exact search on the bits of a task's value
MOST_WORTH = 2.0**60  # limit on the value of all tasks, and on a target
FEW_STEPS, MANY_STEPS = 100_000, 20_000_000  # step limits: to find an improving pattern, and to prove that none exists


class SearchPricer:
    """Pricing of each type by a search for its best pattern; see `instances.proofs.eva.best_pattern`.

    - `arrays`: the instance.
    - `clock`: no long search begins after its limit.
    """

    pairs = holdings = dominated = False

    def __init__(self, arrays: PackingArrays, clock: Stopwatch) -> None:
        from instances.proofs.eva.best_pattern import Room  # its compiler takes a while to load

        self.arrays, self.clock = arrays, clock
        demand, family, count = arrays.demand.tolist(), arrays.family.tolist(), arrays.count.tolist()
        self._room = {
            k: Room(demand[family[k]], room, count)
            for k, (room, fits) in enumerate(
                zip(arrays.capacity.tolist(), np.any(arrays.fits, axis=1).tolist(), strict=True)
            )
            if fits
        }

    def scale(self, value: FloatArray, target: FloatArray) -> int:
        """See `Pricer`."""
        each = max(1.0, float(value.max()))
        every = max(1.0, float((value @ self.arrays.count).max()), float(abs(target).max()))
        return int(2 ** max(0, min(BITS - floor(log2(each)), floor(log2(MOST_WORTH / every)))))

    def price(self, prices: PatternPrices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types by short searches, then by long ones if no column was found; at most one column of each."""
        bound, columns = [0] * len(prices.target), []
        left = list(self._room)
        for steps in (FEW_STEPS, MANY_STEPS) if exact else (FEW_STEPS,):
            open_ = []
            for k in left:
                bound[k], column, complete = self._best(prices, k, steps)
                if column is not None:
                    columns.append(column)
                if not complete:
                    open_.append(k)
            left = open_
            if columns or not left or self.clock.has_expired:
                break
        return Priced(tuple(bound), columns)

    def _best(self, prices: PatternPrices, k: int, steps: int) -> tuple[int, Column | None, bool]:
        """Return a bound on the value of a type's patterns, a column above its target, and whether the search ended."""
        from instances.proofs.eva.best_pattern import find_best_pattern

        value, target = prices.value[k].tolist(), max(0, prices.target[k])
        for unit in (1, 1 << max(0, max(value).bit_length() - BITS - 1)):
            with suppress(NoCertificate):  # if the numbers are too large, a coarse unit follows
                found = find_best_pattern(self._room[k], [-(-v // unit) for v in value], target // unit, steps)
                break
        else:
            raise SolveFailed("duals are too large for an exact search")
        pays = sum(v * n for v, n in zip(value, found.pattern, strict=False)) > target
        column = Column.of(k, enumerate(found.pattern)) if pays else None
        return (found.worth * unit if found.complete else self._bound_by_resources(k, value)), column, found.complete

    def finishing(self, prices: PatternPrices, left: list[int]) -> list[Column]:
        """Return columns that hold the tasks `left` (N,), and similar ones: a linear program may use only larger ones.

        The tasks repeatedly go to the type with the largest value in proportion to its target.
        """
        from instances.proofs.eva.best_pattern import Room, find_best_pattern

        found: list[Column] = []
        while any(left) and not self.clock.has_expired:
            best: tuple[float, Column] | None = None
            for k, room in self._room.items():
                shift = max(0, int(max(prices.value[k])).bit_length() - RANKING)
                value = [max(1, v >> shift) for v in prices.value[k].tolist()]
                try:
                    filled = find_best_pattern(Room(room.demand, room.capacity, left), value, 0, FEW_STEPS)
                except NoCertificate:  # the amounts are too long for the search even at such small values
                    continue
                if filled.pattern:
                    column = Column.of(k, enumerate(filled.pattern))
                    share = (filled.worth << shift) / max(1, prices.target[k])
                    best = max(best or (share, column), (share, column))
                    found.append(column)
            if best is None:
                break
            for c, n in best[1].pattern:
                left[c] -= n
        return found

    def _bound_by_resources(self, k: int, value: list[int]) -> int:
        """Return a bound on the value of a pattern of type k, from each resource alone."""
        room = self._room[k]
        bounds = [sum(v * n for v, n in zip(value, room.count, strict=True))]
        for r, capacity in enumerate(room.capacity):
            needs = [demand[r] for demand in room.demand]
            free = sum(v * n for v, n, d in zip(value, room.count, needs, strict=True) if not d)
            bounds.append(
                free + max((-(-v * capacity // d) for v, d in zip(value, needs, strict=True) if d), default=0)
            )
        return min(bounds)
