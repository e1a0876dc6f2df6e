"""Enumeration: all the patterns that a packing of a given cost can have, as the reduced costs tell (Baldacci, 2008)."""

from __future__ import annotations

from fractions import Fraction
from math import floor, inf

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.branch_and_price.pricer import Prices
from models.eva.configuration import Column, Configuration
from models.eva.item_packing.master import ItemMaster, Mask
from models.eva.item_packing.pricing import ItemPricer
from models.eva.item_packing.relaxation import SLACK
from models.highs import OutOfTime

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
