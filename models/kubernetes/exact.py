"""Placement of pods on the existing nodes with the minimum number of moves, or a proof that no placement exists.

The stages are those of docs/node-placement.md. Each one runs only if the earlier ones leave the question open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.kubernetes import NodePlacement, PlacementArrays
from instances.method import method
from instances.proofs.certificate import NoCertificate
from instances.proofs.kubernetes.certificate import PlacedPods
from models.core.column_generation import Relaxed
from models.core.fixed_bins import FixedBins, PartialPacking
from models.core.highs import MAX_NODES, OutOfTime, SolveFailed
from models.core.incumbent import Incumbent
from models.core.outcome import ending
from models.core.safe_bounds import whole_bound
from models.kubernetes.certificate import find_surrogate_weights, round_duals
from models.kubernetes.moves import MovesProgram
from models.kubernetes.node_patterns import TOLERANCE, NodePatterns

EJECTIONS = 20_000  # ejection moves per packing: most packings that can be repaired need fewer
MAX_EJECTION_WORK = 500_000_000  # pairs of a node and a class per packing: fewer ejection moves on large clusters
DIVES = 10  # later dives rarely improve the placement
PARTIAL_TREE_NODES = 200  # tree nodes of a partial integer program: the next one includes more cluster nodes
GROWTH, MAX_PARTIAL = 2, 60  # factor between the cluster nodes of partial programs, and their largest number
BY_TOTALS, BY_PATTERNS, BY_PROGRAM = "totals", "contents", "HiGHS"  # values of info["bound_by"]
INFEASIBLE = {
    BY_TOTALS: "the pods need more of a weighted sum of resources than all nodes provide",
    BY_PATTERNS: "the linear program over node patterns cannot cover all pods",
    BY_PROGRAM: "HiGHS proves that the nodes cannot hold all pods",
}
OVERFULL = "a node exceeds its capacity, and its pods are not movable"


@method("exact")
def exact(data: NodePlacement, options: Options, report: Report) -> Answer:
    """Minimise the number of moves and prove the optimum, or prove that no placement exists.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    """
    with Stopwatch(options.time_limit) as clock:
        answer = _PlacementSearch(data, options, report, clock).solve() if data.pods else Answer({"nodes": {}}, 0.0)
    return replace(answer, build_s=0.0, solve_s=clock.cpu_s)


class _PlacementSearch:
    """The incumbent and the bound of one instance."""

    failure: str | None = None  # the reason why HiGHS failed

    def __init__(self, data: NodePlacement, options: Options, report: Report, clock: Stopwatch) -> None:
        self.options, self.clock = options, clock
        self.arrays = arrays = PlacementArrays.of(data)
        self.proof = PlacedPods(data)
        self.nodes = FixedBins(arrays.room, np.zeros(len(arrays.room), dtype=np.int64), arrays.need[None], arrays.count)

        def report_incumbent(placed: IntArray | None, bound: int | None) -> None:
            report(None if placed is None else arrays.solution(placed), None if bound is None else float(bound))

        self.incumbent: Incumbent[IntArray, int] = Incumbent("minimize", clock, report_incumbent, options.gap, bound=0)
        self.bound_by = BY_PATTERNS

    def solve(self) -> Answer:
        """Run the stages until the placement is optimal, infeasibility is proven, or a limit is reached."""
        arrays = self.arrays
        if not arrays.data.movable and arrays.overfull.any() | (arrays.room < 0).any():
            return self._infeasible(BY_TOTALS, OVERFULL)

        in_place = self._pack_pending()
        if self._is_done:
            return self._answer()

        if find_surrogate_weights(arrays, replace(self.options, time_limit=self.clock.limit_left_s)) is not None:
            return self._infeasible(BY_TOTALS)

        packings = self._pack_all(in_place)
        if self._bound_by_patterns(packings):
            return self._infeasible(BY_PATTERNS)

        if not self._is_done and self._solve_program():
            return self._infeasible(BY_PROGRAM)
        return self._answer()

    @property
    def _is_done(self) -> bool:
        return self.incumbent.is_closed or self.clock.has_expired

    def _pack_pending(self) -> PartialPacking:
        """Pack the pending pods, and those of overfull nodes, into the residual capacity; keep all other pods."""
        arrays = self.arrays
        fixed = arrays.now * ~arrays.overfull[:, None]
        residual = replace(self.nodes, free=arrays.room - fixed @ arrays.need, count=arrays.count - fixed.sum(axis=0))
        packed = self._repair(residual, residual.pack_by_dot_product())
        packed = replace(packed, placed=fixed + packed.placed)
        if packed.complete:
            self._offer(packed.placed)
        return packed

    def _pack_all(self, in_place: PartialPacking) -> list[PartialPacking]:
        """Pack all pods, first from the packing `in_place`, then from empty nodes; return the packings."""
        packings = [self._repair(self.nodes, in_place)]
        if not (packings[0].complete or self._is_done):
            packings.append(self._repair(self.nodes, self.nodes.pack_by_dot_product()))
        for packed in packings:
            if packed.complete:
                self._offer(packed.placed)
        return packings

    def _repair(self, nodes: FixedBins, packed: PartialPacking) -> PartialPacking:
        """Place unassigned pods by ejection moves."""
        if packed.complete:
            return packed
        return nodes.repair_by_ejection(
            packed, min(EJECTIONS, MAX_EJECTION_WORK // packed.placed.size), self.options.seed
        )

    def _offer(self, placed: IntArray) -> None:
        self.incumbent.offer(self.arrays.moves(placed), placed)

    def _bound_by_patterns(self, packings: Sequence[PartialPacking]) -> bool:
        """Bound the moves by node patterns and search near the optimum; return whether no placement exists."""
        try:
            patterns = NodePatterns(self.arrays, self.options, self.clock)
            for packed in packings:
                patterns.add(np.arange(len(self.arrays.now)), packed.placed)
            try:
                if self.incumbent.solution is None and patterns.generate(until_covered=True).short <= TOLERANCE:
                    self._dive(patterns)  # before the bound: any placement is worth more than a good bound
                relaxed = patterns.generate()
            except OutOfTime:
                if patterns.bound > (self.incumbent.bound or 0):
                    self._prove_bound(patterns, None)
                raise
            if self._prove_bound(patterns, relaxed):
                return True
            if relaxed.short <= TOLERANCE:
                if self.incumbent.solution is not None:
                    self._dive(patterns)
                self._solve_partial_programs(patterns, relaxed.x)
        except OutOfTime:
            pass
        except SolveFailed as error:
            self.failure = str(error)
        return False

    def _prove_bound(self, patterns: NodePatterns, relaxed: Relaxed | None) -> bool:
        """Raise the bound in integer arithmetic; return whether the duals prove that no placement exists.

        The duals of the best bound come first. If a pattern search ended at its limit, the last duals may prove more.
        """
        for duals in (patterns.duals, *([] if relaxed is None else [relaxed.cover])):
            with suppress(NoCertificate):
                bound = self.proof.bound(round_duals(self.proof, self.arrays, duals))
                if bound is None:
                    return True
                self.incumbent.raise_bound(bound)
                if relaxed is not None and bound >= relaxed.value - TOLERANCE:
                    break
        return False

    def _dive(self, patterns: NodePatterns) -> None:
        """Dive from the linear program several times; stop at the first placement if there was none before."""
        draw = np.random.default_rng(self.options.seed)
        had_none = self.incumbent.solution is None
        for _ in range(DIVES):
            best = self.incumbent.objective
            if self._is_done or (had_none and best is not None):
                return
            placed = patterns.dive(math.inf if best is None else best - 1, draw)
            if placed is not None:
                placed = self._remove_surplus(placed)
                if (placed.sum(axis=0) == self.arrays.count).all():
                    self._offer(placed)

    def _solve_partial_programs(self, patterns: NodePatterns, x: FloatArray) -> None:
        """Solve integer programs over the nodes that are fractional in `x` (P,), then over more and more nodes."""
        m = len(self.arrays.now)
        share, chosen = np.zeros(m), np.zeros_like(self.arrays.now)
        for p in np.argsort(x, kind="stable"):
            share[patterns.node[p]], chosen[patterns.node[p]] = x[p], patterns.pattern[p]
        is_integral = share > 1 - TOLERANCE
        order = np.lexsort((np.random.default_rng(self.options.seed).random(m), is_integral))
        size = max(1, int((~is_integral).sum()))
        while not self._is_done:
            self._solve_partial_program(chosen, np.sort(order[:size]))
            if size >= min(m, MAX_PARTIAL):
                break
            size = min(m, MAX_PARTIAL, GROWTH * size)

    def _solve_partial_program(self, chosen: IntArray, nodes: IntArray) -> None:
        """Solve the integer program over some `nodes`; the other nodes hold their `chosen` patterns."""
        arrays, placed = self.arrays, chosen.copy()
        placed[nodes] = 0
        placed = self._remove_surplus(placed)
        program = MovesProgram(arrays.now[nodes], arrays.room[nodes], arrays.need, arrays.count - placed.sum(axis=0))
        solved = program.solve(self.options, self.clock.remaining_s, PARTIAL_TREE_NODES)
        partial = None if solved.x is None else program.read(solved.x)
        if partial is not None:
            placed[nodes] = partial
            self._offer(placed)

    def _remove_surplus(self, placed: IntArray) -> IntArray:
        """Remove pods that the nodes hold twice; remove pods that would move there before pods in place."""
        surplus = np.maximum(0, placed.sum(axis=0) - self.arrays.count)
        for required in (np.minimum(placed, self.arrays.now), np.zeros_like(placed)):
            removable = placed - required
            earlier = np.cumsum(removable, axis=0) - removable  # pods of the class that are removed from earlier nodes
            removed = np.clip(surplus - earlier, 0, removable)
            placed, surplus = placed - removed, surplus - removed.sum(axis=0)
        return placed

    def _solve_program(self) -> bool:
        """Solve the integer program over all nodes; return whether HiGHS proves that no placement exists."""
        program = MovesProgram(self.arrays.now, self.arrays.room, self.arrays.need, self.arrays.count)

        def watch(x: FloatArray | None, bound: float | None) -> None:
            placed = None if x is None else program.read(x)
            if placed is not None:
                self._offer(placed)
            if bound is not None and self.incumbent.raise_bound(max(0, whole_bound(bound))):
                self.bound_by = BY_PROGRAM

        tree_nodes = MAX_NODES if self.options.effort is None else self.options.effort
        solved = program.solve(self.options, self.clock.remaining_s, tree_nodes, self.incumbent.solution, watch)
        watch(solved.x, solved.bound)
        if solved.termination == "error":
            self.failure = solved.reason
        return solved.termination == "infeasible"

    def _infeasible(self, by: str, reason: str | None = None) -> Answer:
        return Answer(None, termination="infeasible", reason=reason or INFEASIBLE[by], info={"bound_by": by})

    def _answer(self) -> Answer:
        best = self.incumbent
        remaining = "HiGHS has no open tree nodes"
        termination, reason = ending(best.is_closed, self.failure, self.clock.has_expired, self.options, remaining)
        return Answer(
            solution=None if best.solution is None else self.arrays.solution(best.solution),
            bound=float(best.bound or 0),
            termination=termination,
            reason=reason,
            trace=[(t, None if z is None else float(z), float(b or 0)) for t, z, b in best.trace],
            info={"bound_by": self.bound_by},
        )
