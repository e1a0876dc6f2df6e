"""Certificates of Eva's packing: a tree over linear programs of patterns, each leaf with its duals in whole numbers.

That of a net saving is of the program of all patterns that save, in VIPR; the following is on the cost.

The tree is that of the method that solves, each of whose leaves is priced by the exact search that whoever verifies the
tree uses as well. What falls short, or where there is no such tree, is grown on here: patterns come by that search
(Gilmore and Gomory, 1961), and branching is on what is counted over types: instances, spending, tasks placed; of the
candidates the one whose children gain most in the linear program of the patterns so far (strong branching).
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from instances import Options, Solution, Stopwatch
from instances.certificates import Certificate, NoCertificate, digest
from instances.certificates.header import VERSION
from instances.eva import EvaPacking
from instances.eva.certificate import Branch, Decision, Leaf, Packing
from instances.eva.limited_saving_program import LimitedSavingProgram, saving_program
from instances.fields import STEPS
from models.derivation import certified
from models.eva.branching_program import BranchingProgram, Relaxed
from models.eva.grown import Grown, grown
from models.highs import SolveFailed

BITS = 40  # a dual has about so many bits at most, for the exact search to hold
ROUNDS = 400  # of pricing in one node
FEW_STEPS, MANY_STEPS = 100_000, 20_000_000  # of a search for a pattern: for one that pays, and to see that none does
CLOSE = 1e-7  # reduced costs, as a share of the price, that are left to the scale
CANDIDATES = 6  # branches of each kind whose children are solved
SHARE = 0.6  # of the time limit is for the tree of the method that solves, the rest for pricing it and growing on
DEARER = 16  # factor by which what is left out becomes dearer where it is worth its price


def certificate(data: EvaPacking, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound that the limits allow. Raises NoCertificate where there is none."""
    if data.objective == "net-saving":
        saving = saving_program(data)
        point = None if solution is None else saving.point(solution)
        ahead = saving.numbers if isinstance(saving, LimitedSavingProgram) else frozenset[int]()
        return certified(data, saving.program(), point, Fraction(bound), options, ahead=ahead)
    tree = ProofTree(data, bound, options)
    limit = None if options.time_limit is None else SHARE * options.time_limit
    if (found := grown(data, tree.packing, solution, tree.target, replace(options, time_limit=limit))) is not None:
        tree.take(found)
    tree.grow()
    nodes = tree.written()
    leaves = sum("leaf" in node for node in nodes)
    content = {
        "gapwise_certificate": VERSION,
        "problem": data.problem,
        "instance": digest(data),
        "unit": tree.packing.unit,
        "bound": tree.bound,
        "nodes": nodes,
    }
    how = f"tree with whole-number duals, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    proven = Fraction(tree.bound * tree.packing.unit, STEPS)
    return Certificate("json", json.dumps(content) + "\n", proven, how)


@dataclass
class _Duals:
    """Whole-number duals: `scale`, of the entries' `tasks` and of the `decisions`."""

    scale: int
    tasks: tuple[int, ...]
    decisions: tuple[int, ...]


@dataclass
class _Node:
    """A node with the best duals known, its own or those of its parent, and what they prove."""

    decisions: tuple[Decision, ...]
    duals: _Duals
    bound: int
    branch: Branch | None = None
    children: tuple[int, int] | None = None


class ProofTree:
    """A tree that proves a bound on the cost, as far as the limits allow: its nodes, the root first."""

    def __init__(self, data: EvaPacking, bound: float, options: Options) -> None:
        self.packing, self.options = Packing(data), options
        self.target = self._units(bound)
        self.clock = Stopwatch(options.time_limit)
        self.program = BranchingProgram(self.packing, options)
        self.start = 1 << max(0, BITS - max(self.packing.price).bit_length())
        limits = self.packing.limits
        self.nodes = [_Node(limits, _Duals(1, (0,) * len(self.packing.count), (0,) * len(limits)), 0)]
        self._open = [(0, 0)]  # bounds and places of the nodes that are not branched on, a heap

    @property
    def bound(self) -> int:
        """What the leaves prove together."""
        return min(node.bound for node in self.nodes if node.children is None)

    def take(self, found: Grown) -> None:
        """Take over a tree: its leaves are priced, and those that fall short are left open, with its patterns."""
        left = [(0, found.root)]
        while left:
            place, part = left.pop()
            node = self.nodes[place]
            if part.tasks is not None and part.decisions is not None:
                self._price(node, part.tasks, part.decisions, MANY_STEPS)
            if part.branch is not None and part.children is not None:
                left += zip(self._split(node, part.branch), part.children, strict=True)
        self._open = [(node.bound, place) for place, node in enumerate(self.nodes) if node.children is None]
        heapq.heapify(self._open)
        if self.bound < self.target:
            for kind, pattern in found.columns:
                self.program.add(kind, pattern)

    def grow(self) -> None:
        """Branch, worst bound first, until every leaf reaches the target or a limit ends it; from where it ended."""
        while self._open and self._open[0][0] < self.target and not self.over:
            place = heapq.heappop(self._open)[1]
            node = self.nodes[place]
            try:
                relaxed = self._relax(node)
                done = node.bound >= self.target or self.over
                branch = None if done else self._branch(node, relaxed)
            except SolveFailed:
                done = True
            if done:
                heapq.heappush(self._open, (node.bound, place))
                continue
            if branch is None:
                continue
            for child in self._split(node, branch):
                heapq.heappush(self._open, (node.bound, child))

    def _split(self, node: _Node, branch: Branch) -> tuple[int, int]:
        """Give a node its children, with what it proves; their places."""
        node.branch, node.children = branch, (len(self.nodes), len(self.nodes) + 1)
        for side in self.packing.sides(branch):
            duals = replace(node.duals, decisions=(*node.duals.decisions, 0))
            self.nodes.append(_Node((*node.decisions, side), duals, node.bound))
        return node.children

    def go_on(self, bound: float, seconds: float) -> None:
        """Grow on towards another bound, for so many seconds."""
        self.target, self.clock = self._units(bound), Stopwatch(seconds)
        self.grow()

    def _units(self, bound: float) -> int:
        return math.ceil(Fraction(bound) * STEPS / self.packing.unit - Fraction(1, 1000))

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        return self.clock.expired or (self.options.effort is not None and len(self.nodes) > self.options.effort)

    def _relax(self, node: _Node) -> Relaxed:
        """Solve the linear program of a node with patterns by pricing, and keep the best duals on the way."""
        self.program.set(node.decisions)
        steps = FEW_STEPS
        for _ in range(ROUNDS):
            relaxed = self.program.solve(self.clock.remaining_s)
            try:
                more, complete = self._price(node, relaxed.tasks, relaxed.decisions, steps)
            except NoCertificate:  # for these duals alone, where others have proved something
                if not node.bound:
                    raise
                break
            if node.bound >= self.target or self.clock.expired:
                break
            if more:
                continue
            if not complete and steps < MANY_STEPS:
                steps = MANY_STEPS
                continue
            if not relaxed.short:
                break
            self.program.raise_shortage(DEARER)
        return relaxed

    def _price(self, node: _Node, duals: Sequence[float], decided: Sequence[float], steps: int) -> tuple[bool, bool]:
        """Make duals of the tasks and of the decisions whole and feasible, and keep them where they prove more.

        Whether pricing, by so many steps of search for each type, gave new patterns, and whether it was complete.
        """
        packing, scale = self.packing, self.start
        largest = max(1.0, *duals, *decided)
        while scale > 1 and largest * scale >= 2.0 ** (BITS + 1):
            scale //= 2
        tasks = [int(y * scale) for y in duals]
        weighed = [(d, int(y * scale)) for d, y in zip(node.decisions, decided, strict=True)]
        worth, mu = packing.worths(tasks, weighed)
        raised, more, complete = scale, False, True
        for k, price in enumerate(packing.price):
            if self.clock.expired:
                return more, False
            target = max(0, scale * price - mu[k])
            best = packing.best(k, worth[k], target, steps)
            if best.pattern and best.worth - target > CLOSE * scale * price:
                more |= self.program.add(k, best.pattern)
            if price:
                raised = max(raised, -(-(best.worth + mu[k]) // price))
            elif best.worth > target:  # no more than the limit are worth too much
                i = next(i for i, (limit, _) in enumerate(weighed) if limit.of == (k,))
                weighed[i] = weighed[i][0], weighed[i][1] + best.worth - target
            complete &= best.complete
        value = packing.value(tasks, weighed)
        if complete and value > raised * node.bound:  # or else no sum of prices above the bound is proven
            node.bound = packing.bound(raised, value)
            node.duals = _Duals(raised, tuple(tasks), tuple(y for _, y in weighed))
        return more, complete

    def _branch(self, node: _Node, relaxed: Relaxed) -> Branch | None:
        """The branch whose children gain most; `None` where everything that is counted is whole."""
        best: tuple[float, Branch] | None = None
        self.program.set(node.decisions)
        for branch in self.program.candidates(relaxed, CANDIDATES):
            gains = []
            for side in self.packing.sides(branch):
                self.program.set((*node.decisions, side))
                gains.append(max(self.program.solve(self.clock.remaining_s).value - relaxed.value, 1e-3))
            score = math.prod(min(gain, self.target) for gain in gains)
            if best is None or score > best[0]:
                best = score, branch
        return None if best is None else best[1]

    def written(self) -> list[dict[str, object]]:
        """The nodes in JSON form, the root first.

        A branch that the leaves on one of its sides make no use of is left out: they prove as much without it.
        """
        kept: dict[int, int | None] = {}  # of each node the child that stands for it, if one does
        used: dict[int, set[int]] = {}  # decisions, by depth, that the leaves under a node use
        for place in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[place]
            if node.children is None:
                used[place], kept[place] = {i for i, y in enumerate(node.duals.decisions) if y}, None
                continue
            depth = len(node.decisions)
            spare = [child for child in node.children if depth not in used[child]]
            kept[place] = spare[0] if spare else None
            used[place] = used[spare[0]] if spare else set().union(*(used[child] for child in node.children))
        found: list[dict[str, object]] = [{}]
        limits = tuple(range(len(self.packing.limits)))
        left = [(0, 0, limits)]  # place, where it goes, depths of its decisions
        while left:
            place, to, depths = left.pop()
            node = self.nodes[place]
            if (instead := kept[place]) is not None:
                left.append((instead, to, depths))
            elif node.branch is None or node.children is None:
                found[to] = {"leaf": self._leaf(node, depths).model_dump()}
            else:
                children = len(found), len(found) + 1
                found[to] = {"branch": node.branch.model_dump(), "children": children}
                found += [{}, {}]
                deeper = (*depths, len(node.decisions))
                left += [(child, at, deeper) for child, at in zip(node.children, children, strict=True)]
        return found

    def _leaf(self, node: _Node, depths: tuple[int, ...]) -> Leaf:
        weighed = [(node.decisions[i], node.duals.decisions[i]) for i in depths]
        value = self.packing.value(node.duals.tasks, weighed)
        return Leaf(
            scale=node.duals.scale,
            tasks=node.duals.tasks,
            decisions=tuple(y for _, y in weighed),
            types=tuple(self.packing.worths(node.duals.tasks, weighed)[1]),
            bound=str(Fraction(value, node.duals.scale)),
        )
