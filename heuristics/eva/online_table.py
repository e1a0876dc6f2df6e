"""What is learned of throughput, as compiled code takes it: pairs in a matrix, larger sets in a hash table."""

from __future__ import annotations

import numpy as np

from heuristics.eva.online_kernels import Table, copy_sets, store
from instances.eva.learned import LearnedThroughput, MeanThroughput

LEAST_SLOTS = 1 << 12
LARGEST_SET = 4096  # tasks on one instance whose default is worked out beforehand
SEED = 11  # of the random numbers of the classes, 64 bits each: two sets with one key are not to be expected


class LearnedTable:
    """The `Table` of a `LearnedThroughput`, for classes by their places in `names`, which are in order of name."""

    def __init__(self, names: list[str], default: float, *, interference: bool = True) -> None:
        self._place = {name: c for c, name in enumerate(names)}
        self._read = self._sets = 0
        n = len(names)
        weight = np.random.default_rng(SEED).integers(1, 2**63, size=n, dtype=np.uint64)
        self.table = Table(
            pair=np.full((n, n), default if interference else 1.0),
            known=np.full(n, not interference),
            power=np.array([default**k for k in range(LARGEST_SET)]),
            weight=weight,
            keys=np.zeros(LEAST_SLOTS, dtype=np.uint64),
            values=np.zeros(LEAST_SLOTS),
        )

    def update(self, learned: LearnedThroughput) -> None:
        """Take in what has been learned since the last call."""
        for entry in learned.changes[self._read :]:
            self._set(entry)
        self._read = len(learned.changes)

    def _set(self, entry: MeanThroughput) -> None:
        name, beside = entry.key
        kind = self._place[name]
        self.table.known[kind] = True
        if len(beside) == 1:
            self.table.pair[kind, self._place[beside[0]]] = entry.mean
        elif beside:
            self._set_of_many(kind, beside, entry.mean)

    def _set_of_many(self, kind: int, beside: tuple[str, ...], mean: float) -> None:
        self._sets += store(self.table, kind, np.array([self._place[name] for name in beside]), mean)
        if 2 * self._sets > len(self.table.keys):
            old, size = self.table, 2 * len(self.table.keys)
            self.table = old._replace(keys=np.zeros(size, dtype=np.uint64), values=np.zeros(size))
            copy_sets(old, self.table)
