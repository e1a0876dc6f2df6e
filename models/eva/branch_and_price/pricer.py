"""Pricing in branch-and-price: what the tree asks, and what whoever prices patterns must answer.

The tree holds one linear program over patterns. Its dual prices, rounded to whole numbers, make `PatternPrices`: a
value for each class on each type (a task of a class may be worth more where a branch wants it), a target for each type
(the price of an instance, changed by the duals of branches on numbers of instances and on spending), and the pairs of
classes that a branch keeps together or apart. The worth of a pattern `a` of type k is

    sum_c value[k, c] a_c + sum of the bonuses of holdings that the pattern meets

and a pattern of type k improves the linear program where its worth is above `target[k]`. Everything is a whole number,
so that an answer is exact.
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
class PatternPrices:
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

    `pairs`, `holdings`: whether `PatternPrices` may hold pairs, bonuses; a tree has none where it may not.
    `dominated`: whether patterns are left out that other types can stand in for (see `models.eva.covering`). The tree
    is right either way; a proof says which it was.
    """

    arrays: PackingArrays
    pairs: bool
    holdings: bool
    dominated: bool

    def scale(self, value: FloatArray, target: FloatArray) -> float:
        """The finest unit, a power of two: duals `value` (K, N) and `target` (K,) times it can be priced.

        A unit below 1 lowers the duals, which then prove less.
        """
        ...

    def price(self, prices: PatternPrices, columns_each: int, exact: bool = True) -> Priced:
        """Price all types. At most about `columns_each` columns of a type.

        With `exact` false a cheap search for columns suffices and `bound` may be loose, or even no use (but valid).
        """
        ...


Kind = Literal["instances", "spend", "placed", "holding", "together", "apart"]


@dataclass(frozen=True)
class BranchDecision:
    """A decision of a branch.

    - `kind` "instances": the number of instances of the types `of` is at least, or at most, `amount`.
    - "spend": price units spent on the types of family `of[0]` whose price is at least `of[1]`.
    - "placed": tasks of class `of[0]` on the types `of[1:]`; always "at least": at most v - 1 on some
      types is at least n - v + 1 on the others, and that holds for covers by maximal patterns as well.
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
    """Whole-number duals and what they prove: `value` is D."""

    scale: int
    value: int
    cover: tuple[int, ...]
    decisions: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProvenLeaf:
    """A leaf: the duals prove `bound` for the packings that obey the decisions.

    A leaf that a limit left open has the duals and the bound of its parent.
    """

    decisions: tuple[BranchDecision, ...]
    bound: int
    duals: Duals


@dataclass(frozen=True)
class TreeProof:
    """The leaves of a tree, which together leave no packing out: `bound` is what they prove, in price units.

    What they say is about covers by maximal patterns that are cheaper than `ceiling`, the cost of the best packing.
    `dominated`: patterns are left out that another type of no higher price, or two cheaper instances at no higher price
    together, can hold. `fixings`: duals of the root by which patterns were left out.
    """

    ceiling: int
    dominated: bool
    fixings: tuple[Duals, ...]
    leaves: tuple[ProvenLeaf, ...]

    @property
    def bound(self) -> int:
        """What the leaves prove together."""
        return min([self.ceiling, *(leaf.bound for leaf in self.leaves)])


MOST = 20_000_000  # marks of a table of sums


class SumsOfPrices:
    """The sums `sum_k C_k X_k` over whole numbers X_k >= 0 up to a limit, as a table of marks."""

    def __init__(self, prices: Sequence[int], limit: int) -> None:
        useful = sorted({p for p in prices if p > 0})
        self.unit = gcd(*useful) or 1
        self._reached: np.ndarray | None = None
        size = limit // self.unit + 1
        # A price that is a sum of others reaches nothing new; the rest are few where prices are linear in a family.
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

    def at_least(self, bound: int) -> int:
        """The least sum that is at least `bound`; beyond the limit, the next multiple of the common unit."""
        first = -(-bound // self.unit)
        if self._reached is not None and first < len(self._reached):
            place = int(np.argmax(self._reached[first:]))
            return self.unit * (first + place if self._reached[first + place] else len(self._reached))
        return first * self.unit


@dataclass(frozen=True)
class BranchAndPriceParameters:
    """The constants of branch-and-price, which change how fast a proof is found, never whether a bound is valid.

    Patterns:

    - `listed_patterns`: maximal patterns up to which they are listed; beyond it they are priced.
    - `listed_numbers`: the same limit on patterns times classes, which bounds memory: 80 MB in two bytes each.
    - `listing_steps`: most steps of the search for the patterns of one type.
    - `splits`: ways to split a pattern in two that are looked at, to see whether two cheaper instances hold it.
    - `columns_each_type`: most columns that one pricing gives of a type.

    Branching:

    - `candidates_each_kind`: aggregates of each kind whose children are solved.
    - `reliable`: children of an aggregate that were solved before its pseudo-cost is trusted.
    - `least_gain`: gain of a child, as a share of the gap, below which gains count as equal.
    - `restart_nodes`: nodes of the first tree before the search begins anew at the root, with the packing and the list
      of patterns that it has by then, and each time twice as many candidates.
    - `restarts`: most such beginnings; each tree has three times the nodes of the one before, the last has no limit.

    Incumbents:

    - `discrepancies`: how often a dive may take another column than the largest, in its first steps, as many.
    - `dive_steps`: limit on the steps of a dive.
    - `dive_every`: nodes between dives in the tree.
    - `program_nodes`: nodes before the first integer program over the columns, and four times as many before each next
      one; 0 for none.
    - `proving`: whether the tree is grown for its leaves, which are to prove what is known: it does not dive, leaves
      out no pattern, and may end within its first linear program.
    """

    listed_patterns: int = 400_000
    listed_numbers: int = 40_000_000
    listing_steps: int = 5_000_000
    splits: int = 2_000
    columns_each_type: int = 10

    candidates_each_kind: int = 4
    reliable: int = 2
    least_gain: float = 1e-3
    restart_nodes: int = 200
    restarts: int = 3

    discrepancies: int = 2
    dive_steps: int = 200
    dive_every: int = 4
    program_nodes: int = 10
    proving: bool = False


DEFAULTS = BranchAndPriceParameters()
