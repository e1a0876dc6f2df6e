"""Set partitioning over a long list of columns: sifting (Bixby et al., 1992), then the columns that can matter.

maximise net'x subject to columns'x = count, x whole.

The linear program is solved over few columns, to which those of positive reduced net are added until there is none
(sifting). Its value z and an incumbent u leave only columns of reduced net at least u - z for a better solution, so
the integer program over those proves the optimum over all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from models.bounds import real_bound
from models.core.linear_program import LinearProgram
from models.eva.parameters import DEFAULTS, ExactParameters
from models.fine_units import FineUnits, coarse_unit
from models.highs import LinearModel, OutOfTime, Solved, SolveFailed, Watch, solve_arrays

ROUNDING = 1e-9  # A column whose reduced net is below this share of the largest net need not enter the linear program.


@dataclass(frozen=True)
class Partition:
    """The set partitioning problem over P columns and N classes.

    `net` (P,), `columns` (P, N) tasks of each class, `count` (N,) tasks to hold, `alone` (N,) the columns of a single
    task. The nets of a solution, added up, are off by `noise` at most.
    """

    net: FloatArray
    columns: IntArray
    count: IntArray
    alone: IntArray
    noise: float = 0.0

    def value(self, x: FloatArray) -> float:
        """The net of a solution `x` (P,)."""
        return float(self.net @ x)

    def over(self, chosen: IntArray, *, integer: bool) -> LinearModel:
        """The model over the columns `chosen`."""
        return LinearModel(
            cost=self.net[chosen],
            matrix=self.columns[chosen].T,
            row_lower=self.count,
            row_upper=self.count,
            integer=integer,
            sense="maximize",
        )


def solve_partition(
    partition: Partition,
    start: FloatArray,
    options: Options,
    watch: Watch | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> Solved:
    """Solve the set partitioning to proven optimality, or as far as the limits allow.

    The solution (P,) and the bound are over all columns.

    - `partition`: the problem.
    - `start`: a solution (P,) to begin from.
    - `options`: limits, gap and threads.
    - `watch`: called with each new incumbent (P,) and each better bound.
    - `parameters`: the constants of the method.
    """
    with Stopwatch(options.time_limit) as clock:
        solved = _solve(partition, start, options, clock, watch, parameters)
    return replace(solved, solve_s=clock.cpu_s)


def _solve(
    partition: Partition,
    start: FloatArray,
    options: Options,
    clock: Stopwatch,
    watch: Watch | None,
    parameters: ExactParameters,
) -> Solved:
    incumbent = Solved("time_limit", start, partition.value(start), reason="time limit")
    relaxed = _sift(partition, options, clock, parameters.entering_columns)
    if relaxed is None:
        return incumbent
    ceiling, reduced, used = relaxed
    ceiling += partition.noise
    if watch is not None:
        watch(None, ceiling)
    if ceiling - _value(incumbent) <= options.gap * abs(_value(incumbent)):
        return replace(incumbent, termination="finished", reason=None, bound=ceiling)
    nearest = np.argsort(-reduced, kind="stable")[: parameters.first_columns]
    chosen = np.union1d(np.union1d(nearest, used), np.flatnonzero(start))
    solved = _integer(partition, chosen, options, clock, watch, incumbent)
    spread = ceiling - _value(solved) + ROUNDING * max(1.0, abs(ceiling))
    kept = np.union1d(np.flatnonzero(reduced >= -spread), np.union1d(partition.alone, np.flatnonzero(_values(solved))))
    if solved.termination == "finished" and not set(kept) <= set(chosen):
        solved = _integer(partition, kept, options, clock, watch, solved)
        chosen = kept
    bound = ceiling
    if solved.termination == "finished" and solved.bound is not None:
        bound = real_bound(max(solved.bound, _value(solved)) + partition.noise, "maximize", trivial=ceiling)
    return replace(solved, bound=bound, info={**solved.info, "columns": len(chosen), "lp_bound": ceiling})


def _sift(
    partition: Partition, options: Options, clock: Stopwatch, most_entering: int
) -> tuple[float, FloatArray, IntArray] | None:
    """Sifting (Bixby et al., 1992): a bound, reduced nets (P,) and the columns used; `None` where time runs out.

    The bound is the value of the linear program, or that of the last duals where effort runs out or HiGHS fails.
    """
    chosen = partition.alone
    unit = coarse_unit(replace(partition.over(chosen, integer=False), cost=partition.net))
    coarse = replace(partition, net=partition.net / unit)
    model = coarse.over(chosen, integer=False)
    program = LinearProgram(model, Options(threads=options.threads), {"presolve": "choose"})
    duals, failed = np.zeros(len(partition.count)), False
    scale = ROUNDING * max(1.0, float(np.abs(partition.net).max()))
    rounds = 0
    while not clock.expired:
        rounds += 1
        try:
            duals = program.solve(clock.remaining_s).duals * unit
        except OutOfTime:
            return None
        except SolveFailed:  # the duals before prove a bound, too
            failed = True
        reduced: FloatArray = partition.net - partition.columns @ duals
        # A column that is there and gains less than the solver's tolerance would come back for ever.
        entering = np.setdiff1d(np.flatnonzero(reduced > scale), chosen)
        if not len(entering) or failed or rounds == options.effort:
            # This bound holds for any duals: no column is used more often than the tasks of its classes allow.
            often = np.min(
                np.where(
                    partition.columns > 0, partition.count // np.maximum(partition.columns, 1), np.iinfo(np.int64).max
                ),
                axis=1,
            )
            return float(partition.count @ duals + np.maximum(reduced, 0.0) @ often), reduced, chosen
        entering = entering[np.argsort(-reduced[entering], kind="stable")[:most_entering]]
        chosen = np.concatenate([chosen, entering])
        entries = sparse.csc_array(partition.columns[entering].T)
        program.add(coarse.net[entering], entries.indptr[:-1], entries.indices, entries.data)
    return None


def _integer(
    partition: Partition, chosen: IntArray, options: Options, clock: Stopwatch, watch: Watch | None, start: Solved
) -> Solved:
    """Solve the integer program over `chosen`; the incumbent `start` stays if nothing better is found."""

    def expand(x: FloatArray) -> FloatArray:
        full = np.zeros(len(partition.net))
        full[chosen] = np.round(x)
        return full

    def heard(x: FloatArray | None, bound: float | None) -> None:
        if watch is not None and x is not None:
            watch(expand(x), None)

    left = None if options.time_limit is None else max(0.05, clock.remaining_s)
    assert start.x is not None
    fine = FineUnits.of(partition.over(chosen, integer=True))
    solved = solve_arrays(
        fine.model,
        replace(options, time_limit=left),
        start=start.x[chosen],
        watch=None if watch is None else heard,
    )
    solved = fine.told(solved)
    if solved.x is None or _value(solved) < _value(start):
        return replace(solved, x=start.x, objective=start.objective)
    return replace(solved, x=expand(solved.x))


def _values(solved: Solved) -> FloatArray:
    assert solved.x is not None
    return solved.x


def _value(solved: Solved) -> float:
    return -math.inf if solved.objective is None else solved.objective
