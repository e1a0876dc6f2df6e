"""Pack tasks into a fixed set of bins: dot-product heuristic, ejection moves, fix-and-optimise, integer program.

A bin is an instance that is rented in any case, or a node of a cluster. The dot-product heuristic follows Panigrahy et
al., "Heuristics for Vector Bin Packing" (2011). It places the task with the largest sum of shares first, into the bin
whose free capacity points most nearly in the direction of its demand.
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
from instances.compiled import compile_lazily
from models.core.highs import LinearModel, Solved, solve_arrays

MAX_VARIABLES = 60_000  # HiGHS rarely ends a larger integer program within the time of a stage
SCARCITY_EXPONENTS = (0.0, 1.0, 3.0)  # larger exponents emphasise scarce resources
SLACK = 1e-9  # covers the rounding of capacities that are divided by their maximum
REPAIR_BINS, REPAIR_TIME_S, REPAIR_NODE_LIMIT = 4, 1.0, 60  # one program of fix-and-optimise; larger ones rarely end
MAX_STEPS = 2_000_000  # placements per class of tasks; larger classes are placed in batches
ROUNDING = 1e-6  # a number of tasks this close to the next integer counts as the integer


@dataclass(frozen=True)
class FixedBins:
    """M bins, and N classes of tasks to pack into them; all numbers are integers.

    - `free` (M, R): free capacity of each bin.
    - `kind` (M,): index of the demands that hold in each bin.
    - `need` (G, N, R): demand of a task of each class, for each kind of bin.
    - `count` (N,): number of tasks of each class.
    """

    free: IntArray
    kind: IntArray
    need: IntArray
    count: IntArray

    @property
    def shares(self) -> FloatArray:
        """Return the share of one unit of each resource (R,) in its free capacity over all bins."""
        return np.asarray(1.0 / np.maximum(1.0, self.free.sum(axis=0, dtype=float)))

    def resource_weights(self) -> list[FloatArray]:
        """Return vectors of resource weights (R,): the shares, with increasing emphasis on scarce resources."""
        least = self.need.min(axis=0).astype(float)
        load = self.count.astype(float) @ least * self.shares
        vectors: list[FloatArray] = []
        for power in SCARCITY_EXPONENTS:
            weight = self.shares * np.maximum(load, 1e-6) ** power
            if not any(np.allclose(weight / weight.max(), w / w.max()) for w in vectors):
                vectors.append(weight)
        return vectors

    def pack_by_dot_product(self) -> PartialPacking:
        """Return the best packing of the dot-product heuristic over all resource weights."""
        best: PartialPacking | None = None
        for weight in self.resource_weights():
            size = (self.need.min(axis=0) * weight).sum(axis=1)
            order = np.lexsort((np.arange(len(size)), -size))
            placed, left = _place_in_order(self.free.copy(), self.kind, self.need, self.count.copy(), order, weight)
            packing = self._measure(placed, left)
            if best is None or packing.size < best.size:
                best = packing
            if packing.complete:
                break
        assert best is not None
        return best

    def pack_by_lp_assignment(self, group: IntArray, share: FloatArray) -> PartialPacking:
        """Pack the tasks that a linear program assigns to groups of bins, then the remaining tasks into all bins.

        - `group` (M,): index of the group of each bin.
        - `share` (G, N): tasks of each class that the linear program assigns to each group; rounded down here.
        """
        placed = np.zeros((len(self.free), len(self.count)), dtype=np.int64)
        whole = np.floor(share + ROUNDING).astype(np.int64)
        for g in np.unique(group):
            bins = np.flatnonzero(group == g)
            count = np.minimum(whole[g], self.count - placed.sum(axis=0))
            some = FixedBins(self.free[bins], self.kind[bins], self.need, count)
            placed[bins] += some.pack_by_dot_product().placed
        left = self.count - placed.sum(axis=0)
        rest = replace(self, free=self.free - _sum_used_capacity(placed, self.kind, self.need), count=left)
        packing = rest.pack_by_dot_product()
        return self._measure(placed + packing.placed, packing.left)

    def repair_by_ejection(self, packed: PartialPacking, steps: int, seed: int) -> PartialPacking:
        """Improve a packing by ejection moves and return the best packing found.

        A move places an unassigned task in a bin, and removes the tasks of the bin that no longer fit.
        """
        weight = self.resource_weights()[-1]
        size = (self.need.min(axis=0) * weight).sum(axis=1)
        used = _sum_used_capacity(packed.placed, self.kind, self.need)
        draw = np.random.default_rng(seed)
        placed, left = _eject(
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
        return self._measure(placed, left)

    def _measure(self, placed: IntArray, left: IntArray) -> PartialPacking:
        """Return a packing with the size of its unassigned tasks."""
        return PartialPacking(placed, left, float((self.need.min(axis=0) * self.shares).sum(axis=1) @ left))

    def fix_and_optimise(
        self, packed: PartialPacking, options: Options, clock: Stopwatch, tries: int
    ) -> PartialPacking:
        """Improve a packing: a small integer program packs a few random bins again, with the unassigned tasks."""
        draw = np.random.default_rng(options.seed)
        for _ in range(tries if len(self.free) > REPAIR_BINS else 0):  # `solve_program` packs fewer bins as a whole
            if packed.complete or clock.has_expired:
                break
            part = np.sort(draw.choice(len(self.free), REPAIR_BINS, replace=False))
            count = packed.placed[part].sum(axis=0) + packed.left
            some = FixedBins(self.free[part], self.kind[part], self.need, count)
            solved = some._solve(options, min(REPAIR_TIME_S, clock.remaining_s), REPAIR_NODE_LIMIT, some.shares)
            if solved.x is None:
                continue
            repaired = some._read(solved.x)
            left = count - repaired.sum(axis=0)
            placed = packed.placed.copy()
            placed[part] = repaired
            candidate = self._measure(placed, left)
            if some.fits(repaired) and not (left < 0).any() and candidate.size <= packed.size:
                packed = candidate
        return packed

    def solve_program(
        self, options: Options, seconds: float, nodes: int
    ) -> PartialPacking | Literal["infeasible"] | None:
        """Pack all tasks by an integer program over classes and bins; return `None` if it reaches a limit.

        HiGHS reports the infeasibility in floating-point arithmetic, so it is no proof.
        """
        usable = self._usable
        if not np.asarray(usable.any(axis=0))[self.count > 0].all():
            return "infeasible"
        if usable.sum() > MAX_VARIABLES or seconds <= 0:
            return None
        solved = self._solve(options, seconds, nodes)
        if solved.x is not None:
            placed = self._read(solved.x)
            return PartialPacking(placed, np.zeros_like(self.count), 0.0) if self.holds(placed) else None
        return "infeasible" if solved.termination == "infeasible" else None

    @cached_property
    def _usable(self) -> BoolArray:
        """Return for each bin and class (M, N) whether the class has tasks, and one fits into the free capacity."""
        return np.logical_and.reduce(self.need[self.kind] <= self.free[:, None, :], axis=2) & (self.count > 0)

    def _read(self, x: FloatArray) -> IntArray:
        """Return the tasks of each class in each bin (M, N) from a solution of the integer program."""
        placed = np.zeros((len(self.free), len(self.count)), dtype=np.int64)
        bin_, task = np.nonzero(self._usable)
        placed[bin_, task] = np.round(x[: len(bin_)]).astype(np.int64)
        return placed

    def _solve(self, options: Options, seconds: float, nodes: int, penalty: FloatArray | None = None) -> Solved:
        """Solve the integer program over classes and bins.

        With a `penalty` (R,) per unit of demand, tasks may stay unassigned, and the total penalty is minimised.
        """
        (m, resources), n = self.free.shape, len(self.count)
        bin_, task = np.nonzero(self._usable)
        needs = self.need[self.kind[bin_], task]
        scale = np.maximum(1, self.free.max(axis=0))
        rows, columns, values = [task], [np.arange(len(bin_))], [np.ones(len(bin_))]
        for r in range(resources):
            rows.append(n + r * m + bin_)
            columns.append(np.arange(len(bin_)))
            values.append(needs[:, r] / scale[r])
        cost, upper = np.zeros(len(bin_)), self.count[task]
        if penalty is not None:
            rows.append(np.arange(n))
            columns.append(len(bin_) + np.arange(n))
            values.append(np.ones(n))
            cost = np.append(cost, (self.need.min(axis=0) * penalty).sum(axis=1))
            upper = np.append(upper, self.count)
        height = n + resources * m
        matrix = sparse.csc_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(height, len(cost))
        )
        model = LinearModel(
            cost=cost,
            matrix=matrix,
            row_lower=np.concatenate([self.count, np.full(height - n, -math.inf)]),
            row_upper=np.concatenate([self.count, (self.free / scale).T.ravel() + SLACK]),
            upper=upper.astype(float),
            integer=True,
        )
        limit = None if math.isinf(seconds) else seconds
        return solve_arrays(model, replace(options, time_limit=limit, gap=0.0), extra={"mip_max_nodes": nodes})

    def holds(self, placed: IntArray) -> bool:
        """Return whether `placed` (M, N) contains all tasks and respects the free capacities, in integers."""
        return self.fits(placed) and bool((placed.sum(axis=0) == self.count).all())

    def fits(self, placed: IntArray) -> bool:
        """Return whether `placed` (M, N) respects the free capacities, in integers."""
        return bool((_sum_used_capacity(placed, self.kind, self.need) <= self.free).all())


@dataclass(frozen=True)
class PartialPacking:
    """A packing of some tasks.

    - `placed` (M, N): tasks of each class in each bin.
    - `left` (N,): unassigned tasks of each class.
    - `size`: total size of the unassigned tasks, as shares of the free capacity.
    """

    placed: IntArray
    left: IntArray
    size: float

    @property
    def complete(self) -> bool:
        """Return whether all tasks are placed."""
        return not self.left.any()


def _sum_used_capacity(placed: IntArray, kind: IntArray, need: IntArray) -> IntArray:
    """Return the used capacity (M, R) of each bin."""
    return np.einsum("mn,mnr->mr", placed, need[kind])


@compile_lazily
def _place_in_order(free, kind, need, left, order, weight):  # type: ignore[no-untyped-def]
    """Place the tasks in the given order, each in the bin that its demand points to; large classes go in batches."""
    bins, resources = free.shape
    placed = np.zeros((bins, len(left)), dtype=np.int64)
    length = np.zeros(bins)
    for m in range(bins):
        for r in range(resources):
            length[m] += (free[m, r] * weight[r]) ** 2
    for i in order:
        batch = 1 + left[i] // MAX_STEPS
        while left[i] > 0:
            best, best_score = -1, -1.0
            for m in range(bins):
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


@compile_lazily
def _eject(free, kind, need, placed, left, size, weight, steps, draw):  # type: ignore[no-untyped-def]
    """Place unassigned tasks in bins where the removed tasks are small; return the best state of all steps."""
    bins, resources = free.shape
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
        for m in range(bins):
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
