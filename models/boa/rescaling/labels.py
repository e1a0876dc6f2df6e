"""Label-setting for one class (Hansen, "Bicriterion path problems", 1980): paths within a limit of reduced cost.

A label is a partial path from the first epoch. Labels go from epoch to epoch; dominated labels are dropped on the way.
What is left is a nondominated set (Pareto set): no partial policy is both faster and cheaper than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from models.boa.rescaling.path_dual import ReducedCosts
from models.highs import OutOfTime


class OutOfMemory(Exception):
    """The partial paths of a class, or the policies of some, are more than memory holds."""


@dataclass(frozen=True)
class Limits:
    """The clock with the time limit, and the most labels of a class, or policies of some."""

    clock: Stopwatch
    most_labels: int

    def check(self, labels: int) -> None:
        """Raise OutOfTime or OutOfMemory where there are so many labels or policies by now."""
        if self.clock.expired:
            raise OutOfTime("the time is over while paths are enumerated")
        if labels > self.most_labels:
            raise OutOfMemory


@dataclass(frozen=True)
class ParetoSet:
    """A set of n nondominated partial policies by rising cost.

    - `reduced_cost` (n,): length over the shortest, in units of time.
    - `cost`, `time` (n,): whole units.
    - `left`, `right` (n,): positions of the two partial policies that a policy is put together from.
    """

    reduced_cost: FloatArray
    cost: IntArray
    time: IntArray
    left: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.cost)

    def thinned(self, most: int) -> ParetoSet:
        """At most `most` of the policies: half of them of least reduced cost, half spread evenly over the costs."""
        half = most // 2
        near = np.argpartition(self.reduced_cost, half)[:half]
        kept = np.union1d(near, np.linspace(0, len(self) - 1, most - half).astype(np.int64))
        return ParetoSet(self.reduced_cost[kept], self.cost[kept], self.time[kept], self.left[kept], self.right[kept])


def nondominated(group: IntArray, cost: IntArray, time: IntArray, bits: int) -> IntArray:
    """Positions whose cost and time no other of the same group matches, sorted by group, then cost.

    Costs and times are below 2^(bits + 1); group, cost and time fit into 63 bits together.
    """
    order = np.argsort((group << (bits + 1)) | cost, kind="stable")
    # Each group lies below the group before, so that a running minimum serves all groups at once.
    height = time[order] - (group[order] << (bits + 2))
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = height[1:] < np.minimum.accumulate(height)[:-1]
    return order[keep]


@dataclass(frozen=True)
class Window:
    """The limits of a merged set.

    - `reduced_cost`: most reduced cost.
    - `lowest`, `highest`: least and most cost, units. A cost may fall short of the least, and every unit left over is
      then priced at `mu` in the reduced cost.
    - `mu`: the multiplier.
    """

    reduced_cost: float
    lowest: int
    highest: int
    mu: float


PAIRS_AT_ONCE = 1_000_000  # So many pairs of policies are looked at between two looks at the limits.
Columns = tuple[FloatArray, IntArray, IntArray, IntArray, IntArray]


def merge(a: ParetoSet, b: ParetoSet, window: Window, bits: int, limits: Limits) -> ParetoSet:
    """Every pair of a policy of `a` and a policy of `b` inside the window, without the dominated."""
    parts: list[Columns] = []
    number, room, rows = 0, PAIRS_AT_ONCE, max(1, PAIRS_AT_ONCE // len(b))
    for first in range(0, len(a), rows):
        cost = (a.cost[first : first + rows, None] + b.cost).ravel()
        reduced_cost = (a.reduced_cost[first : first + rows, None] + b.reduced_cost).ravel()
        short = np.maximum(window.lowest - cost, 0) * window.mu
        inside = np.flatnonzero((cost <= window.highest) & (reduced_cost + short <= window.reduced_cost))
        left, right = first + inside // len(b), inside % len(b)
        parts.append((reduced_cost[inside], cost[inside], a.time[left] + b.time[right], left, right))
        number += len(inside)
        if number > room:  # The dominated go now and then, for they can be far more than what memory holds.
            parts = [_best(parts, bits)]
            number = len(parts[0][0])
            room = 2 * number + PAIRS_AT_ONCE
        limits.check(number)
    return ParetoSet(*_best(parts, bits))


def _best(parts: Sequence[Columns], bits: int) -> Columns:
    """The nondominated of all parts together, each of which has the columns of a ParetoSet."""
    reduced_cost, cost, time, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
    kept = nondominated(np.zeros(len(cost), dtype=np.int64), cost, time, bits)
    return reduced_cost[kept], cost[kept], time[kept], left[kept], right[kept]


Trail = list[tuple[IntArray, IntArray, Sequence[int]]]
"""For some epochs in a row, and then the next: the predecessors of all labels, counted from the first label of the
epoch before, their choices, and the number of labels after each of the epochs."""


@dataclass(frozen=True)
class ClassPaths:
    """The paths found for a class.

    - `paths`: the nondominated set.
    - `trail`: how the labels came about.
    - `labels`: number of labels that were kept.
    - `complete`: whether no path within the limit is missing but the dominated.
    """

    paths: ParetoSet
    trail: Trail
    labels: int
    complete: bool

    def path(self, position: int) -> IntArray:
        """The choices (epochs,) of the path at `position` of the nondominated set."""
        label, path = int(self.paths.left[position]), []
        for before, choice, counts in reversed(self.trail):
            end = len(before)
            for count in reversed(counts):
                at = end - count + label
                path.append(choice[at])
                label, end = before[at], end - count
        return np.array(path[::-1], dtype=np.int64)


def class_paths(r: ReducedCosts, i: int, limit: float, latest: int, most: int, limits: Limits) -> ClassPaths:
    """Paths of a class with reduced cost <= `limit`, time <= `latest` and cost within the budget.

    - `r`: the network in whole units.
    - `i`: position of the class.
    - `limit`: most reduced cost, units of time.
    - `latest`: most time, units.
    - `most`: number of labels to truncate to after every epoch.
    - `limits`: checked every now and then.
    """
    from models.boa.rescaling.label_kernels import extended  # compiled at first use

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
    number, complete, j = len(choice), True, 1
    arcs = (stay, leave, enter, run_cost, run_time, r.change_cost[i])
    change_time = int(r.change_time[i, 0])
    while j < epochs:
        j_next, live, before, taken, counts, whole = extended(
            *arcs, change_time, j, epochs, live, limit, r.budget, latest, most
        )
        trail.append((before, taken, counts.tolist()))
        number, complete, j = number + len(before), complete and whole, j_next
        limits.check(number)
    _, reduced_cost, cost, time = live
    last = nondominated(np.zeros(len(cost), dtype=np.int64), cost, time, r.bits)
    ends = ParetoSet(reduced_cost[last], cost[last], time[last], last, np.zeros(len(last), dtype=np.int64))
    return ClassPaths(ends, trail, number, complete)
