"""The constants of branch-and-price for Eva's packing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BranchAndPriceParameters:
    """The constants of branch-and-price, which change how fast a proof is found, never whether a bound is valid.

    Patterns:

    - `listed_patterns`: maximal patterns up to which they are listed; beyond it they are priced.
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

    - `dives`: rounds of diving at the root, each with another discrepancy.
    - `dive_every`: nodes between dives in the tree.
    - `program_nodes`: nodes before the first integer program over the columns, and four times as many before each next
      one; 0 for none.
    - `proving`: whether the tree is grown for its leaves, which are to prove what is known: it does not dive, leaves
      out no pattern, and may end within its first linear program.
    """

    listed_patterns: int = 400_000
    listing_steps: int = 5_000_000
    splits: int = 2_000
    columns_each_type: int = 10

    candidates_each_kind: int = 4
    reliable: int = 2
    least_gain: float = 1e-3
    restart_nodes: int = 200
    restarts: int = 3

    dives: int = 3
    dive_every: int = 4
    program_nodes: int = 0
    proving: bool = False


DEFAULTS = BranchAndPriceParameters()
