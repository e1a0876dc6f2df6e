"""Pricing in branch-and-price: the interface between the tree and the pricers.

The tree has one linear program over patterns. Its duals, rounded to integers, make `PatternPrices`:

- a value for each class on each type, which a branch may increase on some types;
- a target for each type: the price of an instance, changed by the duals of decisions on instances and on spending;
- the pairs of classes that share an instance, or do not.

The value of a pattern `a` of type k is

    sum_c value[k, c] a_c + sum of the bonuses of holdings that the pattern meets

A pattern of type k has a negative reduced cost if its value exceeds `target[k]`. All numbers are integers, so that
pricing is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Literal, Protocol

import numpy as np

from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.configuration import Column

Pair = tuple[int, int]
"""Two classes of one task each, the lower index first."""


@dataclass(frozen=True)
class Holding:
    """The patterns of a type that hold a minimum number of tasks of some classes: `least` as (class, tasks)."""

    type: int
    least: tuple[tuple[int, int], ...]

    def of(self, column: Column) -> int:
        """Return 1 for a column that meets the holding, otherwise 0."""
        held = dict(column.pattern)
        return int(column.type == self.type and all(held.get(c, 0) >= v for c, v in self.least))


@dataclass(frozen=True)
class PatternPrices:
    """The prices of one call of pricing, all integers on one scale.

    - `value` (K, N): value of a task of each class on each type, never negative.
    - `target` (K,): value that a pattern of each type must exceed; it may be negative.
    - `together`: pairs; a pattern holds both classes or neither (Ryan and Foster, 1981).
    - `apart`: pairs; a pattern holds at most one of the two classes.
    - `bonuses`: holdings, each with the value that it adds to a pattern; it may be negative.
    """

    value: IntArray
    target: tuple[int, ...]
    together: tuple[Pair, ...] = ()
    apart: tuple[Pair, ...] = ()
    bonuses: tuple[tuple[Holding, int], ...] = ()


@dataclass(frozen=True)
class Priced:
    """The result of pricing.

    - `bound` (K,): integer upper bound on the value of the patterns of each type. The empty pattern counts, so the
      bound is never negative. It is valid whichever limit ends the search. A bound up to the target need not be tight.
    - `columns`: patterns with values above their targets, among them the best of each type, if any. They respect the
      pairs, and hold at most the existing tasks of each class.
    """

    bound: tuple[int, ...]
    columns: list[Column]


class Pricer(Protocol):
    """Pricing of the patterns of an instance.

    - `arrays`: the instance.
    - `pairs`, `holdings`: whether `PatternPrices` may have pairs, and bonuses; if not, the tree has no such branch.
    - `dominated`: whether dominated patterns are omitted (see `models.eva.covering`). The tree is correct in both
      cases; a proof states the case.
    """

    arrays: PackingArrays
    pairs: bool
    holdings: bool
    dominated: bool

    def scale(self, value: FloatArray, target: FloatArray) -> float:
        """Return the largest power of two by which `value` (K, N) and `target` (K,) may be multiplied for pricing.

        A factor below 1 lowers the duals, which then prove less.
        """
        ...

    def price(self, prices: PatternPrices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types, with about `columns_each` columns of each type at most.

        If `exact` is false, a cheap search for columns suffices. Then `bound` may be loose or useless, but is valid.
        """
        ...


Kind = Literal["instances", "spend", "placed", "holding", "together", "apart"]


@dataclass(frozen=True)
class BranchDecision:
    """A branching decision.

    - `kind` "instances": the number of instances of the types `of` is at least, or at most, `amount`.
    - "spend": price units spent on the types of family `of[0]` whose price is at least `of[1]`.
    - "placed": tasks of class `of[0]` on the types `of[1:]`; always "at least". At most v - 1 on some types is at least
      n - v + 1 on the others, which also holds for covers by maximal patterns.
    - "holding": the number of instances of type `of[0]` whose pattern holds at least `of[2]` tasks of class `of[1]`, at
      least `of[4]` of class `of[3]`, and so on.
    - "together", "apart": classes `of[0]` and `of[1]`, of one task each, share an instance or do not; no amount.
    """

    kind: Kind
    of: tuple[int, ...]
    sense: Literal["at least", "at most"] = "at least"
    amount: int = 0


@dataclass(frozen=True)
class Duals:
    """Integer duals and their objective value D, `value`. They prove the bound `value / scale`.

    - `cover` (N,): the duals of the classes.
    - `decisions`: the duals of the decisions.
    """

    scale: int
    value: int
    cover: tuple[int, ...]
    decisions: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProvenLeaf:
    """A leaf: the duals prove `bound` for all packings that satisfy the decisions.

    A leaf that a limit leaves open has the duals and the bound of its parent.
    """

    decisions: tuple[BranchDecision, ...]
    bound: int
    duals: Duals


@dataclass(frozen=True)
class TreeProof:
    """The leaves of a tree, which together contain every packing, and the `bound` that they prove, in price units.

    - `ceiling`: cost of the best packing. The proof is about covers by maximal patterns that cost less.
    - `dominated`: whether a pattern is omitted if another type of no higher price can hold it, or two cheaper instances
      at no higher price together.
    - `fixings`: duals of the root that excluded patterns.
    - `leaves`: the leaves.
    """

    ceiling: int
    dominated: bool
    fixings: tuple[Duals, ...]
    leaves: tuple[ProvenLeaf, ...]

    @property
    def bound(self) -> int:
        """Return the bound that the leaves prove together."""
        return min([self.ceiling, *(leaf.bound for leaf in self.leaves)])


MOST = 20_000_000  # limit on the marks of a table of sums, times the number of prices


class SumsOfPrices:
    """The sums `sum_k C_k X_k` over integers X_k >= 0 up to a limit, as a table of marks."""

    def __init__(self, prices: Sequence[int], limit: int) -> None:
        useful = sorted({p for p in prices if p > 0})
        self.unit = gcd(*useful) or 1
        self._reached: np.ndarray | None = None
        size = limit // self.unit + 1
        # A price that is a sum of others adds no sum. If prices are linear in each family, few other prices remain.
        if useful and size * len(useful) <= MOST:
            reached = np.zeros(size, dtype=bool)
            reached[0] = True
            for price in useful:
                step = price // self.unit
                if step < size and not reached[step]:
                    rows = -(-size // step)
                    padded = np.zeros(rows * step, dtype=bool)
                    padded[:size] = reached
                    reached = np.logical_or.accumulate(padded.reshape(rows, step), axis=0).ravel()[:size]
            self._reached = reached

    def round_up(self, bound: int) -> int:
        """Return the smallest sum that is at least `bound`; beyond the limit, the next multiple of the common unit."""
        first = -(-bound // self.unit)
        if self._reached is not None and first < len(self._reached):
            place = int(np.argmax(self._reached[first:]))
            return self.unit * (first + place if self._reached[first + place] else len(self._reached))
        return first * self.unit
