"""Eva's packing by column generation (Gilmore and Gomory, 1961): a configuration, an exact bound, a proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from models.eva.column_generation.outcome import Outcome
from models.eva.column_generation.parameters import DEFAULTS, ColumnGenerationParameters
from models.eva.column_generation.pooling import bound_by_pooling
from models.eva.column_generation.ruin_phases import ruin, ruin_alone, ruin_at_length
from models.eva.column_generation.search import Report, Search
from models.eva.configuration import Column, Configuration, missing, price
from models.highs import OutOfTime, SolveFailed


@dataclass(frozen=True)
class Phase:
    """A phase of column generation.

    - `take`: the step of the search.
    - `until`: share of the time limit, counted from the start, at which the phase stops.
    - `share`: most that the phase takes of the time limit, as a share.
    - `always`: whether the phase is taken even where the search is over.
    """

    take: Callable[[Search, Stopwatch], None]
    until: float = 1.0
    share: float = 1.0
    always: bool = False

    def clock(self, search: Search) -> Stopwatch:
        """The clock of a phase that begins now."""
        limit = search.options.time_limit
        if limit is None:
            return Stopwatch()
        return Stopwatch(max(0.0, min(self.until * limit - search.clock.spent_s, self.share * limit)))


def repack(search: Search, clock: Stopwatch) -> None:
    """Repack many classes: keep the instances of the family that costs most, and pack the other tasks anew."""
    arrays, configuration = search.arrays, search.incumbent.solution
    if arrays.classes <= search.parameters.repacked_classes or configuration is None or clock.expired:
        return
    families = [
        [column for column in configuration if arrays.family[column.type] == f] for f in range(len(arrays.demand))
    ]
    split = [{column: configuration[column] for column in columns} for columns in families]
    kept = max(split, key=lambda part: price(arrays, part))
    left = np.maximum(missing(arrays, kept), 0)
    classes = np.flatnonzero(left)
    if len(classes) in (0, len(left)):
        return
    rest = column_generation(
        arrays.only(classes, left[classes]), search.within(clock, None), parameters=search.parameters
    )
    cover = Counter(kept)
    for column, n in rest.configuration.items():
        cover[Column.of(column.type, ((int(classes[c]), q) for c, q in column.pattern))] += n
    search.offer(dict(cover))


START = (
    Phase(Search.start, always=True),
    Phase(Search.pack, until=0.2, always=True),
    Phase(ruin_alone, until=0.2, always=True),
    Phase(Search.bound_by_resources, until=0.3),
    Phase(bound_by_pooling, until=0.4, share=0.15),
    Phase(ruin_at_length, until=0.6),
    Phase(ruin, until=0.5, share=0.25),
    Phase(repack, until=0.65),
    Phase(Search.relax, until=0.6),
    Phase(Search.round_down),
    Phase(Search.bound_by_family),
    Phase(Search.relax_at_spend),
)
ROUND = (
    Phase(Search.dive, share=0.25),
    Phase(Search.solve_free, share=0.25),
    Phase(Search.solve_complete),
    Phase(Search.enrich),
    Phase(Search.improve, share=0.25),
    Phase(ruin, share=0.25),
)
FIRST_ROUND = (*ROUND[:2], Phase(Search.bound_by_type), *ROUND[2:])


def column_generation(
    arrays: PackingArrays,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    parameters: ColumnGenerationParameters = DEFAULTS,
) -> Outcome:
    """Column generation (Gilmore and Gomory, 1961) for the least price of instances that hold all tasks.

    - `arrays`: the instance.
    - `options`: limits, threads and seed, and the gap (cost - bound) / cost at which the search ends.
    - `report`: called with each new configuration and each better bound, in price units.
    - `start`: a configuration to begin from.
    - `parameters`: the constants of column generation.

    Raises ValueError where the start does not hold all tasks, or holds more on an instance than fits.
    """
    search = Search(arrays, options, report, parameters)
    if start is not None:
        search.offer(start)
    rounds, failure = search.at_most(parameters.rounds), None
    try:
        for phase in [*START, *FIRST_ROUND, *(rounds - 1) * ROUND]:
            if phase.always or not search.over:
                phase.take(search, phase.clock(search))
    except OutOfTime:
        pass
    except SolveFailed as error:  # after the first packing: there is an incumbent and a bound
        failure = str(error)
    return search.outcome(failure)
