"""Pods on given nodes: all in place with the fewest moves, or the word that it cannot be.

In turn: the pods that wait into the room that is left, without a move; a sum of weighted resources of which the nodes
have less than the pods take, in whole numbers; all pods into empty nodes; an integer program of the fewest moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.kubernetes import NodePlacement, PlacementArrays
from instances.method import method
from models.bounds import whole_bound
from models.core.rooms import Packed, Rooms
from models.eva.totals import COARSE, SharedOut, TypeTotals
from models.highs import LinearModel, solve_arrays

EJECTIONS, PARTS = 20_000, 10  # steps of repair, and small integer programs, for one packing
BY_TOTALS, BY_PROGRAM = "totals", "HiGHS"
SHORT_OF_ROOM = "all nodes together have less of some weighted sum of resources than the pods take"
NO_PLACEMENT = "HiGHS proves that the nodes cannot hold all pods"


@method("exact")
def exact(data: NodePlacement, options: Options, report: Report) -> Answer:
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
        self.arrays = arrays = PlacementArrays.of(data)
        self.now = arrays.now
        self.kinds = TypeTotals(arrays.packing, COARSE)
        nobody = np.zeros(len(data.nodes), dtype=np.int64)
        self.rooms = Rooms(self.kinds.room, nobody, arrays.packing.demand, arrays.count)

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
                return Answer(self.arrays.solution(self.now + packed.placed), bound=0.0, info={"bound_by": BY_TOTALS})
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
                report(self.arrays.solution(start), 0.0)
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
            report(None if placed is None or not rooms.holds(placed) else self.arrays.solution(placed), proven)

        left = None if options.time_limit is None else max(clock.remaining_s, 1e-3)
        known = None if start is None else program.point(start)
        solved = solve_arrays(program.model, replace(options, time_limit=left), start=known, watch=watch)
        placed = start if solved.x is None else program.placed(solved.x)
        if placed is not None and not rooms.holds(placed):
            placed = start
        return Answer(
            solution=None if placed is None else self.arrays.solution(placed),
            bound=None if solved.bound is None else float(max(0, whole_bound(solved.bound))),
            termination=solved.termination,
            reason=NO_PLACEMENT if solved.termination == "infeasible" else solved.reason,
            trace=solved.trace,
            info={**solved.info, "bound_by": BY_PROGRAM},
        )


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
