"""Classical greedy heuristics of vector bin packing, on one instance type.

First and best fit take the tasks in falling order of the sum of their shares of an instance (FFDSum of Namyar et al.,
"Finding Adversarial Inputs for Heuristics using Multi-level Optimization", NSDI'24, section 4); dot product fills one
instance after the other (Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for Vector Bin Packing", 2011, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm

from instances import Answer
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import ANY, method


class TaskShares:
    """Demands of all tasks, the largest sum of shares first, in whole shares of an instance, of which one has `room`.

    A task without a share is as good as any. `kinds`: the class of each task.
    """

    def __init__(self, arrays: PackingArrays) -> None:
        capacity = [int(q) for q in arrays.capacity[0]]
        used = [r for r, q in enumerate(capacity) if q]
        self.room = lcm(*(capacity[r] for r in used)) if used else 1
        units = {r: self.room // capacity[r] for r in used}
        shares = [[int(d[r]) * units[r] for r in used] for d in arrays.demand[int(arrays.family[0])].tolist()]
        order = sorted(range(len(shares)), key=lambda c: (-sum(shares[c]), c))
        self.kinds = [c for c in order for _ in range(int(arrays.count[c]))]
        self.tasks = [shares[c] for c in self.kinds]
        self.free = [self.room] * len(used)


def by_fit(shares: TaskShares, best: bool) -> Iterator[list[int]]:
    """The tasks on each instance: each goes to the first one with room, or to the one that is fullest in all."""
    free: list[list[int]] = []
    packed: list[list[int]] = []
    for kind, task in zip(shares.kinds, shares.tasks, strict=True):
        open_ = [i for i, left in enumerate(free) if all(d <= f for d, f in zip(task, left, strict=True))]
        if not open_:
            free.append(list(shares.free))
            packed.append([])
            open_ = [len(free) - 1]
        i = min(open_, key=lambda i: sum(free[i])) if best else open_[0]
        free[i] = [f - d for d, f in zip(task, free[i], strict=True)]
        packed[i].append(kind)
    yield from packed


def by_dot_product(shares: TaskShares) -> Iterator[list[int]]:
    """The tasks on each instance, filled with the task of the largest product of demand and room that is left."""
    left = list(range(len(shares.tasks)))
    while left:
        free, packed = list(shares.free), []
        while True:
            fitting = [t for t in left if all(d <= f for d, f in zip(shares.tasks[t], free, strict=True))]
            if not fitting:
                break
            t = max(fitting, key=lambda t: sum(d * f for d, f in zip(shares.tasks[t], free, strict=True)))
            free = [f - d for d, f in zip(shares.tasks[t], free, strict=True)]
            packed.append(shares.kinds[t])
            left.remove(t)
        yield packed


def _answer(arrays: PackingArrays, instances: Iterator[Sequence[int]]) -> Answer:
    groups: list[Group] = [(0, {c: packed.count(c) for c in dict.fromkeys(packed)}, 1) for packed in instances]
    return Answer(arrays.solution(groups))


@method("heuristic", ANY)
def first_fit_decreasing(data: EvaPacking) -> Answer:
    """First fit by falling sums of shares (FFDSum)."""
    arrays = packing_arrays(data)
    return _answer(arrays, by_fit(TaskShares(arrays), best=False))


@method("heuristic", ANY)
def best_fit_decreasing(data: EvaPacking) -> Answer:
    """Best fit by falling sums of shares: the instance with the least room in all that still holds the task."""
    arrays = packing_arrays(data)
    return _answer(arrays, by_fit(TaskShares(arrays), best=True))


@method("heuristic", ANY)
def dot_product(data: EvaPacking) -> Answer:
    """Dot product: an instance is filled with the task whose demand points most nearly to the room that is left."""
    arrays = packing_arrays(data)
    return _answer(arrays, by_dot_product(TaskShares(arrays)))
