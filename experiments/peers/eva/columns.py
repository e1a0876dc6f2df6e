"""Eva's packing by column generation in HiGHS, then an integer program over the columns that there are by then."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import numpy as np

from experiments.peers.eva.patterns import Pattern, covering, refuse_other_packings
from instances import Answer, Options, Report, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva import EvaPacking, PackingArrays, packing_arrays
from instances.method import method
from models.core.highs import LinearModel, Solved, solve_arrays
from models.core.safe_bounds import real_bound

FOR_COLUMNS = 0.75  # of the time limit, the rest being for the integer program
OVER_COLUMNS = "an integer program over the columns found"
CLOSED = 1e-6  # relative: the linear program and its bound are one


def build_pricing(arrays: PackingArrays, kind: int, dual: FloatArray) -> LinearModel:
    """maximise Σ_i π_i a_i where Σ_i d_ir a_i <= q_r for each resource r of the type, a_i <= n_i whole."""
    holds = arrays.fits[kind]
    return LinearModel(
        cost=dual,
        matrix=arrays.demand_of_type[kind].T.astype(float),
        row_lower=-np.inf,
        row_upper=arrays.capacity[kind].astype(float),
        upper=np.where(holds, arrays.count, 0).astype(float),
        integer=True,
        sense="maximize",
    )


class _Columns:
    """The columns of the restricted master, at first each class alone on its cheapest type."""

    def __init__(self, arrays: PackingArrays, options: Options) -> None:
        self.arrays, self.options = arrays, options
        self.patterns: list[Pattern] = []
        self.kinds: list[int] = []
        self.known: set[tuple[int, Pattern]] = set()
        self.bound = 0.0
        for c, kind in enumerate(arrays.cheapest_type.tolist()):
            needs, room = arrays.demand_of_type[kind, c], arrays.capacity[kind]
            most = min([int(arrays.count[c]), *(int(q // d) for q, d in zip(room, needs, strict=True) if d)])
            self._add(kind, tuple(most if i == c else 0 for i in range(arrays.classes)))

    def _add(self, kind: int, pattern: Pattern) -> bool:
        new = (kind, pattern) not in self.known
        if new:
            self.known.add((kind, pattern))
            self.patterns.append(pattern)
            self.kinds.append(kind)
        return new

    def _solved(self, model: LinearModel, seconds: float) -> Solved:
        limit = None if self.options.time_limit is None else max(1e-3, seconds)
        return solve_arrays(model, replace(self.options, time_limit=limit, gap=0.0))

    def generate(self, seconds: float) -> None:
        """Price columns until no type has any or the time is gone: greedily, and exactly where that finds none.

        Exact pricing goes from type to type, from where the last column was found. Σ_i π_i n_i over the most that any
        type's content is worth of its price is a bound (Farley, 1990).
        """
        until, kinds = Stopwatch(seconds), len(self.arrays.price)
        turn, worth = 0, list[float]()
        master = self._master(until)
        while master.duals is not None and len(worth) < kinds and not until.expired:
            new = sum(self._pays(kind, self._greedy(kind, master.duals), master.duals) for kind in range(kinds))
            if not new:
                kind, turn = turn % kinds, turn + 1
                priced = self._solved(build_pricing(self.arrays, kind, master.duals), until.remaining_s)
                worth.append(self._worth(priced, kind))
                new = priced.x is not None and self._pays(kind, np.rint(priced.x).astype(np.int64), master.duals)
            if new:
                again = self._master(until)
                if again.duals is None:  # out of time: the last one that was solved has a bound
                    break
                master, worth = again, []
        if master.duals is not None and master.objective is not None:
            if len(worth) < kinds:  # the linear programs of the contents have bounds, too
                relaxed = (replace(build_pricing(self.arrays, k, master.duals), integer=False) for k in range(kinds))
                worth = [self._worth(self._solved(one, seconds), k) for k, one in enumerate(relaxed)]
            self.bound = real_bound(master.objective / max(1.0, *worth))

    def _greedy(self, kind: int, dual: FloatArray) -> IntArray:
        """A content of a type: those first that are worth most for what they take of it."""
        needs, free = self.arrays.demand_of_type[kind], self.arrays.capacity[kind].copy()
        held = np.zeros(self.arrays.classes, dtype=np.int64)
        size = (needs / np.maximum(free, 1)).sum(axis=1)
        for c in np.argsort(-dual / np.maximum(size, 1e-12), kind="stable"):
            if self.arrays.fits[kind, c] and dual[c] > 0:
                fitting = [int(f // d) for f, d in zip(free, needs[c], strict=True) if d]
                held[c] = min([int(self.arrays.count[c]), *fitting])
                free -= held[c] * needs[c]
        return held

    def _pays(self, kind: int, held: IntArray, dual: FloatArray) -> bool:
        """Whether a content is worth more than its price, and a new column."""
        return float(held @ dual) > self.arrays.price[kind] * (1 + CLOSED) and self._add(kind, tuple(held.tolist()))

    def _worth(self, priced: Solved, kind: int) -> float:
        """The most that a content of a type is worth of its price."""
        most = np.inf if priced.bound is None else real_bound(priced.bound, "maximize")
        return float(most / self.arrays.price[kind])

    def _master(self, until: Stopwatch) -> Solved:
        """The linear program over the columns."""
        model, _ = covering(self.arrays, self.patterns, self.kinds)
        return self._solved(replace(model, integer=False), until.remaining_s)


@method("exact")
def columns(data: EvaPacking, options: Options, report: Report) -> Answer:
    """The packing by column generation."""
    refuse_other_packings(data)
    with Stopwatch(options.time_limit) as clock:
        arrays = packing_arrays(data)
        made = _Columns(arrays, options)
        made.generate(FOR_COLUMNS * clock.remaining_s)
        bound = arrays.usd(1) * made.bound
        report(None, bound)
        model, read = covering(arrays, made.patterns, made.kinds)
        limit = None if options.time_limit is None else max(1e-3, clock.remaining_s)
        solved = solve_arrays(
            model,
            replace(options, time_limit=limit),
            watch=lambda x, _: report(None if x is None else read(x), None),
        )
    return Answer(
        solution=None if solved.x is None else read(solved.x),
        bound=bound,
        termination=solved.termination,
        reason=solved.reason or OVER_COLUMNS,
        build_s=0.0,
        solve_s=clock.cpu_s,
        info={"columns": len(made.patterns), "solver": f"HiGHS {version('highspy')}"},
    )
