"""The tree that a certificate of real widths with rescaling times rests on: branching until rational bounds suffice."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import BoolArray
from instances.boa import BoaAllocation
from instances.proofs import NoCertificate
from instances.proofs.boa.run_proof import Decision, RunBounds, RunBranch, RunNode
from models.boa.real_widths.branching import Branch, difference
from models.boa.real_widths.run_dual import Partition, RunDual

SHORT = Fraction(1, 10**9)  # relative: what the proof may be short of the bound that it is to prove
PRICE = 40  # significant bits of a price
NOTHING = 1e-30  # a price up to this is none


@dataclass
class _Node:
    """Policies that obey `decisions`; the best `price` known and the `bound` it proves, `None` without policies."""

    allowed: BoolArray
    decisions: tuple[Decision, ...]
    price: Fraction | None
    bound: Fraction | None
    branch: Branch | None
    children: tuple[int, int] | None = None


class RunTree:
    """Nodes, the root first; the least `bound` of the leaves is proved."""

    def __init__(self, data: BoaAllocation, bound: float, options: Options) -> None:
        self.data, self.dual, self.bounds = data, RunDual(data), RunBounds(data)
        self.clock = Stopwatch(options.time_limit)
        self.nodes: list[_Node] = []
        target = Fraction(bound) * (1 - SHORT)
        self._enter(np.ones(len(self.dual.runs), dtype=bool), ())
        heap = [(self._value(0), 0)]
        while heap[0][0] < target and not self.clock.expired:
            _, place = heap[0]
            node = self.nodes[place]
            if node.branch is None:
                break
            heapq.heappop(heap)
            b, first = node.branch, len(self.nodes)
            node.children = first, first + 1
            try:
                for half, holds in zip(b.halves(self.dual.runs), (True, False), strict=True):
                    decided = Decision(b.job_class, b.epoch, b.type, holds)
                    self._enter(node.allowed & half, (*node.decisions, decided))
            except NoCertificate:  # So many runs are not gone through: the node stays a leaf.
                del self.nodes[first:]
                node.children = None
                break
            for child in node.children:
                heapq.heappush(heap, (self._value(child), child))
        self.leaves = sum(node.children is None for node in self.nodes)
        self.bound = min(node.bound for node in self.nodes if node.children is None and node.bound is not None)

    def stated(self) -> list[RunNode]:
        """The nodes as a certificate states them."""
        found = []
        for node in self.nodes:
            if node.children is not None and node.branch is not None:
                b = node.branch
                branch = RunBranch(job_class=b.job_class, epoch=b.epoch, type=b.type)
                found.append(RunNode(branch=branch, children=node.children))
            else:
                stated = {} if node.price is None else {"price": str(node.price), "bound": str(node.bound)}
                found.append(RunNode(**stated))
        return found

    def _value(self, place: int) -> float:
        bound = self.nodes[place].bound
        return math.inf if bound is None else float(bound)

    def _enter(self, allowed: BoolArray, decisions: tuple[Decision, ...]) -> None:
        if not self.dual.complete(allowed):
            self.nodes.append(_Node(allowed, decisions, None, None, None))
            return
        dear, cheap, _ = self.dual.maximise(self.data.budget, self.clock, allowed)
        better = max((self._proved(price, decisions), price) for price in _prices(dear, cheap))
        branch = difference(self.dual.runs, dear.runs, cheap.runs)
        self.nodes.append(_Node(allowed, decisions, better[1], better[0], branch))

    def _proved(self, price: Fraction, decisions: tuple[Decision, ...]) -> Fraction:
        found = self.bounds.at(price, decisions)
        assert found is not None  # the allowed runs make a partition of every class
        return found


def _prices(dear: Partition, cheap: Partition) -> set[Fraction]:
    """The prices on either side of the best one, with `PRICE` significant bits; 0 where they are next to nothing."""
    found = set()
    for mu in {side.mu if side.mu > NOTHING else 0.0 for side in (dear, cheap)}:
        bits = max(0, PRICE - math.frexp(mu)[1])
        found.add(Fraction(round(Fraction(mu) * 2**bits), 2**bits))
    return found
