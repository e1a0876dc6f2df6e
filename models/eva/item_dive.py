"""A dive over a list of all patterns that a packing at a goal can have, according to their reduced costs."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from math import floor

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import BoolArray
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.core.highs import OutOfTime
from models.eva.configuration import Column, Configuration, price
from models.eva.item_pricer import ItemPricer
from models.eva.node_program import NodeProgram
from models.eva.pricer import PatternPrices
from models.eva.relaxation import SLACK

NEAR = Fraction(1, 10**6)  # sums of duals closer than this share of the goal count as equal


def even_duals(arrays: PackingArrays) -> FloatArray:
    """Return feasible duals (N,) in price units that spread the price of a type evenly over its resources."""
    room = np.maximum(arrays.capacity, 1)[:, None, :]
    share = (arrays.demand_of_type / room).mean(axis=2) * arrays.price[:, None]
    return np.asarray(np.where(arrays.fits, share, np.inf).min(axis=0))


def enumerate_patterns(
    arrays: PackingArrays,
    pricer: ItemPricer,
    duals: FloatArray | None,
    goal: int,
    limit: int,
) -> list[Column] | None:
    """Return the patterns that a packing of cost at most `goal` can have; `None` if they are more than `limit`.

    At feasible duals pi, a packing costs `sum_c pi_c` plus the nonnegative reduced costs of its patterns. So it has no
    pattern with a reduced cost above `goal - sum_c pi_c`. The duals are rounded to integers and reduced until they are
    feasible. The function uses the given duals or `even_duals`, whichever have the larger sum.

    - `arrays`: the instance, of classes of one task each.
    - `pricer`: pricing.
    - `duals`: duals (N,) in price units, if any are known.
    - `goal`: the cost, in price units.
    - `limit`: most patterns.
    """
    cost = arrays.price.tolist()
    best: tuple[Fraction, PatternPrices, int] | None = None
    for trial in [even_duals(arrays)] + ([] if duals is None else [duals]):
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
    least = tuple(max(0, t - left) for t in best[1].target)
    return pricer.list_all(best[1], least, limit)


class PoolDive:
    """A depth-first search for a packing of listed patterns; the task with the fewest remaining patterns comes first.

    The search backtracks if the linear program over the remaining patterns cannot reach the goal. It tries few patterns
    of a task, those of the largest value in the linear program first.

    - `arrays`: the instance, of classes of one task each.
    - `columns`: the patterns.
    - `goal`: the cost to reach, in price units.
    - `options`: threads of the linear program, and the seed of the noise.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        columns: list[Column],
        goal: int,
        options: Options = Options(),
    ) -> None:
        self.arrays, self.goal, self.nodes = arrays, goal, 0
        self._clock = Stopwatch()
        self._program = NodeProgram(arrays, options, int(arrays.price.max()), self._clock, sure=False)
        self._program.add(columns)
        self._member = self._program.on_it > 0
        self._random = np.random.default_rng(options.seed)
        self._tries, self._noise, self._last = 1, 0.0, 0

    def run(self, tries: int, nodes: int, noise: float, clock: Stopwatch) -> Configuration | None:
        """Return a packing that costs at most the goal, if one is found.

        - `tries`: patterns that are tried for a task.
        - `nodes`: most linear programs.
        - `noise`: standard deviation of the noise that is added to the values of the linear program.
        - `clock`: limit of the search.
        """
        self._tries, self._noise, self._last = tries, noise, self.nodes + nodes
        self._clock = self._program.clock = clock
        with suppress(OutOfTime):
            return self._from({}, np.zeros(self.arrays.classes, dtype=bool))
        return None

    def _from(self, chosen: Configuration, covered: BoolArray) -> Configuration | None:
        if self._clock.has_expired or self.nodes >= self._last:
            return None
        self.nodes += 1
        spent = price(self.arrays, chosen)
        if spent > self.goal:
            return None
        member = self._member
        self._program.set((), np.where(covered, 0, 1), np.asarray((member & covered).any(axis=1)))
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
