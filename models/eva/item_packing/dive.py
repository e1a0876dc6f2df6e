"""Diving with limited discrepancy (Sadykov et al., 2019): columns of the linear program are fixed one by one."""

from __future__ import annotations

import numpy as np

from instances import Stopwatch
from models.eva.configuration import Column, Configuration
from models.eva.item_packing.master import Mask
from models.eva.item_packing.relaxation import SLACK, Node, Relaxation


class Dive:
    """A search for a packing of cost `goal` at most: at each step the columns of value 1, and the largest other one.

    After each step columns are generated until the goal is in reach again; where it is not, the step before takes
    another column, as often as the discrepancies allow.

    - `relaxation`: columns, and column generation.
    - `goal`: cost to reach, in price units.
    - `clock`: limit of the dive.
    """

    def __init__(self, relaxation: Relaxation, goal: int, clock: Stopwatch) -> None:
        self.relaxation, self.goal, self.clock = relaxation, goal, clock
        self.arrays = relaxation.arrays
        self.nodes = 0
        self._most, self._start = 0, Node()
        self._price = self.arrays.price.tolist()

    def run(self, discrepancies: int, depth: int, most: int, start: Node) -> Configuration | None:
        """A packing that costs no more than the goal, if one is found.

        - `discrepancies`: how often a path may take another column than the largest.
        - `depth`: steps from the top in which it may.
        - `most`: most steps in all.
        - `start`: the node to begin at, which may limit the instances of each type.
        """
        self._most, self._start = most, start
        return self._from(start, {}, (), depth, discrepancies)

    def _from(
        self, node: Node, chosen: Configuration, tabu: tuple[int, ...], depth: int, discrepancies: int
    ) -> Configuration | None:
        if self.clock.expired or self.nodes >= self._most:
            return None
        self.nodes += 1
        bounded = self.relaxation.run(node, self.goal, self.clock)
        if not bounded.reached or bounded.relaxed is None:
            return None
        amounts = bounded.relaxed.amounts
        covered = np.zeros(self.arrays.classes, dtype=bool) if node.covered is None else node.covered.copy()
        chosen = dict(chosen)
        member = self.relaxation.master.member
        used = np.flatnonzero(amounts > SLACK)
        for i in used[amounts[used] > 1 - SLACK].tolist():
            self._take(i, chosen, covered)
        if covered.all():
            return chosen
        fresh = member[used] & ~covered
        order = np.lexsort((used, -fresh.sum(axis=1), -np.round(amounts[used], 6)))
        options = [
            int(used[i]) for i in order if fresh[i].any() and amounts[used[i]] <= 1 - SLACK and int(used[i]) not in tabu
        ]
        tries = 1 + (discrepancies if depth > 0 else 0)
        for discrepancy, i in enumerate(options[:tries]):
            after, taken = covered.copy(), dict(chosen)
            self._take(i, taken, after)
            if after.all():
                return taken
            child = self._after(self._start, taken, after)
            if child is not None:
                found = self._from(child, taken, tabu, depth - 1, discrepancies - discrepancy)
                if found is not None:
                    return found
            tabu = (*tabu, i)
        return None

    def _after(self, start: Node, taken: Configuration, covered: Mask) -> Node | None:
        """The node of the tasks that are left, `None` where what is taken is too much."""
        spent = sum(self._price[column.type] for column in taken)
        if spent > self.goal:
            return None
        most = start.most
        if most is not None:
            used = [0] * len(most)
            for column in taken:
                used[column.type] += 1
            if any(u > n for u, n in zip(used, most, strict=True)):
                return None
            most = tuple(n - u for u, n in zip(used, most, strict=True))
        return Node(start.together, start.apart, covered, spent, most)

    def _take(self, i: int, chosen: Configuration, covered: Mask) -> None:
        """Fix the tasks of column i that no other holds."""
        column = self.relaxation.master.columns[i]
        left = [(c, 1) for c, _ in column.pattern if not covered[c]]
        if left:
            covered[[c for c, _ in left]] = True
            chosen[Column.of(column.type, left)] = 1
