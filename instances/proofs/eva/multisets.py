"""Enumerate the instance mixes that satisfy all surrogate cover inequalities, by cost.

The search is depth first over the types, the most expensive first. The tables of minimum costs give its bounds.
Dominated mixes are skipped: if a third instance holds the content of two and costs no more, no packing needs both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.compiled import compile_lazily
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva.totals import Cover, compute_min_prices

MOST_FOUND = 4_000
MOST_ENTRIES = 10_000_000  # of all tables: 80 MB, and as much again while one is added
LARGEST = 1 << 60  # prices
NONE_BEYOND = 1 << 62  # the cost of the next mix if there is none
LARGEST_TOTAL = 1 << 50  # smaller amounts are compared without a divisor
DEEPEST = 1 << 10  # instances of a mix; the sum of this many of the largest rooms still fits in 64 bits


@dataclass(frozen=True)
class Multisets:
    """The instance mixes `found` (S, K), with their `price` (S,) in increasing order.

    - `least`: a lower bound on the cost of the mixes beyond the limit; `None` if the search skipped none for its cost.
    - `complete`: whether these are all mixes that cost at most the limit.
    - `steps`: the number of search steps.
    """

    found: IntArray
    price: IntArray
    least: int | None
    complete: bool
    steps: int


class Covers:
    """Surrogate cover inequalities over K types, with a search for the mixes that satisfy all of them.

    - `price` (K,): the cost of an instance of each type.
    - `most` (K,): the limit on the instances of each type, -1 for no limit.
    - `apart` (K, K): pairs of types that may not both occur in a mix.
    """

    def __init__(self, price: IntArray, most: IntArray, apart: BoolArray) -> None:
        self.order = np.lexsort((np.arange(len(price)), price))[::-1].astype(np.int64)
        self.price, self.most = price[self.order], most[self.order]
        self.apart = np.ascontiguousarray(apart[np.ix_(self.order, self.order)])
        self.rooms = np.zeros((0, len(price)), dtype=np.int64)
        self.amount, self.divisor, self.begin = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self.tables = np.zeros(0, dtype=np.int64)  # one after another

    def add(self, cover: Cover, divisor: int, most: Sequence[int | None]) -> IntArray:
        """Add a cover and return its table of minimum costs in multiples of `divisor`, with at most `most` instances.

        A mix must satisfy the cover itself, or the divided cover if its amount is at least `LARGEST_TOTAL`. Raises
        NoCertificate if prices are too large, or if all tables together are too long.
        """
        if cover.amount >= LARGEST_TOTAL:
            cover, divisor = cover.parts(divisor), 1
        if len(self.tables) + cover.amount // divisor > MOST_ENTRIES:
            raise NoCertificate(f"the tables of the covers have more than {MOST_ENTRIES:,} entries, which is 80 MB")
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        table = compute_min_prices(cover.parts(divisor), self.price[back].tolist(), most)
        held = [min(room, cover.amount) for room in cover.rooms]
        self.rooms = np.vstack([self.rooms, np.array(held, dtype=np.int64)[self.order]])
        self.amount = np.append(self.amount, cover.amount)
        self.divisor = np.append(self.divisor, min(divisor, max(1, cover.amount)))
        self.begin = np.append(self.begin, len(self.tables))
        self.tables = np.concatenate([self.tables, table])
        return table

    def below(self, limit: int, steps: int) -> int:
        """Return the lowest cost of the mixes found that cost less than `limit`, or `limit` if there are none.

        Raises NoCertificate if the search finds none and does not end within `steps`.
        """
        if limit <= 0 or not (self.amount > 0).any():  # no instances meet all covers
            return min(0, limit)
        if limit > LARGEST or (len(self.price) and int(self.price.max()) > LARGEST):
            raise NoCertificate("prices are too large for a search of multisets")
        found = self.up_to(limit - 1, steps)
        if not found.complete and not len(found.price):
            raise NoCertificate("the search for a multiset below the bound is too long")
        return min(found.price.tolist(), default=limit)

    def up_to(self, limit: int, steps: int, above: int = 0, many: int = MOST_FOUND) -> Multisets:
        """Return at most `many` mixes that cost between `above` and `limit`, found in at most `steps` search steps."""
        many = max(1, min(many, MOST_ENTRIES // max(1, len(self.price))))
        found, price, least, complete, steps = _search(
            self.price,
            self.most,
            self.apart,
            self.rooms,
            self.amount,
            self.divisor,
            self.begin,
            self.tables,
            limit,
            above,
            steps,
            many,
        )
        by_price = np.argsort(price, kind="stable")
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        beyond = None if least == NONE_BEYOND else int(least)
        return Multisets(found[by_price][:, back], price[by_price], beyond, bool(complete), int(steps))


@compile_lazily
def _search(price, most, apart, rooms, amount, divisor, begin, tables, limit, above, steps, many):  # type: ignore[no-untyped-def]
    """Add one instance per step, types in order; the largest of the tables' bounds prunes a node."""
    covers, kinds = rooms.shape
    found = np.zeros((many, kinds), dtype=np.int64)
    prices = np.zeros(many, dtype=np.int64)
    n, least, complete = 0, np.int64(NONE_BEYOND), True
    counts = np.zeros(kinds, dtype=np.int64)
    left = amount.copy()
    depth = 0
    longest = DEEPEST
    path = np.zeros(longest, dtype=np.int64)  # the type of each instance
    next_kind = np.zeros(longest + 1, dtype=np.int64)  # the type to be tried next at each depth
    spent = np.int64(0)
    done = 0
    while True:
        k = next_kind[depth]
        if k >= kinds:
            if depth == 0:
                break
            depth -= 1
            k = path[depth]
            counts[k] -= 1
            spent -= price[k]
            for c in range(covers):
                left[c] += rooms[c, k]
            next_kind[depth] = k + 1
            continue
        next_kind[depth] = k + 1
        if most[k] >= 0 and counts[k] >= most[k]:
            continue
        allowed = True
        for j in range(kinds):
            if counts[j] > 0 and apart[j, k]:
                allowed = False
                break
        if not allowed:
            continue
        done += 1
        if done > steps:
            complete = False
            break
        after, covered = spent + price[k], True
        bound = after
        for c in range(covers):
            rest = left[c] - rooms[c, k]
            if rest > 0:
                covered = False
                bound = max(bound, after + tables[begin[c] + (rest + divisor[c] - 1) // divisor[c]])
        if bound > limit:
            least = min(least, bound)
            continue
        if covered and after >= above:
            if n == many:
                complete = False
                break
            counts[k] += 1
            found[n] = counts
            counts[k] -= 1
            prices[n] = after
            n += 1
        if depth + 1 >= longest:
            complete = False
            break
        counts[k] += 1
        spent = after
        for c in range(covers):
            left[c] -= rooms[c, k]
        path[depth] = k
        depth += 1
        next_kind[depth] = k
    return found[:n], prices[:n], least, complete, done
