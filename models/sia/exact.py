"""The fast exact method: presolve, and for each part all orders of its jobs, or a relaxation with branch and bound.

1. A good schedule (`search`), and the parts into which the problem falls (`presolve`).
2. Of a part with few jobs or little delay, all orders in which the jobs can start (`orders`).
3. Else the bound of the linear relaxation with cuts (`relaxation`, `cuts`). Starts whose reduced cost exceeds the
   distance between schedule and bound are excluded, and better schedules sought in the order of starts drawn from the
   relaxation (`turns`), and on heavy workloads near the best ones (`EliteSearch`).
4. A tree over the starts of jobs, with rows, columns and cuts generated at every node (`start_tree`, `branching`).
   Where rows are coarser than the problem, a schedule that keeps them and is too wide gets rows of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import IntArray
from instances.method import method
from instances.result import Termination
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays, narrowed, oracle_arrays, solution_of
from models.sia.bounds import initial_solution, trivial_bound
from models.sia.branching import branch
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.presolve import alone, presolved
from models.sia.proof import BestSchedule, OracleProof
from models.sia.search import construct
from models.sia.time_indexed import solve_time_indexed
from models.sia.turns import CuttingTurns


@method("exact")
def exact(
    data: SiaOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: OracleParameters = DEFAULTS,
) -> Answer:
    """The schedule of least delay that keeps every cut-off, or the best one found, with a valid bound.

    Without a limit of time or effort the method ends with a proof; with one of effort alone the answer depends on no
    clock. The schedule without sharing is at hand wherever it keeps the cut-offs, and is reported before anything is
    built. With fairness in the objective, or where no schedule is at hand, the model of all starts that prices do not
    exclude is given to HiGHS as a whole (`time_indexed`). Of windows of too many starts no model is built: the answer
    is a good schedule, with a reason. Raises InputError for a `start` that breaks a constraint.

    Parameters:

    - `data`: the problem.
    - `options`: limits, gap, threads and seed.
    - `report`: given each better solution and bound.
    - `start`: a feasible solution to improve on.
    - `parameters`: constants of the method.
    """
    clock = Stopwatch(options.time_limit)
    found = initial_solution(data, start)
    report(found, trivial_bound(data))
    arrays = oracle_arrays(data)
    reserved = _reservations(arrays)
    best = reserved if found is None else arrays.starts_of(data, found)
    if data.fairness_weight or best is None:
        return solve_time_indexed(data, options, report, start, parameters)
    if arrays.starts > parameters.many_starts and reserved is not None and arrays.horizon <= parameters.most_steps:
        arrays, best = _narrow(arrays, reserved, best, clock)
        reserved = _reservations(arrays)
        report(solution_of(data, arrays, best), 0.0)
    if arrays.starts > parameters.most_starts:
        return solve_time_indexed(data, options, report, solution_of(data, arrays, best), parameters)
    best = min(best, construct(arrays, best if reserved is None else reserved, clock), key=arrays.delay)
    slot = arrays.slot

    def reported(starts: IntArray | None, bound: int | None) -> None:
        report(None if starts is None else solution_of(data, arrays, starts), float((bound or 0) * slot))

    proof = PartedProof(arrays, options, reported, clock, best, parameters)
    build_s = clock.cpu_s
    termination = proof.run()
    return Answer(
        solution=solution_of(data, arrays, proof.best),
        bound=float(proof.bound * slot),
        termination=termination,
        build_s=build_s,
        solve_s=clock.cpu_s - build_s,
        trace=tuple(
            (t, float((v or 0) * arrays.slot), float((b or 0) * arrays.slot)) for t, v, b in proof.incumbent.trace
        ),
        info=proof.info,
    )


class PartedProof(BestSchedule):
    """The proof of the whole problem by proofs of its parts (`presolve`), whose `bounds` add up, in steps.

    `info` adds up what the proofs of the parts say of themselves.
    """

    bounds: IntArray
    _limit: Termination = "finished"

    def run(self) -> Termination:
        """Prove parts by all orders of few jobs, small ones by themselves, and all that is left together."""
        arrays, part, best = presolved(self.arrays, self.best)
        self.offer(best)
        p, effort = self.parameters, self.options.effort
        brief = replace(self.options, effort=p.part_effort if effort is None else min(p.part_effort, effort))
        sizes = np.bincount(part + 1, arrays.cutoff - arrays.submit)[1:]
        self.bounds = np.zeros(len(sizes), dtype=np.int64)
        left = [name for name in np.argsort(sizes, kind="stable").tolist() if not self._enumerated(arrays, part, name)]
        if len(left) > 1:
            left = [k for k in left if sizes[k] > p.part_starts or not self._proven(arrays, part, [k], brief)]
        if left and not self.closed:
            self._proven(arrays, part, left, self.options)
        return "finished" if self.closed else self._limit

    def _enumerated(self, arrays: OracleArrays, part: IntArray, name: int) -> bool:
        """Whether the schedule of a part is proven by all orders of its jobs."""
        p, chosen = self.parameters, np.flatnonzero(part == name)
        if len(chosen) > p.order_jobs or self.clock.expired:
            return False
        from models.sia.orders import best_order  # compiled at first use, which takes seconds

        found, proven = best_order(arrays, chosen, self.best, p.order_looks)
        self._offer(chosen, found)
        if proven:
            self.bounds[name] = (found - arrays.submit[chosen]).sum()
            self.raise_bound(int(self.bounds.sum()))
        return proven

    def _offer(self, chosen: IntArray, starts: IntArray) -> None:
        """Take `starts` (N,) of the `chosen` jobs (N,) if no other schedule was as good."""
        found = self.best.copy()
        found[chosen] = starts
        self.offer(found)

    def _proven(self, arrays: OracleArrays, part: IntArray, names: list[int], options: Options) -> bool:
        """Whether the schedule of some parts is proven, together, within the effort of `options`."""
        inside = np.isin(part, names)
        chosen, others = np.flatnonzero(inside), int(self.bounds.sum() - self.bounds[names].sum())
        own, first = alone(arrays, chosen, self.best)

        def reported(starts: IntArray | None, bound: int | None) -> None:
            if starts is not None:
                self._offer(chosen, starts[: len(chosen)])
            self.raise_bound(others + (bound or 0))

        proof = OracleProof(own, options, reported, self.clock, first, self.parameters)
        proof.raise_bound(int(self.bounds[names].sum()))
        self._limit = _prove(proof)
        self.bounds[names[0]], self.bounds[names[1:]] = proof.bound, 0
        for key, value in proof.info.items():
            self.info[key] = self.info.get(key, 0) + value
        return proof.closed


def _prove(proof: OracleProof) -> Termination:
    """Turns of cuts and search, and the tree, until the gap is closed or at a limit."""
    turns = CuttingTurns(proof)
    if (limit := turns.run()) is not None or proof.closed:
        return limit or "finished"
    if not turns.relaxation.exclude(proof.delay):  # A job has no start left: no schedule is better.
        proof.raise_bound(proof.delay)
        return "finished"
    return branch(proof, turns.relaxation)


def _reservations(arrays: OracleArrays) -> IntArray | None:
    """Reservations of all jobs at the cut-offs, the longest that can be; `None` where not feasible."""
    return arrays.cutoff if arrays.feasible(arrays.cutoff) else None


def _narrow(
    arrays: OracleArrays, reserved: IntArray, best: IntArray, clock: Stopwatch
) -> tuple[OracleArrays, IntArray]:
    """The arrays with windows as long as all delays of a good schedule together, and the schedule in narrow windows."""
    found = min(best, construct(arrays, reserved, clock), key=arrays.delay)
    narrow = narrowed(arrays, arrays.delay(found))
    return narrow, narrow.submit + found - arrays.submit
