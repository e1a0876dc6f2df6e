"""Branch and bound over linear programs whose duals are made safe in rational arithmetic.

HiGHS solves the linear programs, but its results are not trusted. Its duals, rounded to rational numbers, give a bound
of each node by themselves (Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99, 2004). Every variable is bounded, so a reduced cost of either sign is multiplied by a
bound. The tree with the duals of its leaves is the proof; `models.core.derivation` writes it as a VIPR derivation.
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
from models.core.highs import LinearModel, SolveFailed
from models.core.linear_program import LinearProgram, Optimum

LARGEST_ENTRY = 1_000_000  # rows with larger entries are divided by the largest one, for HiGHS's tolerances
SMALLEST_DUAL = 1e-15  # smaller entries of a ray count as noise
FloatArray = NDArray[np.float64]
Vector = dict[int, Fraction]
Ends = Mapping[int, Fraction]
Added = tuple[int, bool, int]
"""An added bound: variable, whether it is a lower bound, value."""


@dataclass(frozen=True)
class BranchAndBoundParameters:
    """Constants of the search.

    - `denominator`: a dual within `exact` (relative) of a fraction with at most this denominator is replaced by it;
      other duals are rounded to multiples of 1 / `grid`;
    - `exact`, `grid`: see `denominator`;
    - `whole`: a value this close to an integer counts as integral;
    - `candidates`: number of variables for which both children are solved before one variable is chosen.
    """

    denominator: int = 10_000
    exact: float = 1e-12
    grid: int = 2**32
    whole: float = 1e-6
    candidates: int = 8


DEFAULTS = BranchAndBoundParameters()


@dataclass(frozen=True)
class SolvedNode:
    """The solution of a linear program by HiGHS.

    - `value`: its objective in its own units; infinite if it is infeasible.
    - `x`, `duals`: the solution; empty if it is infeasible.
    - `ray`: duals that should prove infeasibility.
    """

    value: float
    x: FloatArray
    duals: FloatArray
    ray: FloatArray | None


Node = tree.Node[Fraction, Added, Vector, SolvedNode]
"""A node: the duals `proof` prove `bound` for the minimised objective, or if `empty`, that the node is infeasible."""
Tree = tree.Tree[Fraction, Added, Vector, SolvedNode]


class BranchAndBound:
    """The search for a proof that the objective of `program` is no better than `target`.

    - `program`: a mixed-integer program with bounds on every variable.
    - `target`: the bound to be proven, in the sense of the program.
    - `options`: limits of time and effort.
    - `ahead`: variables that are branched on before all others.
    - `parameters`: constants of the search.
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
        self.has_integer_objective = all(i in program.integers and c.denominator == 1 for i, c in self.cost.items())
        self.target = self.sign * target
        self.rows = program.rows[program.bounds :]
        self.low: dict[int, Fraction] = {}
        self.high: dict[int, Fraction] = {}
        for row in program.rows[: program.bounds]:
            ((i, _),) = row.coefficients.items()
            (self.low if row.direction == "G" else self.high)[i] = row.right
        self.clock = Stopwatch(options.time_limit)
        self.count = 0
        self._build_linear_program()

    def _build_linear_program(self) -> None:
        n, m = len(self.program.variables), len(self.rows)
        # The objective is in units of its largest coefficient, because HiGHS may treat small numbers as zero.
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
        """Return the target of the minimised objective."""
        return self.target

    def search(self) -> Tree:
        """Branch, best bound first, until every leaf reaches the target or a limit ends the search."""
        result = Tree(self, Node(self.compute_bound({}, self.cost, {}, {}), proof={}))

        def check_limits() -> Termination | None:
            if self.options.effort is not None and len(result.nodes) > self.options.effort + 1:
                return "effort_limit"
            # A solution in a leaf without children may be better than the target; then no tree can prove the target.
            return "time_limit" if self.clock.has_expired else "finished" if result.is_settled else None

        with suppress(SolveFailed):
            result.run(check_limits)
        return result

    def _set_bounds(self, added: Sequence[Added]) -> None:
        new: dict[int, tuple[float, float]] = {}
        for i, is_lower, value in added:
            low, high = new.get(i, (self.lower[i], self.upper[i]))
            new[i] = (max(low, value), high) if is_lower else (low, min(high, value))
        ends = {i: (self.lower[i], self.upper[i]) for i in self.changed.keys() - new.keys()}
        ends |= {i: both for i, both in new.items() if self.changed.get(i) != both}
        self.linear.bound(list(ends), [low for low, _ in ends.values()], [high for _, high in ends.values()])
        self.changed = new

    def _solve(self, added: Sequence[Added]) -> SolvedNode:
        """Solve the linear program with the bounds `added` by HiGHS; raises SolveFailed if it fails."""
        self._set_bounds(added)
        result = self.linear.solve_or_refute(self.clock.remaining_s)
        if isinstance(result, Optimum):
            return SolvedNode(result.value, result.x, result.duals, None)
        empty = np.zeros(0)
        return SolvedNode(math.inf, empty, empty, result)

    def bound(self, node: Node) -> None:
        """Bound a node by its own duals, or by those of its parent if these prove more."""
        solved = self._solve(node.decisions) if node.state is None else node.state
        low, high = self.box(node.decisions)
        if solved.value == math.inf:
            for refuting in self._refutations(solved.ray):
                if self.compute_bound(refuting, {}, low, high) > 0:
                    node.proof, node.empty = refuting, True
                    return
        duals = self._rational(solved.duals * float(self.unit), min(float(self.unit), 1.0))
        proofs = [duals] if node.proof is None else [duals, node.proof]
        bounds = [self.compute_bound(proof, self.cost, low, high) for proof in proofs]
        bound = max(bounds)
        node.proof = proofs[bounds.index(bound)]
        node.bound = Fraction(math.ceil(bound)) if self.has_integer_objective else bound

    def _refutations(self, ray: FloatArray | None) -> Iterator[Vector]:
        """Yield duals that may prove infeasibility: those of a ray, and each row by itself."""
        if ray is not None and ray.any():
            least = float(np.abs(ray[ray != 0]).min())
            for size in (1.0, min(1.0, max(least, SMALLEST_DUAL))):
                for direction in (1, -1):
                    yield self._rational(direction * ray, size)
        for k, row in enumerate(self.rows):
            for direction in {"L": (-1,), "G": (1,), "E": (1, -1)}[row.direction]:
                yield {k: Fraction(direction)}

    def box(self, added: Sequence[Added]) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
        """Return the lower and upper bounds that were added, the tightest of each variable."""
        low: dict[int, Fraction] = {}
        high: dict[int, Fraction] = {}
        for i, is_lower, value in added:
            if is_lower:
                low[i] = max(low.get(i, self.low[i]), Fraction(value))
            else:
                high[i] = min(high.get(i, self.high[i]), Fraction(value))
        return low, high

    def _rational(self, values: FloatArray, size: float = 1.0) -> Vector:
        """Return rational duals close to `values`, in the units of the rows and of valid sign.

        - `size`: magnitude of the smallest relevant value, at most 1.
        """
        p, rational = self.parameters, {}
        grid = p.grid * math.ceil(1 / size)
        for k in np.flatnonzero(values):
            value = float(values[k])
            if not math.isfinite(value) or {"L": value > 0, "G": value < 0, "E": False}[self.rows[k].direction]:
                continue
            near = Fraction(value).limit_denominator(p.denominator)
            if abs(float(near) - value) > p.exact * max(size, abs(value)):
                near = Fraction(round(value * grid), grid)
            if near:
                rational[int(k)] = near / self.row_unit[k]
        return rational

    def compute_reduced_costs(self, duals: Vector, cost: Vector) -> Vector:
        """Return the exact reduced costs at `duals`, without zeros."""
        reduced = dict(cost)
        for k, dual in duals.items():
            for i, a in self.rows[k].coefficients.items():
                reduced[i] = reduced.get(i, Fraction(0)) - dual * a
        return {i: r for i, r in reduced.items() if r}

    def compute_bound(self, duals: Vector, cost: Vector, low: Ends, high: Ends) -> Fraction:
        """Return the lower bound on cost x that `duals` prove.

        - `low`, `high`: bounds of variables in addition to those of the program.
        """
        total = sum((dual * self.rows[k].right for k, dual in duals.items()), Fraction(0))
        for i, r in self.compute_reduced_costs(duals, cost).items():
            end = low.get(i, self.low[i]) if r > 0 else high.get(i, self.high[i])
            total += r * end
        return total

    def branch(self, node: Node) -> Sequence[Node]:
        """Return the children of a node, for the candidate variable whose children gain most.

        There are none if all integer variables are fixed. If the program is infeasible and no dual proves it, the range
        of a variable is halved.
        """
        solved = self._solve(node.decisions)
        if solved.value == math.inf:
            low, high = self.box(node.decisions)
            middle = [float(low.get(i, a) + high.get(i, self.high[i])) / 2 for i, a in sorted(self.low.items())]
            first = self._candidates(node, np.array(middle))[:1]
            return [node.child(added) for i in first for added in self._sides(node, i, middle[i])]
        basis = self.linear.basis()
        missing = max(float((self.target - node.bound) / self.unit), 1e-9)
        best, chosen = 0.0, list[Node]()
        for i in self._candidates(node, solved.x):
            sides = []
            for added in self._sides(node, i, float(solved.x[i])):
                self.linear.restore(basis)
                sides.append(node.child(added, self._solve((*node.decisions, added))))
            gains = [min(max(side.state.value - solved.value, 1e-6 * missing), missing) for side in sides if side.state]
            if not chosen or math.prod(gains) > best:
                best, chosen = math.prod(gains), sides
        return chosen

    def _sides(self, node: Node, i: int, value: float) -> tuple[Added, Added]:
        """Return the two bounds that split the range of a variable at a value."""
        k = min(math.floor(value + self.parameters.whole), int(self.box(node.decisions)[1].get(i, self.high[i])) - 1)
        return (i, False, k), (i, True, k + 1)

    def _candidates(self, node: Node, x: FloatArray) -> list[int]:
        """Return the variables to branch on.

        Fractional variables come first: those in `ahead`, otherwise those with a cost, otherwise any. Without
        fractional variables, return a free variable.
        """
        low, high = self.box(node.decisions)
        free = [i for i in sorted(self.program.integers) if low.get(i, self.low[i]) < high.get(i, self.high[i])]
        fractionality = {i: min(x[i] - math.floor(x[i]), math.ceil(x[i]) - x[i]) for i in free}
        fractional = [i for i in free if fractionality[i] > self.parameters.whole]
        preferred = [i for i in fractional if i in self.ahead] or [i for i in fractional if i in self.cost]
        best = sorted(preferred or fractional, key=lambda i: (-fractionality[i], i))[: self.parameters.candidates]
        return best or free[:1]
