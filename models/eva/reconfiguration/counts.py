"""The best solution over a list of columns: branch and bound over how many instances of each type are in use.

The linear program over columns mostly uses fractions of instances, and their prices are what its bound lacks. Once the
numbers of instances of each type are whole, little is left: an integer program over the few columns that still matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from models.bounds import real_bound
from models.eva.reconfiguration.columns import Columns, Duals, Master
from models.eva.reconfiguration.generation import dual_bound
from models.eva.reconfiguration.parameters import RoundParameters
from models.highs import LinearModel, reoptimize, solve_arrays, solver

LEAST_S = 0.05  # Seconds that an integer program has in any case.
WHOLE = 1e-6  # A number this close to a whole one is whole.
ROUNDING = 2.0**-40  # A sum of floats is off by less than this share of its terms; see `Pricer.noise`.


@dataclass(frozen=True)
class Best:
    """What is known of the solutions over a list of columns.

    - `x` (P,): the best that was found, `None` where none is better than what was known; `value`: its worth.
    - `bound`: no solution over the list is worth more. `finished`: the search was not cut short.
    """

    x: IntArray | None
    value: float
    bound: float
    finished: bool


class CountTree:
    """The search over a list of columns, worths before the moves of all tasks, as in the linear program.

    - `columns`: the list; `value`: the worth of the best solution known.
    - `noise`: more than all rounding in the reduced net of a column.
    """

    def __init__(
        self,
        master: Master,
        columns: Columns,
        value: float,
        noise: float,
        options: Options,
        clock: Stopwatch,
        parameters: RoundParameters,
    ) -> None:
        self.master, self.columns, self.parameters = master, columns, parameters
        self.options, self.clock, self.noise = options, clock, noise
        self.kind, self.net = master.kinds_and_nets(columns)
        self.types = [int(k) for k in np.unique(self.kind)]
        self.x: IntArray | None = None
        self.value = value
        self.model = master.model(columns, self.net, integer=False)
        self.counting = sparse.csr_array(
            (np.ones(len(self.kind)), (np.searchsorted(self.types, self.kind), np.arange(len(self.kind)))),
            shape=(len(self.types), len(self.kind)),
        )
        self._load()

    def _load(self) -> None:
        """The linear program, with a row for each type, which may be broken at a price: then it has a solution."""
        a, types = self.master.arrays, len(self.types)
        jobs = len(a.spread)
        dear = 2.0 * (a.scale * float(a.packing.price_alone) + a.moving_all + float(a.spread.sum()) + 1.0)
        own = sparse.csr_array(self.model.matrix)
        breaking = sparse.hstack([sparse.eye(types), -sparse.eye(types)])
        matrix = sparse.block_array(
            [
                [own, sparse.csr_array((own.shape[0], 2 * types))],
                [sparse.hstack([self.counting, sparse.csr_array((types, jobs))]), breaking],
            ]
        )
        rows = own.shape[0]
        self.rows = np.arange(rows, rows + types, dtype=np.int32)
        self.lp = solver(Options(threads=self.options.threads), {"parallel": "off"})
        self.lp.passModel(
            LinearModel(
                cost=np.concatenate([self.model.cost, np.full(2 * types, -dear)]),
                matrix=matrix,
                row_lower=np.concatenate([self.model.row_lower, np.zeros(types)]),
                row_upper=np.concatenate([self.model.row_upper, np.full(types, np.inf)]),
                upper=np.concatenate([self.model.upper, np.full(2 * types, np.inf)]),
                sense="maximize",
            ).lp()
        )

    def search(self) -> Best:
        """Raise the value and lower the bound until both meet, or the nodes are used up."""
        types = len(self.types)
        open_: list[tuple[float, int, FloatArray, FloatArray]] = [
            (-math.inf, 0, np.zeros(types), np.full(types, np.inf))
        ]
        closed, nodes = -math.inf, 0
        most = min(self.parameters.count_nodes, self.options.effort or self.parameters.count_nodes)
        while open_ and nodes < most and not self.clock.expired:
            above, _, low, high = heappop(open_)
            if -above <= self._cutoff():
                closed = max(closed, -above)
                continue
            nodes += 1
            x, duals, by_kind = self._relaxed(low, high)
            reduced = self._reduced(duals, by_kind)
            bound = self._bound(duals, by_kind, low, high, float(reduced.max(initial=0.0)))
            bound = min(bound, -above)
            counts = self.counting @ x
            apart = np.abs(counts - np.rint(counts))
            if bound <= self._cutoff():
                closed = max(closed, bound)
            elif apart.max() > WHOLE:
                t = int(apart.argmax())
                lower, higher = high.copy(), low.copy()
                lower[t], higher[t] = math.floor(counts[t]), math.ceil(counts[t])
                heappush(open_, (-bound, 2 * nodes, low, lower))
                heappush(open_, (-bound, 2 * nodes + 1, higher, high))
            else:
                closed = max(closed, self._leaf(x, reduced, bound, low, high))
        left = max((-node[0] for node in open_), default=-math.inf)
        return Best(self.x, self.value, max(closed, left, self.value), left <= self._cutoff())

    def _cutoff(self) -> float:
        """Nothing of a worth up to this is looked for."""
        worth = self.value - self.master.arrays.moving_all
        return self.value + self.options.gap * abs(worth)

    def _relaxed(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, Duals, FloatArray]:
        """The solution of the linear program with so many instances of each type, and its duals."""
        self.lp.changeRowsBounds(len(self.rows), self.rows, low, high)
        reoptimize(self.lp)
        solution = self.lp.getSolution()
        dual = np.array(solution.row_dual)
        by_kind = dual[self.rows]
        by_kind = np.where(np.isinf(high), np.minimum(by_kind, 0.0), by_kind)
        return np.array(solution.col_value)[: len(self.net)], self.master.duals(dual[: self.rows[0]]), by_kind

    def _reduced(self, duals: Duals, by_kind: FloatArray) -> FloatArray:
        """The reduced nets (P,) of the columns."""
        own = np.append(duals.group, 0.0)[self.columns.group]
        rest = self.net - self.columns.on_it @ duals.task - own + duals.spread @ self.master.kept(self.columns)
        return np.asarray(rest - self.counting.T @ by_kind)

    def _bound(self, duals: Duals, by_kind: FloatArray, low: FloatArray, high: FloatArray, reduced: float) -> float:
        """The bound of the duals: that of the linear program, and what the numbers of instances add."""
        added = sum(
            (Fraction(d) * int(b if d < 0 else h) for d, b, h in zip(by_kind.tolist(), low, high, strict=True) if d),
            Fraction(0),
        )
        noise = self.noise + ROUNDING * float(np.abs(by_kind).max(initial=0.0))
        return math.nextafter(dual_bound(self.master, duals, reduced + noise) + float(added), math.inf)

    def _leaf(self, x: FloatArray, reduced: FloatArray, bound: float, low: FloatArray, high: FloatArray) -> float:
        """Solve over the columns that still matter where the numbers of instances are whole; a bound on it."""
        whole = np.rint(x)
        if np.abs(x - whole).max(initial=0.0) < WHOLE:
            self._offer(whole)
            if bound <= self._cutoff():
                return bound
        kept = np.flatnonzero(reduced >= self.value - bound - self.noise)
        if len(kept) > self.parameters.probed:
            few = np.argsort(-reduced, kind="stable")[: self.parameters.first_list]
            self._integer(few, low, high, self.parameters.probe_nodes)
            kept = np.flatnonzero(reduced >= self.value - bound - self.noise)
        return self._integer(kept, low, high, None, bound)

    def _integer(
        self, kept: IntArray, low: FloatArray, high: FloatArray, nodes: int | None, bound: float = math.inf
    ) -> float:
        """The integer program over some columns, with so many instances of each type; its bound."""
        jobs = len(self.master.arrays.spread)
        every = np.concatenate([kept, len(self.net) + np.arange(jobs)])
        matrix = sparse.csc_array(self.model.matrix)[:, every]
        counting = sparse.hstack([self.counting[:, kept], sparse.csr_array((len(self.types), jobs))])
        limit = None if self.options.time_limit is None else max(LEAST_S, self.clock.remaining_s)
        counted = abs(self.value)
        share = min(1.0, abs(self.value - self.master.arrays.moving_all) / counted) if counted else 1.0
        solved = solve_arrays(
            LinearModel(
                cost=np.asarray(self.model.cost)[every],
                matrix=sparse.vstack([matrix, counting]),
                row_lower=np.concatenate([np.asarray(self.model.row_lower), low]),
                row_upper=np.concatenate([np.asarray(self.model.row_upper), high]),
                upper=np.asarray(self.model.upper)[every],
                integer=np.arange(len(every)) < len(kept),
                sense="maximize",
            ),
            replace(self.options, time_limit=limit),
            extra={"mip_rel_gap": self.options.gap * share} | ({} if nodes is None else {"mip_max_nodes": nodes}),
        )
        if solved.x is not None:
            x = np.zeros(len(self.net))
            x[kept] = np.rint(solved.x[: len(kept)])
            self._offer(x)
        if solved.termination == "infeasible":
            return self.value
        if solved.bound is None:
            return bound
        return real_bound(max(solved.bound, self.value), "maximize", trivial=bound)

    def _offer(self, x: FloatArray) -> None:
        copies = x.astype(np.int64)
        if (copies < 0).any():
            return
        used = np.flatnonzero(copies)
        value = float(self.net[used] @ copies[used]) - self.master.moves(self.columns.chosen(used), copies[used])
        if value > self.value:
            self.x, self.value = copies, value
