"""The table of a bounded integer knapsack with several resources: the best packing at every capacity at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from instances.arrays import IntArray

VALUE_LIMIT = 2**52  # No packing may have a larger value: sums of a few table entries must fit 64-bit integers.
THIN = 100  # states of a slab, below which a call for each slab takes longer than a few passes over all states


@dataclass(frozen=True)
class Found:
    """Packings above a target, best last, as (value, {item: copies}); `complete`: no better packing was left out."""

    packings: list[tuple[int, dict[int, int]]]
    complete: bool


class KnapsackTable:
    """Layers `L_j(s)` of a dynamic program: the most value in capacity `s` from the first `j` items within the limits.

    `L_j(s) = max_{0 <= k <= u_j} k p_j + L_{j-1}(s - k w_j)`, in integers, so the values at all capacities are exact.

    `size` (m, d) are item sizes on the axes of the table, `capacity` (d,) the largest capacity.
    """

    def __init__(self, size: IntArray, capacity: Sequence[int]) -> None:
        self.size = size
        self.shape = tuple(int(c) + 1 for c in capacity)
        self._strides = np.array([int(np.prod(self.shape[a + 1 :])) for a in range(len(self.shape))], dtype=np.int64)
        self._offset = size @ self._strides
        self._sizes = [tuple(int(w) for w in row) for row in size]
        self._limits = [0] * len(size)
        self._fits = [min((c // w for c, w in zip(capacity, row, strict=True) if w), default=-1) for row in self._sizes]
        self._layers = np.zeros((len(size) + 1, *self.shape), dtype=np.int64)
        self._flat = self._layers.reshape(len(size) + 1, -1)
        self._values = np.zeros(len(size), dtype=np.int64)

    def limit(self, copies: IntArray) -> None:
        """Set how many copies (m,) there are of each item."""
        self._limits = [int(u) for u in copies]

    def fill(self, values: IntArray) -> None:
        """Compute all layers for integer item values (m,); no packing may have a value above `VALUE_LIMIT`."""
        self._values = np.maximum(values, 0)
        for j, value in enumerate(self._values):
            layer = self._layers[j + 1, ...]
            layer[...] = self._layers[j]
            if value == 0 or self._limits[j] == 0:
                continue
            if self._fits[j] < 0:
                layer += np.int64(value * self._limits[j])
            elif self._limits[j] >= self._fits[j] and self._fits[j] * THIN < layer.size:
                self._use_freely(layer, self._sizes[j], np.int64(value))
            else:
                self._use_within(layer, self._sizes[j], int(value), min(self._limits[j], self._fits[j]))

    def _use_freely(self, layer: IntArray, size: tuple[int, ...], value: np.int64) -> None:
        """Any number of copies: slabs as thick as the item, each from the slab before: each state is visited once."""
        axis = max(range(len(size)), key=lambda a: size[a] / self.shape[a])
        step = size[axis]
        target = [slice(w, None) for w in size]
        source = [slice(0, c - w) for c, w in zip(self.shape, size, strict=True)]
        for start in range(step, self.shape[axis], step):
            stop = min(start + step, self.shape[axis])
            target[axis], source[axis] = slice(start, stop), slice(start - step, stop - step)
            view = layer[tuple(target)]
            np.maximum(view, layer[tuple(source)] + value, out=view)

    def _use_within(self, layer: IntArray, size: tuple[int, ...], value: int, limit: int) -> None:
        """At most `limit` copies: bundles of 1, 2, 4, ... and the rest, each used once."""
        bundle = 1
        while limit > 0:
            take = min(bundle, limit)
            target = tuple(slice(take * w, None) for w in size)
            source = tuple(slice(0, c - take * w) for c, w in zip(self.shape, size, strict=True))
            view = layer[target]
            np.maximum(view, layer[source] + np.int64(take * value), out=view)
            limit -= take
            bundle *= 2

    def best(self, capacity: Sequence[int]) -> int:
        """The most value at a capacity."""
        return int(self._flat[-1, int(self._strides @ np.asarray(capacity, dtype=np.int64))])

    def best_with_each(self, capacity: Sequence[int]) -> IntArray:
        """The most value (m,) at a capacity with each item at least once; -1 where the item does not fit.

        An item whose copies are all used in the rest of the packing is counted once too often.
        """
        room = np.asarray(capacity, dtype=np.int64) - self.size
        inside = (room >= 0).all(axis=1)
        state = np.where(inside, room @ self._strides, 0)
        return np.asarray(np.where(inside, self._flat[-1, state].astype(np.int64) + self._values, -1))

    def packing(self, capacity: Sequence[int]) -> dict[int, int]:
        """A best packing at a capacity, as {item: copies}."""
        state, top = int(self._strides @ np.asarray(capacity, dtype=np.int64)), len(self._sizes)
        packing: dict[int, int] = {}
        while True:
            goal = int(self._flat[top, state])
            if goal == 0:
                return packing
            j = int(np.searchsorted(self._flat[: top + 1, state], goal)) - 1
            packing[j] = self._copies(j, state, goal)
            state -= packing[j] * int(self._offset[j])
            top = j

    def _copies(self, j: int, state: int, goal: int) -> int:
        """How many copies of item j, the fewest, bring layer j to `goal` at a state."""
        value, step = int(self._values[j]), int(self._offset[j])
        if step == 0:
            return (goal - int(self._flat[j, state])) // value
        first, many = 0, 8
        while True:
            copies = np.arange(first, min(first + many, state // step + 1), dtype=np.int64)
            found = np.flatnonzero(self._flat[j, state - step * copies] + copies * value == goal)
            if len(found):
                return int(copies[found[0]])
            first, many = first + many, 8 * many

    def search(
        self,
        capacity: Sequence[int],
        room: IntArray,
        size: IntArray,
        values: IntArray,
        charge: IntArray,
        limit: IntArray,
        target: int,
        node_limit: int,
        every: bool = False,
    ) -> Found:
        """Packings of value above `target` by a depth-first branch and bound, with the bounds of the table.

        The axes of the table are some of the R resources. The table was filled with `values - size @ charge`, so that
        the tasks that still fit a room s have a value of at most `L_j(s) + charge . s`. Items are taken in falling
        position, so that the layers of the table bound every branch. Each packing found raises the target, unless
        `every` packing is wanted.

        - `capacity`: the room on the axes of the table.
        - `room` (R,): the room on all resources.
        - `size` (m, R): sizes of the items.
        - `values` (m,): values of the items.
        - `charge` (R,): Lagrangian prices of the resources that are not axes, 0 for the others.
        - `limit` (m,): most copies of each item, no more than the limits of the table.
        - `target`: the value to exceed.
        - `node_limit`: most nodes of the search.
        - `every`: give all packings above the target to which no item can be added, instead of better and better ones.
        """
        packings: list[tuple[int, dict[int, int]]] = []
        state = int(self._strides @ np.asarray(capacity, dtype=np.int64))
        bound = self.best(capacity) + int(charge @ room)
        stack: list[tuple[int, int, IntArray, int, int, dict[int, int]]] = [(bound, len(size), room, state, 0, {})]
        for _ in range(node_limit):
            if not stack:
                return Found(packings, True)
            bound, top, room, state, value, packing = stack.pop()
            if bound <= target:
                continue
            if value > target and not (every and self._extendable(packing, room, size, limit)):
                packings.append((value, packing))
                target = target if every else value
            if top and packing.get(top - 1, 0) >= limit[top - 1]:
                top -= 1
            rest = room - size[:top]
            items = np.flatnonzero((rest >= 0).all(axis=1) & (limit[:top] > 0))
            after = state - self._offset[items]
            reached = value + values[items]
            bounds = reached + self._flat[items + 1, after] + rest[items] @ charge
            for i in np.argsort(bounds, kind="stable")[np.count_nonzero(bounds <= target) :]:
                j = int(items[i])
                stack.append(
                    (
                        int(bounds[i]),
                        j + 1,
                        rest[j],
                        int(after[i]),
                        int(reached[i]),
                        {**packing, j: packing.get(j, 0) + 1},
                    )
                )
        return Found(packings, not stack)

    @staticmethod
    def _extendable(packing: dict[int, int], room: IntArray, size: IntArray, limit: IntArray) -> bool:
        fits = (size <= room).all(axis=1) & (limit > 0)
        return any(packing.get(int(j), 0) < limit[j] for j in np.flatnonzero(fits))
