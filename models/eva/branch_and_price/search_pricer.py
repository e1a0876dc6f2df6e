"""Pricing by the exact search that verifies certificates, for patterns of any number: what it prices can be proved."""

from __future__ import annotations

from contextlib import suppress
from math import floor, log2

from instances import Stopwatch
from instances.certificates import NoCertificate
from instances.eva.arrays import FloatArray, PackingArrays
from models.eva.branch_and_price.pricer import Priced, Prices
from models.eva.configuration import Column
from models.highs import SolveFailed

BITS = 40  # what a task is worth has about so many bits at most, for the exact search to hold
LARGEST = 2.0**60  # what all tasks are worth, and a target
FEW_STEPS, MANY_STEPS = 100_000, 20_000_000  # of a search for a pattern: for one that pays, and to see that none does


class SearchPricer:
    """Pricing of each type by a search for its best pattern; see `instances.eva.best_pattern`.

    - `arrays`: the instance.
    - `clock`: where it is over, no long search begins.
    """

    pairs = holdings = dominated = False

    def __init__(self, arrays: PackingArrays, clock: Stopwatch) -> None:
        from instances.eva.best_pattern import Room  # its compiler takes a while to load

        self.arrays, self.clock = arrays, clock
        demand, family, count = arrays.demand.tolist(), arrays.family.tolist(), arrays.count.tolist()
        self._room = {
            k: Room(demand[family[k]], room, count)
            for k, (room, fits) in enumerate(zip(arrays.capacity.tolist(), arrays.fits.any(axis=1), strict=True))
            if fits
        }

    def scale(self, value: FloatArray, target: FloatArray) -> int:
        """The finest unit, a power of two: duals `value` (K, N) and `target` (K,) times it can be priced."""
        each = max(1.0, float(value.max()))
        every = max(1.0, float((value @ self.arrays.count).max()), float(abs(target).max()))
        return int(2 ** max(0, min(BITS - floor(log2(each)), floor(log2(LARGEST / every)))))

    def price(self, prices: Prices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types, one column of each at most: by short searches, by long ones where these find nothing."""
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
            if columns or not left or self.clock.expired:
                break
        return Priced(tuple(bound), columns)

    def _best(self, prices: Prices, k: int, steps: int) -> tuple[int, Column | None, bool]:
        """What no pattern of a type is worth more than, one worth more than its target, and whether all were seen."""
        from instances.eva.best_pattern import most_worth

        value, target = prices.value[k].tolist(), max(0, prices.target[k])
        for unit in (1, 1 << max(0, max(value).bit_length() - BITS - 1)):
            with suppress(NoCertificate):  # for numbers that are too large; then a unit is coarse
                found = most_worth(self._room[k], [-(-v // unit) for v in value], target // unit, steps)
                break
        else:
            raise SolveFailed("duals are too large for an exact search")
        pays = sum(v * n for v, n in zip(value, found.pattern, strict=False)) > target
        column = Column.of(k, enumerate(found.pattern)) if pays else None
        return (found.worth * unit if found.complete else self._at_most(k, value)), column, found.complete

    def finishing(self, prices: Prices, left: list[int]) -> list[Column]:
        """Columns that hold the tasks `left` (N,), and others like them: a linear program may use only larger ones.

        The tasks are put on the type for whose target they are worth most, again and again.
        """
        from instances.eva.best_pattern import Room, most_worth

        found: list[Column] = []
        while any(left) and not self.clock.expired:
            best: tuple[float, Column] | None = None
            for k, room in self._room.items():
                value = [max(1, v) for v in prices.value[k].tolist()]
                filled = most_worth(Room(room.demand, room.capacity, left), value, 0, FEW_STEPS)
                if filled.pattern:
                    column = Column.of(k, enumerate(filled.pattern))
                    share = filled.worth / max(1, prices.target[k])
                    best = max(best or (share, column), (share, column))
                    found.append(column)
            if best is None:
                break
            for c, n in best[1].pattern:
                left[c] -= n
        return found

    def _at_most(self, k: int, value: list[int]) -> int:
        """A bound on the worth of a pattern by each resource alone."""
        room = self._room[k]
        bounds = [sum(v * n for v, n in zip(value, room.count, strict=True))]
        for r, capacity in enumerate(room.capacity):
            needs = [demand[r] for demand in room.demand]
            free = sum(v * n for v, n, d in zip(value, room.count, needs, strict=True) if not d)
            bounds.append(
                free + max((-(-v * capacity // d) for v, d in zip(value, needs, strict=True) if d), default=0)
            )
        return min(bounds)
