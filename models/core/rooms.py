"""Packing into rooms that are given: by direction, by ejection, in parts, and by HiGHS, which says that it cannot be.

A room is an instance that is to be rented in any case, or a node of a cluster. By direction (after Panigrahy et al.,
"Heuristics for Vector Bin Packing", 2011): the task with the largest sum of shares goes first, into the room whose free
amounts point most nearly its way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.compiled import compiled
from models.highs import LinearModel, Solved, solve_arrays

MOST_VARIABLES = 60_000  # of an integer program
STRESSES = (0.0, 1.0, 3.0)  # powers of how scarce a resource is, by which its shares are weighted
SLACK = 1e-9
PART, PART_S, PART_NODES = 4, 1.0, 60  # rooms, seconds and nodes of a program over a few rooms
MOST_STEPS = 2_000_000  # of a packing by direction, for each class of tasks
ROUNDING = 1e-6  # a share this near to the next whole number counts as it


@dataclass(frozen=True)
class Rooms:
    """Rooms and what is to be put into them.

    `free` (M, R): what each room has left. `kind` (M,): which of the demands `need` (G, N, R) of a task of each class
    hold there. `count` (N,): tasks of each class. All are whole numbers.
    """

    free: IntArray
    kind: IntArray
    need: IntArray
    count: IntArray

    @property
    def shares(self) -> FloatArray:
        """What one unit of each resource is of what is free of it in all rooms."""
        return np.asarray(1.0 / np.maximum(1.0, self.free.sum(axis=0, dtype=float)))

    def directions(self) -> list[FloatArray]:
        """Weights of the resources, by their shares and more and more by how scarce they are."""
        least = self.need.min(axis=0).astype(float)
        load = self.count.astype(float) @ least * self.shares
        found: list[FloatArray] = []
        for power in STRESSES:
            weight = self.shares * np.maximum(load, 1e-6) ** power
            if not any(np.allclose(weight / weight.max(), w / w.max()) for w in found):
                found.append(weight)
        return found

    def by_direction(self) -> Packed:
        """The best of the packings by direction."""
        best: Packed | None = None
        for weight in self.directions():
            size = (self.need.min(axis=0) * weight).sum(axis=1)
            order = np.lexsort((np.arange(len(size)), -size))
            placed, left = _by_direction(self.free.copy(), self.kind, self.need, self.count.copy(), order, weight)
            found = self._packed(placed, left)
            if best is None or found.size < best.size:
                best = found
            if found.complete:
                break
        assert best is not None
        return best

    def by_share(self, group: IntArray, share: FloatArray) -> Packed:
        """The packing by direction of the whole tasks of a `share` (G, N) in the rooms of a `group` (M,), then of all.

        Which rooms form a group is the caller's: a linear program has shared the tasks out among groups.
        """
        placed = np.zeros((len(self.free), len(self.count)), dtype=np.int64)
        whole = np.floor(share + ROUNDING).astype(np.int64)
        for g in np.unique(group):
            of_it = np.flatnonzero(group == g)
            count = np.minimum(whole[g], self.count - placed.sum(axis=0))
            placed[of_it] += Rooms(self.free[of_it], self.kind[of_it], self.need, count).by_direction().placed
        left = self.count - placed.sum(axis=0)
        rest = replace(self, free=self.free - _used(placed, self.kind, self.need), count=left).by_direction()
        return self._packed(placed + rest.placed, rest.left)

    def by_ejection(self, packed: Packed, steps: int, seed: int) -> Packed:
        """The packing after so many steps, each of which places a task and ejects those in its way."""
        weight = self.directions()[-1]
        size = (self.need.min(axis=0) * weight).sum(axis=1)
        used = _used(packed.placed, self.kind, self.need)
        draw = np.random.default_rng(seed)
        placed, left = _by_ejection(
            self.free - used,
            self.kind,
            self.need,
            packed.placed.copy(),
            packed.left.copy(),
            size,
            weight,
            steps,
            draw,
        )
        return self._packed(placed, left)

    def _packed(self, placed: IntArray, left: IntArray) -> Packed:
        return Packed(placed, left, float((self.need.min(axis=0) * self.shares).sum(axis=1) @ left))

    def by_parts(self, packed: Packed, options: Options, clock: Stopwatch, tries: int) -> Packed:
        """The packing after tries in which a few rooms are packed anew, with what is left over, by a small program."""
        draw = np.random.default_rng(options.seed)
        for _ in range(tries if len(self.free) > PART else 0):  # a program of all has the last word on so few
            if packed.complete or clock.expired:
                break
            part = np.sort(draw.choice(len(self.free), PART, replace=False))
            count = packed.placed[part].sum(axis=0) + packed.left
            some = Rooms(self.free[part], self.kind[part], self.need, count)
            solved = some._solved(options, min(PART_S, clock.remaining_s), PART_NODES, some.shares)
            if solved.x is None:
                continue
            found = some._of(solved.x)
            left = count - found.sum(axis=0)
            placed = packed.placed.copy()
            placed[part] = found
            then = self._packed(placed, left)
            if some.fits(found) and not (left < 0).any() and then.size <= packed.size:
                packed = then
        return packed

    def by_program(self, options: Options, seconds: float, nodes: int) -> Packed | Literal["cannot"] | None:
        """The packing of an integer program over classes and rooms; `None` where it does not end.

        That it cannot be is the word of HiGHS, in floating-point arithmetic.
        """
        usable = self._usable
        if not np.asarray(usable.any(axis=0))[self.count > 0].all():
            return "cannot"
        if usable.sum() > MOST_VARIABLES or seconds <= 0:
            return None
        solved = self._solved(options, seconds, nodes)
        if solved.x is not None:
            placed = self._of(solved.x)
            return Packed(placed, np.zeros_like(self.count), 0.0) if self.holds(placed) else None
        return "cannot" if solved.termination == "infeasible" else None

    @cached_property
    def _usable(self) -> BoolArray:
        """Which rooms (M, N) a task of each class fits into, of those that there are."""
        return np.logical_and.reduce(self.need[self.kind] <= self.free[:, None, :], axis=2) & (self.count > 0)

    def _of(self, x: FloatArray) -> IntArray:
        placed = np.zeros((len(self.free), len(self.count)), dtype=np.int64)
        room, task = np.nonzero(self._usable)
        placed[room, task] = np.round(x[: len(room)]).astype(np.int64)
        return placed

    def _solved(self, options: Options, seconds: float, nodes: int, worth: FloatArray | None = None) -> Solved:
        """The integer program over classes and rooms; with the `worth` (R,) of amounts it may leave tasks over."""
        (m, resources), n = self.free.shape, len(self.count)
        room, task = np.nonzero(self._usable)
        needs = self.need[self.kind[room], task]
        scale = np.maximum(1, self.free.max(axis=0))
        rows, columns, values = [task], [np.arange(len(room))], [np.ones(len(room))]
        for r in range(resources):
            rows.append(n + r * m + room)
            columns.append(np.arange(len(room)))
            values.append(needs[:, r] / scale[r])
        cost, most = np.zeros(len(room)), self.count[task]
        if worth is not None:
            rows.append(np.arange(n))
            columns.append(len(room) + np.arange(n))
            values.append(np.ones(n))
            cost = np.append(cost, (self.need.min(axis=0) * worth).sum(axis=1))
            most = np.append(most, self.count)
        height = n + resources * m
        matrix = sparse.csc_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(height, len(cost))
        )
        model = LinearModel(
            cost=cost,
            matrix=matrix,
            row_lower=np.concatenate([self.count, np.full(height - n, -math.inf)]),
            row_upper=np.concatenate([self.count, (self.free / scale).T.ravel() + SLACK]),
            upper=most.astype(float),
            integer=True,
        )
        limit = None if math.isinf(seconds) else seconds
        return solve_arrays(model, replace(options, time_limit=limit, gap=0.0), extra={"mip_max_nodes": nodes})

    def holds(self, placed: IntArray) -> bool:
        """Whether `placed` (M, N) has all tasks and fits, in whole numbers."""
        return self.fits(placed) and bool((placed.sum(axis=0) == self.count).all())

    def fits(self, placed: IntArray) -> bool:
        """Whether `placed` (M, N) fits, in whole numbers."""
        return bool((_used(placed, self.kind, self.need) <= self.free).all())


@dataclass(frozen=True)
class Packed:
    """Tasks of each class in each room, `placed` (M, N), those `left` (N,), and their `size` in all."""

    placed: IntArray
    left: IntArray
    size: float

    @property
    def complete(self) -> bool:
        """Whether all tasks are in a room."""
        return not self.left.any()


def _used(placed: IntArray, kind: IntArray, need: IntArray) -> IntArray:
    return np.einsum("mn,mnr->mr", placed, need[kind])


@compiled
def _by_direction(free, kind, need, left, order, weight):  # type: ignore[no-untyped-def]
    """Put the tasks in order, each into the room that its demand points to; very many of a class go in batches."""
    rooms, resources = free.shape
    placed = np.zeros((rooms, len(left)), dtype=np.int64)
    length = np.zeros(rooms)
    for m in range(rooms):
        for r in range(resources):
            length[m] += (free[m, r] * weight[r]) ** 2
    for i in order:
        batch = 1 + left[i] // MOST_STEPS
        while left[i] > 0:
            best, best_score = -1, -1.0
            for m in range(rooms):
                fits, score = True, 0.0
                for r in range(resources):
                    amount = need[kind[m], i, r]
                    if amount > free[m, r]:
                        fits = False
                        break
                    score += amount * weight[r] * free[m, r] * weight[r]
                if fits:
                    if length[m] > 0:
                        score /= np.sqrt(length[m])
                    if score > best_score * (1 + 1e-12):
                        best, best_score = m, score
            if best < 0:
                break
            some = min(batch, left[i])
            for r in range(resources):
                if need[kind[best], i, r] > 0:
                    some = min(some, free[best, r] // need[kind[best], i, r])
            left[i] -= some
            placed[best, i] += some
            length[best] = 0.0
            for r in range(resources):
                free[best, r] -= some * need[kind[best], i, r]
                length[best] += (free[best, r] * weight[r]) ** 2
    return placed, left


@compiled
def _by_ejection(free, kind, need, placed, left, size, weight, steps, draw):  # type: ignore[no-untyped-def]
    """Put what is left into rooms where little of what is there is in its way; keep the best state on the way."""
    rooms, resources = free.shape
    classes = len(left)
    best_placed, best_left = placed.copy(), left.copy()
    now = 0.0
    for i in range(classes):
        now += left[i] * size[i]
    best = now
    out = np.zeros(classes, dtype=np.int64)
    trial = np.zeros(classes, dtype=np.int64)
    gap = np.zeros(resources, dtype=np.int64)
    for _ in range(steps):
        i, largest = -1, -1.0
        for j in range(classes):
            if left[j] > 0:
                score = size[j] * (0.5 + draw.random())
                if score > largest:
                    i, largest = j, score
        if i < 0:
            break
        chosen, cost = -1, 1e300
        for m in range(rooms):
            g = kind[m]
            fits = True
            for r in range(resources):
                gap[r] = need[g, i, r] - free[m, r]
                if gap[r] > 0:
                    fits = False
            trial[:] = 0
            price = 0.0
            while not fits:
                pick, pick_score = -1, 1e300
                for j in range(classes):
                    if placed[m, j] - trial[j] <= 0 or j == i:
                        continue
                    helped = 0.0
                    for r in range(resources):
                        if gap[r] > 0:
                            helped += min(gap[r], need[g, j, r]) * weight[r]
                    if helped > 0:
                        score = size[j] / helped * (0.7 + 0.6 * draw.random())
                        if score < pick_score:
                            pick, pick_score = j, score
                if pick < 0:
                    break
                trial[pick] += 1
                price += size[pick]
                fits = True
                for r in range(resources):
                    gap[r] -= need[g, pick, r]
                    if gap[r] > 0:
                        fits = False
                if price > cost:
                    break
            if fits:
                price *= 0.8 + 0.4 * draw.random()
                if price < cost:
                    chosen, cost = m, price
                    out[:] = trial
        if chosen < 0:
            break
        g = kind[chosen]
        for j in range(classes):
            if out[j]:
                placed[chosen, j] -= out[j]
                left[j] += out[j]
                now += out[j] * size[j]
                for r in range(resources):
                    free[chosen, r] += out[j] * need[g, j, r]
        placed[chosen, i] += 1
        left[i] -= 1
        now -= size[i]
        for r in range(resources):
            free[chosen, r] -= need[g, i, r]
        if now < best - 1e-12:
            best = now
            best_placed[:] = placed
            best_left[:] = left
    return best_placed, best_left
