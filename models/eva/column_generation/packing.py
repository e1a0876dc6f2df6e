"""The packing problem as arrays: classes of identical tasks, instance types, integer prices and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """A pattern on a type: how many tasks of each class one instance of that type holds, as sorted (class, copies)."""

    type: int
    pattern: tuple[tuple[int, int], ...]

    @staticmethod
    def of(instance_type: int, tasks: Iterable[tuple[int, int]]) -> Column:
        """A column from (class, copies) pairs in any order; zeros are left out."""
        return Column(instance_type, tuple(sorted((int(c), int(q)) for c, q in tasks if q > 0)))


Configuration = dict[Column, int]
"""How many instances there are of each column."""


@dataclass(frozen=True, eq=False)
class Packing:
    """Minimise the price of instances that hold all tasks.

    ``counts`` (n,) tasks of each class; ``prices`` (K,) integers; ``capacity`` (K, R) integers; ``family`` (K,) indices
    into ``demand`` (F, n, R) integers, because a task may demand more on one family of types than on another.
    """

    counts: Ints
    prices: tuple[int, ...]
    capacity: Ints
    family: tuple[int, ...]
    demand: Ints

    @staticmethod
    def of(
        counts: ArrayLike, prices: Sequence[int], capacity: ArrayLike, family: Sequence[int], demand: ArrayLike
    ) -> Packing:
        """Check shapes and values; raises ValueError, also where a class fits no type."""
        packing = Packing(
            np.asarray(counts, dtype=np.int64),
            tuple(int(p) for p in prices),
            np.asarray(capacity, dtype=np.int64),
            tuple(int(f) for f in family),
            np.asarray(demand, dtype=np.int64),
        )
        kinds, resources = packing.capacity.shape
        if len(packing.prices) != kinds or len(packing.family) != kinds:
            raise ValueError(f"prices and family must have one entry per type ({kinds})")
        families = len(set(packing.family))
        if sorted(set(packing.family)) != list(range(families)):
            raise ValueError("family must be numbered from 0 without gaps")
        if packing.demand.shape != (families, len(packing.counts), resources):
            raise ValueError(f"demand must have shape {(families, len(packing.counts), resources)}")
        if (
            min(packing.prices) <= 0
            or packing.counts.min() <= 0
            or packing.demand.min() < 0
            or packing.capacity.min() < 0
        ):
            raise ValueError("prices and counts must be positive, capacity and demand non-negative")
        lost = np.flatnonzero(~packing.fits.any(axis=0))
        if len(lost):
            raise ValueError(f"class {lost[0]} fits no type")
        return packing

    @property
    def families(self) -> int:
        """Number of families."""
        return len(self.demand)

    @cached_property
    def fits(self) -> NDArray[np.bool_]:
        """(K, n): whether one task of the class fits an empty instance of the type."""
        demand = self.demand[list(self.family)]
        return np.asarray((demand <= self.capacity[:, None, :]).all(axis=2))

    @cached_property
    def _demand(self) -> list[list[list[int]]]:
        return cast(list[list[list[int]]], self.demand.tolist())

    @cached_property
    def _capacity(self) -> list[list[int]]:
        return cast(list[list[int]], self.capacity.tolist())

    @cached_property
    def useful(self) -> list[bool]:
        """(K,) whether any task fits the type."""
        return [bool(row.any()) for row in self.fits]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(n,) how large a task is: the largest share of a resource that it takes of a family's largest capacity, on
        the family where that is most (at most 1)."""
        families = np.array(self.family)
        room = np.array([self.capacity[families == f].max(axis=0) for f in range(self.families)])[:, None, :]
        share = np.where(self.demand > 0, self.demand / np.maximum(room, 1), 0.0)
        return np.asarray(np.minimum(share.max(axis=(0, 2)), 1.0))

    def copies(self, instance_type: int, task_class: int) -> int:
        """Most tasks of one class in one instance of a type (never more than there are)."""
        demand = self.demand[self.family[instance_type], task_class]
        used = demand > 0
        count = int(self.counts[task_class])
        if not used.any():
            return count
        return min(count, int((self.capacity[instance_type][used] // demand[used]).min()))

    def load(self, column: Column) -> Ints:
        """(R,) what the tasks of a column demand."""
        classes = np.array([c for c, _ in column.pattern], dtype=np.int64)
        copies = np.array([q for _, q in column.pattern], dtype=np.int64)
        return np.asarray(copies @ self.demand[self.family[column.type], classes])

    def holds(self, column: Column) -> bool:
        """Whether a column is a pattern: its tasks fit its type together. In whole numbers of any size."""
        demand, used = self._demand[self.family[column.type]], [0] * self.capacity.shape[1]
        for c, q in column.pattern:
            used = [u + q * d for u, d in zip(used, demand[c], strict=True)]
        return all(u <= room for u, room in zip(used, self._capacity[column.type], strict=True))

    def cost(self, configuration: Configuration) -> int:
        """Price of a configuration."""
        return sum(self.prices[column.type] * count for column, count in configuration.items())

    def missing(self, configuration: Configuration) -> Ints:
        """(n,) tasks that a configuration does not hold; negative where it has room for more than there are."""
        left = self.counts.copy()
        for column, count in configuration.items():
            for c, q in column.pattern:
                left[c] -= q * count
        return left

    def solo_columns(self) -> list[Column]:
        """For each class, the column of that class alone with the least price per task."""
        columns = []
        for c in range(len(self.counts)):
            kinds = [k for k in range(len(self.prices)) if self.fits[k, c]]
            best = min(kinds, key=lambda k: (self.prices[k] / self.copies(k, c), k))
            columns.append(Column(best, ((c, self.copies(best, c)),)))
        return columns
