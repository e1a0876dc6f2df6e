"""A knapsack table that keeps one layer of values, and one bit for each item and capacity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from instances.arrays import IntArray
from instances.compiled import compile_lazily

BITS = 29  # bits of the maximum value; rounding adds at most one bit, so 32-bit integers hold it


@compile_lazily
def fill_table(
    size: IntArray, value: NDArray[np.int32], rows: IntArray, last: int, taken: NDArray[np.uint8]
) -> NDArray[np.int32]:  # pragma: no cover - compiled
    """Compute the maximum value at each capacity, if each of B items is used at most once.

    A capacity has a row, for all axes but the last, and an index on the last axis. The indices are unsigned, because
    the compiler vectorises only such loops.

    - `size` (B, d): size of each item on each axis; `value` (B,): its value.
    - `rows` (rows, d - 1): the capacities of each row.
    - `last`: number of capacities on the last axis.
    - `taken` (ceil(B / 8), rows * last): bit b % 8 of entry b // 8 becomes 1 if the best packing takes item b.

    Returns the values (rows * last,).
    """
    axes, many = size.shape[1], len(rows)
    before, after = np.zeros(many * last, dtype=np.int32), np.zeros(many * last, dtype=np.int32)
    step = np.ones(axes, dtype=np.int64)  # rows from one capacity of an axis to the next
    for a in range(axes - 3, -1, -1):
        step[a] = step[a + 1] * (rows[many - 1, a + 1] + 1)
    for b in range(len(size)):
        bit, worth, first, chosen = np.uint8(1 << (b % 8)), value[b], size[b, axes - 1], taken[b // 8]
        back = first
        for a in range(axes - 1):
            back += last * step[a] * size[b, a]
        shift = np.uint64(back)
        for row in range(many):
            fits = first < last
            for a in range(axes - 1):
                fits = fits and rows[row, a] >= size[b, a]
            begin, end = np.uint64(row * last), np.uint64((row + 1) * last)
            middle = begin + np.uint64(first) if fits else end
            for i in range(begin, middle):
                after[i] = before[i]
            for i in range(middle, end):
                after[i] = max(before[i - shift] + worth, before[i])
            for i in range(middle, end):
                chosen[i] |= bit if after[i] > before[i] else np.uint8(0)
        before, after = after, before
    return before


class BundleTable:
    """The maximum value at each capacity, as `KnapsackTable` computes it in more memory.

    The copies of an item are split into bundles of 1, 2, 4, ... and the rest. Each bundle is used at most once. Values
    are rounded up to multiples of `2**shift`, so the maximum value is an upper bound.

    - `size` (m, d): item sizes on the axes of the table.
    - `capacity` (d,): the largest capacity.
    """

    def __init__(self, size: IntArray, capacity: Sequence[int]) -> None:
        self.size, self.shape = size, tuple(int(c) + 1 for c in capacity)
        self.shift = 0
        self._share = (size / np.maximum(np.array(self.shape) - 1, 1)).sum(axis=1)
        self._strides = np.array([int(np.prod(self.shape[a + 1 :])) for a in range(len(self.shape))], dtype=np.int64)
        self._rows = np.array(list(product(*map(range, self.shape[:-1]))), dtype=np.int64)
        self._copies = np.zeros(len(size), dtype=np.int64)
        self._values = np.zeros(len(size), dtype=np.int64)
        self._item = self._number = np.zeros(0, dtype=np.int64)
        self._taken = np.zeros((0, 1), dtype=np.uint8)
        self._best: NDArray[np.int32]

    def limit(self, copies: IntArray) -> None:
        """Set the number of copies (m,) of each item."""
        self._copies = np.asarray(copies, dtype=np.int64)

    def fill(self, values: IntArray) -> None:
        """Compute the table for integer item values (m,); negative values count as 0."""
        self._values = np.maximum(values, 0)
        self.shift = max(0, int(self._value_limit()).bit_length() - BITS)
        bundles = [
            (j, min(1 << i, n - (1 << i) + 1))
            for j, n in enumerate(self._copies.tolist())
            if self._values[j]
            for i in range(n.bit_length())
        ]
        self._item, self._number = np.array(bundles, dtype=np.int64).reshape(-1, 2).T
        shape = -(-len(bundles) // 8), len(self._rows) * self.shape[-1]
        if self._taken.shape != shape:
            self._taken = np.zeros(shape, dtype=np.uint8)
        self._taken[...] = 0
        size = self.size[self._item] * self._number[:, None]
        value = -(-self._values[self._item] * self._number >> self.shift)  # rounded up
        self._best = fill_table(size, value.astype(np.int32), self._rows, self.shape[-1], self._taken)

    def best(self, capacity: Sequence[int]) -> int:
        """Return the maximum value at a capacity."""
        return int(self._best[self._state(capacity)]) << self.shift

    def best_with_each(self, capacity: Sequence[int]) -> IntArray:
        """Return the maximum value (m,) at a capacity with each item at least once; -1 if the item does not fit.

        An item whose copies are all used in the rest of the packing is counted once too often.
        """
        room = np.asarray(capacity, dtype=np.int64) - self.size
        inside = (room >= 0).all(axis=1)
        rest = self._best[np.where(inside, room @ self._strides, 0)].astype(np.int64) << self.shift
        return np.asarray(np.where(inside, rest + self._values, -1))

    def packing(self, capacity: Sequence[int]) -> dict[int, int]:
        """Return a best packing at a capacity, as {item: copies}."""
        found, state, top = dict[int, int](), self._state(capacity), len(self._item)
        while len(used := np.flatnonzero(np.unpackbits(self._taken[:, state], bitorder="little")[:top])):
            top = int(used[-1])
            j, n = int(self._item[top]), int(self._number[top])
            found[j] = found.get(j, 0) + n
            state -= n * int(self._strides @ self.size[j])
        return found

    def _value_limit(self) -> float:
        """Return a bound on the value of a packing, whose sizes as shares of capacity add up to d at most."""
        sized = self._share > 0
        dearest = float((self._values[sized] / self._share[sized]).max(initial=0.0))
        return len(self.shape) * dearest + float(self._values[~sized].astype(float) @ self._copies[~sized])

    def _state(self, capacity: Sequence[int]) -> int:
        return int(self._strides @ np.asarray(capacity, dtype=np.int64))
