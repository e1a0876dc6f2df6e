"""The multisets of instance types whose rooms cover all totals, by price.

Depth first over the types, the largest first, with the tables of the least prices as bounds. Of multisets of which one
is as good as another only one is looked at: where two instances fit into a third that costs no more than they do, no
packing needs both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.compiled import compiled
from instances.proofs.certificate import NoCertificate

MOST_FOUND = 4_000
LARGEST = 1 << 60  # prices and amounts


@dataclass(frozen=True)
class Multisets:
    """Numbers of instances of each type `found` (S, K), by price; `least`: the price of the next beyond the limit.

    `complete`: whether these are all that cost no more than the limit; `steps` of the search.
    """

    found: IntArray
    price: IntArray
    least: int
    complete: bool
    steps: int


class Covers:
    """Covers of types of a `price` (K,), of which there are no more than `most` (K,), -1 for any number.

    `apart` (K, K): no two instances of these.
    """

    def __init__(self, price: IntArray, most: IntArray, apart: BoolArray) -> None:
        self.order = np.lexsort((np.arange(len(price)), price))[::-1].astype(np.int64)
        self.price, self.most = price[self.order], most[self.order]
        self.apart = np.ascontiguousarray(apart[np.ix_(self.order, self.order)])
        self.rooms = np.zeros((0, len(price)), dtype=np.int64)
        self.amount = np.zeros(0, dtype=np.int64)
        self.tables = np.zeros((0, 1), dtype=np.int64)

    def add(self, rooms: Sequence[int], amount: int, table: IntArray) -> None:
        """Add a cover: instances have at least `amount` of `rooms` (K,); `table`: the least price of each amount."""
        held = [min(room, amount) for room in rooms]
        self.rooms = np.vstack([self.rooms, np.array(held, dtype=np.int64)[self.order]])
        self.amount = np.append(self.amount, amount)
        longest = max(self.tables.shape[1], len(table))
        tables = np.zeros((len(self.amount), longest), dtype=np.int64)
        tables[:-1, : self.tables.shape[1]] = self.tables
        tables[-1, : len(table)] = table
        self.tables = tables

    def below(self, limit: int, steps: int) -> int:
        """The price of a multiset that costs less than `limit`, the least that was found; `limit` where there is none.

        Raises NoCertificate where so many steps find none and leave some out.
        """
        if limit <= 0 or not (self.amount > 0).any():  # no instances meet all covers
            return min(0, limit)
        if limit > LARGEST or (len(self.price) and int(self.price.max()) > LARGEST):
            raise NoCertificate("prices are too large for a search of multisets")
        found = self.up_to(limit - 1, steps)
        if not found.complete and not len(found.price):
            raise NoCertificate("the search for a multiset below the bound is too long")
        return min(found.price.tolist(), default=limit)

    def up_to(self, limit: int, steps: int) -> Multisets:
        """The multisets that cost no more than `limit`, by at most so many steps of search."""
        found, price, least, complete, steps = _search(
            self.price, self.most, self.apart, self.rooms, self.amount, self.tables, limit, steps, MOST_FOUND
        )
        by_price = np.argsort(price, kind="stable")
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        return Multisets(found[by_price][:, back], price[by_price], int(least), bool(complete), int(steps))


@compiled
def _search(price, most, apart, rooms, amount, tables, limit, steps, many):  # type: ignore[no-untyped-def]
    """One instance more at each step, types in order; a node is bounded by the dearest of the tables."""
    covers, kinds = rooms.shape
    found = np.zeros((many, kinds), dtype=np.int64)
    prices = np.zeros(many, dtype=np.int64)
    n, least, complete = 0, np.int64(2) ** 62, True
    counts = np.zeros(kinds, dtype=np.int64)
    left = amount.copy()
    depth = 0
    longest = 1024
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
                bound = max(bound, after + tables[c, rest])
        if bound > limit:
            least = min(least, bound)
            continue
        if covered:
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
