"""Column generation over tasks: the linear program, that of a node, and the whole-number bound that its duals prove."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, PackingArrays
from models.core.linear_program import LinearProgram
from models.eva.branch_and_price.pricer import Decision, Duals, Leaf, Pair, Prices
from models.eva.column_generation.bounds import TypeCut
from models.eva.configuration import Column
from models.eva.item_packing.parameters import ItemParameters
from models.eva.item_packing.pricing import ItemPricer
from models.highs import LinearModel, OutOfTime

Mask = NDArray[np.bool_]
PRIMAL = {"simplex_strategy": 4}  # New columns leave the last basis feasible for the primal simplex method.
DEAR = 4.0  # A task that no pattern holds costs so many times the dearest instance.


@dataclass(frozen=True)
class Relaxed:
    """Optimum of the linear program.

    `value` in price units, `duals` (N,) of the tasks, `rents` (K,) of the limits on instances of each type, `amounts`
    of the columns, `short` how many tasks no pattern holds.
    """

    value: float
    duals: FloatArray
    rents: FloatArray
    amounts: FloatArray
    short: float


class ItemMaster:
    """The restricted master in HiGHS: minimise the price of columns that hold every task at least once.

    Of each type there are at most as many instances as `limit` says, at first any number.
    Each task also has a column of its own, dearer than anything else, so that the program is always feasible.
    """

    def __init__(self, arrays: PackingArrays, options: Options = Options()) -> None:
        self.classes = arrays.classes
        self.columns: list[Column] = []
        self._price = arrays.price.tolist()
        self._unit = float(max(self._price))
        self._known: set[Column] = set()
        self._member = np.zeros((1024, arrays.classes), dtype=bool)
        self._forbidden = np.zeros(0, dtype=bool)
        self._covered = np.zeros(arrays.classes, dtype=bool)
        types = len(self._price)
        model = LinearModel(
            cost=np.full(arrays.classes, DEAR),
            matrix=sparse.vstack([sparse.eye_array(arrays.classes), sparse.coo_array((types, arrays.classes))]),
            row_lower=np.concatenate([np.ones(arrays.classes), np.full(types, -np.inf)]),
            row_upper=np.inf,
        )
        self._lp = LinearProgram(model, Options(threads=options.threads), PRIMAL, short=arrays.classes)

    @property
    def member(self) -> Mask:
        """Which task (N) each column (P) holds."""
        return self._member[: len(self.columns)]

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new, and give the number of new columns."""
        fresh = [c for c in dict.fromkeys(columns) if c not in self._known]
        if not fresh:
            return 0
        known = len(self.columns)
        self.columns += fresh
        self._known.update(fresh)
        while len(self._member) < len(self.columns):
            self._member = np.vstack([self._member, np.zeros_like(self._member)])
        begin, rows = [0], []
        for i, column in enumerate(fresh):
            members = [c for c, _ in column.pattern]
            self._member[known + i, members] = True
            rows += [*members, self.classes + column.type]
            begin.append(len(rows))
        self._lp.add([self._price[c.type] / self._unit for c in fresh], begin[:-1], rows, np.ones(len(rows)))
        self._forbidden = np.concatenate([self._forbidden, np.zeros(len(fresh), dtype=bool)])
        return len(fresh)

    def cover(self, covered: Mask) -> None:
        """Say which tasks (N,) need no column any more."""
        for c in np.flatnonzero(covered != self._covered).tolist():
            self._lp.bound_row(c, 0.0 if covered[c] else 1.0, np.inf)
        self._covered = covered.copy()

    def limit(self, most: Sequence[float]) -> None:
        """Say how many instances of each type there may be, `inf` for any number."""
        for k, n in enumerate(most):
            self._lp.bound_row(self.classes + k, -np.inf, n)

    def restrict(self, together: Iterable[Pair], apart: Iterable[Pair]) -> None:
        """Forbid the columns that hold one task of a pair that is together, or both of a pair that is apart."""
        member = self.member
        forbidden = np.zeros(len(member), dtype=bool)
        for a, b in together:
            forbidden |= member[:, a] != member[:, b]
        for a, b in apart:
            forbidden |= member[:, a] & member[:, b]
        self.forbid(forbidden)

    def forbid(self, forbidden: Mask) -> None:
        """Say which columns (P,) must not be used."""
        changed = np.flatnonzero(forbidden != self._forbidden)
        if len(changed):
            self._lp.bound(changed, 0.0, np.where(forbidden[changed], 0.0, np.inf))
        self._forbidden = forbidden

    def solve(self, seconds: float = np.inf) -> Relaxed:
        """Solve from the last basis. Raises SolveFailed where HiGHS cannot in so many `seconds`."""
        found = self._lp.solve(seconds)
        duals = found.duals * self._unit
        return Relaxed(
            found.value * self._unit,
            np.maximum(duals[: self.classes], 0.0),
            np.maximum(-duals[self.classes :], 0.0),
            found.x,
            float(found.short.sum()),
        )


FINE = 1e-5  # Duals are optimal where they prove as much as the linear program is worth, less this share.
WHOLE = 10**6  # A value to be proved is a multiple of the reciprocal.
SLACK = 1e-6  # A value of the linear program is compared with a whole number with so much room.


@dataclass(frozen=True)
class Node:
    """A node of a search.

    - `together`, `apart`: pairs of tasks that share an instance, and that do not.
    - `covered`, `spent`: tasks already packed, and what that cost.
    - `most`: most instances of each type for the other tasks, `None` for any number.
    """

    together: tuple[Pair, ...] = ()
    apart: tuple[Pair, ...] = ()
    covered: Mask | None = None
    spent: int = 0
    most: tuple[int, ...] | None = None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The pairs as decisions of a proof."""
        return tuple(Decision("together", p) for p in self.together) + tuple(Decision("apart", p) for p in self.apart)


@dataclass(frozen=True)
class Bounded:
    """What column generation found at a node.

    - `relaxed`: the last optimum of the restricted master, `None` where time ran out before there was one.
    - `bound`: a lower bound on the cost of every packing at the node, in price units, proved by `leaf`.
    - `center`: the duals that proved most.
    - `reached`: whether the linear program reaches the goal.
    - `settled`: whether no more columns are needed: the goal is reached, or proved out of reach.
    """

    relaxed: Relaxed | None
    bound: int
    leaf: Leaf | None
    center: FloatArray
    reached: bool
    settled: bool


class Relaxation:
    """Column generation for the nodes of a search, with all columns in one linear program.

    `calls` of pricing so far; `cuts` are those that hold without decisions.
    """

    def __init__(self, arrays: PackingArrays, options: Options, parameters: ItemParameters) -> None:
        self.arrays, self.options, self.parameters = arrays, options, parameters
        self.master = ItemMaster(arrays, options)
        self.pricer = ItemPricer(arrays, parameters)
        self.calls = 0
        self.cuts: list[TypeCut] = []
        self._price = arrays.price.tolist()

    def run(
        self, node: Node, goal: int | None, clock: Stopwatch, center: FloatArray | None = None, polish: bool = False
    ) -> Bounded:
        """Generate columns at a node until the cost `goal` is in reach of the linear program or proved out of reach.

        Without a goal, until the bound is the value of the linear program rounded up. Where the limits on instances
        rule out any packing the bound is above the goal. With `polish`, without a goal, until the duals are optimal.
        """
        master = self.master
        covered = np.zeros(self.arrays.classes, dtype=bool) if node.covered is None else node.covered
        master.cover(covered)
        master.limit([inf] * len(self._price) if node.most is None else node.most)
        bound, leaf = node.spent, None
        first = self.calls  # Without a goal there is one call of pricing, and so a bound, whatever the time.
        last = None if self.options.effort is None else self.calls + 100 * self.options.effort
        best, top = -1.0, np.zeros(self.arrays.classes)
        relaxed: Relaxed | None = None

        def ended(reached: bool, settled: bool) -> Bounded:
            return Bounded(relaxed, bound, leaf, top, reached, settled)

        while True:
            master.restrict(node.together, node.apart)
            sure = goal is None and self.calls == first
            try:
                relaxed = master.solve(inf if sure else clock.remaining_s)
            except OutOfTime:
                return ended(False, False)
            value = node.spent + relaxed.value
            if goal is not None and value <= goal + SLACK and relaxed.short <= SLACK:
                return ended(True, True)
            aim = ceil(value - SLACK) - 1 if goal is None else goal
            if (best >= (1 - FINE) * relaxed.value) if polish else bound > aim:
                return ended(False, True)
            stopped = clock.expired and not sure
            if stopped or (last is not None and self.calls >= last):
                return ended(False, False)
            duals = np.where(covered, 0.0, relaxed.duals)
            needed = (1 - FINE) * relaxed.value if polish else aim - node.spent
            # The centre is priced first: what it proves is what other duals have to beat.
            shares = (1.0,) if center is not None and self.calls == first else (self.parameters.smoothing, 0.0)
            for share, exact in [*((share, False) for share in shares), (0.0, True)]:
                if share > 0.0 and center is None:
                    continue
                trial = duals if center is None else share * center + (1 - share) * duals
                proved = self._price_at(node, trial, duals, relaxed.rents, needed, exact)
                if proved.value > best:
                    best, top = proved.value, trial
                    center = trial if center is not None else None
                if node.spent + proved.leaf_bound > bound:
                    bound, leaf = node.spent + proved.leaf_bound, proved.leaf
                if proved.new or (bound > aim and not polish):
                    break
            else:
                return ended(False, bound > aim)

    def _price_at(
        self, node: Node, duals: FloatArray, judge: FloatArray, rents: FloatArray, aim: float, exact: bool
    ) -> _Proved:
        """Price at duals (N,) and `rents` (K,): what this proves, and the number of columns added.

        Columns are kept where their reduced cost is negative at the duals `judge`. `aim`: a bound above it suffices.
        """
        self.calls += 1
        arrays, price = self.arrays, self._price
        duals = np.maximum(duals, 0.0)
        scale = self.pricer.scale(duals[None, :], arrays.price.astype(float))
        values = np.rint(duals * scale).astype(np.int64)
        total = int(values.sum())
        full = [p + r for p, r in zip(price, rents.tolist(), strict=True)]
        target = [floor(f * scale) for f in full]
        if exact and node.most is not None:
            worth = sum(t * n for t, n in zip(target, node.most, strict=True))
            target = [max(t, (total - 1) * t // max(1, worth)) for t in target]
        elif exact and aim * WHOLE >= 1:
            enough = (total * WHOLE - 1) // (int(aim * WHOLE) + ceil(aim))  # a millionth for those who round the duals
            target = [max(t, p * enough) for t, p in zip(target, price, strict=True)]
        prices = Prices(np.broadcast_to(values, (len(price), len(values))), tuple(target), node.together, node.apart)
        priced = self.pricer.price(prices, self.parameters.columns_each_round, exact)
        columns = [
            c
            for c in priced.columns
            if full[c.type] - float(judge[[i for i, _ in c.pattern]].sum()) < -1e-7 * full[c.type]
        ]
        new = self.master.add(columns[: self.parameters.columns_each_round])
        if not node.together and not node.apart and node.covered is None:
            self.cuts.append(TypeCut(priced.bound, total))
        unit = feasible_scale(price, priced.bound)
        bound, value = -(-total // unit), total / unit
        if node.most is not None:
            room = sum(w * n for w, n in zip(priced.bound, node.most, strict=True))
            if room < total:
                bound = max(bound, floor(aim) + 1)
            value = total / max(1, room)
        leaf = Leaf(node.decisions, bound, Duals(unit, total, tuple(values.tolist()), (0,) * len(node.decisions)))
        return _Proved(bound, value, leaf, new)


@dataclass(frozen=True)
class _Proved:
    leaf_bound: int
    value: float
    leaf: Leaf
    new: int


def feasible_scale(price: Sequence[int], worth: Sequence[int]) -> int:
    """The least whole number at which whole-number duals are feasible: `worth_k <= scale * price_k` for each type.

    A packing costs at least the sum of the duals over the scale (Farley, 1990).
    """
    return max([1] + [-(-w // p) for p, w in zip(price, worth, strict=True)])
