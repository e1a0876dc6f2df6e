"""What Eva does in a round (section 4.5), as methods for `eva-reconfiguration`: Full, Partial, the choice, and nothing.

Full is Algorithm 1 for all tasks, in the version of the authors' artifact, and each existing instance goes on as one of
the planned instances of its type, such that the most tasks stay. Partial keeps the instances that pay, packs the other
tasks beside those wherever they fit, as the artifact does, and rents for the rest by Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from heuristics.eva.reconfiguration import ROUNDING, reconfigure
from instances import Solution
from instances.arrays import IntArray
from instances.eva import EvaReconfiguration, RentedInstance, most_kept
from instances.eva.arrays import Group as Planned
from instances.eva.reconfiguration_arrays import NEW, Placed, ReconfigurationArrays, reconfiguration_arrays
from instances.method import ANY, method

EQUAL_USD = 1e-9  # Worths this close to each other count as equal.


@method("heuristic", ANY)
def stay(data: EvaReconfiguration) -> Solution:
    """All existing instances as they are, and a new one of the cheapest type for each task that waits."""
    arrays = reconfiguration_arrays(data)
    placed = [(g, group.kind, _tasks(group.on_it), len(group.ids)) for g, group in enumerate(arrays.groups)]
    waiting = arrays.packing.count - _held(arrays, placed)
    alone = arrays.packing.cheapest_type
    new = [(NEW, int(alone[c]), {int(c): 1}, int(waiting[c])) for c in np.flatnonzero(waiting)]
    return arrays.solution([*placed, *new])


@method("heuristic", ANY)
def full(data: EvaReconfiguration) -> Solution:
    """Full Reconfiguration: Algorithm 1 for all tasks."""
    arrays = reconfiguration_arrays(data)
    return arrays.solution(_full(arrays))


@method("heuristic", ANY)
def partial(data: EvaReconfiguration) -> Solution:
    """Partial Reconfiguration: what waits, and what is on instances that do not pay, is placed anew."""
    arrays = reconfiguration_arrays(data)
    return arrays.solution(_partial(arrays))


@method("heuristic", ANY)
def eva_choice(data: EvaReconfiguration) -> Solution:
    """Full Reconfiguration where it promises more over the horizon than Partial does, which it is otherwise."""
    arrays = reconfiguration_arrays(data)
    usual, anew = _partial(arrays), _full(arrays)
    return arrays.solution(anew if arrays.worth_usd(anew) > arrays.worth_usd(usual) + EQUAL_USD else usual)


def worth_of_partial(data: EvaReconfiguration) -> float:
    """What Partial Reconfiguration is worth, USD."""
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
        for instance in most_kept(current, planned)
    ]


def _partial(arrays: ReconfigurationArrays) -> list[Placed]:
    packing = arrays.packing
    kept = [
        (g, group.on_it.copy())
        for g, group in enumerate(arrays.groups)
        for _ in group.ids
        if float(packing.value(group.on_it)) >= int(packing.price[group.kind]) * (1 - ROUNDING)
    ]
    left = packing.count - sum((on_it for _, on_it in kept), np.zeros(packing.classes, dtype=np.int64))
    _pack(arrays, kept, left)
    classes = np.flatnonzero(left)
    new: list[Planned] = []
    if len(classes):
        new = reconfigure(packing.only(classes, left[classes]), moves_down=True)
    placed: list[Placed] = [(g, arrays.groups[g].kind, _tasks(on_it), 1) for g, on_it in kept]
    placed += [(NEW, kind, {int(classes[c]): k for c, k in on_it.items()}, copies) for kind, on_it, copies in new]
    return placed


def _pack(arrays: ReconfigurationArrays, kept: list[tuple[int, IntArray]], left: IntArray) -> None:
    """Put tasks of `left` (N,) on kept instances as long as any fits, whether that pays or not.

    Of all tasks and instances the ones of the greatest TNRP together come next, of equal ones the best aligned.
    """
    packing = arrays.packing
    one = np.eye(packing.classes, dtype=np.int64)
    value = [np.full(packing.classes, -np.inf) for _ in kept]
    score = [np.zeros(packing.classes) for _ in kept]

    def look(i: int) -> None:
        g, on_it = kept[i]
        kind = arrays.groups[g].kind
        demand, size = packing.demand_of_type[kind], packing.capacity[kind]
        free = size - on_it @ demand
        fits = (demand <= free).all(axis=1) & packing.fits[kind]
        value[i] = np.where(fits, packing.value(on_it + one), -np.inf)
        per_size = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0) ** 2
        score[i] = (demand * free * per_size).sum(axis=1)

    for i in range(len(kept)):
        look(i)
    while kept and left.any():
        values = np.where(left > 0, np.array(value), -np.inf)
        best = values.max()
        if best == -np.inf:
            return
        tied = values >= best - ROUNDING * max(1.0, abs(best))
        i, c = divmod(int(np.where(tied, np.array(score), -np.inf).argmax()), packing.classes)
        kept[i][1][c] += 1
        left[c] -= 1
        look(i)


def _held(arrays: ReconfigurationArrays, placed: Iterable[Placed]) -> IntArray:
    """Tasks (N,) of each class that are placed."""
    held = np.zeros(arrays.packing.classes, dtype=np.int64)
    for _, _, on_it, copies in placed:
        for c, k in on_it.items():
            held[c] += k * copies
    return held


def _tasks(on_it: IntArray) -> Mapping[int, int]:
    return {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}
