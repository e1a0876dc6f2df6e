"""Branch and bound on the starts of jobs, with rows, columns and cuts generated at every node.

A job with several starts in the relaxation either starts at its mean start or earlier, or later. The node with the
lowest bound is processed first. Columns that are closed at a node by reduced cost are closed in its subtree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from instances import Stopwatch
from instances.arrays import IntArray
from instances.result import Termination
from models.core.highs import OutOfTime
from models.core.tree import Node, Tree
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.proof import OracleProof
from models.sia.relaxation import StartRelaxation
from models.sia.rows import SCALE, Multipliers, round_up
from models.sia.search import advance, schedule_in_order


class StartDecision(NamedTuple):
    """Job `job` waits at most `until` steps (`early`), or longer."""

    job: int
    until: int
    early: bool


@dataclass(frozen=True)
class OpenStarts:
    """The open columns below a node as packed bits, the `support` of its solution, and the branching decision.

    `undecided` is a job and a delay to branch on; `None` if every job has a single start.
    """

    open: bytes
    support: IntArray
    undecided: tuple[int, int] | None


StartNode = Node[int, StartDecision, Multipliers, OpenStarts]
"""A node with its bound, in units of 1/SCALE, and the multipliers that prove it."""


def branch(proof: OracleProof, relaxation: StartRelaxation) -> Termination:
    """Grow a tree over the starts of all jobs until the gap is closed or a limit is reached."""

    def sample() -> None:
        _offer_sample(proof, relaxation)

    while relaxation.choose_branching() is None:
        if not relaxation.converge(proof.delay, proof.clock):
            return proof.limit or "time_limit"
        sample()
        if relaxation.choose_branching() is None and not relaxation.add_covers():
            break
    if proof.is_closed or proof.limit is not None:
        return "finished" if proof.is_closed else proof.limit or "finished"
    relaxation.close_columns(proof.delay)
    tree, has_leaves = StartTree(relaxation, proof.delay, proof.parameters), True
    while has_leaves and not proof.is_closed and proof.limit is None:
        proof.nodes += 1
        has_leaves = tree.expand(proof.delay, proof.delay, proof.clock, sample)
        proof.raise_bound(min(tree.proven, proof.delay))
        proof.info |= {"nodes": len(tree.nodes)}
    return "finished" if proof.is_closed else proof.limit or "finished"


def _offer_sample(proof: OracleProof, relaxation: StartRelaxation) -> None:
    """Offer a sample of the relaxation's solution, or a schedule in the order of its starts if it is infeasible."""
    sample = relaxation.sample_starts(proof.rng)
    starts: IntArray | None = sample.astype(np.int64)
    if not proof.arrays.feasible(sample.astype(np.int64)):
        starts = schedule_in_order(proof.arrays, sample, proof.parameters)
    if starts is not None:
        proof.offer(advance(proof.arrays, starts, proof.clock))


class StartTree:
    """The tree of a converged relaxation; the columns that are open now are open at its root.

    - `relaxation`: the relaxation, which every node changes.
    - `delay`: delay of the best schedule, in steps.
    - `parameters`: parameters of the method.
    """

    def __init__(self, relaxation: StartRelaxation, delay: int, parameters: OracleParameters = DEFAULTS) -> None:
        self.relaxation, self.columns, self.parameters = relaxation, relaxation.columns, parameters
        self.delay = self.target = delay
        self.clock = Stopwatch()
        self.on_solution: Callable[[], None] = lambda: None
        self.tree: Tree[int, StartDecision, Multipliers, OpenStarts] = Tree(self, Node(0))
        self.nodes = self.tree.nodes

    @property
    def proven(self) -> int:
        """The bound that the leaves prove, in steps."""
        bound = self.tree.bound
        return self.delay if bound is None else round_up(bound)

    @property
    def enough(self) -> int:
        """The bound from which on a node needs no more work, in units of 1/SCALE."""
        return (self.target - 1) * SCALE + 1

    def expand(self, delay: int, target: int, clock: Stopwatch, on_solution: Callable[[], None] = lambda: None) -> bool:
        """Branch on the leaf with the lowest bound, and return whether work and time remain.

        - `delay`: delay of the best schedule, in steps.
        - `target`: bound in steps from which on no work remains.
        - `clock`: time limit.
        - `on_solution`: called after each solution of a relaxation.
        """
        self.delay, self.target, self.clock, self.on_solution = delay, target, clock, on_solution
        return self.tree.expand()

    def branch(self, node: StartNode) -> Sequence[StartNode]:
        """Return the two children of a node, none if every job has a single start."""
        assert node.state is not None
        if node.state.undecided is None:
            return []
        return [node.child(StartDecision(*node.state.undecided, early), node.state) for early in (True, False)]

    def bound(self, node: StartNode) -> None:
        """Bound a node, starting from the parent's rows, multipliers and columns; the root is already bounded.

        The volume algorithm bounds nodes with many open starts. Otherwise, the linear program is solved with its closed
        columns penalised, and cuts are added.
        """
        columns, relaxation, p = self.columns, self.relaxation, self.parameters
        parent, is_open = node.state, columns.open
        if parent is not None:
            job, until, early = node.decisions[-1]
            packed, own = np.frombuffer(parent.open, dtype=np.uint8), slice(*columns.offset[job : job + 2])
            is_open = np.unpackbits(packed, count=len(is_open)).astype(bool)
            is_open[own] &= (columns.delay[own] <= until) == early
            columns.open = is_open.copy()
        if not columns.has_open_starts():  # no schedule below this node is better than the best one
            node.empty, node.state = True, None
            return
        if parent is None:
            self._update(node)
            return
        if is_open.sum() >= p.ascent_starts_per_job * relaxation.jobs and self._bound_by_ascent(node):
            return
        columns.open = is_open.copy()
        relaxation.add_missing([row for row, _ in node.proof or []], parent.support)
        accuracy, cuts, state = p.bound_accuracy, 0, parent
        proven: int | None = None
        while True:
            columns.open = is_open.copy()
            relaxation.penalise_closed(self.delay + 1)
            if not relaxation.converge(self.delay, self.clock, accuracy):
                if proven is None:
                    raise OutOfTime("the time limit is reached before the relaxation is solved")
                return
            self.on_solution()
            if proven is None or state.undecided is None or relaxation.last_bound > proven:
                proven, state = relaxation.last_bound, self._update(node)
            columns.open = is_open.copy()
            if round_up(proven) >= self.target:
                return
            if state.undecided is None and accuracy:
                accuracy = 0.0  # the solution looks integral although some rows are missing
            elif state.undecided is None:
                if not relaxation.add_covers():
                    return
            elif cuts == p.max_node_cuts or not relaxation.add_cuts():
                return
            else:
                cuts += 1

    def _bound_by_ascent(self, node: StartNode) -> bool:
        """Bound a node by the volume algorithm; return whether the bound suffices or the node can be branched on.

        No column closes before the end, so that the last multipliers prove the bound by themselves.
        """
        relaxation = self.relaxation
        relaxation.start_ascent(node.proof or [])
        for cuts in range(self.parameters.max_node_cuts + 1):
            if not relaxation.ascend(self.delay, self.target, self.clock):
                if cuts == 0:
                    raise OutOfTime("the time limit is reached before the node is bounded")
                break
            if round_up(relaxation.last_bound) >= self.target or cuts == self.parameters.max_node_cuts:
                break
            if not relaxation.extend_ascent():
                break
        self.on_solution()
        relaxation.close_columns(self.delay)
        relaxation.forget_closed()
        state = self._update(node)
        return round_up(relaxation.last_bound) >= self.target or state.undecided is not None

    def _update(self, node: StartNode) -> OpenStarts:
        """Store the bound, the multipliers and the solution of the relaxation in a node."""
        r = self.relaxation
        node.bound, node.proof = max(node.bound, r.last_bound), r.multipliers
        node.state = OpenStarts(np.packbits(self.columns.open).tobytes(), r.support, r.choose_branching())
        return node.state
