"""Label-setting for one class (Hansen, "Bicriterion path problems", 1980): paths within a limit of reduced cost.

A label is a partial path from the first epoch. Labels go from epoch to epoch; dominated labels are dropped on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray
from models.boa.rescaling.limits import Limits
from models.boa.rescaling.nondominated import ParetoSet, nondominated, truncate
from models.boa.rescaling.reduced_costs import ReducedCosts


@dataclass(frozen=True)
class ClassPaths:
    """The paths found for a class.

    - `paths`: the nondominated set.
    - `predecessors`, `choices`: for each epoch the predecessor and the choice of every label.
    - `complete`: whether no path within the limit is missing but the dominated.
    """

    paths: ParetoSet
    predecessors: tuple[IntArray, ...]
    choices: tuple[IntArray, ...]
    complete: bool

    @property
    def labels(self) -> int:
        """Number of labels that were kept."""
        return sum(len(c) for c in self.choices)

    def path(self, position: int) -> IntArray:
        """The choices (epochs,) of the path at `position` of the nondominated set."""
        label, path = int(self.paths.left[position]), []
        for before, choice in zip(reversed(self.predecessors), reversed(self.choices), strict=True):
            path.append(choice[label])
            label = before[label]
        return np.array(path[::-1], dtype=np.int64)


@dataclass(frozen=True)
class _Labels:
    """The m labels after an epoch.

    - `choice` (m,): choice of the epoch.
    - `before` (m,): position of the predecessor among the labels of the epoch before.
    - `reduced_cost` (m,): length over the shortest path through the label, up to here.
    - `cost`, `time` (m,): whole units.
    """

    choice: IntArray
    before: IntArray
    reduced_cost: FloatArray
    cost: IntArray
    time: IntArray

    def __len__(self) -> int:
        return len(self.choice)

    def take(self, kept: IntArray) -> _Labels:
        """The labels at the positions `kept`."""
        return _Labels(self.choice[kept], self.before[kept], self.reduced_cost[kept], self.cost[kept], self.time[kept])


def class_paths(r: ReducedCosts, i: int, limit: float, latest: int, most: int | None, limits: Limits) -> ClassPaths:
    """Paths of a class with reduced cost <= `limit`, time <= `latest` and cost within the budget.

    - `r`: the network in whole units.
    - `i`: position of the class.
    - `limit`: most reduced cost, units of time.
    - `latest`: most time, units.
    - `most`: number of labels to truncate to after every epoch; `None` keeps all.
    - `limits`: checked after every epoch.
    """
    labels, complete = _first(r, i, limit), True
    predecessors, choices, number = [labels.before], [labels.choice], len(labels)
    for j in range(1, int(r.epochs[i])):
        grown, changed = _extended(r, i, j, limit, labels)
        fits = (grown.cost <= r.budget) & (grown.time <= latest)
        if not fits.all():
            grown = grown.take(np.flatnonzero(fits))
        if changed:  # Labels that have all stayed are nondominated still.
            kept = nondominated(grown.choice, grown.cost, grown.time, r.bits)
        else:
            kept = np.arange(len(grown))
        if most is not None and len(kept) > most:
            kept, complete = kept[truncate(grown.reduced_cost[kept], most)], False
        labels = grown.take(kept)
        predecessors.append(labels.before)
        choices.append(labels.choice)
        number += len(labels)
        limits.check(number)
    last = nondominated(np.zeros(len(labels), dtype=np.int64), labels.cost, labels.time, r.bits)
    ends = labels.take(last)
    paths = ParetoSet(ends.reduced_cost, ends.cost, ends.time, last, np.zeros(len(last), dtype=np.int64))
    return ClassPaths(paths, tuple(predecessors), tuple(choices), complete)


def _first(r: ReducedCosts, i: int, limit: float) -> _Labels:
    """The labels of class `i` after the first epoch."""
    choice = np.flatnonzero(r.enter[0, i] <= limit)
    return _Labels(
        choice=choice,
        before=np.zeros(len(choice), dtype=np.int64),
        reduced_cost=r.enter[0, i, choice],
        cost=r.change_cost[i, choice] + r.cost[0, i, choice],
        time=r.change_time[i, 0] + r.time[0, i, choice],
    )


def _extended(r: ReducedCosts, i: int, j: int, limit: float, labels: _Labels) -> tuple[_Labels, bool]:
    """The successors in epoch `j` of the labels of class `i`, and whether any has changed the choice.

    A label stays at its choice, or leaves for another. Of the labels that leave, whatever the choices before and
    after, only the nondominated go on: all of them go on alike.
    """
    staying = labels.reduced_cost + r.stay[j, i, labels.choice]
    before = np.flatnonzero(staying <= limit)
    choice, reduced_cost = labels.choice[before], staying[before]
    cost, time = labels.cost[before], labels.time[before]
    left = labels.reduced_cost + r.leave[j, i, labels.choice]
    leaving = np.flatnonzero(left <= limit)
    entering = np.flatnonzero(r.enter[j, i] <= limit) if len(leaving) else leaving
    if len(entering):
        if len(leaving) > 1:
            one_group = np.zeros(len(leaving), dtype=np.int64)
            leaving = leaving[nondominated(one_group, labels.cost[leaving], labels.time[leaving], r.bits)]
        pairs = (r.enter[j, i, entering][:, None] + left[leaving]).ravel()
        found = np.flatnonzero(pairs <= limit)
        source, target = leaving[found % len(leaving)], entering[found // len(leaving)]
        before, choice = np.concatenate([before, source]), np.concatenate([choice, target])
        reduced_cost = np.concatenate([reduced_cost, pairs[found]])
        cost = np.concatenate([cost, labels.cost[source] + r.change_cost[i, target]])
        time = np.concatenate([time, labels.time[source] + r.change_time[i, 0]])
    grown = _Labels(choice, before, reduced_cost, cost + r.cost[j, i, choice], time + r.time[j, i, choice])
    return grown, len(entering) > 0
