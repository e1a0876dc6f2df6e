"""Classical greedy heuristics of vector bin packing, on one instance type.

First fit and best fit take the tasks by decreasing sum of their normalised demands (FFDSum of Namyar et al., "Finding
Adversarial Inputs for Heuristics using Multi-level Optimization", NSDI'24, section 4). The dot-product heuristic fills
one instance after another (Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for Vector Bin Packing", 2011, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm

from instances import Answer
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.eva.arrays import Group
from instances.method import ANY, method


class TaskShares:
    """Normalised demands of all tasks, by decreasing sum, as integers in units of which an instance has `room`.

    - `kinds`: the class of each task.
    - `tasks`: the normalised demand of each task.
    - `free`: the normalised capacity of an instance.
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


def pack_by_fit(shares: TaskShares, best: bool) -> Iterator[list[int]]:
    """Yield the tasks on each instance by first fit, or by best fit: the fullest instance that holds the task."""
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


def pack_by_dot_product(shares: TaskShares) -> Iterator[list[int]]:
    """Yield the tasks on each instance, filled by the largest dot product of demand and free capacity."""
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
    """Pack by first fit, tasks by decreasing sum of normalised demands (FFDSum)."""
    arrays = packing_arrays(data)
    return _answer(arrays, pack_by_fit(TaskShares(arrays), best=False))


@method("heuristic", ANY)
def best_fit_decreasing(data: EvaPacking) -> Answer:
    """Pack by best fit, tasks by decreasing sum of normalised demands: the fullest instance that holds the task."""
    arrays = packing_arrays(data)
    return _answer(arrays, pack_by_fit(TaskShares(arrays), best=True))


@method("heuristic", ANY)
def dot_product(data: EvaPacking) -> Answer:
    """Fill each instance with the task whose demand is best aligned with the free capacity: dot-product heuristic."""
    arrays = packing_arrays(data)
    return _answer(arrays, pack_by_dot_product(TaskShares(arrays)))
