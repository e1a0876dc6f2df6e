"""Pods on given nodes: all in place with the fewest moves, or the word that it cannot be; the literal model.

In turn: the pods that wait into the room that is left, without a move; a sum of weighted resources of which the nodes
have less than the pods take, in whole numbers; all pods into empty nodes; an integer program of the fewest moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import packing_arrays
from instances.eva.node_placement import NodePlacement
from instances.method import method
from models.bounds import whole_bound
from models.core.rooms import Packed, Rooms
from models.eva.totals import COARSE, SharedOut, TypeTotals
from models.highs import LinearModel, solve_arrays

if TYPE_CHECKING:
    from pyomo.core.base.PyomoModel import ConcreteModel

EJECTIONS, PARTS = 20_000, 10  # steps of repair, and small integer programs, for one packing
BY_TOTALS, BY_PROGRAM = "totals", "HiGHS"
SHORT_OF_ROOM = "all nodes together have less of some weighted sum of resources than the pods take"
NO_PLACEMENT = "HiGHS proves that the nodes cannot hold all pods"


@method("exact")
def exact_node_placement(data: NodePlacement, options: Options, report: Report) -> Answer:
    """The placement with the fewest moves, proved, or that there is none.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    """
    with Stopwatch(options.time_limit) as clock:
        answer = _Cluster(data).solved(options, report, clock)
    return replace(answer, build_s=0.0, solve_s=clock.cpu_s)


class _Cluster:
    """The nodes M and classes of pods N in whole numbers: rooms and what is in them now."""

    def __init__(self, data: NodePlacement) -> None:
        self.data = data
        if not data.pods:
            return
        arrays = packing_arrays(data.packing())
        self.members = arrays.members
        self.kinds = TypeTotals(arrays, COARSE)
        now = np.array([[node.pods.get(pod.name, 0) for pod in data.pods] for node in data.nodes], dtype=np.int64)
        self.now = np.stack([now[:, list(members)].sum(axis=1) for members in arrays.members], axis=1)
        nobody = np.zeros(len(data.nodes), dtype=np.int64)
        self.rooms = Rooms(self.kinds.room, nobody, arrays.demand, arrays.count)

    def solved(self, options: Options, report: Report, clock: Stopwatch) -> Answer:
        """The answer; see the module."""
        if not self.data.pods:
            return Answer({"nodes": {}}, bound=0.0)
        used = self.now @ self.rooms.need[0]
        waiting = replace(self.rooms, free=self.rooms.free - used, count=self.rooms.count - self.now.sum(axis=0))
        overfull = bool((waiting.free < 0).any())
        if not overfull:
            packed = self._packed(waiting, None, options, clock)
            if packed.complete:
                return Answer(self._solution(self.now + packed.placed), bound=0.0, info={"bound_by": BY_TOTALS})
        one_each = np.ones(len(self.now), dtype=np.int64)
        shared = self.kinds.shared(one_each)
        if self.kinds.refuted(one_each, shared) is not None:
            return Answer(None, termination="infeasible", reason=SHORT_OF_ROOM, info={"bound_by": BY_TOTALS})
        if not self.data.movable and overfull:
            return Answer(None, termination="infeasible", reason="a node has no room for its own pods")
        start = None
        if self.data.movable:
            packed = self._packed(self.rooms, shared, options, clock)
            if packed.complete:
                start = packed.placed
                report(self._solution(start), 0.0)
        return self._fewest(start, options, report, clock)

    def _packed(self, rooms: Rooms, shared: SharedOut | None, options: Options, clock: Stopwatch) -> Packed:
        """The best of a few packings into rooms."""
        starts = [rooms.by_direction()]
        if shared is not None:
            starts.append(rooms.by_share(np.arange(len(rooms.free)), shared.share))
        best = min(starts, key=lambda packed: packed.size)
        if not best.complete:
            best = rooms.by_ejection(best, EJECTIONS, options.seed)
        return rooms.by_parts(best, options, clock, PARTS if shared is not None else 0)

    def _fewest(self, start: IntArray | None, options: Options, report: Report, clock: Stopwatch) -> Answer:
        """The integer program: x_mc pods of class c on node m, of which s_mc stay."""
        rooms, program = self.rooms, _Moves(self.rooms, self.now, self.data.movable)

        def watch(x: FloatArray | None, bound: float | None) -> None:
            proven = None if bound is None else float(max(0, whole_bound(bound)))
            placed = None if x is None else program.placed(x)
            report(None if placed is None or not rooms.holds(placed) else self._solution(placed), proven)

        left = None if options.time_limit is None else max(clock.remaining_s, 1e-3)
        known = None if start is None else program.point(start)
        solved = solve_arrays(program.model, replace(options, time_limit=left), start=known, watch=watch)
        placed = start if solved.x is None else program.placed(solved.x)
        if placed is not None and not rooms.holds(placed):
            placed = start
        return Answer(
            solution=None if placed is None else self._solution(placed),
            bound=None if solved.bound is None else float(max(0, whole_bound(solved.bound))),
            termination=solved.termination,
            reason=NO_PLACEMENT if solved.termination == "infeasible" else solved.reason,
            trace=solved.trace,
            info={**solved.info, "bound_by": BY_PROGRAM},
        )

    def _solution(self, placed: IntArray) -> Solution:
        """Which pods are where: of a class those that are in place stay, and others take what is left."""
        data = self.data
        on_node: list[dict[str, int]] = [{} for _ in data.nodes]
        for c, members in enumerate(self.members):
            names = [data.pods[entry].name for entry in members]
            others = {data.pods[entry].name: data.pods[entry].count for entry in members}
            room = placed[:, c].tolist()
            for m, node in enumerate(data.nodes):
                for name in names:
                    staying = min(room[m], node.pods.get(name, 0))
                    on_node[m][name] = staying
                    room[m] -= staying
                    others[name] -= staying
            for m, on_it in enumerate(on_node):
                for name in names:
                    coming = min(room[m], others[name])
                    on_it[name] += coming
                    room[m] -= coming
                    others[name] -= coming
        return {
            "nodes": {
                node.name: {name: n for name, n in on_it.items() if n}
                for node, on_it in zip(data.nodes, on_node, strict=True)
                if any(on_it.values())
            }
        }


@dataclass(frozen=True)
class _Moves:
    """The integer program of the fewest moves from `now` (M, N) to all pods in the rooms."""

    rooms: Rooms
    now: IntArray
    movable: bool

    @cached_property
    def model(self) -> LinearModel:
        rooms, (m, n) = self.rooms, self.now.shape
        (room, task), (where, what) = self.places, np.nonzero(self.now)
        resources, x, s = rooms.free.shape[1], len(room), len(where)
        scale = np.maximum(1, rooms.free.max(axis=0))
        rows, columns, values = [task], [np.arange(x)], [np.ones(x)]
        for r in range(resources):
            rows.append(n + r * m + room)
            columns.append(np.arange(x))
            values.append(rooms.need[0][task, r] / scale[r])
        height = n + resources * m
        column_of = {place: j for j, place in enumerate(zip(room.tolist(), task.tolist(), strict=True))}
        stays = [column_of.get(place) for place in zip(where.tolist(), what.tolist(), strict=True)]
        for i, j in enumerate(stays):  # s_mc <= x_mc
            rows.append(np.full(2 if j is not None else 1, height + i))
            columns.append(np.array([x + i] if j is None else [x + i, j]))
            values.append(np.array([1.0] if j is None else [1.0, -1.0]))
        held = self.now[where, what].astype(float)
        return LinearModel(
            cost=np.concatenate([np.zeros(x), -np.ones(s)]),
            offset=float(held.sum()),
            matrix=sparse.csc_array(
                (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(height + s, x + s)
            ),
            row_lower=np.concatenate([rooms.count, np.full(height - n + s, -math.inf)]),
            row_upper=np.concatenate([rooms.count, (rooms.free / scale).T.ravel() + 1e-9, np.zeros(s)]),
            lower=np.concatenate([np.zeros(x), np.zeros(s) if self.movable else held]),
            upper=np.concatenate([rooms.count[task].astype(float), held]),
            integer=True,
        )

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """The rooms and classes of the variables x."""
        fits = np.logical_and.reduce(self.rooms.need[0] <= self.rooms.free[:, None, :], axis=2)
        room, task = np.nonzero(fits)
        return room, task

    def placed(self, x: FloatArray) -> IntArray:
        """The pods on each node (M, N)."""
        found = np.zeros_like(self.now)
        found[self.places] = np.round(x[: len(self.places[0])]).astype(np.int64)
        return found

    def point(self, placed: IntArray) -> FloatArray:
        """The values of all variables of a placement."""
        where = np.nonzero(self.now)
        return np.concatenate([placed[self.places], np.minimum(placed[where], self.now[where])]).astype(float)


def build_node_placement(data: NodePlacement) -> ConcreteModel:
    """x_p_n: pods of entry p on node n. s_p_n: those of them that were there before."""
    from pyomo.environ import ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

    model = ConcreteModel(name="node-placement")
    pods, nodes = list(enumerate(data.pods)), list(enumerate(data.nodes))
    model.at = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if data.holds_one(pod, node)])
    model.here = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if node.pods.get(pod.name)])
    model.x = Var(model.at, domain=NonNegativeIntegers)
    model.s = Var(model.here, domain=NonNegativeIntegers)

    def on(m: Any, p: int, n: int) -> Any:
        return m.x[p, n] if (p, n) in m.at else 0

    def room(m: Any, n: int, r: str) -> Any:
        held = [data.pods[p].demand[r] * m.x[p, k] for p, k in m.at if k == n and data.pods[p].demand[r]]
        return sum(held) <= data.nodes[n].capacity[r] if held else Constraint.Skip

    def stay(m: Any, p: int, n: int) -> Any:
        return m.s[p, n] <= on(m, p, n)

    def were(m: Any, p: int, n: int) -> Any:
        number = data.nodes[n].pods[data.pods[p].name]
        return m.s[p, n] <= number if data.movable else m.s[p, n] == number

    def at_most(m: Any, p: int, n: int) -> Any:
        most = data.pods[p].max_per_node
        return m.x[p, n] <= most if most is not None else Constraint.Skip

    def apart(m: Any, g: int, n: int) -> Any:
        group = data.spread[g]
        held = [m.x[p, n] for p, pod in pods if pod.name in group.tasks and (p, n) in m.at]
        return sum(held) <= group.max_per_instance if held else Constraint.Skip

    were_there = sum(n for node in data.nodes for n in node.pods.values())
    model.moved = Objective(expr=were_there - sum(model.s[i] for i in model.here), sense=minimize)
    model.all = Constraint(range(len(pods)), rule=lambda m, p: sum(on(m, p, n) for n, _ in nodes) == data.pods[p].count)
    model.room = Constraint(range(len(nodes)), data.resources, rule=room)
    model.stay, model.were = Constraint(model.here, rule=stay), Constraint(model.here, rule=were)
    model.at_most = Constraint(model.at, rule=at_most)
    model.apart = Constraint(range(len(data.spread)), range(len(nodes)), rule=apart)
    return model


@method("exact", name="literal")
def literal_node_placement(data: NodePlacement, options: Options, report: Report) -> Answer:
    """Solve the model with HiGHS."""
    from models.literal import solve_literal  # slow to import, for Pyomo

    def read(data: NodePlacement, values: Mapping[tuple[str, Any], float]) -> dict[str, Any]:
        placed: dict[str, dict[str, int]] = {}
        for (name, index), value in values.items():
            if name == "x" and value > 0.5:
                placed.setdefault(data.nodes[index[1]].name, {})[data.pods[index[0]].name] = round(value)
        return {"nodes": placed}

    def proven(bound: float) -> float:
        return max(0.0, float(whole_bound(bound)))

    return solve_literal(data, build_node_placement, read, options, report, proven)
