"""Label setting for one class (Hansen, "Bicriterion path problems", 1980): the paths within a limit of reduced cost.

A label is a partial path from the first epoch. Labels are extended epoch by epoch, and dominated labels are dropped.
The result is a nondominated set (Pareto set): no partial policy is both faster and cheaper than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from models.boa.path_dual import ReducedCosts
from models.core.highs import OutOfTime


class OutOfMemory(Exception):
    """The labels of a class, or the policies of merged classes, exceed the memory limit."""


@dataclass(frozen=True)
class Limits:
    """The clock with the time limit, and the maximum number of labels of a class or of policies of merged classes."""

    clock: Stopwatch
    most_labels: int

    def check(self, labels: int) -> None:
        """Raise OutOfTime or OutOfMemory if a limit is reached at this number of labels or policies."""
        if self.clock.has_expired:
            raise OutOfTime("the time is over while paths are enumerated")
        if labels > self.most_labels:
            raise OutOfMemory


@dataclass(frozen=True)
class ParetoSet:
    """A set of n nondominated partial policies by increasing cost.

    - `reduced_cost` (n,): length minus that of the shortest, in units of time.
    - `cost`, `time` (n,): integer units.
    - `left`, `right` (n,): indices of the two partial policies that each policy consists of.
    """

    reduced_cost: FloatArray
    cost: IntArray
    time: IntArray
    left: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.cost)

    def thin(self, max_count: int) -> ParetoSet:
        """Return at most `max_count` policies: half of minimum reduced cost, half evenly spread over the costs."""
        half = max_count // 2
        shortest = np.argpartition(self.reduced_cost, half)[:half]
        chosen = np.union1d(shortest, np.linspace(0, len(self) - 1, max_count - half).astype(np.int64))
        return ParetoSet(
            self.reduced_cost[chosen], self.cost[chosen], self.time[chosen], self.left[chosen], self.right[chosen]
        )


def find_nondominated(group: IntArray, cost: IntArray, time: IntArray, bits: int) -> IntArray:
    """Return the indices of the nondominated pairs of cost and time in each group, sorted by group, then cost.

    Costs and times are below 2^(bits + 1). Group, cost and time together fit into 63 bits.
    """
    order = np.argsort((group << (bits + 1)) | cost, kind="stable")
    # Each group is shifted below the group before, so one running minimum suffices for all groups.
    height = time[order] - (group[order] << (bits + 2))
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = height[1:] < np.minimum.accumulate(height)[:-1]
    return order[keep]


@dataclass(frozen=True)
class Window:
    """The limits of a merged set.

    - `reduced_cost`: maximum reduced cost.
    - `lowest`, `highest`: range of costs, units. A cost below `lowest` is allowed, but each unit below it adds `mu` to
      the reduced cost, because the budget stays unused.
    - `mu`: the multiplier.
    """

    reduced_cost: float
    lowest: int
    highest: int
    mu: float


PAIRS_AT_ONCE = 1_000_000  # pairs of policies per batch; the limits are checked between batches
Columns = tuple[FloatArray, IntArray, IntArray, IntArray, IntArray]


def merge(a: ParetoSet, b: ParetoSet, window: Window, bits: int, limits: Limits) -> ParetoSet:
    """Return the nondominated combinations of a policy of `a` and a policy of `b` inside the window.

    - `bits`: costs and times are below 2^(bits + 1).
    - `limits`: limits of time and memory; their exceptions propagate.
    """
    parts: list[Columns] = []
    count, room, rows = 0, PAIRS_AT_ONCE, max(1, PAIRS_AT_ONCE // len(b))
    for first in range(0, len(a), rows):
        cost = (a.cost[first : first + rows, None] + b.cost).ravel()
        reduced_cost = (a.reduced_cost[first : first + rows, None] + b.reduced_cost).ravel()
        unused = np.maximum(window.lowest - cost, 0) * window.mu
        inside = np.flatnonzero((cost <= window.highest) & (reduced_cost + unused <= window.reduced_cost))
        left, right = first + inside // len(b), inside % len(b)
        parts.append((reduced_cost[inside], cost[inside], a.time[left] + b.time[right], left, right))
        count += len(inside)
        if count > room:  # dominated policies could exceed the memory
            parts = [_select_nondominated(parts, bits)]
            count = len(parts[0][0])
            room = 2 * count + PAIRS_AT_ONCE
        limits.check(count)
    return ParetoSet(*_select_nondominated(parts, bits))


def _select_nondominated(parts: Sequence[Columns], bits: int) -> Columns:
    """Return the nondominated policies of all parts together; each part has the columns of a ParetoSet."""
    reduced_cost, cost, time, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
    kept = find_nondominated(np.zeros(len(cost), dtype=np.int64), cost, time, bits)
    return reduced_cost[kept], cost[kept], time[kept], left[kept], right[kept]


Trail = list[tuple[IntArray, IntArray, Sequence[int]]]
"""For each block of epochs: predecessors of all labels, choices of all labels, and number of labels after each epoch.

A predecessor is an index into the labels of the epoch before.
"""


@dataclass(frozen=True)
class ClassPaths:
    """The paths of a class that were found.

    - `paths`: the nondominated set.
    - `trail`: predecessors of the labels, from which paths are restored.
    - `labels`: number of labels that were kept.
    - `complete`: whether all nondominated paths within the limit were found.
    """

    paths: ParetoSet
    trail: Trail
    labels: int
    complete: bool

    def path(self, position: int) -> IntArray:
        """Return the choices (epochs,) of the path at `position` of the nondominated set."""
        label, path = int(self.paths.left[position]), []
        for before, choice, counts in reversed(self.trail):
            end = len(before)
            for count in reversed(counts):
                at = end - count + label
                path.append(choice[at])
                label, end = before[at], end - count
        return np.array(path[::-1], dtype=np.int64)


def class_paths(r: ReducedCosts, i: int, limit: float, latest: int, max_labels: int, limits: Limits) -> ClassPaths:
    """Enumerate the paths of a class with reduced cost <= `limit`, time <= `latest` and cost within the budget.

    - `r`: the network in integer units.
    - `i`: index of the class.
    - `limit`: maximum reduced cost, units of time.
    - `latest`: maximum time, units.
    - `max_labels`: number of labels to which the set is truncated after every epoch.
    - `limits`: checked from time to time; their exceptions propagate.
    """
    from models.boa.label_kernels import extend_labels  # compiled at first use

    epochs = int(r.epochs[i])
    stay, leave, enter = r.arcs(i)
    run_cost, run_time = r.cost[:, i].astype(np.int64), r.time[:, i].astype(np.int64)
    choice = np.flatnonzero(enter[0] <= limit)
    live = (
        choice,
        enter[0, choice],
        r.change_cost[i, choice] + run_cost[0, choice],
        r.change_time[i, 0] + run_time[0, choice],
    )
    trail: Trail = [(np.zeros(len(choice), dtype=np.int32), choice.astype(np.int32), (len(choice),))]
    count, complete, j = len(choice), True, 1
    arcs = (stay, leave, enter, run_cost, run_time, r.change_cost[i])
    change_time = int(r.change_time[i, 0])
    while j < epochs:
        j_next, live, before, taken, counts, is_whole = extend_labels(
            *arcs, change_time, j, epochs, live, limit, r.budget, latest, max_labels
        )
        trail.append((before, taken, counts.tolist()))
        count, complete, j = count + len(before), complete and is_whole, j_next
        limits.check(count)
    _, reduced_cost, cost, time = live
    last = find_nondominated(np.zeros(len(cost), dtype=np.int64), cost, time, r.bits)
    ends = ParetoSet(reduced_cost[last], cost[last], time[last], last, np.zeros(len(last), dtype=np.int64))
    return ClassPaths(ends, trail, count, complete)
