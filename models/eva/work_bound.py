"""A bound on what any policy pays in Eva's cloud: the least cost of all work, over hours of patterns.

minimise sum_p C_p x_p subject to sum_p a_lp r_lp x_p >= W_l for each lot l, x >= 0 hours: a pattern p is a type and
the tasks that run on it, a_lp of lot l, at the throughput r_lp that they leave each other. A lot is the tasks of one
class whose jobs are about as long, so that a long job is one task and no several at once. Whatever a policy does, an
instance that is billed holds some pattern at any moment, and a job gains no more than each of its tasks does.

Any prices y_l >= 0 of an hour of work prove a bound: if no pattern's work, sum_l y_l a_lp r_lp, is worth more than its
type costs, sum_l y_l W_l is one. Prices that are too high are scaled down until this holds (Farley, 1990).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray, IntArray
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import SECONDS, CloudArrays, cloud_arrays, pairs_of_classes, work_seconds
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
    - `alike`: share of the longest job of a lot that the others have at least.
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
    alike: float = 0.5


@dataclass(frozen=True)
class Lots:
    """The tasks in L lots: `kin` (L,) the class of each, `hours` (L,) of work, `tasks` (L,), and `jobs` by id."""

    kin: IntArray
    hours: FloatArray
    tasks: IntArray
    jobs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Stretch:
    """Hours for which an instance of the type `kind` runs `tasks` (L,) of each lot."""

    kind: int
    tasks: IntArray
    hours: float


@dataclass(frozen=True)
class WorkBound:
    """What was proven: no policy pays less than `usd`.

    `prices` (L,) are what an hour of work of each of the `lots` is worth, USD: no pattern's work is worth more than its
    type costs. `relaxed`: value of the linear program over the patterns looked at, which the bound on these lots cannot
    exceed; `None` where none was solved. `rounds` of pricing. `plan`: the hours of each pattern in its solution.
    """

    usd: float
    lots: Lots
    prices: FloatArray
    relaxed: float | None = None
    rounds: int = 0
    plan: tuple[Stretch, ...] = ()


def work_bound(data: EvaCloud, parameters: WorkBoundParameters = WorkBoundParameters()) -> WorkBound:
    """The bound by column generation, or that of the scarcest resource where it is better."""
    arrays = cloud_arrays(data)
    lots = lots_of(data, arrays, parameters.alike)
    prices = max((y[lots.kin] for y in _resource_prices(arrays)), key=lambda y: float(y @ lots.hours))
    best = WorkBound(_proven(prices, lots.hours, Fraction(1)), lots, prices)
    pricing = WorkPricing(arrays, lots, pairs_of_classes(data), parameters)
    if pricing.most_tasks > parameters.most_tasks or not lots.hours.any():
        return best
    return WorkGeneration(pricing, arrays, best).run()


def lots_of(data: EvaCloud, arrays: CloudArrays, alike: float) -> Lots:
    """The tasks of each class from the longest job on, a new lot wherever one is shorter than that share of the first.

    Every task has the work of its job. What is no longer than the hours of the class over the most of its tasks that
    are on one instance is one lot: wherever several are at once, there are others to take turns with.
    """
    place = {c.name: i for i, c in enumerate(data.classes)}
    most = np.zeros(len(data.classes), dtype=np.int64)
    for k, capacity in enumerate(arrays.capacity):
        with np.errstate(divide="ignore"):
            most = np.maximum(most, np.where(arrays.demand[k] > 0, capacity // arrays.demand[k], 2**31).min(axis=1))
    rows, total = [], np.zeros(len(data.classes))
    for number, job in enumerate(data.jobs):
        work = work_seconds(job, data.classes[place[next(iter(job.tasks))]]) / SECONDS
        for name, k in job.tasks.items():
            rows.append((place[name], -work, number, k))
            total[place[name]] += k * work
    short = total / most
    kin, hours, tasks, jobs, longest = list[int](), list[float](), list[int](), list[list[str]](), 0.0
    for c, less, number, k in sorted(rows):
        if not kin or kin[-1] != c or (longest > short[c] and -less < alike * longest):
            longest = -less
            kin.append(c)
            hours.append(0.0)
            tasks.append(0)
            jobs.append([])
        hours[-1] -= k * less
        tasks[-1] += k
        jobs[-1].append(data.jobs[number].id)
    return Lots(np.array(kin), np.array(hours), np.array(tasks), tuple(map(tuple, jobs)))


class WorkGeneration:
    """Column generation from every task alone on, until the bound is near the linear program's value."""

    def __init__(self, pricing: WorkPricing, arrays: CloudArrays, best: WorkBound) -> None:
        self.pricing, self.arrays, self.best = pricing, arrays, best
        kin, one = best.lots.kin, np.eye(len(best.lots.kin), dtype=np.int64)
        alone = LinearModel(arrays.reservation_price[kin], one.astype(float), best.lots.hours, np.inf)
        self.program = LinearProgram(alone, Options(), {"presolve": "choose"})
        self.patterns = list(zip(arrays.cheapest_type[kin].tolist(), one, strict=True))
        self.known: set[tuple[int, bytes]] = set()
        self.excess, self.nodes, self.rounds = pricing.parameters.excess, pricing.parameters.nodes, 0

    def run(self) -> WorkBound:
        """The best bound that was found."""
        loop = ColumnGeneration(self)
        loop.run()
        last = loop.relaxed
        assert last is not None
        run = zip(self.patterns, last.x.tolist(), strict=False)  # columns of the last round have no hours yet
        plan = tuple(Stretch(kind, tasks, hours) for (kind, tasks), hours in run if hours > 0)
        return replace(self.best, relaxed=last.value, rounds=self.rounds, plan=plan)

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
                    self.patterns.append((kind, pattern))
                    columns.append(pattern * self.pricing.rates(pattern))
                    cost.append(float(self.arrays.price[kind]))
        usd = _proven(duals, self.best.lots.hours, scale)
        if usd > self.best.usd:
            self.best = replace(self.best, usd=usd, prices=duals * float(scale))
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

    def __init__(self, arrays: CloudArrays, lots: Lots, pair: FloatArray, parameters: WorkBoundParameters) -> None:
        self.parameters, self.looked_at = parameters, 0
        self._arrays, self._kin, self._tasks = arrays, lots.kin, lots.tasks
        self._demand, self._pair = arrays.demand[:, lots.kin], pair[np.ix_(lots.kin, lots.kin)]
        with np.errstate(divide="ignore"):
            self._decay = np.minimum(-np.log(self._pair), MOST_DECAY)
        self._fits = (self._demand <= arrays.capacity[:, None, :]).all(axis=2) & (lots.tasks > 0)
        self._kinds = [int(k) for k in np.argsort(arrays.price, kind="stable") if self._fits[k].any()]
        self.most_tasks = max((self._most_tasks(k) for k in self._kinds), default=0)

    def rates(self, pattern: IntArray) -> FloatArray:
        """Throughput (L,) of a task of each lot in a pattern (L,); meaningless where there is none."""
        found, there = np.zeros(len(pattern)), np.flatnonzero(pattern)
        for lot in there:
            found[lot] = np.prod(self._pair[lot, there] ** (pattern[there] - (there == lot)))
        return found

    def searched(self, prices: FloatArray, excess: float, nodes: int) -> Iterator[tuple[int, list[IntArray], float]]:
        """For each type some of the patterns whose work is worth `excess` more than its price, as a share.

        The last of each is a bound on what any pattern is worth above the price, in USD.
        """
        arrays, p = self._arrays, self.parameters
        for kind in self._kinds:
            lots = np.flatnonzero(self._fits[kind] & (prices > 0))
            lots = lots[np.argsort(-prices[lots], kind="stable")]
            if not len(lots):
                continue
            pairs, price = np.ix_(lots, lots), float(arrays.price[kind])
            tasks = Tasks(
                np.ascontiguousarray(self._demand[kind][lots]),
                arrays.capacity[kind],
                self._tasks[lots],
                np.zeros(len(lots)),
                prices[lots],
                np.ascontiguousarray(self._pair[pairs]),
                np.ascontiguousarray(self._decay[pairs]),
                price,
                _dearer(self._kin[lots]),
            )
            _, found, nets, limit, looked_at = search(tasks, excess * price, p.share, p.found, nodes)
            self.looked_at += looked_at
            patterns = []
            for row in found:
                pattern = np.zeros(len(prices), dtype=np.int64)
                pattern[lots] = row
                patterns.append(pattern)
            # A worth is a sum of products of 256 factors at most: off by less than 2^13 roundings of its terms.
            noise = ROUNDING * (price + p.most_tasks * float(prices[lots].max()))
            yield kind, patterns, max(limit, float(nets.max(initial=0.0)), 0.0) + noise

    def _most_tasks(self, kind: int) -> int:
        """A bound on the tasks that an instance of a type holds."""
        least = self._demand[kind][self._fits[kind]].min(axis=0).tolist()
        room = [q // d for q, d in zip(self._arrays.capacity[kind].tolist(), least, strict=True) if d]
        return int(min([sum(self._tasks[self._fits[kind]].tolist()), *room]))


def _dearer(kin: IntArray) -> IntArray:
    """For lots from the dearest on the one before it of the same class, -1 for none: that is used up first."""
    last = dict[int, int]()
    found = []
    for i, c in enumerate(kin.tolist()):
        found.append(last.get(c, -1))
        last[c] = i
    return np.array(found, dtype=np.int64)


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
