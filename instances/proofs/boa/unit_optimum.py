"""The optimum in whole units by exact search: paths of every class whose lengths are near the shortest, put together.

At a price of the budget a policy's length is scale * time + price * cost. A policy within the budget that takes at most
so many units is not longer than scale * those units + price * budget; so what the paths of its classes exceed the
shortest by adds up to no more than the rest. All such paths are listed, but for those that others beat in both time
and cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.errors import CheckFailed
from instances.proofs.boa.unit_network import FAR, ClassNetwork, IntArray, UnitNetwork, Units
from instances.proofs.certificate import NoCertificate

LABELS = 3_000_000  # partial paths, or pairs of policies, at a time


@dataclass(frozen=True)
class Distances:
    """Lengths to the end of a class: `onward` (epochs, choices) from after an epoch, `switch` from before one."""

    run: IntArray
    change: IntArray
    onward: IntArray
    switch: IntArray


def distances(network: ClassNetwork, units: Units) -> Distances:
    """The shortest lengths to the end; `switch[0]` is the class's shortest path."""
    allowed = network.time < FAR
    run = np.where(allowed, units.scale * np.where(allowed, network.time, 0), FAR)
    run = np.where(allowed, run + units.price * np.where(allowed, network.cost, 0), FAR)
    change = units.scale * network.change_time + units.price * network.change_cost
    onward, switch = np.zeros_like(run), np.zeros(len(run), dtype=np.int64)
    for j in range(len(run) - 1, -1, -1):
        ahead = np.minimum(run[j] + onward[j], FAR)  # both at most FAR: the sum still fits
        switch[j] = np.minimum(change + ahead, FAR).min()
        if j:
            onward[j - 1] = np.minimum(ahead, switch[j])
    return Distances(run, change, onward, switch)


def shortest(network: UnitNetwork) -> int:
    """The length of the classes' shortest paths together."""
    return sum(int(distances(c, network.units).switch[0]) for c in network.classes)


def fastest(network: UnitNetwork, latest: int) -> int | None:
    """The units of time of the fastest policy within the budget, `None` where all take more than `latest`.

    Raises NoCertificate where too many paths are near the shortest, and CheckFailed where what is within reach would
    be as far as what is not allowed.
    """
    units = network.units
    if units.scale * latest + units.price * network.budget >= FAR:
        raise CheckFailed("units: sums would not be exact in 64 bits")
    tables = [distances(c, units) for c in network.classes]
    rest = units.scale * latest + units.price * network.budget - sum(int(d.switch[0]) for d in tables)
    if rest < 0:
        return None
    sets = [_paths(c, d, units, rest) for c, d in zip(network.classes, tables, strict=True)]
    sets.sort(key=lambda pair: len(pair[0]))
    time, cost = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    below = sum(int(d.switch[0]) for d in tables)
    for k, (t, c) in enumerate(sets):
        # What is still to come is at least as long as the shortest: the length of all is known to within the rest.
        floor = sum(int((units.scale * a + units.price * b).min()) for a, b in sets[k + 1 :])
        if len(time) * len(t) > LABELS:
            raise NoCertificate(f"{len(time) * len(t):,} pairs of policies to be compared, more than {LABELS:,}")
        time, cost = (time[:, None] + t).ravel(), (cost[:, None] + c).ravel()
        kept = units.scale * time + units.price * cost + floor <= below + rest
        kept &= (time <= latest) & (cost <= network.budget)
        time, cost = _undominated(time[kept], cost[kept], np.zeros(int(kept.sum()), dtype=np.int64))[:2]
        if not len(time):
            return None
    return int(time.min())


def _paths(network: ClassNetwork, d: Distances, units: Units, rest: int) -> tuple[IntArray, IntArray]:
    """Time and cost of the paths of a class at most `rest` longer than the shortest, the dominated left out."""
    longest = int(d.switch[0]) + rest
    first = np.flatnonzero(d.change + np.minimum(d.run[0] + d.onward[0], FAR) <= longest)
    time, cost = network.time[0][first] + network.change_time, network.cost[0][first] + network.change_cost[first]
    choice = first.astype(np.int64)
    for j in range(1, len(network.time)):
        gone = units.scale * time + units.price * cost
        ahead = np.minimum(d.run[j] + d.onward[j], FAR)
        stays = gone + ahead[choice] <= longest
        kept = np.flatnonzero(stays)
        front = _undominated(time, cost, np.zeros(len(time), dtype=np.int64))  # a change forgets the choice before
        far = units.scale * front[0] + units.price * front[1]
        leads = np.flatnonzero(d.change + ahead <= longest - int(far.min(initial=FAR)))
        if len(kept) + len(far) * len(leads) > LABELS:
            raise NoCertificate(f"more than {LABELS:,} partial paths of a class are near the shortest")
        row, column = np.nonzero(far[:, None] + (d.change + ahead)[leads] <= longest)
        to = leads[column]
        choice = np.concatenate([choice[kept], to])
        time = np.concatenate([time[kept], front[0][row] + network.change_time]) + network.time[j][choice]
        cost = np.concatenate([cost[kept], front[1][row] + network.change_cost[to]]) + network.cost[j][choice]
        time, cost, choice = _undominated(time, cost, choice)
    return _undominated(time, cost, np.zeros(len(time), dtype=np.int64))[:2]


def _undominated(time: IntArray, cost: IntArray, choice: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The points that no other of the same choice beats, nor equals, in time and cost."""
    if not len(time):
        return time, cost, choice
    order = np.lexsort((time, cost, choice))
    time, cost, choice = time[order], cost[order], choice[order]
    starts = np.flatnonzero(np.diff(choice, prepend=choice[0] - 1))
    kept = np.ones(len(time), dtype=bool)
    for begin, end in zip(starts, [*starts[1:], len(time)], strict=True):
        part = time[begin:end]
        kept[begin + 1 : end] = part[1:] < np.minimum.accumulate(part)[:-1]
    return time[kept], cost[kept], choice[kept]
