"""Ruin and recreate (Schrimpf et al., 2000): a few instances are emptied and their tasks packed anew, many times."""

from __future__ import annotations

from collections import Counter

import numpy as np

from instances.eva.arrays import PackingArrays
from models.eva.column_generation.parameters import ColumnGenerationParameters
from models.eva.column_generation.recreate_kernels import Guide, Packing, ruin_and_recreate
from models.eva.column_generation.start_duals import ResourcePrices
from models.eva.configuration import Column, Configuration, price


class Ruin:
    """Local search over the instances of a configuration, which never costs more than at the start.

    Each task is on its own in the search. Values that tasks pay for resources guide the search.

    - `arrays`: the instance.
    - `prices`: what resources and tasks are worth.
    - `parameters`: the constants.
    - `seed`: seed of all draws.

    `cost` is that of the configuration so far, `rounds` how many there have been.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        prices: ResourcePrices,
        parameters: ColumnGenerationParameters,
        seed: int,
    ) -> None:
        self.arrays, self.parameters = arrays, parameters
        self._state = np.random.default_rng(seed).integers(2**63, size=1).astype(np.uint64)
        self.rounds = 0
        self._class_of = np.repeat(np.arange(arrays.classes), arrays.count)
        self._guide = Guide(
            np.ascontiguousarray(arrays.demand[:, self._class_of]),
            np.ascontiguousarray(arrays.capacity),
            np.ascontiguousarray(arrays.family.astype(np.int64)),
            np.ascontiguousarray(arrays.price),
            np.flatnonzero(arrays.fits.any(axis=1)),
            np.ascontiguousarray(prices.duals[self._class_of]),
            np.ascontiguousarray(prices.unit),
            parameters.ruined - 1,
            parameters.ruined_tasks,
            parameters.recreate_nodes,
            parameters.recreate_tries,
        )
        self.cost = 0
        self._packing: Packing

    def set(self, configuration: Configuration) -> None:
        """Begin from a configuration that holds each task once."""
        guide, tasks = self._guide, len(self._class_of)
        begin = np.concatenate([[0], np.cumsum(self.arrays.count)[:-1]]).tolist()
        packing = Packing(
            np.full(tasks + 1, -1, dtype=np.int64),
            np.full(tasks + 1, -1, dtype=np.int64),
            np.full(tasks, -1, dtype=np.int64),
            np.zeros(tasks + 1),
            np.zeros(1, dtype=np.int64),
        )
        i = 0
        for column, copies in configuration.items():
            for _ in range(copies):
                packing.kind[i], packing.waste[i] = column.type, guide.price[column.type]
                for c, q in column.pattern:
                    for t in range(begin[c], begin[c] + q):
                        packing.after[t], packing.head[i] = packing.head[i], t
                        packing.waste[i] -= guide.value[t]
                    begin[c] += q
                i += 1
        packing.used[0] = i
        self._packing, self.cost = packing, price(self.arrays, configuration)

    def run(self, iterations: int) -> int:
        """So many ruins; what the configuration costs less, in price units."""
        self.rounds += 1
        tolerance = self.parameters.ruin_tolerances[self.rounds % len(self.parameters.ruin_tolerances)]
        saved = int(ruin_and_recreate(self._guide, self._packing, iterations, self._state, tolerance))
        self.cost -= saved
        return saved

    @property
    def configuration(self) -> Configuration:
        """The configuration so far."""
        found: Counter[Column] = Counter()
        for i in range(int(self._packing.used[0])):
            on_it: Counter[int] = Counter()
            t = int(self._packing.head[i])
            while t >= 0:
                on_it[int(self._class_of[t])] += 1
                t = int(self._packing.after[t])
            found[Column.of(int(self._packing.kind[i]), on_it.items())] += 1
        return dict(found)
