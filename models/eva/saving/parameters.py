"""The constants of column generation for the net saving, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.eva.counts import CountParameters


@dataclass(frozen=True)
class SavingParameters:
    """The constants of column generation; none changes what is proven, only how fast and within how much memory.

    - `most_tasks`: tasks that one instance may hold at most, or else there is no column generation.
    - `found`: most patterns of a type that a round of pricing keeps.
    - `share`: least net of a kept pattern, as a share of the best of its type.
    - `nodes`: most patterns that a search looks at before it ends with a bound alone.
    - `more_nodes`: factor by which that grows where nothing better is found.
    - `listing_nodes`: most that it grows to, and that a search for a list looks at.
    - `rounds`: most rounds of pricing.
    - `first_share`: the first reduced net that patterns are listed to, as a share of the bound.
    - `growth`: factor by which that grows; its root is taken where a list is too long, unless it is `least_growth`.
    - `listed`: most patterns in a list.
    - `count_share`: the reduced net that patterns are first listed to for a search over the numbers of instances, as a
      share of the bound; `counted`: most patterns in such a list; `counts`: the constants of that search.
    - `probe_nodes`: most nodes of an integer program over a list that cannot prove the optimum.
    """

    most_tasks: int = 256
    found: int = 30
    share: float = 0.6
    nodes: int = 20_000
    more_nodes: int = 10
    listing_nodes: int = 1_000_000
    rounds: int = 2_000
    first_share: float = 5e-4
    growth: float = 2.0
    least_growth: float = 1.1
    listed: int = 60_000
    count_share: float = 0.02
    counted: int = 3_000
    counts: CountParameters = field(default_factory=CountParameters)
    probe_nodes: int = 300


DEFAULTS = SavingParameters()
