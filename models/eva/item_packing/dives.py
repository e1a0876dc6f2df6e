"""Searches for a packing at a goal, or for the proof that there is none: dives, lists of patterns, pairs of tasks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor, inf

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.branch_and_price.pricer import Leaf, Pair, Prices
from models.eva.configuration import Column, Configuration
from models.eva.item_packing.pricing import ItemPricer
from models.eva.item_packing.relaxation import SLACK, ItemMaster, Mask, Node, Relaxation
from models.highs import OutOfTime


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
    price = arrays.price.tolist()
    best: tuple[Fraction, Prices, int] | None = None
    for trial in [even_duals(arrays), *duals]:
        scale = pricer.scale(trial[None, :], arrays.price.astype(float))
        values = np.rint(np.maximum(trial, 0.0) * scale).astype(np.int64)
        target = tuple(p * scale for p in price)
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
    - `most`: most instances of each type, `None` for any number.
    - `options`: threads of the linear program, and the seed of the noise.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        columns: list[Column],
        goal: int,
        most: tuple[int, ...] | None,
        options: Options = Options(),
    ) -> None:
        self.arrays, self.goal, self.nodes = arrays, goal, 0
        self._price = arrays.price.tolist()
        self._most = [inf] * len(self._price) if most is None else [float(n) for n in most]
        self._master = ItemMaster(arrays, options)
        self._master.add(columns)
        self._random = np.random.default_rng(options.seed)
        self._tries, self._noise, self._last = 1, 0.0, 0
        self._clock = Stopwatch()

    def run(self, tries: int, nodes: int, noise: float, clock: Stopwatch) -> Configuration | None:
        """A packing of the goal's cost at most, if one is found.

        - `tries`: patterns that are tried for a task.
        - `nodes`: most linear programs.
        - `noise`: standard deviation of what is added to the values of the linear program before they are compared.
        - `clock`: limit of the search.
        """
        self._tries, self._noise, self._clock, self._last = tries, noise, clock, self.nodes + nodes
        return self._from({}, np.zeros(self.arrays.classes, dtype=bool))

    def _from(self, chosen: Configuration, covered: Mask) -> Configuration | None:
        if self._clock.expired or self.nodes >= self._last:
            return None
        self.nodes += 1
        master = self._master
        left = [n - sum(column.type == k for column in chosen) for k, n in enumerate(self._most)]
        spent = sum(self._price[column.type] for column in chosen)
        if min(left) < 0 or spent > self.goal:
            return None
        master.cover(covered)
        master.limit(left)
        master.forbid(np.asarray((master.member & covered).any(axis=1)))
        try:
            relaxed = master.solve(self._clock.remaining_s)
        except OutOfTime:
            return None
        if spent + relaxed.value > self.goal + SLACK or relaxed.short > SLACK:
            return None
        chosen, covered = dict(chosen), covered.copy()
        for i in np.flatnonzero(relaxed.amounts > 1 - SLACK).tolist():
            self._take(i, chosen, covered)
        if covered.all():
            return chosen
        alive = ~(master.member & covered).any(axis=1)
        patterns = np.where(covered, np.iinfo(np.int64).max, master.member[alive].sum(axis=0))
        scarce = int(patterns.argmin())
        options = np.flatnonzero(alive & master.member[:, scarce])
        amounts = np.round(relaxed.amounts[options], 6) + self._noise * self._random.standard_normal(len(options))
        for i in options[np.argsort(-amounts, kind="stable")][: self._tries].tolist():
            after, taken = covered.copy(), dict(chosen)
            self._take(i, taken, after)
            found = taken if after.all() else self._from(taken, after)
            if found is not None:
                return found
        return None

    def _take(self, i: int, chosen: Configuration, covered: Mask) -> None:
        column = self._master.columns[i]
        classes = [c for c, _ in column.pattern]
        if not covered[classes].any():
            covered[classes] = True
            chosen[column] = 1


def _prices(arrays: PackingArrays, values: IntArray, target: tuple[int, ...]) -> Prices:
    return Prices(np.broadcast_to(values, (len(arrays.price), len(values))), target)


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
