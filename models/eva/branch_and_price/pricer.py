"""Pricing in branch-and-price: what the tree asks, and what whoever prices patterns must answer.

The tree holds one linear program over patterns. Its dual prices, rounded to whole numbers, make a `Prices`: a value for
each class on each type (a task of a class may be worth more where a branch wants it), a target for each type (the
price of an instance, changed by the duals of branches on numbers of instances and on spending), and the pairs of
classes that a branch keeps together or apart. The worth of a pattern `a` of type k is

    sum_c value[k, c] a_c + sum of the bonuses of holdings that the pattern meets

and a pattern of type k improves the linear program where its worth is above `target[k]`. Everything is a whole number,
so that an answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.configuration import Column

Pair = tuple[int, int]
"""Two classes of one task each, the lower first."""


@dataclass(frozen=True)
class Holding:
    """The patterns of a type that hold at least so many tasks of some classes: `least` as (class, tasks)."""

    type: int
    least: tuple[tuple[int, int], ...]

    def of(self, column: Column) -> int:
        """1 for a column that meets it, otherwise 0."""
        held = dict(column.pattern)
        return int(column.type == self.type and all(held.get(c, 0) >= v for c, v in self.least))


@dataclass(frozen=True)
class Prices:
    """The prices of one call of pricing, all whole numbers on one scale.

    - `value` (K, N): worth of a task of each class on each type, never negative.
    - `target` (K,): worth that a pattern of each type must exceed; it may be negative.
    - `together`: pairs of which a pattern holds both or none (Ryan and Foster, 1981).
    - `apart`: pairs of which a pattern holds at most one.
    - `bonuses`: holdings, each with what it adds to the worth of a pattern; it may be negative.
    """

    value: IntArray
    target: tuple[int, ...]
    together: tuple[Pair, ...] = ()
    apart: tuple[Pair, ...] = ()
    bonuses: tuple[tuple[Holding, int], ...] = ()


@dataclass(frozen=True)
class Priced:
    """An answer of pricing.

    `bound` (K,): for each type a whole number that no pattern of the type is worth more than; the empty pattern counts,
    so it is never negative. It must hold whatever limit ended the search. What is at most the target need not be tight.
    `columns`: patterns worth more than their targets, the best of each type among them where there is one; they respect
    the pairs and hold no more tasks of a class than there are.
    """

    bound: tuple[int, ...]
    columns: list[Column]


class Pricer(Protocol):
    """Pricing of the patterns of an instance.

    `pairs`, `holdings`: whether `Prices` may hold pairs, bonuses; a tree has none where it may not.
    `dominated`: whether patterns are left out that other types can stand in for (see `models.eva.patterns`). The tree
    is right either way; a proof says which it was.
    """

    arrays: PackingArrays
    pairs: bool
    holdings: bool
    dominated: bool

    def scale(self, value: FloatArray, target: FloatArray) -> int:
        """The finest unit, a power of two: duals `value` (K, N) and `target` (K,) times it can be priced."""
        ...

    def price(self, prices: Prices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types. At most about `columns_each` columns of a type.

        With `exact` false a cheap search for columns suffices and `bound` may be loose, or even no use (but valid).
        """
        ...
