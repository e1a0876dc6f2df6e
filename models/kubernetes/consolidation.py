"""Least cost of a cluster with at most so many evictions: a program of totals, packing into the nodes it keeps and
rents, its neighbours, and the integer program of all placements."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.kubernetes.consolidation_arrays import ClusterArrays, New, cluster_arrays
from instances.kubernetes.node_consolidation import LARGEST, NodeConsolidation
from instances.method import method
from instances.proofs import NoCertificate
from instances.proofs.kubernetes.totals_program import TotalsProgram
from instances.result import Termination
from models.bounds import DIGITS, whole_bound
from models.core.outcome import APART
from models.core.rooms import Packed, Rooms
from models.highs import LinearModel, Solved, solve_arrays
from models.incumbent import Incumbent
from models.kubernetes.drained import DrainedSet, drained_sets
from models.kubernetes.least_bill import least_bill

BY_TOTALS, BY_NODE, BY_PACKING = "totals", "totals and a room for each node", "packing"
BY_SETS = "sets of drained nodes"
NO_PLAN = "the pods do not fit into the nodes that may be kept or rented, with the evictions that are allowed"
NO_ROOM = "all nodes that may be kept or rented have less room than the pods take"
PACKING_SHARE = 0.5  # of the time is for the packing of all pods, where any of them may be moved
TOTALS_SHARE, NEAR_SHARE = 0.4, 0.4  # of the time that is left: for the program of totals, for its neighbours
EJECTIONS = 4_000  # steps of repair of one packing
MOST_NUMBERS = 1_000_000  # in a program that HiGHS is given
MOST_PLACES = 60_000  # pairs of a class and a node in the program with a room for each
MOST_NEAR = 1_000  # neighbours that are packed
MOST_COUNTED = 100_000  # pods of a class that a program counts one by one
FEW_SETS = 150  # of drained nodes, each of which has a program of its own
State = tuple[BoolArray, IntArray]
"""Nodes that are kept (M,), and how many of each type are rented (K,)."""


@method("exact", name="exact")
def exact_consolidation(
    data: NodeConsolidation, options: Options, report: Report, start: Solution | None = None
) -> Answer:
    """The least cost with at most so many evictions, proved, or a plan and a bound.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution to begin from; the result is never worse.
    """
    with Stopwatch(options.time_limit) as clock:
        search = _ConsolidationSearch(cluster_arrays(data), options, report, clock)
        if start is not None:
            search.begin(start)
        answer = search.solved()
    return replace(answer, build_s=0.0, solve_s=clock.cpu_s)


@dataclass(frozen=True)
class NodePlan:
    """Nodes that are `kept` (M,), what is `placed` (M, N) on them in the end, and what is rented."""

    kept: BoolArray
    placed: IntArray
    new: tuple[New, ...]


class _ConsolidationSearch:
    def __init__(self, arrays: ClusterArrays, options: Options, report: Report, clock: Stopwatch) -> None:
        self.arrays, self.options, self.clock = arrays, options, clock
        self.whole_nodes = arrays.data.moves == "nodes"
        self.tried: set[bytes] = set()
        self.bases: list[State] = []  # kept and rented by points of programs that were not packed
        self.packings = 0
        self.late = False  # whether a limit ended the last program
        self.scale = 1.0 / np.maximum(1, arrays.count @ arrays.need)

        def told(found: NodePlan | None, bound: int | None) -> None:
            solution = None if found is None else self._solution(found)
            report(solution, None if bound is None else arrays.usd(bound))

        self.incumbent: Incumbent[NodePlan, int] = Incumbent("minimize", clock, told, options.gap)

    def begin(self, start: Solution) -> None:
        """Take a valid solution: what is not cheaper is not looked at."""
        kept, placed, new = self.arrays.read(start)
        self._offer(NodePlan(kept, placed, tuple(new)))

    def solved(self) -> Answer:
        """The answer: each step only where those before it leave the question open."""
        arrays, info = self.arrays, {"bound_by": BY_TOTALS}
        nothing = np.zeros(len(arrays.price), dtype=np.int64)
        self.incumbent.raise_bound(int(arrays.held_price[~arrays.leaves].sum()))
        self._pack(np.ones(len(arrays.leaves), dtype=bool), nothing)
        self._pack(~arrays.leaves | (arrays.on_node > 0), nothing)
        if arrays.most_evictions >= arrays.on_node.sum() and not arrays.eviction_price:
            self._any_moves()
        if self.incumbent.closed or self.clock.expired:
            return self._answer(info | {"bound_by": BY_PACKING})
        try:
            totals = TotalsProgram(arrays.data, arrays, most=MOST_NUMBERS)
        except NoCertificate as error:
            return replace(self._answer(info), reason=str(error))
        relaxed = self._program(totals, TOTALS_SHARE, continuous=True)
        if relaxed.termination == "infeasible" and self.incumbent.objective is None:
            return Answer(None, termination="infeasible", reason=NO_ROOM, info=info)
        self._by_sets(info)
        known = self.incumbent.objective
        self._near()
        if self.incumbent.objective != known:
            self._by_sets(info)
        last = None if self.incumbent.closed or self.clock.expired else self._by_node(info)
        if last == "infeasible" and self.incumbent.objective is None:
            return Answer(None, termination="infeasible", reason=NO_PLAN, info=info)
        return self._answer(info)

    def _answer(self, info: dict[str, Any]) -> Answer:
        arrays = self.arrays
        best, closed = self.incumbent.solution, self.incumbent.closed
        late = self.late or self.clock.expired
        return Answer(
            solution=None if best is None else self._solution(best),
            bound=None if self.incumbent.bound is None else arrays.usd(self.incumbent.bound),
            termination="finished" if closed or not late else "time_limit",
            reason=None if closed else "time limit" if late else APART,
            trace=tuple((t, self._usd(v), self._usd(b)) for t, v, b in self.incumbent.trace),
            info=info | {"packings": self.packings},
        )

    def _usd(self, price: float | None) -> float | None:
        return None if price is None else self.arrays.usd(int(price))

    def _solution(self, plan: NodePlan) -> Solution:
        return self.arrays.solution(plan.kept, plan.placed, plan.new)

    def _offer(self, plan: NodePlan) -> None:
        a = self.arrays
        if a.evictions(plan.kept, plan.placed) <= a.most_evictions:
            self.incumbent.offer(a.cost(plan.kept, plan.placed, plan.new), plan)

    def _fits(self, plan: NodePlan) -> bool:
        """Whether what HiGHS has placed fits in whole numbers, and all pods are somewhere."""
        a = self.arrays
        held = np.zeros((len(plan.new), len(a.count)), dtype=np.int64)
        for on_it, (_, pods) in zip(held, plan.new, strict=True):
            on_it[list(pods)] = list(pods.values())
        rooms = a.capacity[[k for k, _ in plan.new]]
        fits = (plan.placed @ a.need <= a.room).all() and (held @ a.need <= rooms).all()
        drains = not plan.placed[~plan.kept].any()
        return bool(fits and drains and (plan.placed.sum(axis=0) + held.sum(axis=0) == a.count).all())

    def _any_moves(self) -> None:
        """The packing of all pods anew, where any of them may be moved."""
        a = self.arrays
        limit = None if self.options.time_limit is None else max(PACKING_SHARE * self.clock.remaining_s, 1e-3)
        found = least_bill(a, replace(self.options, time_limit=limit))
        if found is None:
            return
        self.incumbent.raise_bound(found.bound)
        kept, placed = ~a.leaves, a.staying.copy()
        new, left = [(k, _some(held)) for k, held in found.rented], np.zeros_like(a.count)
        for m, held in found.nodes:
            if kept[m] or not self.whole_nodes:
                placed[m] += held
            else:  # it would have to be drained and kept
                left += held
        if not self.whole_nodes:
            kept = kept | np.isin(np.arange(len(kept)), [m for m, _ in found.nodes])
        number = np.bincount([k for k, _ in new], minlength=len(a.price))
        if ((placed > a.now) & ~a.comes).any():  # of pods that leave a room of one that may not come is left
            return
        further = self._further(left, number)
        if further is not None:
            self._offer(NodePlan(kept, placed, (*new, *further)))

    def _program(self, totals: TotalsProgram, share: float, continuous: bool, kept: BoolArray | None = None) -> Solved:
        """Solve a program; pack what its solutions keep and rent, and take its bound. The result has the proven bound.

        With the nodes that are `kept` it is one of their plans alone, of those that are cheaper than the best one.
        """
        read = _Reading(totals, None if kept is not None else self.incumbent.objective)

        def watch(x: FloatArray | None, bound: float | None) -> None:
            if bound is not None and kept is None:
                self.incumbent.raise_bound(read.proven(bound))
            if x is not None:
                self._take(read, x)

        seconds = None if self.options.time_limit is None else max(share * self.clock.remaining_s, 1e-3)
        best, model = self.incumbent.solution, read.model(continuous)
        known = None if best is None or kept is not None else read.point(best)
        if kept is not None:
            model = read.fixed(model, kept, self.incumbent.objective)
        solved = solve_arrays(model, replace(self.options, time_limit=seconds), start=known, watch=watch)
        self.late = solved.termination == "time_limit"
        if solved.bound is not None:
            proven = read.proven(solved.bound)
            solved = replace(solved, bound=proven)
            if kept is None:
                self.incumbent.raise_bound(proven)
        if solved.x is not None:
            self._take(read, solved.x)
        return solved

    def _take(self, read: _Reading, x: FloatArray) -> None:
        """Pack what a point of a program keeps and rents, and take its own placement where it has one."""
        kept, number = read.kept(x), read.number(x)
        if read.totals.by_node:
            placed, new = read.placed(x), self._apart(read, x)
            if new is not None and self._fits(plan := NodePlan(kept, placed, new)):
                self._offer(plan)
        if self._pack(kept, number) is False:
            self.bases.append((kept, number))

    def _apart(self, read: _Reading, x: FloatArray) -> tuple[New, ...] | None:
        """What is on nodes that are rented together on one node each; `None` where that is not found."""
        new: list[New] = []
        nobody = np.zeros(len(self.arrays.leaves), dtype=bool)
        for k, number, held in read.rented(x):
            rooms = self._rooms(nobody, {k: number}, held)
            packed = self._packed(rooms)
            if not packed.complete:
                return None
            new += [(k, _some(row)) for row in packed.placed]
        return tuple(new)

    def _rooms(self, kept: BoolArray, number: Mapping[int, int], count: IntArray) -> Rooms:
        """What is free on nodes that are kept, and so many new nodes."""
        a = self.arrays
        rented = [a.capacity[k] for k, n in number.items() for _ in range(n)]
        free = np.vstack([a.free[kept], np.array(rented, dtype=np.int64).reshape(len(rented), a.need.shape[1])])
        return Rooms(free, np.zeros(len(free), dtype=np.int64), a.need[None], count)

    def _packed(self, rooms: Rooms) -> Packed:
        """The pods in the rooms, or as many of them as are found to fit."""
        self.packings += 1
        packed = rooms.by_direction()
        return packed if packed.complete else rooms.by_ejection(packed, EJECTIONS, self.options.seed)

    def _pack(self, kept: BoolArray, number: IntArray) -> bool | None:
        """Whether all that has to move is packed into free rooms and new nodes; `None` where it was tried before.

        What is left over goes to further nodes, where that is cheaper than the best plan.
        """
        a, key = self.arrays, kept.tobytes() + number.tobytes()
        if key in self.tried:
            return None
        self.tried.add(key)
        count = a.pending + a.now[~kept].sum(axis=0)
        some = {k: int(number[k]) for k in np.flatnonzero(number).tolist()}
        rooms = self._rooms(kept, some, count)
        packed = (
            self._packed(rooms) if len(rooms.free) else Packed(np.zeros((0, len(count)), dtype=np.int64), count, 1.0)
        )
        placed = a.now * kept[:, None]
        nodes = int(kept.sum())
        placed[kept] += packed.placed[:nodes]
        kinds = [k for k, n in some.items() for _ in range(n)]
        new = [(k, _some(row)) for k, row in zip(kinds, packed.placed[nodes:], strict=True)]
        plan = NodePlan(kept, placed, tuple(new))
        best = self.incumbent.objective
        if packed.left.any():
            if best is not None and a.cost(kept, placed, new) >= best:
                return False
            further = self._further(packed.left, number)
            if further is not None:
                self._offer(replace(plan, new=(*new, *further)))
            return False
        self._offer(plan)
        return True

    def _further(self, left: IntArray, number: IntArray) -> list[New] | None:
        """New nodes for what is left over, one after another, each that which costs least for what it takes."""
        a, found = self.arrays, []  # type: ClusterArrays, list[New]
        number, left = number.copy(), left.copy()
        nobody = np.zeros(len(a.leaves), dtype=bool)
        while left.any():
            best: tuple[float, int, IntArray] | None = None
            for k in range(len(a.price)):
                if 0 <= a.most_new[k] <= number[k]:
                    continue
                packed = self._rooms(nobody, {k: 1}, left).by_direction()
                if packed.placed.any():
                    took = packed.placed[0]
                    each = float(a.price[k]) / (self._size(took) or 1.0)  # pods may ask for nothing
                    if best is None or each < best[0]:
                        best = each, k, took
            if best is None:
                return None
            found.append((best[1], _some(best[2])))
            number[best[1]] += 1
            left -= best[2]
        return found

    def _size(self, count: IntArray) -> float:
        return float((count @ self.arrays.need * self.scale).sum())

    def _near(self) -> None:
        """Pack what is near to what the programs kept and rented, the cheapest first, up to the best plan."""
        limit = NEAR_SHARE * self.clock.remaining_s
        clock = Stopwatch(None if math.isinf(limit) else limit)
        steps = Steps(self.arrays)
        heap: list[tuple[int, int, State]] = []
        seen: set[bytes] = set()

        def push(states: Iterable[State]) -> None:
            for kept, number in states:
                key = kept.tobytes() + number.tobytes()
                if key not in seen:
                    seen.add(key)
                    heapq.heappush(heap, (steps.cost(kept, number), len(seen), (kept, number)))

        push(self.bases)
        for _ in range(min(MOST_NEAR, self.options.effort or MOST_NEAR)):
            if not heap or self.incumbent.closed or clock.expired:
                return
            cost, _, (kept, number) = heapq.heappop(heap)
            best, least = self.incumbent.objective, self.incumbent.bound or 0
            if best is not None and cost >= best:
                return
            if self._pack(kept, number) is not True:
                push(steps.from_(kept, number, least, best))

    def _by_node(self, info: dict[str, Any]) -> Termination | None:
        """The program with a number for each class and node, where it is small enough; how that ended."""
        before, known = self.incumbent.bound, self.incumbent.objective
        solved = self._each_room()
        if known is None and self.incumbent.objective is not None and not (self.incumbent.closed or self.clock.expired):
            solved = self._each_room()  # the cost of the first plan limits the prices in the program
        if before is None or (self.incumbent.bound or 0) > before:
            info["bound_by"] = BY_NODE
        return None if solved is None else solved.termination

    def _each_room(self, kept: BoolArray | None = None) -> Solved | None:
        """That program, with a room for each copy of a type where it takes that; `None` where it is too large."""
        arrays, copies = self.arrays, dict[int, int]()
        if len(arrays.leaves) * len(arrays.count) > MOST_PLACES:
            return None
        while True:
            totals = TotalsProgram(arrays.data, arrays, by_node=True, copies=copies, most=MOST_NUMBERS)
            solved = self._program(totals, 1.0, continuous=False, kept=kept)
            if solved.x is None or self.incumbent.closed or self.clock.expired or solved.termination != "finished":
                return solved
            number = _Reading(totals, None).number(solved.x)
            more = {k: int(n) for k, n in enumerate(number) if n > max(1, copies.get(k, 0))}
            if not more:
                return solved
            copies |= more  # what is on them together could not be told apart

    def _by_sets(self, info: dict[str, Any]) -> None:
        """Bound the plans of each set of nodes that may be drained, where there are few, from the cheapest on."""
        best, before = self.incumbent.objective, self.incumbent.bound or 0
        if best is None or not self.whole_nodes or self.incumbent.closed or self.clock.expired:
            return
        if (sets := drained_sets(self.arrays, best)) is None:
            return
        heap = [(found.least, i) for i, found in enumerate(sets)]
        looked: set[int] = set()
        while not self.incumbent.closed:
            least = heap[0][0] if heap else best
            if self.incumbent.raise_bound(least) and least > before:
                info["bound_by"] = BY_SETS
            if len(sets) > FEW_SETS or self.incumbent.closed or self.clock.expired or heap[0][1] in looked:
                return
            _, i = heapq.heappop(heap)
            looked.add(i)
            heapq.heappush(heap, (self._least_of(sets[i]), i))

    def _least_of(self, found: DrainedSet) -> int:
        """What all plans that drain a set cost at least, or as much as the best plan."""
        if self._pack(found.kept, found.number):
            return found.least
        solved = self._each_room(found.kept)
        if solved is None:
            return found.least
        if solved.termination == "infeasible":
            return self.incumbent.objective or 0
        return found.least if solved.bound is None else max(found.least, int(solved.bound))


class Steps:
    """Nodes kept and rented that differ from others by one or two steps: keep, give up, rent, or do not rent."""

    def __init__(self, arrays: ClusterArrays) -> None:
        self.arrays = a = arrays
        self.each = a.held_price - a.eviction_price * a.on_node  # what keeping a node costs

    def cost(self, kept: BoolArray, number: IntArray) -> int:
        """What is kept and rented costs, with the evictions of all others."""
        a = self.arrays
        rented = sum(n * p for n, p in zip(number.tolist(), a.price.tolist(), strict=True))  # beyond 64 bits
        return int(self.each[kept].sum()) + rented + a.eviction_price * int(a.on_node.sum())

    def from_(self, kept: BoolArray, number: IntArray, least: int, best: int | None) -> Iterator[State]:
        """Those that cost at least the bound and less than the best plan, within the evictions and the totals."""
        a = self.arrays
        nodes, types = np.flatnonzero(a.leaves), np.arange(len(a.price))
        rentable = types[(a.most_new < 0) | (number < a.most_new)]
        rented = np.flatnonzero(number)
        sign = np.where(kept[nodes], -1, 1)
        cost = np.concatenate([sign * self.each[nodes], a.price[rentable], -a.price[rented]])
        evictions = np.concatenate([-sign * a.on_node[nodes], np.zeros(len(rentable) + len(rented), dtype=np.int64)])
        room = np.concatenate([sign[:, None] * a.room[nodes], a.capacity[rentable], -a.capacity[rented]])
        spare = a.room[kept].sum(axis=0) + number @ a.capacity - a.count @ a.need
        now, gone = min(self.cost(kept, number), LARGEST), int(a.on_node[~kept].sum())
        i, j = np.triu_indices(len(cost))
        then = now + cost[i] + np.where(i == j, 0, cost[j])
        leave = gone + evictions[i] + np.where(i == j, 0, evictions[j])
        good = (then >= least) & (leave <= a.most_evictions)
        if best is not None:
            good &= then < best
        i, j = i[good], j[good]
        left = spare + room[i] + np.where((i == j)[:, None], 0, room[j])
        fits = (left >= 0).all(axis=1)
        for one, other in zip(i[fits].tolist(), j[fits].tolist(), strict=True):
            then_kept, then_number = kept.copy(), number.copy()
            for step in {one, other}:
                if step < len(nodes):
                    then_kept[nodes[step]] ^= True
                elif step < len(nodes) + len(rentable):
                    then_number[rentable[step - len(nodes)]] += 1
                else:
                    then_number[rented[step - len(nodes) - len(rentable)]] -= 1
            yield then_kept, then_number


class _Reading:
    """A program of totals as HiGHS takes it, and what its points say.

    If the cost of a plan is known, `best`, the program has only plans that cost at most as much. Its prices are then
    closer together, and HiGHS loses fewer digits.
    """

    def __init__(self, totals: TotalsProgram, best: int | None) -> None:
        self.totals, a = totals, totals.arrays
        self.lower, self.upper = (totals.lower, totals.upper) if best is None else _limits(totals, best)
        place = totals.place
        self.keep = np.array([place[f"keep_{m}"] for m in range(len(a.leaves))], dtype=np.int64)
        self.rent = np.array([place[f"rent_{name}"] for name, _ in totals.batches], dtype=np.int64)
        # HiGHS called plans optimal that are not, if it had to count pods by the million beside nodes.
        self.unit = np.where(np.array(totals.upper) > MOST_COUNTED, np.array(totals.upper, dtype=float), 1.0)
        self.unit[self.keep] = self.unit[self.rent] = 1.0

    def model(self, continuous: bool) -> LinearModel:
        """The program; `continuous`: only what is kept and rented is in whole numbers.

        Very many pods are counted as a share of the most there can be, which need not be a whole number of them.
        """
        totals, program = self.totals, self.totals.program()
        rows = program.rows[program.bounds :]
        # An equality stays as it is: scaled, its entries could be too small for HiGHS, and it would be relaxed.
        values = [{i: float(a) * self.unit[i] for i, a in row.coefficients.items()} for row in rows]
        scale = [
            1.0 if row.direction == "E" else max(1.0, *map(abs, of_row.values()))
            for row, of_row in zip(rows, values, strict=True)
        ]
        right = np.array([float(row.right) / s for row, s in zip(rows, scale, strict=True)])
        lower, upper = np.array(self.lower) / self.unit, np.array(self.upper) / self.unit
        entries = [
            (k, i, a / s) for k, (of_row, s) in enumerate(zip(values, scale, strict=True)) for i, a in of_row.items()
        ]
        matrix = sparse.coo_array(
            ([a for _, _, a in entries], ([k for k, _, _ in entries], [i for _, i, _ in entries])),
            shape=(len(rows), len(program.variables)),
        )
        cost, constant = np.zeros(len(program.variables)), totals.constant
        for i, c in totals.cost.items():
            if self.lower[i] == self.upper[i]:
                constant += c * self.lower[i]
            else:
                cost[i] = float(c) * self.unit[i]
        whole = np.full(len(cost), not continuous) & (self.unit == 1.0)
        whole[self.keep] = whole[self.rent] = True
        return LinearModel(
            cost=cost,
            matrix=sparse.csc_array(matrix),
            row_lower=np.where([row.direction == "L" for row in rows], -math.inf, right),
            row_upper=np.where([row.direction == "G" for row in rows], math.inf, right),
            lower=lower,
            upper=upper,
            integer=whole,
            offset=float(constant),
        )

    def proven(self, bound: float) -> int:
        """Return the bound that HiGHS's `bound` proves: large numbers that cancel out cost it digits."""
        totals, a = self.totals, self.totals.arrays
        free = [m for m, i in enumerate(self.keep.tolist()) if self.lower[i] < self.upper[i]]
        kinds = [k for (_, k), i in zip(totals.batches, self.rent.tolist(), strict=True) if self.upper[i]]
        if totals.whole_nodes:
            evictions = int(a.on_node[free].sum())
        else:
            stays = [i for name, i in totals.place.items() if name.startswith("stay_")]
            evictions = sum(self.upper[i] - self.lower[i] for i in stays)
        largest = max((*a.held_price[free].tolist(), *a.price[kinds].tolist()), default=0)
        return max(0, whole_bound(bound - DIGITS * (a.eviction_price * evictions + largest)))

    def fixed(self, model: LinearModel, kept: BoolArray, best: int | None) -> LinearModel:
        """The program with these nodes kept and no others, and only what costs less than the best plan."""
        lower, upper = np.array(model.lower, dtype=float), np.array(model.upper, dtype=float)
        lower[self.keep] = upper[self.keep] = kept
        if best is None:
            return replace(model, lower=lower, upper=upper)
        cost = np.asarray(model.cost, dtype=float)
        scale = max(1.0, float(np.abs(cost).max(initial=0.0)))
        return replace(
            model,
            lower=lower,
            upper=upper,
            matrix=sparse.vstack([model.matrix, sparse.csc_array(cost[None] / scale)]),
            row_lower=np.append(model.row_lower, -math.inf),
            row_upper=np.append(model.row_upper, (best - 0.5 - float(np.asarray(model.offset))) / scale),
        )

    def kept(self, x: FloatArray) -> BoolArray:
        """The nodes that are kept."""
        return np.asarray(x[self.keep] > 0.5)

    def number(self, x: FloatArray) -> IntArray:
        """How many of each type are rented."""
        found = np.zeros(len(self.totals.arrays.price), dtype=np.int64)
        np.add.at(found, [k for _, k in self.totals.batches], np.round(x[self.rent]).astype(np.int64))
        return found

    def placed(self, x: FloatArray) -> IntArray:
        """What is on each node that is kept (M, N)."""
        a, place = self.totals.arrays, self.totals.place
        found = a.now * self.kept(x)[:, None] if self.totals.whole_nodes else np.zeros_like(a.now)
        for name, i in place.items():
            what, *where = name.split("_")
            if what in ("come", "stay"):
                found[int(where[0]), int(where[1])] += round(x[i] * self.unit[i])
        return found

    def point(self, plan: NodePlan) -> FloatArray:
        """The values of all variables in a plan."""
        totals, a = self.totals, self.totals.arrays
        stay = a.now * plan.kept[:, None]
        stay = stay if totals.whole_nodes else np.minimum(stay, plan.placed)
        come = plan.placed * plan.kept[:, None] - stay
        value = {f"keep_{m}": 1 for m in np.flatnonzero(plan.kept).tolist()}
        value |= {f"stay_{m}_{c}": int(stay[m, c]) for m, c in np.argwhere(stay).tolist() if not totals.whole_nodes}
        value |= {f"come_{c}": n for c, n in enumerate(come.sum(axis=0).tolist())}
        value |= {f"come_{m}_{c}": int(come[m, c]) for m, c in np.argwhere(come).tolist()}
        nodes = [[pods for kind, pods in plan.new if kind == k] for k in range(len(a.price))]
        for name, k in totals.batches:  # copies of a type come before all others
            held, nodes[k] = (nodes[k][:1], nodes[k][1:]) if "_" in name else (nodes[k], [])
            value[f"rent_{name}"] = len(held)
            value |= {f"new_{name}_{c}": sum(pods.get(c, 0) for pods in held) for c in range(len(a.count))}
        return np.array([value.get(name, 0) for name in totals.place], dtype=float) / self.unit

    def rented(self, x: FloatArray) -> Iterator[tuple[int, int, IntArray]]:
        """Of nodes that are rented together the type, the number, and what is on all of them (N,)."""
        a, place = self.totals.arrays, self.totals.place
        for (name, k), rent in zip(self.totals.batches, self.rent, strict=True):
            number = round(x[rent])
            if number:
                where = [place[f"new_{name}_{c}"] if a.fits_type[k, c] else -1 for c in range(len(a.count))]
                held = [0 if i < 0 else round(x[i] * self.unit[i]) for i in where]
                yield k, number, np.array(held, dtype=np.int64)


def _limits(totals: TotalsProgram, best: int) -> tuple[list[int], list[int]]:
    """Return the lower and the upper limits of all variables in plans that cost at most `best`.

    Every plan pays for the nodes that must stay. A single node, type or eviction costs at most the rest of `best`.
    """
    a, place = totals.arrays, totals.place
    lower, upper = list(totals.lower), list(totals.upper)
    rest = best - int(a.held_price[~a.leaves].sum())
    for m in np.flatnonzero(a.leaves).tolist():
        if a.held_price[m] > rest:
            upper[place[f"keep_{m}"]] = 0
        if totals.whole_nodes and a.eviction_price * int(a.on_node[m]) > rest:
            lower[place[f"keep_{m}"]] = 1
    for name, k in totals.batches:
        if a.price[k]:
            i = place[f"rent_{name}"]
            upper[i] = min(upper[i], rest // int(a.price[k]))
    if not totals.whole_nodes and a.eviction_price:
        for i in (i for name, i in place.items() if name.startswith("stay_")):
            lower[i] = max(lower[i], upper[i] - rest // a.eviction_price)
    return lower, upper


def _some(row: IntArray) -> dict[int, int]:
    return {int(c): int(row[c]) for c in np.flatnonzero(row)}
