"""Eva's net saving in HiGHS: all contents of an instance that save something, and how many of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.peers.eva.patterns import Pattern, refuse_other_packings
from experiments.peers.highs import solve_highs
from instances import Answer, Options, Report, Solution
from instances.arrays import FloatArray
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import contents as contents_of
from instances.method import method
from models.core.highs import LinearModel

MOST = 1_000_000  # contents of a type that are listed


class TooManyContents(Exception):
    """An instance type holds more contents than are listed."""


def saving_contents(arrays: PackingArrays) -> dict[Pattern, tuple[float, int]]:
    """The contents that save something, each with what it saves, in price units, on the type where that is most."""
    data = arrays.data
    class_of = {entry: c for c, entries in enumerate(arrays.members) for entry in entries}
    best: dict[Pattern, tuple[float, int]] = {}
    for kind, place in enumerate(arrays.type_of):
        listed = contents_of(data, data.instance_types[place], MOST)
        if listed is None:
            raise TooManyContents(f"{data.instance_types[place].name} holds more than {MOST:,} contents")
        held = np.zeros((len(listed), arrays.classes), dtype=np.int64)
        for row, content in zip(held, listed, strict=True):
            for entry, k in content.items():
                row[class_of[entry]] += k
        saved = arrays.value(held) - arrays.price[kind]
        for p in np.flatnonzero(saved > 0).tolist():
            pattern = tuple(held[p].tolist())
            best[pattern] = max(best.get(pattern, (0.0, kind)), (float(saved[p]), kind))
    return best


def build_contents(data: EvaPacking) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """maximise Σ_p s_p y_p where Σ_p a_pi y_p <= n_i for each class i of n_i tasks, y_p whole.

    A task in none of these contents is alone on its cheapest type, which saves nothing.
    """
    arrays = packing_arrays(data)
    found = saving_contents(arrays)
    patterns, (saved, kinds) = list(found), zip(*found.values(), strict=True) if found else ((), ())
    model = LinearModel(
        cost=np.array(saved, dtype=float),
        matrix=np.array(patterns, dtype=float).reshape(-1, arrays.classes).T,
        row_lower=-np.inf,
        row_upper=arrays.count.astype(float),
        integer=True,
        sense="maximize",
    )

    def read(x: FloatArray) -> Solution:
        copies = {p: round(number) for p, number in enumerate(x.tolist()) if number > 0.5}
        groups = [(kinds[p], {c: k for c, k in enumerate(patterns[p]) if k}, n) for p, n in copies.items()]
        alone = arrays.count - sum((n * np.array(patterns[p]) for p, n in copies.items()), np.zeros_like(arrays.count))
        cheapest = zip(arrays.cheapest_type.tolist(), alone.tolist(), strict=True)
        return arrays.solution([*groups, *((kind, {c: 1}, n) for c, (kind, n) in enumerate(cheapest) if n)])

    return model, read


@method("exact")
def contents(data: EvaPacking, options: Options, report: Report) -> Answer:
    """The net saving by HiGHS over all contents; no solution where they are too many to list."""
    refuse_other_packings(data, "net-saving")
    try:
        return solve_highs(build_contents, data, options, report, float(packing_arrays(data).price_unit))
    except TooManyContents as error:
        return Answer(None, reason=str(error))
