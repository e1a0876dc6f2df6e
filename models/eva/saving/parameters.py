"""The constants of column generation for the net saving."""

from __future__ import annotations

from dataclasses import dataclass, field

from instances.eva.arrays import PackingArrays
from models.eva.counts import CountParameters


@dataclass(frozen=True)
class SavingParameters:
    """The constants of column generation. They change its time and memory, never the validity of a bound.

    - `most_tasks`: most tasks on one instance; if an instance may hold more, there is no column generation.
    - `found`: most patterns of a type, or of existing instances, that a round of pricing keeps.
    - `share`: smallest reduced net of these patterns, as a share of the best.
    - `nodes`: node limit of a search, which then ends with a bound.
    - `more_nodes`: factor on this limit if a search finds no better pattern.
    - `listing_nodes`: largest value of this limit, and node limit of a search for a list.
    - `rounds`: most rounds of pricing.
    - `count_share`: first δ of a list for the search over the numbers of instances, as a share of the bound.
    - `counted`: most columns in such a list.
    - `counts`: the constants of this search.
    - `lists`: most such lists.
    - `programs`: whether integer programs follow for longer lists. If not, the first list is shortened until it has at
      most `counted` columns, and the method ends after the last list.
    - `first_share`: first δ of a list for an integer program, as a share of the bound.
    - `growth`: factor on this δ; its square root is used if a list is too long, down to `least_growth`.
    - `listed`: most columns in a list for an integer program.
    - `probe_nodes`: most nodes of an integer program that cannot prove the optimum.
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
"""For a round: there, integer programs over long lists take minutes and rarely prove the optimum."""
SHORT = SavingParameters(nodes=5_000, listing_nodes=20_000, lists=1, programs=False)
"""For a round of a simulation: a good solution and a bound in a fraction of a second, often without a proof."""


def suits(arrays: PackingArrays, parameters: SavingParameters) -> bool:
    """Return whether every instance holds at most the tasks that the search and its rounding bounds allow."""
    return all(most_tasks(arrays, k) <= parameters.most_tasks for k in range(len(arrays.price)))


def most_tasks(arrays: PackingArrays, kind: int) -> int:
    """Return a bound on the number of tasks that an instance of a type holds."""
    fits = arrays.fits[kind]
    if not fits.any():
        return 0
    least = arrays.demand_of_type[kind][fits].min(axis=0).tolist()
    room = [q // d for q, d in zip(arrays.capacity[kind].tolist(), least, strict=True) if d]
    return int(min([sum(arrays.count[fits].tolist()), *room]))
