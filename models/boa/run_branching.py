"""The exact method for real widths and rescaling times: branch and bound on the epochs at which the width changes.

For a given partition of the epochs into runs the problem is convex, and its dual has no gap. At the best multiplier
over all partitions, two partitions are optimal. The search branches on their first difference: a change of width
between two epochs, or the GPU type of an epoch. A node with two equal partitions is solved. In a certificate, each leaf
of the tree has a rational multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, IntArray
from instances.boa import BoaAllocation
from instances.options import ignore
from instances.proofs import NoCertificate
from instances.proofs.boa.run_proof import RunBounds, RunBranch, RunDecision, RunNode
from instances.result import Termination
from models.boa.run_dual import RunDual, RunPartition, best_widths
from models.boa.runs import Runs
from models.boa.solution import build_solution
from models.core.highs import OutOfTime
from models.core.incumbent import Incumbent
from models.core.tree import Node, Tree

TARGET_SHARE = 0.5  # a node within this fraction of the requested gap is not explored; the rest is for rounding
SMALLEST_START = 1e-9  # the search for the widths of a partition begins from a positive multiplier


@dataclass(frozen=True)
class Price:
    """A rational multiplier of the budget, and the `bound` it proves for all policies that obey a node's decisions."""

    price: Fraction
    bound: Fraction


@dataclass
class RunNodeState:
    """The runs of a node, and its partitions on both sides of the best multiplier.

    - `allowed` (R,): whether a policy of the node may use the run.
    - `over`, `within`: the partition that exceeds the budget, and the one within it.
    """

    allowed: BoolArray
    over: RunPartition | None = None
    within: RunPartition | None = None


PolicyNode = Node[float, RunDecision, Price, RunNodeState]


class RunBranching:
    """The bounding and branching rules of both trees: a node is bounded by its dual and split by `find_difference`."""

    def __init__(self, data: BoaAllocation, dual: RunDual, clock: Stopwatch) -> None:
        self.data, self.dual, self.clock = data, dual, clock

    def root(self) -> PolicyNode:
        """Return the node of all policies."""
        return Node(0.0, state=RunNodeState(np.ones(len(self.dual.runs), dtype=bool)))

    def maximise(self, node: PolicyNode) -> None:
        """Bound a node by the dual over its runs."""
        state = node.state
        assert state is not None
        if not self.dual.has_partition(state.allowed):
            node.empty = True
            return
        maximum = self.dual.maximise(self.data.budget, self.clock, state.allowed)
        state.over, state.within, bound = maximum
        node.bound = max(node.bound, bound)

    def branch(self, node: PolicyNode) -> Sequence[PolicyNode]:
        """Return the two children of a node; none if its partitions are equal."""
        state = node.state
        assert state is not None
        assert state.over is not None
        assert state.within is not None
        branch = find_difference(self.dual.runs, state.over.runs, state.within.runs)
        if branch is None:
            return []
        return [
            node.child(
                RunDecision(branch.job_class, branch.epoch, branch.type, is_true), RunNodeState(state.allowed & allowed)
            )
            for allowed, is_true in zip(branch.split_runs(self.dual.runs), (True, False), strict=True)
        ]


def solve_real(
    data: BoaAllocation, dual: RunDual, options: Options, report: Report = ignore, start: float | None = None
) -> Answer:
    """Solve Lemma 4.8 over real widths to optimality within `options.gap`, for the budget of `data`.

    - `dual`: dual of the runs of `data`, which may have been used for other budgets.
    - `options`: time limit and gap.
    - `report`: called with every improvement.
    - `start`: objective of a known policy; nodes that are no better are cut off.
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
    """A branch-and-bound search, its tree and its incumbent."""

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
        """Branch until the gap is closed or the time limit is reached."""
        self._raise_bound()
        return self.tree.run(lambda: "time_limit" if self.clock.has_expired else None, self._raise_bound)

    @property
    def enough(self) -> float:
        """Return the cutoff: nodes with at least this bound are not explored."""
        return self._best() * (1 - self.gap)

    def bound(self, node: PolicyNode) -> None:
        """Bound a node; if it may improve the incumbent, offer the best policies of its two partitions."""
        self.maximise(node)
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
        """Make the best policy of a partition the incumbent if it is faster."""
        key = side.runs.tobytes()
        if key in self.tried:
            return
        self.tried.add(key)
        runs = self.dual.runs.take(side.runs)
        width = best_widths(runs, self.data.budget, max(side.mu, SMALLEST_START))
        if width is not None:
            time = fsum((runs.value * runs.hours(width)).tolist())
            self.incumbent.offer(time, write_run_policy(self.data, runs, width.tolist()))


@dataclass(frozen=True)
class RunBranchingDecision:
    """A branching decision: a width change before an `epoch` of a class, or this epoch on GPU `type`, or not."""

    job_class: int
    epoch: int
    type: int | None = None

    def split_runs(self, runs: Runs) -> tuple[BoolArray, BoolArray]:
        """Return the runs (R,) that policies with this property may use, and those of all other policies."""
        own, epoch = runs.job_class == self.job_class, self.epoch
        if self.type is None:
            spans, borders = (runs.first < epoch) & (runs.after > epoch), (runs.first == epoch) | (runs.after == epoch)
            return np.asarray(~(own & spans)), np.asarray(~(own & borders))
        covers, here = own & (runs.first <= epoch) & (runs.after > epoch), runs.type == self.type
        return np.asarray(~covers | here), np.asarray(~covers | ~here)


def find_difference(runs: Runs, one: IntArray, other: IntArray) -> RunBranchingDecision | None:
    """Return the first difference of two partitions, width changes before GPU types; `None` if they are equal."""
    for i in np.unique(runs.job_class):
        runs_one, runs_other = (side[runs.job_class[side] == i] for side in (one, other))
        starts = set(runs.first[runs_one].tolist()) ^ set(runs.first[runs_other].tolist())
        if starts:
            return RunBranchingDecision(int(i), sorted(starts)[len(starts) // 2])
    for a, b in zip(one, other, strict=True):
        if runs.type[a] != runs.type[b]:
            return RunBranchingDecision(int(runs.job_class[a]), int(runs.first[a]), int(runs.type[a]))
    return None


def write_run_policy(data: BoaAllocation, runs: Runs, width: list[float]) -> Solution:
    """Return the solution in JSON form for the runs of a partition and their widths."""
    rows = zip(runs.type.tolist(), width, runs.epoch_counts.tolist(), strict=True)
    return build_solution(data, ([(h, k, 1.0)] for h, k, count in rows for _ in range(count)))


SHORTFALL = Fraction(1, 10**9)  # relative distance by which a proof may miss the bound, for rounding
PRICE_BITS = 40  # significant bits of a multiplier in a certificate, which keep its numbers short
SMALLEST_PRICE = 1e-30  # smaller multipliers are replaced by 0


class RunTree(RunBranching):
    """A tree like that of `exact`, with a rational multiplier in each leaf, for a certificate.

    The minimum `bound` of the `leaves` is proven, as `proved`. A leaf whose multipliers prove less than the target is
    branched on until the time limit is reached.

    - `bound`: the bound to be proven, hours.
    """

    def __init__(self, data: BoaAllocation, bound: float, options: Options) -> None:
        super().__init__(data, RunDual(data), Stopwatch(options.time_limit))
        self.bounds, self.target = RunBounds(data), Fraction(bound) * (1 - SHORTFALL)
        self.tree = Tree(self, self.root())
        self._choose_price(self.tree.nodes[0])
        self.tree.run(lambda: "finished" if self.tree.is_settled else "time_limit" if self.clock.has_expired else None)
        self.leaves = list(self.tree.leaves)
        self.proved = min(self._choose_price(leaf) for leaf in self.leaves if not leaf.empty)

    @property
    def enough(self) -> float:
        """Return the bound to be proven."""
        return float(self.target)

    def bound(self, node: PolicyNode) -> None:
        """Bound a node by its dual; if this suffices, also by its rational multipliers."""
        self.maximise(node)
        if not node.empty and node.bound >= self.enough:
            try:
                node.bound = float(self._choose_price(node))
            except NoCertificate as error:  # too many runs to evaluate: the parent remains a leaf
                raise OutOfTime(str(error)) from error

    def certificate_nodes(self) -> list[RunNode]:
        """Return the nodes in the form of a certificate."""
        nodes = []
        for node in self.tree.nodes:
            if node.children:
                at = self.tree.nodes[node.children[0]].decisions[-1]
                branch = RunBranch(job_class=at.job_class, epoch=at.epoch, type=at.type)
                nodes.append(RunNode(branch=branch, children=(node.children[0], node.children[1])))
            else:
                proof = None if node.empty else node.proof
                certificate_nodes = {} if proof is None else {"price": str(proof.price), "bound": str(proof.bound)}
                nodes.append(RunNode(**certificate_nodes))
        return nodes

    def _choose_price(self, node: PolicyNode) -> Fraction:
        """Choose the best rational multiplier of a node, its own or its parent's, and return the bound it proves.

        Raises NoCertificate if there are too many runs to evaluate for any multiplier.
        """
        assert node.state is not None
        best = None if node.proof is None else self._evaluate(node.proof.price, node)
        for side in (node.state.over, node.state.within):
            try:
                candidate = None if side is None else self._evaluate(_round_multiplier(side), node)
            except NoCertificate:
                if best is None:
                    raise
                continue
            if candidate is not None and (best is None or candidate.bound > best.bound):
                best = candidate
        assert best is not None
        node.proof = best
        return best.bound

    def _evaluate(self, price: Fraction, node: PolicyNode) -> Price:
        bound = self.bounds.at(price, node.decisions)
        assert bound is not None  # the allowed runs contain a partition of every class
        return Price(price, bound)


def _round_multiplier(side: RunPartition) -> Fraction:
    """Return the multiplier of a partition with `PRICE_BITS` significant bits; 0 if it is below `SMALLEST_PRICE`."""
    mu = side.mu if side.mu > SMALLEST_PRICE else 0.0
    bits = max(0, PRICE_BITS - math.frexp(mu)[1])
    return Fraction(round(Fraction(mu) * 2**bits), 2**bits)
