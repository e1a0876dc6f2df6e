"""The problem with rescaling as shortest paths, their Lagrangian dual, and reduced costs in whole units.

A path pays time and cost where it runs an epoch, and where it changes to a choice; both kinds of change, the start-up
among them, depend on the new choice only (Lemma 4.8). Time is in hours of the mean completion time, cost in the unit
of the budget, so the classes' paths simply add up.

Priced at a multiplier μ of the budget, every class has a shortest path of its own:
L(μ) = Σ_i min over paths of (time + μ cost) - μ b. The greatest value is a lower bound on every policy, and is what
the randomised policy attains.

For the gap, times and costs are rounded down to whole units, so that every policy within the budget stays within it and
none looks slower than it is: the optimum in units is a rigorous lower bound, and sums of units are exact. One unit is
2^-50 of the budget and of the first incumbent (less with more than 500 choices). Only the potentials are floating
point, and their rounding is bounded by `margin`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, WidthArrays, proven, width_arrays


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
    cost = np.where(np.isfinite(a.hours), a.hours, 0.0)
    cost *= a.arrivals[:, None]
    cost *= a.rate
    return Network(
        time=a.hours * a.share[:, None],
        cost=cost,
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


CELLS_AT_ONCE = 16_384  # So many multipliers go at once that their arrays of (class, choice) have this many entries.
TOLERANCE = 1e-13  # The search ends where the two lines round the maximum meet this close to it, as a share.
ROUNDS = 100  # The search ends after so many rounds, however close the lines meet.


@dataclass(frozen=True)
class Potentials:
    """Lengths of arcs and shortest distances to the end at a multiplier; L epochs at most, M classes, S choices.

    - `change` (M, S): lengths of the arcs to a choice.
    - `ahead` (L, M, S): distance from before an epoch, already at a choice.
    - `switch` (L, M): distance from before an epoch, about to change; `switch[0]` are the classes' shortest paths.
    """

    change: FloatArray
    ahead: FloatArray
    switch: FloatArray


@dataclass(frozen=True)
class Line:
    """A line over L that touches L at `mu`: total time and cost of the paths that are shortest there."""

    mu: float
    time: float
    cost: float

    def at(self, mu: float, budget: float) -> float:
        """The height of the line at a multiplier."""
        return self.time + mu * (self.cost - budget)


def evaluate(net: Network, mus: FloatArray) -> list[Line]:
    """The lines that touch L at each of the multipliers `mus` (n,)."""
    batch = max(1, CELLS_AT_ONCE // net.time[0].size)
    return [line for k in range(0, len(mus), batch) for line in _evaluate(net, mus[k : k + batch])]


def _evaluate(net: Network, mus: FloatArray) -> list[Line]:
    """The lines at a few multipliers, by dynamic programming over the epochs, all classes and multipliers at once."""
    mu = mus[:, None, None]
    change = net.change_time + mu * net.change_cost
    shape = change.shape
    first = (np.arange(shape[0] * shape[1]) * shape[2]).reshape(shape[0], shape[1], 1)
    length = change + net.time[0] + mu * net.cost[0]
    cost = np.broadcast_to(net.change_cost + net.cost[0], shape)
    for time_j, cost_j in zip(net.time[1:], net.cost[1:], strict=True):
        best = length.argmin(-1)[:, :, None] + first
        changed = length.ravel()[best] + change
        stay = length <= changed
        length = np.where(stay, length, changed) + time_j + mu * cost_j
        cost = np.where(stay, cost, cost.ravel()[best] + net.change_cost) + cost_j
    best = length.argmin(-1)[:, :, None] + first
    totals, costs = length.ravel()[best].sum((1, 2)), cost.ravel()[best].sum((1, 2))
    return [Line(float(m), float(t - m * c), float(c)) for m, t, c in zip(mus, totals, costs, strict=True)]


def potentials(net: Network, mu: float) -> Potentials:
    """Distances to the end at multiplier `mu`."""
    change, ahead = net.change_time + mu * net.change_cost, np.empty_like(net.time)
    switch = np.empty(ahead.shape[:2])
    onward = np.zeros_like(change)
    for j in range(len(ahead) - 1, -1, -1):
        ahead[j] = net.time[j] + mu * net.cost[j] + onward
        switch[j] = (change + ahead[j]).min(-1)
        onward = np.minimum(ahead[j], switch[j][:, None])
    return Potentials(change, ahead, switch)


def shortest_paths(net: Network, p: Potentials) -> list[Path]:
    """The classes' shortest paths at the multiplier of `p`; where staying is as short as changing, a path stays."""
    paths = []
    for i, epochs in enumerate(net.epochs):
        choices = np.empty(epochs, dtype=np.int64)
        for j in range(epochs):
            ahead = p.ahead[j, i]
            new = int((p.change[i] + ahead).argmin())
            stay = j > 0 and ahead[choices[j - 1]] <= p.switch[j, i]
            choices[j] = choices[j - 1] if stay else new
        paths.append(path(net, i, choices))
    return paths


def affordable(net: Network, mu: float, budget: float) -> list[Path]:
    """The classes' shortest paths at the least multiplier tried from `mu` up where the total cost is `budget` at most.

    Raises ValueError where none do.
    """
    for paths in _stepping(net, mu, budget, 1.0):
        if fsum(p.cost for p in paths) <= budget:
            return paths
    raise ValueError(f"budget: must be >= {fsum(p.cost for p in paths):.12g}, got {budget:.12g}")


def unaffordable(net: Network, mu: float, budget: float) -> list[Path]:
    """The classes' shortest paths at the greatest multiplier tried up to `mu` where the total is `budget` or more."""
    for paths in _stepping(net, mu, budget, -1.0):
        if fsum(p.cost for p in paths) >= budget:
            return paths
    return paths


def _stepping(net: Network, mu: float, budget: float, sign: float) -> Iterator[list[Path]]:
    """Shortest paths at `mu`, then ever farther away: ties there may have gone to a path of another cost."""
    paths = shortest_paths(net, potentials(net, mu))
    yield paths
    step, scale = 1e-12, max(mu, sum(p.time for p in paths) / budget)
    while step < 1e18 and mu + sign * step * scale > 0:
        yield shortest_paths(net, potentials(net, mu + sign * step * scale))
        step *= 8
    if sign < 0:
        yield shortest_paths(net, potentials(net, 0.0))


def rounding(net: Network) -> float:
    """The relative rounding: more than floats can amount to in the length of a path or of all paths together."""
    return (net.longest + 10) * 2.0**-50


class PathDual:
    """The dual function L of a network for any budget; lines found for a budget are kept for the next."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self._lines: dict[float, Line] = {}
        self._at(np.zeros(1))

    @property
    def fastest(self) -> Line:
        """The line at multiplier 0: total time and cost of the fastest paths."""
        return self._lines[0.0]

    def _at(self, mus: FloatArray) -> None:
        """Find the lines at the multipliers `mus` (n,)."""
        fresh = np.array([mu for mu in np.unique(mus).tolist() if mu not in self._lines])
        if len(fresh):
            self._lines.update((line.mu, line) for line in evaluate(self.net, fresh))
            self._sorted = sorted(self._lines.values(), key=lambda line: line.mu)
            self._mu, self._time, self._cost = np.array([(line.mu, line.time, line.cost) for line in self._sorted]).T

    def at(self, mu: float) -> Line:
        """The line that touches L at `mu`."""
        self._at(np.array([mu]))
        return self._lines[mu]

    def best(self, budget: float) -> tuple[Line, float]:
        """The line with the greatest lower bound on all policies that keep `budget`, of the lines found, and the bound.

        Where the budget is next to the least cost, the rounding of a large multiplier can take more than it gives.
        """
        most, loss = proven(budget), rounding(self.net)
        bounds = self._time + self._mu * (self._cost - most) - loss * (self._time + 2 * self._mu * most)
        best = int(bounds.argmax())
        return self._sorted[best], max(0.0, float(bounds[best]))

    def _around(self, budget: float) -> tuple[Line | None, Line | None]:
        """Of the lines found, that of the greatest multiplier over `budget`, and that of the least within."""
        over, within = np.flatnonzero(self._cost > budget), np.flatnonzero(self._cost <= budget)
        return (
            self._sorted[over[-1]] if len(over) else None,
            self._sorted[within[0]] if len(within) else None,
        )

    def maximise(self, budget: float, stop: Callable[[], bool] = lambda: False) -> tuple[Line, Line]:
        """The two lines that meet at the maximum of L: a line that costs more than `budget`, and a line within.

        Both are the same where the fastest paths of all keep the budget, or where only the cheapest do. Once `stop`
        says so, they are lines on either side of the maximum.
        """
        over, inside = self._around(budget)
        if over is None or self.fastest.cost <= budget:
            return self.fastest, self.fastest
        scale = self.fastest.time / budget
        points = max(4, min(16, CELLS_AT_ONCE // self.net.time[0].size))
        low, high = max(over.mu, 1e-7 * scale), max(over.mu, scale) * 100
        while inside is None and high < 1e15 * scale:
            self._at(np.geomspace(low, high, points))
            inside = self._around(budget)[1]
            low, high = high, high * 1e4
        if inside is None:  # The budget is the least cost itself, up to rounding.
            return self._sorted[-1], self._sorted[-1]
        for _ in range(ROUNDS):
            over, inside = self._around(budget)
            assert over is not None
            assert inside is not None
            mu = (inside.time - over.time) / (over.cost - inside.cost)
            if not over.mu < mu < inside.mu:
                break
            best = max(line.at(line.mu, budget) for line in (over, inside))
            if over.at(mu, budget) - best <= TOLERANCE * abs(best) or stop():
                break
            near = np.geomspace(1e-3, 1, points // 2)[:-1]
            self._at(np.concatenate([mu - (mu - over.mu) * near, [mu], mu + (inside.mu - mu) * near]))
        assert over is not None
        return over, inside


BITS = 50  # The budget has at most 2^50 units.


@dataclass(frozen=True)
class ReducedCosts:
    """Arcs in whole units, and reduced costs at a multiplier; L epochs at most, M classes, S choices.

    The reduced costs of a path's arcs are >= 0 and add up to the path's length over the shortest.

    - `time`, `cost` (L, M, S): units of running an epoch at a choice, whole numbers.
    - `change_time` (M, 1), `change_cost` (M, S): units of changing to a choice.
    - `epochs` (M,): number of epochs of each class.
    - `bits`: the budget in units is this power of two.
    - `unit`: hours of a unit of time.
    - `mu`: the multiplier, units of time for a unit of cost.
    - `potentials`: distances to the end, units.
    - `least`: L(μ) in units.
    - `margin`: more than all rounding of floats can amount to, units.
    """

    time: FloatArray
    cost: FloatArray
    change_time: IntArray
    change_cost: IntArray
    epochs: IntArray
    bits: int
    unit: float
    mu: float
    potentials: Potentials
    least: float
    margin: float

    @property
    def budget(self) -> int:
        """The budget, units."""
        return 1 << self.bits

    @property
    def unsure(self) -> int:
        """A policy that leaves so many units of the budget keeps it whatever its costs were rounded down by."""
        return 2 * int(self.epochs.sum()) + (self.budget >> 37)

    def arcs(self, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The reduced costs (L, S) of class `i`, made when they are asked for to save memory.

        Those of keeping a choice from the epoch before, of leaving it after that, and of changing to a choice.
        """
        p = self.potentials
        ahead, switch = p.ahead[:, i], p.switch[:, i, None]
        return np.maximum(ahead - switch, 0.0), np.maximum(switch - ahead, 0.0), p.change[i] + ahead - switch


def reduced_costs(net: Network, line: Line, budget: float, incumbent: float) -> ReducedCosts:
    """The reduced costs at the multiplier of `line`; `incumbent`: time of a policy within `budget`, hours."""
    bits = min(BITS, 60 - net.time.shape[2].bit_length())
    unit, unit_cost = incumbent / 2**bits, budget / 2**bits
    whole = Network(
        _down(net.time, unit, bits),
        _down(net.cost, unit_cost, bits),
        _down(net.change_time, unit, bits),
        _down(net.change_cost, unit_cost, bits),
        net.epochs,
    )
    mu = line.mu * unit_cost / unit
    p = potentials(whole, mu)
    return ReducedCosts(
        time=whole.time,
        cost=whole.cost,
        change_time=whole.change_time.astype(np.int64),
        change_cost=whole.change_cost.astype(np.int64),
        epochs=net.epochs,
        bits=bits,
        unit=unit,
        mu=mu,
        potentials=p,
        least=float(p.switch[0].sum() - mu * 2.0**bits),
        margin=rounding(net) * (1 + mu) * 2.0**bits,
    )


def _down(values: FloatArray, unit: float, bits: int) -> FloatArray:
    """Whole units below `values`, a few roundings of the division included; cut where more than the budget."""
    whole = values * ((1 - 2.0**-49) / unit)
    return np.minimum(np.floor(whole, out=whole), 2.0 ** (bits + 1), out=whole)
