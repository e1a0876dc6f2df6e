"""Eva's decisions in a round (section 4.5) as methods for `eva-reconfiguration`: Full, Partial, the choice, and none.

Full is Algorithm 1 for all tasks, in the version of the authors' artifact. Each existing instance continues as one of
the planned instances of its type, so that the maximum number of tasks stay. Partial keeps the instances that pay, packs
the other tasks onto those wherever they fit, as the artifact does, and rents instances for the rest by Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heuristics.eva.reconfiguration import ROUNDING, reconfigure
from instances import Solution
from instances.arrays import IntArray
from instances.eva import EvaReconfiguration, RentedInstance, keep_most_tasks
from instances.eva.arrays import Group as Planned
from instances.eva.reconfiguration_arrays import NEW, Placed, ReconfigurationArrays, reconfiguration_arrays
from instances.method import ANY, method

EQUAL_USD = 1e-9  # values this close to each other count as equal, for rounding


@method("heuristic", ANY)
def stay(data: EvaReconfiguration) -> Solution:
    """Keep all existing instances unchanged, and rent one of the cheapest type for each pending task."""
    arrays = reconfiguration_arrays(data)
    placed = [(g, group.kind, _tasks(group.on_it), len(group.ids)) for g, group in enumerate(arrays.groups)]
    waiting = arrays.packing.count - sum(group.on_it * len(group.ids) for group in arrays.groups)
    alone = arrays.packing.cheapest_type
    new = [(NEW, int(alone[c]), {c: 1}, n) for c, n in _tasks(waiting).items()]
    return arrays.solution([*placed, *new])


@method("heuristic", ANY)
def full(data: EvaReconfiguration) -> Solution:
    """Run Full Reconfiguration: Algorithm 1 for all tasks."""
    arrays = reconfiguration_arrays(data)
    return arrays.solution(_full(arrays))


@method("heuristic", ANY)
def partial(data: EvaReconfiguration) -> Solution:
    """Run Partial Reconfiguration: place pending tasks, and those on instances that do not pay, again."""
    arrays = reconfiguration_arrays(data)
    return arrays.solution(_partial(arrays))


@method("heuristic", ANY)
def eva_choice(data: EvaReconfiguration) -> Solution:
    """Choose Full Reconfiguration if it is worth more over the horizon than Partial, otherwise Partial."""
    arrays = reconfiguration_arrays(data)
    partial_plan, full_plan = _partial(arrays), _full(arrays)
    is_better = arrays.worth_usd(full_plan) > arrays.worth_usd(partial_plan) + EQUAL_USD
    return arrays.solution(full_plan if is_better else partial_plan)


def worth_of_partial(data: EvaReconfiguration) -> float:
    """Return the value of Partial Reconfiguration, USD."""
    arrays = reconfiguration_arrays(data)
    return arrays.worth_usd(_partial(arrays))


def _full(arrays: ReconfigurationArrays) -> list[Placed]:
    current = [
        RentedInstance(str(group.kind), {str(c): k for c, k in _tasks(group.on_it).items()}, name)
        for group in arrays.groups
        for name in group.ids
    ]
    planned = [
        RentedInstance(str(kind), {str(c): k for c, k in on_it.items() if k})
        for kind, on_it, copies in reconfigure(arrays.packing, moves_down=True)
        for _ in range(copies)
    ]
    group_of = {name: g for g, group in enumerate(arrays.groups) for name in group.ids}
    return [
        (
            NEW if instance.id is None else group_of[instance.id],
            int(instance.instance_type),
            {int(c): k for c, k in instance.tasks.items()},
            1,
        )
        for instance in keep_most_tasks(current, planned)
    ]


def _partial(arrays: ReconfigurationArrays) -> list[Placed]:
    packing = arrays.packing
    kept = [
        (g, group.on_it.copy())
        for g, group in enumerate(arrays.groups)
        for _ in group.ids
        if float(packing.value(group.on_it)) >= int(packing.price[group.kind]) * (1 - ROUNDING)
    ]
    left = packing.count - sum(on_it for _, on_it in kept)
    _pack(arrays, kept, left)
    classes = np.flatnonzero(left)
    new: list[Planned] = []
    if len(classes):
        new = reconfigure(packing.select_classes(classes, left[classes]), moves_down=True)
    placed: list[Placed] = [(g, arrays.groups[g].kind, _tasks(on_it), 1) for g, on_it in kept]
    placed += [(NEW, kind, {int(classes[c]): k for c, k in on_it.items()}, copies) for kind, on_it, copies in new]
    return placed


def _pack(arrays: ReconfigurationArrays, kept: list[tuple[int, IntArray]], left: IntArray) -> None:
    """Put tasks of `left` (N,) on kept instances while any fits, even if that does not pay.

    The pair of task and instance with the maximum TNRP of the instance comes next; ties go to the best-aligned pair.
    """
    packing = arrays.packing
    one = np.eye(packing.classes, dtype=np.int64)
    value = [np.full(packing.classes, -np.inf) for _ in kept]
    score = [np.zeros(packing.classes) for _ in kept]

    def evaluate(i: int) -> None:
        g, on_it = kept[i]
        kind = arrays.groups[g].kind
        demand, size = packing.demand_of_type[kind], packing.capacity[kind]
        free = size - on_it @ demand
        fits = (demand <= free).all(axis=1) & packing.fits[kind]
        value[i] = np.where(fits, packing.value(on_it + one), -np.inf)
        per_size = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0) ** 2
        score[i] = (demand * free * per_size).sum(axis=1)

    for i in range(len(kept)):
        evaluate(i)
    while kept and left.any():
        values = np.where(left > 0, np.array(value), -np.inf)
        best = values.max()
        if best == -np.inf:
            return
        tied = values >= best - ROUNDING * max(1.0, abs(best))
        i, c = divmod(int(np.where(tied, np.array(score), -np.inf).argmax()), packing.classes)
        kept[i][1][c] += 1
        left[c] -= 1
        evaluate(i)


def _tasks(on_it: IntArray) -> Mapping[int, int]:
    return {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}
