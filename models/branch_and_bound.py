"""Branch and bound over linear programs whose duals are made safe in rational arithmetic.

HiGHS solves the linear programs; what it says of them is never believed. Its duals, rounded to rational numbers, give a
bound of each node by themselves (Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99, 2004): every variable is bounded, so that reduced costs of either sign are paid for at a
bound. The tree with the duals of its leaves is the proof, and is written down as a VIPR derivation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from instances import Options, Stopwatch
from instances.proofs import NoCertificate, Program
from instances.result import Termination
from models.core import tree
from models.core.linear_program import LinearProgram, Optimum
from models.highs import LinearModel, SolveFailed

LARGEST_ENTRY = 1_000_000  # HiGHS is given rows with larger entries in units of the largest one
SMALLEST_DUAL = 1e-15  # of a ray: smaller numbers are taken for noise
FloatArray = NDArray[np.float64]
Vector = dict[int, Fraction]
Ends = Mapping[int, Fraction]
Added = tuple[int, bool, int]
"""A bound that was added: variable, whether it is a lower one, value."""


@dataclass(frozen=True)
class BranchAndBoundParameters:
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


DEFAULTS = BranchAndBoundParameters()


@dataclass(frozen=True)
class SolvedNode:
    """A linear program as HiGHS says it is: `value` in its own units, infinite where there is no point, and its duals.

    `ray`: duals that are to prove that there is no point.
    """

    value: float
    x: FloatArray
    duals: FloatArray
    ray: FloatArray | None


Node = tree.Node[Fraction, Added, Vector, SolvedNode]
"""A node: `bound` is what the duals `proof` prove of the minimised objective, or `empty` that they prove no point."""
Tree = tree.Tree[Fraction, Added, Vector, SolvedNode]


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
        parameters: BranchAndBoundParameters = DEFAULTS,
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
        largest = [max(map(abs, row.coefficients.values()), default=Fraction(1)) for row in self.rows]
        self.row_unit = [a if a > LARGEST_ENTRY else Fraction(1) for a in largest]
        entries = [
            (k, i, float(a / self.row_unit[k])) for k, row in enumerate(self.rows) for i, a in row.coefficients.items()
        ]
        where = ([k for k, _, _ in entries], [i for _, i, _ in entries])
        matrix = sparse.csc_array(sparse.coo_array(([a for _, _, a in entries], where), shape=(m, n)))
        right = np.array([float(row.right / unit) for row, unit in zip(self.rows, self.row_unit, strict=True)])
        lower = np.where([row.direction == "L" for row in self.rows], -math.inf, right)
        upper = np.where([row.direction == "G" for row in self.rows], math.inf, right)
        self.lower = np.array([float(self.low[i]) for i in range(n)])
        self.upper = np.array([float(self.high[i]) for i in range(n)])
        model = LinearModel(cost, matrix, lower, upper, self.lower, self.upper)
        try:
            self.linear = LinearProgram(model, self.options, {"solver": "simplex"})
        except (SolveFailed, ValueError) as error:
            raise NoCertificate(str(error)) from error
        self.changed: dict[int, tuple[float, float]] = {}

    @property
    def enough(self) -> Fraction:
        """The target, in the minimised objective."""
        return self.target

    def search(self) -> Tree:
        """Branch, best bound first, until every leaf reaches the target or a limit ends the search."""
        found = Tree(self, Node(self.proved({}, self.cost, {}, {}), proof={}))

        def limit() -> Termination | None:
            if self.options.effort is not None and len(found.nodes) > self.options.effort + 1:
                return "effort_limit"
            # A point in a leaf that cannot be branched on may be better than the target: no tree proves more then.
            return "time_limit" if self.clock.expired else "finished" if found.settled else None

        with suppress(SolveFailed):
            found.run(limit)
        return found

    def _set(self, added: Sequence[Added]) -> None:
        wanted: dict[int, tuple[float, float]] = {}
        for i, is_lower, value in added:
            low, high = wanted.get(i, (self.lower[i], self.upper[i]))
            wanted[i] = (max(low, value), high) if is_lower else (low, min(high, value))
        ends = {i: (self.lower[i], self.upper[i]) for i in self.changed.keys() - wanted.keys()}
        ends |= {i: both for i, both in wanted.items() if self.changed.get(i) != both}
        self.linear.bound(list(ends), [low for low, _ in ends.values()], [high for _, high in ends.values()])
        self.changed = wanted

    def _solve(self, added: Sequence[Added]) -> SolvedNode:
        """The linear program with the bounds `added`, as HiGHS solves it; raises SolveFailed where it does not."""
        self._set(added)
        found = self.linear.solve_or_refute(self.clock.remaining_s)
        if isinstance(found, Optimum):
            return SolvedNode(found.value, found.x, found.duals, None)
        nothing = np.zeros(0)
        return SolvedNode(math.inf, nothing, nothing, found)

    def bound(self, node: Node) -> None:
        """Bound a node by its own duals, or by those of its parent where these prove more."""
        solved = self._solve(node.decisions) if node.state is None else node.state
        low, high = self.box(node.decisions)
        if solved.value == math.inf:
            for refuting in self._refutations(solved.ray):
                if self.proved(refuting, {}, low, high) > 0:
                    node.proof, node.empty = refuting, True
                    return
        duals = self._rational(solved.duals * float(self.unit), min(float(self.unit), 1.0))
        proofs = [duals] if node.proof is None else [duals, node.proof]
        bounds = [self.proved(proof, self.cost, low, high) for proof in proofs]
        bound = max(bounds)
        node.proof = proofs[bounds.index(bound)]
        node.bound = Fraction(math.ceil(bound)) if self.whole else bound

    def _refutations(self, ray: FloatArray | None) -> Iterator[Vector]:
        """Duals that may prove that a program has no point: those of a ray, and each row by itself."""
        if ray is not None and ray.any():
            least = float(np.abs(ray[ray != 0]).min())
            for size in (1.0, min(1.0, max(least, SMALLEST_DUAL))):
                for direction in (1, -1):
                    yield self._rational(direction * ray, size)
        for k, row in enumerate(self.rows):
            for direction in {"L": (-1,), "G": (1,), "E": (1, -1)}[row.direction]:
                yield {k: Fraction(direction)}

    def box(self, added: Sequence[Added]) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
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
        """Duals near `values` in the units of the rows, of valid sign; `size`: the least far from 0, at most 1."""
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
                found[int(k)] = near / self.row_unit[k]
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

    def branch(self, node: Node) -> Sequence[Node]:
        """The children of a node: of the most promising variables, that whose children gain most.

        None where all whole numbers are fixed. A node without a point whose ray refutes nothing is halved.
        """
        here = self._solve(node.decisions)
        if here.value == math.inf:
            low, high = self.box(node.decisions)
            middle = [float(low.get(i, a) + high.get(i, self.high[i])) / 2 for i, a in sorted(self.low.items())]
            first = self._candidates(node, np.array(middle))[:1]
            return [node.child(added) for i in first for added in self._sides(node, i, middle[i])]
        basis = self.linear.basis()
        most = max(float((self.target - node.bound) / self.unit), 1e-9)
        best, chosen = 0.0, list[Node]()
        for i in self._candidates(node, here.x):
            sides = []
            for added in self._sides(node, i, float(here.x[i])):
                self.linear.restore(basis)
                sides.append(node.child(added, self._solve((*node.decisions, added))))
            gains = [min(max(side.state.value - here.value, 1e-6 * most), most) for side in sides if side.state]
            if not chosen or math.prod(gains) > best:
                best, chosen = math.prod(gains), sides
        return chosen

    def _sides(self, node: Node, i: int, value: float) -> tuple[Added, Added]:
        """The two bounds that split the range of a variable at a value."""
        k = min(math.floor(value + self.parameters.whole), int(self.box(node.decisions)[1].get(i, self.high[i])) - 1)
        return (i, False, k), (i, True, k + 1)

    def _candidates(self, node: Node, x: FloatArray) -> list[int]:
        """Variables to branch on, fractional ones if there are any: those ahead, else with a cost, else any."""
        low, high = self.box(node.decisions)
        free = [i for i in sorted(self.program.integers) if low.get(i, self.low[i]) < high.get(i, self.high[i])]
        split = {i: min(x[i] - math.floor(x[i]), math.ceil(x[i]) - x[i]) for i in free}
        open_ones = [i for i in free if split[i] > self.parameters.whole]
        costly = [i for i in open_ones if i in self.ahead] or [i for i in open_ones if i in self.cost]
        found = sorted(costly or open_ones, key=lambda i: (-split[i], i))[: self.parameters.candidates]
        return found or free[:1]
