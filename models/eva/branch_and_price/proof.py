"""What proves the bound of a branch-and-price tree: its leaves, each with decisions and whole-number duals.

Plain frozen records of whole numbers, words and tuples, to be written down as they are.

A leaf says: among packings that obey `decisions`, none costs less than `bound` price units. Let y_c be the `cover`
duals, d_i the dual of decision i, S the `scale`, all whole numbers >= 0. For each type

    mu_k = sum of d_i over decisions "at least" on k - sum of d_i over decisions "at most" on k
           (a decision on spending counts C_k times, on the types it is about; "holding" ones are in the worth of the
           patterns that they name),
    value_kc = y_c + sum of d_i over "placed" decisions for class c on type k,
    worth_k = the most worth of a pattern of type k at these values (see `pricer`).

Where `worth_k + mu_k <= S C_k` for every type, a packing of cost z that obeys the decisions has

    S z >= D = sum_c n_c y_c + sum of d_i amount_i ("at least") - sum of d_i amount_i ("at most")

by duality of linear programs. A scale that is raised until this holds is Farley's bound (1990). `bound` is the least
sum of prices that is >= D / S.

A type with a limit has a decision "at most" so many instances in every leaf, and in every fixing.

A fixing says the same without other decisions, and further that a pattern is in no packing cheaper than the ceiling
where `D + S C_k - mu_k - worth of the pattern > S (ceiling - 1)`. Leaves and later fixings need not look at such
patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["instances", "spend", "placed", "holding", "together", "apart"]


@dataclass(frozen=True)
class Decision:
    """A decision of a branch.

    - `kind` "instances": the number of instances of type `of[0]` is at least, or at most, `amount`.
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
class Leaf:
    """A leaf: the duals prove `bound` for the packings that obey the decisions.

    A leaf that a limit left open has the duals and the bound of its parent.
    """

    decisions: tuple[Decision, ...]
    bound: int
    duals: Duals


@dataclass(frozen=True)
class Proof:
    """The leaves of a tree, which together leave no packing out: `bound` is what they prove, in price units.

    What they say is about covers by maximal patterns that are cheaper than `ceiling`, the cost of the best packing.
    `dominated`: patterns are left out that another type of no higher price, or two cheaper instances at no higher price
    together, can hold. `fixings`: duals of the root by which patterns were left out.
    """

    ceiling: int
    dominated: bool
    fixings: tuple[Duals, ...]
    leaves: tuple[Leaf, ...]

    @property
    def bound(self) -> int:
        """What the leaves prove together."""
        return min([self.ceiling, *(leaf.bound for leaf in self.leaves)])
