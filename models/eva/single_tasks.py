"""Tasks one by one, and first packings of them by best fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compile_lazily
from instances.eva.arrays import IntArray, PackingArrays
from models.eva.configuration import Column, Configuration, trim


class SingleTasks:
    """The tasks of an instance, class after class.

    `arrays` has a class for each task, and `class_of` (tasks,) is the original class of each task.

    - `classes`: the arrays of the instance.
    """

    def __init__(self, classes: PackingArrays) -> None:
        self.class_of = np.repeat(np.arange(classes.classes), classes.count)
        self.arrays = classes.select_classes(self.class_of, np.ones(len(self.class_of), dtype=np.int64))
        self._first = np.concatenate([[0], np.cumsum(classes.count)]).tolist()

    def split(self, configuration: Configuration) -> Configuration:
        """Convert a configuration of classes to one of tasks; tasks that it holds too often are dropped."""
        given = list(self._first)
        found: Configuration = {}
        for column, copies in configuration.items():
            for _ in range(copies):
                tasks: list[tuple[int, int]] = []
                for c, q in column.pattern:
                    last = min(given[c] + q, self._first[c + 1])
                    tasks += [(i, 1) for i in range(given[c], last)]
                    given[c] = last
                if tasks:
                    found[Column.of(column.type, tasks)] = 1
        return found

    def join_classes(self, packing: Configuration) -> Configuration:
        """Convert a configuration of tasks to one of classes."""
        found: Configuration = {}
        for column, copies in packing.items():
            tasks: dict[int, int] = {}
            for i, q in column.pattern:
                tasks[int(self.class_of[i])] = tasks.get(int(self.class_of[i]), 0) + q
            kept = Column.of(column.type, tasks.items())
            found[kept] = found.get(kept, 0) + copies
        return found


MIXES = 5


def best_fit(arrays: PackingArrays) -> list[Configuration]:
    """Return packings by best fit decreasing, one for each type and each order of the tasks.

    Each class has one task. If a type does not hold a task, the task is alone on its cheapest type.
    """
    found = []
    for k in range(len(arrays.price)):
        held = np.flatnonzero(arrays.fits[k])
        if not len(held):
            continue
        share = arrays.demand[arrays.family[k], held] / np.maximum(arrays.capacity[k], 1)
        load = share.sum(axis=0) / max(share.sum(), 1e-12)
        keys = [share @ load, share.max(axis=1), (share**2) @ load]
        keys += [share @ mix for mix in _mixes(share.shape[1])]
        for key in keys:
            order = held[np.lexsort((held, -key))]
            bins = _fill(arrays.demand[arrays.family[k], order], arrays.capacity[k], share.shape[1] * load)
            packed: dict[int, list[int]] = {}
            for c, b in zip(order.tolist(), bins.tolist(), strict=True):
                packed.setdefault(b, []).append(c)
            cover: Configuration = {Column.of(k, ((c, 1) for c in on_it)): 1 for on_it in packed.values()}
            for c in np.flatnonzero(~arrays.fits[k]).tolist():
                cover[Column.of(int(arrays.cheapest_type[c]), [(c, 1)])] = 1
            found.append(trim(arrays, cover))
    return found


def _mixes(resources: int) -> NDArray[np.float64]:
    """Return weights (M, R) of the resources, with emphasis on one resource after another."""
    mixes = []
    for r in range(resources):
        for favour in np.linspace(0.2, 0.8, MIXES):
            mixes.append(np.where(np.arange(resources) == r, favour, (1 - favour) / max(1, resources - 1)))
    return np.array(mixes)


@compile_lazily
def _fill(size: IntArray, room: IntArray, weight: NDArray[np.float64]) -> IntArray:
    """Pack items in the given order, each into the fullest bin that holds it; return the bin of each item."""
    n, resources = size.shape
    left = np.empty((n, resources), dtype=np.int64)
    bins = np.empty(n, dtype=np.int64)
    opened = 0
    for i in range(n):
        best, least = -1, 0.0
        for b in range(opened):
            rest = 0.0
            for r in range(resources):
                if left[b, r] < size[i, r]:
                    rest = -1.0
                    break
                rest += weight[r] * (left[b, r] - size[i, r]) / max(room[r], 1)
            if rest >= 0.0 and (best < 0 or rest < least):
                best, least = b, rest
        if best < 0:
            best = opened
            for r in range(resources):
                left[best, r] = room[r]
            opened += 1
        for r in range(resources):
            left[best, r] -= size[i, r]
        bins[i] = best
    return bins
