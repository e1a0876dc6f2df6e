"""Node consolidation at minimum cost with a limited number of evictions.

The stages are those of docs/node-consolidation.md. Each one runs only if the earlier ones leave the question open.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.kubernetes.arrays import ClusterArrays, New, cluster_arrays
from instances.kubernetes.node_consolidation import NodeConsolidation
from instances.method import method
from instances.proofs import NoCertificate
from instances.proofs.kubernetes.totals_program import TotalsProgram
from models.core.fixed_bins import FixedBins, PartialPacking
from models.core.highs import Solved, solve_arrays
from models.core.incumbent import Incumbent
from models.core.outcome import APART
from models.kubernetes.aggregated_model import AggregatedModel
from models.kubernetes.drain_sets import DrainSet, enumerate_drain_sets
from models.kubernetes.neighbourhood import Neighbourhood, NodeSet
from models.kubernetes.repacking_bound import solve_repacking

BY_TOTALS, BY_NODE, BY_PACKING = "totals", "totals and a room for each node", "packing"  # of info["bound_by"]
BY_SETS = "sets of drained nodes"
NO_PLAN = "the pods do not fit on the nodes that may be kept or rented within the limit of evictions"
NO_CAPACITY = "the nodes that may be kept or rented have less total capacity than the pods need"
REPACKING_SHARE = 0.5  # of the time for the repacking of all pods: the other stages need the rest
AGGREGATED_SHARE, NEIGHBOUR_SHARE = 0.4, 0.4  # of the remaining time: each leaves more than half to the later stages
EJECTIONS = 4_000  # ejection moves per packing: there are many packings
MAX_ENTRIES = 1_000_000  # variables of a program: HiGHS needs too much memory for more
MAX_PAIRS = 60_000  # pairs of a class and a node in the disaggregated program: HiGHS is too slow for more
MAX_NEIGHBOURS = 1_000  # node sets that are packed
MAX_DRAIN_SETS = 150  # drain sets that each have an integer program of their own


@method("exact", name="exact")
def exact_consolidation(
    data: NodeConsolidation, options: Options, report: Report, start: Solution | None = None
) -> Answer:
    """Minimise the cost of a cluster within the limit of evictions; return a plan and a lower bound.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution; the result never costs more.
    """
    with Stopwatch(options.time_limit) as clock:
        answer = _ConsolidationSearch(cluster_arrays(data), options, report, clock).solve(start)
    return replace(answer, build_s=0.0, solve_s=clock.cpu_s)


@dataclass(frozen=True)
class NodePlan:
    """The nodes that are `kept` (M,), the pods `placed` (M, N) on them in the end, and the `new` nodes."""

    kept: BoolArray
    placed: IntArray
    new: tuple[New, ...]


class _ConsolidationSearch:
    """The incumbent and the bound of one instance, in price units."""

    def __init__(self, arrays: ClusterArrays, options: Options, report: Report, clock: Stopwatch) -> None:
        self.arrays, self.options, self.clock = arrays, options, clock
        self.drains_nodes = arrays.data.moves == "nodes"
        self.packed_sets: set[bytes] = set()
        self.unpacked: list[NodeSet] = []  # node sets of relaxations that could not be packed
        self.packings = 0
        self.hit_time_limit = False  # in the last program
        self.bound_by = BY_TOTALS
        self.scale = 1.0 / np.maximum(1, arrays.count @ arrays.need)

        def report_incumbent(plan: NodePlan | None, bound: int | None) -> None:
            solution = None if plan is None else arrays.solution(plan.kept, plan.placed, plan.new)
            report(solution, None if bound is None else arrays.usd(bound))

        self.incumbent: Incumbent[NodePlan, int] = Incumbent("minimize", clock, report_incumbent, options.gap)

    def solve(self, start: Solution | None) -> Answer:
        """Run the stages until the plan is optimal, infeasibility is proven, or a limit is reached."""
        arrays, incumbent = self.arrays, self.incumbent
        if start is not None:
            kept, placed, new = arrays.read(start)
            self._offer(NodePlan(kept, placed, tuple(new)))
        self._pack_current_nodes()

        if arrays.most_evictions >= arrays.on_node.sum() and not arrays.eviction_price:
            self._bound_by_repacking()
        if self._is_done:
            self.bound_by = BY_PACKING
            return self._answer()

        try:
            totals = TotalsProgram(arrays.data, arrays, most=MAX_ENTRIES)
        except NoCertificate as error:
            return replace(self._answer(), reason=str(error))
        relaxed = self._solve_program(totals, AGGREGATED_SHARE, is_relaxed=True)
        if relaxed.termination == "infeasible" and incumbent.solution is None:
            return self._infeasible(NO_CAPACITY)

        self._bound_by_drain_sets()

        before = incumbent.objective
        self._search_neighbours()
        if incumbent.objective != before:
            self._bound_by_drain_sets()

        last = None if self._is_done else self._solve_disaggregated()
        if last is not None and last.termination == "infeasible" and incumbent.solution is None:
            return self._infeasible(NO_PLAN)
        return self._answer()

    @property
    def _is_done(self) -> bool:
        return self.incumbent.is_closed or self.clock.has_expired

    def _infeasible(self, reason: str) -> Answer:
        return Answer(None, termination="infeasible", reason=reason, info={"bound_by": self.bound_by})

    def _answer(self) -> Answer:
        best, is_closed = self.incumbent.solution, self.incumbent.is_closed
        is_late = self.hit_time_limit or self.clock.has_expired

        def to_usd(price: float | None) -> float | None:
            return None if price is None else self.arrays.usd(int(price))

        return Answer(
            solution=None if best is None else self.arrays.solution(best.kept, best.placed, best.new),
            bound=to_usd(self.incumbent.bound),
            termination="finished" if is_closed or not is_late else "time_limit",
            reason=None if is_closed else "time limit" if is_late else APART,
            trace=tuple((t, to_usd(v), to_usd(b)) for t, v, b in self.incumbent.trace),
            info={"bound_by": self.bound_by, "packings": self.packings},
        )

    def _offer(self, plan: NodePlan) -> None:
        a = self.arrays
        if a.evictions(plan.kept, plan.placed) <= a.most_evictions:
            self.incumbent.offer(a.cost(plan.kept, plan.placed, plan.new), plan)

    def _pack_current_nodes(self) -> None:
        """Bound the cost by the nodes that must stay; pack the plans that keep all nodes, and all nodes with pods."""
        a = self.arrays
        self.incumbent.raise_bound(int(a.held_price[~a.leaves].sum()))
        none_rented = np.zeros(len(a.price), dtype=np.int64)
        self._pack(np.ones(len(a.leaves), dtype=bool), none_rented)
        self._pack(~a.leaves | (a.on_node > 0), none_rented)

    def _bound_by_repacking(self) -> None:
        """Bound the cost by a packing of all pods, and turn this packing into a plan if possible."""
        a = self.arrays
        limit = None if self.options.time_limit is None else max(REPACKING_SHARE * self.clock.remaining_s, 1e-3)
        repacking = solve_repacking(a, replace(self.options, time_limit=limit))
        if repacking is None:
            return
        self.incumbent.raise_bound(repacking.bound)
        kept, placed = ~a.leaves, a.staying.copy()
        new, unassigned = [(k, _list_pods(held)) for k, held in repacking.rented], np.zeros_like(a.count)
        for m, held in repacking.nodes:
            if kept[m] or not self.drains_nodes:
                placed[m] += held
            else:  # a plan cannot drain a node and keep it
                unassigned += held
        if not self.drains_nodes:
            kept = kept | np.isin(np.arange(len(kept)), [m for m, _ in repacking.nodes])
        number = np.bincount([k for k, _ in new], minlength=len(a.price))
        if ((placed > a.now) & ~a.comes).any():  # a pod took the capacity of one in place on a node closed to it
            return
        more = self._rent_for(unassigned, number)
        if more is not None:
            self._offer(NodePlan(kept, placed, (*new, *more)))

    def _solve_program(
        self, totals: TotalsProgram, share: float, is_relaxed: bool, kept: BoolArray | None = None
    ) -> Solved:
        """Solve a relaxation within a share of the time, raise the bound, and pack the node sets of its solutions.

        - `is_relaxed`: whether the numbers of pods may be fractional.
        - `kept`: solve only for plans with these nodes (M,) that cost less than the best plan, and leave the bound.

        The result has the bound in price units, as an integer.
        """
        model = AggregatedModel(totals, None if kept is not None else self.incumbent.objective)

        def watch(x: FloatArray | None, bound: float | None) -> None:
            if bound is not None and kept is None:
                self.incumbent.raise_bound(model.round_bound(bound))
            if x is not None:
                self._use_point(model, x)

        seconds = None if self.options.time_limit is None else max(share * self.clock.remaining_s, 1e-3)
        best, linear, start = self.incumbent.solution, model.build(is_relaxed), None
        if kept is not None:
            linear = model.restrict(linear, kept, self.incumbent.objective)
        elif best is not None:
            start = model.encode(best.kept, best.placed, best.new)
        solved = solve_arrays(linear, replace(self.options, time_limit=seconds), start=start, watch=watch)
        self.hit_time_limit = solved.termination == "time_limit"
        if solved.bound is not None:
            bound = model.round_bound(solved.bound)
            solved = replace(solved, bound=bound)
            if kept is None:
                self.incumbent.raise_bound(bound)
        if solved.x is not None:
            self._use_point(model, solved.x)
        return solved

    def _use_point(self, model: AggregatedModel, x: FloatArray) -> None:
        """Offer the plan of a point if the program has variables for each node; pack the point's node set."""
        kept, number = model.read_kept(x), model.read_rented(x)
        if model.totals.by_node:
            new = self._separate_batches(model, x)
            if new is not None and self._is_feasible(plan := NodePlan(kept, model.read_placed(x), new)):
                self._offer(plan)
        if self._pack(kept, number) is False:
            self.unpacked.append((kept, number))

    def _separate_batches(self, model: AggregatedModel, x: FloatArray) -> tuple[New, ...] | None:
        """Pack the pods of each batch of rented nodes into single nodes; `None` if some pods remain."""
        new: list[New] = []
        for k, number, held in model.read_batches(x):
            packed = self._pack_bins(self._make_bins(None, {k: number}, held))
            if not packed.complete:
                return None
            new += [(k, _list_pods(row)) for row in packed.placed]
        return tuple(new)

    def _is_feasible(self, plan: NodePlan) -> bool:
        """Check in integers that a plan of HiGHS respects all capacities and places all pods."""
        a = self.arrays
        held = np.zeros((len(plan.new), len(a.count)), dtype=np.int64)
        for row, (_, pods) in zip(held, plan.new, strict=True):
            row[list(pods)] = list(pods.values())
        capacity = a.capacity[[k for k, _ in plan.new]]
        fits = (plan.placed @ a.need <= a.room).all() and (held @ a.need <= capacity).all()
        is_drained = not plan.placed[~plan.kept].any()
        return bool(fits and is_drained and (plan.placed.sum(axis=0) + held.sum(axis=0) == a.count).all())

    def _make_bins(self, kept: BoolArray | None, number: Mapping[int, int], count: IntArray) -> FixedBins:
        """Make bins of the residual capacity of kept nodes (M,) and of a number of new nodes of each type."""
        a = self.arrays
        rented = [a.capacity[k] for k, n in number.items() for _ in range(n)]
        existing = a.free[:0] if kept is None else a.free[kept]
        free = np.vstack([existing, np.array(rented, dtype=np.int64).reshape(len(rented), a.need.shape[1])])
        return FixedBins(free, np.zeros(len(free), dtype=np.int64), a.need[None], count)

    def _pack_bins(self, bins: FixedBins) -> PartialPacking:
        """Pack pods into bins by the dot-product heuristic and ejection moves."""
        self.packings += 1
        packed = bins.pack_by_dot_product()
        return packed if packed.complete else bins.repair_by_ejection(packed, EJECTIONS, self.options.seed)

    def _pack(self, kept: BoolArray, number: IntArray) -> bool | None:
        """Pack the moving pods onto the nodes of a set; return whether they fit, `None` for a set packed before.

        Unassigned pods go to additional nodes if the plan may still be cheaper than the best one.
        """
        a, key = self.arrays, kept.tobytes() + number.tobytes()
        if key in self.packed_sets:
            return None
        self.packed_sets.add(key)
        count = a.pending + a.now[~kept].sum(axis=0)
        rented = {k: int(number[k]) for k in np.flatnonzero(number).tolist()}
        bins = self._make_bins(kept, rented, count)
        packed = PartialPacking(np.zeros((0, len(count)), dtype=np.int64), count, 1.0)
        if len(bins.free):
            packed = self._pack_bins(bins)
        placed, nodes = a.now * kept[:, None], int(kept.sum())
        placed[kept] += packed.placed[:nodes]
        types = [k for k, n in rented.items() for _ in range(n)]
        new = tuple((k, _list_pods(row)) for k, row in zip(types, packed.placed[nodes:], strict=True))
        best = self.incumbent.objective
        if not packed.left.any():
            self._offer(NodePlan(kept, placed, new))
            return True
        if best is None or a.cost(kept, placed, new) < best:
            more = self._rent_for(packed.left, number)
            if more is not None:
                self._offer(NodePlan(kept, placed, (*new, *more)))
        return False

    def _rent_for(self, unassigned: IntArray, number: IntArray) -> list[New] | None:
        """Rent nodes for unassigned pods (N,), each time the node with the lowest price per packed demand.

        `number`: nodes of each type (K,) that are rented already. Returns `None` if the pods do not fit.
        """
        a, new = self.arrays, []  # type: ClusterArrays, list[New]
        number, unassigned = number.copy(), unassigned.copy()
        while unassigned.any():
            best: tuple[float, int, IntArray] | None = None
            for k in range(len(a.price)):
                if 0 <= a.most_new[k] <= number[k]:
                    continue
                packed = self._make_bins(None, {k: 1}, unassigned).pack_by_dot_product()
                if packed.placed.any():
                    held = packed.placed[0]
                    size = float((held @ a.need * self.scale).sum())
                    unit_price = float(a.price[k]) / (size or 1.0)  # pods may have no demand
                    if best is None or unit_price < best[0]:
                        best = unit_price, k, held
            if best is None:
                return None
            new.append((best[1], _list_pods(best[2])))
            number[best[1]] += 1
            unassigned -= best[2]
        return new

    def _search_neighbours(self) -> None:
        """Pack neighbours of the node sets that could not be packed, in the order of cost, up to the best plan."""
        limit = NEIGHBOUR_SHARE * self.clock.remaining_s
        clock = Stopwatch(None if math.isinf(limit) else limit)
        neighbourhood = Neighbourhood(self.arrays)
        heap: list[tuple[int, int, NodeSet]] = []
        seen: set[bytes] = set()

        def push(node_sets: Iterable[NodeSet]) -> None:
            for kept, number in node_sets:
                key = kept.tobytes() + number.tobytes()
                if key not in seen:
                    seen.add(key)
                    heapq.heappush(heap, (neighbourhood.compute_cost(kept, number), len(seen), (kept, number)))

        push(self.unpacked)
        for _ in range(min(MAX_NEIGHBOURS, self.options.effort or MAX_NEIGHBOURS)):
            if not heap or self.incumbent.is_closed or clock.has_expired:
                return
            cost, _, (kept, number) = heapq.heappop(heap)
            best, bound = self.incumbent.objective, self.incumbent.bound or 0
            if best is not None and cost >= best:
                return
            if self._pack(kept, number) is not True:
                push(neighbourhood.generate(kept, number, bound, best))

    def _solve_disaggregated(self) -> Solved | None:
        """Solve the disaggregated relaxation; return its result, or `None` if it is too large."""
        before, best = self.incumbent.bound, self.incumbent.objective
        solved = self._solve_with_copies()
        if best is None and self.incumbent.objective is not None and not self._is_done:
            solved = self._solve_with_copies()  # the cost of the first plan tightens the limits of the program
        if before is None or (self.incumbent.bound or 0) > before:
            self.bound_by = BY_NODE
        return solved

    def _solve_with_copies(self, kept: BoolArray | None = None) -> Solved | None:
        """Solve the relaxation with capacity rows for each node; `None` if it is too large.

        If its solution rents several nodes of a type, they become separate nodes of the next program.
        """
        arrays, copies = self.arrays, dict[int, int]()
        if len(arrays.leaves) * len(arrays.count) > MAX_PAIRS:
            return None
        while True:
            totals = TotalsProgram(arrays.data, arrays, by_node=True, copies=copies, most=MAX_ENTRIES)
            solved = self._solve_program(totals, 1.0, is_relaxed=False, kept=kept)
            if solved.x is None or self._is_done or solved.termination != "finished":
                return solved
            number = AggregatedModel(totals, None).read_rented(solved.x)
            more = {k: int(n) for k, n in enumerate(number) if n > max(1, copies.get(k, 0))}
            if not more:
                return solved
            copies |= more

    def _bound_by_drain_sets(self) -> None:
        """Bound the cost by the minimum over all drain sets; if there are few, bound single sets further."""
        best, before = self.incumbent.objective, self.incumbent.bound or 0
        if best is None or not self.drains_nodes or self._is_done:
            return
        if (sets := enumerate_drain_sets(self.arrays, best)) is None:
            return
        heap = [(drain_set.min_cost, i) for i, drain_set in enumerate(sets)]
        bounded: set[int] = set()
        while not self.incumbent.is_closed:
            bound = heap[0][0] if heap else best
            if self.incumbent.raise_bound(bound) and bound > before:
                self.bound_by = BY_SETS
            if len(sets) > MAX_DRAIN_SETS or self._is_done or heap[0][1] in bounded:
                return
            _, i = heapq.heappop(heap)
            bounded.add(i)
            heapq.heappush(heap, (self._bound_drain_set(sets[i]), i))

    def _bound_drain_set(self, drain_set: DrainSet) -> int:
        """Return a lower bound on the cost of all plans with this drain set, or the cost of the best plan."""
        if self._pack(drain_set.kept, drain_set.number):
            return drain_set.min_cost
        solved = self._solve_with_copies(drain_set.kept)
        if solved is None:
            return drain_set.min_cost
        if solved.termination == "infeasible":
            return self.incumbent.objective or 0
        return drain_set.min_cost if solved.bound is None else max(drain_set.min_cost, int(solved.bound))


def _list_pods(row: IntArray) -> dict[int, int]:
    """List the number of pods of each class that is on a node (N,)."""
    return {int(c): int(row[c]) for c in np.flatnonzero(row)}
