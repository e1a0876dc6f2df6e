"""The phases of column generation that ruin and recreate packings."""

from __future__ import annotations

from instances import Stopwatch
from models.eva.column_generation.search import Search
from models.eva.configuration import Configuration, alone


def ruin_alone(search: Search, clock: Stopwatch) -> None:
    """Ruin and recreate from every task alone, some times; whatever the time, the first packing is no bad one.

    What a greedy packing of a few hundred tasks has put together is hard to take apart again.
    """
    if not search.spread.few:
        return
    parameters = search.parameters
    starts = search.at_most(parameters.ruin_starts)
    for _ in range(starts):
        part = Stopwatch(None if clock.limit_s is None else clock.limit_s / starts)
        least = parameters.sure_ruin_rounds
        _ruin_from(search, alone(search.arrays), part, parameters.ruin_rounds, parameters.ruin_patience, least)
        if part.expired or search.over:
            break


def ruin_at_length(search: Search, clock: Stopwatch) -> None:
    """Ruin and recreate from the incumbent for long, where classes are many."""
    parameters = search.parameters
    if search.spread.many and not clock.expired:
        best = search.incumbent.solution
        _ruin_from(search, best, clock, parameters.long_ruin_rounds, parameters.long_ruin_patience)


def ruin(search: Search, clock: Stopwatch) -> None:
    """Ruin and recreate from the incumbent."""
    parameters = search.parameters
    if not clock.expired:
        _ruin_from(search, search.incumbent.solution, clock, parameters.ruin_rounds, parameters.ruin_patience)


def _ruin_from(
    search: Search, first: Configuration | None, clock: Stopwatch, rounds: int, patience: int, least: int = 1
) -> None:
    """Rounds of ruin and recreate, at most so many and at least the least; so many in a row may save nothing."""
    arrays, parameters = search.arrays, search.parameters
    if first is None or sum(arrays.count.tolist()) > parameters.ruin_tasks:
        return
    if search.ruin is None:
        from models.eva.column_generation.ruin import Ruin  # compiled at first use, which takes seconds

        search.ruin = Ruin(arrays, search.prices, parameters, search.options.seed)
    search.ruin.set(first)
    in_vain = 0
    for done in range(1, search.at_most(rounds) + 1):
        in_vain = 0 if search.ruin.run(parameters.ruins) else in_vain + 1
        if (
            (clock.expired and done >= least)
            or in_vain >= patience
            or search.ruin.cost <= (search.incumbent.bound or 0)
        ):
            break
    search.offer(search.ruin.configuration)
