"""The proof of real widths with rescaling times that a certificate states: the leaves in rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from instances import Options, Stopwatch
from instances.boa import BoaAllocation
from instances.proofs import NoCertificate
from instances.proofs.boa.run_proof import RunBounds, RunBranch, RunNode
from models.boa.real_widths.branching import PolicyNode, Price, RunBranching
from models.boa.real_widths.run_dual import Partition, RunDual
from models.core.tree import Tree
from models.highs import OutOfTime

SHORT = Fraction(1, 10**9)  # relative: what the proof may be short of the bound that it is to prove
PRICE = 40  # significant bits of a price
NOTHING = 1e-30  # a price up to this is none


class RunTree(RunBranching):
    """The tree that `exact` grows, with a price in each leaf; the least `bound` of the `leaves` is proved.

    A leaf whose prices prove less than the bound that is to be proved is branched on, until the time is over.
    """

    def __init__(self, data: BoaAllocation, bound: float, options: Options) -> None:
        super().__init__(data, RunDual(data), Stopwatch(options.time_limit))
        self.bounds, self.target = RunBounds(data), Fraction(bound) * (1 - SHORT)
        self.tree = Tree(self, self.root())
        self._price(self.tree.nodes[0])
        self.tree.run(lambda: "finished" if self.tree.settled else "time_limit" if self.clock.expired else None)
        self.leaves = list(self.tree.leaves)
        self.proved = min(self._price(leaf) for leaf in self.leaves if not leaf.empty)

    @property
    def enough(self) -> float:
        """The bound that is to be proved."""
        return float(self.target)

    def bound(self, node: PolicyNode) -> None:
        """Bound a node by its dual, and where that is enough by its prices."""
        self.maximise(node)
        if not node.empty and node.bound >= self.enough:
            try:
                node.bound = float(self._price(node))
            except NoCertificate as error:  # so many runs are not gone through: the parent stays a leaf
                raise OutOfTime(str(error)) from error

    def stated(self) -> list[RunNode]:
        """The nodes as a certificate states them."""
        found = []
        for node in self.tree.nodes:
            if node.children:
                at = self.tree.nodes[node.children[0]].decisions[-1]
                branch = RunBranch(job_class=at.job_class, epoch=at.epoch, type=at.type)
                found.append(RunNode(branch=branch, children=(node.children[0], node.children[1])))
            else:
                proof = None if node.empty else node.proof
                stated = {} if proof is None else {"price": str(proof.price), "bound": str(proof.bound)}
                found.append(RunNode(**stated))
        return found

    def _price(self, node: PolicyNode) -> Fraction:
        """What the best of a node's prices proves: its parent's, or one of its own.

        Raises NoCertificate where there are too many runs to go through for any of them.
        """
        assert node.state is not None
        known = None if node.proof is None else self._proved(node.proof.price, node)
        for side in (node.state.dear, node.state.cheap):
            try:
                found = None if side is None else self._proved(_rounded(side), node)
            except NoCertificate:
                if known is None:
                    raise
                continue
            if found is not None and (known is None or found.bound > known.bound):
                known = found
        assert known is not None
        node.proof = known
        return known.bound

    def _proved(self, price: Fraction, node: PolicyNode) -> Price:
        found = self.bounds.at(price, node.decisions)
        assert found is not None  # the allowed runs make a partition of every class
        return Price(price, found)


def _rounded(side: Partition) -> Fraction:
    """The multiplier of a partition, with `PRICE` significant bits; 0 where it is next to nothing."""
    mu = side.mu if side.mu > NOTHING else 0.0
    bits = max(0, PRICE - math.frexp(mu)[1])
    return Fraction(round(Fraction(mu) * 2**bits), 2**bits)
