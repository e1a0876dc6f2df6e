"""The problem with rescaling as a shortest path for each class, whose nodes are (epoch, choice of width).

A path pays time and cost where it runs an epoch, and where it changes to a choice; both kinds of change, the start-up
among them, depend on the new choice only (Lemma 4.8). Time is in hours of the mean completion time, cost in the unit
of the budget, so the classes' paths simply add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, WidthArrays, width_arrays


@dataclass(frozen=True)
class Network:
    """Costs of the arcs; L epochs at most, M classes, S choices.

    - `time`, `cost` (L, M, S): of running an epoch; a time is infinite where a table has no such width, and 0 past a
      class's last epoch.
    - `change_time` (M, 1), `change_cost` (M, S): of changing to a choice.
    - `epochs` (M,): number of epochs of each class.
    """

    time: FloatArray
    cost: FloatArray
    change_time: FloatArray
    change_cost: FloatArray
    epochs: IntArray

    @property
    def longest(self) -> int:
        """Arcs of all paths together at most, which bounds how often a sum is rounded."""
        return 2 * int(self.epochs.sum())


@dataclass(frozen=True)
class Path:
    """A path of a class: choices (epochs,), positions in S, and the mean completion time and cost of the path."""

    choices: IntArray
    time: float
    cost: float


def network(data: BoaAllocation, arrays: WidthArrays | None = None) -> Network:
    """The network of `data` over whole widths."""
    a = arrays if arrays is not None else width_arrays(data)
    return Network(
        time=a.hours * a.share[:, None],
        cost=np.where(np.isfinite(a.hours), a.hours, 0.0) * a.arrivals[:, None] * a.rate,
        change_time=(a.share * a.rescale)[:, None],
        change_cost=(a.arrivals * a.rescale)[:, None] * a.rate,
        epochs=a.epochs,
    )


def path(net: Network, i: int, choices: IntArray) -> Path:
    """The path of class `i` through `choices` (epochs,), with time and cost added up."""
    j = np.arange(len(choices))
    new = np.concatenate([[True], choices[1:] != choices[:-1]])
    time = net.time[j, i, choices].sum() + new.sum() * net.change_time[i, 0]
    cost = net.cost[j, i, choices].sum() + net.change_cost[i, choices[new]].sum()
    return Path(choices, float(time), float(cost))
