"""Pricing for the net saving: on each type the pattern of most reduced net, by branch and bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from instances import Stopwatch
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.saving.kernels import Tasks, search
from models.eva.saving.parameters import SavingParameters

MOST_DECAY = 40.0  # A greater -ln of a throughput counts as this: a bound may take a loss to be smaller.
ROUNDING = 2.0**-40  # A net in floating point is off by less than this share of its terms; see `Pricer.noise`.


@dataclass(frozen=True)
class Found:
    """Patterns (P, N), and a bound on the reduced net of every pattern of two tasks and more that is not among them."""

    on_it: IntArray
    bound: float


class Pricer:
    """Searches for patterns of an instance whose types hold `most_tasks` tasks at most, while the clock runs."""

    def __init__(self, arrays: PackingArrays, parameters: SavingParameters, clock: Stopwatch | None = None) -> None:
        self.arrays, self.parameters, self.clock = arrays, parameters, clock or Stopwatch()
        self.kinds = [int(k) for k in np.argsort(arrays.price, kind="stable") if arrays.fits[k].any()]
        with np.errstate(divide="ignore"):
            self.decay = np.minimum(-np.log1p(-arrays.pair_loss), MOST_DECAY)

    def noise(self, duals: FloatArray) -> float:
        """More than all rounding of floats can amount to in the reduced net of a pattern, or in its bound.

        A pattern has 256 tasks at most. A throughput is a product of as many rounded numbers, and net and bound are
        sums of a few times as many terms, so that they are off by less than 2^13 roundings of 2^-53 of these.
        """
        a = self.arrays
        term = np.abs(a.reservation_price - a.job_price - duals) + a.job_price + np.abs(duals)
        return ROUNDING * (float(a.price.max()) + self.parameters.most_tasks * float(term.max()))

    def improving(self, duals: FloatArray, least: float, nodes: int) -> tuple[Found, bool]:
        """Patterns of reduced net above `least` at these duals, some of the best of each type, and whether all is seen.

        `nodes`: most patterns to look at on a type.
        """
        return self._searched(duals, least, self.parameters.share, self.parameters.found, nodes)

    def within(self, duals: FloatArray, delta: float) -> IntArray | None:
        """All patterns (P, N) of two tasks and more with a reduced net of -`delta` and more; `None` where too many."""
        found, complete = self._searched(
            duals, -delta - self.noise(duals), 0.0, self.parameters.listed, self.parameters.listing_nodes
        )
        return found.on_it if complete and len(found.on_it) <= self.parameters.listed else None

    def kind_of(self, on_it: IntArray) -> IntArray:
        """The cheapest type (P,) that holds each pattern (P, N)."""
        kind = np.full(len(on_it), -1)
        for k in reversed(self.kinds):
            kind[self._holds(k, on_it)] = k
        return kind

    def _holds(self, kind: int, on_it: IntArray) -> IntArray:
        return np.asarray((on_it @ self.arrays.demand_of_type[kind] <= self.arrays.capacity[kind]).all(axis=1))

    def _searched(
        self, duals: FloatArray, threshold: float, share: float, most: int, most_nodes: int
    ) -> tuple[Found, bool]:
        """The patterns found on all types, each on the cheapest that holds it, and whether no search was cut short."""
        every, bound, complete = [np.zeros((0, self.arrays.classes), dtype=np.int64)], threshold, True
        for place, k in enumerate(self.kinds):
            if self.clock.expired:
                return Found(np.concatenate(every), math.inf), False
            classes, tasks = self._tasks(k, duals, threshold)
            if not len(classes):
                continue
            number, found, nets, limit, nodes = search(tasks, threshold, share, most, most_nodes)
            bound = max(bound, limit, float(nets.max(initial=threshold)))
            complete = complete and nodes < most_nodes
            if share == 0.0 and (number >= most or not complete):
                return Found(every[0], bound), False
            if not number:
                continue
            on_it = np.zeros((number, self.arrays.classes), dtype=np.int64)
            on_it[:, classes] = found
            keep = on_it.sum(axis=1) > 1
            for cheaper in self.kinds[:place]:
                keep &= ~self._holds(cheaper, on_it)
            every.append(on_it[keep])
        return Found(np.concatenate(every), bound), complete

    def _tasks(self, kind: int, duals: FloatArray, threshold: float) -> tuple[IntArray, Tasks]:
        """The classes that a search on a type may take, those worth most at the duals first, and what it knows of them.

        A class that is worth nothing alone is in no pattern of most reduced net.
        """
        a = self.arrays
        alone = a.reservation_price - duals
        classes = np.flatnonzero(a.fits[kind] & ((alone > 0) | (threshold < 0)))
        classes = classes[np.argsort(-alone[classes], kind="stable")]
        pairs = np.ix_(classes, classes)
        return classes, Tasks(
            np.ascontiguousarray(a.demand_of_type[kind][classes]),
            a.capacity[kind],
            a.count[classes],
            (a.reservation_price - a.job_price - duals)[classes],
            a.job_price[classes].astype(float),
            np.ascontiguousarray(a.pair[pairs]),
            np.ascontiguousarray(self.decay[pairs]),
            float(a.price[kind]),
            np.full(len(classes), -1, dtype=np.int64),
        )
