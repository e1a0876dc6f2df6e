"""Searches for a packing at a goal, or for the proof that there is none: dives, lists of patterns, pairs of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from math import floor

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import BoolArray
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from instances.result import Termination
from models.core.column_generation import cheap_first
from models.core.tree import Node, Tree
from models.eva.branch_and_price.dive import exceeded
from models.eva.branch_and_price.node_program import NodeProgram, shifted
from models.eva.branch_and_price.pricer import BranchDecision, Duals, Pair, PatternPrices, ProvenLeaf
from models.eva.branch_and_price.relaxation import SLACK, Bounded, Goal, NodeRelaxation
from models.eva.configuration import Column, Configuration, price
from models.eva.item_packing.pricing import ItemPricer
from models.highs import OutOfTime

PairNode = Node[int, BranchDecision, Duals, Bounded]


NEAR = Fraction(1, 10**6)  # Duals whose sums are nearer than this share of the goal count as equal.


def even_duals(arrays: PackingArrays) -> FloatArray:
    """Feasible duals (N,) in price units that spread the price of a type evenly over its resources."""
    room = np.maximum(arrays.capacity, 1)[:, None, :]
    share = (arrays.demand_of_type / room).mean(axis=2) * arrays.price[:, None]
    return np.asarray(np.where(arrays.fits, share, np.inf).min(axis=0))


def enumerated(
    arrays: PackingArrays,
    pricer: ItemPricer,
    duals: list[FloatArray],
    goal: int,
    most: tuple[int, ...] | None,
    limit: int,
) -> list[Column] | None:
    """The patterns that a packing of cost `goal` at most can have; `None` where they are more than `limit`.

    At feasible duals pi a packing costs `sum_c pi_c` and the reduced costs of its patterns, none of which is negative:
    no pattern of a reduced cost above `goal - sum_c pi_c` is in it. The duals are first rounded to whole numbers, and
    shrunk until they are feasible; of several, those that add up to most are taken, the first of equals.

    - `arrays`: the instance, of classes of one task each.
    - `pricer`: pricing.
    - `duals`: duals (N,), in price units, to choose from.
    - `goal`: the cost, in price units.
    - `most`: most instances of each type, `None` for any number.
    - `limit`: most patterns.
    """
    cost = arrays.price.tolist()
    best: tuple[Fraction, PatternPrices, int] | None = None
    for trial in [even_duals(arrays), *duals]:
        scale = pricer.scale(trial[None, :], arrays.price.astype(float))
        values = np.rint(np.maximum(trial, 0.0) * scale).astype(np.int64)
        target = tuple(p * scale for p in cost)
        worth = pricer.price(_prices(arrays, values, target), 0).bound
        shrink = min([Fraction(1)] + [Fraction(t, w) for t, w in zip(target, worth, strict=True) if w])
        values = np.array([floor(v * shrink) for v in values.tolist()], dtype=np.int64)
        total = Fraction(int(values.sum()), scale)
        if best is None or total > best[0] + NEAR * goal:
            best = total, _prices(arrays, values, target), scale
    if best is None:
        return None
    left = floor((goal - best[0]) * best[2])
    if left < 0:
        return []
    least = tuple(max(0, t - left) if most is None or most[k] else 2**62 for k, t in enumerate(best[1].target))
    return pricer.every(best[1], least, limit)


class PoolDive:
    """A depth-first search for a packing that consists of listed patterns, the task with fewest patterns left first.

    The linear program over the patterns left ends a line that cannot reach the goal. Of the patterns of a task, few are
    tried, the largest in the linear program first.

    - `arrays`: the instance, of classes of one task each.
    - `columns`: the patterns.
    - `goal`: the cost to reach, in price units.
    - `start`: what limits the instances of each type.
    - `options`: threads of the linear program, and the seed of the noise.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        columns: list[Column],
        goal: int,
        start: tuple[BranchDecision, ...],
        options: Options = Options(),
    ) -> None:
        self.arrays, self.goal, self.nodes = arrays, goal, 0
        self._start, self._clock = start, Stopwatch()
        self._program = NodeProgram(arrays, options, int(arrays.price.max()), self._clock, sure=False)
        self._program.add(columns)
        self._member = self._program.on_it > 0
        self._random = np.random.default_rng(options.seed)
        self._tries, self._noise, self._last = 1, 0.0, 0

    def run(self, tries: int, nodes: int, noise: float, clock: Stopwatch) -> Configuration | None:
        """A packing of the goal's cost at most, if one is found.

        - `tries`: patterns that are tried for a task.
        - `nodes`: most linear programs.
        - `noise`: standard deviation of what is added to the values of the linear program before they are compared.
        - `clock`: limit of the search.
        """
        self._tries, self._noise, self._last = tries, noise, self.nodes + nodes
        self._clock = self._program.clock = clock
        with suppress(OutOfTime):
            return self._from({}, np.zeros(self.arrays.classes, dtype=bool))
        return None

    def _from(self, chosen: Configuration, covered: BoolArray) -> Configuration | None:
        if self._clock.expired or self.nodes >= self._last:
            return None
        self.nodes += 1
        decisions, spent = shifted(self._program, self._start, chosen), price(self.arrays, chosen)
        if exceeded(decisions) or spent > self.goal:
            return None
        member = self._member
        self._program.set(decisions, np.where(covered, 0, 1), np.asarray((member & covered).any(axis=1)))
        relaxed = self._program.solve()
        if spent + relaxed.value > self.goal + SLACK or relaxed.short > SLACK:
            return None
        chosen, covered = dict(chosen), covered.copy()
        for i in np.flatnonzero(relaxed.x > 1 - SLACK).tolist():
            self._take(i, chosen, covered)
        if covered.all():
            return chosen
        alive = ~(member & covered).any(axis=1)
        patterns = np.where(covered, np.iinfo(np.int64).max, member[alive].sum(axis=0))
        scarce = int(patterns.argmin())
        options = np.flatnonzero(alive & member[:, scarce])
        amounts = np.round(relaxed.x[options], 6) + self._noise * self._random.standard_normal(len(options))
        for i in options[np.argsort(-amounts, kind="stable")][: self._tries].tolist():
            after, taken = covered.copy(), dict(chosen)
            self._take(i, taken, after)
            found = taken if after.all() else self._from(taken, after)
            if found is not None:
                return found
        return None

    def _take(self, i: int, chosen: Configuration, covered: BoolArray) -> None:
        column = self._program.columns[i]
        classes = [c for c, _ in column.pattern]
        if not covered[classes].any():
            covered[classes] = True
            chosen[column] = 1


def _prices(arrays: PackingArrays, values: IntArray, target: tuple[int, ...]) -> PatternPrices:
    return PatternPrices(np.broadcast_to(values, (len(arrays.price), len(values))), target)


class PairBranching:
    """A depth-first search by pairs of tasks for a packing of cost `goal` at most, or for the proof that there is none.

    `packing` is what was found; `exhausted` says that the leaves leave no packing out, `stuck` that the search can do
    no more.

    - `relaxation`: columns, and column generation.
    - `goal`: cost to reach, in price units.
    - `clock`: limit of the search.
    - `start`: the decisions of the root, which may limit the instances of each type.
    """

    def __init__(
        self, relaxation: NodeRelaxation, goal: int, clock: Stopwatch, start: tuple[BranchDecision, ...]
    ) -> None:
        self.relaxation, self.goal, self.enough, self.clock = relaxation, goal, goal + 1, clock
        self.packing: Configuration | None = None
        self.stuck = False
        self.nodes = 0
        self.tree: Tree[int, BranchDecision, Duals, Bounded] = Tree(self, Node(0, start), eager=False, deep=True)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to search."""
        return self.tree.done and not self.stuck and self.packing is None

    @property
    def leaves(self) -> tuple[ProvenLeaf, ...]:
        """What proves that there is no packing, where that is so."""
        return tuple(ProvenLeaf(n.decisions, n.bound, n.proof) for n in self.tree.leaves if n.proof is not None)

    def run(self, nodes: int) -> None:
        """Search on for at most so many nodes."""
        last = self.nodes + nodes

        def limit() -> Termination | None:
            if self.packing is not None or self.stuck:
                return "finished"
            return "effort_limit" if self.nodes >= last else "time_limit" if self.clock.expired else None

        self.tree.run(limit)

    def bound(self, node: PairNode) -> None:
        """See `Problem`."""
        self.nodes += 1
        found = self.relaxation.run(node.decisions, Goal(self.enough, reach=True), self.clock, cheap_first(0.0))
        if found.proven is not None and found.bound >= node.bound:
            node.bound, node.proof = found.bound, found.proven.duals
        if self.clock.expired and not found.settled:
            raise OutOfTime("the time is over before the node is solved")
        node.state = found if node.bound < self.enough else None

    def branch(self, node: PairNode) -> Sequence[PairNode]:
        """See `Problem`: the pair apart and, which is searched first, together."""
        found, node.state = node.state, None
        assert found is not None
        assert found.relaxed is not None
        pair = self._pair(found.relaxed.x)
        if pair is not None:
            return [node.child(BranchDecision(kind, pair)) for kind in ("apart", "together")]
        if found.reached:
            self.packing = self._packing(found.relaxed.x)
        else:
            self.stuck = True
        return []

    def _pair(self, amounts: FloatArray) -> Pair | None:
        """The pair whose share of common instances is fractional and largest."""
        used = np.flatnonzero(amounts > SLACK)
        member = self.relaxation.program.on_it[used]
        share = np.triu((member * amounts[used, None]).T @ member, 1)
        share[(share < 1e-5) | (share > 1 - 1e-5)] = 0.0
        best = int(np.round(share, 6).argmax())
        a, b = divmod(best, share.shape[1])
        return None if share[a, b] == 0.0 else (a, b)

    def _packing(self, amounts: FloatArray) -> Configuration:
        """The packing of a linear solution in which every two tasks share an instance wholly or not at all."""
        program, cost = self.relaxation.program, self.relaxation.arrays.price.tolist()
        used = sorted(np.flatnonzero(amounts > SLACK).tolist(), key=lambda i: (cost[program.columns[i].type], i))
        left = np.ones(program.arrays.classes, dtype=bool)
        found: Configuration = {}
        for i in used:
            held = np.flatnonzero((program.on_it[i] > 0) & left)
            if len(held):
                found[Column.of(program.columns[i].type, ((int(c), 1) for c in held))] = 1
                left[held] = False
        return found
