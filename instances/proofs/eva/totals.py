"""The least price of instances whose rooms cover the totals of all tasks, in whole numbers.

Let w_kr >= 0 be weights of the resources of each type. What a type can hold of a resource is no more than its capacity
rounded down to a multiple of the greatest common divisor of the demands of the tasks that fit there: room_kr. A task
takes at least v_t, the least sum of w_kr d_tr over the types on which it fits. So with x_k instances of each type every
packing has

    sum of x_k W_k >= D,   W_k = sum of w_kr room_kr,   D = sum of n_t v_t,

and the same holds of both sides in parts of `divisor`, rounded up. The least price of such whole numbers x is a table
over 0 to D in these parts.

For some types W_k may be what their best pattern is worth, where a task of entry t counts v_t, which for them may be
any number, not a sum of weighted demands.

A type is needless, and so are two instances beside each other, where one instance of another type costs no more and
holds all that they can: with it in their place a packing is no dearer, and has fewer instances, cheaper ones or earlier
types, which cannot go on for ever. A type of which there are only so many stands in for none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from instances.proofs.certificate import NoCertificate

LONGEST = 1 << 22  # entries of a table
NONE = 1 << 62  # the price of what no instances cover
Need = Sequence[Sequence[int]]
"""What a task of each entry takes of each resource."""


@dataclass(frozen=True)
class Cover:
    """What an instance of each type has, and what all of them must have together."""

    rooms: tuple[int, ...]
    amount: int

    def parts(self, divisor: int) -> Cover:
        """The cover in parts of so much, rounded up."""
        return Cover(tuple(-(-room // divisor) for room in self.rooms), -(-self.amount // divisor))


class Totals:
    """What instances can hold and tasks take at least: `room` (K, R) of the types, `needs` of a task of each entry.

    Raises NoCertificate where a task fits on no type.
    """

    def __init__(self, demand: Sequence[Need], capacity: Need, family: Sequence[int], count: Sequence[int]) -> None:
        """`demand` of each family, `capacity` and `family` of each type, `count` of each entry."""
        self.count, self.room, self.family = count, [[0] * len(q) for q in capacity], family
        self.demand, self.capacity = demand, capacity
        self.fits: list[list[int]] = [[] for _ in count]  # the types of each entry
        for k, (f, q) in enumerate(zip(family, capacity, strict=True)):
            unit = [0] * len(q)
            for t, d in enumerate(demand[f]):
                if all(a <= b for a, b in zip(d, q, strict=True)):
                    self.fits[t].append(k)
                    unit = [gcd(u, a) for u, a in zip(unit, d, strict=True)]
            self.room[k] = [b // u * u if u else 0 for u, b in zip(unit, q, strict=True)]
        if not all(self.fits):
            raise NoCertificate("a task fits on no type")

    def values(
        self, weights: Sequence[Sequence[int]], tasks: Sequence[int] | None = None, searched: Collection[int] = ()
    ) -> list[int]:
        """What a task of each entry counts: no more than it takes, by the weights, of any type that is not `searched`.

        Nor more than `tasks` says, which is needed for a task that fits on searched types alone.
        """
        alike: dict[tuple[int, tuple[int, ...]], int] = {}
        of = [alike.setdefault((f, tuple(w)), k) for k, (f, w) in enumerate(zip(self.family, weights, strict=True))]
        found = []
        for t, kinds in enumerate(self.fits):
            others = {of[k] for k in kinds if k not in searched} if searched else {of[k] for k in kinds}
            taken = [_dot(weights[k], self.demand[self.family[k]][t]) for k in others]
            found.append(min(taken if tasks is None else [tasks[t], *taken], default=0))
        return found

    def cover(self, weights: Sequence[Sequence[int]], values: Sequence[int], worth: Mapping[int, int]) -> Cover:
        """What tasks that count so much ask of the instances; `worth`: of the best pattern of each searched type."""
        rooms = (worth.get(k, _dot(w, q)) for k, (w, q) in enumerate(zip(weights, self.room, strict=True)))
        return Cover(tuple(rooms), _dot(self.count, values))

    @cached_property
    def content(self) -> list[list[int]]:
        """The most that a type can hold of each resource, by how much of the others its tasks take with it."""
        found = [list(room) for room in self.room]
        for k, room in enumerate(self.room):
            needs = {tuple(self.demand[self.family[k]][t]) for t, kinds in enumerate(self.fits) if k in kinds}
            for r in range(len(room)):
                asking = [need for need in needs if need[r]]
                for s in range(len(room)):
                    if asking and r != s and all(need[s] for need in asking):
                        most = max(Fraction(need[r], need[s]) for need in asking)
                        found[k][r] = min(found[k][r], int(most * room[s]))
        return found

    def needless(self, price: Sequence[int], most: Sequence[int | None]) -> tuple[list[bool], NDArray[np.bool_]]:
        """Types that are never needed (K,), and pairs of instances of which no packing needs both (K, K)."""
        kinds = range(len(price))
        alike = [[a is b or list(map(tuple, a)) == list(map(tuple, b)) for b in self.demand] for a in self.demand]
        gone, apart = [False] * len(price), np.zeros((len(price), len(price)), dtype=bool)
        for t in kinds:
            if most[t] is not None:
                continue
            of_it = [a for a in kinds if alike[self.family[a]][self.family[t]]]
            for a in of_it:
                if a != t and (price[t], t) < (price[a], a) and self._holds(t, self.content[a]):
                    gone[a] = True
                for b in of_it:
                    if a <= b and price[t] <= price[a] + price[b]:
                        both = [x + y for x, y in zip(self.content[a], self.content[b], strict=True)]
                        apart[a, b] |= self._holds(t, both)
                        apart[b, a] = apart[a, b]
        return gone, apart

    def _holds(self, kind: int, amounts: Sequence[int]) -> bool:
        return all(a <= q for a, q in zip(amounts, self.capacity[kind], strict=True))


def _dot(weights: Sequence[int], amounts: Sequence[int]) -> int:
    return sum(w * a for w, a in zip(weights, amounts, strict=True))


def least_prices(cover: Cover, price: Sequence[int], most: Sequence[int | None]) -> NDArray[np.int64]:
    """The least price of instances that have at least each of the amounts from 0 to `cover.amount`; `NONE` for none.

    `price` of each type, at least 0, and how many instances of it there may be at `most`. Raises NoCertificate for a
    table that is too long, and for prices that are too large for it.
    """
    if cover.amount > LONGEST:
        raise NoCertificate(f"a table of {cover.amount:,} entries, more than {LONGEST:,}")
    if sum(min(cover.amount, NONE if m is None else m) * p for p, m in zip(price, most, strict=True)) >= NONE // 2:
        raise NoCertificate("prices are too large for a table")
    table = np.full(cover.amount + 1, NONE, dtype=np.int64)
    table[0] = 0
    offered = [(room, p, m) for room, p, m in zip(cover.rooms, price, most, strict=True) if room > 0 and m != 0]
    for room, p, m in offered:
        if m is not None:
            for copies in _powers(min(m, -(-cover.amount // room))):
                _take_once(table, copies * room, copies * p)
    for room, p, m in offered:
        if m is None:
            _take_any(table, room, p)
    return table


def _powers(n: int) -> list[int]:
    """Numbers of which every one from 0 to `n` is a sum, and no larger one."""
    found, part = [], 1
    while n > 0:
        found.append(min(part, n))
        n, part = n - found[-1], 2 * part
    return found


def _take_once(table: NDArray[np.int64], room: int, price: int) -> None:
    """Allow for one item more."""
    before = table.copy()
    table[1 : room + 1] = np.minimum(table[1 : room + 1], price)
    if room < len(table):
        table[room + 1 :] = np.minimum(table[room + 1 :], before[1:-room] + price)


def _take_any(table: NDArray[np.int64], room: int, price: int) -> None:
    """Allow for any number of an item more: what is dearer without it than the amount before it and its price."""
    table[1 : room + 1] = np.minimum(table[1 : room + 1], price)
    for first in range(room + 1, len(table), room):  # each part from the one before it
        last = min(first + room, len(table))
        table[first:last] = np.minimum(table[first:last], table[first - room : last - room] + price)
