"""Branch and bound on the starts of jobs, with rows, columns and cuts generated at every node as at the root.

A job that the relaxation starts at several times starts until its mean time or later. The nodes of the least bound come
first, and what prices exclude at a node is excluded below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, IntArray
from models.sia.columns import SCALE, ceiling
from models.sia.parameters import DEFAULTS, ExactParameters
from models.sia.relaxation import Relaxation
from models.sia.rows import Row


@dataclass
class Node:
    """A node: the rows of a positive price with their prices, SCALE times, and the `bound` they prove, SCALE times.

    `undecided`: a job to branch on, and the delay at which; `children`: their places, once it is branched on.
    `without`: a job that has no start left. `packed`: the starts that are open below the node, as bits. `support`: the
    columns of the solution.
    """

    priced: list[tuple[Row, int]]
    bound: int
    undecided: tuple[int, int] | None
    packed: bytes
    support: IntArray
    without: int | None = None
    children: tuple[int, int] | None = None


class StartTree:
    """The tree of a relaxation that has converged: `nodes`, the root first, where the columns open now are open."""

    def __init__(self, relaxation: Relaxation, delay: int, parameters: ExactParameters = DEFAULTS) -> None:
        self.relaxation, self.columns, self.parameters = relaxation, relaxation.columns, parameters
        root = self._node()
        if not self.columns.every_job_open():
            root = self._without(delay)
        self.nodes = [root]
        self._waiting = [(root.bound, 0)]
        self._fathomed: list[int] = []

    @property
    def bound(self) -> int:
        """The least bound of the leaves, in steps."""
        return ceiling(min([bound for bound, _ in self._waiting[:1]] + self._fathomed))

    @property
    def settled(self) -> bool:
        """Whether the leaf of the least bound is one that cannot be branched on."""
        return bool(self._fathomed) and (not self._waiting or min(self._fathomed) <= self._waiting[0][0])

    def open_below(self, delay: int) -> BoolArray:
        """The starts that are open in some leaf that may contain a schedule of less `delay`, in steps."""
        found = np.zeros(len(self.columns.open), dtype=bool)
        for node in self.nodes:
            if node.children is None and node.without is None and node.bound <= (delay - 1) * SCALE:
                found |= _unpacked(node.packed, len(found))
        return found

    def expand(self, delay: int, target: int, clock: Stopwatch, seen: Callable[[], None] = lambda: None) -> bool:
        """Branch on the leaf of the least bound; whether more can be done before the time is over.

        `delay`: the delay of the best schedule, in steps; `target`: the bound in steps that is worth no more work;
        `seen`: called after each linear program.
        """
        if not self._waiting:
            return False
        bound, place = heappop(self._waiting)
        node = self.nodes[place]
        children: list[Node] = []
        if node.undecided is not None:
            for early in (True, False):
                child = self._solved(node, early, delay, target, clock, seen)
                if child is None:
                    break
                children.append(child)
        if len(children) == 2:
            node.children, node.packed = (len(self.nodes), len(self.nodes) + 1), b""
            node.support = np.zeros(0, dtype=np.int64)
            for child in children:
                heappush(self._waiting, (max(bound, child.bound), len(self.nodes)))
                self.nodes.append(child)
            return True
        if node.undecided is None:
            self._fathomed.append(bound)
            return bool(self._waiting)
        heappush(self._waiting, (bound, place))
        return False

    def _solved(
        self, node: Node, early: bool, delay: int, target: int, clock: Stopwatch, seen: Callable[[], None]
    ) -> Node | None:
        """A child of a node; `None` where the time is over."""
        columns, relaxation, p = self.columns, self.relaxation, self.parameters
        assert node.undecided is not None
        job, until = node.undecided
        left = _unpacked(node.packed, len(columns.open))
        mine = slice(columns.offset[job], columns.offset[job + 1])
        left[mine] &= (columns.delay[mine] <= until) == early
        columns.open = left.copy()
        if not columns.every_job_open():
            return self._without(delay)
        relaxation.take([row for row, _ in node.priced], node.support)
        found: Node | None = None
        accuracy, cuts = p.bound_accuracy, 0
        while True:
            columns.open = left.copy()
            relaxation.charge_closed(delay + 1)
            if not relaxation.converge(delay, clock, accuracy):
                return found
            seen()
            if found is None or found.undecided is None or relaxation.proven > found.bound:
                found = self._node()
            columns.open = left.copy()
            if ceiling(found.bound) >= target:
                return found
            if found.undecided is None and accuracy:
                accuracy = 0.0  # a solution that looks whole before all rows are there
            elif found.undecided is None or cuts == p.node_cuts or not relaxation.cut():
                return found
            else:
                cuts += 1

    def _node(self) -> Node:
        """The node of the relaxation as it is."""
        r = self.relaxation
        return Node(r.priced, r.proven, r.undecided(), _packed(self.columns.open), r.support)

    def _without(self, delay: int) -> Node:
        """A node in which a job has no start left: no schedule there is better than the best one."""
        open_ = np.logical_or.reduceat(self.columns.open, self.columns.offset[:-1])
        return Node([], delay * SCALE, None, b"", np.zeros(0, dtype=np.int64), int(open_.argmin()))


def _packed(open_: BoolArray) -> bytes:
    return np.packbits(open_).tobytes()


def _unpacked(packed: bytes, count: int) -> BoolArray:
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).astype(bool)
