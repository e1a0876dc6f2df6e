"""Bounds beyond the linear relaxation: the minimum integral cost shares that satisfy all cuts, and pooled families.

Pooling replaces the instances of one family by a single large instance, and packs the other families. Suppose that the
types of a family are multiples of the smallest one in capacity and in price. Then the family costs an integer number m
of units, and its tasks fit an instance of m times the smallest capacity at m times the smallest price. So the minimum
cost with such instances is a lower bound. The tasks that fit on no other family become one task. The remaining problem
is small: it selects the number of units, and packs the other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, gcd, inf

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from instances.result import Termination
from models.core.highs import LinearModel, SolveFailed, solve_arrays
from models.core.linear_program import LinearProgram
from models.core.tree import Node, Tree


@dataclass(frozen=True)
class PriceGroups:
    """Price groups, a partition of the types.

    - `group_of` (K,): group of each type, or -1 if no task fits on it.
    - `unit` (G,): unit of each group's cost share, a common divisor of its prices.
    - `upper` (G,): largest cost share of each group in an optimal configuration, in units; `None` if unknown.
    """

    group_of: tuple[int, ...]
    unit: tuple[int, ...]
    upper: tuple[int | None, ...]

    @staticmethod
    def group_by_family(arrays: PackingArrays) -> PriceGroups:
        """Return a group for each family; its unit is the greatest common divisor of the prices of useful types."""
        useful, prices, families = _useful(arrays), arrays.price.tolist(), len(arrays.demand)
        group_of = tuple(f if u else -1 for f, u in zip(arrays.family.tolist(), useful, strict=True))
        of_group = [[p for p, g in zip(prices, group_of, strict=True) if g == f] for f in range(families)]
        return PriceGroups(group_of, tuple(gcd(*p) or 1 for p in of_group), (None,) * families)

    @staticmethod
    def group_by_type(arrays: PackingArrays) -> PriceGroups:
        """Return a group for each type, so that the cost share is a number of instances.

        If one instance of another type can replace j instances of a type at no higher price, an optimal configuration
        needs at most j - 1 of them.
        """
        price, capacity, family = arrays.price.tolist(), arrays.capacity, arrays.family.tolist()
        useful = [k for k, u in enumerate(_useful(arrays)) if u]
        group_of = tuple(useful.index(k) if k in useful else -1 for k in range(len(price)))
        upper: list[int | None] = []
        for k in useful:
            ratios = [
                -(-price[m] // price[k])
                for m in useful
                if family[m] == family[k]
                and price[m] > price[k]
                and (capacity[m] >= capacity[k] * -(-price[m] // price[k])).all()
            ]
            upper.append(min(ratios) - 1 if ratios else None)
        return PriceGroups(group_of, tuple(price[k] for k in useful), tuple(upper))

    def coarsen(self, ceiling: int) -> PriceGroups:
        """Return the same groups with larger units, so that the cost `ceiling` is at most `MOST_UNITS` units.

        HiGHS never ends, in spite of a time limit, if an integer variable counts billions of units.
        """
        times = [-(-ceiling // (u * MOST_UNITS)) or 1 for u in self.unit]
        upper = (None if most is None else -(-most // n) for most, n in zip(self.upper, times, strict=True))
        return PriceGroups(self.group_of, tuple(u * n for u, n in zip(self.unit, times, strict=True)), tuple(upper))


def _useful(arrays: PackingArrays) -> list[bool]:
    return np.any(arrays.fits, axis=1).tolist()


@dataclass(frozen=True)
class TypeCut:
    """The cut `sum_k value[k] X_k >= rhs` on the numbers X_k of instances of each type.

    Let pi >= 0 be any duals, and let `value[k]` bound the value of the patterns of type k. Then every configuration
    that holds all tasks satisfies `rhs = sum_c n_c pi_c <= sum_k value[k] X_k`. With one type, this is Farley's bound.
    """

    value: tuple[int, ...]
    rhs: int


Box = tuple[tuple[int, int], ...]
Spend = tuple[int, ...]
"""The cost share of each price group, in its units."""
MOST_UNITS = 2**24  # beyond this number of units, a cost share is a continuous variable in larger units
PRECISION = 2**20  # coefficients of a cut are rounded up to multiples of the reciprocal
LARGEST_WEIGHT = 1e12  # HiGHS rejects 1e15; a smaller weight changes the duals, but any duals prove a bound
SCALE = 1e4  # factor on the rows for HiGHS, because their coefficients are small


class AggregateBound:
    """The minimum of `sum_g u_g z_g` over integers z >= 0 that satisfy all cuts: an exact lower bound on the price.

    `z_g` is the cost share of group g in its unit u_g. A cut over types becomes `sum_g M_g z_g >= rhs` with `M_g =
    max_k value[k] u_g / C_k` over the types of g. Branch and bound finds the minimum, with a Lagrangian bound at each
    node: for any y >= 0, `sum_i y_i rhs_i + sum_g min over the box of (u_g - sum_i y_i M_ig) z_g`. The y come from a
    floating-point linear program, and are then used as exact rationals. So the bound does not depend on tolerances.

    - `arrays`: the instance.
    - `groups`: the price groups.
    - `options`: threads and seed.
    """

    def __init__(self, arrays: PackingArrays, groups: PriceGroups, options: Options = Options()) -> None:
        self.groups, self.options = groups, options
        self._price = arrays.price.tolist()
        self._rows: dict[tuple[Spend, int], None] = {}

    def add(self, cut: TypeCut) -> None:
        """Add a cut."""
        if cut.rhs > 0:
            self._rows[self._row(cut)] = None

    def violates(self, spend: Sequence[int], cut: TypeCut) -> bool:
        """Return whether cost shares `spend` (G,) violate a cut."""
        return not _meets(spend, *self._row(cut))

    def bound_by_cut(self, cut: TypeCut) -> int:
        """Return the bound of a single cut, `rhs min_g u_g / M_g` rounded up (after Farley, 1990)."""
        weights, rhs = self._row(cut)
        return min((-(-rhs * u // w) for u, w in zip(self.groups.unit, weights, strict=True) if w), default=0)

    def cost(self, spend: Sequence[int]) -> int:
        """Return the total cost of cost shares `spend` (G,)."""
        return sum(u * z for u, z in zip(self.groups.unit, spend, strict=True))

    def solve(self, ceiling: int, node_limit: int, seconds: float | None, clock: Stopwatch | None = None) -> int:
        """Return the minimum total cost, or a lower bound on it if a limit ends the search; at most `ceiling`.

        HiGHS proposes cost shares, and the search proves that none cost less. The first node is solved in any case.

        - `ceiling`: price of a known configuration.
        - `node_limit`: most nodes of the search.
        - `seconds`: time limit of HiGHS.
        - `clock`: time limit of the search.
        """
        clock = clock or Stopwatch()
        root = self._box(ceiling)
        proposal = self.propose(ceiling, seconds)
        if proposal is not None:
            ceiling = min(ceiling, self.cost(proposal))
        problem = SpendBranching(self.groups.unit, list(self._rows), root, ceiling, self.options, clock)
        tree = Tree(problem, Node(0, (root,)))

        def limit() -> Termination | None:
            return "effort_limit" if problem.branched >= node_limit else "time_limit" if clock.has_expired else None

        tree.run(limit)
        return min(problem.enough, problem.enough if tree.bound is None else tree.bound)

    def propose(self, ceiling: int, seconds: float | None) -> Spend | None:
        """Return cheap cost shares that satisfy all cuts exactly, by HiGHS; `None` if HiGHS finds none.

        If all units are kept, their total cost is minimum up to the tolerances of HiGHS.
        """
        if not self._rows:
            return None
        unit, coarse = np.array(self.groups.unit, dtype=float), self.groups.coarsen(ceiling)
        times = np.array(coarse.unit, dtype=float) / unit
        lower, upper = (np.array(side, dtype=float) for side in zip(*self._box(ceiling), strict=True))
        # One unit of weight 1 satisfies a cut, and units are integers, so a larger weight is equivalent.
        rows = np.where(times > 1, _scale_rows(self._rows) * times, np.minimum(_scale_rows(self._rows), 1.0))
        solved = solve_arrays(
            LinearModel(
                cost=unit * times * min(1.0, MOST_UNITS / max(1, ceiling)),
                matrix=rows * SCALE,
                row_lower=SCALE,
                row_upper=inf,
                lower=lower / times,
                upper=upper / times,
                integer=times == 1,
            ),
            replace(self.options, gap=0.0, time_limit=None if seconds is None else max(seconds, 1e-3)),
        )
        if solved.x is None:
            return None
        found = np.where(times > 1, np.ceil(solved.x * times), np.round(solved.x))
        proposal = tuple(int(v) for v in np.minimum(found, upper))
        return proposal if all(_meets(proposal, *row) for row in self._rows) else None

    def _row(self, cut: TypeCut) -> tuple[Spend, int]:
        """Return a cut over groups: integer weights, rounded up so that the cut stays valid, and right-hand side."""
        weights = [0] * len(self.groups.unit)
        for k, g in enumerate(self.groups.group_of):
            if g >= 0:
                weights[g] = max(weights[g], -(-cut.value[k] * self.groups.unit[g] * PRECISION // self._price[k]))
        return tuple(weights), cut.rhs * PRECISION

    def _box(self, ceiling: int) -> Box:
        return tuple(
            (0, ceiling // u if most is None else min(most, ceiling // u))
            for u, most in zip(self.groups.unit, self.groups.upper, strict=True)
        )


SpendNode = Node[int, Box, None, list[float]]
"""A node: its decisions are boxes of cost shares, each inside the previous one; its state is a point of the last."""


class SpendBranching:
    """Branching on cost shares for the minimum cost that satisfies all cuts; `enough` is a known cost.

    The linear program is kept in one HiGHS object and solved from the last basis. An artificial column satisfies all
    rows at a cost above that of the root's box, so the program is always feasible.
    """

    def __init__(
        self,
        unit: Spend,
        rows: Sequence[tuple[Spend, int]],
        root: Box,
        enough: int,
        options: Options,
        clock: Stopwatch,
    ) -> None:
        self.unit, self.rows, self.enough, self.clock, self.branched = unit, rows, enough, clock, 0
        if not rows:
            return
        surplus = 10.0 * sum(u * (high + 1) for u, (_, high) in zip(unit, root, strict=True))
        model = LinearModel(
            cost=[*map(float, unit), surplus],
            matrix=np.c_[np.minimum(_scale_rows(rows), LARGEST_WEIGHT), np.ones(len(rows))],
            row_lower=1.0,
            row_upper=inf,
        )
        self._lp = LinearProgram(model, Options(threads=options.threads), short=1)

    def bound(self, node: SpendNode) -> None:
        """See `BranchingProblem`: an exact bound, rounded up to an integer, and the point of the linear program.

        If the linear program reaches the time limit, the bound is that of the box alone. The root has no time limit.
        """
        box, seconds = node.decisions[-1], self.clock.remaining_s if len(node.decisions) > 1 else inf
        weights = [Fraction(0)] * len(self.rows)
        point = [float(low) for low, _ in box]
        if self.rows:
            low, high = (np.array(side, dtype=float) for side in zip(*box, strict=True))
            self._lp.bound(range(len(box)), low, high)
            with suppress(SolveFailed):
                found = self._lp.solve(seconds)
                point = found.x.tolist()
                duals = np.maximum(0.0, found.duals)
                weights = [Fraction(float(y)) / rhs for y, (_, rhs) in zip(duals, self.rows, strict=True)]
        used = [(y, row, rhs) for y, (row, rhs) in zip(weights, self.rows, strict=True) if y]
        bound = sum((y * rhs for y, _, rhs in used), Fraction(0))
        for g, (lower, upper) in enumerate(box):
            slope = self.unit[g] - sum((y * row[g] for y, row, _ in used), Fraction(0))
            bound += slope * (lower if slope >= 0 else upper)
        node.bound, node.state = max(node.bound, -(-bound.numerator // bound.denominator)), point

    def branch(self, node: SpendNode) -> Sequence[SpendNode]:
        """See `BranchingProblem`: branch on the group of the largest unit with a fractional cost share."""
        self.branched += 1
        box, point = node.decisions[-1], node.state
        assert point is not None
        free = [g for g, (low, high) in enumerate(box) if low < high]
        if not free:  # a single point, which HiGHS did not find in its time
            self.enough = node.bound
            return []
        g = max(free, key=lambda i: (abs(point[i] - round(point[i])) > 1e-7, self.unit[i], -i))
        low, high = box[g]
        middle = min(max(floor(point[g] + 1e-7), low), high - 1)
        return [node.child((*box[:g], part, *box[g + 1 :])) for part in ((low, middle), (middle + 1, high))]


def _meets(spend: Sequence[int], weights: Spend, rhs: int) -> bool:
    return sum(w * z for w, z in zip(weights, spend, strict=True)) >= rhs


def _scale_rows(rows: Sequence[tuple[Spend, int]] | dict[tuple[Spend, int], None]) -> FloatArray:
    """Return weights (cuts, groups), scaled so that the right-hand side of each cut is 1."""
    return np.array([[w / rhs for w in weights] for weights, rhs in rows])


def pool_family(arrays: PackingArrays, family: int, ceiling: int, classes: int, units: int) -> PackingArrays | None:
    """Return the problem with a pooled family; its minimum is a lower bound on the cost of packings below `ceiling`.

    Return `None` if the family's types are not multiples of one type, if no task needs the family, or if the problem
    exceeds a limit.

    - `family`: index of the family.
    - `ceiling`: cost of a known packing in price units.
    - `classes`: limit on the number of classes.
    - `units`: limit on the possible numbers of units of the family.
    """
    own = np.flatnonzero(arrays.family == family)
    needs = arrays.fits[own].any(axis=0) & ~arrays.fits[arrays.family != family].any(axis=0)
    others = np.flatnonzero(~needs)
    if arrays.has_limits or not needs.any() or not 0 < len(others) < classes:
        return None
    small = own[np.lexsort((own, arrays.price[own]))[0]]
    base, price = arrays.capacity[small], int(arrays.price[small])
    multiple = [_multiple(arrays.capacity[k], base) for k in own]
    if not price or any(m is None or m * price > arrays.price[k] for m, k in zip(multiple, own, strict=True)):
        return None
    room = np.array(base, dtype=object)
    load = arrays.demand[family][needs].T.astype(object) @ arrays.count[needs].astype(object)
    fewest, most = _multiple(load, room), (ceiling - 1) // price
    if fewest is None or not fewest <= most < fewest + units or most * int(room.max()) >= 2**62:
        return None
    number = np.arange(fewest, most + 1)
    kept = np.flatnonzero(arrays.family != family)
    capacity = np.vstack([arrays.capacity[kept], number[:, None] * base])
    demand = np.concatenate([arrays.demand[:, others], np.zeros_like(arrays.demand[:, :1])], axis=1)
    for f in range(len(demand)):
        demand[f, -1] = load if f == family else capacity.max(axis=0) + 1
    nowhere = ~arrays.fits[own][:, others].any(axis=0)
    demand[family, :-1][nowhere] = capacity.max(axis=0) + 1
    prices = np.append(arrays.price[kept], number * price)
    alone = np.append(arrays.reservation_price[others], fewest * price)
    return replace(
        arrays.select_classes(np.append(others, others[:1])),
        demand=demand,
        capacity=capacity,
        family=np.append(arrays.family[kept], np.full(len(number), family)),
        price=prices,
        most=(None,) * len(prices),
        type_of=tuple(range(len(prices))),
        count=np.append(arrays.count[others], 1),
        reservation_price=alone,
    )


def _multiple(amounts: IntArray, base: IntArray) -> int | None:
    """Return the smallest multiple of `base` that holds `amounts`; `None` if no multiple does."""
    needed = [(int(a), int(b)) for a, b in zip(amounts, base, strict=True) if a]
    return None if any(b == 0 for _, b in needed) else max((-(-a // b) for a, b in needed), default=1)
