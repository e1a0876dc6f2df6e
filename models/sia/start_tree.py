"""Branch and bound on the starts of jobs, with rows, columns and cuts generated at every node as at the root.

A job that the relaxation starts at several times starts until its mean time or later. The nodes of the least bound come
first, and what prices exclude at a node is excluded below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, IntArray
from models.core.tree import Node, Tree
from models.highs import OutOfTime
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.relaxation import StartRelaxation
from models.sia.rows import SCALE, IntervalRow, ceiling


class StartDecision(NamedTuple):
    """Whether a job waits `until` slots at most (`early`), or longer."""

    job: int
    until: int
    early: bool


@dataclass(frozen=True)
class OpenStarts:
    """What is left at a node: the starts that are `open` below it, as bits, and the columns of the solution, `support`.

    `undecided`: a job to branch on, and the delay at which.
    """

    open: bytes
    support: IntArray
    undecided: tuple[int, int] | None


StartNode = Node[int, StartDecision, list[tuple[IntervalRow, int]], OpenStarts]
"""A node: the rows of a positive price with their prices prove its bound, all SCALE times."""


class StartTree:
    """The tree of a relaxation that has converged; at its root the columns are open that are now.

    `delay`: that of the best schedule, in steps; `target`: the bound in steps from which on no work is left.
    """

    def __init__(self, relaxation: StartRelaxation, delay: int, parameters: OracleParameters = DEFAULTS) -> None:
        self.relaxation, self.columns, self.parameters = relaxation, relaxation.columns, parameters
        self.delay = self.target = delay
        self.clock = Stopwatch()
        self.seen: Callable[[], None] = lambda: None
        self.tree: Tree[int, StartDecision, list[tuple[IntervalRow, int]], OpenStarts] = Tree(self, Node(0))
        self.nodes = self.tree.nodes

    @property
    def proven(self) -> int:
        """What the leaves prove, in steps."""
        bound = self.tree.bound
        return self.delay if bound is None else ceiling(bound)

    @property
    def enough(self) -> int:
        """The bound from which on no work is left, SCALE times."""
        return (self.target - 1) * SCALE + 1

    def expand(self, delay: int, target: int, clock: Stopwatch, seen: Callable[[], None] = lambda: None) -> bool:
        """Branch on the leaf of the least bound; whether more can be done before the time is over.

        `delay`: the delay of the best schedule, in steps; `target`: the bound in steps from which on no work is left;
        `seen`: called after each linear program.
        """
        self.delay, self.target, self.clock, self.seen = delay, target, clock, seen
        return self.tree.expand()

    def branch(self, node: StartNode) -> Sequence[StartNode]:
        """The two halves of a node, none where every job has one start."""
        assert node.state is not None
        if node.state.undecided is None:
            return []
        return [node.child(StartDecision(*node.state.undecided, early), node.state) for early in (True, False)]

    def bound(self, node: StartNode) -> None:
        """Bound a node with the rows and prices, or columns, of the parent's, and cut; the root is bounded already."""
        columns, relaxation, p = self.columns, self.relaxation, self.parameters
        before, left = node.state, columns.open
        if before is not None:
            job, until, early = node.decisions[-1]
            left, mine = _unpacked(before.open, len(left)), slice(columns.offset[job], columns.offset[job + 1])
            left[mine] &= (columns.delay[mine] <= until) == early
            columns.open = left.copy()
        if not columns.every_job_open():  # no schedule there is better than the best one
            node.empty, node.state = True, None
            return
        if before is None:
            self._enter(node)
            return
        if left.sum() >= p.priced_starts * relaxation.jobs and self._by_prices(node):
            return
        columns.open = left.copy()
        relaxation.take([row for row, _ in node.proof or []], before.support)
        accuracy, cuts, here = p.bound_accuracy, 0, before
        proven: int | None = None
        while True:
            columns.open = left.copy()
            relaxation.charge_closed(self.delay + 1)
            if not relaxation.converge(self.delay, self.clock, accuracy):
                if proven is None:
                    raise OutOfTime("the time is over before the relaxation is solved")
                return
            self.seen()
            if proven is None or here.undecided is None or relaxation.proven > proven:
                proven, here = relaxation.proven, self._enter(node)
            columns.open = left.copy()
            if ceiling(proven) >= self.target:
                return
            if here.undecided is None and accuracy:
                accuracy = 0.0  # a solution that looks whole before all rows are there
            elif here.undecided is None:
                if not relaxation.cover():
                    return
            elif cuts == p.node_cuts or not relaxation.cut():
                return
            else:
                cuts += 1

    def _by_prices(self, node: StartNode) -> bool:
        """Bound a node by the volume algorithm, from the parent's prices on; whether it has enough or can branch.

        All prices are of the starts that are open at first, so that the last ones prove the bound by themselves.
        """
        relaxation = self.relaxation
        relaxation.start_from(node.proof or [])
        for cuts in range(self.parameters.node_cuts + 1):
            if not relaxation.ascend(self.delay, self.target, self.clock):
                if cuts == 0:
                    raise OutOfTime("the time is over before the node is bounded")
                break
            if ceiling(relaxation.proven) >= self.target or cuts == self.parameters.node_cuts:
                break
            if not relaxation.extend():
                break
        self.seen()
        relaxation.close(self.delay)
        relaxation.forget_closed()
        found = self._enter(node)
        return ceiling(relaxation.proven) >= self.target or found.undecided is not None

    def _enter(self, node: StartNode) -> OpenStarts:
        """Take what the relaxation proves and has found."""
        r = self.relaxation
        node.bound, node.proof = max(node.bound, r.proven), r.priced
        node.state = OpenStarts(_packed(self.columns.open), r.support, r.undecided())
        return node.state


def _packed(open_: BoolArray) -> bytes:
    return np.packbits(open_).tobytes()


def _unpacked(packed: bytes, count: int) -> BoolArray:
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).astype(bool)
