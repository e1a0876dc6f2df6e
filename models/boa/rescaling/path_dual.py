"""The Lagrangian dual: price the budget at a multiplier μ, and every class has a shortest path of its own.

L(μ) = Σ_i min over paths of (time + μ cost) - μ b. The greatest value is a lower bound on every policy, and is what
the randomised policy attains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

import numpy as np

from instances.arrays import FloatArray
from instances.boa import proven
from models.boa.rescaling.network import Network, Path, path

CELLS_AT_ONCE = 16_384  # So many multipliers go at once that their arrays of (class, choice) have this many entries.
TOLERANCE = 1e-13  # The search ends where the two lines round the maximum meet this close to it, as a share.
ROUNDS = 100  # The search ends after so many rounds, however close the lines meet.


@dataclass(frozen=True)
class Potentials:
    """Lengths of arcs and shortest distances to the end at a multiplier; L epochs at most, M classes, S choices.

    - `run` (L, M, S), `change` (M, S): lengths of the arcs.
    - `onward` (L, M, S): distance from after an epoch at a choice.
    - `switch` (L, M): distance from before an epoch, about to change; `switch[0]` are the classes' shortest paths.
    """

    run: FloatArray
    change: FloatArray
    onward: FloatArray
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
    run, change = net.time + mu * net.cost, net.change_time + mu * net.change_cost
    onward = np.zeros_like(run)
    switch = np.empty(run.shape[:2])
    for j in range(len(run) - 1, -1, -1):
        ahead = run[j] + onward[j]
        switch[j] = (change + ahead).min(-1)
        if j:
            onward[j - 1] = np.minimum(ahead, switch[j][:, None])
    return Potentials(run, change, onward, switch)


def shortest_paths(net: Network, p: Potentials) -> list[Path]:
    """The classes' shortest paths at the multiplier of `p`; where staying is as short as changing, a path stays."""
    paths = []
    for i, epochs in enumerate(net.epochs):
        choices = np.empty(epochs, dtype=np.int64)
        for j in range(epochs):
            ahead = p.run[j, i] + p.onward[j, i]
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
        fresh = np.array([mu for mu in np.unique(mus) if mu not in self._lines])
        if len(fresh):
            self._lines.update((line.mu, line) for line in evaluate(self.net, fresh))

    def at(self, mu: float) -> Line:
        """The line that touches L at `mu`."""
        self._at(np.array([mu]))
        return self._lines[mu]

    def best(self, budget: float) -> tuple[Line, float]:
        """The line with the greatest lower bound on all policies that keep `budget`, of the lines found, and the bound.

        Where the budget is next to the least cost, the rounding of a large multiplier can take more than it gives.
        """
        most, loss = proven(budget), rounding(self.net)

        def bound(line: Line) -> float:
            return line.at(line.mu, most) - loss * (line.time + 2 * line.mu * most)

        line = max(self._lines.values(), key=bound)
        return line, max(0.0, bound(line))

    def maximise(self, budget: float) -> tuple[Line, Line]:
        """The two lines that meet at the maximum of L: a line that costs more than `budget`, and a line within.

        Both are the same where the fastest paths of all keep the budget, or where only the cheapest do.
        """
        within = [line for line in self._lines.values() if line.cost <= budget]
        if 0.0 in (line.mu for line in within):
            return self.fastest, self.fastest
        over = max((line for line in self._lines.values() if line.cost > budget), key=lambda line: line.mu)
        scale = self.fastest.time / budget
        points = max(4, min(16, CELLS_AT_ONCE // self.net.time[0].size))
        if not within:
            low, high = max(over.mu, 1e-7 * scale), max(over.mu, scale) * 100
            while not within and high < 1e15 * scale:
                self._at(np.geomspace(low, high, points))
                within = [line for line in self._lines.values() if line.cost <= budget]
                low, high = high, high * 1e4
        if not within:  # The budget is the least cost itself, up to rounding.
            last = max(self._lines.values(), key=lambda line: line.mu)
            return last, last
        for _ in range(ROUNDS):
            over = max((line for line in self._lines.values() if line.cost > budget), key=lambda line: line.mu)
            inside = min((line for line in self._lines.values() if line.cost <= budget), key=lambda line: line.mu)
            mu = (inside.time - over.time) / (over.cost - inside.cost)
            if not over.mu < mu < inside.mu:
                break
            best = max(line.at(line.mu, budget) for line in (over, inside))
            if over.at(mu, budget) - best <= TOLERANCE * abs(best):
                break
            near = np.geomspace(1e-3, 1, points // 2)[:-1]
            self._at(np.concatenate([mu - (mu - over.mu) * near, [mu], mu + (inside.mu - mu) * near]))
        return over, inside
