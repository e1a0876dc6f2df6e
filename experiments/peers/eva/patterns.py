"""Eva's packing in HiGHS: all maximal patterns, each on the cheapest type that holds it, and how many of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from experiments.peers.highs import solve_highs
from instances import Answer, InputError, Options, Report, Solution
from instances.arrays import FloatArray
from instances.eva import EvaPacking, PackingArrays, constraints_of, packing_arrays
from instances.eva.arrays import Group
from instances.eva.packing import Objective
from instances.method import method
from models.core.highs import LinearModel

Pattern = tuple[int, ...]
"""Tasks of each class on one instance."""


def maximal_patterns(arrays: PackingArrays) -> dict[Pattern, int]:
    """Patterns to which no task can be added, and the cheapest type of each."""
    cheapest: dict[Pattern, int] = {}
    price = arrays.price.tolist()
    for kind in range(len(price)):
        for pattern in _maximal_of_type(arrays, kind):
            if kind == cheapest.setdefault(pattern, kind) or price[kind] < price[cheapest[pattern]]:
                cheapest[pattern] = kind
    return cheapest


def _maximal_of_type(arrays: PackingArrays, kind: int) -> Iterator[Pattern]:
    """Depth first over the classes, each with the most tasks first."""
    needs, count = arrays.demand_of_type[kind].tolist(), arrays.count.tolist()

    def most(c: int, free: list[int]) -> int:
        return min([count[c], *(f // d for f, d in zip(free, needs[c], strict=True) if d)])

    def extended(pattern: Pattern, free: list[int]) -> Iterator[Pattern]:
        c = len(pattern)
        if c == len(count):
            if any(pattern) and not any(k < count[i] and most(i, free) for i, k in enumerate(pattern)):
                yield pattern
            return
        for k in range(most(c, free), -1, -1):
            yield from extended((*pattern, k), [f - k * d for f, d in zip(free, needs[c], strict=True)])

    yield from extended((), arrays.capacity[kind].tolist())


def build_patterns(data: EvaPacking) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """minimise Σ_p c_p y_p where Σ_p a_pi y_p >= n_i for each class i of n_i tasks, y_p whole."""
    arrays = packing_arrays(data)
    found = maximal_patterns(arrays)
    patterns, kinds = list(found), list(found.values())
    return covering(arrays, patterns, kinds)


def covering(
    arrays: PackingArrays, patterns: list[Pattern], kinds: list[int]
) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """The model over some patterns, each on its type. Its objective is in price units."""
    model = LinearModel(
        cost=arrays.price[kinds].astype(float),
        matrix=np.array(patterns, dtype=float).T,
        row_lower=arrays.count.astype(float),
        row_upper=np.inf,
        integer=True,
    )

    def read(x: FloatArray) -> Solution:
        copies = {p: round(number) for p, number in enumerate(x.tolist()) if number > 0.5}
        return arrays.solution(_without_surplus(arrays, [(kinds[p], patterns[p], n) for p, n in copies.items()]))

    return model, read


def _without_surplus(arrays: PackingArrays, covered: list[tuple[int, Pattern, int]]) -> Iterator[Group]:
    """The instances of a cover, with tasks as long as there are any."""
    left = arrays.count.tolist()
    for kind, pattern, copies in covered:
        for _ in range(copies):
            held: Mapping[int, int] = {c: min(k, left[c]) for c, k in enumerate(pattern) if min(k, left[c])}
            for c, k in held.items():
                left[c] -= k
            if held:
                yield kind, held, 1


def refuse_other_packings(data: EvaPacking, objective: Objective = "cost") -> None:
    """Raise InputError for a packing with another objective, or with constraints beyond capacities."""
    if data.objective != objective:
        raise InputError(f"data.objective: must be {objective} for this peer, got {data.objective}")
    for name in constraints_of(data):
        raise InputError(f"data.{name}: this peer has no such constraint")


@method("exact")
def patterns(data: EvaPacking, options: Options, report: Report) -> Answer:
    """The packing by HiGHS over all maximal patterns."""
    refuse_other_packings(data)
    return solve_highs(build_patterns, data, options, report, float(packing_arrays(data).price_unit))
