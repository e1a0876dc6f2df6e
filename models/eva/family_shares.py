"""A bound beyond the linear relaxation: each family is one large bin, with a capacity in proportion to its cost share.

The cost share of a family is a multiple of the greatest common divisor of its prices. For each resource, one type of
the family has the largest capacity per price. Its ratio limits the capacity that the cost share buys. The minimum total
cost of such bins, with an integer assignment of the tasks, is a lower bound on the cost of any packing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, inf

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from instances.result import Termination
from models.core.highs import LinearModel, OutOfTime, SolveFailed
from models.core.linear_program import LinearProgram
from models.core.tree import Node, Tree
from models.eva.pricer import SumsOfPrices

FINE = 2**30  # duals are integer multiples of a price unit divided by this
WHOLE = 1e-6  # an amount of a linear program this close to an integer counts as the integer
DEAR = 10.0  # cost of missing capacity, as a multiple of the ceiling

Box = tuple[tuple[int, int], ...]
"""Lower and upper bound of each variable: units of each family's cost share, then tasks of a class on a family."""


@dataclass(frozen=True)
class SharedFamily:
    """A family as one bin.

    - `unit`: unit of its cost share, in price units.
    - `room` (R,): capacity that a unit buys.
    - `load` (R,): demand of the tasks that fit on no other family.
    - `demand`: demand (R,) of a task, for each class that fits on other families as well.
    """

    unit: int
    room: tuple[Fraction, ...]
    load: tuple[int, ...]
    demand: dict[int, list[int]]


def families(arrays: PackingArrays) -> list[SharedFamily] | None:
    """Return the families that can hold a task; `None` if one of them has a free type, because no bound follows."""
    found = []
    on = np.array([arrays.fits[arrays.family == f].any(axis=0) for f in range(len(arrays.demand))])
    alone = on.sum(axis=0) == 1
    for f in range(len(arrays.demand)):
        kinds = [k for k in np.flatnonzero(arrays.family == f).tolist() if arrays.fits[k].any()]
        if not kinds:
            continue
        prices = arrays.price[kinds].tolist()
        if not all(prices):
            return None
        unit = gcd(*prices)
        rooms = zip(*arrays.capacity[kinds].tolist(), strict=True)
        room = tuple(unit * max(Fraction(q, p) for q, p in zip(each, prices, strict=True)) for each in rooms)
        own, other = (np.flatnonzero(on[f] & (alone == only)).tolist() for only in (True, False))
        demand = arrays.demand[f].tolist()
        takes = [[int(arrays.count[c]) * d for d in demand[c]] for c in own]
        load = tuple(map(sum, zip(*takes, strict=True))) or (0,) * len(room)
        found.append(SharedFamily(unit, room, load, {c: demand[c] for c in other}))
    return found


ShareNode = Node[int, Box, None, list[float]]
"""A node: its decisions are boxes, each inside the previous one; its state is a point of the last box."""


class FamilyShares:
    """Branching on cost shares and on tasks per family, for the minimum cost.

    Any weights of the resources of a family give a Lagrangian bound of a node, in integers and rationals.

    - `arrays`: the instance.
    - `pools`: the families.
    - `enough`: the cost of a packing, at which the search stops.
    - `options`: threads.
    """

    def __init__(self, arrays: PackingArrays, pools: Sequence[SharedFamily], enough: int, options: Options) -> None:
        self.enough, self.pools, self.branched = enough, pools, 0
        self.clock = Stopwatch()
        shared = sorted({c for pool in pools for c in pool.demand})
        self.count = {c: int(arrays.count[c]) for c in shared}
        pairs = [(c, f) for f, pool in enumerate(pools) for c in pool.demand]
        self.place = {pair: i for i, pair in enumerate(pairs, len(pools))}
        self.sums = SumsOfPrices(arrays.price[arrays.fits.any(axis=1)].tolist(), enough)
        self.root: Box = (
            *((0, enough // pool.unit) for pool in pools),
            *((0, self.count[c]) for c, _ in self.place),
        )
        self.rows = [(f, r) for f, pool in enumerate(pools) for r, room in enumerate(pool.room) if room > 0]
        self._lp = self._program(options)

    def _program(self, options: Options) -> LinearProgram:
        """Build the linear program over cost shares, tasks per family, and missing capacity of each row.

        It has a row for each class, and one for each resource of a family.
        """
        m, width = len(self.count), len(self.pools) + len(self.place)
        matrix = sparse.lil_array((m + len(self.rows), width + len(self.rows)))
        rank = {c: row for row, c in enumerate(self.count)}
        for (c, _), i in self.place.items():
            matrix[rank[c], i] = 1.0
        for row, (f, r) in enumerate(self.rows, m):
            matrix[row, f] = 1.0
            for c, demand in self.pools[f].demand.items():
                matrix[row, self.place[c, f]] = -float(demand[r] / self.pools[f].room[r])
            matrix[row, width + row - m] = 1.0
        asked = [float(self.pools[f].load[r] / self.pools[f].room[r]) for f, r in self.rows]
        cost = [float(pool.unit) for pool in self.pools] + [0.0] * len(self.place)
        model = LinearModel(
            cost=np.array(cost + [DEAR * self.enough] * len(self.rows)),
            matrix=sparse.csc_array(matrix),
            row_lower=np.array([*self.count.values(), *asked], dtype=float),
            row_upper=inf,
        )
        return LinearProgram(model, Options(threads=options.threads), short=len(self.rows))

    def bound(self, node: ShareNode) -> None:
        """See `BranchingProblem`: an exact bound, rounded up to a sum of prices, and the point of the linear program.

        Raises OutOfTime if there is no time for it.
        """
        box = node.decisions[-1]
        low, high = (np.array(side, dtype=float) for side in zip(*box, strict=True))
        weight = [[0] * len(pool.room) for pool in self.pools]
        node.state = low.tolist()
        try:
            self._lp.bound(range(len(box)), low, high)
            found = self._lp.solve(self.clock.remaining_s if len(node.decisions) > 1 else inf)
            node.state = found.x.tolist()
            for (f, r), y in zip(self.rows, found.duals[len(self.count) :].tolist(), strict=True):
                weight[f][r] = max(0, floor(y * FINE))
        except OutOfTime:  # the node stays open
            raise
        except SolveFailed:
            pass  # without duals the box alone bounds it
        proven = self.proven(box, weight)
        if proven is None:
            node.empty = True
        else:
            node.bound = max(node.bound, self.sums.round_up(proven))

    def proven(self, box: Box, weight: Sequence[Sequence[int]]) -> int | None:
        """Return the bound that weights (F, R), scaled by `FINE`, prove for a box.

        Return `None` if the box allows no assignment of all tasks. A weight is the value of the capacity that a unit
        buys.
        """
        total = Fraction(0)
        paid: dict[int, list[tuple[int, int, int]]] = {c: [] for c in self.count}
        for f, pool in enumerate(self.pools):
            slope = pool.unit * FINE - sum(weight[f])
            total += slope * box[f][0 if slope >= 0 else 1]
            used = [(r, w, pool.room[r].numerator, pool.room[r].denominator) for r, w in enumerate(weight[f]) if w]
            total += sum(w * pool.load[r] * under // over for r, w, over, under in used)
            for c, demand in pool.demand.items():
                each = sum(w * demand[r] * under // over for r, w, over, under in used)
                paid[c].append((each, *box[self.place[c, f]]))
        for c, here in paid.items():
            left = self.count[c] - sum(low for _, low, _ in here)
            if left < 0:
                return None
            for each, low, high in sorted(here):  # the cheapest family first
                more = min(left, high - low)
                total += each * (low + more)
                left -= more
            if left:
                return None
        return max(0, ceil(total / FINE))

    def branch(self, node: ShareNode) -> Sequence[ShareNode]:
        """See `BranchingProblem`: branch on the fractional cost share of the largest unit, or on tasks of a class."""
        self.branched += 1
        box, point = node.decisions[-1], node.state
        assert point is not None
        n = len(self.pools)
        parts = [abs(x - round(x)) for x in point]
        spends = [f for f in range(n) if parts[f] > WHOLE]
        free = [i for i in range(n, len(box)) if parts[i] > WHOLE and box[i][0] < box[i][1]]
        if spends:
            i = max(spends, key=lambda f: (self.pools[f].unit, -f))
        elif free:
            i = max(free, key=lambda i: (min(parts[i], 0.5), -i))
        else:  # an integral point, which costs at least the node's bound
            return []
        low, high = box[i]
        middle = min(max(floor(point[i]), low), high - 1)
        if low == high:
            return []
        return [node.child((*box[:i], part, *box[i + 1 :])) for part in ((low, middle), (middle + 1, high))]


class ShareSearch:
    """A search, in several runs, for the minimum cost shares of families to which all tasks can be assigned.

    - `arrays`: the instance.
    - `ceiling`: cost of a packing in price units; no bound exceeds it.
    - `options`: threads.
    """

    def __init__(self, arrays: PackingArrays, ceiling: int, options: Options) -> None:
        self._tree: Tree[int, Box, None, list[float]] | None = None
        pools = families(arrays)
        if pools is not None:
            self._problem = FamilyShares(arrays, pools, ceiling, options)
            root = Node[int, Box, None, list[float]](0, (self._problem.root,))
            self._tree = Tree(self._problem, root, eager=False)  # among equal bounds, the deepest node comes first

    def run(self, ceiling: int, nodes: int, clock: Stopwatch) -> int:
        """Continue for a number of `nodes`, or until the clock's limit, and return the bound.

        - `ceiling`: cost of a packing in price units, at which the search stops.
        """
        if self._tree is None:
            return 0
        tree, problem = self._tree, self._problem
        problem.enough, problem.clock, last = min(problem.enough, ceiling), clock, problem.branched + nodes

        def limit() -> Termination | None:
            late = clock.has_expired or tree.is_settled
            return "effort_limit" if problem.branched >= last else "time_limit" if late else None

        tree.run(limit)
        return problem.enough if tree.bound is None else min(problem.enough, tree.bound)
