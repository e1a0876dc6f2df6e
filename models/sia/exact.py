"""The fast exact method for `sia-oracle`; docs/sia.md describes its stages.

1. A schedule by backfilling and advancing jobs (`search`).
2. Presolve: shorter windows, and independent components (`presolve`).
3. Components with few jobs: enumeration of the start sequences (`orders`).
4. Other components: the linear relaxation (`relaxation`) with cuts (`cuts`), closing of columns by reduced cost, and
   searches for schedules (`cutting_loop`), in rounds.
5. A tree over the starts of jobs (`start_tree`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import IntArray
from instances.method import method
from instances.result import Termination
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays, narrow_windows, oracle_arrays, solution_of
from models.sia.bounds import compute_trivial_bound, find_initial_solution
from models.sia.cutting_loop import CuttingLoop
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.presolve import isolate_jobs, presolve
from models.sia.proof import OracleProof
from models.sia.search import construct
from models.sia.start_tree import branch
from models.sia.time_indexed import solve_time_indexed


@method("exact")
def exact(
    data: SiaOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: OracleParameters = DEFAULTS,
) -> Answer:
    """Find a schedule of minimum delay within all cut-offs, with a proof of its optimality.

    If a limit ends the method, the answer is the best schedule found, with a valid bound. If only the effort is
    limited, the answer does not depend on the clock. HiGHS solves the complete time-indexed model (`time_indexed`) if
    fairness is part of the objective, or if no initial schedule is known. If the windows contain too many starts, the
    answer is a good schedule with a reason. Raises InputError if `start` violates a constraint.

    - `data`: the problem.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each better solution and bound.
    - `start`: a feasible solution to improve on.
    - `parameters`: parameters of the method.
    """
    clock = Stopwatch(options.time_limit)
    initial = find_initial_solution(data, start)
    report(initial, compute_trivial_bound(data))
    arrays = oracle_arrays(data)
    reserved = _reserve_cutoffs(arrays)
    best = reserved if initial is None else arrays.starts_of(data, initial)
    if data.fairness_weight or best is None:
        return solve_time_indexed(data, options, report, start, parameters)
    if arrays.starts > parameters.narrowing_starts and reserved is not None and arrays.horizon <= parameters.max_steps:
        # No job of a better schedule waits longer than all jobs of a good schedule together.
        good = min(best, construct(arrays, reserved, clock), key=arrays.delay)
        narrow = narrow_windows(arrays, arrays.delay(good))
        arrays, best = narrow, narrow.submit + good - arrays.submit
        reserved = _reserve_cutoffs(arrays)
        report(solution_of(data, arrays, best), 0.0)
    if arrays.starts > parameters.max_starts:
        return solve_time_indexed(data, options, report, solution_of(data, arrays, best), parameters)
    best = min(best, construct(arrays, best if reserved is None else reserved, clock), key=arrays.delay)
    slot = arrays.slot

    def report_steps(starts: IntArray | None, bound: int | None) -> None:
        report(None if starts is None else solution_of(data, arrays, starts), float((bound or 0) * slot))

    proof = ComponentProof(arrays, options, report_steps, clock, best, parameters)
    build_s = clock.cpu_s
    termination = proof.run()
    return Answer(
        solution=solution_of(data, arrays, proof.best),
        bound=float(proof.bound * slot),
        termination=termination,
        build_s=build_s,
        solve_s=clock.cpu_s - build_s,
        trace=tuple((t, float((v or 0) * slot), float((b or 0) * slot)) for t, v, b in proof.incumbent.trace),
        info=proof.info,
    )


def _reserve_cutoffs(arrays: OracleArrays) -> IntArray | None:
    """Return reservations of all jobs at their cut-offs, (J,); `None` if these exceed the capacity."""
    return arrays.cutoff if arrays.feasible(arrays.cutoff) else None


class ComponentProof(OracleProof):
    """The proof of the complete problem by proofs of its components, whose `bounds` in steps are added.

    `info` contains the sums over the proofs of the components.
    """

    bounds: IntArray
    _limit: Termination = "finished"

    def run(self) -> Termination:
        """Enumerate the orders of small components, prove medium ones separately, and the remaining ones together."""
        arrays, component, best = presolve(self.arrays, self.best)
        self.offer(best)
        p, effort = self.parameters, self.options.effort
        effort = p.component_effort if effort is None else min(p.component_effort, effort)
        brief = replace(self.options, effort=effort)
        sizes = np.bincount(component + 1, arrays.cutoff - arrays.submit)[1:]
        self.bounds = np.zeros(len(sizes), dtype=np.int64)
        by_size = np.argsort(sizes, kind="stable").tolist()
        open_ = [k for k in by_size if not self._enumerate_orders(arrays, component, k)]
        if len(open_) > 1:
            open_ = [
                k
                for k in open_
                if sizes[k] > p.component_starts or not self._prove_components(arrays, component, [k], brief)
            ]
        if open_ and not self.is_closed:
            self._prove_components(arrays, component, open_, self.options)
        return "finished" if self.is_closed else self._limit

    def _enumerate_orders(self, arrays: OracleArrays, component: IntArray, index: int) -> bool:
        """Search all start sequences of a component with few jobs, and return whether its schedule is proven."""
        p, chosen = self.parameters, np.flatnonzero(component == index)
        if len(chosen) > p.enumeration_jobs or self.clock.has_expired:
            return False
        from models.sia.orders import enumerate_orders  # compiled at first use, which takes seconds

        starts, is_proven = enumerate_orders(arrays, chosen, self.best, p.enumeration_limit)
        self._offer_starts(chosen, starts)
        if is_proven:
            self.bounds[index] = (starts - arrays.submit[chosen]).sum()
            self.raise_bound(int(self.bounds.sum()))
        return is_proven

    def _prove_components(
        self, arrays: OracleArrays, component: IntArray, indices: list[int], options: Options
    ) -> bool:
        """Prove some components together within the effort of `options`, and return whether the gap is closed."""
        chosen = np.flatnonzero(np.isin(component, indices))
        others = int(self.bounds.sum() - self.bounds[indices].sum())
        own, first = isolate_jobs(arrays, chosen, self.best)

        def report(starts: IntArray | None, bound: int | None) -> None:
            if starts is not None:
                self._offer_starts(chosen, starts[: len(chosen)])
            self.raise_bound(others + (bound or 0))

        proof = OracleProof(own, options, report, self.clock, first, self.parameters)
        proof.raise_bound(int(self.bounds[indices].sum()))
        self._limit = _prove(proof)
        self.bounds[indices[0]], self.bounds[indices[1:]] = proof.bound, 0
        for key, value in proof.info.items():
            self.info[key] = self.info.get(key, 0) + value
        return proof.is_closed

    def _offer_starts(self, chosen: IntArray, starts: IntArray) -> None:
        """Offer the best schedule with other `starts` (N,) of the `chosen` jobs (N,)."""
        schedule = self.best.copy()
        schedule[chosen] = starts
        self.offer(schedule)


def _prove(proof: OracleProof) -> Termination:
    """Run the rounds of cuts and search, then the tree, until the gap is closed or a limit is reached."""
    loop = CuttingLoop(proof)
    if (limit := loop.run()) is not None or proof.is_closed:
        return limit or "finished"
    if not loop.relaxation.close_columns(proof.delay):  # a job has no open start: no schedule is better
        proof.raise_bound(proof.delay)
        return "finished"
    return branch(proof, loop.relaxation)
