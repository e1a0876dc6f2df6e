"""The tree of Ryan and Foster (1981): two tasks share an instance, or they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Stopwatch
from instances.eva.arrays import FloatArray
from models.eva.branch_and_price.pricer import Pair
from models.eva.branch_and_price.proof import Leaf
from models.eva.configuration import Column, Configuration
from models.eva.item_packing.relaxation import SLACK, Node, Relaxation


class PairTree:
    """A depth-first search for a packing of cost `goal` at most, or for the proof that there is none.

    `leaves` are those closed so far; `packing` is what was found; `exhausted` says that the leaves leave no packing
    out, `stuck` that the search can do no more.

    - `relaxation`: columns, and column generation.
    - `goal`: cost to reach, in price units.
    - `clock`: limit of the search.
    - `start`: the root, which may limit the instances of each type.
    """

    def __init__(self, relaxation: Relaxation, goal: int, clock: Stopwatch, start: Node) -> None:
        self.relaxation, self.goal, self.clock = relaxation, goal, clock
        self.leaves: list[Leaf] = []
        self.packing: Configuration | None = None
        self.exhausted = self.stuck = False
        self.nodes = 0
        self._open: list[Node] = [start]

    def run(self, nodes: int) -> None:
        """Search on for at most so many nodes."""
        last = self.nodes + nodes
        while self._open and self.nodes < last and not self.clock.expired:
            node = self._open[-1]
            self.nodes += 1
            bounded = self.relaxation.run(node, self.goal, self.clock)
            if bounded.relaxed is None or (self.clock.expired and not bounded.settled):
                return
            if bounded.bound > self.goal:
                self._open.pop()
                assert bounded.leaf is not None
                self.leaves.append(bounded.leaf)
                continue
            pair = self._pair(bounded.relaxed.amounts)
            if pair is None and not bounded.reached:
                self.stuck = True
                return
            self._open.pop()
            if pair is None:
                self.packing = self._packing(bounded.relaxed.amounts)
                return
            self._open.append(replace(node, apart=(*node.apart, pair)))
            self._open.append(replace(node, together=(*node.together, pair)))
        self.exhausted = not self._open

    def _pair(self, amounts: FloatArray) -> Pair | None:
        """The pair whose share of common instances is fractional and largest."""
        used = np.flatnonzero(amounts > SLACK)
        member = self.relaxation.master.member[used].astype(float)
        share = np.triu((member * amounts[used, None]).T @ member, 1)
        share[(share < 1e-5) | (share > 1 - 1e-5)] = 0.0
        best = int(np.round(share, 6).argmax())
        a, b = divmod(best, share.shape[1])
        return None if share[a, b] == 0.0 else (a, b)

    def _packing(self, amounts: FloatArray) -> Configuration:
        """The packing of a linear solution in which every two tasks share an instance wholly or not at all."""
        columns, member = self.relaxation.master.columns, self.relaxation.master.member
        price = self.relaxation.arrays.price.tolist()
        used = sorted(np.flatnonzero(amounts > SLACK).tolist(), key=lambda i: (price[columns[i].type], i))
        left = np.ones(member.shape[1], dtype=bool)
        found: Configuration = {}
        for i in used:
            held = np.flatnonzero(member[i] & left)
            if len(held):
                found[Column.of(columns[i].type, ((int(c), 1) for c in held))] = 1
                left[held] = False
        return found
