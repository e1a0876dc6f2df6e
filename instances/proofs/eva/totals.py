"""Compute the minimum cost of instances that satisfy the surrogate cover inequalities of all tasks, in integers.

Let w_kr >= 0 be weights of the resources of each type. The usable capacity room_kr is the capacity, rounded down to a
multiple of a unit. The unit is the greatest common divisor of the demands that fit on the type. A task takes at least
v_t, the minimum of the sum of w_kr d_tr over the types on which it fits. So every packing with x_k instances of each
type satisfies

    sum of x_k W_k >= D,   W_k = sum of w_kr room_kr,   D = sum of n_t v_t,

and the same inequality with W_k and D divided by `divisor` and rounded up. A dynamic program over the amounts 0 to D,
in multiples of `divisor`, gives the minimum cost of such integers x.

For searched types, W_k may be the value of the best pattern, in which a task of entry t has the value v_t. For them v_t
may be any number, not only a sum of weighted demands.

A type is dominated if one instance of another type costs no more and holds all that it can hold. A pair of instances is
dominated in the same way. The replacement never increases the cost, and it yields fewer instances, cheaper ones or
earlier types, so it ends. A type with a limit dominates no other, because the replacement could exceed the limit.
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
NONE = 1 << 62  # the cost of an amount that no instances cover
Need = Sequence[Sequence[int]]
"""The demand of a task of each entry for each resource."""


@dataclass(frozen=True)
class Cover:
    """A surrogate cover inequality: the `rooms` of an instance of each type, and the `amount` required in total."""

    rooms: tuple[int, ...]
    amount: int

    def parts(self, divisor: int) -> Cover:
        """Return the cover with all coefficients divided by `divisor` and rounded up."""
        return Cover(tuple(-(-room // divisor) for room in self.rooms), -(-self.amount // divisor))


class Totals:
    """The usable capacities `room` (K, R) of the types, and the types that each entry `fits`.

    Raises NoCertificate if a task fits on no type.
    """

    def __init__(self, demand: Sequence[Need], capacity: Need, family: Sequence[int], count: Sequence[int]) -> None:
        """Build from the `demand` of each family, `capacity` and `family` of each type, and `count` of each entry."""
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
        """Return the value of a task of each entry: its minimum weighted demand over the types that are not `searched`.

        `tasks` gives upper limits of these values; a task that fits on searched types only needs one.
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
        """Return the cover for tasks with these `values`; `worth` is the best pattern's value of each searched type."""
        rooms = (worth.get(k, _dot(w, q)) for k, (w, q) in enumerate(zip(weights, self.room, strict=True)))
        return Cover(tuple(rooms), _dot(self.count, values))

    @cached_property
    def content(self) -> list[list[int]]:
        """Return the maximum of each resource that a type can hold, limited by the other resources of its tasks."""
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

    def find_dominated(self, price: Sequence[int], most: Sequence[int | None]) -> tuple[list[bool], NDArray[np.bool_]]:
        """Return the dominated types (K,) and the dominated pairs of instances (K, K)."""
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


def compute_min_prices(cover: Cover, price: Sequence[int], most: Sequence[int | None]) -> NDArray[np.int64]:
    """Return the minimum cost of instances for each amount from 0 to `cover.amount`, `NONE` if there are none.

    - `cover`: the surrogate cover inequality.
    - `price`: of an instance of each type, at least 0.
    - `most`: the limit on the instances of each type, `None` for no limit.

    Raises NoCertificate if the table is too long, or if the prices are too large for it.
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
    """Return numbers whose subset sums are exactly the integers from 0 to `n`."""
    found, part = [], 1
    while n > 0:
        found.append(min(part, n))
        n, part = n - found[-1], 2 * part
    return found


def _take_once(table: NDArray[np.int64], room: int, price: int) -> None:
    """Update the table with an item that can be taken once."""
    before = table.copy()
    table[1 : room + 1] = np.minimum(table[1 : room + 1], price)
    if room < len(table):
        table[room + 1 :] = np.minimum(table[room + 1 :], before[1:-room] + price)


def _take_any(table: NDArray[np.int64], room: int, price: int) -> None:
    """Update the table with an item that can be taken any number of times."""
    table[1 : room + 1] = np.minimum(table[1 : room + 1], price)
    for first in range(room + 1, len(table), room):  # each block depends on the block before it
        last = min(first + room, len(table))
        table[first:last] = np.minimum(table[first:last], table[first - room : last - room] + price)
