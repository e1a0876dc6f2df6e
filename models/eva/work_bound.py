"""A lower bound on the cost of any policy in Eva's cloud: the minimum cost of all work, over hours of patterns.

minimise sum_p C_p x_p subject to sum_p a_lp r_lp x_p >= W_l for each lot l, x >= 0 hours.

A pattern p is a type with a_lp tasks of each lot l, which run at the throughput r_lp next to each other. A lot has the
tasks of one class with jobs of similar length, so that several tasks cannot share the work of one long job. Under any
policy, a billed instance holds some pattern at each point in time, and a job progresses at most as fast as each task.

Let y_l >= 0 be any duals per hour of work, so that sum_l y_l a_lp r_lp is the value of a pattern. If no value exceeds
the price of the type, sum_l y_l W_l is a bound. Duals that are too large are scaled down until then (Farley, 1990).
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
from models.core.highs import LinearModel
from models.core.linear_program import LinearProgram
from models.eva.saving_kernels import Tasks, search
from models.eva.saving_pricing import MOST_DECAY, ROUNDING

GIVEN_UP = Fraction(1, 10**8)  # margin as a share: a run ends a job at 1e-9 of its work, and sums floats


@dataclass(frozen=True)
class WorkBoundParameters:
    """The constants of the bound. They change its quality and time, never its validity.

    - `gap`: relative distance to the optimum of the linear program at which the search ends.
    - `excess`: smallest value of a new column above its price in the first rounds, as a share of the price.
    - `narrowing`: divisor of this excess if no pattern reaches it.
    - `share`: smallest excess of the patterns that a search keeps, as a share of the best.
    - `found`: most patterns that a search keeps.
    - `nodes`: node limit of a search.
    - `growth`, `most_nodes`: factor on this limit if no pattern is found, and its largest value.
    - `all_nodes`: nodes of all searches after which no round begins.
    - `rounds`: most rounds of pricing.
    - `most_tasks`: most tasks on one instance; if an instance may hold more, there is no search.
    - `alike`: smallest length of a job in a lot, as a share of the longest.
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
    """The tasks in L lots.

    - `kin` (L,): class of each lot.
    - `hours` (L,): hours of work of its tasks.
    - `tasks` (L,): number of its tasks.
    - `jobs`: ids of its jobs.
    """

    kin: IntArray
    hours: FloatArray
    tasks: IntArray
    jobs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Stretch:
    """The `hours` in which an instance of the type `kind` runs `tasks` (L,) of each lot."""

    kind: int
    tasks: IntArray
    hours: float


@dataclass(frozen=True)
class WorkBound:
    """A proved bound: every policy costs at least `usd`.

    - `lots`: the tasks in lots.
    - `prices` (L,): duals per hour of work of each lot, in USD. No pattern has a value above the price of its type.
    - `relaxed`: value of the linear program over the known patterns, an upper limit on this bound; `None` if not
      solved.
    - `rounds`: rounds of pricing.
    - `plan`: the hours of each pattern in the solution of the linear program.
    """

    usd: float
    lots: Lots
    prices: FloatArray
    relaxed: float | None = None
    rounds: int = 0
    plan: tuple[Stretch, ...] = ()


def work_bound(data: EvaCloud, parameters: WorkBoundParameters = WorkBoundParameters()) -> WorkBound:
    """Return the bound by column generation, or that of a single resource if it is better."""
    arrays = cloud_arrays(data)
    lots = lots_of(data, arrays, parameters.alike)
    prices = max((y[lots.kin] for y in _resource_prices(arrays)), key=lambda y: float(y @ lots.hours))
    best = WorkBound(_proven(prices, lots.hours, Fraction(1)), lots, prices)
    pricing = WorkPricing(arrays, lots, pairs_of_classes(data), parameters)
    if pricing.most_tasks > parameters.most_tasks or not lots.hours.any():
        return best
    return WorkGeneration(pricing, arrays, best).run()


def lots_of(data: EvaCloud, arrays: CloudArrays, alike: float) -> Lots:
    """Divide the tasks of each class into lots, from the longest job on.

    A new lot begins at a job that is shorter than the share `alike` of the lot's first job. Every task has the work of
    its job. Let h be the hours of the class, divided by the most of its tasks on one instance. Jobs of at most h hours
    form one lot, because several tasks at once can alternate with others.
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
    """Column generation that starts from every task alone, until the bound is near the linear program's value."""

    def __init__(self, pricing: WorkPricing, arrays: CloudArrays, best: WorkBound) -> None:
        self.pricing, self.arrays, self.best = pricing, arrays, best
        kin, one = best.lots.kin, np.eye(len(best.lots.kin), dtype=np.int64)
        alone = LinearModel(arrays.reservation_price[kin], one.astype(float), best.lots.hours, np.inf)
        self.program = LinearProgram(alone, Options(), {"presolve": "choose"})
        self.patterns = list(zip(arrays.cheapest_type[kin].tolist(), one, strict=True))
        self.known: set[tuple[int, bytes]] = set()
        self.excess, self.nodes, self.rounds = pricing.parameters.excess, pricing.parameters.nodes, 0

    def run(self) -> WorkBound:
        """Generate columns and return the best bound."""
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
        for kind, patterns, most in self.pricing.search(duals, self.excess, self.nodes):
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
    """A search for patterns with a value of work above the price of their type."""

    def __init__(self, arrays: CloudArrays, lots: Lots, pair: FloatArray, parameters: WorkBoundParameters) -> None:
        self.parameters, self.looked_at = parameters, 0
        self._arrays, self._kin, self._tasks = arrays, lots.kin, lots.tasks
        self._demand, self._pair = arrays.demand[:, lots.kin], pair[np.ix_(lots.kin, lots.kin)]
        with np.errstate(divide="ignore"):
            self._decay = np.minimum(-np.log(self._pair), MOST_DECAY)
        self._fits = (self._demand <= arrays.capacity[:, None, :]).all(axis=2) & (lots.tasks > 0)
        self._kinds = [int(k) for k in np.argsort(arrays.price, kind="stable") if self._fits[k].any()]
        self.most_tasks = max((self._count_most_tasks(k) for k in self._kinds), default=0)

    def rates(self, pattern: IntArray) -> FloatArray:
        """Return the throughput (L,) of a task of each lot in a pattern (L,); 0 for a lot without tasks."""
        found, there = np.zeros(len(pattern)), np.flatnonzero(pattern)
        for lot in there:
            found[lot] = np.prod(self._pair[lot, there] ** (pattern[there] - (there == lot)))
        return found

    def search(self, prices: FloatArray, excess: float, nodes: int) -> Iterator[tuple[int, list[IntArray], float]]:
        """Yield for each type some patterns with a value above (1 + `excess`) times its price, and a bound.

        The bound, in USD, limits the value of any pattern of the type above the price.
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
            # A value is a sum of products of at most 256 factors, so it errs by less than 2^13 roundings of its terms.
            noise = ROUNDING * (price + p.most_tasks * float(prices[lots].max()))
            yield kind, patterns, max(limit, float(nets.max(initial=0.0)), 0.0) + noise

    def _count_most_tasks(self, kind: int) -> int:
        """Return a bound on the number of tasks that an instance of a type holds."""
        least = self._demand[kind][self._fits[kind]].min(axis=0).tolist()
        room = [q // d for q, d in zip(self._arrays.capacity[kind].tolist(), least, strict=True) if d]
        return int(min([sum(self._tasks[self._fits[kind]].tolist()), *room]))


def _dearer(kin: IntArray) -> IntArray:
    """Return for each lot, in order of falling value, the previous lot of its class, or -1; that is used up first."""
    last = dict[int, int]()
    found = []
    for i, c in enumerate(kin.tolist()):
        found.append(last.get(c, -1))
        last[c] = i
    return np.array(found, dtype=np.int64)


def _resource_prices(arrays: CloudArrays) -> Iterator[FloatArray]:
    """Yield for each resource the duals of an hour of work: the minimum over types of the price of its share.

    The shares of tasks that fit together add up to at most 1, and no task runs faster than at full speed.
    """
    fits = (arrays.demand <= arrays.capacity[:, None, :]).all(axis=2)
    for r in range(arrays.capacity.shape[1]):
        share = arrays.demand[:, :, r] / np.maximum(arrays.capacity[:, r], 1)[:, None]
        yield np.where(fits, share * arrays.price[:, None], np.inf).min(axis=0)


def _proven(prices: FloatArray, hours: FloatArray, scale: Fraction) -> float:
    """Return the bound of scaled duals in USD, computed in rational numbers and rounded down."""
    worth = sum((Fraction(float(y)) * Fraction(float(w)) for y, w in zip(prices, hours, strict=True)), Fraction(0))
    return max(0.0, math.nextafter(float(worth * scale * (1 - GIVEN_UP)), -math.inf))
