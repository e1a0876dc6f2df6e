"""The exact method for real widths and rescaling times: branch and bound over where the widths change.

For a given partition of the epochs into runs the problem is convex, and the dual has no gap. Over all partitions the
two that meet at the best multiplier differ somewhere: there the search branches, on a change of width between two
epochs, or on the GPU type of an epoch. Once both are the same, a node is solved. The
tree of a certificate has a rational price in each leaf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, IntArray
from instances.boa import BoaAllocation
from instances.options import ignore
from instances.proofs import NoCertificate
from instances.proofs.boa.run_proof import RunBounds, RunBranch, RunDecision, RunNode
from instances.result import Termination
from models.boa.real_widths.run_dual import RunDual, RunPartition, best_widths
from models.boa.real_widths.runs import Runs
from models.core.tree import Node, Tree
from models.highs import OutOfTime
from models.incumbent import Incumbent

TARGET_SHARE = 0.5  # A node whose bound is within this share of the gap asked for is not gone into.


@dataclass(frozen=True)
class Price:
    """What is proven at a price of the budget: the `bound` of all policies that obey a node's decisions."""

    price: Fraction
    bound: Fraction


@dataclass
class Sides:
    """Policies whose runs are all `allowed` (R,), and the partitions on either side of the best multiplier.

    `near`: a multiplier to begin from.
    """

    allowed: BoolArray
    near: float | None = None
    over: RunPartition | None = None
    within: RunPartition | None = None


PolicyNode = Node[float, RunDecision, Price, Sides]


class RunBranching:
    """What a tree does at a node: bound it by its dual, and branch on it where its two partitions differ."""

    def __init__(self, data: BoaAllocation, dual: RunDual, clock: Stopwatch) -> None:
        self.data, self.dual, self.clock = data, dual, clock

    def root(self) -> PolicyNode:
        """All policies."""
        return Node(0.0, state=Sides(np.ones(len(self.dual.runs), dtype=bool)))

    def maximise(self, node: PolicyNode, target: float = np.inf) -> None:
        """Bound a node by the dual over its runs, up to a bound of `target`."""
        state = node.state
        assert state is not None
        if not self.dual.complete(state.allowed):
            node.empty = True
            return
        found = self.dual.maximise(self.data.budget, self.clock, state.allowed, state.near, target)
        state.over, state.within, bound = found
        node.bound = max(node.bound, bound)

    def branch(self, node: PolicyNode) -> Sequence[PolicyNode]:
        """The two halves of the policies of a node, none where its partitions are the same."""
        state = node.state
        assert state is not None
        assert state.over is not None
        assert state.within is not None
        branch = difference(self.dual.runs, state.over.runs, state.within.runs)
        if branch is None:
            return []
        b, near = branch, state.within.mu
        return [
            node.child(RunDecision(b.job_class, b.epoch, b.type, holds), Sides(state.allowed & half, near))
            for half, holds in zip(b.halves(self.dual.runs), (True, False), strict=True)
        ]


def solve_real(
    data: BoaAllocation, dual: RunDual, options: Options, report: Report = ignore, start: float | None = None
) -> Answer:
    """A policy over real widths that is proven optimal for the budget of `data` (Lemma 4.8), to `options.gap`.

    - `dual`: of the runs of `data`, at any budget.
    - `options`: time limit and gap.
    - `report`: called with every improvement.
    - `start`: the objective of a policy that is known already.
    """
    with Stopwatch(options.time_limit) as clock:
        search = _RealSearch(data, dual, options, report, clock, start)
        termination = search.run()
    return Answer(
        solution=search.incumbent.solution,
        bound=search.incumbent.bound,
        termination=termination,
        reason=None if termination == "finished" else "time limit",
        solve_s=clock.cpu_s,
        trace=tuple(search.incumbent.trace),
        info={"multiplier": search.mu, "lagrangian_bound": search.lagrangian, "nodes": len(search.tree.nodes)},
    )


class _RealSearch(RunBranching):
    """The tree that is solved, and its incumbent."""

    def __init__(
        self,
        data: BoaAllocation,
        dual: RunDual,
        options: Options,
        report: Report,
        clock: Stopwatch,
        start: float | None,
    ) -> None:
        super().__init__(data, dual, clock)
        self.start, self.gap = start, TARGET_SHARE * options.gap
        self.incumbent: Incumbent[Solution, float] = Incumbent("minimize", clock, report, gap=options.gap, bound=0.0)
        self.tried: set[bytes] = set()
        root = self.root()
        self.tree = Tree(self, root)
        assert root.state is not None
        assert root.state.within is not None
        self.lagrangian, self.mu = root.bound, root.state.within.mu

    def run(self) -> Termination:
        """Halving until the gap is closed or the time is over."""
        self._raise_bound()
        return self.tree.run(lambda: "time_limit" if self.clock.expired else None, self._raise_bound)

    @property
    def enough(self) -> float:
        """The bound from which on a node is of no use."""
        return self._best() * (1 - self.gap)

    def bound(self, node: PolicyNode) -> None:
        """Bound a node, and offer the best policies of its partitions where these may be better."""
        self.maximise(node, self.enough)
        assert node.state is not None
        for side in (node.state.within, node.state.over):
            if side is not None and node.bound < self.enough:
                self._offer(side)

    def _best(self) -> float:
        known = [x for x in (self.incumbent.objective, self.start) if x is not None]
        return min(known, default=np.inf)

    def _raise_bound(self) -> None:
        bound = self.tree.bound
        self.incumbent.raise_bound(max(0.0, self._best() if bound is None else min(bound, self._best())))

    def _offer(self, side: RunPartition) -> None:
        """Make the best policy of a partition the incumbent where that is faster."""
        key = side.runs.tobytes()
        if key in self.tried:
            return
        self.tried.add(key)
        runs = self.dual.runs.take(side.runs)
        width = best_widths(runs, self.data.budget, max(side.mu, 1e-9))
        if width is not None:
            time = fsum((runs.value * runs.hours(width)).tolist())
            self.incumbent.offer(time, policy(self.data, runs, width.tolist()))


@dataclass(frozen=True)
class Halving:
    """What halves all policies: a change of width before an `epoch` of a class, or that epoch on GPU `type`."""

    job_class: int
    epoch: int
    type: int | None = None

    def halves(self, runs: Runs) -> tuple[BoolArray, BoolArray]:
        """The runs (R,) of the policies for which it holds, and of the others."""
        own, at = runs.job_class == self.job_class, self.epoch
        if self.type is None:
            over, beside = (runs.first < at) & (runs.after > at), (runs.first == at) | (runs.after == at)
            return np.asarray(~(own & over)), np.asarray(~(own & beside))
        covers, here = own & (runs.first <= at) & (runs.after > at), runs.type == self.type
        return np.asarray(~covers | here), np.asarray(~covers | ~here)


def difference(runs: Runs, one: IntArray, other: IntArray) -> Halving | None:
    """The first difference of two partitions, changes of width before GPU types; `None` without one."""
    for i in np.unique(runs.job_class):
        mine, theirs = (side[runs.job_class[side] == i] for side in (one, other))
        starts = set(runs.first[mine].tolist()) ^ set(runs.first[theirs].tolist())
        if starts:
            return Halving(int(i), _middle(sorted(starts)))
    for a, b in zip(one, other, strict=True):
        if runs.type[a] != runs.type[b]:
            return Halving(int(runs.job_class[a]), int(runs.first[a]), int(runs.type[a]))
    return None


def _middle(entries: list[int]) -> int:
    return entries[len(entries) // 2]


def policy(data: BoaAllocation, runs: Runs, width: list[float]) -> dict[str, Any]:
    """The solution in JSON form of the runs of a partition and their widths."""
    rows: dict[str, list[Any]] = {c.name: [] for c in data.classes}
    for i, h, n, k in zip(runs.job_class, runs.type, runs.lengths, width, strict=True):
        option = {"type": data.gpu_types[int(h)].name, "width": k, "fraction": 1.0}
        rows[data.classes[int(i)].name] += [[option] if data.heterogeneous else k] * int(n)
    return {"assignment" if data.heterogeneous else "widths": rows}


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
        for side in (node.state.over, node.state.within):
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


def _rounded(side: RunPartition) -> Fraction:
    """The multiplier of a partition, with `PRICE` significant bits; 0 where it is next to nothing."""
    mu = side.mu if side.mu > NOTHING else 0.0
    bits = max(0, PRICE - math.frexp(mu)[1])
    return Fraction(round(Fraction(mu) * 2**bits), 2**bits)
