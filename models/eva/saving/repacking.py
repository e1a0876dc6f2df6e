"""Large neighbourhood search (Shaw, 1998): again and again some instances of a packing, at random, are packed anew.

What they hold is a small packing problem, which column generation and the search over the numbers of instances solve in
hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import IntArray
from instances.eva.arrays import PackingArrays
from instances.eva.reconfiguration_arrays import NEW, Placed
from models.eva.saving.columns import Columns, Master
from models.eva.saving.parameters import SavingParameters


class Packer(Protocol):
    """A search for a packing: its limits, and `columns` and `copies` of its incumbent, which is worth `value`."""

    master: Master
    options: Options
    parameters: SavingParameters
    random: np.random.Generator
    columns: Columns
    copies: IntArray
    value: float
    noise: float

    @property
    def closed(self) -> bool:
        """Whether the incumbent is good enough."""
        ...

    def offer(self, columns: Columns, copies: IntArray) -> None:
        """Make a packing the incumbent where that is better."""
        ...

    def part(self, packing: PackingArrays, start: Sequence[Placed], seconds: float | None) -> Packer:
        """A search of the same kind, from a start, for a part of the tasks."""
        ...

    def run(self) -> None:
        """Search."""
        ...


def repack(search: Packer, clock: Stopwatch, patience: int) -> None:
    """Improve the incumbent of a search until it is good enough, a limit is reached or nothing is found any more.

    For a packing alone: no instance exists. `patience`: how often in a row nothing better may be found.
    """
    p, effort = search.parameters, search.options.effort
    most = p.repackings if effort is None else min(p.repackings, effort)
    idle, tasks = 0, float(p.repacked)
    for _ in range(most):
        if search.closed or clock.expired or idle >= patience:
            return
        held = np.repeat(search.columns.on_it, search.copies, axis=0)
        kinds = np.repeat(search.master.kind_of(search.columns), search.copies)
        order = search.random.permutation(len(held))
        order = order[held[order].sum(axis=1) <= tasks]
        chosen = order[np.cumsum(held[order].sum(axis=1)) <= tasks]
        before = search.value
        proven = not len(chosen) or _repack_some(search, held, kinds, chosen, clock)
        idle = 0 if search.value > before else idle + 1
        if not proven:
            tasks = max(tasks * p.fewer, p.repacked / 2)
        elif idle:
            tasks = min(tasks * p.more, p.most_repacked)


def _repack_some(search: Packer, held: IntArray, kinds: IntArray, chosen: IntArray, clock: Stopwatch) -> bool:
    """Pack the tasks of some instances anew, of all instances that hold `held` (I, N) and are of types `kinds` (I,).

    Whether the best for these tasks was proven.
    """
    packing = search.master.arrays.packing
    count = held[chosen].sum(axis=0)
    classes = np.flatnonzero(count)
    place = {int(c): i for i, c in enumerate(classes)}
    start: Sequence[Placed] = [
        (NEW, int(kinds[i]), {place[int(c)]: int(held[i, c]) for c in np.flatnonzero(held[i])}, 1) for i in chosen
    ]
    limited = search.options.time_limit is not None
    seconds = min(search.parameters.repack_seconds, clock.remaining_s) if limited else None
    part = search.part(packing.only(classes, count[classes]), start, seconds)
    before = part.value
    part.run()
    if part.value <= before + part.noise:
        return part.closed
    fresh = np.zeros((len(part.columns.group), packing.classes), dtype=np.int64)
    fresh[:, classes] = part.columns.on_it
    kept = np.delete(held, chosen, axis=0)
    rows = np.vstack([kept, np.repeat(fresh, part.copies, axis=0)])
    columns = Columns.joined([Columns.of(NEW, rows)])
    search.offer(columns, columns.copies_of(Columns.of(NEW, rows), np.ones(len(rows), dtype=np.int64)))
    return part.closed
