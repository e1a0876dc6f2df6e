"""Branch and bound over linear programs whose duals are made safe in rational arithmetic.

HiGHS solves the linear programs; what it says of them is never believed. Its duals, rounded to rational numbers, give a
bound of each node by themselves (Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99, 2004): every variable is bounded, so that reduced costs of either sign are paid for at a
bound. The tree with the duals of its leaves is the proof, and is written down as a VIPR derivation.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from instances import Options, Stopwatch
from instances.proofs import NoCertificate, Program
from models.highs import LinearModel, OutOfTime, rerun, solver

FloatArray = NDArray[np.float64]
Vector = dict[int, Fraction]
Ends = Mapping[int, Fraction]
Added = tuple[tuple[int, bool, int], ...]


@dataclass(frozen=True)
class Parameters:
    """Constants of the search.

    - `denominator`: duals are rounded to fractions with at most this denominator where that is what they are, up to
      `exact` (relative), and otherwise to multiples of 1 / `grid`;
    - `whole`: a value this close to a whole number is whole;
    - `candidates`: variables whose children are both solved before one is branched on.
    """

    denominator: int = 10_000
    exact: float = 1e-12
    grid: int = 2**32
    whole: float = 1e-6
    candidates: int = 8


DEFAULTS = Parameters()


@dataclass(frozen=True)
class Solved:
    """A linear program as HiGHS says it is: `value` in its own units, infinite where there is no point, and its duals.

    `ray`: duals that are to prove that there is no point.
    """

    value: float
    x: FloatArray
    duals: FloatArray
    ray: FloatArray | None


@dataclass
class Node:
    """A node of the tree: the bounds (variable, is lower, value) that were added on the way to it.

    `bound` is what its own duals prove of the minimised objective, `absurd` whether they prove that it has no point.
    `branch`: the variable and the whole number below which the first child lies.
    """

    added: Added
    bound: Fraction
    duals: Vector = field(default_factory=dict)
    absurd: bool = False
    branch: tuple[int, int] | None = None
    children: tuple[Node, Node] | None = None


@dataclass(frozen=True)
class Tree:
    """A finished search: the `bound` of the objective that its leaves prove, its `root`, and their number."""

    bound: Fraction
    root: Node
    leaves: int


class BranchAndBound:
    """The search for a proof that the objective of `program` is no better than `target`.

    The variables `ahead` are branched on before all others.
    """

    def __init__(
        self,
        program: Program,
        target: Fraction,
        options: Options,
        ahead: frozenset[int] = frozenset(),
        parameters: Parameters = DEFAULTS,
    ) -> None:
        self.program, self.options, self.parameters, self.ahead = program, options, parameters, ahead
        self.sign = 1 if program.sense == "min" else -1
        self.cost: Vector = {i: self.sign * c for i, c in program.objective.items()}
        self.whole = all(i in program.integers and c.denominator == 1 for i, c in self.cost.items())
        self.target = self.sign * target
        self.rows = program.rows[program.bounds :]
        self.low: dict[int, Fraction] = {}
        self.high: dict[int, Fraction] = {}
        for row in program.rows[: program.bounds]:
            ((i, _),) = row.coefficients.items()
            (self.low if row.direction == "G" else self.high)[i] = row.right
        self.clock = Stopwatch(options.time_limit)
        self.count = 0
        self._open()

    def _open(self) -> None:
        n, m = len(self.program.variables), len(self.rows)
        # HiGHS gets the objective in units of its largest coefficient, for it may take small numbers for nothing.
        self.unit = max((abs(c) for c in self.cost.values()), default=Fraction(1))
        cost = np.zeros(n)
        for i, c in self.cost.items():
            cost[i] = float(c / self.unit)
        entries = [(k, i, float(a)) for k, row in enumerate(self.rows) for i, a in row.coefficients.items()]
        where = ([k for k, _, _ in entries], [i for _, i, _ in entries])
        matrix = sparse.csc_array(sparse.coo_array(([a for _, _, a in entries], where), shape=(m, n)))
        right = np.array([float(row.right) for row in self.rows])
        lower = np.where([row.direction == "L" for row in self.rows], -math.inf, right)
        upper = np.where([row.direction == "G" for row in self.rows], math.inf, right)
        self.lower = np.array([float(self.low[i]) for i in range(n)])
        self.upper = np.array([float(self.high[i]) for i in range(n)])
        model = LinearModel(cost, matrix, lower, upper, self.lower, self.upper)
        options = Options(threads=self.options.threads, seed=self.options.seed)
        self.highs = solver(options, {"presolve": "off", "solver": "simplex"})
        if self.highs.passModel(model.lp()) == highspy.HighsStatus.kError:
            raise ValueError("HiGHS refuses the model")
        self.changed: dict[int, tuple[float, float]] = {}

    def search(self) -> Tree:
        """Branch, best bound first, until every leaf reaches the target or a limit ends the search."""
        try:
            root = self._node(())
        except OutOfTime:
            root = Node((), self.proved({}, self.cost, {}, {}))
        heap = [] if self._done(root) else [(root.bound, 0, root)]
        while heap and not self._out_of_time():
            try:
                children = self._branched(heapq.heappop(heap)[2])
            except OutOfTime:
                break
            if not children:  # A point there may be better than the target: no tree proves more than this node.
                break
            for child in children:
                self.count += 1
                if not self._done(child):
                    heapq.heappush(heap, (child.bound, self.count, child))
        return Tree(self.sign * _value(root), root, _leaves(root))

    def _out_of_time(self) -> bool:
        return self.clock.expired or (self.options.effort is not None and self.count > self.options.effort)

    def _done(self, node: Node) -> bool:
        return node.absurd or node.bound >= self.target

    def _set(self, added: Added) -> None:
        wanted: dict[int, tuple[float, float]] = {}
        for i, is_lower, value in added:
            low, high = wanted.get(i, (self.lower[i], self.upper[i]))
            wanted[i] = (max(low, value), high) if is_lower else (low, min(high, value))
        for i in self.changed.keys() - wanted.keys():
            self.highs.changeColBounds(i, self.lower[i], self.upper[i])
        for i, (low, high) in wanted.items():
            if self.changed.get(i) != (low, high):
                self.highs.changeColBounds(i, low, high)
        self.changed = wanted

    def _solve(self, added: Added) -> Solved:
        """The linear program with the bounds `added`, as HiGHS solves it; raises OutOfTime where it has no time to."""
        self._set(added)
        status = rerun(self.highs, self.clock.remaining_s)
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise OutOfTime("the linear program ran out of time")
        ray = None
        if status == highspy.HighsModelStatus.kInfeasible:
            _, known, values = self.highs.getDualRay()
            ray = np.asarray(values) if known else None
        found = self.highs.getSolution()
        value = math.inf if status == highspy.HighsModelStatus.kInfeasible else self.highs.getObjectiveValue()
        return Solved(value, np.array(found.col_value), np.array(found.row_dual), ray)

    def _node(self, added: Added, parent: Node | None = None, solved: Solved | None = None) -> Node:
        """The node with the bounds `added`; where its own duals prove less than those of its parent, it has these."""
        solved = self._solve(added) if solved is None else solved
        low, high = self.box(added)
        if solved.ray is not None:
            for direction in (1, -1):
                duals = self._rational(direction * solved.ray)
                if self.proved(duals, {}, low, high) > 0:
                    return Node(added, Fraction(0), duals, absurd=True)
        duals = self._rational(solved.duals * float(self.unit), min(float(self.unit), 1.0))
        bound = self.proved(duals, self.cost, low, high)
        if parent is not None and (inherited := self.proved(parent.duals, self.cost, low, high)) > bound:
            duals, bound = parent.duals, inherited
        return Node(added, Fraction(math.ceil(bound)) if self.whole else bound, duals)

    def box(self, added: Added) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
        """The lower and upper bounds that were added, the tightest of each variable."""
        low: dict[int, Fraction] = {}
        high: dict[int, Fraction] = {}
        for i, is_lower, value in added:
            if is_lower:
                low[i] = max(low.get(i, self.low[i]), Fraction(value))
            else:
                high[i] = min(high.get(i, self.high[i]), Fraction(value))
        return low, high

    def _rational(self, values: FloatArray, size: float = 1.0) -> Vector:
        """Duals near `values`, of the signs that they must have; `size`: the least that is far from 0, at most 1."""
        p, found = self.parameters, {}
        grid = p.grid * math.ceil(1 / size)
        for k in np.flatnonzero(values):
            value = float(values[k])
            if not math.isfinite(value) or {"L": value > 0, "G": value < 0, "E": False}[self.rows[k].direction]:
                continue
            near = Fraction(value).limit_denominator(p.denominator)
            if abs(float(near) - value) > p.exact * max(size, abs(value)):
                near = Fraction(round(value * grid), grid)
            if near:
                found[int(k)] = near
        return found

    def reduced(self, duals: Vector, cost: Vector) -> Vector:
        """The reduced costs at `duals`, exactly; zeros are left out."""
        left = dict(cost)
        for k, dual in duals.items():
            for i, a in self.rows[k].coefficients.items():
                left[i] = left.get(i, Fraction(0)) - dual * a
        return {i: r for i, r in left.items() if r}

    def proved(self, duals: Vector, cost: Vector, low: Ends, high: Ends) -> Fraction:
        """What `duals` prove of cost x within the bounds, `low` and `high` beside those of the program."""
        total = sum((dual * self.rows[k].right for k, dual in duals.items()), Fraction(0))
        for i, r in self.reduced(duals, cost).items():
            end = low.get(i, self.low[i]) if r > 0 else high.get(i, self.high[i])
            total += r * end
        return total

    def _branched(self, node: Node) -> tuple[Node, ...]:
        """The children of a node: of the most promising variables, that whose children gain most.

        None where all whole numbers are fixed.
        """
        here = self._solve(node.added)
        basis = self.highs.getBasis()
        most = max(float((self.target - node.bound) / self.unit), 1e-9)
        chosen: tuple[float, int, int, Solved, Solved] | None = None
        for i in self._candidates(node, here.x):
            k = min(
                math.floor(here.x[i] + self.parameters.whole), int(self.box(node.added)[1].get(i, self.high[i])) - 1
            )
            sides = []
            for added in ((i, False, k), (i, True, k + 1)):
                self.highs.setBasis(basis)
                sides.append(self._solve((*node.added, added)))
            gains = [min(max(side.value - here.value, 1e-6 * most), most) for side in sides]
            if chosen is None or gains[0] * gains[1] > chosen[0]:
                chosen = gains[0] * gains[1], i, k, *sides
        if chosen is None:
            return ()
        _, i, k, first, second = chosen
        node.branch = i, k
        node.children = (
            self._node((*node.added, (i, False, k)), node, first),
            self._node((*node.added, (i, True, k + 1)), node, second),
        )
        return node.children

    def _candidates(self, node: Node, x: FloatArray) -> list[int]:
        """Variables to branch on, fractional ones if there are any: those ahead, else with a cost, else any."""
        low, high = self.box(node.added)
        free = [i for i in sorted(self.program.integers) if low.get(i, self.low[i]) < high.get(i, self.high[i])]
        split = {i: min(x[i] - math.floor(x[i]), math.ceil(x[i]) - x[i]) for i in free}
        open_ones = [i for i in free if split[i] > self.parameters.whole]
        costly = [i for i in open_ones if i in self.ahead] or [i for i in open_ones if i in self.cost]
        found = sorted(costly or open_ones, key=lambda i: (-split[i], i))[: self.parameters.candidates]
        return found or free[:1]


def _value(node: Node) -> Fraction:
    """What the leaves under a node prove, in the minimised objective; an absurd leaf proves anything."""
    best: Fraction | None = None
    left = [node]
    while left:
        here = left.pop()
        if here.children is not None:
            left += here.children
        elif not here.absurd and (best is None or here.bound < best):
            best = here.bound
    if best is None:
        raise NoCertificate("the program has no point")
    return best


def _leaves(node: Node) -> int:
    left, count = [node], 0
    while left:
        here = left.pop()
        if here.children is None:
            count += 1
        else:
            left += here.children
    return count
