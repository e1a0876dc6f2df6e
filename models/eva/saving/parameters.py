"""The constants of column generation for what Eva saves, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from instances.eva.arrays import PackingArrays
from models.eva.counts import CountParameters


@dataclass(frozen=True)
class SavingParameters:
    """The constants of column generation; none changes what is proven, only how fast and within how much memory.

    - `most_tasks`: tasks that one instance may hold at most, or else there is no column generation.
    - `found`: most contents of a type, or of existing instances, that a round of pricing keeps.
    - `share`: least reduced net of those, as a share of the best.
    - `nodes`: most contents that a search looks at before it ends with a bound alone.
    - `more_nodes`: factor by which that grows where nothing better is found.
    - `listing_nodes`: most that it grows to, and that a search for a list looks at.
    - `rounds`: most rounds of pricing.
    - `count_share`: the reduced net that columns are first listed to for a search over the numbers of instances, as a
      share of the bound; `counted`: most columns in such a list; `counts`: the constants of that search.
    - `lists`: such lists. `programs`: whether a list that is too long for that search is left to integer programs, or
      else the first one is made as short as it has to be, and nothing is tried after the last.
    - `first_share`: the first reduced net that columns are listed to for an integer program, as a share of the bound.
    - `growth`: factor by which that grows; its root is taken where a list is too long, unless it is `least_growth`.
    - `listed`: most columns in a list.
    - `probe_nodes`: most nodes of an integer program over a list that cannot prove the optimum.
    """

    most_tasks: int = 256
    found: int = 20
    share: float = 0.5
    nodes: int = 2_000
    more_nodes: int = 10
    listing_nodes: int = 1_000_000
    rounds: int = 2_000
    count_share: float = 0.02
    counted: int = 5_000
    counts: CountParameters = field(default_factory=CountParameters)
    lists: int = 2
    programs: bool = True
    first_share: float = 5e-4
    growth: float = 2.0
    least_growth: float = 1.1
    listed: int = 60_000
    probe_nodes: int = 300


DEFAULTS = SavingParameters()
ROUND = SavingParameters(counted=20_000, programs=False)
"""For a round: integer programs over long lists take minutes there, and seldom prove anything."""
SHORT = SavingParameters(nodes=5_000, listing_nodes=20_000, lists=1, programs=False)
"""For a round of a simulation: a good solution and a bound in a fraction of a second, not always a proof."""


def suits(arrays: PackingArrays, parameters: SavingParameters) -> bool:
    """Whether no instance can hold more tasks than the search for patterns, and its rounding, allow for."""
    return all(most_tasks(arrays, k) <= parameters.most_tasks for k in range(len(arrays.price)))


def most_tasks(arrays: PackingArrays, kind: int) -> int:
    """A bound on the tasks that an instance of a type holds."""
    fits = arrays.fits[kind]
    if not fits.any():
        return 0
    least = arrays.demand_of_type[kind][fits].min(axis=0).tolist()
    room = [q // d for q, d in zip(arrays.capacity[kind].tolist(), least, strict=True) if d]
    return int(min([sum(arrays.count[fits].tolist()), *room]))
