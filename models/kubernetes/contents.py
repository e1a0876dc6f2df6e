"""The linear program over contents: what each node may hold in the end, one content a node, and all pods somewhere.

Column generation (Gilmore and Gomory, 1961): x_mp of content p on node m, which moves so many of the pods that are
there; contents cover the pods of each class. More than that they may be, for of too many some can be left out, those
that came there first. Its value is no more than the fewest moves, and most nodes hold one content in it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import product

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.kubernetes import PlacementArrays
from models.core.column_generation import ColumnGeneration, Relaxed, cheap_first
from models.core.linear_program import LinearProgram
from models.highs import LinearModel, OutOfTime

PARTS = 4  # of a mix of resources
QUICK, THOROUGH = 2_000, 100_000  # steps of one search for a content
TOGETHER = 16  # nodes that are searched before the clock is looked at
SMOOTHING = 0.5
DEAR, DEARER = 8.0, 8.0  # what a pod left out costs, in moves, at first; how much more where some are
NEAR = 1e-6
MARGIN = 1e-3  # of a move: contents that are worth so little more are not looked for
FINEST, WHOLE = 12, 1e-9  # the largest denominator of duals that is seen, and how near to a whole number one is
DIVE_ROUNDS, SHARPER = 4, 3  # of pricing after each content that is given; the power of a part by which it is drawn


class Contents:
    """The program and its columns: `node` (P,) and `content` (P, N).

    `proven`, `duals`: the best bound so far, in floating-point numbers, and the prices of the pods that it rests on.
    """

    def __init__(self, arrays: PlacementArrays, options: Options, clock: Stopwatch) -> None:
        self.arrays, self.clock = arrays, clock
        self.now = arrays.now
        (m, n), count = self.now.shape, arrays.count
        self.in_place = float(self.now.sum())
        self.mixes = _mixes(arrays.need.shape[1])
        self.node, self.content = np.zeros(0, dtype=np.int64), np.zeros((0, n), dtype=np.int64)
        self.proven, self.duals = -math.inf, np.zeros(n)
        self.target, self.whatever = math.inf, False
        self.dear = DEAR
        model = LinearModel(
            cost=self.dear,
            matrix=sparse.vstack([sparse.eye_array(n), sparse.csc_array((m, n))]),
            row_lower=np.concatenate([count, np.ones(m)]),
            row_upper=np.concatenate([np.full(n, np.inf), np.ones(m)]),
        )
        self.program = LinearProgram(model, options, short=n)
        self.add(np.arange(m), np.where(arrays.overfull[:, None], 0, self.now))

    def add(self, node: IntArray, content: IntArray) -> None:
        """Add contents (P, N) of nodes (P,)."""
        place, what = np.nonzero(content)
        begin = np.searchsorted(place, np.arange(len(node))) + np.arange(len(node))
        rows = np.insert(what, np.searchsorted(place, np.arange(len(node))), self.now.shape[1] + node)
        entries = np.insert(content[place, what], np.searchsorted(place, np.arange(len(node))), 1)
        self.program.add(self._cost(node, content), begin, rows, entries)
        self.node, self.content = np.append(self.node, node), np.vstack([self.content, content])

    def run(self, target: float = math.inf, whatever: bool = False) -> Relaxed:
        """Generate contents until the bound, a whole number, is as good as the value, or reaches the `target`.

        `short` of what it returns is 0, with which it ends where `whatever` the value is will do, or it is proven that
        there is no placement, or the time is over (OutOfTime).
        """
        self.target, self.whatever = target, whatever
        while True:
            loop = ColumnGeneration(self, cheap_first(SMOOTHING))
            loop.run()
            assert loop.relaxed is not None
            if loop.relaxed.short <= NEAR or self.refuted or self.proven >= target:
                return loop.relaxed
            self.dear *= DEARER
            self.program.price_short(self.dear)

    @property
    def refuted(self) -> bool:
        """Whether more than all pods in place would have to move."""
        return self.proven > self.in_place + NEAR

    def solve(self) -> Relaxed:
        """The program over the contents at hand."""
        found = self.program.solve(self.clock.remaining_s)
        n = self.now.shape[1]
        duals = dict(enumerate(found.duals[n:].tolist()))
        return Relaxed(found.value, np.maximum(0.0, found.duals[:n]), found.x, duals, float(found.short.sum()))

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """Whether the bound is the value, rounded up, or nothing more is asked for."""
        if self.refuted or self.proven >= self.target:
            return True
        tight = self.whatever or self.proven + 1 - NEAR > math.ceil(relaxed.value - NEAR)
        return relaxed.short <= NEAR and tight

    def dive(self, limit: float, draw: np.random.Generator) -> IntArray | None:
        """What the nodes hold (M, N) where one after another gets a content that the program gives it much of.

        `None` where more than `limit` pods would move then. Of the contents of a node that is in parts one is drawn, by
        its part; new ones are generated for the nodes that have none yet.
        """
        given: dict[int, int] = {}
        try:
            while True:
                relaxed = self._few_rounds(given)
                if relaxed.value > limit + NEAR:
                    return None
                open_ = _in_parts(relaxed.x)
                if not len(open_):
                    break
                part = relaxed.x[open_] ** SHARPER
                p = int(draw.choice(open_, p=part / part.sum()))
                given[int(self.node[p])] = p
                alike = np.flatnonzero(self.node == self.node[p])
                self.program.bound(alike, 0.0, np.where(alike == p, np.inf, 0.0))
            found = np.zeros_like(self.now)
            chosen = np.flatnonzero(relaxed.x > 0.5)
            found[self.node[chosen]] = self.content[chosen]
            return found
        finally:
            self.program.bound(np.arange(len(self.node)), 0.0, np.inf)

    def _few_rounds(self, given: Mapping[int, int]) -> Relaxed:
        """The program after a few rounds of pricing of the nodes to which no content is given."""
        relaxed = self.solve()
        for _ in range(DIVE_ROUNDS):
            if not self._generate(relaxed, relaxed.cover, QUICK, given)[1]:
                break
            relaxed = self.solve()
        return relaxed

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """The best contents at prices of the pods."""
        return self._generate(relaxed, duals, THOROUGH if exact else QUICK)

    def _generate(
        self, relaxed: Relaxed, duals: FloatArray, steps: int, given: Collection[int] = ()
    ) -> tuple[float, int]:
        from models.kubernetes.content_kernels import best_contents  # compiled at first use, which takes seconds

        target = np.zeros(len(self.now))  # the best of what each node has already
        worth = self.content @ duals - self._cost(self.node, self.content) + self.now[self.node].sum(axis=1)
        np.maximum.at(target, self.node, worth)
        parts = _denominator(duals)  # of a move: whatever a content is worth is a multiple of one
        margin = MARGIN if parts is None else 1 / parts - NEAR
        need, count, mixes = self.arrays.need, self.arrays.count, self.mixes
        content, most = np.empty_like(self.now), np.empty_like(target)
        for begin in range(0, len(target), TOGETHER):
            if self.clock.expired:
                raise OutOfTime
            s = slice(begin, begin + TOGETHER)
            content[s], most[s] = best_contents(
                duals, self.now[s], self.arrays.room[s], need, count, mixes, target[s], margin, steps
            )
        if parts is not None:
            most = np.floor(most * parts + NEAR) / parts
        proven = float(self.arrays.count @ duals) + self.in_place - float(most.sum())
        if proven > self.proven:
            self.proven, self.duals = proven, duals
        mu = np.array(list(relaxed.duals.values()))
        node = np.arange(len(mu))
        pays = (self._cost(node, content) - content @ relaxed.cover < mu - NEAR) & content.any(axis=1)
        pays[list(given)] = False
        new = np.flatnonzero(pays)
        self.add(new, content[new])
        return proven, len(new)

    def _cost(self, node: IntArray, content: IntArray) -> FloatArray:
        return np.maximum(0, self.now[node] - content).sum(axis=1).astype(float)


def _denominator(duals: FloatArray) -> int | None:
    """The least number that makes all duals whole, `None` where it is not small."""
    return next((k for k in range(1, FINEST + 1) if np.abs(duals * k - np.round(duals * k)).max() < WHOLE), None)


def _in_parts(x: FloatArray) -> IntArray:
    return np.flatnonzero((x > NEAR) & (x < 1 - NEAR))


def _mixes(resources: int) -> FloatArray:
    """Weights of the resources, by parts."""
    if resources > PARTS:
        return np.vstack([np.eye(resources), np.full((1, resources), 1 / resources)])
    found = [parts for parts in product(range(PARTS + 1), repeat=resources) if sum(parts) == PARTS]
    return np.array(found, dtype=float) / PARTS
