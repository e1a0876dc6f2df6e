"""One search tree for all exact methods that branch: nodes, their bounds, what these rest on, and what is still open.

A problem bounds a node and names its children; the tree keeps the order. All nodes stay, from the root by `children`
down to the leaves, whose proofs together prove the bound of the tree: this is what a certificate is written from. A
restart is a new tree from the same root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

from instances.result import Termination
from models.highs import OutOfTime, SolveFailed

B = TypeVar("B", int, float, Fraction)
D = TypeVar("D")
P = TypeVar("P")
S = TypeVar("S")


@dataclass(eq=False)
class Node(Generic[B, D, P, S]):
    """A node of a tree in which `bound` holds for all that obeys its `decisions`.

    - `proof`: what the bound rests on, the parent's until the node has its own.
    - `empty`: nothing obeys the decisions, which the proof says then.
    - `state`: what the problem keeps to branch from; given up once that is done.
    - `guess`: of nodes of one bound the one of the least guess comes first.
    - `children`: their places in the tree.
    """

    bound: B
    decisions: tuple[D, ...] = ()
    proof: P | None = None
    empty: bool = False
    state: S | None = None
    guess: float = 0.0
    children: tuple[int, ...] = ()

    def child(self, decision: D, state: S | None = None, guess: float = 0.0) -> Node[B, D, P, S]:
        """The node with one more decision, not yet bounded by itself."""
        return Node(self.bound, (*self.decisions, decision), self.proof, state=state, guess=guess)


class BranchingProblem(Protocol[B, D, P, S]):
    """What a tree asks of the problem that it solves, a minimisation."""

    @property
    def enough(self) -> B:
        """The least bound at which a node needs no more work; it may fall while the tree grows."""

    def bound(self, node: Node[B, D, P, S]) -> None:
        """Raise the bound of a node or find it empty, set its proof, and keep the state that branching needs.

        Raises OutOfTime where there is no time for it.
        """

    def branch(self, node: Node[B, D, P, S]) -> Sequence[Node[B, D, P, S]]:
        """The children of a node, none where it cannot be branched on. Raises OutOfTime as `bound` does."""


class Tree(Generic[B, D, P, S]):
    """The `nodes` of a search, the root first.

    Parameters:

    - `problem`: bounds nodes and branches on them.
    - `root`: what the tree begins with.
    - `eager`: whether children are bounded when they are made, which puts them in the right order; or else each when
      it is its turn, right before it is branched on, where a linear program stands at it then; of equals the latest
      comes first then.
    - `deep`: whether the latest node comes first, and not that of the least bound.
    """

    def __init__(
        self, problem: BranchingProblem[B, D, P, S], root: Node[B, D, P, S], *, eager: bool = True, deep: bool = False
    ) -> None:
        self.problem: BranchingProblem[B, D, P, S] = problem
        self.nodes: list[Node[B, D, P, S]] = []
        self._eager, self._deep = eager, deep
        self._open: list[tuple[Any, ...]] = []
        self._closed: B | None = None  # the least bound of the leaves that are not branched on
        if eager:
            with suppress(SolveFailed):  # the root stays as it is then, and open
                problem.bound(root)
        self._enter(root)

    @property
    def bound(self) -> B | None:
        """What the leaves prove together; `None` where all are empty."""
        found = self._closed
        for node in self._least_open():
            found = node.bound if found is None else min(found, node.bound)
        return found

    @property
    def settled(self) -> bool:
        """Whether more work raises the bound no more: a leaf of the least bound is not branched on."""
        return self._closed is not None and all(self._closed <= node.bound for node in self._least_open())

    @property
    def done(self) -> bool:
        """Whether all open nodes have a bound that is enough."""
        return all(node.bound >= self.problem.enough for node in self._least_open())

    @property
    def leaves(self) -> Iterator[Node[B, D, P, S]]:
        """The nodes that are not branched on, open ones among them."""
        return (node for node in self.nodes if not node.children)

    def expand(self) -> bool:
        """Take the next node and branch on it; whether that was done.

        A node stays open where the time is over before all its children are bounded, or where a solve fails.
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

    def _least_open(self) -> list[Node[B, D, P, S]]:
        """The open node of the least bound, if there is one; depth first all of them."""
        return [self.nodes[entry[-1]] for entry in (self._open if self._deep else self._open[:1])]

    def _enter(self, node: Node[B, D, P, S]) -> None:
        self.nodes.append(node)
        if not node.empty:
            self._push(len(self.nodes) - 1)

    def _push(self, place: int) -> None:
        node = self.nodes[place]
        latest = place if self._eager else -place
        heappush(self._open, (-place, place) if self._deep else (node.bound, node.guess, latest, place))
