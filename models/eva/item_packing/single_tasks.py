"""Tasks one by one: the instance in which every task is a class of its own, and what that makes of configurations."""

from __future__ import annotations

import numpy as np

from instances.eva.arrays import PackingArrays
from models.eva.configuration import Column, Configuration


class SingleTasks:
    """The tasks of an instance, class after class: `arrays` of classes of one task each, `class_of` (tasks,) each task.

    - `classes`: the arrays of the instance.
    """

    def __init__(self, classes: PackingArrays) -> None:
        self.class_of = np.repeat(np.arange(classes.classes), classes.count)
        self.arrays = classes.only(self.class_of, np.ones(len(self.class_of), dtype=np.int64))
        self._first = np.concatenate([[0], np.cumsum(classes.count)]).tolist()

    def split(self, configuration: Configuration) -> Configuration:
        """A configuration of classes as one of tasks: each class hands out its tasks in turn, as long as there are."""
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

    def joined(self, packing: Configuration) -> Configuration:
        """A configuration of tasks as one of classes."""
        found: Configuration = {}
        for column, copies in packing.items():
            tasks: dict[int, int] = {}
            for i, q in column.pattern:
                tasks[int(self.class_of[i])] = tasks.get(int(self.class_of[i]), 0) + q
            kept = Column.of(column.type, tasks.items())
            found[kept] = found.get(kept, 0) + copies
        return found
