"""Inequalities that exclude an infeasible instance mix by its patterns, if the surrogate inequalities do not.

Column generation over the types of the mix finds values of the tasks. At these values, the best patterns of all
instances have a smaller total value than all tasks. If the best pattern of a type takes too long to find, the surrogate
inequality bounds its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from instances.proofs.eva.certificate import STEPS_OF_PATTERN, Packing, WrittenCover
from instances.proofs.eva.multisets import LARGEST_TOTAL
from models.core.highs import LinearModel, solve_arrays

SCALE = 1 << 20  # largest value of a task, before a finer scale for the weights of types
ROUNDS = 150
STEPS = STEPS_OF_PATTERN // 10  # step limit of a search; beyond it, the surrogate inequality bounds the type
SHORT = 1e-9  # a smaller unassigned share of all tasks is a rounding error


def pattern_cover(
    packing: Packing,
    arrays: PackingArrays,
    number: IntArray,
    rooms: IntArray,
    placed: IntArray,
    entries: int,
    clock: Stopwatch,
) -> WrittenCover | None:
    """Return an inequality that an instance mix violates, or `None` if the search finds no such inequality.

    - `packing`, `arrays`: the problem as a certificate states it, and the instance.
    - `number` (K,): instances of each type in the mix.
    - `rooms` (M,), `placed` (M, N): type and tasks of each instance in a packing of some tasks; the first patterns.
    - `entries`: approximate number of entries in the table of the inequality.
    - `clock`: limits the time.
    """
    search = _Refutation(packing, arrays, number)
    for k, row in zip(rooms.tolist(), placed, strict=True):
        search.add(k, row)
    for _ in range(ROUNDS):
        if clock.has_expired or (duals := search.duals()) is None:
            return None
        found, more = search.derive_inequality(duals)
        if found is not None:
            amount = packing.cover(found).amount
            return found.model_copy(update={"divisor": max(1, -(-amount // entries))})
        if not more:
            return None
    return None


class _Refutation:
    """The linear program that packs as much as possible into a mix, by patterns or by fractions of tasks per type."""

    def __init__(self, packing: Packing, arrays: PackingArrays, number: IntArray) -> None:
        self.packing, self.arrays, self.number = packing, arrays, number
        self.kinds: list[int] = np.flatnonzero(number).tolist()
        self.room = np.array(packing.totals.room, dtype=float)
        self.linear: set[int] = set()
        self.columns: dict[tuple[int, bytes], IntArray] = {}
        least = arrays.demand.min(axis=0)
        self.size = (least / np.maximum(1, arrays.count @ least)).sum(axis=1)

    def add(self, kind: int, pattern: IntArray) -> bool:
        """Add a pattern; return whether it is new."""
        known = len(self.columns)
        self.columns[kind, pattern.tobytes()] = pattern
        return len(self.columns) > known

    def duals(self) -> FloatArray | None:
        """Solve the linear program; return the value (N,) of a task of each class, `None` if all tasks are packed."""
        n, count = self.arrays.classes, self.arrays.count.astype(float)
        patterned = [k for k in self.kinds if k not in self.linear]
        columns = [(patterned.index(k), p) for (k, _), p in self.columns.items() if k not in self.linear]
        place = np.array([i for i, _ in columns], dtype=np.int64)
        held = np.array([p for _, p in columns], dtype=float).reshape(len(columns), n)
        limit = sparse.coo_array(
            (-np.ones(len(columns)), (place, np.arange(len(columns)))), (len(patterned), len(place))
        )
        blocks = [[sparse.coo_array(held.T), sparse.eye_array(n)], [limit, None]]
        lower = [count, -self.number[patterned].astype(float)]
        for k in sorted(self.linear):
            task = np.flatnonzero(self.arrays.fits[k])
            shares = sparse.coo_array((np.ones(len(task)), (task, np.arange(len(task)))), (n, len(task)))
            room = np.maximum(1.0, self.room[k])
            needs = sparse.coo_array(-(self.arrays.demand_of_type[k][task] / room).T)
            for row in blocks[1:]:
                row.append(None)
            blocks[0].append(shares)
            blocks.append([None] * (len(blocks[0]) - 1) + [needs])
            lower.append(-self.number[k] * self.room[k] / room)
        matrix = sparse.csc_array(sparse.block_array(blocks))
        cost = np.zeros(matrix.shape[1])
        cost[len(columns) : len(columns) + n] = self.size
        solved = solve_arrays(LinearModel(cost, matrix, np.concatenate(lower), np.inf), Options())
        if solved.objective is None or solved.duals is None or solved.objective <= SHORT:
            return None
        return np.maximum(0.0, solved.duals[:n])

    def derive_inequality(self, duals: FloatArray) -> tuple[WrittenCover | None, bool]:
        """Return the inequality of duals (N,), if the mix violates it, and whether the linear program has changed."""
        value = [int(y) for y in np.floor(duals / duals.max() * SCALE)]
        tasks, more, worth = self._sort_by_entry(value), False, dict[int, int]()
        for k in self.kinds:
            if k in self.linear:
                continue
            best = self.packing.best(k, tasks, 0, STEPS)
            if not best.complete:
                self.linear.add(k)
                more = True
            elif best.pattern:
                worth[k] = best.worth
                pattern = [sum(best.pattern[t] for t in entries) for entries in self.arrays.members]
                more |= self.add(k, np.array(pattern, dtype=np.int64))
        total = sum(n * v for n, v in zip(self.packing.count, tasks, strict=True))
        fine = max(1, LARGEST_TOTAL // (2 * total + 1))
        weights = {k: self._weights(k, value, fine) for k in self.kinds if k not in worth}
        if not self._short(tasks, fine, weights, worth):
            return None, more
        weights |= {k: self._weights(k, value, fine) for k in range(len(self.number)) if k not in self.kinds}
        none = (0,) * self.room.shape[1]
        found = WrittenCover(
            weights=tuple(weights.get(k, none) for k in range(len(self.number))),
            divisor=1,
            tasks=tuple(fine * v for v in tasks),
            searched=tuple(sorted(worth)),
        )
        cover = self.packing.cover(found)
        held = sum(int(n) * room for n, room in zip(self.number, cover.rooms, strict=True))
        return (found if held < cover.amount else None), more

    def _short(
        self, tasks: Sequence[int], fine: int, weights: Mapping[int, Sequence[int]], worth: Mapping[int, int]
    ) -> bool:
        """Return whether the instances of the mix hold less than the total value of all tasks."""
        room = self.packing.totals.room
        linear = {k: sum(w * q for w, q in zip(of_it, room[k], strict=True)) for k, of_it in weights.items()}
        held = sum(int(self.number[k]) * (linear[k] if k in linear else fine * worth[k]) for k in self.kinds)
        return held < fine * sum(n * v for n, v in zip(self.packing.count, tasks, strict=True))

    def _sort_by_entry(self, value: Sequence[int]) -> list[int]:
        found = [0] * len(self.packing.count)
        for entries, v in zip(self.arrays.members, value, strict=True):
            for t in entries:
                found[t] = v
        return found

    def _weights(self, kind: int, value: Sequence[int], fine: int) -> tuple[int, ...]:
        """Return weights (R,) that minimise the weighted capacity of a type.

        The weighted demand of every task is at least its value.
        """
        task = np.flatnonzero(self.arrays.fits[kind])
        room = np.maximum(1.0, self.room[kind])
        needs, counts = self.arrays.demand_of_type[kind][task] / room, np.array(value, dtype=float)[task]
        solved = solve_arrays(LinearModel(np.ones(len(room)), sparse.csc_array(needs), counts, np.inf), Options())
        if solved.x is None:
            return (0,) * len(room)
        return tuple(int(w * fine) + 1 for w in np.maximum(0.0, solved.x) / room)
