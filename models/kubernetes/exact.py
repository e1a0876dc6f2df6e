"""Pods on given nodes: all in place with the fewest moves, proved, or the proof that it cannot be.

In turn: the pods that wait into the room that is left, without a move; a sum of weighted resources of which the nodes
have less than the pods take; all pods packed anew, so that there is an answer; the linear program over contents, which
bounds the moves or says that there is no placement; integer programs over the nodes that it leaves in parts, of which
the last is over all.
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
from models.bounds import whole_bound
from models.core.column_generation import Relaxed
from models.core.outcome import ending
from models.core.rooms import Packed, Rooms
from models.highs import MAX_NODES, OutOfTime, SolveFailed
from models.incumbent import Incumbent
from models.kubernetes.certificate import totals_short_of, whole_duals
from models.kubernetes.contents import NEAR, Contents
from models.kubernetes.moves import MovesProgram

EJECTIONS = 20_000  # steps of repair for one packing
WORK = 500_000_000  # pairs of a node and a class that all of them look at, or the steps are fewer
DIVES = 10
FEW_NODES = 200  # of the tree of a program over some nodes
WIDER, WIDEST = 2, 60  # times as many nodes in the next program, up to so many
BY_TOTALS, BY_CONTENTS, BY_PROGRAM = "totals", "contents", "HiGHS"
NO_PLACEMENT = {
    BY_TOTALS: "all nodes together have less of some weighted sum of resources than the pods take",
    BY_CONTENTS: "whatever the nodes hold, some pods are left over",
    BY_PROGRAM: "HiGHS proves that the nodes cannot hold all pods",
}
OVERFULL = "a node has no room for its own pods, and none may move"


@method("exact")
def exact(data: NodePlacement, options: Options, report: Report) -> Answer:
    """The placement with the fewest moves, proved, or that there is none.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    """
    with Stopwatch(options.time_limit) as clock:
        solved = _PlacementSearch(data, options, report, clock).answer if data.pods else _nothing
        answer = solved()
    return replace(answer, build_s=0.0, solve_s=clock.cpu_s)


def _nothing() -> Answer:
    """Where there are no pods."""
    return Answer({"nodes": {}}, bound=0.0)


class _PlacementSearch:
    """What is found and proved of one instance."""

    def __init__(self, data: NodePlacement, options: Options, report: Report, clock: Stopwatch) -> None:
        self.options, self.clock = options, clock
        self.arrays = arrays = PlacementArrays.of(data)
        self.proof = PlacedPods(data)
        self.rooms = Rooms(arrays.room, np.zeros(len(arrays.room), dtype=np.int64), arrays.need[None], arrays.count)

        def told(placed: IntArray | None, bound: int | None) -> None:
            report(None if placed is None else arrays.solution(placed), None if bound is None else float(bound))

        self.incumbent: Incumbent[IntArray, int] = Incumbent("minimize", clock, told, options.gap, bound=0)
        self.by = BY_CONTENTS

    def answer(self) -> Answer:
        """The answer; see the module."""
        arrays = self.arrays
        if not arrays.data.movable and arrays.overfull.any() | (arrays.room < 0).any():
            return self._none(OVERFULL, BY_TOTALS)
        now = self._from_now()
        if now.complete:
            self._offer(now.placed)
        if self._over:
            return self._answer()
        if totals_short_of(arrays, replace(self.options, time_limit=self.clock.limit_left_s)) is not None:
            return self._none(NO_PLACEMENT[BY_TOTALS], BY_TOTALS)
        starts = [self._packed(self.rooms, now)]
        if not (starts[0].complete or self._over):
            starts.append(self._packed(self.rooms, self.rooms.by_direction()))
        for packed in starts:
            if packed.complete:
                self._offer(packed.placed)
        try:
            refuted = self._bound(starts)
        except OutOfTime:
            refuted = False
        except SolveFailed as error:
            refuted, self.failure = False, str(error)
        if refuted:
            return self._none(NO_PLACEMENT[BY_CONTENTS], BY_CONTENTS)
        if not self._over and not self._program():
            return self._none(NO_PLACEMENT[BY_PROGRAM], BY_PROGRAM)
        return self._answer()

    @property
    def _over(self) -> bool:
        return self.incumbent.closed or self.clock.expired

    def _from_now(self) -> Packed:
        """What is in place, and what waits for room or an overfull node cannot keep in the room that is left."""
        arrays = self.arrays
        kept = arrays.now * ~arrays.overfull[:, None]
        waiting = replace(self.rooms, free=arrays.room - kept @ arrays.need, count=arrays.count - kept.sum(axis=0))
        packed = self._packed(waiting, waiting.by_direction())
        return replace(packed, placed=kept + packed.placed)

    def _packed(self, rooms: Rooms, packed: Packed) -> Packed:
        """A packing, repaired."""
        if not packed.complete:
            steps = min(EJECTIONS, WORK // packed.placed.size)
            packed = rooms.by_ejection(packed, steps, self.options.seed)
        return packed

    def _offer(self, placed: IntArray) -> None:
        self.incumbent.offer(self.arrays.moves(placed), placed)

    def _bound(self, starts: Sequence[Packed]) -> bool:
        """Bound the moves by contents, and look for a placement near that; whether there is proven to be none."""
        arrays = self.arrays
        contents = Contents(arrays, self.options, self.clock)
        for packed in starts:
            contents.add(np.arange(len(arrays.now)), packed.placed)
        none = self.incumbent.solution is None
        try:
            if none and contents.run(whatever=True).short <= NEAR:
                self._dive(contents)  # that there is one comes before the fewest moves
            relaxed = contents.run()
        except OutOfTime:
            if contents.proven > (self.incumbent.bound or 0):
                self._proves(contents, None)
            raise
        if self._proves(contents, relaxed):
            return True
        if relaxed.short <= NEAR:
            if self.incumbent.solution is not None:
                self._dive(contents)
            self._complete(contents, relaxed.x)
        return False

    def _proves(self, contents: Contents, relaxed: Relaxed | None) -> bool:
        """Take what the best duals prove in whole numbers, and the last ones; whether it is that there is no placement.

        The last ones prove most where what says so in floating-point numbers is a search that was broken off.
        """
        for duals in (contents.duals, *([] if relaxed is None else [relaxed.cover])):
            with suppress(NoCertificate):
                bound = self.proof.bound(whole_duals(self.proof, self.arrays, duals))
                if bound is None:
                    return True
                self.incumbent.raise_bound(bound)
                if relaxed is not None and bound >= relaxed.value - NEAR:
                    break
        return False

    def _dive(self, contents: Contents) -> None:
        """Placements near the linear program; the first one, where there is none yet."""
        draw = np.random.default_rng(self.options.seed)
        first = self.incumbent.solution is None
        for _ in range(DIVES):
            best = self.incumbent.objective
            if self._over or (first and best is not None):
                return
            found = contents.dive(math.inf if best is None else best - 1, draw)
            if found is not None:
                found = self._trimmed(found)
                if (found.sum(axis=0) == self.arrays.count).all():
                    self._offer(found)

    def _complete(self, contents: Contents, x: FloatArray) -> None:
        """Placements near a point of the linear program: programs over the nodes in parts there, and over more."""
        arrays = self.arrays
        m = len(arrays.now)
        share = np.zeros(m)
        chosen = np.zeros_like(arrays.now)
        for p in np.argsort(x, kind="stable"):
            share[contents.node[p]], chosen[contents.node[p]] = x[p], contents.content[p]
        draw = np.random.default_rng(self.options.seed)
        order = np.lexsort((draw.random(m), share > 1 - NEAR))  # those in parts first
        some = max(1, int((share <= 1 - NEAR).sum()))
        while not self._over:
            self._fill(chosen, np.sort(order[:some]))
            if some >= min(m, WIDEST):
                break
            some = min(m, WIDEST, WIDER * some)

    def _fill(self, chosen: IntArray, some: IntArray) -> None:
        """A program over some nodes, where the others hold what is chosen."""
        arrays, held = self.arrays, chosen.copy()
        held[some] = 0
        held = self._trimmed(held)
        program = MovesProgram(arrays.now[some], arrays.room[some], arrays.need, arrays.count - held.sum(axis=0))
        solved = program.solved(self.options, self.clock.remaining_s, FEW_NODES)
        placed = None if solved.x is None else program.placed(solved.x)
        if placed is not None:
            held[some] = placed
            self._offer(held)

    def _trimmed(self, held: IntArray) -> IntArray:
        """What nodes hold without the pods of which there are too many, those that came there first."""
        surplus = np.maximum(0, held.sum(axis=0) - self.arrays.count)
        for staying in (np.minimum(held, self.arrays.now), np.zeros_like(held)):
            spare = held - staying
            before = np.cumsum(spare, axis=0) - spare
            gone = np.clip(surplus - before, 0, spare)
            held, surplus = held - gone, surplus - gone.sum(axis=0)
        return held

    def _program(self) -> bool:
        """The program over all nodes; whether there may be a placement."""
        program = MovesProgram(self.arrays.now, self.arrays.room, self.arrays.need, self.arrays.count)

        def watch(x: FloatArray | None, bound: float | None) -> None:
            placed = None if x is None else program.placed(x)
            if placed is not None:
                self._offer(placed)
            if bound is not None:
                self._raise(bound)

        nodes = MAX_NODES if self.options.effort is None else self.options.effort
        solved = program.solved(self.options, self.clock.remaining_s, nodes, self.incumbent.solution, watch)
        watch(solved.x, solved.bound)
        if solved.termination == "error":
            self.failure = solved.reason
        return solved.termination != "infeasible"

    def _raise(self, bound: float) -> None:
        if self.incumbent.raise_bound(max(0, whole_bound(bound))):
            self.by = BY_PROGRAM

    failure: str | None = None

    def _none(self, reason: str, by: str) -> Answer:
        return Answer(None, termination="infeasible", reason=reason, info={"bound_by": by})

    def _answer(self) -> Answer:
        found = self.incumbent
        left = "HiGHS has nothing left to branch on"
        termination, reason = ending(found.closed, self.failure, self.clock.expired, self.options, left)
        return Answer(
            solution=None if found.solution is None else self.arrays.solution(found.solution),
            bound=float(found.bound or 0),
            termination=termination,
            reason=reason,
            trace=[(t, None if z is None else float(z), float(b or 0)) for t, z, b in found.trace],
            info={"bound_by": self.by},
        )
