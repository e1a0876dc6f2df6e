"""The problem with rescaling as shortest paths, their Lagrangian dual, and reduced costs in integer units.

A path pays time and cost for running an epoch, and for a change to a choice of (type, width). A change, or the
start-up, depends on the new choice only (Lemma 4.8). Time is in hours of the mean completion time, cost in the unit of
the budget, so the totals of the classes' paths add up.

At a multiplier μ of the budget, every class has its own shortest path: L(μ) = Σ_i min over paths of (time + μ cost) - μ
b. The maximum of L is a lower bound on every policy, and the randomised policy attains it.

To close the gap, times and costs are rounded down to integer units. So every policy within the budget stays within it,
and none appears slower than it is. The optimum in units is therefore a rigorous lower bound, and sums of units are
exact. One unit is 2^-50 of the budget and of the first incumbent; it is larger for more than 500 choices. Only the
potentials are floating-point numbers, and `margin` bounds their rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, WidthArrays, proven, width_arrays
from models.boa.multiplier import crossing, height


@dataclass(frozen=True)
class Network:
    """Costs of the arcs, for at most L epochs, M classes and S choices.

    - `time`, `cost` (L, M, S): time and cost of running an epoch. A time is infinite if the table has no such width,
      and 0 beyond a class's last epoch.
    - `change_time` (M, 1), `change_cost` (M, S): time and cost of changing to a choice.
    - `epochs` (M,): number of epochs of each class.
    """

    time: FloatArray
    cost: FloatArray
    change_time: FloatArray
    change_cost: FloatArray
    epochs: IntArray

    @property
    def longest(self) -> int:
        """Return the maximum number of arcs of all paths together, which limits how often a sum is rounded."""
        return 2 * int(self.epochs.sum())


@dataclass(frozen=True)
class Path:
    """A path of a class: `choices` (epochs,), indices into S, and the mean completion time and cost of the path."""

    choices: IntArray
    time: float
    cost: float


def build_network(data: BoaAllocation, arrays: WidthArrays | None = None) -> Network:
    """Return the network of `data` over integer widths."""
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


def build_path(net: Network, i: int, choices: IntArray) -> Path:
    """Return the path of class `i` through `choices` (epochs,), with its total time and cost."""
    j = np.arange(len(choices))
    new = np.concatenate([[True], choices[1:] != choices[:-1]])
    time = net.time[j, i, choices].sum() + new.sum() * net.change_time[i, 0]
    cost = net.cost[j, i, choices].sum() + net.change_cost[i, choices[new]].sum()
    return Path(choices, float(time), float(cost))


CELLS_AT_ONCE = (
    16_384  # entries of the arrays of (multiplier, class, choice) per batch, so that they fit into the cache
)
TOLERANCE = 1e-13  # relative distance to the maximum at which the search stops, near the rounding error
MAX_ROUNDS = 100  # then the search stops at any gap


@dataclass(frozen=True)
class Potentials:
    """Lengths of arcs and shortest distances to the end at a multiplier, for at most L epochs, M classes and S choices.

    - `change` (M, S): lengths of the arcs to a choice.
    - `ahead` (L, M, S): distance from before an epoch, if the job is already at the choice.
    - `switch` (L, M): distance from before an epoch, if the job changes. `switch[0]` is the length of the shortest
      paths.
    """

    change: FloatArray
    ahead: FloatArray
    switch: FloatArray


@dataclass(frozen=True)
class Line:
    """A line above L that touches L at `mu`: total time and cost of the paths that are shortest at this multiplier."""

    mu: float
    time: float
    cost: float


def evaluate_lines(net: Network, mus: FloatArray) -> list[Line]:
    """Return the lines that touch L at each of the multipliers `mus` (n,)."""
    batch = max(1, CELLS_AT_ONCE // net.time[0].size)
    return [line for k in range(0, len(mus), batch) for line in _evaluate_batch(net, mus[k : k + batch])]


def _evaluate_batch(net: Network, mus: FloatArray) -> list[Line]:
    """Return the lines at a few multipliers, by one dynamic program over the epochs of all classes and multipliers."""
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


def compute_potentials(net: Network, mu: float) -> Potentials:
    """Return the distances to the end at multiplier `mu`."""
    change, ahead = net.change_time + mu * net.change_cost, np.empty_like(net.time)
    switch = np.empty(ahead.shape[:2])
    onward = np.zeros_like(change)
    for j in range(len(ahead) - 1, -1, -1):
        ahead[j] = net.time[j] + mu * net.cost[j] + onward
        switch[j] = (change + ahead[j]).min(-1)
        onward = np.minimum(ahead[j], switch[j][:, None])
    return Potentials(change, ahead, switch)


def shortest_paths(net: Network, p: Potentials) -> list[Path]:
    """Return the classes' shortest paths at the multiplier of `p`; in a tie a path keeps its width."""
    paths = []
    for i, epochs in enumerate(net.epochs):
        choices = np.empty(epochs, dtype=np.int64)
        for j in range(epochs):
            ahead = p.ahead[j, i]
            new = int((p.change[i] + ahead).argmin())
            stay = j > 0 and ahead[choices[j - 1]] <= p.switch[j, i]
            choices[j] = choices[j - 1] if stay else new
        paths.append(build_path(net, i, choices))
    return paths


def find_affordable_paths(net: Network, mu: float, budget: float) -> list[Path]:
    """Return shortest paths within `budget`, at a multiplier of `mu` or slightly more.

    At a tie of several paths, the paths at `mu` itself may exceed the budget. Raises ValueError if no multiplier
    suffices.
    """
    for paths in _step_away(net, mu, budget, 1.0):
        if fsum(p.cost for p in paths) <= budget:
            return paths
    raise ValueError(f"budget: must be >= {fsum(p.cost for p in paths):.12g}, got {budget:.12g}")


def find_unaffordable_paths(net: Network, mu: float, budget: float) -> list[Path]:
    """Return shortest paths that cost at least `budget`, at a multiplier of `mu` or slightly less.

    If there are none, return the fastest paths.
    """
    for paths in _step_away(net, mu, budget, -1.0):
        if fsum(p.cost for p in paths) >= budget:
            return paths
    return paths


def _step_away(net: Network, mu: float, budget: float, sign: float) -> Iterator[list[Path]]:
    """Yield the shortest paths at `mu`, then at multipliers in increasing distance; ties at `mu` have several costs."""
    paths = shortest_paths(net, compute_potentials(net, mu))
    yield paths
    step, scale = 1e-12, max(mu, sum(p.time for p in paths) / budget)
    while step < 1e18 and mu + sign * step * scale > 0:
        yield shortest_paths(net, compute_potentials(net, mu + sign * step * scale))
        step *= 8
    if sign < 0:
        yield shortest_paths(net, compute_potentials(net, 0.0))


def relative_rounding(net: Network) -> float:
    """Return a bound on the relative rounding error of the length of a path, or of all paths together."""
    return (net.longest + 10) * 2.0**-50


class PathDual:
    """The dual function L of a network for any budget; lines are kept and shared by all budgets."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self._lines: dict[float, Line] = {}
        self._add_lines(np.zeros(1))

    @property
    def fastest(self) -> Line:
        """Return the line at multiplier 0: total time and cost of the fastest paths."""
        return self._lines[0.0]

    def _add_lines(self, mus: FloatArray) -> None:
        """Evaluate the lines at the multipliers `mus` (n,)."""
        fresh = np.array([mu for mu in np.unique(mus).tolist() if mu not in self._lines])
        if len(fresh):
            self._lines.update((line.mu, line) for line in evaluate_lines(self.net, fresh))
            self._sorted = sorted(self._lines.values(), key=lambda line: line.mu)
            self._mu, self._time, self._cost = np.array([(line.mu, line.time, line.cost) for line in self._sorted]).T

    def line_at(self, mu: float) -> Line:
        """Return the line that touches L at `mu`."""
        self._add_lines(np.array([mu]))
        return self._lines[mu]

    def best(self, budget: float) -> tuple[Line, float]:
        """Return the line with the best lower bound for `budget` among the evaluated ones, and this bound.

        If the budget is close to the minimum cost, the rounding error of a large multiplier may exceed what it gains.
        """
        limit, loss = proven(budget), relative_rounding(self.net)
        bounds = self._time + self._mu * (self._cost - limit) - loss * (self._time + 2 * self._mu * limit)
        best = int(bounds.argmax())
        return self._sorted[best], max(0.0, float(bounds[best]))

    def _around(self, budget: float) -> tuple[Line | None, Line | None]:
        """Return the evaluated lines next to the best multiplier: the last over `budget`, and the first within."""
        over, within = np.flatnonzero(self._cost > budget), np.flatnonzero(self._cost <= budget)
        return (
            self._sorted[over[-1]] if len(over) else None,
            self._sorted[within[0]] if len(within) else None,
        )

    def maximise(self, budget: float, stop: Callable[[], bool] = lambda: False) -> tuple[Line, Line]:
        """Maximise L and return the two lines that meet at the maximum: one over `budget`, and one within it.

        - `budget`: GPUs or currency per hour.
        - `stop`: ends the search early; the lines are then on both sides of the maximum.

        Both lines are equal if the fastest paths are within the budget, or only the cheapest ones are.
        """
        over, inside = self._around(budget)
        if over is None or self.fastest.cost <= budget:
            return self.fastest, self.fastest
        scale = self.fastest.time / budget
        points = max(4, min(16, CELLS_AT_ONCE // self.net.time[0].size))
        low, high = max(over.mu, 1e-7 * scale), max(over.mu, scale) * 100
        while inside is None and high < 1e15 * scale:
            self._add_lines(np.geomspace(low, high, points))
            inside = self._around(budget)[1]
            low, high = high, high * 1e4
        if inside is None:  # the budget is the minimum cost, up to rounding
            return self._sorted[-1], self._sorted[-1]
        for _ in range(MAX_ROUNDS):
            over, inside = self._around(budget)
            assert over is not None
            assert inside is not None
            mu = crossing(over, inside)
            if not over.mu < mu < inside.mu:
                break
            best = max(height(line, line.mu, budget) for line in (over, inside))
            if height(over, mu, budget) - best <= TOLERANCE * abs(best) or stop():
                break
            near = np.geomspace(1e-3, 1, points // 2)[:-1]
            self._add_lines(np.concatenate([mu - (mu - over.mu) * near, [mu], mu + (inside.mu - mu) * near]))
        assert over is not None
        return over, inside


BITS = 50  # the budget has at most 2^50 units, so that sums of a few terms are exact in floating point


@dataclass(frozen=True)
class ReducedCosts:
    """Arcs in integer units, and reduced costs at a multiplier, for at most L epochs, M classes and S choices.

    The reduced costs of a path's arcs are >= 0 and add up to its length minus that of the shortest path.

    - `time`, `cost` (L, M, S): integer units of running an epoch at a choice.
    - `change_time` (M, 1), `change_cost` (M, S): units of changing to a choice.
    - `epochs` (M,): number of epochs of each class.
    - `bits`: the budget is 2^bits units.
    - `unit`: hours per unit of time.
    - `mu`: the multiplier, units of time per unit of cost.
    - `potentials`: distances to the end, units.
    - `lagrangian`: L(μ) in units.
    - `margin`: bound on all floating-point rounding errors together, units.
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
    lagrangian: float
    margin: float

    @property
    def budget(self) -> int:
        """Return the budget, units."""
        return 1 << self.bits

    @property
    def unsure(self) -> int:
        """Return the slack, units, at which a policy is within the budget whatever the rounding of its costs."""
        return 2 * int(self.epochs.sum()) + (self.budget >> 37)

    def arcs(self, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the reduced costs (L, S) of class `i`: of keeping a choice, leaving it, and changing to it.

        They are computed on demand to save memory.
        """
        p = self.potentials
        ahead, switch = p.ahead[:, i], p.switch[:, i, None]
        return np.maximum(ahead - switch, 0.0), np.maximum(switch - ahead, 0.0), p.change[i] + ahead - switch


def compute_reduced_costs(net: Network, line: Line, budget: float, incumbent: float) -> ReducedCosts:
    """Return the reduced costs at the multiplier of `line`.

    - `budget`: GPUs or currency per hour.
    - `incumbent`: time of a policy within `budget`, hours.
    """
    bits = min(BITS, 60 - net.time.shape[2].bit_length())
    unit, unit_cost = incumbent / 2**bits, budget / 2**bits
    in_units = Network(
        _round_down(net.time, unit, bits),
        _round_down(net.cost, unit_cost, bits),
        _round_down(net.change_time, unit, bits),
        _round_down(net.change_cost, unit_cost, bits),
        net.epochs,
    )
    mu = line.mu * unit_cost / unit
    p = compute_potentials(in_units, mu)
    return ReducedCosts(
        time=in_units.time,
        cost=in_units.cost,
        change_time=in_units.change_time.astype(np.int64),
        change_cost=in_units.change_cost.astype(np.int64),
        epochs=net.epochs,
        bits=bits,
        unit=unit,
        mu=mu,
        potentials=p,
        lagrangian=float(p.switch[0].sum() - mu * 2.0**bits),
        margin=relative_rounding(net) * (1 + mu) * 2.0**bits,
    )


def _round_down(values: FloatArray, unit: float, bits: int) -> FloatArray:
    """Return `values` in integer units, rounded down, including the rounding error of the division.

    Values beyond twice the budget or the incumbent are truncated.
    """
    units = values * ((1 - 2.0**-49) / unit)
    return np.minimum(np.floor(units, out=units), 2.0 ** (bits + 1), out=units)
