"""Certificates of Eva's packing: a tree over linear programs of patterns, each leaf with its duals in whole numbers.

Patterns come by pricing (Gilmore and Gomory, 1961), by the exact search that whoever verifies the tree uses as well.
Branching is on what is counted over types: instances, spending, tasks placed; of the candidates the one whose children
gain most in the linear program of the patterns so far (strong branching).
"""

from __future__ import annotations

import heapq
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from instances import Options, Solution, Stopwatch
from instances.certificates import Certificate, digest
from instances.certificates.header import VERSION
from instances.eva import EvaPacking
from instances.eva.certificate import Branch, Decision, Leaf, Packing
from instances.fields import STEPS
from models.eva.branching_program import BranchingProgram, Relaxed

BITS = 42  # a dual has about so many bits at most, for the exact search to hold
ROUNDS = 400  # of pricing in one node
CLOSE = 1e-7  # reduced costs, as a share of the price, that are left to the scale
CANDIDATES = 6  # branches of each kind whose children are solved
DEARER = 16  # factor by which what is left out becomes dearer where it is worth its price


def certificate(data: EvaPacking, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound that the limits allow. Raises NoCertificate where there is none."""
    tree = _Tree(data, bound, options)
    tree.grow()
    nodes, leaves = tree.written(), sum(node.children is None for node in tree.nodes)
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
class _Node:
    """A node with the best duals known, its own or those of its parent, and what they prove."""

    decisions: tuple[Decision, ...]
    leaf: Leaf
    bound: int
    branch: Branch | None = None
    children: tuple[int, int] | None = None


class _Tree:
    """The tree: its nodes, the root first."""

    def __init__(self, data: EvaPacking, bound: float, options: Options) -> None:
        self.packing, self.options = Packing(data), options
        self.target = math.ceil(Fraction(bound) * STEPS / self.packing.unit - Fraction(1, 1000))
        self.clock = Stopwatch(options.time_limit)
        self.program = BranchingProgram(self.packing, options)
        self.start = 1 << max(0, BITS - max(self.packing.price).bit_length())
        nothing = Leaf(scale=1, tasks=(0,) * len(self.packing.count), decisions=(), value=0)
        self.nodes = [_Node((), nothing, 0)]

    @property
    def bound(self) -> int:
        """What the leaves prove together."""
        return min(node.bound for node in self.nodes if node.children is None)

    def grow(self) -> None:
        """Branch, worst bound first, until every leaf reaches the target or a limit ends it."""
        ticket = count()
        heap = [(0, next(ticket), 0)]
        while heap and heap[0][0] < self.target and not self._over:
            place = heapq.heappop(heap)[2]
            node = self.nodes[place]
            relaxed = self._relax(node)
            if node.bound >= self.target or self._over:
                continue
            branch = self._branch(node, relaxed)
            if branch is None:
                continue
            node.branch, node.children = branch, (len(self.nodes), len(self.nodes) + 1)
            for side in self.packing.sides(branch):
                leaf = node.leaf.model_copy(update={"decisions": (*node.leaf.decisions, 0)})
                heapq.heappush(heap, (node.bound, next(ticket), len(self.nodes)))
                self.nodes.append(_Node((*node.decisions, side), leaf, node.bound))

    @property
    def _over(self) -> bool:
        return self.clock.expired or (self.options.effort is not None and len(self.nodes) > self.options.effort)

    def _relax(self, node: _Node) -> Relaxed:
        """Solve the linear program of a node with patterns by pricing, and keep the best duals on the way."""
        self.program.set(node.decisions)
        for _ in range(ROUNDS):
            relaxed = self.program.solve()
            grown = self._price(node, relaxed)
            if node.bound >= self.target or self.clock.expired:
                break
            if grown:
                continue
            if not relaxed.short:
                break
            self.program.raise_shortage(DEARER)
        return relaxed

    def _price(self, node: _Node, relaxed: Relaxed) -> bool:
        """Make the duals of a linear program whole and feasible; whether pricing gave new patterns."""
        packing, scale = self.packing, self.start
        largest = max(1.0, *relaxed.tasks, *(abs(d) for d in relaxed.decisions))
        while scale > 1 and largest * scale >= 2.0 ** (BITS + 1):
            scale //= 2
        tasks = [int(y * scale) for y in relaxed.tasks]
        weighed = [(d, int(y * scale)) for d, y in zip(node.decisions, relaxed.decisions, strict=True)]
        worth, mu = packing.worths(tasks, weighed)
        raised, grown = scale, False
        for k, price in enumerate(packing.price):
            target = max(0, scale * price - mu[k])
            most, pattern = packing.best(k, worth[k], target)
            if pattern and most - target > CLOSE * scale * price:
                grown |= self.program.add(k, pattern)
            raised = max(raised, -(-(most + mu[k]) // price))
        value = packing.value(tasks, weighed)
        bound = packing.bound(raised, value)
        if bound > node.bound or not node.leaf.value:
            node.bound = max(bound, node.bound)
            node.leaf = Leaf(scale=raised, tasks=tuple(tasks), decisions=tuple(d for _, d in weighed), value=value)
        return grown

    def _branch(self, node: _Node, relaxed: Relaxed) -> Branch | None:
        """The branch whose children gain most; `None` where everything that is counted is whole."""
        best: tuple[float, Branch] | None = None
        self.program.set(node.decisions)
        for branch in self.program.candidates(relaxed, CANDIDATES):
            gains = []
            for side in self.packing.sides(branch):
                self.program.set((*node.decisions, side))
                gains.append(max(self.program.solve().value - relaxed.value, 1e-3))
            score = math.prod(min(gain, self.target) for gain in gains)
            if best is None or score > best[0]:
                best = score, branch
        return None if best is None else best[1]

    def written(self) -> list[dict[str, object]]:
        """The nodes in JSON form."""
        found: list[dict[str, object]] = []
        for node in self.nodes:
            if node.branch is None:
                found.append({"leaf": node.leaf.model_dump()})
            else:
                found.append({"branch": node.branch.model_dump(), "children": node.children})
        return found
