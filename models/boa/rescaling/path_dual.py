"""The Lagrangian bound: price the budget at a multiplier μ, and every class falls to a shortest path of its own.

L(μ) = Σ_i min over paths of (time + μ cost) - μ b. Its greatest value bounds every policy from below, and is what the
randomised policy attains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

import numpy as np

from instances.boa import proven
from models.boa.rescaling.network import FloatArray, Network, Path, path

CELLS_AT_ONCE = 16_384
TOLERANCE = 1e-13  # relative: the search ends when the two lines round the maximum meet this close to it
ROUNDS = 100


@dataclass(frozen=True)
class Potentials:
    """Shortest distances at one multiplier. `run` (L, M, S) and `change` (M, S) are the lengths of the arcs.

    `onward` (L, M, S): from after an epoch at a choice to the end. `switch` (L, M): from before an epoch, about to
    change, to the end; `switch[0]` are the classes' shortest paths.
    """

    run: FloatArray
    change: FloatArray
    onward: FloatArray
    switch: FloatArray


@dataclass(frozen=True)
class Line:
    """A line under which L lies, touched at μ: the paths shortest there have this total time and cost."""

    mu: float
    time: float
    cost: float

    def at(self, mu: float, budget: float) -> float:
        return self.time + mu * (self.cost - budget)


def evaluate(net: Network, mus: FloatArray) -> list[Line]:
    """The lines that touch L at each of the multipliers `mus` (n,)."""
    batch = max(1, CELLS_AT_ONCE // net.time[0].size)
    return [line for k in range(0, len(mus), batch) for line in _evaluate(net, mus[k : k + batch])]


def _evaluate(net: Network, mus: FloatArray) -> list[Line]:
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


def shortest(net: Network, p: Potentials) -> list[Path]:
    """The classes' shortest paths at the multiplier of `p`; a path that may stay or change stays."""
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
    """The classes' shortest paths at the least multiplier tried from `mu` on where they cost `budget` at most.

    Raises ValueError where none do.
    """
    for paths in _stepping(net, mu, budget, 1.0):
        if fsum(p.cost for p in paths) <= budget:
            return paths
    raise ValueError(f"budget: must be >= {fsum(p.cost for p in paths):.12g}, got {budget:.12g}")


def unaffordable(net: Network, mu: float, budget: float) -> list[Path]:
    """The classes' shortest paths at the greatest multiplier tried from `mu` down where they cost `budget` or more."""
    for paths in _stepping(net, mu, budget, -1.0):
        if fsum(p.cost for p in paths) >= budget:
            return paths
    return paths


def _stepping(net: Network, mu: float, budget: float, sign: float) -> Iterator[list[Path]]:
    """Shortest paths at `mu`, and then ever farther from it: ties there may have gone to a path of another cost."""
    paths = shortest(net, potentials(net, mu))
    yield paths
    step, scale = 1e-12, max(mu, sum(p.time for p in paths) / budget)
    while step < 1e18 and mu + sign * step * scale > 0:
        yield shortest(net, potentials(net, mu + sign * step * scale))
        step *= 8
    if sign < 0:
        yield shortest(net, potentials(net, 0.0))


def rounding(net: Network) -> float:
    """Relative: more than the rounding of floats can amount to in the length of a path or of all of them."""
    return (net.longest + 10) * 2.0**-50


class Dual:
    """L for one network and any budget; the lines found for one budget are kept for the next."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self._lines: dict[float, Line] = {}
        self._at(np.zeros(1))

    @property
    def fastest(self) -> Line:
        """The line at multiplier 0: the fastest paths and their cost."""
        return self._lines[0.0]

    def _at(self, mus: FloatArray) -> None:
        fresh = np.array([mu for mu in np.unique(mus) if mu not in self._lines])
        if len(fresh):
            self._lines.update((line.mu, line) for line in evaluate(self.net, fresh))

    def at(self, mu: float) -> Line:
        """The line that touches L at `mu`."""
        self._at(np.array([mu]))
        return self._lines[mu]

    def best(self, budget: float) -> tuple[Line, float]:
        """Of the lines found the one with the greatest lower bound on all policies that keep `budget`, and that bound.

        Where the budget is next to the least cost, the rounding of a large multiplier can take more than it gives.
        """
        most, loss = proven(budget), rounding(self.net)

        def bound(line: Line) -> float:
            return line.at(line.mu, most) - loss * (line.time + 2 * line.mu * most)

        line = max(self._lines.values(), key=bound)
        return line, max(0.0, bound(line))

    def maximise(self, budget: float) -> tuple[Line, Line]:
        """The two lines whose meeting is the greatest value of L: one over `budget`, one within it, to the last digit.

        They are the same where the fastest paths of all keep the budget, or where only the cheapest do.
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
        if not within:  # the budget is the least cost itself, up to rounding
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
