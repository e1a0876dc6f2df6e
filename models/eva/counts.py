"""The best solution over a list of columns, by branch and bound over the number of instances of each type.

The module serves Eva's net saving, and a round as one problem.

The linear program over columns mostly uses fractions of instances, and its bound lacks the rest of their prices. If the
numbers of instances of each type are integral, a small integer program over few columns remains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.result import Termination
from models.core.fine_units import FineUnits, coarse_unit
from models.core.highs import LinearModel, SolveFailed, solve_arrays
from models.core.linear_program import LinearProgram
from models.core.safe_bounds import real_bound
from models.core.tree import Node, Tree
from models.eva.parameters import CountParameters

LEAST_S = 0.05  # smallest time limit of an integer program in seconds
WHOLE = 1e-6  # a number this close to an integer is integral
ROUNDING = 2.0**-40  # a sum of floats errs by less than this share of its terms; see `SavingPricer.noise`


@dataclass(frozen=True)
class Listed:
    """A program over P columns, one for each instance in use, and the functions of its duals.

    - `model`: its linear program; variables after the P-th are not columns.
    - `kind`, `net` (P,): the type of each column, and its objective coefficient.
    - `offset`: constant part of the value that is not counted in a gap.
    - `dear`: a number above the value of any solution.
    - `noise(duals)`: more than the rounding error of a reduced net at these duals.
    - `reduced(duals)`: the reduced nets (P,) at the duals of all rows.
    - `bound(duals, most)`: upper bound on the value of a solution, if no column has a reduced net above `most`.
    - `worth(copies)`: the value of a solution with `copies` (P,) of each column.
    """

    model: LinearModel
    kind: IntArray
    net: FloatArray
    offset: float
    dear: float
    noise: Callable[[FloatArray], float]
    reduced: Callable[[FloatArray], FloatArray]
    bound: Callable[[FloatArray, float], float]
    worth: Callable[[IntArray], float]


@dataclass(frozen=True)
class BestListed:
    """The result of a search over a list of columns.

    - `x` (P,): the best solution, or `None` if no solution is better than the known one.
    - `value`: the value of the best solution.
    - `bound`: upper bound on the value of solutions over the list.
    - `finished`: whether the search ended without a limit.
    """

    x: IntArray | None
    value: float
    bound: float
    finished: bool


@dataclass(frozen=True)
class CountedSolution:
    """A solution `x` (P,) of the linear program, and upper bounds `reduced` (P,) on the reduced nets."""

    x: FloatArray
    reduced: FloatArray


Ends = tuple[FloatArray, FloatArray]
CountNode = Node[float, Ends, None, CountedSolution]
"""A node: minus its bound limits the value; its last decision is the fewest and most instances of each type."""


class CountBranching:
    """The search over a list of columns; `value` is the value of the best known solution."""

    def __init__(
        self, listed: Listed, value: float, options: Options, clock: Stopwatch, parameters: CountParameters
    ) -> None:
        self.listed, self.value = listed, value
        self.x: IntArray | None = None
        self.options, self.clock, self.parameters = options, clock, parameters
        columns = np.arange(len(listed.kind))
        self.types = np.unique(listed.kind)
        self.counting = sparse.csr_array(
            (np.ones(len(columns)), (np.searchsorted(self.types, listed.kind), columns)),
            shape=(len(self.types), len(columns)),
        )
        self.matrix = sparse.csc_array(listed.model.matrix)
        self.unit = coarse_unit(listed.model)
        self.nodes = 0
        self.lp = self._program()

    def _program(self) -> LinearProgram:
        """Build the linear program with a row for each type. Artificial columns keep it feasible at a cost."""
        model, types = self.listed.model, len(self.types)
        others = sparse.csr_array((types, self.matrix.shape[1] - self.counting.shape[1]))
        breaking = sparse.hstack([sparse.eye_array(types), -sparse.eye_array(types)])
        counted = LinearModel(
            cost=np.concatenate([np.asarray(model.cost), np.full(2 * types, -self.listed.dear)]) / self.unit,
            matrix=sparse.block_array(
                [[self.matrix, None], [sparse.hstack([self.counting, others]), breaking]], format="csc"
            ),
            row_lower=np.concatenate([np.asarray(model.row_lower), np.zeros(types)]),
            row_upper=np.concatenate([np.asarray(model.row_upper), np.full(types, np.inf)]),
            upper=np.concatenate([self._upper(), np.full(2 * types, np.inf)]),
            sense="maximize",
        )
        return LinearProgram(counted, Options(threads=self.options.threads), {"presolve": "choose"}, short=2 * types)

    def _upper(self) -> FloatArray:
        return np.array(np.broadcast_to(np.asarray(self.listed.model.upper, dtype=float), (self.matrix.shape[1],)))

    def search(self) -> BestListed:
        """Raise the value and lower the bound until both meet, or the nodes are used up."""
        types = len(self.types)
        root: CountNode = Node(-math.inf, ((np.zeros(types), np.full(types, np.inf)),))
        tree = Tree(self, root, eager=False)
        most = min(self.parameters.nodes, self.options.effort or self.parameters.nodes)

        def limit() -> Termination | None:
            return "effort_limit" if self.nodes >= most else "time_limit" if self.clock.has_expired else None

        with suppress(SolveFailed):
            tree.run(limit)
        bound = self.value if tree.bound is None else max(-tree.bound, self.value)
        return BestListed(self.x, self.value, bound, tree.done)

    @property
    def enough(self) -> float:
        """Return the smallest bound at which a node needs no more work."""
        return -self._cutoff()

    def bound(self, node: CountNode) -> None:
        """See `BranchingProblem`."""
        self.nodes += 1
        low, high = node.decisions[-1]
        x, duals, by_kind = self._relax(low, high)
        reduced = self.listed.reduced(duals) - self.counting.T @ by_kind
        noise = self.listed.noise(duals) + ROUNDING * float(np.abs(by_kind).max(initial=0.0))
        bound = self.listed.bound(duals, float(reduced.max(initial=0.0)) + noise)
        node.bound = max(-math.nextafter(bound + _price_counts(by_kind, low, high), math.inf), node.bound)
        node.state = CountedSolution(x, reduced + noise) if node.bound < self.enough else None

    def branch(self, node: CountNode) -> Sequence[CountNode]:
        """See `BranchingProblem`: branch on the most fractional number of instances; without one, solve the node."""
        found, node.state = node.state, None
        assert found is not None
        low, high = node.decisions[-1]
        counts = self.counting @ found.x
        apart = np.abs(counts - np.rint(counts))
        apart[(counts < low) | (counts > high)] = 0.0  # no branching on a row that the solution violates
        if apart.max() <= WHOLE:
            node.bound = -self._leaf(found.x, found.reduced, -node.bound, low, high)
            return []
        t = int(apart.argmax())
        lower, higher = high.copy(), low.copy()
        lower[t], higher[t] = math.floor(counts[t]), math.ceil(counts[t])
        return [node.child((low, lower)), node.child((higher, high))]

    def _cutoff(self) -> float:
        """Return the value that a solution must exceed to be of interest."""
        return self.value + self.options.gap * abs(self.value - self.listed.offset)

    def _relax(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve the linear program with `low` to `high` instances of each type; return the solution and its duals."""
        rows = self.matrix.shape[0]
        for t, ends in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            self.lp.bound_row(rows + t, *ends)
        found = self.lp.solve(self.clock.remaining_s)
        dual = found.duals * self.unit
        by_kind = dual[rows:]
        by_kind = np.where(np.isinf(high), np.minimum(by_kind, 0.0), by_kind)
        return found.x[: len(self.listed.net)], dual[:rows], by_kind

    def _leaf(self, x: FloatArray, reduced: FloatArray, bound: float, low: FloatArray, high: FloatArray) -> float:
        """Solve a node with integral numbers of instances over the columns that can matter; return its bound.

        - `x` (P,): the solution of the linear program.
        - `reduced` (P,): upper bounds on the reduced nets.
        - `bound`: the bound of the linear program.
        - `low`, `high`: fewest and most instances of each type.
        """
        whole = np.rint(x)
        if np.abs(x - whole).max(initial=0.0) < WHOLE:
            self._offer(whole)
            if bound <= self._cutoff():
                return bound
        kept = np.flatnonzero(reduced >= self.value - bound)
        if len(kept) > self.parameters.probed:
            few = np.argsort(-reduced, kind="stable")[: self.parameters.first_list]
            self._integer(few, low, high, self.parameters.probe_nodes)
            kept = np.flatnonzero(reduced >= self.value - bound)
        return self._integer(kept, low, high, None, bound)

    def _integer(
        self, kept: IntArray, low: FloatArray, high: FloatArray, nodes: int | None, bound: float = math.inf
    ) -> float:
        """Solve the integer program over columns `kept`, with `low` to `high` of each type; return its bound."""
        model, columns = self.listed.model, len(self.listed.net)
        every = np.concatenate([kept, np.arange(columns, self.matrix.shape[1])])
        others = sparse.csr_array((len(self.types), len(every) - len(kept)))
        counting = sparse.hstack([self.counting[:, kept], others])
        limit = None if self.options.time_limit is None else max(LEAST_S, self.clock.remaining_s)
        counted = abs(self.value)
        share = min(1.0, abs(self.value - self.listed.offset) / counted) if counted else 1.0
        fine = FineUnits.of(
            LinearModel(
                cost=np.asarray(model.cost)[every],
                matrix=sparse.vstack([self.matrix[:, every], counting]),
                row_lower=np.concatenate([np.asarray(model.row_lower), low]),
                row_upper=np.concatenate([np.asarray(model.row_upper), high]),
                upper=self._upper()[every],
                integer=np.arange(len(every)) < len(kept),
                sense="maximize",
            )
        )
        solved = solve_arrays(
            fine.model,
            replace(self.options, time_limit=limit),
            extra={"mip_rel_gap": self.options.gap * share} | ({} if nodes is None else {"mip_max_nodes": nodes}),
        )
        if solved.x is not None:
            x = np.zeros(columns)
            x[kept] = np.rint(solved.x[: len(kept)])
            self._offer(x)
        if solved.termination == "infeasible":
            return self.value
        if solved.bound is None:
            return bound
        return real_bound(max(fine.proven(solved.bound), self.value), "maximize", trivial=bound)

    def _offer(self, x: FloatArray) -> None:
        copies = x.astype(np.int64)
        if (copies < 0).any():
            return
        value = self.listed.worth(copies)
        if value > self.value:
            self.x, self.value = copies, value


def _price_counts(by_kind: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the share of the duals `by_kind` in a bound, rounded up, for `low` to `high` instances of each type."""
    terms = (Fraction(d) * int(b if d < 0 else h) for d, b, h in zip(by_kind.tolist(), low, high, strict=True) if d)
    return math.nextafter(float(sum(terms, Fraction(0))), math.inf)
