"""One search tree for all exact methods that branch: its nodes with their bounds and proofs, and the open nodes.

A problem bounds a node and creates its children; the tree selects the next node. All nodes stay in the tree. The proofs
of the leaves together prove the bound of the tree, and a certificate is written from them. A restart is a new tree from
the same root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

from instances.result import Termination
from models.core.highs import OutOfTime, SolveFailed

B = TypeVar("B", int, float, Fraction)
D = TypeVar("D")
P = TypeVar("P")
S = TypeVar("S")


@dataclass(eq=False)
class Node(Generic[B, D, P, S]):
    """A node of a tree. Its `bound` is valid for all solutions that satisfy its `decisions`.

    - `proof`: the proof of the bound; that of the parent until the node has its own.
    - `empty`: whether no solution satisfies the decisions, as the proof then shows.
    - `state`: the data that the problem keeps for branching, dropped afterwards.
    - `guess`: among nodes of equal bound, the one of the smallest guess comes first.
    - `children`: indices of the children in the tree.
    """

    bound: B
    decisions: tuple[D, ...] = ()
    proof: P | None = None
    empty: bool = False
    state: S | None = None
    guess: float = 0.0
    children: tuple[int, ...] = ()

    def child(self, decision: D, state: S | None = None, guess: float = 0.0) -> Node[B, D, P, S]:
        """Return a child with one more decision and the bound of this node."""
        return Node(self.bound, (*self.decisions, decision), self.proof, state=state, guess=guess)


class BranchingProblem(Protocol[B, D, P, S]):
    """A minimisation problem that a tree solves."""

    @property
    def enough(self) -> B:
        """Return the smallest bound at which a node needs no more work; it may fall while the tree grows."""

    def bound(self, node: Node[B, D, P, S]) -> None:
        """Raise the bound of a node or find it empty, set its proof, and keep the state that branching needs.

        Raises OutOfTime if there is no time for it.
        """

    def branch(self, node: Node[B, D, P, S]) -> Sequence[Node[B, D, P, S]]:
        """Return the children of a node, or none if branching is impossible. Raises OutOfTime as `bound` does."""


class Tree(Generic[B, D, P, S]):
    """The `nodes` of a search, the root first.

    Parameters:

    - `problem`: bounds nodes and branches on them.
    - `root`: the first node.
    - `eager`: whether children are bounded at once, so that their order is right. Otherwise a node is bounded just
      before branching, so that a linear program is still at this node. Then the latest of equal nodes comes first.
    - `deep`: whether the latest node comes first, instead of the node of the smallest bound.
    """

    def __init__(
        self, problem: BranchingProblem[B, D, P, S], root: Node[B, D, P, S], *, eager: bool = True, deep: bool = False
    ) -> None:
        self.problem: BranchingProblem[B, D, P, S] = problem
        self.nodes: list[Node[B, D, P, S]] = []
        self._eager, self._deep = eager, deep
        self._open: list[tuple[Any, ...]] = []
        self._closed: B | None = None  # the smallest bound of the leaves that are not branched on
        if eager:
            with suppress(SolveFailed):  # the root then stays open with its bound
                problem.bound(root)
        self._enter(root)

    @property
    def bound(self) -> B | None:
        """Return the bound that the leaves prove together; `None` if all are empty."""
        found = self._closed
        for node in self._find_least_open():
            found = node.bound if found is None else min(found, node.bound)
        return found

    @property
    def is_settled(self) -> bool:
        """Return whether more work cannot raise the bound: a leaf of the smallest bound cannot be branched on."""
        return self._closed is not None and all(self._closed <= node.bound for node in self._find_least_open())

    @property
    def done(self) -> bool:
        """Return whether all open nodes have a sufficient bound."""
        return all(node.bound >= self.problem.enough for node in self._find_least_open())

    @property
    def leaves(self) -> Iterator[Node[B, D, P, S]]:
        """Return the nodes without children, including the open ones."""
        return (node for node in self.nodes if not node.children)

    def expand(self) -> bool:
        """Branch on the next node; return whether this succeeded.

        A node stays open if the time is over before all its children are bounded, or if a solve fails.
        """
        if self.done:
            return False
        place = heappop(self._open)[-1]
        node = self.nodes[place]
        try:
            if not self._eager:
                self.problem.bound(node)
            children = () if node.empty or node.bound >= self.problem.enough else self.problem.branch(node)
            for child in children if self._eager else ():
                self.problem.bound(child)
        except SolveFailed as error:
            self._push(place)
            if isinstance(error, OutOfTime):
                return False
            raise
        if children:
            node.children, node.state = tuple(range(len(self.nodes), len(self.nodes) + len(children))), None
            for child in children:
                self._enter(child)
        elif not node.empty:
            self._closed = node.bound if self._closed is None else min(self._closed, node.bound)
        return True

    def run(self, limit: Callable[[], Termination | None], seen: Callable[[], None] = lambda: None) -> Termination:
        """Branch until no open node needs work, or `limit` is reached; `seen` is called after each node."""
        while not self.done:
            if (reached := limit()) is not None:
                return reached
            if not self.expand():
                return limit() or "time_limit"
            seen()
        return "finished"

    def _find_least_open(self) -> list[Node[B, D, P, S]]:
        """Return the open node of the smallest bound, if any; all open nodes if the search is depth first."""
        return [self.nodes[entry[-1]] for entry in (self._open if self._deep else self._open[:1])]

    def _enter(self, node: Node[B, D, P, S]) -> None:
        self.nodes.append(node)
        if not node.empty:
            self._push(len(self.nodes) - 1)

    def _push(self, place: int) -> None:
        node = self.nodes[place]
        latest = place if self._eager else -place
        heappush(self._open, (-place, place) if self._deep else (node.bound, node.guess, latest, place))
