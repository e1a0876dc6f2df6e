"""Enumerates the paths of one class whose reduced cost is within a limit, dropping dominated prefixes on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.boa.rescaling.network import IntArray
from models.boa.rescaling.nondominated import Front, nondominated, thin
from models.boa.rescaling.reduced_costs import Reduced


class OutOfTime(Exception):
    """The time limit is reached."""


class OutOfMemory(Exception):
    """More partial paths than fit into memory."""


@dataclass(frozen=True)
class ClassPaths:
    """The paths found for a class: their front, and for each epoch every label's predecessor and choice.

    `complete`: no path within the limit is missing but the dominated.
    """

    front: Front
    predecessors: tuple[IntArray, ...]
    choices: tuple[IntArray, ...]
    complete: bool

    @property
    def labels(self) -> int:
        """How many partial paths were kept."""
        return sum(len(c) for c in self.choices)

    def path(self, position: int) -> IntArray:
        """The choices (epochs,) of the path at this position of the front."""
        label, path = int(self.front.left[position]), []
        for before, choice in zip(reversed(self.predecessors), reversed(self.choices), strict=True):
            path.append(choice[label])
            label = before[label]
        return np.array(path[::-1], dtype=np.int64)


def class_paths(
    r: Reduced, i: int, limit: float, latest: int, most: int | None, check: Callable[[int], None]
) -> ClassPaths:
    """Paths of class `i` with reduced cost <= `limit`, time <= `latest` units and cost within the budget.

    `most` thins the labels after every epoch; `check(labels)` is called then and may raise to stop.
    A label's successors either stay at its choice, or leave it; of those that leave, whatever their choice, only the
    nondominated go on.
    """
    time, cost, change_cost, change_time = r.time[:, i], r.cost[:, i], r.change_cost[i], r.change_time[i, 0]
    enter, stay, leave, bits = r.enter[:, i], r.stay[:, i], r.leave[:, i], r.bits
    choice = np.flatnonzero(enter[0] <= limit)
    excess, spent, took = enter[0, choice], change_cost[choice] + cost[0, choice], change_time + time[0, choice]
    predecessors, choices, complete, labels = [np.zeros(len(choice), dtype=np.int64)], [choice], True, len(choice)
    for j in range(1, int(r.epochs[i])):
        on = excess + stay[j, choice]
        before = np.flatnonzero(on <= limit)
        new, on, cost_in, time_in = choice[before], on[before], spent[before], took[before]
        off = excess + leave[j, choice]
        leaving = np.flatnonzero(off <= limit)
        entering = np.flatnonzero(enter[j] <= limit) if len(leaving) else leaving
        if len(entering):
            if len(leaving) > 1:
                none = np.zeros(len(leaving), dtype=np.int64)
                leaving = leaving[nondominated(none, spent[leaving], took[leaving], bits)]
            pairs = (enter[j, entering][:, None] + off[leaving]).ravel()
            found = np.flatnonzero(pairs <= limit)
            source, target = leaving[found % len(leaving)], entering[found // len(leaving)]
            before, new = np.concatenate([before, source]), np.concatenate([new, target])
            on = np.concatenate([on, pairs[found]])
            cost_in = np.concatenate([cost_in, spent[source] + change_cost[target]])
            time_in = np.concatenate([time_in, took[source] + change_time])
        spent, took = cost_in + cost[j, new], time_in + time[j, new]
        fits = (spent <= r.budget) & (took <= latest)
        if not fits.all():
            kept = np.flatnonzero(fits)
            before, new, on, spent, took = before[kept], new[kept], on[kept], spent[kept], took[kept]
        if len(entering):
            kept = nondominated(new, spent, took, bits)
        else:
            kept = np.arange(len(new))
        if most is not None and len(kept) > most:
            kept, complete = kept[thin(on[kept], most)], False
        choice, excess, spent, took = new[kept], on[kept], spent[kept], took[kept]
        predecessors.append(before[kept])
        choices.append(choice)
        labels += len(choice)
        check(labels)
    last = nondominated(np.zeros(len(choice), dtype=np.int64), spent, took, bits)
    front = Front(excess[last], spent[last], took[last], last, np.zeros(len(last), dtype=np.int64))
    return ClassPaths(front, tuple(predecessors), tuple(choices), complete)
