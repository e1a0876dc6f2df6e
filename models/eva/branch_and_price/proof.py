"""What proves the bound of a branch-and-price tree: its leaves, each with decisions and whole-number duals.

Plain frozen records of whole numbers, words and tuples, to be written down as they are.

A leaf says: among packings that obey `decisions`, none costs less than `bound` price units. Let S be `scale`, y_c the
`cover` duals, d_i the dual of decision i, g_j the charge of subset row j, all >= 0. For each type k

    target_k = S C_k - sum of d_i over decisions "at least" on k + sum of d_i over decisions "at most" on k
               (a decision on spending counts with C_k),
    value_kc = y_c + sum of d_i over "placed" decisions for class c on the family of k,

    deficit_k = max(0, most worth of a pattern of type k at these values and charges - target_k).

Then S z >= sum_c n_c y_c + sum_i (+/-) d_i amount_i - sum_j g_j most_j - sum_k deficit_k most_k for every packing of
cost z that has at most `most_k` instances of type k. `bound` is what this gives, rounded up to a sum of prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from models.eva.branch_and_price.pricer import SubsetRow

Kind = Literal["instances", "spend", "placed", "together", "apart"]


@dataclass(frozen=True)
class Decision:
    """A decision of a branch.

    - `kind` "instances": the number of instances of type `of[0]` is at least, or at most, `amount`.
    - "spend": price units spent on types of family `of[0]`.
    - "placed": tasks of class `of[0]` on types of the families `of[1:]`; always "at least": at most v - 1 on some
      families is at least n - v + 1 on the others, and that holds for covers by maximal patterns as well.
    - "together", "apart": classes `of[0]` and `of[1]`, of one task each, share an instance or do not; no amount.
    """

    kind: Kind
    of: tuple[int, ...]
    sense: Literal["at least", "at most"] = "at least"
    amount: int = 0


@dataclass(frozen=True)
class Leaf:
    """A leaf: `reason` "bound": the duals prove `bound`; "highs": HiGHS proves it by an integer program.

    `bound` is `None` where no packing cheaper than the ceiling obeys the decisions, as the duals prove ("infeasible").
    `most` (K,): most instances of each type that were allowed for.
    """

    decisions: tuple[Decision, ...]
    reason: Literal["bound", "infeasible", "highs"]
    bound: int | None
    scale: int = 1
    cover: tuple[int, ...] = ()
    duals: tuple[int, ...] = ()
    charges: tuple[tuple[SubsetRow, int], ...] = ()
    most: tuple[int, ...] = ()


@dataclass(frozen=True)
class Proof:
    """The leaves of a tree, which together leave no packing out.

    `ceiling`: only packings cheaper than that are ruled out by the leaves, in price units. `dominated`: whether
    patterns are left out that cheaper types can stand in for.
    """

    ceiling: int
    dominated: bool
    leaves: tuple[Leaf, ...]
