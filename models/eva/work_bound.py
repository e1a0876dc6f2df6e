"""A bound on what any policy pays in Eva's cloud: the least cost of all work, over hours of patterns.

minimise sum_p C_p x_p subject to sum_p a_cp r_cp x_p >= W_c for each class c, x >= 0 hours: a pattern p is a type and
the tasks that run on it, a_cp of class c, at the throughput r_cp that they leave each other. Whatever a policy does,
an instance that is billed holds some pattern at any moment, and a job gains no more than each of its tasks does.

Any prices y_c >= 0 of an hour of work prove a bound: if no pattern's work, sum_c y_c a_cp r_cp, is worth more than its
type costs, sum_c y_c W_c is one. Prices that are too high are scaled down until this holds (Farley, 1990).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray, IntArray
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import CloudArrays, cloud_arrays, pairs_of_classes, work_of_classes
from models.core.column_generation import ColumnGeneration, Relaxed
from models.core.linear_program import LinearProgram
from models.eva.saving.kernels import Tasks, search
from models.eva.saving.pricing import MOST_DECAY, ROUNDING
from models.highs import LinearModel

GIVEN_UP = Fraction(1, 10**8)  # Share of the bound: a run ends a job when 1e-9 of its work is left, and adds up floats.


@dataclass(frozen=True)
class WorkBoundParameters:
    """The constants of the bound; none changes what is proven, only how near it comes and how long it takes.

    - `gap`: relative distance to the optimum of the linear program at which it ends.
    - `excess`: what a pattern must be worth above its price, as a share, to become a column in the first rounds.
    - `narrowing`: factor by which that falls where no pattern is worth as much.
    - `share`, `found`: a search keeps patterns of this share of the best excess, and so many at most.
    - `nodes`, `growth`, `most_nodes`: patterns that a search looks at; more where nothing is found, up to the most.
    - `all_nodes`: patterns looked at in all after which no round begins.
    - `rounds`: most rounds of pricing.
    - `most_tasks`: tasks that an instance may hold at most, or else there is no search.
    """

    gap: float = 5e-4
    excess: float = 0.1
    narrowing: float = 4.0
    share: float = 0.6
    found: int = 30
    nodes: int = 20_000
    growth: int = 5
    most_nodes: int = 5_000_000
    all_nodes: int = 20_000_000
    rounds: int = 500
    most_tasks: int = 256


@dataclass(frozen=True)
class WorkBound:
    """What was proven: no policy pays less than `usd`.

    `prices` (C,) are what an hour of work of each class is worth, USD: no pattern's work is worth more than its type
    costs. `relaxed`: value of the linear program over the patterns looked at, which the bound cannot exceed; `None`
    where none was solved. `rounds` of pricing.
    """

    usd: float
    prices: FloatArray
    relaxed: float | None
    rounds: int


def work_bound(data: EvaCloud, parameters: WorkBoundParameters = WorkBoundParameters()) -> WorkBound:
    """The bound by column generation, or that of the scarcest resource where it is better."""
    arrays = cloud_arrays(data)
    hours, tasks = work_of_classes(data)
    prices = max(_resource_prices(arrays), key=lambda y: float(y @ hours))
    best = WorkBound(_proven(prices, hours, Fraction(1)), prices, None, 0)
    pricing = WorkPricing(arrays, tasks, pairs_of_classes(data), parameters)
    if pricing.most_tasks > parameters.most_tasks or not hours.any():
        return best
    return WorkGeneration(pricing, arrays, hours, best).run()


class WorkGeneration:
    """Column generation from every task alone on, until the bound is near the linear program's value."""

    def __init__(self, pricing: WorkPricing, arrays: CloudArrays, hours: FloatArray, best: WorkBound) -> None:
        self.pricing, self.arrays, self.hours, self.best = pricing, arrays, hours, best
        alone = LinearModel(arrays.reservation_price, np.eye(len(hours)), hours, np.inf)
        self.program = LinearProgram(alone, Options(), {"presolve": "choose"})
        self.known: set[tuple[int, bytes]] = set()
        self.excess, self.nodes, self.rounds = pricing.parameters.excess, pricing.parameters.nodes, 0

    def run(self) -> WorkBound:
        """The best bound that was found."""
        loop = ColumnGeneration(self)
        loop.run()
        relaxed = math.inf if loop.relaxed is None else loop.relaxed.value
        return WorkBound(self.best.usd, self.best.prices, relaxed, self.rounds)

    def solve(self) -> Relaxed:
        """See `Master`."""
        found = self.program.solve()
        return Relaxed(found.value, np.maximum(found.duals, 0.0), found.x)

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """See `Master`."""
        p = self.pricing.parameters
        near = self.best.usd >= relaxed.value * (1 - p.gap)
        return priced and (near or self.pricing.looked_at > p.all_nodes or self.rounds >= p.rounds)

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """See `Master`."""
        p, columns, cost, scale = self.pricing.parameters, list[FloatArray](), list[float](), Fraction(1)
        self.rounds += 1
        for kind, patterns, most in self.pricing.searched(duals, self.excess, self.nodes):
            price = Fraction(float(self.arrays.price[kind]))
            scale = min(scale, price / (price + Fraction(most)))
            for pattern in patterns:
                if (key := (kind, pattern.tobytes())) not in self.known:
                    self.known.add(key)
                    columns.append(pattern * self.pricing.rates(pattern))
                    cost.append(float(self.arrays.price[kind]))
        usd = _proven(duals, self.hours, scale)
        if usd > self.best.usd:
            self.best = WorkBound(usd, duals * float(scale), relaxed.value, self.rounds)
        if columns:
            matrix = sparse.csr_array(np.array(columns))
            self.program.add(cost, matrix.indptr[:-1], matrix.indices, matrix.data)
        elif self.excess > p.gap / 2:
            self.excess = max(self.excess / p.narrowing, p.gap / 2)
        elif self.nodes < p.most_nodes:
            self.nodes = min(p.growth * self.nodes, p.most_nodes)
        else:
            return usd, 0
        return usd, max(1, len(columns))


class WorkPricing:
    """Searches for patterns whose work is worth more than their type costs."""

    def __init__(self, arrays: CloudArrays, tasks: IntArray, pair: FloatArray, parameters: WorkBoundParameters) -> None:
        self.parameters, self.looked_at = parameters, 0
        self._arrays, self._tasks, self._pair = arrays, tasks, pair
        with np.errstate(divide="ignore"):
            self._decay = np.minimum(-np.log(pair), MOST_DECAY)
        self._fits = (arrays.demand <= arrays.capacity[:, None, :]).all(axis=2) & (tasks > 0)
        self._kinds = [int(k) for k in np.argsort(arrays.price, kind="stable") if self._fits[k].any()]
        self.most_tasks = max((self._most_tasks(k) for k in self._kinds), default=0)

    def rates(self, pattern: IntArray) -> FloatArray:
        """Throughput (C,) of a task of each class in a pattern (C,); meaningless where there is none."""
        found = np.zeros(len(pattern))
        for c in np.flatnonzero(pattern):
            others = pattern.copy()
            others[c] -= 1
            found[c] = np.prod(self._pair[c] ** others)
        return found

    def searched(self, prices: FloatArray, excess: float, nodes: int) -> Iterator[tuple[int, list[IntArray], float]]:
        """For each type some of the patterns whose work is worth `excess` more than its price, as a share.

        The last of each is a bound on what any pattern is worth above the price, in USD.
        """
        arrays, p = self._arrays, self.parameters
        for kind in self._kinds:
            classes = np.flatnonzero(self._fits[kind] & (prices > 0))
            classes = classes[np.argsort(-prices[classes], kind="stable")]
            if not len(classes):
                continue
            pairs, price = np.ix_(classes, classes), float(arrays.price[kind])
            tasks = Tasks(
                np.ascontiguousarray(arrays.demand[kind][classes]),
                arrays.capacity[kind],
                self._tasks[classes],
                np.zeros(len(classes)),
                prices[classes],
                np.ascontiguousarray(self._pair[pairs]),
                np.ascontiguousarray(self._decay[pairs]),
                price,
                np.full(len(classes), -1, dtype=np.int64),
            )
            _, found, nets, limit, looked_at = search(tasks, excess * price, p.share, p.found, nodes)
            self.looked_at += looked_at
            patterns = []
            for row in found:
                pattern = np.zeros(len(prices), dtype=np.int64)
                pattern[classes] = row
                patterns.append(pattern)
            # A worth is a sum of products of 256 factors at most: off by less than 2^13 roundings of its terms.
            noise = ROUNDING * (price + p.most_tasks * float(prices[classes].max()))
            yield kind, patterns, max(limit, float(nets.max(initial=0.0)), 0.0) + noise

    def _most_tasks(self, kind: int) -> int:
        """A bound on the tasks that an instance of a type holds."""
        least = self._arrays.demand[kind][self._fits[kind]].min(axis=0).tolist()
        room = [q // d for q, d in zip(self._arrays.capacity[kind].tolist(), least, strict=True) if d]
        return int(min([sum(self._tasks[self._fits[kind]].tolist()), *room]))


def _resource_prices(arrays: CloudArrays) -> Iterator[FloatArray]:
    """For each resource, prices of an hour of work: its share of the resource, on the type where that is cheapest.

    Tasks that fit together take shares that add up to 1 at most, and no task runs at more than full speed.
    """
    fits = (arrays.demand <= arrays.capacity[:, None, :]).all(axis=2)
    for r in range(arrays.capacity.shape[1]):
        share = arrays.demand[:, :, r] / np.maximum(arrays.capacity[:, r], 1)[:, None]
        yield np.where(fits, share * arrays.price[:, None], np.inf).min(axis=0)


def _proven(prices: FloatArray, hours: FloatArray, scale: Fraction) -> float:
    """What prices prove, scaled, in rational numbers, rounded down: USD."""
    worth = sum((Fraction(float(y)) * Fraction(float(w)) for y, w in zip(prices, hours, strict=True)), Fraction(0))
    return max(0.0, math.nextafter(float(worth * scale * (1 - GIVEN_UP)), -math.inf))
