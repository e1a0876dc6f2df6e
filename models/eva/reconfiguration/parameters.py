"""The constants of the exact method for a round, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.eva.counts import CountParameters


@dataclass(frozen=True)
class RoundParameters:
    """The constants of column generation; none changes what is proven, only how fast and within how much memory.

    - `most_tasks`: tasks that one instance may hold at most, or else there is no column generation.
    - `found`: most patterns of a type, or of existing instances, that a round of pricing keeps.
    - `share`: least reduced net of a kept pattern, as a share of the best.
    - `nodes`: most patterns that a search looks at before it ends with a bound alone.
    - `more_nodes`: factor by which that grows where nothing better is found.
    - `listing_nodes`: most that it grows to, and that a search for a list looks at.
    - `rounds`: most rounds of pricing.
    - `listed`: most patterns in a list.
    - `first_delta`: the first reduced net that columns are listed to, as a share of the bound.
    - `lists`: lists that are tried before the search ends without a proof; `None` for as many as it takes.
    - `counts`: those of the search over a list.
    """

    most_tasks: int = 256
    found: int = 20
    share: float = 0.5
    nodes: int = 20_000
    more_nodes: int = 10
    listing_nodes: int = 1_000_000
    rounds: int = 2_000
    listed: int = 20_000
    first_delta: float = 0.02
    lists: int | None = None
    counts: CountParameters = field(default_factory=CountParameters)


DEFAULTS = RoundParameters()
SHORT = RoundParameters(nodes=5_000, listing_nodes=20_000, listed=5_000, lists=1)
"""For a round of a simulation: a good solution and a bound in a fraction of a second, not always a proof."""
